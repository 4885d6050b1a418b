#include "cli/listing.h"

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
