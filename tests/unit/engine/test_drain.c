/* Drains with a deadline: who is told when, who may stay after all, and where it starts again. */
#include "engine/drain.h"
#include "tests/unit/engine/pool_policy.h"

#define GPU "V100-16"

static int open_drain(void **state)
{
        open_pool(state);
        join("a", GPU, 4);
        set_policy("kind: Policy\n"
                   "preset: protected\n"
                   "classes:\n"
                   "  c: {rank: 2, methods: [whole], stop: for_protect, notice: 10m, exempt: 0s}\n"
                   "  n: {rank: 1, methods: [whole], stop: never, notice: 5m}\n"
                   "tenants:\n"
                   "  t: {protect: {V100-16: 1}}\n"
                   "  u: {}\n");
        return 0;
}

static void without_a_deadline_nobody_is_told(void **state)
{
        (void)state;
        submit(timed(1, 8 * H));
        drain_by("a", GPU, 4, 0);
        for (int64_t h = 1; h < 8; h++)
                tick_at(h * H);
        assert_false(is_told(1));
        submit(timed(2, H));
        assert_true(is_waiting(2));
}

static void work_is_told_as_late_as_possible_and_starts_elsewhere(void **state)
{
        (void)state;
        submit(timed(1, 8 * H));
        drain_by("a", GPU, 4, 2 * H);
        tick_at(110 * M - DRAIN_EARLY_MS - 1);
        assert_false(is_told(1));
        tick_at(110 * M - DRAIN_EARLY_MS);
        const struct fact *told = find_fact(FACT_NOTICED);
        assert_int_equal(told->noticed.workload, 1);
        assert_int_equal(told->noticed.cause, NOTICE_DRAIN);
        assert_int_equal(told->noticed.plan, NONE);
        assert_int_equal(told->noticed.until_ms, T0 + 2 * H);
        assert_int_equal(told->noticed.leave_by_ms, T0 + 2 * H);
        tick_at(115 * M);
        assert_int_equal(count_facts(FACT_NOTICED), 0);         /* once */
        leave(INPUT_CHECKPOINTED, 1);
        join("b", GPU, 4);
        at(2 * H);
        leave(INPUT_STOPPED, 1);
        const struct fact_requeued *again = &find_fact(FACT_REQUEUED)->requeued;
        assert_int_equal(again->cause, RELEASE_DRAINED);
        assert_false(again->counts);
        assert_int_equal(again->attained_ms, 115 * M);
        assert_int_equal(again->lost_ms, 5 * M);
        assert_true(lies_on(1, "b"));
        assert_int_equal(work(1)->stops, 0);
}

static void protected_work_and_classes_that_never_stop_are_told_too(void **state)
{
        (void)state;
        struct request never = of(ask(2, 1), "u", "n");

        submit(of(ask(1, 1), "t", "c"));
        submit(never);
        assert_int_equal(work(1)->standing, STANDING_PROTECTED);
        drain_by("a", GPU, 4, 2 * H);
        tick_at(110 * M);
        assert_true(is_told(1));
        assert_false(is_told(2));               /* its class's notice is 5 minutes */
        tick_at(115 * M);
        assert_true(is_told(2));
}

static void a_gang_is_told_once_and_leaves_as_a_whole(void **state)
{
        (void)state;
        struct request gang = of(ask(1, 4), "u", "c");

        join("b", GPU, 4);
        gang.form.members = 2;
        submit(gang);
        drain_by("a", GPU, 4, 2 * H);
        drain_by("b", GPU, 4, 3 * H);
        tick_at(110 * M);
        assert_int_equal(count_facts(FACT_NOTICED), 1);
        assert_int_equal(find_fact(FACT_NOTICED)->noticed.until_ms, T0 + 2 * H);
        at(2 * H);
        leave(INPUT_STOPPED, 1);
        assert_int_equal(count_facts(FACT_REQUEUED), 1);
        assert_int_equal(pool->member_slots.used, 0);
}

static void who_saves_by_itself_is_told_after_its_last_checkpoint(void **state)
{
        (void)state;
        struct request saver = timed(1, 8 * H), ends = timed(2, 160 * M);
        struct request when_told = timed(3, 8 * H);

        saver.checkpoint_every_ms = ends.checkpoint_every_ms = H;
        when_told.checkpoint_every_ms = H;
        when_told.checkpoint_within_ms = M;
        submit(saver);
        submit(ends);
        submit(when_told);
        drain_by("a", GPU, 4, 165 * M);
        for (uint64_t id = 1; id <= 3; id++) {
                at(H);
                leave(INPUT_CHECKPOINTED, id);
        }
        tick_at(H);
        assert_false(is_told(1));               /* one more comes before */
        for (uint64_t id = 1; id <= 3; id++) {
                at(2 * H);
                leave(INPUT_CHECKPOINTED, id);
        }
        tick_at(2 * H + 15 * S);
        assert_int_equal(count_facts(FACT_NOTICED), 1);
        assert_true(is_told(1));
        assert_int_equal(work(1)->notice_until_ms, T0 + 130 * M + 15 * S);
        assert_int_equal(work(1)->leave_by_ms, T0 + 165 * M);
        tick_at(155 * M);                       /* the others at the latest */
        assert_true(is_told(2));
        assert_true(is_told(3));
}

static void an_open_notice_is_withdrawn_when_the_drain_is(void **state)
{
        (void)state;
        submit(timed(1, 8 * H));
        drain_by("a", GPU, 4, 2 * H);
        tick_at(110 * M);
        assert_true(is_told(1));
        undrain("a", GPU, 4);
        assert_int_equal(find_fact(FACT_NOTICE_WITHDRAWN)->stays, 1);
        assert_false(is_told(1));
        must_fail(&(struct input){.kind = INPUT_STOPPED, .workload = 1}, -ERR_INPUT, "told");
        /* ... and told again by the next drain. */
        drain_by("a", GPU, 4, 4 * H);
        tick_at(230 * M);
        assert_true(is_told(1));
        /* Without a deadline it may stay to its end. */
        drain_by("a", GPU, 4, 0);
        assert_false(is_told(1));
}

static void a_later_deadline_withdraws_and_an_earlier_one_shortens_nothing(void **state)
{
        (void)state;
        submit(timed(1, 8 * H));
        drain_by("a", GPU, 4, 2 * H);
        tick_at(110 * M);
        drain_by("a", GPU, 4, 115 * M);
        assert_int_equal(work(1)->notice_until_ms, T0 + 2 * H);
        drain_by("a", GPU, 4, 3 * H);
        assert_false(is_told(1));
        tick_at(170 * M);
        assert_int_equal(work(1)->notice_until_ms, T0 + 3 * H);
}

/* It may be ending already: the drain goes on for it. */
static void a_notice_that_is_over_stands(void **state)
{
        (void)state;
        submit(timed(1, 8 * H));
        drain_by("a", GPU, 4, 2 * H);
        tick_at(110 * M);
        at(2 * H);
        undrain("a", GPU, 4);
        assert_true(is_told(1));
        leave(INPUT_STOPPED, 1);
        assert_int_equal(find_fact(FACT_REQUEUED)->requeued.cause, RELEASE_DRAINED);
        assert_true(is_placed(1));              /* it starts again at once */
}

static void a_deadline_nearer_than_the_notice_is_met_late(void **state)
{
        (void)state;
        submit(timed(1, 8 * H));
        drain_by("a", GPU, 4, M);
        tick_at(15 * S);
        assert_int_equal(work(1)->notice_until_ms, T0 + 15 * S + 10 * M);
}

static void what_is_frozen_is_told_nothing(void **state)
{
        (void)state;
        submit(timed(1, 8 * H));
        drain_by("a", GPU, 4, 2 * H);
        must(&(struct input){.kind = INPUT_FREEZE_SET, .freeze = {.frozen = true}});
        tick_at(115 * M);
        assert_false(is_told(1));
        must(&(struct input){.kind = INPUT_FREEZE_SET});
        tick_at(116 * M);
        assert_int_equal(work(1)->notice_until_ms, T0 + 126 * M);
}

static void who_is_over_its_time_is_told_once_and_ends(void **state)
{
        (void)state;
        submit(timed(1, H));
        drain_by("a", GPU, 4, 65 * M);
        tick_at(H + 1);
        assert_int_equal(count_facts(FACT_NOTICED), 1);
        assert_int_equal(find_fact(FACT_NOTICED)->noticed.cause, NOTICE_TIME_LIMIT);
        leave(INPUT_STOPPED, 1);
        assert_int_equal(find_fact(FACT_RELEASED)->released.cause, RELEASE_TIMED_OUT);
}

static void deadlines_outside_the_calendar_are_refused(void **state)
{
        (void)state;
        struct node_desc desc = node("a", GPU, 4);

        desc.drained = true;
        desc.drain_by_ms = -1;
        must_fail(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc}, -ERR_RANGE, "'a'");
        desc.drain_by_ms = CALENDAR_MS_MAX + 1;
        must_fail(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc}, -ERR_RANGE, "'a'");
        desc.drained = false;
        desc.drain_by_ms = CALENDAR_MS_MAX;
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
        assert_int_equal(pool->nodes[0].desc.drain_by_ms, 0);   /* it is not drained */
}

int main(void)
{
#define POOL(test) cmocka_unit_test_setup_teardown(test, open_drain, close_with_policy)
        const struct CMUnitTest tests[] = {
                POOL(without_a_deadline_nobody_is_told),
                POOL(work_is_told_as_late_as_possible_and_starts_elsewhere),
                POOL(protected_work_and_classes_that_never_stop_are_told_too),
                POOL(a_gang_is_told_once_and_leaves_as_a_whole),
                POOL(who_saves_by_itself_is_told_after_its_last_checkpoint),
                POOL(an_open_notice_is_withdrawn_when_the_drain_is),
                POOL(a_later_deadline_withdraws_and_an_earlier_one_shortens_nothing),
                POOL(a_notice_that_is_over_stands),
                POOL(a_deadline_nearer_than_the_notice_is_met_late),
                POOL(what_is_frozen_is_told_nothing),
                POOL(who_is_over_its_time_is_told_once_and_ends),
                POOL(deadlines_outside_the_calendar_are_refused),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
