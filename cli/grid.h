/* grid.h - a table of texts for the terminal.
 *
 * Columns that do not fit beside each other are printed in blocks below each other, the first
 * columns (what a row is about) in each of them; before that, the column that grid_cut() names is
 * made narrower, or given what its own block has room for. A text that leaves no room is cut. One
 * owner; texts are copied.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/screen.h"

struct err;
struct grid;

#define GRID_COLUMNS_MAX 96
#define GRID_ROWS_MAX    (1u << 20)     /* more are not printed: the grid fails */
#define GRID_CELL_MAX    512            /* bytes with the final NUL; longer texts are cut */
#define GRID_CUT_LEAST   12             /* how narrow a column is made */
#define GRID_CUT_BESIDE  24             /* with less room it comes into a block of its own */

/* `fixed_count`: how many of the first columns stand in every block. NULL: out of memory. */
struct grid *grid_new(size_t fixed_count);
int grid_no_memory(struct err *err);                    /* the sentence for it; -ERR_NOMEM */
void grid_free(struct grid *grid);                      /* NULL is fine */

void grid_column(struct grid *grid, const char *title, bool is_number);
/* The column that was added last may be cut where the width does not suffice. One of them. */
void grid_cut(struct grid *grid);
void grid_row(struct grid *grid);                       /* the cells that follow stand in it */
/* The next cell of the row. */
void grid_cell(struct grid *grid, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The last cell in this tone; only with grid_colour(). */
void grid_tone(struct grid *grid, enum tone tone);
void grid_colour(struct grid *grid);

/* Prints; a column all of whose cells are empty is left out. 0 or -ERR_NOMEM. */
int grid_print(const struct grid *grid, size_t width, FILE *file, struct err *err);
/* The same below an empty line and a title (NULL: neither); frees the grid in any case. */
int grid_finish(struct grid *grid, const char *title, size_t width, FILE *file, struct err *err);
