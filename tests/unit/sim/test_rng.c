#include "tests/unit/check.h"

#include <math.h>

#include "base/mem.h"
#include "sim/rng.h"

static void the_same_seed_gives_the_same_numbers(void **state)
{
        (void)state;
        struct rng a, b, c, d;
        rng_init(&a, 42);
        rng_init(&b, 42);
        rng_init(&c, 43);
        rng_init_stream(&d, 42, 1);
        unsigned equal_seed = 0, equal_stream = 0;
        for (int i = 0; i < 1000; i++) {
                uint64_t x = rng_next(&a);
                assert_true(x == rng_next(&b));
                equal_seed += x == rng_next(&c);
                equal_stream += x == rng_next(&d);
        }
        assert_int_equal(equal_seed, 0);
        assert_int_equal(equal_stream, 0);
}

/* Recorded once: results published with a seed stay what they are. */
static void the_numbers_do_not_change_between_versions(void **state)
{
        (void)state;
        struct rng rng;
        rng_init(&rng, 0);
        assert_true(rng_next(&rng) == 0x99ec5f36cb75f2b4u);
        assert_true(rng_next(&rng) == 0xbf6e1f784956452au);
}

static void below_stays_below_and_meets_every_number(void **state)
{
        (void)state;
        static const uint64_t bounds[] = {1, 2, 3, 7, 1000, (1ull << 63) + 1, UINT64_MAX};
        struct rng rng;
        rng_init(&rng, 7);
        for (size_t i = 0; i < ARRAY_LEN(bounds); i++)
                for (int n = 0; n < 1000; n++)
                        assert_true(rng_below(&rng, bounds[i]) < bounds[i]);
        unsigned seen[7] = {0};
        for (int n = 0; n < 70000; n++)
                seen[rng_below(&rng, 7)]++;
        for (int i = 0; i < 7; i++)
                assert_true(seen[i] > 9600 && seen[i] < 10400);         /* 4 sigma */
}

static void exponential_numbers_have_their_mean(void **state)
{
        (void)state;
        struct rng rng;
        double sum = 0, above = 0;
        rng_init(&rng, 1);
        for (int n = 0; n < 200000; n++) {
                double x = rng_exponential(&rng, 500);
                assert_true(x >= 0);
                assert_true(isfinite(x));
                sum += x;
                above += x > 500;
        }
        assert_true(fabs(sum / 200000 - 500) < 5);
        assert_true(fabs(above / 200000 - exp(-1)) < 0.005);
}

static void weights_are_kept(void **state)
{
        (void)state;
        static const uint64_t weights[] = {0, 1, 3, 0};
        unsigned seen[4] = {0};
        struct rng rng;
        rng_init(&rng, 3);
        for (int n = 0; n < 40000; n++)
                seen[rng_weighted(&rng, weights, 4)]++;
        assert_int_equal(seen[0], 0);
        assert_int_equal(seen[3], 0);
        assert_true(seen[1] > 9600 && seen[1] < 10400);
        assert_int_equal(seen[1] + seen[2], 40000);
}

static void a_shuffle_keeps_all_and_makes_every_order(void **state)
{
        (void)state;
        unsigned orders[6] = {0};
        struct rng rng;
        rng_init(&rng, 5);
        for (int n = 0; n < 60000; n++) {
                uint32_t values[] = {0, 1, 2};
                rng_shuffle(&rng, values, 3);
                assert_int_equal(values[0] + values[1] + values[2], 3);
                assert_int_not_equal(values[0], values[1]);
                orders[values[0] * 2 + (values[1] > values[2])]++;
        }
        for (int i = 0; i < 6; i++)
                assert_true(orders[i] > 9600 && orders[i] < 10400);
        rng_shuffle(&rng, NULL, 0);
        uint32_t one = 9;
        rng_shuffle(&rng, &one, 1);
        assert_int_equal(one, 9);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_same_seed_gives_the_same_numbers),
                cmocka_unit_test(the_numbers_do_not_change_between_versions),
                cmocka_unit_test(below_stays_below_and_meets_every_number),
                cmocka_unit_test(exponential_numbers_have_their_mean),
                cmocka_unit_test(weights_are_kept),
                cmocka_unit_test(a_shuffle_keeps_all_and_makes_every_order),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
