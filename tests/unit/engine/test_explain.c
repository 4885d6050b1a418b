/* Each verdict, by hand, and what a tenant could start at once. */
#include "proto/explain_text.h"
#include "tests/unit/engine/explain_pool.h"

static void says(const char *summary)
{
        struct explain_names names = {.state = pool};
        char buf[EXPLAIN_TEXT_MAX];

        assert_string_equal(explain_summary(&it, &names, buf), summary);
}

static void what_a_tenant_may_not_use_is_refused(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_tenants("  red: {limit: {A100-40: none}}\n  blue: {limit: {any: 4}}\n");
        explain_asked(by("red", ask(1, 1))); /* other models would do, but none is here */
        is_verdict(VERDICT_NEVER);
        fails_first(GATE_LIMIT);
        struct request request = by("red", ask(1, 1));
        request.need.models = 1ull << model_id("A100-40");
        explain_asked(request);
        is_verdict(VERDICT_REFUSED);
        fails_first(GATE_ALLOWED);
        assert_int_equal(it.all.nodes_of[CODE_NOT_ALLOWED], 1);
}

static void what_no_pool_state_fits_is_never(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_tenants("  red: {limit: {any: 4}}\n");
        explain_asked(by("red", ask(1, 16)));
        is_verdict(VERDICT_NEVER);
        fails_first(GATE_FEASIBLE);
        assert_true(it.has_possible);
        assert_int_equal(it.possible.need.devices, 8);
        explain_asked(by("red", ask(1, 8))); /* alone above its limit */
        is_verdict(VERDICT_NEVER);
        fails_first(GATE_LIMIT);
        assert_int_equal(it.gates[GATE_LIMIT].limit, 4 * 126000);
        assert_int_equal(it.gates[GATE_LIMIT].after, 8 * 126000);
}

static void limits_make_it_wait_for_quota(void **state)
{
        const struct explained_unblock *unblock;

        (void)state;
        join("a", "A100-40", 8);
        set_tenants("  red: {limit: {any: 4}}\n  blue: {limit: {running: 1}}\n");
        submit(by("red", ask(1, 3)));
        submit(by("red", ask(2, 2)));
        explain_now(2);
        is_verdict(VERDICT_WAIT_QUOTA);
        fails_first(GATE_LIMIT);
        assert_true(it.gates[GATE_FIT].passed);
        assert_int_equal(it.gates[GATE_LIMIT].tenant, tenant("red"));
        assert_int_equal(it.gates[GATE_LIMIT].used, 3 * 126000);
        assert_int_equal(it.gates[GATE_LIMIT].after, 5 * 126000);
        assert_int_equal(it.all.nodes_of[CODE_QUOTA], 1);
        unblock = offered(UNBLOCK_QUOTA);
        assert_int_equal(unblock->raises[0].to, 5 * 126000);
        unblock = offered(UNBLOCK_OWN_END);
        assert_int_equal(unblock->workload, 1);
        unblock = offered(UNBLOCK_REQUEST);
        submit(by("blue", ask(3, 1)));
        submit(by("blue", ask(4, 1)));
        explain_now(4);
        is_verdict(VERDICT_WAIT_QUOTA);
        fails_first(GATE_JOBS);
        assert_int_equal(it.gates[GATE_JOBS].used, 1);
        assert_int_equal(it.gates[GATE_JOBS].limit, 1);
}

static void an_empty_budget_makes_it_wait(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_tenants("  red: {budget: {device_hours: 4, per: month, on_empty: refuse}}\n");
        submit(by("red", ask(1, 8)));
        submit(by("red", ask(2, 8)));
        tick_at(H);
        leave(INPUT_EXITED, 1);
        explain_now(2);
        is_verdict(VERDICT_WAIT_BUDGET);
        fails_first(GATE_BUDGET);
        assert_int_equal(it.gates[GATE_BUDGET].limit, 4 * H);
        assert_true(it.gates[GATE_BUDGET].used >= it.gates[GATE_BUDGET].limit);
        explain_asked(by("red", ask(3, 1)));
        is_verdict(VERDICT_REFUSED);
}

static void holds_hold(void **state)
{
        const struct explained_unblock *unblock;

        (void)state;
        join("a", "A100-40", 8);
        set_tenants("  red: {}\n");
        struct request request = by("red", ask(1, 1));
        request.user_hold = true;
        submit(request);
        explain_now(1);
        is_verdict(VERDICT_HELD);
        fails_first(GATE_HOLD);
        unblock = offered(UNBLOCK_LET_GO);
        request = by("red", ask(2, 1));
        request.start_ms = now_ms + H;
        submit(request);
        explain_now(2);
        is_verdict(VERDICT_HELD);
        unblock = offered(UNBLOCK_TIME);
        assert_int_equal(unblock->at_ms, now_ms + H);
        submit(by("red", ask(3, 1)));
        request = by("red", ask(4, 1));
        request.after_count = 1;
        request.after[0] = 3;
        submit(request);
        explain_now(4);
        is_verdict(VERDICT_HELD);
        assert_int_equal(it.after_left, 1);
        request = by("red", ask(5, 1));
        request.array = 1;
        request.array_at_once = 1;
        submit(request);
        request.workload = 6;
        submit(request);
        explain_now(6);
        is_verdict(VERDICT_HELD);
        assert_int_equal(it.array_running, 1);
}

static void promises_and_capacity_holds_are_claims(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_tenants("  red: {}\n  blue: {protect: {A100-40: 4}, lend: none}\n");
        submit(by("red", ask(1, 8)));
        explain_now(1);
        is_verdict(VERDICT_WAIT_ORDER);
        fails_first(GATE_ORDER);
        assert_int_equal(it.all.nodes_of[CODE_RESERVED], 1);
        assert_int_equal(it.gates[GATE_ORDER].limit, 4 * 126000);
}

static void wide_work_that_waits_keeps_room(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_tenants("  red: {protect: {A100-40: 4}}\n  blue: {}\n");
        struct request half = by("red", ask(1, 4));
        half.time_limit_ms = 20 * H;
        submit(half);
        submit(by("blue", ask(2, 8)));
        tick_at(H);
        assert_int_equal(pool->nodes_held, 1);
        half.workload = 3;
        half.time_limit_ms = 90 * H;
        submit(half);
        explain_now(3);
        is_verdict(VERDICT_WAIT_ORDER);
        assert_int_equal(it.all.nodes_of[CODE_HELD_FOR_OTHER], 1);
        explain_now(2);
        is_verdict(VERDICT_WAIT_CAPACITY);
}

static void nothing_free_is_capacity(void **state)
{
        const struct explained_unblock *unblock;

        (void)state;
        join("a", "A100-40", 8);
        join("b", "A30", 8);
        set_tenants("  red: {}\n");
        struct request request = by("red", ask(1, 6));
        request.need.models = 1ull << model_id("A100-40");
        submit(request);
        request.workload = 2;
        submit(request);
        explain_now(2);
        is_verdict(VERDICT_WAIT_CAPACITY);
        fails_first(GATE_FIT);
        assert_int_equal(it.all.nodes_of[CODE_BUSY], 1);
        assert_int_equal(it.all.nodes_of[CODE_TYPE_MISMATCH], 1);
        assert_int_equal(it.all.free_devices, 10);
        unblock = offered(UNBLOCK_REQUEST);
        assert_int_equal(unblock->changes, CHANGE_MODELS);
        unblock = offered(UNBLOCK_OWN_END);
        assert_int_equal(it.position.in_tenant, 1);
        assert_int_equal(it.position.ahead, AHEAD_NEXT);
}

static void a_plan_under_way_has_a_deadline(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_tenants("  red: {}\n  blue: {protect: {A100-40: 8}}\n");
        submit(by("red", ask(1, 8)));
        submit(by("blue", ask(2, 8)));
        explain_now(2);
        is_verdict(VERDICT_WAIT_PREEMPTION);
        assert_int_equal(it.until_ms, now_ms + 5 * M);
        assert_int_equal(it.plan_cause, PLAN_PROTECT);
        assert_int_equal(offered(UNBLOCK_PLAN)->at_ms, it.until_ms);
        explain_now(1);
        is_verdict(VERDICT_RUNNING);
        assert_true(it.until_ms > 0);
}

static void what_starts_runs_or_is_not_known_says_so(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        explain_asked(ask(1, 8)); /* without a policy */
        is_verdict(VERDICT_STARTING);
        submit(ask(1, 8));
        submit(ask(2, 8));
        explain_now(1);
        is_verdict(VERDICT_RUNNING);
        says("It runs.");
        must(&(struct input){.kind = INPUT_USE_REPORTED,
                             .use = {.workload = 1, .idle_since_ms = now_ms}});
        explain_now(1);
        says("It runs, and its devices are idle.");
        it.told_idle = true;
        says("It runs, and has been told to stop: its devices are idle.");
        must(&(struct input){.kind = INPUT_DEVICES_FAILED, .broke = {name("a"), 1}});
        explain_now(1);
        is_verdict(VERDICT_RUNNING);
        says("A part of it is lost: a device broke, or its node was given up. What is left is "
             "being ended, and then it waits again.");
        it.is_torn = false;
        it.is_silent = true;
        says("Its node is silent. It keeps its place until the node is back, or an operator gives "
             "it up.");
        explain_now(2);
        is_verdict(VERDICT_WAIT_CAPACITY);
        now_ms += 10 * H;
        explain_now(2);
        is_verdict(VERDICT_UNKNOWN);
        fails_first(GATE_FIT);
        struct err err = {0};
        assert_int_equal(explain(memo, pool, 77, now_ms, &it, &err), -ERR_NOT_FOUND);
        check_has(err.text, "there is no workload 77");
}

static void the_largest_shapes_are_listed(void **state)
{
        static struct explained_fits fits;

        (void)state;
        join("a", "A100-40", 8);
        join("b", "A100-40", 8);
        (void)word("3g.20gb");
        set_tenants("  red: {protect: {A100-40: 4}, limit: {any: 9}}\n");
        submit(by("red", ask(1, 3)));
        assert_int_equal(explain_fits(memo, pool, tenant("red"), 0, now_ms, &fits, NULL), 0);
        assert_int_equal(fits.count, 2);
        assert_int_equal(fits.lines[0].request.need.devices, 6); /* by its limit */
        assert_int_equal(fits.lines[0].standing, STANDING_STANDARD);
        assert_int_equal(fits.lines[1].request.need.ask, ASK_PROFILE);
        assert_int_equal(fits.lines[1].request.form.members, 12); /* halves */
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pool, close_with_policy)
                TEST(what_a_tenant_may_not_use_is_refused),
                TEST(what_no_pool_state_fits_is_never),
                TEST(limits_make_it_wait_for_quota),
                TEST(an_empty_budget_makes_it_wait),
                TEST(holds_hold),
                TEST(promises_and_capacity_holds_are_claims),
                TEST(wide_work_that_waits_keeps_room),
                TEST(nothing_free_is_capacity),
                TEST(a_plan_under_way_has_a_deadline),
                TEST(what_starts_runs_or_is_not_known_says_so),
                TEST(the_largest_shapes_are_listed),
#undef TEST
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
