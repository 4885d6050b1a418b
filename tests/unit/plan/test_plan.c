/* The plan maker's edges: what it declines, and that it does so soon. */
#include "plan/plan.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/price.h"
#include "sim/pool.h"
#include "tests/unit/check.h"

static struct replay_node nodes[] = {
        {.name = "a", .devices = 8, .cpu_milli = 96000, .ram_mib = 1000},
};
static struct replay_pool pool = {.nodes = nodes, .nodes_count = 1, .devices = 8};
static struct planner *planner;
static struct price_plan *plan;

static int open_planner(void **state)
{
        struct err err = {0};

        (void)state;
        pool.own_models = model_table_new();
        pool.models = pool.own_models;
        planner = planner_new();
        plan = mem_new(1, sizeof *plan);
        assert_non_null(pool.own_models);
        assert_non_null(planner);
        assert_non_null(plan);
        assert_true(model_add_unlisted(pool.own_models, "M", &err) >= 0);
        return 0;
}

static int close_planner(void **state)
{
        (void)state;
        model_table_free(pool.own_models);
        planner_free(planner);
        mem_free(plan);
        return 0;
}

static void work_without_devices_has_no_prices_and_does_not_hang(void **state)
{
        (void)state;
        const struct price_shape rows[][2] = {
                {{.cpu_milli = 4000, .models = UINT64_MAX, .weight = 7}, {0}},
                {{.cpu_milli = 4000, .models = UINT64_MAX, .weight = 7},
                 {.devices = 1, .share_milli = 1000, .models = UINT64_MAX}},    /* never comes */
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char note[PLAN_NOTE_MAX];
                struct err err = {0};
                assert_int_equal(plan_make(planner, &pool, rows[i], i ? 2 : 1, plan, note,
                                           sizeof note, &err),
                                 0);
                assert_false(plan->priced);
                check_has(note, "asks for no device");
        }
}

static void a_demand_that_hardly_asks_for_devices_ends(void **state)
{
        (void)state;
        const struct price_shape demand[] = {
                {.cpu_milli = 1000, .models = UINT64_MAX, .weight = UINT64_C(1) << 40},
                {.devices = 1, .share_milli = 1000, .models = UINT64_MAX, .weight = 1},
        };
        char note[PLAN_NOTE_MAX];
        struct err err = {0};

        assert_int_equal(plan_make(planner, &pool, demand, ARRAY_LEN(demand), plan, note,
                                   sizeof note, &err),
                         0);
        assert_true(note[0] != 0);
}

static void more_shapes_than_a_plan_holds_are_refused(void **state)
{
        (void)state;
        static struct price_shape demand[PRICE_SHAPES_MAX + 1];
        char note[PLAN_NOTE_MAX];
        struct err err = {0};

        for (uint32_t s = 0; s <= PRICE_SHAPES_MAX; s++)
                demand[s] = (struct price_shape){.cpu_milli = s + 1,
                                                 .share_milli = 1000,
                                                 .devices = 1,
                                                 .models = UINT64_MAX,
                                                 .weight = 1};
        assert_int_equal(plan_make(planner, &pool, demand, PRICE_SHAPES_MAX + 1, plan, note,
                                   sizeof note, &err),
                         -ERR_INPUT);
        check_has(err.text, "513");
        assert_int_equal(plan_make(planner, &pool, demand, PRICE_SHAPES_MAX, plan, note,
                                   sizeof note, &err),
                         0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(work_without_devices_has_no_prices_and_does_not_hang),
                cmocka_unit_test(a_demand_that_hardly_asks_for_devices_ends),
                cmocka_unit_test(more_shapes_than_a_plan_holds_are_refused),
        };
        return cmocka_run_group_tests(tests, open_planner, close_planner);
}
