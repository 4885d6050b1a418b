/* Each reason of a node and each reason of an idle device, by hand. */
#include "tests/unit/engine/explain_pool.h"

/* ---- reasons of nodes ---- */

static void change(struct node_desc desc)
{
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
}

static void only_code(enum node_code code)
{
        for (unsigned c = 0; c < CODES_END; c++)
                if (it.all.nodes_of[c] != (c == code))
                        fail_msg("%u nodes are %s; %s is expected", it.all.nodes_of[c],
                                 node_code_name(c), node_code_name(code));
}

static void each_reason_of_a_node_is_told(void **state)
{
        (void)state;
        struct node_desc desc = node("a", "A100-40", 2);
        struct request request = ask(9, 1);

        join("a", "A100-40", 2);
        explain_asked(request);
        only_code(CODE_FITS);
        request.need.models = 1ull << model_id("A30");
        explain_asked(request);
        only_code(CODE_TYPE_MISMATCH);
        request = ask(9, 1);
        request.need.plane = word("elsewhere");
        explain_asked(request);
        only_code(CODE_EXCLUDED);
        explain_asked(ask_slice(9, "1g.6gb"));
        only_code(CODE_PROFILE_ABSENT);
        explain_asked(ask(9, 3));
        only_code(CODE_TOO_SMALL);
        desc.broken = 3;
        change(desc);
        explain_asked(ask(9, 1));
        only_code(CODE_UNHEALTHY);
        desc.broken = 0;
        desc.drained = true;
        change(desc);
        explain_asked(ask(9, 1));
        only_code(CODE_DRAINING);
        desc.drained = false;
        change(desc);
        must(&(struct input){.kind = INPUT_FREEZE_SET, .freeze = {0, true}});
        explain_asked(ask(9, 1));
        only_code(CODE_FROZEN);
        must(&(struct input){.kind = INPUT_FREEZE_SET, .freeze = {0, false}});
        submit(ask(1, 2));
        explain_asked(ask(9, 1));
        only_code(CODE_BUSY);
        leave(INPUT_EXITED, 1);
        request = ask(1, 1);
        request.need.cpu_milli = 15000;
        submit(request);
        explain_asked((request.workload = 9, request));
        only_code(CODE_CORES);
        request.need.cpu_milli = 0;
        request.need.ram_mib = 65536;
        submit((request.workload = 2, request));
        leave(INPUT_EXITED, 2);
        leave(INPUT_EXITED, 1);
}

static void idle_is(enum idle_code code, unsigned count)
{
        struct explained_idle idle;

        assert_int_equal(explain_idle(memo, pool, now_ms, &idle, NULL), 0);
        assert_int_equal(idle.models_count, 1);
        for (unsigned c = 0; c < IDLES_END; c++)
                if (idle.models[0].of[c] != (c == code ? count : 0))
                        fail_msg("%u devices are %s; %u x %s is expected", idle.models[0].of[c],
                                 idle_code_name(c), count, idle_code_name(code));
        assert_int_equal(idle.idle, count);
}

static void window(int64_t from_ms, int64_t until_ms)
{
        struct maintenance windows = {.count = 1};

        windows.windows[0] = (struct maintenance_window){
                .name = "w", .when = {.from_ms = T0 + from_ms, .until_ms = T0 + until_ms}};
        must(&(struct input){.kind = INPUT_MAINTENANCE_SET, .maintenance = &windows});
}

static void a_node_that_closes_too_soon_says_so(void **state)
{
        (void)state;
        struct request request = ask(9, 1);

        join("a", "A100-40", 2);
        tick_at(0);
        window(2 * H, 3 * H);
        request.time_limit_ms = 2 * H;
        explain_asked(request);
        only_code(CODE_FITS);
        is_verdict(VERDICT_STARTING);
        request.time_limit_ms++;
        explain_asked(request);
        only_code(CODE_CLOSES_SOON);
        is_verdict(VERDICT_WAIT_CAPACITY);
        fails_first(GATE_FIT);
        submit(ask(1, 1)); /* nobody knows how long that runs */
        explain_now(1);
        only_code(CODE_CLOSES_SOON);
        is_verdict(VERDICT_WAIT_CAPACITY);
        request = ask(2, 2);
        request.time_limit_ms = H;
        submit(request);
        explain_now(1); /* the node is busy as well */
        only_code(CODE_CLOSES_SOON);
        leave(INPUT_EXITED, 2);
        tick_at(2 * H); /* the window is open */
        explain_now(1);
        only_code(CODE_DRAINING);
        assert_int_equal(it.all.free_devices, 0);
        idle_is(IDLE_DRAINING, 2);
        tick_at(3 * H);
        assert_true(is_placed(1));
}

static void a_start_time_is_offered_where_no_window_closes_in(void **state)
{
        (void)state;
        struct request request;

        join("a", "A100-40", 8);
        set_tenants("  red: {}\n");
        tick_at(0);
        request = by("red", ask(1, 1));
        request.start_ms = T0 + H;
        request.time_limit_ms = H;
        submit(request);
        window(2 * H, 3 * H);
        explain_now(1);
        assert_int_equal(offered(UNBLOCK_TIME)->at_ms, T0 + H);
        window(2 * H - 1, 3 * H);
        explain_now(1);
        is_verdict(VERDICT_HELD);
        assert_int_equal(it.all.nodes_of[CODE_FITS], 1); /* it would be gone if it began now */
        for (uint32_t n = 0; n < it.nearest_count; n++)
                assert_int_not_equal(it.nearest[n].kind, UNBLOCK_TIME);
}

static void room_of_other_kinds_is_told(void **state)
{
        (void)state;
        struct request request = ask(1, 1);

        join("a", "A100-40", 2);
        request.need.ram_mib = 60000;
        submit(request);
        explain_asked((request.workload = 9, request));
        only_code(CODE_RAM);
        leave(INPUT_EXITED, 1);
        request = ask(1, 1);
        request.need.disk_mib = 900000;
        submit(request);
        explain_asked((request.workload = 9, request));
        only_code(CODE_DISK);
        leave(INPUT_EXITED, 1);
        request = ask(1, 1);
        request.need.network_mbit = 9000;
        submit(request);
        explain_asked((request.workload = 9, request));
        only_code(CODE_NETWORK);
        leave(INPUT_EXITED, 1);
        /* Two thirds of the memory of one are left of each, and four slices. */
        for (uint64_t id = 1; id < 5; id++) {
                request = ask_slice(id, "2g.10gb");
                submit(request);
        }
        request = ask_slice(9, "4g.20gb");
        request.need.devices = 2;
        explain_asked(request);
        only_code(CODE_BUSY);
        request = ask_share(9, 100);
        explain_asked(request);
        assert_true(it.all.nodes_of[CODE_FITS] + it.all.nodes_of[CODE_LAYOUT_CHANGE_NEEDED] == 1);
}

static void slices_that_lie_apart_are_fragments(void **state)
{
        (void)state;
        join("a", "A100-40", 1);
        for (uint64_t id = 1; id < 8; id++)
                submit(ask_slice(id, "1g.5gb"));
        for (uint64_t id = 1; id < 8; id++)
                if (id % 2 == 0)
                        leave(INPUT_EXITED, id);
        explain_asked(ask_slice(9, "3g.20gb"));
        assert_true(it.all.nodes_of[CODE_FRAGMENTED] + it.all.nodes_of[CODE_BUSY] +
                            it.all.nodes_of[CODE_FITS] ==
                    1);
}

static void shares_leave_no_slices_and_little_memory(void **state)
{
        (void)state;
        join("a", "A100-40", 1);
        struct request request = ask_share(1, 100);
        request.need.memory_mib = 35000;
        submit(request);
        explain_asked(ask_slice(9, "1g.5gb"));
        only_code(CODE_LAYOUT_CHANGE_NEEDED);
        request = ask_share(9, 100);
        request.need.memory_mib = 10000;
        explain_asked(request);
        only_code(CODE_MEMORY);
}

static void gangs_want_to_be_near(void **state)
{
        const struct explained_unblock *unblock;

        (void)state;
        for (unsigned n = 0; n < 2; n++) {
                struct node_desc desc = node(n ? "b" : "a", "A100-40", 2);
                desc.rack = word(n ? "r2" : "r1");
                must(&(struct input){.kind = INPUT_NODE_JOINED, .node = desc});
        }
        struct node_desc third = node("c", "A100-40", 2);
        third.rack = word("r1");
        must(&(struct input){.kind = INPUT_NODE_JOINED, .node = third});
        submit(ask(1, 2));
        struct request request = ask(2, 2);
        request.form = (struct form){.members = 2, .near = NEAR_RACK, .near_required = 1};
        submit(request);
        explain_now(2);
        is_verdict(VERDICT_WAIT_CAPACITY);
        assert_int_equal(it.all.nodes_of[CODE_TOPOLOGY], 2);
        assert_int_equal(it.groups_count, 2);
        unblock = offered(UNBLOCK_REQUEST);
        assert_int_equal(unblock->changes, CHANGE_NEAR);
}

/* ---- reasons of idle devices ---- */

static void each_reason_of_idle_devices_is_told(void **state)
{
        (void)state;
        struct node_desc desc = node("a", "A100-40", 8);

        join("a", "A100-40", 8);
        idle_is(IDLE_FREE, 8);
        desc.drained = true;
        change(desc);
        idle_is(IDLE_DRAINING, 8);
        desc.drained = false;
        desc.broken = 255;
        change(desc);
        idle_is(IDLE_UNHEALTHY, 8);
        desc.broken = 0;
        change(desc);
        must(&(struct input){.kind = INPUT_FREEZE_SET, .freeze = {0, true}});
        idle_is(IDLE_FROZEN, 8);
        must(&(struct input){.kind = INPUT_FREEZE_SET, .freeze = {0, false}});
        set_tenants("  red: {protect: {A100-40: 2}, limit: {any: 2}}\n  blue: {}\n");
        struct request held = by("blue", ask(1, 1));
        held.user_hold = true;
        submit(held);
        idle_is(IDLE_HELD, 8);
        submit(by("red", ask(2, 2)));
        submit(by("red", ask(3, 2)));
        idle_is(IDLE_QUOTA, 6);
        submit(by("blue", ask(4, 8)));
        idle_is(IDLE_FRAGMENTED, 6);
        tick_at(H);
        idle_is(IDLE_HOLD, 6);
}

static void kept_and_locked_devices_are_told(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_tenants("  red: {}\n  blue: {protect: {A100-40: 8}, lend: none}\n");
        idle_is(IDLE_PROMISE, 8);
        submit(by("blue", ask(1, 8)));
        idle_is(IDLE_PROMISE, 0);
}

static void locks_of_a_plan_are_told(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_tenants("  red: {}\n  blue: {protect: {A100-40: 8}}\n");
        submit(by("red", ask(1, 4)));
        submit(by("blue", ask(2, 8)));
        idle_is(IDLE_PLAN, 4);
        explain_asked(by("red", ask(9, 1)));
        only_code(CODE_HELD_FOR_OTHER);
        is_verdict(VERDICT_WAIT_ORDER);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pool, close_with_policy)
                TEST(each_reason_of_a_node_is_told),
                TEST(a_node_that_closes_too_soon_says_so),
                TEST(a_start_time_is_offered_where_no_window_closes_in),
                TEST(room_of_other_kinds_is_told),
                TEST(slices_that_lie_apart_are_fragments),
                TEST(shares_leave_no_slices_and_little_memory),
                TEST(gangs_want_to_be_near),
                TEST(each_reason_of_idle_devices_is_told),
                TEST(kept_and_locked_devices_are_told),
                TEST(locks_of_a_plan_are_told),
#undef TEST
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
