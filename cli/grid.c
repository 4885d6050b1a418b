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

struct grid {
        size_t fixed, columns, rows, cells;
        char titles[GRID_COLUMNS_MAX][GRID_CELL_MAX];
        bool is_number[GRID_COLUMNS_MAX];
        char *texts[GRID_ROWS_MAX][GRID_COLUMNS_MAX];
        bool is_broken; /* a text was lost for lack of memory */
};

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
                        mem_free(grid->texts[r][c]);
        mem_free(grid);
}

void grid_column(struct grid *grid, const char *title, bool is_number)
{
        assert(grid->columns < GRID_COLUMNS_MAX);
        assert(grid->rows == 0);
        snprintf(grid->titles[grid->columns], GRID_CELL_MAX, "%s", title);
        grid->is_number[grid->columns++] = is_number;
}

void grid_row(struct grid *grid)
{
        assert(grid->rows < GRID_ROWS_MAX);
        grid->rows++;
        grid->cells = 0;
}

void grid_cell(struct grid *grid, const char *format, ...)
{
        assert(grid->rows > 0);
        assert(grid->cells < grid->columns);
        char *text = mem_new(GRID_CELL_MAX, 1);
        va_list args;

        if (!text) {
                grid->is_broken = true;
                return;
        }
        va_start(args, format);
        vsnprintf(text, GRID_CELL_MAX, format, args);
        va_end(args);
        grid->texts[grid->rows - 1][grid->cells++] = text;
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

        for (size_t r = 0; r < grid->rows; r++)
                if (grid->texts[r][column] && text_width(grid->texts[r][column]) > width)
                        width = text_width(grid->texts[r][column]);
        return width > 0 && title > width ? title : width;
}

static bool add_column(struct libscols_table *table, const struct grid *grid, size_t column)
{
        int flags = grid->is_number[column] ? SCOLS_FL_RIGHT : 0;

        return scols_table_new_column(table, grid->titles[column], 0, flags) != NULL;
}

static bool fill_lines(struct libscols_table *table, const struct grid *grid, const size_t *columns,
                       size_t count)
{
        for (size_t r = 0; r < grid->rows; r++) {
                struct libscols_line *line = scols_table_new_line(table, NULL);
                if (!line)
                        return false;
                for (size_t c = 0; c < count; c++) {
                        const char *text = grid->texts[r][columns[c]];
                        if (scols_line_set_data(line, c, text ? text : "") != 0)
                                return false;
                }
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

static int print_block(const struct grid *grid, const size_t *columns, size_t count, FILE *file,
                       struct err *err)
{
        struct libscols_table *table = scols_new_table();
        char *text = NULL;
        bool is_made = table != NULL;

        for (size_t c = 0; is_made && c < count; c++)
                is_made = add_column(table, grid, columns[c]);
        is_made = is_made && scols_table_set_column_separator(table, "  ") == 0 &&
                  fill_lines(table, grid, columns, count) &&
                  scols_print_table_to_string(table, &text) == 0;
        if (is_made)
                put_trimmed(text, file);
        free(text);
        scols_unref_table(table);
        return is_made ? 0 : grid_no_memory(err);
}

int grid_print(const struct grid *grid, size_t width, FILE *file, struct err *err)
{
        size_t columns[GRID_COLUMNS_MAX];
        size_t count = 0, fixed, used = 0, fixed_used;

        if (grid->is_broken)
                return grid_no_memory(err);
        for (size_t c = 0; c < grid->fixed; c++) {
                if (column_width(grid, c) == 0)
                        continue;
                columns[count++] = c;
                used += column_width(grid, c) + GAP;
        }
        fixed = count;
        fixed_used = used;
        for (size_t c = grid->fixed; c < grid->columns; c++) {
                size_t wants = column_width(grid, c);
                if (wants == 0)
                        continue;
                if (count > fixed && used + wants > width) {
                        int rc = print_block(grid, columns, count, file, err);
                        if (rc < 0)
                                return rc;
                        fputc('\n', file);
                        count = fixed;
                        used = fixed_used;
                }
                columns[count++] = c;
                used += wants + GAP;
        }
        return print_block(grid, columns, count, file, err);
}

int grid_finish(struct grid *grid, const char *title, size_t width, FILE *file, struct err *err)
{
        if (title)
                fprintf(file, "\n%s\n", title);
        int rc = grid_print(grid, width, file, err);
        grid_free(grid);
        return rc;
}
