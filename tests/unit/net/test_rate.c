#include "tests/unit/check.h"

#include "base/map.h"
#include "net/rate.h"

static void a_burst_passes_and_then_the_rate(void **state)
{
        (void)state;
        struct rate rate = {0};
        for (int i = 0; i < 5; i++)
                assert_int_equal(rate_take(&rate, 10, 5, 1000), 0);
        assert_int_equal(rate_take(&rate, 10, 5, 1000), 100);
        assert_int_equal(rate_take(&rate, 10, 5, 1099), 1);
        assert_int_equal(rate_take(&rate, 10, 5, 1100), 0);
        assert_int_equal(rate_take(&rate, 10, 5, 1100), 100);
        /* A long pause fills it to the burst and not above. */
        int64_t later = INT64_MAX - 1;
        for (int i = 0; i < 5; i++)
                assert_int_equal(rate_take(&rate, 10, 5, later), 0);
        assert_true(rate_take(&rate, 10, 5, later) > 0);
}

static void nothing_is_lost_by_rounding(void **state)
{
        (void)state;
        struct rate rate = {0};
        unsigned taken = 0;
        /* 7 a second, asked every ms for 1,000 s. */
        for (int64_t ms = 1; ms <= 1000000; ms++)
                taken += rate_take(&rate, 7, 1, ms) == 0;
        assert_in_range(taken, 6993, 7001); /* each waits for the next ms: at most 1 in 143 */
}

/* The wait that is told is enough, and one ms less is not. */
static void the_wait_is_exact(void **state)
{
        (void)state;
        uint64_t seed = 7;
        for (int run = 0; run < 20000; run++) {
                seed = map_mix(seed + 1);
                uint32_t per_s = 1 + (uint32_t)(seed % 5000),
                         burst = 1 + (uint32_t)(seed >> 32) % 5;
                struct rate rate = {0};
                int64_t now = 1 + (int64_t)(seed >> 50), wait = 0;
                for (uint32_t taken = 0; wait == 0; taken++) {
                        assert_in_range(taken, 0, burst);
                        wait = rate_take(&rate, per_s, burst, now);
                }
                struct rate early = rate;
                if (wait > 1)
                        assert_int_equal(rate_take(&early, per_s, burst, now + wait - 1), 1);
                assert_int_equal(rate_take(&rate, per_s, burst, now + wait), 0);
        }
}

static void a_debt_is_paid_before_the_next(void **state)
{
        (void)state;
        struct rate rate = {0};
        assert_int_equal(rate_charge(&rate, 1000000, 1000000, 5, 1000), 0);
        assert_int_equal(rate_charge(&rate, 1, 1000000, 5, 1000), 1000);
        assert_int_equal(rate_charge(&rate, 1, 1000000, 5, 2000), 0);
        /* The largest debt, at the slowest rate: known to the ms, and over after its time. */
        rate = (struct rate){0};
        assert_int_equal(rate_charge(&rate, 1000000, 1, 1, 1000), 0);
        assert_int_equal(rate_take(&rate, 1, 1, 1000), 1000000000);
        assert_int_equal(rate_take(&rate, 1, 1, 1000 + 999999999), 1);
        assert_int_equal(rate_take(&rate, 1, 1, 1000 + 1000000000), 0);
        assert_int_equal(rate_charge(&rate, 1000000, 1, 1000000, INT64_MAX - 5), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_burst_passes_and_then_the_rate),
                cmocka_unit_test(nothing_is_lost_by_rounding),
                cmocka_unit_test(the_wait_is_exact),
                cmocka_unit_test(a_debt_is_paid_before_the_next),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
