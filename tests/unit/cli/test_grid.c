#include "tests/unit/check.h"

#include <locale.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/grid.h"

static char *print(const struct grid *grid, size_t width)
{
        char *text = NULL;
        size_t size;
        struct err err;
        FILE *file = open_memstream(&text, &size);

        assert_non_null(file);
        assert_int_equal(grid_print(grid, width, file, &err), 0);
        fclose(file);
        return text;
}

static struct grid *example(void)
{
        struct grid *grid = grid_new(1);

        assert_non_null(grid);
        grid_column(grid, "name", false);
        grid_column(grid, "empty", false);
        grid_column(grid, "one", true);
        grid_column(grid, "two", true);
        grid_row(grid);
        grid_cell(grid, "a");
        grid_cell(grid, "%s", "");
        grid_cell(grid, "%d", 1);
        grid_cell(grid, "1.0 \u00b12.0");
        grid_row(grid);
        grid_cell(grid, "long name");
        grid_cell(grid, "%s", "");
        grid_cell(grid, "%d", 100);
        return grid;
}

static void columns_stand_beside_each_other_without_empty_ones(void **state)
{
        (void)state;
        struct grid *grid = example();
        char *text = print(grid, 80);
        assert_string_equal(text, "name       one       two\n"
                                  "a            1  1.0 \u00b12.0\n"
                                  "long name  100\n");
        free(text);
        grid_free(grid);
        grid_free(NULL);
}

static void what_does_not_fit_comes_below(void **state)
{
        (void)state;
        struct grid *grid = example();
        char *text = print(grid, 20);
        assert_string_equal(text, "name       one\n"
                                  "a            1\n"
                                  "long name  100\n"
                                  "\n"
                                  "name            two\n"
                                  "a          1.0 \u00b12.0\n"
                                  "long name\n");
        free(text);
        /* Nothing is narrow enough: still one column a block, not none. */
        text = print(grid, 1);
        check_has(text, "one");
        check_has(text, "two");
        free(text);
        grid_free(grid);
}

static void long_cells_are_cut(void **state)
{
        (void)state;
        struct grid *grid = grid_new(1);
        grid_column(grid, "x", false);
        grid_row(grid);
        grid_cell(grid, "%0*d", GRID_CELL_MAX + 50, 1);
        char *text = print(grid, 1000);
        assert_int_equal(strlen(text), 2 + GRID_CELL_MAX);
        free(text);
        grid_free(grid);
}

static void one_column_gives_way_before_there_are_blocks(void **state)
{
        (void)state;
        struct grid *grid = grid_new(1);
        grid_column(grid, "id", false);
        grid_column(grid, "why", false);
        grid_cut(grid);
        grid_row(grid);
        grid_cell(grid, "1");
        grid_cell(grid, "gr\u00fcn is the hill and far away");
        char *text = print(grid, 20);
        assert_string_equal(text, "id  why\n1   gr\u00fcn is the hil\u2026\n");
        free(text);
        /* Not below its least width. */
        text = print(grid, 4);
        check_has(text, "1   gr\u00fcn is the\u2026\n");
        free(text);
        text = print(grid, 200);
        check_has(text, "far away");
        free(text);
        grid_free(grid);
}

static void a_column_that_comes_below_has_the_room_there(void **state)
{
        (void)state;
        struct grid *grid = grid_new(1);
        grid_column(grid, "id", false);
        grid_column(grid, "tenant", false);
        grid_column(grid, "why", false);
        grid_cut(grid);
        grid_row(grid);
        grid_cell(grid, "1");
        grid_cell(grid, "research/natural/language");
        grid_cell(grid, "It finds no room now, on five nodes.");
        char *text = print(grid, 32);
        assert_string_equal(text, "id  tenant\n"
                                  "1   research/natural/language\n"
                                  "\n"
                                  "id  why\n"
                                  "1   It finds no room now, on fi…\n");
        free(text);
        text = print(grid, 40);
        check_has(text, "1   It finds no room now, on five nodes.\n");
        free(text);
        /* Beside another, where that leaves enough. */
        text = print(grid, 56);
        assert_string_equal(text, "id  tenant                     why\n"
                                  "1   research/natural/language  It finds no room now, on…\n");
        free(text);
        grid_free(grid);
}

static void what_leaves_no_room_is_cut(void **state)
{
        (void)state;
        struct grid *grid = grid_new(2);
        grid_column(grid, "id", true);
        grid_column(grid, "name", false);
        grid_column(grid, "state", false);
        grid_column(grid, "url", false);
        grid_row(grid);
        grid_cell(grid, "1");
        grid_cell(grid, "a-very-long-name-of-work");
        grid_cell(grid, "running");
        grid_cell(grid, "https://pool.example");
        char *text = print(grid, 30);
        assert_string_equal(text, "id  name          state\n"
                                  " 1  a-very-long\u2026  running\n"
                                  "\n"
                                  "id  name          url\n"
                                  " 1  a-very-long\u2026  https://poo\u2026\n");
        free(text);
        text = print(grid, 36);
        assert_string_equal(text, "id  name          state\n"
                                  " 1  a-very-long\u2026  running\n"
                                  "\n"
                                  "id  name          url\n"
                                  " 1  a-very-long\u2026  https://pool.exam\u2026\n");
        free(text);
        text = print(grid, 80);
        check_has(text, " 1  a-very-long-name-of-work  running  https://pool.example\n");
        free(text);
        grid_free(grid);
}

static void colour_is_there_when_it_is_asked_for(void **state)
{
        (void)state;
        for (int coloured = 0; coloured < 2; coloured++) {
                struct grid *grid = grid_new(1);
                grid_column(grid, "state", false);
                grid_row(grid);
                grid_cell(grid, "failed");
                grid_tone(grid, TONE_BAD);
                if (coloured)
                        grid_colour(grid);
                char *text = print(grid, 80);
                check_has(text, coloured ? "\033[31mfailed" : "state\nfailed\n");
                free(text);
                grid_free(grid);
        }
}

static void many_rows_fit(void **state)
{
        (void)state;
        struct grid *grid = grid_new(1);
        grid_column(grid, "n", true);
        for (int i = 0; i < 5000; i++) {
                grid_row(grid);
                grid_cell(grid, "%d", i);
        }
        char *text = print(grid, 80);
        check_has(text, "4999\n");
        free(text);
        grid_free(grid);
}

static void it_is_finished_below_a_title(void **state)
{
        (void)state;
        char *text = NULL, *plain;
        size_t size;
        struct err err = {0};
        FILE *file = open_memstream(&text, &size);
        struct grid *grid = example();

        assert_non_null(file);
        plain = print(grid, 80);
        assert_int_equal(grid_finish(grid, "what it is", 80, file, &err), 0);
        assert_int_equal(grid_finish(example(), NULL, 80, file, &err), 0);
        fclose(file);
        assert_memory_equal(text, "\nwhat it is\n", 12);
        assert_memory_equal(text + 12, plain, strlen(plain));
        assert_string_equal(text + 12 + strlen(plain), plain);
        free(text);
        free(plain);
}

static void no_memory_is_told(void **state)
{
        (void)state;
        struct err err = {0};
        mem_fail_at(1);
        assert_null(grid_new(1));
        struct grid *grid = grid_new(1);
        grid_column(grid, "x", false);
        grid_row(grid);
        mem_fail_at(1);
        grid_cell(grid, "lost");
        mem_fail_at(0);
        assert_int_equal(grid_print(grid, 80, stdout, &err), -ERR_NOMEM);
        grid_free(grid);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(columns_stand_beside_each_other_without_empty_ones),
                cmocka_unit_test(what_does_not_fit_comes_below),
                cmocka_unit_test(long_cells_are_cut),
                cmocka_unit_test(one_column_gives_way_before_there_are_blocks),
                cmocka_unit_test(a_column_that_comes_below_has_the_room_there),
                cmocka_unit_test(what_leaves_no_room_is_cut),
                cmocka_unit_test(colour_is_there_when_it_is_asked_for),
                cmocka_unit_test(many_rows_fit),
                cmocka_unit_test(it_is_finished_below_a_title),
                cmocka_unit_test(no_memory_is_told),
        };
        setlocale(LC_CTYPE, "C.UTF-8");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
