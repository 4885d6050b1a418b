/* Time slices: who may be stopped for work that ran less. */
#include "tests/unit/engine/pool_policy.h"

/* One node of four devices; all that "small" has is spare. */
static void open_slices(void)
{
        open_pool(NULL);
        join("n1", "T4", 4);
        set_policy("kind: Policy\n"
                   "preset: equal\n"
                   "classes:\n"
                   "  c: {rank: 1, methods: [whole], stop: always, notice: 1m, exempt: 0s,\n"
                   "      stops_per_day: unlimited, above_limit: spare,\n"
                   "      time_slice: {levels: [6m, 1h]}}\n"
                   "rules: {stop_rate: {pct: 100, per: 10m}}\n"
                   "tenants: {big: {}, small: {limit: {T4: 0}}}\n");
}

static struct request saves(uint64_t id, const char *tenant, unsigned devices)
{
        struct request request = of(ask(id, devices), tenant, "c");

        request.checkpoint_within_ms = 30 * S;
        return request;
}

/* The first runs from 0 on; the second waits from minute 1 to minute 12. */
static void run_beside(const char *first, const char *second)
{
        submit(saves(1, first, 2));
        assert_true(is_placed(1));
        at(1 * M);
        submit(saves(2, second, 3));
        assert_true(is_waiting(2));
        tick_at(12 * M);
}

static void who_ran_longer_gives_way(void **state)
{
        (void)state;
        open_slices();
        run_beside("big", "big");
        assert_true(is_told(1));
}

/* Else both would stop each other for ever: standard work takes its place back from spare work. */
static void spare_work_stops_no_other(void **state)
{
        (void)state;
        open_slices();
        run_beside("big", "small");
        assert_false(is_told(1));
}

static void spare_work_gives_way_to_spare_work(void **state)
{
        (void)state;
        open_slices();
        run_beside("small", "small");
        assert_int_equal(work(1)->standing, STANDING_SPARE);
        assert_true(is_told(1));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_teardown(who_ran_longer_gives_way, close_with_policy),
                cmocka_unit_test_teardown(spare_work_stops_no_other, close_with_policy),
                cmocka_unit_test_teardown(spare_work_gives_way_to_spare_work, close_with_policy),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
