#include "cli/grid.h"

#include <assert.h>
#include <libsmartcols.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/err.h"
#include "base/mem.h"

#define GAP 2 /* columns between two columns */

struct cell {
        char *text; /* NULL: nothing */
        enum tone tone;
};

struct grid {
        size_t fixed, columns, rows, rows_room, cells;
        char titles[GRID_COLUMNS_MAX][GRID_CELL_MAX];
        bool is_number[GRID_COLUMNS_MAX];
        struct cell *table; /* rows x columns */
        size_t cut;         /* the column that may be cut, + 1; 0: none */
        bool has_colour;
        bool is_broken; /* a text was lost for lack of memory */
};

static struct cell *cell_of(const struct grid *grid, size_t row, size_t column)
{
        return &grid->table[row * grid->columns + column];
}

struct grid *grid_new(size_t fixed_count)
{
        struct grid *grid = mem_new(1, sizeof *grid);

        if (grid)
                grid->fixed = fixed_count;
        return grid;
}

int grid_no_memory(struct err *err)
{
        return err_set(err, ERR_NOMEM, "out of memory while printing a table");
}

void grid_free(struct grid *grid)
{
        for (size_t r = 0; grid && r < grid->rows; r++)
                for (size_t c = 0; c < grid->columns; c++)
                        mem_free(cell_of(grid, r, c)->text);
        if (grid)
                mem_free(grid->table);
        mem_free(grid);
}

void grid_column(struct grid *grid, const char *title, bool is_number)
{
        assert(grid->columns < GRID_COLUMNS_MAX);
        assert(grid->rows == 0);
        snprintf(grid->titles[grid->columns], GRID_CELL_MAX, "%s", title);
        grid->is_number[grid->columns++] = is_number;
}

void grid_cut(struct grid *grid)
{
        assert(grid->columns > 0);
        assert(grid->cut == 0);
        grid->cut = grid->columns;
}

void grid_colour(struct grid *grid)
{
        grid->has_colour = true;
}

static bool make_room(struct grid *grid)
{
        size_t room = grid->rows_room ? 2 * grid->rows_room : 32;

        if (grid->rows < grid->rows_room)
                return true;
        if (grid->rows >= GRID_ROWS_MAX)
                return false;
        struct cell *grown = mem_resize(grid->table, grid->rows_room * grid->columns,
                                        room * grid->columns, sizeof *grown);
        if (!grown)
                return false;
        grid->table = grown;
        grid->rows_room = room;
        return true;
}

void grid_row(struct grid *grid)
{
        assert(grid->columns > 0);
        grid->is_broken = grid->is_broken || !make_room(grid);
        grid->rows += !grid->is_broken;
        grid->cells = 0;
}

void grid_cell(struct grid *grid, const char *format, ...)
{
        char text[GRID_CELL_MAX];
        va_list args;

        if (grid->is_broken)
                return;
        assert(grid->rows > 0);
        assert(grid->cells < grid->columns);
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        struct cell *cell = cell_of(grid, grid->rows - 1, grid->cells++);
        cell->text = mem_new(strlen(text) + 1, 1);
        if (cell->text)
                strcpy(cell->text, text);
        else
                grid->is_broken = true;
}

void grid_tone(struct grid *grid, enum tone tone)
{
        if (grid->is_broken)
                return;
        assert(grid->cells > 0);
        cell_of(grid, grid->rows - 1, grid->cells - 1)->tone = tone;
}

/* ---- printing ---- */

static size_t text_width(const char *text)
{
        mbstate_t state = {0};
        wchar_t wide[GRID_CELL_MAX];
        size_t count = mbsrtowcs(wide, &text, GRID_CELL_MAX - 1, &state);
        int width = count == (size_t)-1 ? -1 : wcswidth(wide, count);

        return width < 0 ? GRID_CELL_MAX : (size_t)width;
}

/* 0: nothing stands in it. */
static size_t column_width(const struct grid *grid, size_t column)
{
        size_t width = 0, title = text_width(grid->titles[column]);

        for (size_t r = 0; r < grid->rows; r++) {
                const char *text = cell_of(grid, r, column)->text;
                if (text && text_width(text) > width)
                        width = text_width(text);
        }
        return width > 0 && title > width ? title : width;
}

static bool add_column(struct libscols_table *table, const struct grid *grid, size_t column)
{
        int flags = grid->is_number[column] ? SCOLS_FL_RIGHT : 0;

        return scols_table_new_column(table, grid->titles[column], 0, flags) != NULL;
}

/* The text cut to `width` columns, the last of them an ellipsis. */
static const char *shorten(const char *text, size_t width, char buf[GRID_CELL_MAX])
{
        mbstate_t state = {0};
        size_t kept = 0, used = 0;

        if (text_width(text) <= width)
                return text;
        while (text[kept] && used + 1 < width) {
                wchar_t wide;
                size_t length = mbrtowc(&wide, text + kept, strlen(text + kept), &state);
                if (length == 0 || length > 4)
                        break;
                used += wcwidth(wide) > 0 ? (size_t)wcwidth(wide) : 0;
                if (used + 1 > width)
                        break;
                kept += length;
        }
        snprintf(buf, GRID_CELL_MAX, "%.*s\u2026", (int)kept, text);
        return buf;
}

static bool set_cell(struct libscols_line *line, size_t at, const struct cell *cell, size_t width,
                     bool has_colour)
{
        static const char *const colours[] = {
                [TONE_PLAIN] = NULL,   [TONE_STRONG] = "bold",   [TONE_DIM] = "halfbright",
                [TONE_GOOD] = "green", [TONE_WAITING] = "brown", [TONE_BAD] = "red",
        };
        char buf[GRID_CELL_MAX];
        const char *text = shorten(cell->text ? cell->text : "", width, buf);

        if (scols_line_set_data(line, at, text) != 0)
                return false;
        if (!has_colour || !colours[cell->tone])
                return true;
        return scols_cell_set_color(scols_line_get_cell(line, at), colours[cell->tone]) == 0;
}

static bool fill_lines(struct libscols_table *table, const struct grid *grid, const size_t *columns,
                       size_t count, const size_t *widths)
{
        for (size_t r = 0; r < grid->rows; r++) {
                struct libscols_line *line = scols_table_new_line(table, NULL);
                if (!line)
                        return false;
                for (size_t c = 0; c < count; c++)
                        if (!set_cell(line, c, cell_of(grid, r, columns[c]),
                                      widths[columns[c]], grid->has_colour))
                                return false;
        }
        return true;
}

/* The last cell of a line is filled up with blanks, and the last line comes without its break. */
static void put_trimmed(const char *text, FILE *file)
{
        while (*text) {
                size_t length = strcspn(text, "\n"), kept = length;
                while (kept > 0 && text[kept - 1] == ' ')
                        kept--;
                fprintf(file, "%.*s\n", (int)kept, text);
                text += length + (text[length] == '\n');
        }
}

static int print_block(const struct grid *grid, const size_t *columns, size_t count,
                       const size_t *widths, FILE *file, struct err *err)
{
        struct libscols_table *table = scols_new_table();
        char *text = NULL;
        bool is_made = table != NULL;

        for (size_t c = 0; is_made && c < count; c++)
                is_made = add_column(table, grid, columns[c]);
        is_made = is_made && scols_table_set_column_separator(table, "  ") == 0 &&
                  scols_table_enable_colors(table, grid->has_colour) == 0 &&
                  fill_lines(table, grid, columns, count, widths) &&
                  scols_print_table_to_string(table, &text) == 0;
        if (is_made)
                put_trimmed(text, file);
        free(text);
        scols_unref_table(table);
        return is_made ? 0 : grid_no_memory(err);
}

/* What is left for the column that may be cut in the block that it comes into, or in one of its
 * own where that is little. */
static size_t room_of_cut(const struct grid *grid, size_t width, const size_t *widths)
{
        size_t used = 0, fixed_used = 0;
        bool is_first = true;

        for (size_t c = 0; c + 1 < grid->cut; c++) {
                if (widths[c] == 0)
                        continue;
                if (c >= grid->fixed && !is_first && used + widths[c] > width)
                        used = fixed_used;
                used += widths[c] + GAP;
                if (c < grid->fixed)
                        fixed_used = used;
                else
                        is_first = false;
        }
        if (used + GRID_CUT_BESIDE > width)
                used = fixed_used;
        return width > used ? width - used : 0;
}

/* Makes the column that may be cut narrower: as far as all of them then stand beside each other,
 * else to what it has room for. */
static void narrow_cut(const struct grid *grid, size_t width, size_t *widths)
{
        size_t used = 0, wants = grid->cut ? widths[grid->cut - 1] : 0;

        for (size_t c = 0; c < grid->columns; c++)
                used += widths[c] > 0 ? widths[c] + GAP : 0;
        if (wants == 0 || used <= width + GAP)
                return;
        size_t over = used - GAP - width;
        size_t least = wants < GRID_CUT_LEAST ? wants : GRID_CUT_LEAST;
        size_t room = wants > over + least ? wants - over : room_of_cut(grid, width, widths);
        room = room > least ? room : least;
        widths[grid->cut - 1] = wants < room ? wants : room;
}

static void narrow(const struct grid *grid, size_t column, size_t over, size_t *widths)
{
        size_t is = widths[column];

        if (grid->is_number[column] || is <= GRID_CUT_LEAST)
                return;
        widths[column] = is > over + GRID_CUT_LEAST ? is - over : GRID_CUT_LEAST;
}

/* In blocks below each other each column has its place behind the first ones: the widest of these,
 * and what is too wide all the same, gives way. */
static void narrow_blocks(const struct grid *grid, size_t width, size_t *widths)
{
        size_t before = 0, first = 0, widest = 0;

        for (size_t c = 0; c < grid->columns; c++) {
                if (c >= grid->fixed)
                        widest = widths[c] > widest ? widths[c] : widest;
                else
                        before += widths[c] > 0 ? widths[c] + GAP : 0;
                if (c < grid->fixed && !grid->is_number[c] && widths[c] > widths[first])
                        first = c;
        }
        if (before + widest <= width)
                return;
        if (grid->fixed > 0) {
                size_t is = widths[first];
                narrow(grid, first, before + widest - width, widths);
                before -= is - widths[first];
        }
        for (size_t c = grid->fixed; c < grid->columns; c++)
                if (before + widths[c] > width)
                        narrow(grid, c, before + widths[c] - width, widths);
}

int grid_print(const struct grid *grid, size_t width, FILE *file, struct err *err)
{
        size_t columns[GRID_COLUMNS_MAX], widths[GRID_COLUMNS_MAX];
        size_t count = 0, fixed = 0, used = 0, fixed_used = 0;

        if (grid->is_broken)
                return grid_no_memory(err);
        for (size_t c = 0; c < grid->columns; c++)
                widths[c] = column_width(grid, c);
        narrow_cut(grid, width, widths);
        narrow_blocks(grid, width, widths);
        for (size_t c = 0; c < grid->columns; c++) {
                if (widths[c] == 0)
                        continue;
                if (c >= grid->fixed && count > fixed && used + widths[c] > width) {
                        int rc = print_block(grid, columns, count, widths, file, err);
                        if (rc < 0)
                                return rc;
                        fputc('\n', file);
                        count = fixed;
                        used = fixed_used;
                }
                columns[count++] = c;
                used += widths[c] + GAP;
                if (c < grid->fixed) {
                        fixed = count;
                        fixed_used = used;
                }
        }
        return print_block(grid, columns, count, widths, file, err);
}

int grid_finish(struct grid *grid, const char *title, size_t width, FILE *file, struct err *err)
{
        if (title)
                fprintf(file, "\n%s\n", title);
        int rc = grid_print(grid, width, file, err);
        grid_free(grid);
        return rc;
}
