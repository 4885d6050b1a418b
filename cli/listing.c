#include "cli/listing.h"

#include <stdint.h>

#include "cli/grid.h"
#include "cli/json_in.h"

static void put_cell(struct grid *grid, const json_t *object, const struct listing_column *column)
{
        char buf[JSON_IN_MAX];

        if (column->kind == LISTING_SPAN)
                json_in_span(object, column->key, buf);
        else
                json_in_words(object, column->key, buf);
        grid_cell(grid, "%s", buf);
        if (column->kind == LISTING_STATE)
                grid_tone(grid, screen_state_tone(buf));
}

int listing_print(const json_t *list, const struct listing_column *columns, size_t fixed,
                  const char *empty, const struct screen *screen, FILE *file, struct err *err)
{
        struct grid *grid;

        if (json_array_size(list) == 0) {
                fprintf(file, "%s\n", empty);
                return 0;
        }
        if (!(grid = grid_new(fixed)))
                return grid_no_memory(err);
        for (const struct listing_column *column = columns; column->key; column++) {
                grid_column(grid, column->title,
                            column->kind == LISTING_NUMBER || column->kind == LISTING_SPAN);
                if (column->kind == LISTING_CUT)
                        grid_cut(grid);
        }
        if (screen->has_colour)
                grid_colour(grid);
        for (size_t i = 0; i < json_array_size(list); i++) {
                grid_row(grid);
                for (const struct listing_column *column = columns; column->key; column++)
                        put_cell(grid, json_array_get(list, i), column);
        }
        return grid_finish(grid, NULL, screen->width, file, err);
}

int listing_print_with(const json_t *list, listing_add *add, const struct listing_column *columns,
                       size_t fixed, const char *empty, const struct screen *screen, FILE *file,
                       struct err *err)
{
        json_t *rows = json_array();
        const json_t *it;
        size_t at;
        int rc = rows ? 0 : grid_no_memory(err);

        json_array_foreach(list, at, it) {
                json_t *row = json_copy((json_t *)(uintptr_t)it);
                if (json_array_append_new(rows, row) < 0) {
                        rc = grid_no_memory(err);
                        break;
                }
                add(row);
        }
        if (rc == 0)
                rc = listing_print(rows, columns, fixed, empty, screen, file, err);
        json_decref(rows);
        return rc;
}
