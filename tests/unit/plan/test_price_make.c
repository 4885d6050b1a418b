#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/price.h"
#include "plan/price_make.h"
#include "tests/unit/check.h"

static const struct price_kind kinds[] = {
        {.model = 0, .devices = 8, .cpu_milli = 96000, .nodes = 5},
        {.model = 0, .devices = 2, .cpu_milli = 64000, .nodes = 9},
        {.model = 1, .devices = 4, .cpu_milli = 32000, .nodes = 3},
        {.model = 2, .devices = 1, .cpu_milli = 8000, .nodes = 4},
};

/* Model 2 is open to none of them. */
static const struct price_shape shapes[] = {
        {.devices = 0, .cpu_milli = 4000, .models = 3, .weight = 30},
        {.devices = 1, .share_milli = 300, .cpu_milli = 4000, .models = 3, .weight = 40},
        {.devices = 1, .share_milli = 1000, .cpu_milli = 8000, .models = 3, .weight = 60},
        {.devices = 2, .share_milli = 1000, .cpu_milli = 16000, .models = 1, .weight = 15},
        {.devices = 8, .share_milli = 1000, .cpu_milli = 90000, .models = 3, .weight = 2},
};

static struct price_table tables[2];

static int make_of(const struct price_kind *of_kinds, size_t kinds_len,
                   const struct price_shape *of_shapes, size_t shapes_len,
                   const struct price_options *options, struct price_table *ret_table,
                   struct err *err)
{
        struct price_options plain = PRICE_OPTIONS_DEFAULT;
        struct price_report report;
        struct price_maker *maker;
        int rc = price_maker_new(of_kinds, kinds_len, &maker, err);

        if (rc)
                return rc;
        rc = price_maker_run(maker, of_shapes, shapes_len, options ? options : &plain, ret_table,
                             &report, err);
        price_maker_free(maker);
        return rc;
}

static int make(const struct price_shape *of_shapes, size_t len, struct price_table *ret_table)
{
        return make_of(kinds, ARRAY_LEN(kinds), of_shapes, len, NULL, ret_table, NULL);
}

static void the_same_input_gives_the_same_table(void **state)
{
        (void)state;
        assert_int_equal(make(shapes, ARRAY_LEN(shapes), &tables[0]), 0);
        memset(&tables[1], 0x5a, sizeof tables[1]);
        assert_int_equal(make(shapes, ARRAY_LEN(shapes), &tables[1]), 0);
        assert_memory_equal(&tables[0], &tables[1], sizeof tables[0]);

        /* A maker that has run before, too. */
        struct price_options options = PRICE_OPTIONS_DEFAULT;
        struct price_report report;
        struct price_maker *maker;
        assert_int_equal(price_maker_new(kinds, ARRAY_LEN(kinds), &maker, NULL), 0);
        assert_int_equal(price_maker_run(maker, shapes, 2, &options, &tables[1], &report, NULL), 0);
        assert_int_equal(price_maker_run(maker, shapes, ARRAY_LEN(shapes), &options, &tables[1],
                                         &report, NULL), 0);
        assert_memory_equal(&tables[0], &tables[1], sizeof tables[0]);
        price_maker_free(maker);
        price_maker_free(NULL);
}

static void equal_rows_may_change_places(void **state)
{
        (void)state;
        struct price_shape twins[] = {shapes[1], shapes[2], shapes[2], shapes[3]}, other;
        struct price_kind pair[] = {kinds[0], kinds[0], kinds[2]};

        assert_int_equal(make_of(pair, 3, twins, 4, NULL, &tables[0], NULL), 0);
        other = twins[1];
        twins[1] = twins[2];
        twins[2] = other;
        assert_int_equal(make_of(pair, 3, twins, 4, NULL, &tables[1], NULL), 0);
        assert_memory_equal(&tables[0], &tables[1], sizeof tables[0]);
}

static int largest_difference(const struct price_table *a, const struct price_table *b)
{
        int largest = 0;

        for (unsigned m = 0; m < 3; m++)
                for (unsigned l = 0; l < PRICE_LEVELS; l++)
                        for (unsigned i = 0; i <= PRICE_STEPS; i++) {
                                int off = abs(a->models[m].part[i][l] - b->models[m].part[i][l]);
                                if (off > largest)
                                        largest = off;
                        }
        return largest;
}

/* Sums in another order differ in their last bits, not in what they mean. */
static void another_order_moves_prices_hardly(void **state)
{
        (void)state;
        struct price_shape backwards[ARRAY_LEN(shapes)];

        for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
                backwards[i] = shapes[ARRAY_LEN(shapes) - 1 - i];
        assert_int_equal(make(shapes, ARRAY_LEN(shapes), &tables[0]), 0);
        assert_int_equal(make(backwards, ARRAY_LEN(shapes), &tables[1]), 0);
        assert_in_range(largest_difference(&tables[0], &tables[1]), 0, UNITS_DEVICE / 1000);
}

static void more_room_is_worth_more(void **state)
{
        (void)state;
        static const unsigned devices[] = {8, 4, 1};    /* of the largest node of each model */

        assert_int_equal(make(shapes, ARRAY_LEN(shapes), &tables[0]), 0);
        assert_int_equal(tables[0].models_len, 3);
        for (unsigned l = 0; l < PRICE_LEVELS; l++) {
                assert_true(tables[0].core[l] >= 0);
                for (unsigned m = 0; m < tables[0].models_len; m++) {
                        const struct price_model *prices = &tables[0].models[m];
                        assert_int_equal(prices->part[0][l], 0);
                        assert_int_equal(prices->idle[0][l], 0);
                        for (unsigned i = 1; i <= PRICE_STEPS; i++)
                                assert_true(prices->part[i][l] >= prices->part[i - 1][l]);
                        for (unsigned g = 1; g <= devices[m]; g++)
                                assert_true(prices->idle[g][l] >= prices->idle[g - 1][l]);
                        assert_true(prices->scarcity >= 0);
                }
        }
        /* and it is worth something, where somebody wants it */
        assert_true(tables[0].models[0].idle[8][0] > 0);
}

static void models_that_nobody_may_use_cost_nothing(void **state)
{
        (void)state;
        static const struct price_model nothing;

        assert_int_equal(make(shapes, ARRAY_LEN(shapes), &tables[0]), 0);
        assert_memory_equal(tables[0].models[2].part, nothing.part, sizeof nothing.part);
        assert_memory_equal(tables[0].models[2].idle, nothing.idle, sizeof nothing.idle);
        assert_int_equal(tables[0].models[2].scarcity, 0);
}

static bool is_flat(const struct price_table *table)
{
        static const struct price_model nothing;
        static const int32_t free_cores[PRICE_LEVELS];

        for (unsigned m = 0; m < PRICE_MODELS_MAX; m++)
                if (memcmp(&table->models[m], &nothing, sizeof nothing))
                        return false;
        return memcmp(table->core, free_cores, sizeof free_cores) == 0;
}

static void without_device_demand_the_table_is_flat(void **state)
{
        (void)state;
        struct price_shape none = shapes[2], wide = shapes[4];

        assert_int_equal(make(NULL, 0, &tables[0]), 0);
        assert_true(is_flat(&tables[0]));
        assert_int_equal(make(shapes, 1, &tables[0]), 0);       /* CPU work alone */
        assert_true(is_flat(&tables[0]));
        none.weight = 0;
        assert_int_equal(make(&none, 1, &tables[0]), 0);
        assert_true(is_flat(&tables[0]));
        wide.devices = 16;                                      /* no kind holds it */
        assert_int_equal(make(&wide, 1, &tables[0]), 0);
        assert_true(is_flat(&tables[0]));
}

static void what_is_ignored_changes_nothing(void **state)
{
        (void)state;
        struct price_shape more[ARRAY_LEN(shapes) + 2];

        memcpy(more, shapes, sizeof shapes);
        more[ARRAY_LEN(shapes)] = shapes[2];
        more[ARRAY_LEN(shapes)].weight = 0;
        more[ARRAY_LEN(shapes) + 1] = shapes[4];
        more[ARRAY_LEN(shapes) + 1].devices = 16;
        assert_int_equal(make(shapes, ARRAY_LEN(shapes), &tables[0]), 0);
        assert_int_equal(make(more, ARRAY_LEN(more), &tables[1]), 0);
        assert_memory_equal(&tables[0], &tables[1], sizeof tables[0]);
}

static void input_out_of_bounds_is_refused(void **state)
{
        (void)state;
        static struct price_kind many[PRICE_KINDS_MAX + 1];
        static struct price_shape crowd[PRICE_SHAPES_MAX + 1];
        static const struct { struct price_kind kind; } bad_kinds[] = {
                {{.model = PRICE_MODELS_MAX, .devices = 1, .cpu_milli = 1000, .nodes = 1}},
                {{.model = 0, .devices = PRICE_DEVICES_MAX + 1, .cpu_milli = 1000, .nodes = 1}},
        };
        static const struct price_shape bad_shapes[] = {
                {.devices = 1, .share_milli = 1001, .models = 1, .weight = 1},
                {.devices = 1, .share_milli = 0, .models = 1, .weight = 1},
                {.devices = 2, .share_milli = 500, .models = 1, .weight = 1},
                {.devices = PRICE_DEVICES_MAX + 1, .share_milli = 1000, .models = 1, .weight = 1},
        };
        struct err err = {0};

        for (unsigned i = 0; i <= PRICE_KINDS_MAX; i++)
                many[i] = (struct price_kind){.devices = 1, .cpu_milli = 1000 * (i + 1),
                                              .nodes = 1};
        for (unsigned i = 0; i <= PRICE_SHAPES_MAX; i++)
                crowd[i] = (struct price_shape){.devices = 1, .share_milli = 1000,
                                                .cpu_milli = i + 1, .models = 1, .weight = 1};
        struct price_options options = PRICE_OPTIONS_DEFAULT;
        options.rounds = 2;
        memset(&tables[0], 0x5a, sizeof tables[0]);
        tables[1] = tables[0];
        assert_int_equal(make_of(many, PRICE_KINDS_MAX + 1, shapes, 1, &options, &tables[0], &err),
                         -ERR_INPUT);
        assert_int_equal(make_of(kinds, 4, crowd, PRICE_SHAPES_MAX + 1, &options, &tables[0], &err),
                         -ERR_INPUT);
        for (size_t i = 0; i < ARRAY_LEN(bad_kinds); i++)
                if (make_of(&bad_kinds[i].kind, 1, shapes, 1, &options, &tables[0], &err) !=
                    -ERR_INPUT)
                        fail_msg("kind %zu is taken", i);
        for (size_t i = 0; i < ARRAY_LEN(bad_shapes); i++)
                if (make_of(kinds, 4, &bad_shapes[i], 1, &options, &tables[0], &err) != -ERR_INPUT)
                        fail_msg("shape %zu is taken", i);
        static const double taus[] = {0, 0.002, 1.001, -1};
        for (size_t i = 0; i < ARRAY_LEN(taus); i++) {
                options.tau = taus[i];
                if (make_of(kinds, 4, shapes, 5, &options, &tables[0], &err) != -ERR_INPUT)
                        fail_msg("tau %g is taken", taus[i]);
        }
        assert_true(err.text[0] != '\0');
        assert_memory_equal(&tables[0], &tables[1], sizeof tables[0]);
        /* at the bound it is fine */
        options.tau = 0.003;
        assert_int_equal(make_of(many, PRICE_KINDS_MAX, crowd, PRICE_SHAPES_MAX, &options,
                                 &tables[0], &err), 0);
}

static bool stop_later(void *self, uint32_t round, uint32_t rounds)
{
        unsigned *calls = self;

        assert_in_range(round, 0, rounds);
        return ++*calls < 3;
}

static void a_run_can_be_cancelled(void **state)
{
        (void)state;
        struct price_options options = PRICE_OPTIONS_DEFAULT;
        struct price_report report = {.bound = 12, .step = 34};
        struct price_maker *maker;
        unsigned calls = 0;
        struct err err = {0};

        options.progress = stop_later;
        options.progress_self = &calls;
        memset(&tables[0], 0x5a, sizeof tables[0]);
        tables[1] = tables[0];
        assert_int_equal(price_maker_new(kinds, ARRAY_LEN(kinds), &maker, NULL), 0);
        assert_int_equal(price_maker_run(maker, shapes, ARRAY_LEN(shapes), &options, &tables[0],
                                         &report, &err), -ERR_CANCELLED);
        assert_int_equal(calls, 3);
        assert_memory_equal(&tables[0], &tables[1], sizeof tables[0]);
        assert_true(report.bound == 12 && report.step == 34);
        price_maker_free(maker);
}

static void out_of_memory_is_returned(void **state)
{
        (void)state;
        for (unsigned long n = 1; n < 100; n++) {
                mem_fail_at(n);
                int rc = make(shapes, ARRAY_LEN(shapes), &tables[0]);
                int failed = mem_fail_happened();
                mem_fail_at(0);
                assert_int_equal(rc, failed ? -ERR_NOMEM : 0);
                if (!failed)
                        return;
        }
        fail_msg("allocations never end");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_same_input_gives_the_same_table),
                cmocka_unit_test(equal_rows_may_change_places),
                cmocka_unit_test(another_order_moves_prices_hardly),
                cmocka_unit_test(more_room_is_worth_more),
                cmocka_unit_test(models_that_nobody_may_use_cost_nothing),
                cmocka_unit_test(without_device_demand_the_table_is_flat),
                cmocka_unit_test(what_is_ignored_changes_nothing),
                cmocka_unit_test(input_out_of_bounds_is_refused),
                cmocka_unit_test(a_run_can_be_cancelled),
                cmocka_unit_test(out_of_memory_is_returned),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
