/* Maintenance windows: who may start before, who is told, what is closed, and what opens again. */
#include "engine/drain.h"
#include "tests/unit/engine/pool_policy.h"

#define GPU "V100-16"

static struct maintenance windows;

static int open_maintenance(void **state)
{
        open_pool(state);
        windows = (struct maintenance){0};
        join("a", GPU, 4);
        set_policy("kind: Policy\n"
                   "preset: protected\n"
                   "classes:\n"
                   "  c: {rank: 2, methods: [whole], stop: for_protect, notice: 10m, exempt: 0s}\n"
                   "  n: {rank: 1, methods: [whole], stop: never, notice: 10m}\n"
                   "rules: {stop_rate: {pct: 100, per: 10m}}\n"
                   "tenants:\n"
                   "  t: {protect: {V100-16: 4}}\n"
                   "  u: {}\n");
        return 0;
}

static struct maintenance_window *add(int64_t from_ms, int64_t until_ms)
{
        struct maintenance_window *window = &windows.windows[windows.count++];

        *window = (struct maintenance_window){.name = "w",
                                              .when = {T0 + from_ms, T0 + until_ms, 0, 0}};
        return window;
}

static void set_windows(void)
{
        must(&(struct input){.kind = INPUT_MAINTENANCE_SET, .maintenance = &windows});
}

static void before_a_window_starts_what_ends_in_time(void **state)
{
        (void)state;
        add(4 * H, 6 * H);
        set_windows();
        submit(timed(1, 5 * H));
        assert_true(is_waiting(1));
        submit(timed(2, 4 * H));                /* the same need, behind it */
        assert_true(is_placed(2));
        join("b", GPU, 4);
        assert_true(is_waiting(1));             /* the window is the whole pool's */
        windows.windows[0].node = name("a");
        set_windows();
        assert_true(lies_on(1, "b"));
        tick_at(H);
        submit(timed(3, 3 * H + 1));
        assert_true(lies_on(3, "b"));
        submit(timed(4, 3 * H));
        assert_true(lies_on(4, "a"));           /* first fit */
}

static void services_and_unknown_lengths_keep_a_day_away(void **state)
{
        (void)state;
        struct request service = timed(1, 0), unknown = timed(2, 0);

        service.service = true;
        add(25 * H, 26 * H);
        set_windows();
        submit(service);
        submit(unknown);
        assert_true(is_placed(1) && is_placed(2));
        tick_at(H + 1);
        service.workload = 3;
        unknown.workload = 4;
        submit(service);
        submit(unknown);
        assert_true(is_waiting(3) && is_waiting(4));
}

/* q90 of four runs of ten minutes: no longer unknown. */
static void what_is_known_of_a_tenant_counts(void **state)
{
        (void)state;
        add(4 * H, 6 * H);
        set_windows();
        for (uint64_t id = 1; id <= 4; id++) {
                submit(timed(id, H));
                at((int64_t)id * 10 * M);
                leave(INPUT_EXITED, id);
        }
        submit(timed(5, 0));
        assert_true(is_waiting(5));
        tick_at(41 * M);                        /* known from the next tick on */
        assert_true(is_placed(5));
}

static void who_saves_and_may_be_stopped_starts(void **state)
{
        (void)state;
        struct request saver = timed(1, 50 * H), never = of(ask(2, 1), "u", "n");

        add(2 * H, 3 * H);
        set_windows();
        saver.checkpoint_every_ms = H;
        never.checkpoint_every_ms = H;
        submit(saver);
        submit(never);
        assert_true(is_placed(1));
        assert_true(is_waiting(2));
        tick_at(50 * M + 1);                    /* no time for a checkpoint and the notice */
        saver.workload = 3;
        submit(saver);
        assert_true(is_waiting(3));
        saver.workload = 4;
        saver.checkpoint_every_ms = 0;
        saver.checkpoint_within_ms = M;         /* when it is told */
        submit(saver);
        assert_true(is_placed(4));
}

static void running_work_is_told_and_the_window_closes_and_opens(void **state)
{
        (void)state;
        submit(timed(1, 50 * H));
        add(4 * H, 6 * H);
        set_windows();
        tick_at(230 * M - DRAIN_EARLY_MS);
        const struct fact *told = find_fact(FACT_NOTICED);
        assert_int_equal(told->noticed.cause, NOTICE_MAINTENANCE);
        assert_int_equal(told->noticed.until_ms, T0 + 4 * H);
        at(4 * H);
        leave(INPUT_STOPPED, 1);
        assert_int_equal(find_fact(FACT_REQUEUED)->requeued.cause, RELEASE_DRAINED);
        assert_true(is_waiting(1));
        tick_at(4 * H);
        assert_true(pool->nodes[0].closed);
        assert_int_equal(pool->capacity[model_id(GPU)], 0);
        submit(timed(2, M));
        tick_at(6 * H - 1);
        assert_true(is_waiting(1) && is_waiting(2));
        tick_at(6 * H);
        assert_false(pool->nodes[0].closed);
        assert_true(is_placed(1) && is_placed(2));
}

static void a_window_comes_again_up_to_the_last(void **state)
{
        (void)state;
        struct maintenance_window *window = add(4 * H, 6 * H);

        window->when.every_ms = 24 * H;
        window->when.last_ms = T0 + 48 * H;
        set_windows();
        tick_at(7 * H);
        assert_int_equal(pool->nodes[0].closed_from_ms, T0 + 28 * H);
        submit(timed(1, 22 * H));
        assert_true(is_waiting(1));
        tick_at(28 * H);
        assert_true(pool->nodes[0].closed);
        tick_at(30 * H);
        assert_int_equal(pool->nodes[0].closed_until_ms, 0);
        assert_true(is_placed(1));
        assert_int_equal(pool->nodes_closing, 0);
}

static void a_window_is_of_a_plane_or_a_node(void **state)
{
        (void)state;
        struct node_desc desc = node("p", GPU, 4);
        struct request there = timed(1, 8 * H);

        desc.plane = word("lab");
        add(4 * H, 6 * H)->plane = word("lab");
        set_windows();
        must(&(struct input){.kind = INPUT_NODE_JOINED, .node = desc});
        there.need.plane = word("lab");
        submit(there);
        assert_true(is_waiting(1));
        submit(timed(2, 8 * H));
        assert_true(lies_on(2, "a"));
        desc.plane = 0;                         /* it moves out of the plane */
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
        assert_int_equal(pool->nodes_closing, 0);
}

static void taking_a_window_away_withdraws_and_opens(void **state)
{
        (void)state;
        submit(timed(1, 50 * H));
        add(4 * H, 6 * H);
        set_windows();
        tick_at(235 * M);
        submit(timed(2, 5 * H));
        assert_true(is_told(1));
        assert_true(is_waiting(2));
        windows.count = 0;
        set_windows();
        assert_int_equal(find_fact(FACT_NOTICE_WITHDRAWN)->stays, 1);
        assert_false(is_told(1));
        assert_true(is_placed(2));
}

static void gangs_start_as_a_whole_or_not(void **state)
{
        (void)state;
        struct request gang = of(ask(1, 4), "u", "c");

        join("b", GPU, 4);
        add(4 * H, 6 * H)->node = name("b");
        set_windows();
        gang.form.members = 2;
        gang.time_limit_ms = 5 * H;
        submit(gang);
        assert_true(is_waiting(1));
        gang.workload = 2;
        gang.time_limit_ms = 4 * H;
        submit(gang);
        assert_true(is_placed(2));
}

static void nobody_is_stopped_for_room_that_closes_too_soon(void **state)
{
        (void)state;
        struct request due = of(ask(2, 4), "t", "c");
        struct request first = of(ask(1, 4), "u", "c");

        first.time_limit_ms = due.time_limit_ms = 3 * H;
        submit(first);
        add(3 * H, 6 * H);
        set_windows();
        tick_at(M);
        submit(due);
        tick_at(2 * M);
        assert_false(is_told(1));
        due.workload = 3;
        due.time_limit_ms = 2 * H;
        submit(due);
        tick_at(3 * M);
        assert_true(is_told(1));
        at(20 * M);
        leave(INPUT_STOPPED, 1);
        assert_true(is_placed(3));
}

/* Until the next tick the hold is as it was; the window counts at once. */
static void room_held_for_wide_work_closes_too(void **state)
{
        (void)state;
        struct request wide = of(ask(2, 4), "u", "c");

        wide.time_limit_ms = H;
        submit(timed(1, 8 * H));
        submit(wide);
        tick_at(11 * M);
        assert_int_equal(pool->nodes_held, 1);
        add(2 * H, 3 * H);
        set_windows();
        submit(timed(3, 3 * H));                /* gone before the room is wanted */
        assert_true(is_waiting(3));
        submit(timed(4, H));
        assert_true(is_placed(4));
        tick_at(12 * M);                        /* what holds it could not use it any more */
        assert_int_equal(pool->nodes_held, 0);
}

static void a_window_that_is_open_already_tells_with_full_notice(void **state)
{
        (void)state;
        submit(timed(1, 50 * H));
        add(0, 6 * H);
        set_windows();
        tick_at(M);
        assert_int_equal(work(1)->notice_until_ms, T0 + 11 * M);
        join("b", GPU, 4);
        submit(timed(2, M));
        assert_true(is_waiting(2));
}

static void of_several_windows_the_next_counts(void **state)
{
        (void)state;
        add(10 * H, 11 * H);
        add(4 * H, 6 * H);
        add(5 * H, 7 * H);
        set_windows();
        tick_at(M);
        assert_int_equal(pool->nodes[0].closed_from_ms, T0 + 4 * H);
        tick_at(6 * H);                         /* the next has begun meanwhile */
        assert_true(pool->nodes[0].closed);
        assert_int_equal(pool->nodes[0].closed_until_ms, T0 + 7 * H);
        tick_at(7 * H);
        assert_int_equal(pool->nodes[0].closed_from_ms, T0 + 10 * H);
}

static void what_cannot_be_meant_is_refused(void **state)
{
        (void)state;
        const struct input input = {.kind = INPUT_MAINTENANCE_SET, .maintenance = &windows};
        struct maintenance_window *window = add(4 * H, 4 * H);

        must_fail(&input, -ERR_RANGE, "'w'");
        window->when.until_ms += 2 * H;
        window->when.every_ms = H;
        must_fail(&input, -ERR_RANGE, "begin anew");
        window->when.every_ms = 0;
        while (windows.count < MAINTENANCE_MAX)
                add(4 * H, 6 * H);
        must(&input);
        windows.count++;
        must_fail(&input, -ERR_RANGE, "65");
}

/* No class tells how long a notice is: nobody is told, but nothing starts that would stay. */
static void without_a_policy_limits_count(void **state)
{
        (void)state;
        struct request request = ask(1, 1);

        close_with_policy(state);
        open_pool(state);
        join("a", GPU, 4);
        add(4 * H, 6 * H);
        set_windows();
        request.time_limit_ms = 5 * H;
        submit(request);
        assert_true(is_waiting(1));
        request.workload = 2;
        request.time_limit_ms = 4 * H;
        submit(request);
        assert_true(is_placed(2));
        tick_at(5 * H);
        assert_false(is_told(2));
        tick_at(6 * H);
        assert_true(is_placed(1));
}

int main(void)
{
#define POOL(test) cmocka_unit_test_setup_teardown(test, open_maintenance, close_with_policy)
        const struct CMUnitTest tests[] = {
                POOL(before_a_window_starts_what_ends_in_time),
                POOL(services_and_unknown_lengths_keep_a_day_away),
                POOL(what_is_known_of_a_tenant_counts),
                POOL(who_saves_and_may_be_stopped_starts),
                POOL(running_work_is_told_and_the_window_closes_and_opens),
                POOL(a_window_comes_again_up_to_the_last),
                POOL(a_window_is_of_a_plane_or_a_node),
                POOL(taking_a_window_away_withdraws_and_opens),
                POOL(gangs_start_as_a_whole_or_not),
                POOL(nobody_is_stopped_for_room_that_closes_too_soon),
                POOL(room_held_for_wide_work_closes_too),
                POOL(a_window_that_is_open_already_tells_with_full_notice),
                POOL(of_several_windows_the_next_counts),
                POOL(what_cannot_be_meant_is_refused),
                POOL(without_a_policy_limits_count),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
