/* Idle work: who is warned, made spare or told to stop, when, and what use again makes of it. */
#include "engine/idle.h"
#include "tests/unit/engine/pool_policy.h"

#define GPU "V100-16"

static const char document[] =
        "kind: Policy\n"
        "preset: protected\n"
        "classes:\n"
        "  w: {rank: 2, methods: [whole], notice: 10m, idle_after: {time: 2h, then: warn}}\n"
        "  d: {rank: 2, methods: [whole], notice: 10m, exempt: 0s, stops_per_day: 9,\n"
        "      idle_after: {time: 2h, then: demote}}\n"
        "  s: {rank: 2, methods: [whole], notice: 10m, idle_after: {time: 2h, then: stop}}\n"
        "  never: {rank: 1, methods: [whole], stop: never, notice: 5m,\n"
        "          idle_after: {time: 1h, then: stop}}\n"
        "  n: {rank: 3, methods: [whole], idle_after: {time: 1h, then: nothing}}\n"
        "  o: {rank: 3, methods: [whole]}\n"
        "tenants:\n"
        "  t: {protect: {V100-16: 2}}\n"
        "  u: {limit: {V100-16: 3}}\n";

static int open_idle(void **state)
{
        open_pool(state);
        join("a", GPU, 4);
        set_policy(document);
        return 0;
}

static struct input report(uint64_t id, int64_t since_ms)
{
        return (struct input){.kind = INPUT_USE_REPORTED,
                              .use = {.workload = id,
                                      .idle_since_ms = since_ms < 0 ? 0 : T0 + since_ms}};
}

static void idle_since(uint64_t id, int64_t ms)
{
        struct input input = report(id, ms);

        must(&input);
}

static void in_use(uint64_t id)
{
        idle_since(id, -1);
}

static void job(uint64_t id, unsigned devices, const char *tenant, const char *class)
{
        submit(of(ask(id, devices), tenant, class));
}

static void freeze_pool(bool frozen)
{
        must(&(struct input){.kind = INPUT_FREEZE_SET, .freeze = {.frozen = frozen}});
}

/* ---- reports ---- */

static void reports_say_what_is_and_nothing_twice(void **state)
{
        (void)state;
        job(1, 1, "u", "w");
        assert_int_equal(work(1)->idle_since_ms, 0);    /* who starts is in use */
        at(H);
        idle_since(1, 10 * M);
        assert_int_equal(seen_count, 1);
        assert_int_equal(find_fact(FACT_USE_SET)->use.idle_since_ms, T0 + 10 * M);
        assert_int_equal(work(1)->idle_since_ms, T0 + 10 * M);
        assert_int_equal(pool->idle, 1);
        idle_since(1, 10 * M);
        assert_int_equal(seen_count, 0);
        in_use(1);
        assert_int_equal(work(1)->idle_since_ms, 0);
        in_use(1);
        assert_int_equal(seen_count, 0);
        idle_since(1, H);
        leave(INPUT_EXITED, 1);
        assert_int_equal(pool->idle, 0);
}

static void reports_that_can_not_be_meant_are_refused(void **state)
{
        (void)state;
        struct input input = report(1, 0);

        must_fail(&input, -ERR_NOT_FOUND, "no workload 1");
        at(M);
        job(1, 4, "t", "w");
        job(2, 4, "t", "w");
        input = report(2, M);
        must_fail(&input, -ERR_INPUT, "workload 2 has not started");
        input = report(1, M - 1);
        must_fail(&input, -ERR_RANGE, "started at 61000 ms");
        input.use.idle_since_ms = -5;
        must_fail(&input, -ERR_RANGE, "workload 1 is idle since -5 ms");
        at(2 * M);
        input = report(1, 2 * M + 1);
        must_fail(&input, -ERR_RANGE, "it is 121000 ms");
        idle_since(1, M);
        idle_since(1, 2 * M);
}

static void without_a_policy_nothing_comes_of_it(void **state)
{
        close_with_policy(state);
        open_pool(state);
        join("a", GPU, 4);
        submit(ask(1, 1));
        idle_since(1, 0);
        tick_at(1000 * H);
        assert_int_equal(seen_count, 1);
        assert_int_equal(work(1)->idle_since_ms, T0);
}

static void a_new_run_is_in_use(void **state)
{
        (void)state;
        job(1, 1, "u", "s");
        at(M);
        idle_since(1, M);
        must(&(struct input){.kind = INPUT_NODE_FAILED, .node_name = name("a")});
        assert_true(is_waiting(1));
        assert_int_equal(work(1)->idle_since_ms, 0);
        at(2 * M);
        undrain("a", GPU, 4);
        assert_true(is_placed(1));
        tick_at(10 * H);
        assert_false(is_told(1));
}

/* ---- warn, nothing ---- */

static void the_owner_is_warned_once_a_spell(void **state)
{
        (void)state;
        job(1, 1, "u", "w");
        job(2, 1, "u", "n");
        job(3, 1, "u", "o");
        at(H);
        for (uint64_t id = 1; id <= 3; id++)
                idle_since(id, H);
        tick_at(3 * H - 1);
        assert_int_equal(count_facts(FACT_IDLE_WARNED), 0);
        tick_at(3 * H);
        assert_int_equal(count_facts(FACT_IDLE_WARNED), 1);
        assert_int_equal(find_fact(FACT_IDLE_WARNED)->warned, 1);
        idle_since(1, H - M);                   /* known better: the same spell */
        tick_at(9 * H);
        assert_int_equal(seen_count, 1);
        in_use(1);
        tick_at(10 * H);
        idle_since(1, 10 * H);
        tick_at(12 * H);
        assert_int_equal(count_facts(FACT_IDLE_WARNED), 1);
        at(13 * H);
        idle_since(1, 13 * H);                  /* used in between */
        tick_at(15 * H - 1);
        assert_int_equal(count_facts(FACT_IDLE_WARNED), 0);
        tick_at(15 * H);
        assert_int_equal(count_facts(FACT_IDLE_WARNED), 1);
}

/* ---- demote ---- */

static void idle_work_lets_go_of_its_promise_and_others_rise(void **state)
{
        (void)state;
        job(1, 2, "t", "d");
        job(2, 2, "t", "o");
        assert_int_equal(work(1)->standing, STANDING_PROTECTED);
        assert_int_equal(work(2)->standing, STANDING_STANDARD);
        idle_since(1, 0);
        tick_at(2 * H - 1);
        assert_int_equal(work(1)->standing, STANDING_PROTECTED);
        tick_at(2 * H);
        assert_int_equal(count_facts(FACT_STANDING_SET), 2);
        assert_int_equal(work(1)->standing, STANDING_SPARE);
        assert_int_equal(work(2)->standing, STANDING_PROTECTED);
        tick_at(3 * H);
        assert_int_equal(count_facts(FACT_STANDING_SET), 0);    /* once a spell */
        assert_int_equal(count_facts(FACT_NOTICED), 0);
        /* What it drew on is in use: it comes back as standard work, and rises when that ends. */
        in_use(1);
        assert_int_equal(work(1)->standing, STANDING_STANDARD);
        leave(INPUT_EXITED, 2);
        assert_int_equal(work(1)->standing, STANDING_PROTECTED);
        at(4 * H);
        idle_since(1, 4 * H);
        tick_at(6 * H);
        assert_int_equal(work(1)->standing, STANDING_SPARE);
}

static void while_it_is_idle_it_does_not_rise(void **state)
{
        (void)state;
        job(1, 2, "t", "d");
        job(2, 1, "t", "o");
        idle_since(1, 0);
        tick_at(2 * H);
        leave(INPUT_EXITED, 2);
        assert_int_equal(work(1)->standing, STANDING_SPARE);
        struct policy_doc *before = policy;
        set_policy(document);                   /* standings come out anew */
        policy_doc_free(before);
        assert_int_equal(work(1)->standing, STANDING_SPARE);
        tick_at(3 * H);
        assert_int_equal(work(1)->standing, STANDING_SPARE);
        idle_since(1, 3 * H);                   /* used for a moment */
        assert_int_equal(work(1)->standing, STANDING_PROTECTED);
}

/* Used for a moment while there was no room for it; then another makes room at that very tick. */
static void who_is_due_again_does_not_rise_first(void **state)
{
        (void)state;
        job(1, 2, "u", "d");
        idle_since(1, 0);
        tick_at(2 * H);
        assert_int_equal(work(1)->standing, STANDING_SPARE);
        job(2, 2, "u", "d");
        assert_int_equal(work(2)->standing, STANDING_STANDARD);
        at(2 * H + M);
        idle_since(1, 2 * H + M);
        idle_since(2, 2 * H + M);
        assert_int_equal(work(1)->standing, STANDING_SPARE);    /* the limit is reached */
        tick_at(4 * H + M);
        assert_int_equal(work(2)->standing, STANDING_SPARE);
        assert_int_equal(work(1)->standing, STANDING_SPARE);
}

static void another_policy_that_does_not_demote_lets_it_rise(void **state)
{
        (void)state;
        job(1, 2, "t", "d");
        idle_since(1, 0);
        tick_at(2 * H);
        struct policy_doc *before = policy;
        set_policy("kind: Policy\n"
                   "classes:\n"
                   "  d: {rank: 2, methods: [whole], stop: never,\n"
                   "      idle_after: {time: 2h, then: warn}}\n"
                   "tenants:\n"
                   "  t: {protect: {V100-16: 2}}\n"
                   "  u: {}\n");
        policy_doc_free(before);
        assert_int_equal(work(1)->standing, STANDING_PROTECTED);
        tick_at(2 * H + M);                     /* its word holds for the spell */
        assert_int_equal(count_facts(FACT_IDLE_WARNED), 1);
}

static void what_waits_for_a_limit_takes_the_place_of_idle_work(void **state)
{
        (void)state;
        job(1, 3, "u", "d");
        job(2, 1, "u", "o");
        assert_true(is_waiting(2));             /* limit 3 */
        idle_since(1, 0);
        tick_at(2 * H);
        assert_int_equal(work(1)->standing, STANDING_SPARE);
        assert_true(is_placed(2));
        in_use(1);
        assert_int_equal(work(1)->standing, STANDING_SPARE);    /* 4 would be above it */
        leave(INPUT_EXITED, 2);
        assert_int_equal(work(1)->standing, STANDING_STANDARD);
}

/* Standard work of a lower rank. */
static void idle_work_may_be_stopped_by_all_others(void **state)
{
        (void)state;
        job(1, 3, "t", "d");
        job(2, 2, "u", "o");
        idle_since(1, 0);
        tick_at(H);
        assert_false(is_told(1));
        tick_at(2 * H);
        assert_int_equal(work(1)->standing, STANDING_SPARE);
        assert_int_equal(work(1)->notice_cause, NOTICE_PLAN);
        at(2 * H + M);
        in_use(1);
        assert_int_equal(work(1)->standing, STANDING_SPARE);    /* told, it does not rise */
        leave(INPUT_CANCELLED, 2);
        assert_false(is_told(1));
        assert_int_equal(work(1)->standing, STANDING_STANDARD);
}

/* ---- stop ---- */

static void idle_work_is_told_and_gone_after_its_notice(void **state)
{
        (void)state;
        job(1, 2, "t", "s");
        assert_int_equal(work(1)->standing, STANDING_PROTECTED);
        at(H);
        leave(INPUT_CHECKPOINTED, 1);
        idle_since(1, H);
        tick_at(3 * H - 1);
        assert_false(is_told(1));
        tick_at(3 * H);
        const struct fact *told = find_fact(FACT_NOTICED);
        assert_int_equal(told->noticed.cause, NOTICE_IDLE);
        assert_int_equal(told->noticed.plan, NONE);
        assert_int_equal(told->noticed.until_ms, T0 + 3 * H + 10 * M);
        assert_int_equal(pool->accounts->stopped_units, 0);     /* not for capacity */
        tick_at(3 * H + M);
        assert_int_equal(count_facts(FACT_NOTICED), 0);
        at(3 * H + 10 * M);
        leave(INPUT_STOPPED, 1);
        assert_int_equal(find_fact(FACT_RELEASED)->released.cause, RELEASE_IDLE);
        assert_int_equal(find_fact(FACT_RELEASED)->released.lost_ms, 2 * H + 10 * M);
        assert_int_equal(state_workload(pool, 1), NONE);
}

static void use_before_the_notice_is_over_withdraws_it(void **state)
{
        (void)state;
        job(1, 1, "u", "s");
        idle_since(1, 0);
        tick_at(2 * H);
        assert_true(is_told(1));
        at(2 * H + 10 * M - 1);
        in_use(1);
        assert_int_equal(find_fact(FACT_NOTICE_WITHDRAWN)->stays, 1);
        assert_false(is_told(1));
        must_fail(&(struct input){.kind = INPUT_STOPPED, .workload = 1}, -ERR_INPUT, "told");
        at(3 * H);
        idle_since(1, 3 * H);
        tick_at(5 * H);
        assert_true(is_told(1));                /* another spell */
        at(5 * H + M);
        idle_since(1, 5 * H + M);               /* used in between is used */
        assert_false(is_told(1));
        tick_at(7 * H + M);
        at(7 * H + 11 * M);
        in_use(1);                              /* too late: it may be ending */
        assert_true(is_told(1));
        leave(INPUT_STOPPED, 1);
        assert_int_equal(find_fact(FACT_RELEASED)->released.cause, RELEASE_IDLE);
}

static void a_policy_that_stops_nobody_for_it_withdraws_the_notice(void **state)
{
        (void)state;
        job(1, 1, "u", "s");
        idle_since(1, 0);
        tick_at(2 * H);
        struct policy_doc *before = policy;
        set_policy("kind: Policy\n"
                   "classes:\n"
                   "  s: {rank: 2, methods: [whole], idle_after: {time: 4h, then: stop}}\n"
                   "tenants:\n"
                   "  u: {}\n");
        policy_doc_free(before);
        assert_false(is_told(1));
        tick_at(4 * H - 1);
        assert_false(is_told(1));
        tick_at(4 * H);
        assert_true(is_told(1));
}

static void classes_that_are_never_stopped_for_others_stop_idle_work(void **state)
{
        (void)state;
        job(1, 1, "u", "never");
        idle_since(1, 0);
        tick_at(H);
        assert_int_equal(find_fact(FACT_NOTICED)->noticed.until_ms, T0 + 65 * M);
        at(65 * M);
        leave(INPUT_STOPPED, 1);
        assert_int_equal(find_fact(FACT_RELEASED)->released.cause, RELEASE_IDLE);
}

static void a_service_is_not_stopped_for_idleness(void **state)
{
        (void)state;
        struct request service = of(ask(1, 1), "u", "s"), demoted = of(ask(2, 1), "u", "d");

        service.service = demoted.service = true;
        submit(service);
        submit(demoted);
        idle_since(1, 0);
        idle_since(2, 0);
        tick_at(20 * H);
        assert_false(is_told(1));
        assert_int_equal(work(2)->standing, STANDING_SPARE);
}

static void what_is_frozen_is_left_alone(void **state)
{
        (void)state;
        job(1, 1, "u", "s");
        job(2, 1, "u", "d");
        job(3, 1, "u", "w");
        for (uint64_t id = 1; id <= 3; id++)
                idle_since(id, 0);
        freeze_pool(true);
        tick_at(3 * H);
        assert_int_equal(seen_count, 1);        /* the time */
        freeze_pool(false);
        tick_at(3 * H + M);
        assert_int_equal(work(1)->notice_until_ms, T0 + 3 * H + 11 * M);
        assert_int_equal(work(2)->standing, STANDING_SPARE);
        assert_int_equal(count_facts(FACT_IDLE_WARNED), 1);
}

static void who_is_told_for_something_else_is_told_once(void **state)
{
        (void)state;
        struct request limited = of(ask(1, 1), "u", "s");

        limited.time_limit_ms = 2 * H;
        submit(limited);
        job(2, 1, "u", "s");
        idle_since(1, 0);
        idle_since(2, 0);
        drain_by("a", GPU, 4, 2 * H + 10 * M);
        tick_at(2 * H + 1);
        assert_int_equal(count_facts(FACT_NOTICED), 2);
        assert_int_equal(work(1)->notice_cause, NOTICE_TIME_LIMIT);
        assert_int_equal(work(2)->notice_cause, NOTICE_DRAIN);
        undrain("a", GPU, 4);
        assert_false(is_told(2));
        tick_at(2 * H + M);
        assert_int_equal(work(2)->notice_cause, NOTICE_IDLE);
        leave(INPUT_STOPPED, 1);
        assert_int_equal(find_fact(FACT_RELEASED)->released.cause, RELEASE_TIMED_OUT);
}

int main(void)
{
#define POOL(test) cmocka_unit_test_setup_teardown(test, open_idle, close_with_policy)
        const struct CMUnitTest tests[] = {
                POOL(reports_say_what_is_and_nothing_twice),
                POOL(reports_that_can_not_be_meant_are_refused),
                POOL(without_a_policy_nothing_comes_of_it),
                POOL(a_new_run_is_in_use),
                POOL(the_owner_is_warned_once_a_spell),
                POOL(idle_work_lets_go_of_its_promise_and_others_rise),
                POOL(while_it_is_idle_it_does_not_rise),
                POOL(who_is_due_again_does_not_rise_first),
                POOL(another_policy_that_does_not_demote_lets_it_rise),
                POOL(what_waits_for_a_limit_takes_the_place_of_idle_work),
                POOL(idle_work_may_be_stopped_by_all_others),
                POOL(idle_work_is_told_and_gone_after_its_notice),
                POOL(use_before_the_notice_is_over_withdraws_it),
                POOL(a_policy_that_stops_nobody_for_it_withdraws_the_notice),
                POOL(classes_that_are_never_stopped_for_others_stop_idle_work),
                POOL(a_service_is_not_stopped_for_idleness),
                POOL(what_is_frozen_is_left_alone),
                POOL(who_is_told_for_something_else_is_told_once),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
