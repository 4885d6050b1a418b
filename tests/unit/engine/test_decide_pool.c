/* Layout steps, nodes that come, change and fail, and what happens at the bounds. */
#include <inttypes.h>

#include "engine/contact.h"
#include "engine/price.h"
#include "engine/units.h"
#include "tests/unit/engine/pool.h"

/* ---- layouts ---- */

static void check_step(const struct fact *fact, enum layout_op op, uint32_t epoch)
{
        assert_int_equal(fact->kind, FACT_LAYOUT_STEP);
        assert_int_equal(fact->layout_step.op, op);
        assert_int_equal(fact->layout_step.epoch, epoch);
}

static void layout_steps_come_in_order_and_count_on(void **state)
{
        (void)state;
        join("a", "A100-40", 1);
        submit(ask_slice(1, "3g.20gb"));
        assert_int_equal(seen_count, 4);
        assert_int_equal(seen[0].kind, FACT_QUEUED);
        check_step(&seen[1], LAYOUT_CUT_ON, 1);
        check_step(&seen[2], LAYOUT_CREATE, 2);
        assert_int_equal(seen[3].kind, FACT_ALLOCATED);
        assert_int_equal(seen[2].layout_step.start, seen[3].allocated.parts[0].start);
        assert_int_equal(seen[2].layout_step.profile, seen[3].allocated.parts[0].profile);

        submit(ask_slice(2, "1g.5gb"));
        assert_int_equal(seen_count, 3);
        check_step(&seen[1], LAYOUT_CREATE, 3);         /* it is cut already */
        leave(INPUT_EXITED, 1);
        check_step(&seen[0], LAYOUT_DESTROY, 4);
        assert_int_equal(seen[1].kind, FACT_RELEASED);

        submit(ask(3, 1));
        assert_true(is_waiting(3));
        leave(INPUT_EXITED, 2);
        check_step(&seen[0], LAYOUT_DESTROY, 5);
        check_step(&seen[2], LAYOUT_CUT_OFF, 6);        /* wanted whole */
        assert_true(is_placed(3));
        assert_false(node_devices(pool, 0)[0].cut);
        assert_int_equal(node_devices(pool, 0)[0].epoch, 6);
}

/* Cutting resets the device: it must come once, before the first instance of the gang. */
static void a_gang_on_one_device_has_it_cut_once(void **state)
{
        (void)state;
        struct request gang = ask_slice(1, "1g.5gb");

        join("a", "A100-40", 1);
        gang.form.members = 5;
        submit(gang);
        assert_int_equal(count_facts(FACT_ALLOCATED), 5);
        assert_int_equal(count_facts(FACT_LAYOUT_STEP), 6);
        check_step(&seen[1], LAYOUT_CUT_ON, 1);
        leave(INPUT_EXITED, 1);
        assert_int_equal(count_facts(FACT_LAYOUT_STEP), 5);

        gang = ask_share(2, 200);
        gang.form.members = 5;
        submit(gang);
        assert_int_equal(count_facts(FACT_LAYOUT_STEP), 1);
        check_step(&seen[1], LAYOUT_CUT_OFF, 12);
}

static void a_mode_is_chosen_anew_when_the_device_was_empty(void **state)
{
        (void)state;
        join("a", "MI300X", 1);
        submit(ask_slice(1, "cpx"));
        check_step(&seen[1], LAYOUT_CUT_ON, 1);
        submit(ask_slice(2, "dpx"));
        assert_true(is_waiting(2));
        leave(INPUT_EXITED, 1);
        assert_true(is_placed(2));
        check_step(&seen[0], LAYOUT_DESTROY, 3);
        check_step(&seen[2], LAYOUT_CUT_ON, 4);
        check_step(&seen[3], LAYOUT_CREATE, 5);
}

static void fail_step(const char *text, uint32_t epoch, uint16_t foreign_slots)
{
        must(&(struct input){.kind = INPUT_LAYOUT_OBSERVED,
                             .layout = {.node = name(text),
                                        .failed = true,
                                        .epoch = epoch,
                                        .foreign_slots = foreign_slots}});
}

/* What lies there, a neighbour of the step too, may still run. */
static void a_failed_step_breaks_the_device_until_nothing_lies_there(void **state)
{
        (void)state;
        join("a", "A100-40", 1);
        submit(ask_slice(1, "1g.5gb"));
        submit(ask_slice(2, "1g.5gb"));
        fail_step("a", 3, 0);
        assert_int_equal(count_facts(FACT_RELEASED), 0);
        assert_true(is_placed(1));
        assert_true(is_placed(2));
        assert_true(workload_is_torn(pool, &pool->workloads[state_workload(pool, 1)]));
        submit(ask_slice(3, "1g.5gb"));
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = node("a", "A100-40", 1)});
        must(&(struct input){.kind = INPUT_LOST, .workload = 1});
        assert_int_equal(find_fact(FACT_RELEASED)->released.cause, RELEASE_LOST);
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = node("a", "A100-40", 1)});
        assert_true(is_waiting(3));
        assert_int_equal(pool->nodes[0].desc.broken, 1);
        must(&(struct input){.kind = INPUT_EXITED, .workload = 2});
        assert_true(is_waiting(3));
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = node("a", "A100-40", 1)});
        assert_true(is_placed(3));
}

static void a_step_fails_on_a_node_that_is_down_and_it_stays_down(void **state)
{
        (void)state;
        join("a", "A100-40", 1);
        submit(ask_slice(1, "1g.5gb"));
        must(&(struct input){.kind = INPUT_NODE_FAILED, .failed = {name("a"), true}});
        fail_step("a", 2, 0);
        assert_int_equal(pool->nodes[0].status, NODE_SILENT);
        assert_int_equal(pool->nodes[0].desc.broken, 1);
}

static void a_failed_step_may_report_what_is_in_the_way(void **state)
{
        (void)state;
        join("a", "A100-40", 1);
        submit(ask_slice(1, "1g.5gb"));
        uint16_t slots = node_devices(pool, 0)[0].state.slices.slots;
        /* The old instance of the same slots is still there: the new one could not be made. */
        fail_step("a", 2, slots);
        assert_true(is_placed(1));
        assert_true(node_devices(pool, 0)[0].state.broken);
        must(&(struct input){.kind = INPUT_LOST, .workload = 1});
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = node("a", "A100-40", 1)});
        submit(ask(2, 1));
        assert_true(is_waiting(2));             /* it is well, and a stranger is on it */
}

static void late_and_repeated_reports_do_no_harm(void **state)
{
        (void)state;
        struct input report = {.kind = INPUT_LAYOUT_OBSERVED,
                               .layout = {.node = name("a"), .epoch = 2}};

        join("a", "A100-40", 1);
        submit(ask_slice(1, "1g.5gb"));
        must(&report);
        report.layout.epoch = 1;
        report.layout.failed = true;
        must(&report);
        assert_true(is_placed(1));
        assert_int_equal(node_devices(pool, 0)[0].seen_epoch, 2);
        report.layout.epoch = 2;
        must(&report);
        assert_true(is_placed(1));
}

static void nothing_lies_beside_a_stranger_whose_mode_is_unknown(void **state)
{
        (void)state;
        struct request request = ask_slice(1, "cpx");

        join("a", "MI300X", 1);
        must(&(struct input){.kind = INPUT_LAYOUT_OBSERVED,
                             .layout = {.node = name("a"), .foreign_slots = 0x0f}});
        submit(request);
        assert_true(is_waiting(1));
}

/* ---- nodes ---- */

static void the_slot_of_the_next_node_is_part_of_the_hash(void **state)
{
        (void)state;
        uint64_t hashes[2];

        for (unsigned i = 0; i < 2; i++) {
                close_pool(state);
                open_pool(state);
                join("a", "T4", 1);
                join("b", "T4", 1);
                join("c", "T4", 1);
                must(&(struct input){.kind = INPUT_NODE_REMOVED, .node_name = name(i ? "a" : "b")});
                must(&(struct input){.kind = INPUT_NODE_REMOVED, .node_name = name(i ? "b" : "a")});
                hashes[i] = state_hash(pool);
        }
        assert_int_not_equal(hashes[0], hashes[1]);
}

static void a_lost_member_ends_its_gang_as_a_whole(void **state)
{
        (void)state;
        struct request gang = ask(1, 1);

        join("a", "A100-40", 1);
        join("b", "A100-40", 1);
        join("c", "A100-40", 1);
        gang.form.members = 2;
        submit(gang);
        submit(ask(2, 1));
        must(&(struct input){.kind = INPUT_NODE_FAILED, .node_name = name("a")});
        assert_int_equal(count_facts(FACT_RELEASED), 0);        /* what is left of it runs */
        leave(INPUT_LOST, 1);
        assert_int_equal(count_facts(FACT_RELEASED), 1);
        assert_int_equal(find_fact(FACT_RELEASED)->released.workload, 1);
        assert_int_equal(find_fact(FACT_RELEASED)->released.cause, RELEASE_LOST);
        assert_int_equal(state_workload(pool, 1), NONE);
        assert_true(is_placed(2));
        /* Nothing new on it, until it is back. */
        submit(gang);
        assert_true(is_waiting(1));
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = node("a", "A100-40", 1)});
        assert_true(is_placed(1));
        /* Gone for good is only what holds nothing. */
        must_fail(&(struct input){.kind = INPUT_NODE_REMOVED, .node_name = name("a")}, -ERR_INPUT,
                  "a");
        leave(INPUT_EXITED, 1);
        must(&(struct input){.kind = INPUT_NODE_REMOVED, .node_name = name("a")});
        assert_int_equal(state_node(pool, name("a")), NONE);
        must(&(struct input){.kind = INPUT_NODE_JOINED, .node = node("a", "A100-40", 1)});
}

static void a_described_node_is_waited_for_and_takes_nothing(void **state)
{
        (void)state;
        struct input described = {.kind = INPUT_NODE_DESCRIBED, .node = node("a", "A100-40", 1)};

        must(&described);
        submit(ask(1, 1));
        assert_true(is_waiting(1));             /* without the node it would never fit */
        described.node.drained = true;
        must(&described);                       /* described anew, and still down */
        must(&(struct input){.kind = INPUT_TICKED});
        assert_true(is_waiting(1));
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = node("a", "A100-40", 1)});
        assert_true(is_placed(1));
        must_fail(&described, -ERR_INPUT, "is there");
        assert_true(is_placed(1));
}

static void another_card_brings_nothing_of_the_old_one(void **state)
{
        (void)state;
        join("a", "A100-40", 1);
        submit(ask_slice(1, "1g.5gb"));
        leave(INPUT_EXITED, 1);
        must(&(struct input){.kind = INPUT_LAYOUT_OBSERVED,
                             .layout = {.node = name("a"), .foreign_slots = 0x80}});
        submit(ask(2, 1));
        assert_true(is_waiting(2));
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = node("a", "A30", 1)});
        assert_true(is_placed(2));
        assert_int_equal(count_facts(FACT_LAYOUT_STEP), 0);     /* it never was cut */
}

static void a_node_that_shrinks_keeps_its_work_and_takes_no_more(void **state)
{
        (void)state;
        struct node_desc desc = node("a", "A100-40", 2);
        struct request request = ask(1, 1);

        join("a", "A100-40", 2);
        request.need.cpu_milli = 10000;
        submit(request);
        desc.cpu_milli = 4000;
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
        assert_true(is_placed(1));
        assert_int_equal(pool->nodes[0].cpu_free, 0);
        request = ask(2, 1);
        request.need.cpu_milli = 1;
        submit(request);
        assert_true(is_waiting(2));
        leave(INPUT_EXITED, 1);
        assert_true(is_placed(2));
}

/* ---- bounds ---- */

static int open_small(void **state)
{
        (void)state;
        open_bounded(&(struct state_bounds){.nodes_max = 2,
                                            .workloads_max = 3,
                                            .members_max = 3,
                                            .parts_max = 4,
                                            .shapes_max = 2,
                                            .buckets_max = 3});
        return 0;
}

static void a_full_node_table_refuses_the_next(void **state)
{
        (void)state;
        join("a", "T4", 1);
        join("b", "T4", 1);
        must_fail(&(struct input){.kind = INPUT_NODE_JOINED, .node = node("c", "T4", 1)},
                  -ERR_FULL, "2");
        must(&(struct input){.kind = INPUT_NODE_REMOVED, .node_name = name("a")});
        join("c", "T4", 1);
}

static bool is_refused_by(enum gate gate)
{
        return count_facts(FACT_REFUSED) == 1 && find_fact(FACT_REFUSED)->refused.gate == gate;
}

static void a_full_workload_table_refuses_the_next(void **state)
{
        (void)state;
        join("a", "T4", 8);
        for (uint64_t id = 1; id <= 3; id++)
                submit(ask(id, 1));
        assert_true(is_placed(3));
        uint64_t hash = state_hash(pool);
        submit(ask(4, 1));
        assert_true(is_refused_by(GATE_TABLE));
        assert_true(state_hash(pool) == hash);
        leave(INPUT_EXITED, 1);
        submit(ask(4, 1));
        assert_true(is_placed(4));
}

static void full_shape_and_bucket_tables_refuse_the_next(void **state)
{
        (void)state;
        struct request request = ask(1, 1);

        join("a", "T4", 8);
        submit(request);
        leave(INPUT_EXITED, 1);
        submit(ask(1, 2));
        leave(INPUT_EXITED, 1);
        submit(ask(1, 3));                      /* a third shape */
        assert_true(is_refused_by(GATE_TABLE));
        request.priority = 1;                   /* a third bucket of a known shape */
        submit(request);
        assert_true(is_placed(1));
        leave(INPUT_EXITED, 1);
        request.priority = 2;
        submit(request);
        assert_true(is_refused_by(GATE_TABLE));
        request.priority = 0;
        submit(request);
        assert_true(is_placed(1));
}

static void full_member_and_part_tables_let_it_wait(void **state)
{
        (void)state;
        struct request gang = ask_share(1, 100);

        join("a", "T4", 8);
        gang.form.members = 3;
        submit(gang);
        assert_true(is_placed(1));              /* at the bound */
        submit(ask(2, 2));
        assert_true(is_waiting(2));             /* a fourth member */
        leave(INPUT_EXITED, 1);
        assert_true(is_placed(2));              /* 2 of 4 parts */
        gang = ask(3, 2);
        submit(gang);
        assert_true(is_placed(3));              /* 4 of 4 */
        gang.workload = 4;
        submit(gang);
        assert_true(is_waiting(4));
        leave(INPUT_EXITED, 2);
        assert_true(is_placed(4));
}

/* ---- memory ---- */

/* Decides the step on a fresh memo with allocation n failing, for all n: nothing has changed, and
 * the same memo can do it when there is memory again. */
static void step_short_of_memory(const struct input *input, unsigned step)
{
        uint64_t hash = state_hash(pool);

        for (unsigned long n = 1; n < 2000; n++) {
                struct memo *fresh = memo_new((struct policy){.kind = POLICY_AUTO}, MEMO_INDEXED);
                struct group group;
                struct err err = {0};
                assert_non_null(fresh);
                mem_fail_at(n);
                int rc = engine_decide(pool, fresh, input, now_ms, step, &group, &err);
                int failed = mem_fail_happened();
                mem_fail_at(0);
                assert_true(state_hash(pool) == hash);
                if (failed && rc) {             /* it may also do without */
                        if (rc != -ERR_NOMEM)
                                fail_msg("allocation %lu of step %u fails, and decide() says %d",
                                         n, step, rc);
                        assert_true(err.text[0] != '\0');
                        rc = engine_decide(pool, fresh, input, now_ms, step, &group, &err);
                }
                memo_free(fresh);
                if (rc)
                        fail_msg("step %u after a failed allocation: %s", step, err.text);
                if (!failed)
                        return;
        }
        fail_msg("step %u never gets by without one more allocation", step);
}

static void out_of_memory_changes_nothing(void **state)
{
        (void)state;
        struct request gang = ask_share(9, 300), never = ask(10, 16);
        struct input input = {.kind = INPUT_SUBMITTED};
        struct err err = {0};
        struct group group;

        join("a", "A100-40", 2);
        join("b", "T4", 4);
        join("c", "MYSTERY", 1);
        submit(ask_slice(1, "3g.20gb"));
        submit(ask(2, 3));
        submit(ask(3, 3));
        assert_true(is_waiting(3));
        gang.form = (struct form){.members = 3, .near = NEAR_RACK};
        const struct request requests[] = {ask(7, 1), ask_slice(8, "1g.5gb"), gang, never};
        for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
                input.request = requests[i];
                step_short_of_memory(&input, 0);
                assert_int_equal(engine_decide(pool, memo, &input, now_ms, 0, &group, &err), 0);
                for (uint32_t f = 0; f < group.count; f++)
                        state_apply(pool, &group.facts[f], now_ms);
                if (group.more)
                        step_short_of_memory(&input, 1);
                state_check(pool);
        }
        input = (struct input){.kind = INPUT_EXITED, .workload = 2};
        step_short_of_memory(&input, 0);
        input = (struct input){.kind = INPUT_NODE_FAILED, .node_name = name("a")};
        step_short_of_memory(&input, 0);
        input = (struct input){.kind = INPUT_TICKED};
        step_short_of_memory(&input, 0);
        step_short_of_memory(&input, 1);
}

static void state_and_memo_are_made_or_not(void **state)
{
        (void)state;
        for (unsigned long n = 1; n < 200; n++) {
                mem_fail_at(n);
                struct state *made = state_new(models, &(struct state_bounds){.nodes_max = 2});
                int failed = mem_fail_happened();
                mem_fail_at(0);
                assert_int_equal(made == NULL, failed);
                state_free(made);
                if (!failed)
                        break;
        }
        mem_fail_at(1);
        struct memo *made = memo_new((struct policy){.kind = POLICY_AUTO}, MEMO_INDEXED);
        assert_true(made == NULL || !mem_fail_happened());
        mem_fail_at(0);
        memo_free(made);
        state_free(NULL);
        memo_free(NULL);
}

int main(void)
{
#define POOL(test) cmocka_unit_test_setup_teardown(test, open_pool, close_pool)
#define SMALL(test) cmocka_unit_test_setup_teardown(test, open_small, close_pool)
        const struct CMUnitTest tests[] = {
                POOL(layout_steps_come_in_order_and_count_on),
                POOL(a_gang_on_one_device_has_it_cut_once),
                POOL(a_mode_is_chosen_anew_when_the_device_was_empty),
                POOL(a_failed_step_breaks_the_device_until_nothing_lies_there),
                POOL(a_step_fails_on_a_node_that_is_down_and_it_stays_down),
                POOL(a_failed_step_may_report_what_is_in_the_way),
                POOL(late_and_repeated_reports_do_no_harm),
                POOL(nothing_lies_beside_a_stranger_whose_mode_is_unknown),
                POOL(the_slot_of_the_next_node_is_part_of_the_hash),
                POOL(a_lost_member_ends_its_gang_as_a_whole),
                POOL(a_described_node_is_waited_for_and_takes_nothing),
                POOL(another_card_brings_nothing_of_the_old_one),
                POOL(a_node_that_shrinks_keeps_its_work_and_takes_no_more),
                SMALL(a_full_node_table_refuses_the_next),
                SMALL(a_full_workload_table_refuses_the_next),
                SMALL(full_shape_and_bucket_tables_refuse_the_next),
                SMALL(full_member_and_part_tables_let_it_wait),
                POOL(out_of_memory_changes_nothing),
                cmocka_unit_test(state_and_memo_are_made_or_not),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
