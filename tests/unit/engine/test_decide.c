/* What is refused and why, and whose turn it is. */
#include <inttypes.h>

#include "engine/price.h"
#include "engine/units.h"
#include "tests/unit/engine/pool.h"

/* ---- inputs that cannot be meant ---- */

static void submissions_that_can_not_be_meant_fail(void **state)
{
        (void)state;
        join("a", "A100-40", 2);
        submit(ask(1, 1));
        struct input input = {.kind = INPUT_SUBMITTED, .request = ask(1, 1)};
        must_fail(&input, -ERR_EXISTS, "1");

        input.request = ask(2, 1);
        input.request.form.members = 0;
        must_fail(&input, -ERR_INPUT, "member");
        input.request = ask(2, 0);
        input.request.need.ask = ASK_WHOLE;
        must_fail(&input, -ERR_INPUT, "devices");
        input.request = ask(2, NODE_DEVICES_MAX + 1);
        must_fail(&input, -ERR_RANGE, "devices");
}

static void endings_of_what_is_not_there_fail(void **state)
{
        (void)state;
        join("a", "T4", 1);
        must_fail(&(struct input){.kind = INPUT_CANCELLED, .workload = 7}, -ERR_NOT_FOUND, "7");
        must_fail(&(struct input){.kind = INPUT_EXITED, .workload = 7}, -ERR_NOT_FOUND, "7");
        submit(ask(1, 1));
        submit(ask(2, 1));
        assert_true(is_waiting(2));
        must_fail(&(struct input){.kind = INPUT_EXITED, .workload = 2}, -ERR_INPUT, "2");
        leave(INPUT_CANCELLED, 2);
        assert_int_equal(state_workload(pool, 2), NONE);
        leave(INPUT_EXITED, 1);
        assert_int_equal(state_workload(pool, 1), NONE);
}

static void nodes_that_can_not_be_meant_fail(void **state)
{
        (void)state;
        struct input input = {.kind = INPUT_NODE_JOINED, .node = node("a", "A100-40", 2)};

        must(&input);
        must_fail(&input, -ERR_EXISTS, "a");
        input.node = node("b", "A100-40", NODE_DEVICES_MAX + 1);
        must_fail(&input, -ERR_RANGE, "17");
        input.node = node("b", "A100-40", 2);
        input.node.model = MODELS_MAX - 1;
        must_fail(&input, -ERR_NOT_FOUND, "model");
        input.node = node("b", "A100-40", 2);
        input.node.name = 0;
        must_fail(&input, -ERR_INPUT, "name");
        input.node = node("b", "A100-40", 2);
        input.node.cpu_milli = CPU_MILLI_MAX + 1;
        must_fail(&input, -ERR_RANGE, "b");

        input = (struct input){.kind = INPUT_NODE_CHANGED, .node = node("b", "A100-40", 2)};
        must_fail(&input, -ERR_NOT_FOUND, "b");
        input = (struct input){.kind = INPUT_NODE_FAILED, .node_name = name("b")};
        must_fail(&input, -ERR_NOT_FOUND, "b");
        input.kind = INPUT_NODE_REMOVED;
        must_fail(&input, -ERR_NOT_FOUND, "b");

        submit(ask(1, 1));
        input = (struct input){.kind = INPUT_NODE_REMOVED, .node_name = name("a")};
        must_fail(&input, -ERR_INPUT, "a");
        input = (struct input){.kind = INPUT_NODE_CHANGED, .node = node("a", "A30", 2)};
        must_fail(&input, -ERR_INPUT, "a");
        input.node = node("a", "A100-40", 1);
        must_fail(&input, -ERR_INPUT, "a");
}

/* A node without devices has no model; whatever stands there means nothing. */
static void a_node_without_devices_may_name_any_model(void **state)
{
        (void)state;
        struct node_desc desc = node("cpu", "A100-40", 0);

        desc.model = 255;
        must(&(struct input){.kind = INPUT_NODE_JOINED, .node = desc});
        submit(ask(1, 0));
        assert_true(is_placed(1));
        submit(ask(2, 1));
        assert_int_equal(find_fact(FACT_REFUSED)->refused.gate, GATE_FEASIBLE);
        assert_int_equal(state_workload(pool, 2), NONE);
}

static void reports_that_can_not_be_meant_fail(void **state)
{
        (void)state;
        join("a", "A100-40", 2);
        submit(ask_slice(1, "3g.20gb"));
        struct input input = {.kind = INPUT_LAYOUT_OBSERVED, .layout = {.node = name("b")}};
        must_fail(&input, -ERR_NOT_FOUND, "b");
        input.layout = (struct layout_report){.node = name("a"), .device = 2};
        must_fail(&input, -ERR_RANGE, "2");
        input.layout = (struct layout_report){.node = name("a"), .foreign_slots = 1u << 8};
        must_fail(&input, -ERR_RANGE, "8");
        uint32_t epoch = node_devices(pool, 0)[0].epoch;
        input.layout = (struct layout_report){.node = name("a"), .epoch = epoch + 1};
        must_fail(&input, -ERR_RANGE, "step");
        input.layout.epoch = epoch;
        must(&input);
        assert_int_equal(node_devices(pool, 0)[0].seen_epoch, epoch);
        input.layout.foreign_slots = node_devices(pool, 0)[0].state.slices.slots;
        must_fail(&input, -ERR_INPUT, "foreign");
}

static void plans_out_of_bounds_and_time_that_goes_back_fail(void **state)
{
        (void)state;
        struct price_plan *plan = mem_new(1, sizeof *plan);

        assert_non_null(plan);
        join("a", "T4", 1);
        must(&(struct input){.kind = INPUT_TICKED});
        now_ms = 10;
        must_fail(&(struct input){.kind = INPUT_TICKED}, -ERR_RANGE, "time");
        now_ms = 2000;
        plan->shapes_count = PRICE_SHAPES_MAX + 1;
        must_fail(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan}, -ERR_RANGE, "shapes");
        plan->shapes_count = 0;
        plan->table.models_len = PRICE_MODELS_MAX + 1;
        must_fail(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan}, -ERR_RANGE, "models");
        plan->table.models_len = 1;
        plan->shapes_count = 2;
        plan->shapes[0].weight = PRICE_WEIGHT_MAX;
        plan->shapes[1].weight = 1;
        must_fail(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan}, -ERR_RANGE, "weights");
        plan->shapes[1].weight = UINT64_MAX;            /* must not wrap */
        must_fail(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan}, -ERR_RANGE, "weights");
        plan->shapes[1].weight = 0;
        must(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan});
        int32_t *const prices[] = {
                &plan->table.core[0],
                &plan->table.models[0].part[PRICE_STEPS][PRICE_LEVELS - 1],
                &plan->table.models[0].idle[PRICE_DEVICES_MAX][PRICE_LEVELS - 1],
                &plan->table.models[0].scarcity,
        };
        plan->priced = true;
        for (unsigned i = 0; i < sizeof prices / sizeof prices[0]; i++) {
                *prices[i] = PRICE_UNITS_MAX + 1;
                must_fail(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan}, -ERR_RANGE,
                          "prices");
                *prices[i] = -PRICE_UNITS_MAX - 1;
                must_fail(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan}, -ERR_RANGE,
                          "prices");
                *prices[i] = PRICE_UNITS_MAX;
                must(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan});
        }
        plan->priced = false;
        plan->shapes_count = 0;
        must(&(struct input){.kind = INPUT_PLAN_SET});
        uint64_t before = state_hash(pool);
        must(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan});
        assert_true(pool->plan_set);
        assert_true(state_hash(pool) != before);
        must(&(struct input){.kind = INPUT_PLAN_SET});
        assert_false(pool->plan_set);
        must_fail(&(struct input){.kind = INPUTS_END}, -ERR_INPUT, "kind");
        mem_free(plan);
}

/* ---- refusals ---- */

/* One more of what was cut would be too much. */
static bool step_up(struct request *request, const struct request *asked, unsigned wish)
{
        struct need *need = &request->need;
        const struct need *want = &asked->need;

        switch (wish) {
        case 0:
                if (need->devices >= want->devices)
                        return false;
                need->devices++;
                return true;
        case 1:
                if (request->form.members >= asked->form.members)
                        return false;
                request->form.members++;
                return true;
        case 2:
                if (need->cpu_milli >= want->cpu_milli)
                        return false;
                need->cpu_milli++;
                return true;
        case 3:
                if (need->ram_mib >= want->ram_mib)
                        return false;
                need->ram_mib++;
                return true;
        case 4:
                if (need->memory_mib >= want->memory_mib)
                        return false;
                need->memory_mib++;
                return true;
        case 5:
                if (need->share_milli >= want->share_milli)
                        return false;
                need->share_milli++;
                return true;
        default:
                return false;
        }
}

static void the_nearest_request_is_taken_and_one_step_more_is_not(void **state)
{
        (void)state;
        struct request asked[8];
        unsigned count = 0;

        join("a", "A100-40", 2);
        join("b", "T4", 4);
        asked[count++] = ask(1, 8);
        asked[count] = ask(1, 2);
        asked[count++].form.members = 9;
        asked[count] = ask(1, 1);
        asked[count++].need.cpu_milli = 64000;
        asked[count] = ask(1, 3);
        asked[count].need.ram_mib = 1u << 20;
        asked[count++].need.cpu_milli = 17000;
        asked[count] = ask(1, 1);
        asked[count].need.ask = ASK_MEMORY;
        asked[count++].need.memory_mib = 81920;
        asked[count] = ask(1, 3);
        asked[count].need.ask = ASK_SHARE;
        asked[count].need.share_milli = 600;
        asked[count++].form = (struct form){.members = 4, .near = NEAR_NODE, .near_required = 1};
        asked[count] = ask(1, 0);
        asked[count++].form = (struct form){.members = 5, .spread = SPREAD_NODE};

        for (unsigned i = 0; i < count; i++) {
                struct request want = asked[i];
                assert_int_equal(request_settle(&want, NULL), 0);
                want.once = true;
                submit(want);
                const struct fact *fact = find_fact(FACT_REFUSED);
                assert_int_equal(fact->refused.gate, GATE_FEASIBLE);
                assert_true(fact->refused.has_nearest);
                struct request nearest = fact->refused.nearest;

                for (unsigned wish = 0; wish < 6; wish++) {
                        struct request more = nearest;
                        if (!step_up(&more, &want, wish))
                                continue;
                        more.once = true;
                        submit(more);
                        if (count_facts(FACT_REFUSED) != 1 ||
                            find_fact(FACT_REFUSED)->refused.gate != GATE_FEASIBLE)
                                fail_msg("request %u: one more of wish %u still fits", i, wish);
                }
                nearest.once = true;
                submit(nearest);
                if (!is_placed(1))
                        fail_msg("request %u: the nearest one is refused too", i);
                leave(INPUT_EXITED, 1);
        }
}

static void what_is_not_there_has_no_nearest(void **state)
{
        (void)state;
        struct request request = ask(1, 1);

        join("a", "A100-40", 2);
        request.need.models = 1ull << model_id("T4");
        submit(request);
        assert_int_equal(find_fact(FACT_REFUSED)->refused.gate, GATE_FEASIBLE);
        assert_false(find_fact(FACT_REFUSED)->refused.has_nearest);
        request = ask(1, 1);
        request.need.plane = word("moon");
        submit(request);
        assert_false(find_fact(FACT_REFUSED)->refused.has_nearest);
        assert_int_equal(state_workload(pool, 1), NONE);
}

static void down_and_drained_nodes_count_for_ever_but_not_now(void **state)
{
        (void)state;
        struct node_desc desc = node("a", "A100-40", 2);

        desc.drained = true;
        must(&(struct input){.kind = INPUT_NODE_JOINED, .node = desc});
        submit(ask(1, 2));
        assert_true(is_waiting(1));
        struct request once = ask(2, 1);
        once.once = true;
        submit(once);
        assert_int_equal(find_fact(FACT_REFUSED)->refused.gate, GATE_FIT);
        assert_int_equal(state_workload(pool, 2), NONE);
        desc.drained = false;
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
        assert_true(is_placed(1));
}

/* ---- the queue ---- */

static void priority_goes_first_then_arrival_and_others_may_pass(void **state)
{
        (void)state;
        struct request low = ask(2, 1), high = ask(3, 2), small = ask(4, 1);

        join("a", "A100-40", 2);
        submit(ask(1, 2));
        low.priority = -1;
        high.priority = 5;
        submit(low);
        submit(high);
        submit(small);
        assert_true(is_waiting(2) && is_waiting(3) && is_waiting(4));
        leave(INPUT_EXITED, 1);
        assert_true(is_placed(3) && is_waiting(4) && is_waiting(2));
        /* The wide one of high priority does not fit; what fits passes. */
        high.workload = 5;
        submit(high);
        leave(INPUT_EXITED, 3);
        assert_true(is_placed(5));
        leave(INPUT_CANCELLED, 5);
        assert_true(is_placed(4) && is_placed(2));
        submit(high);
        leave(INPUT_EXITED, 4);
        assert_true(is_waiting(5));
        submit(small);
        assert_true(is_placed(4));
}

int main(void)
{
#define POOL(test) cmocka_unit_test_setup_teardown(test, open_pool, close_pool)
        const struct CMUnitTest tests[] = {
                POOL(submissions_that_can_not_be_meant_fail),
                POOL(endings_of_what_is_not_there_fail),
                POOL(nodes_that_can_not_be_meant_fail),
                POOL(a_node_without_devices_may_name_any_model),
                POOL(reports_that_can_not_be_meant_fail),
                POOL(plans_out_of_bounds_and_time_that_goes_back_fail),
                POOL(the_nearest_request_is_taken_and_one_step_more_is_not),
                POOL(what_is_not_there_has_no_nearest),
                POOL(down_and_drained_nodes_count_for_ever_but_not_now),
                POOL(priority_goes_first_then_arrival_and_others_may_pass),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
