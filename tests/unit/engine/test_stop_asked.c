/* Its owner, or an operator, wants running work to begin anew. */
#include "tests/unit/engine/pool.h"

static int open_one(void **state)
{
        open_pool(state);
        join("n1", "T4", 2);
        submit(ask(1, 2));
        submit(ask(2, 2));
        assert_true(is_placed(1));
        assert_true(is_waiting(2));
        return 0;
}

static struct input asked(uint64_t id, int64_t notice_ms)
{
        return (struct input){.kind = INPUT_STOP_ASKED, .stop = {id, notice_ms}};
}

static void must_ask(uint64_t id, int64_t notice_ms)
{
        const struct input input = asked(id, notice_ms);

        must(&input);
}

static void it_is_told_and_waits_again_in_its_old_place(void **state)
{
        (void)state;
        now_ms = 5000;
        must_ask(1, 10000);
        assert_int_equal(find_fact(FACT_NOTICED)->noticed.cause, NOTICE_ASKED);
        assert_int_equal(find_fact(FACT_NOTICED)->noticed.until_ms, 15000);
        now_ms = 15000;
        leave(INPUT_STOPPED, 1);
        assert_int_equal(find_fact(FACT_REQUEUED)->requeued.cause, RELEASE_ASKED);
        assert_int_equal(find_fact(FACT_REQUEUED)->requeued.lost_ms, 14000);
        assert_false(find_fact(FACT_REQUEUED)->requeued.counts);        /* as a stop of the day */
        assert_true(is_placed(1));              /* it came before the other */
        assert_true(is_waiting(2));
}

static void who_leaves_before_its_notice_is_over_leaves_a_place(void **state)
{
        const struct input stopped = {.kind = INPUT_STOPPED, .workload = 1};

        (void)state;
        now_ms = 5000;
        must_fail(&stopped, -ERR_INPUT, "told");
        must_ask(1, 10000);
        now_ms = 6000;
        leave(INPUT_STOPPED, 1);
        assert_int_equal(find_fact(FACT_REQUEUED)->requeued.cause, RELEASE_ASKED);
        assert_int_equal(find_fact(FACT_REQUEUED)->requeued.lost_ms, 5000);
        assert_true(is_placed(1));
        assert_true(is_waiting(2));
}

static void at_once_and_once_only(void **state)
{
        const struct input again = asked(1, 0), waiting = asked(2, 0), nobody = asked(9, 0),
                           never = asked(1, -1);

        (void)state;
        must_fail(&never, -ERR_RANGE, "-1");
        must_fail(&waiting, -ERR_INPUT, "not started");
        must_fail(&nobody, -ERR_NOT_FOUND, "9");
        must_ask(1, 0);
        must_fail(&again, -ERR_EXISTS, "already");
        leave(INPUT_STOPPED, 1);
        assert_true(is_placed(1));
}

static void what_ends_by_itself_meanwhile_has_ended(void **state)
{
        (void)state;
        must_ask(1, 10000);
        leave(INPUT_EXITED, 1);
        assert_int_equal(find_fact(FACT_RELEASED)->released.cause, RELEASE_EXITED);
        assert_true(is_placed(2));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(it_is_told_and_waits_again_in_its_old_place,
                                                open_one, close_pool),
                cmocka_unit_test_setup_teardown(who_leaves_before_its_notice_is_over_leaves_a_place,
                                                open_one, close_pool),
                cmocka_unit_test_setup_teardown(at_once_and_once_only, open_one, close_pool),
                cmocka_unit_test_setup_teardown(what_ends_by_itself_meanwhile_has_ended, open_one,
                                                close_pool),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
