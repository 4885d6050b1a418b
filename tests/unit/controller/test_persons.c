#include "tests/unit/check.h"

#include "base/mem.h"
#include "controller/persons.h"

static struct persons *persons;

static int make(void **state)
{
        (void)state;
        persons = persons_new();
        return persons ? 0 : -1;
}

static int drop(void **state)
{
        (void)state;
        persons_free(persons);
        return 0;
}

/* Twice the rate at once, then as the rate says; another one is not held up by it. */
static void a_person_has_a_burst_and_a_rate_of_its_own(void **state)
{
        (void)state;
        for (int i = 0; i < 20; i++)
                assert_int_equal(persons_take(persons, "ana", 0, 10, 1000), 0);
        assert_int_equal(persons_take(persons, "ana", 0, 10, 1000), 100);
        assert_int_equal(persons_take(persons, "bob", 0, 10, 1000), 0);
        assert_int_equal(persons_take(persons, "ana", 0, 10, 1100), 0);
        assert_int_equal(persons_take(persons, "ana", 0, 10, 1100), 100);
        assert_int_equal(persons_take(persons, "ana", 0, 0, 1100), 0);
}

/* Not before it is read: it is paid for afterwards, and only by who sent it. */
static void a_large_body_counts_as_many(void **state)
{
        (void)state;
        static const struct { size_t bytes; int64_t wait_ms; } rows[] = {
                {1, 100}, {PERSONS_BODY_BYTES - 1, 100}, {PERSONS_BODY_BYTES, 200},
                {100 * PERSONS_BODY_BYTES, 10100},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                char name[16];
                snprintf(name, sizeof name, "large-%zu", r);
                for (int i = 0; i < 19; i++)
                        assert_int_equal(persons_take(persons, name, 0, 10, 2000), 0);
                assert_int_equal(persons_take(persons, name, rows[r].bytes, 10, 2000), 0);
                assert_int_equal(persons_take(persons, name, 0, 10, 2000), rows[r].wait_ms);
                assert_int_equal(persons_take(persons, name, 0, 10, 2000 + rows[r].wait_ms), 0);
        }
        assert_int_equal(persons_take(persons, "vast", SIZE_MAX, 1000000, 2000), 0);
}

/* More names than there are buckets: nothing grows, and who asks seldom is let through. */
static void many_names_find_room(void **state)
{
        (void)state;
        for (unsigned n = 0; n < 4 * PERSONS_MAX; n++) {
                char name[32];
                snprintf(name, sizeof name, "person-%u", n);
                int64_t now_ms = 200000 + (int64_t)n * PERSONS_IDLE_MS;
                for (int i = 0; i < 4; i++)
                        assert_int_equal(persons_take(persons, name, 0, 2, now_ms), 0);
                assert_true(persons_take(persons, name, 0, 2, now_ms) > 0);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_person_has_a_burst_and_a_rate_of_its_own),
                cmocka_unit_test(a_large_body_counts_as_many),
                cmocka_unit_test(many_names_find_room),
        };
        return cmocka_run_group_tests(tests, make, drop);
}
