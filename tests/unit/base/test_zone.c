#include "tests/unit/check.h"

#include <stdbool.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/zone.h"

#define HOUR 3600

static struct zone *load(const char *name)
{
        struct zone *zone = NULL;
        struct err err = {0};

        if (zone_load(name, &zone, &err) < 0)
                fail_msg("%s", err.text);
        return zone;
}

static void local_times_are_read_on_the_clock_of_the_place(void **state)
{
        (void)state;
        static const struct {
                const char *zone;
                int64_t local_s;
                int32_t offset_s;
        } rows[] = {
                {"UTC", 1507532515, 0},
                {"America/Los_Angeles", 1507532515, -7 * HOUR}, /* 2017-10-09 07:01:55 */
                {"America/Los_Angeles", 1512057600, -8 * HOUR}, /* 2017-11-30 16:00 */
                {"Europe/Berlin", 1735689600, 1 * HOUR},        /* 2025-01-01 00:00 */
                {"Europe/Berlin", 1751328000, 2 * HOUR},        /* 2025-07-01 00:00 */
                {"Asia/Kolkata", 1751328000, 5 * HOUR + HOUR / 2},
                {"Australia/Sydney", 1735689600, 11 * HOUR},
                {"Australia/Sydney", 1751328000, 10 * HOUR},
                /* behind the end of every list: by the rule */
                {"America/Los_Angeles", 4086590400, -7 * HOUR}, /* 2099-07-01 16:00 */
                {"America/Los_Angeles", 4070966400, -8 * HOUR}, /* 2099-01-01 20:00 */
                {"Australia/Sydney", 4070966400, 11 * HOUR},
                {"Asia/Kolkata", 4070966400, 5 * HOUR + HOUR / 2},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct zone *zone = load(rows[r].zone);
                int64_t utc_s = zone_utc_s(zone, rows[r].local_s);
                if (utc_s != rows[r].local_s - rows[r].offset_s)
                        fail_msg("row %zu: %lld s off", r,
                                 (long long)(rows[r].local_s - rows[r].offset_s - utc_s));
                assert_int_equal(zone_offset_s(zone, utc_s), rows[r].offset_s);
                zone_free(zone);
        }
        zone_free(NULL);
}

static void an_hour_that_comes_twice_is_the_earlier_one(void **state)
{
        (void)state;
        struct zone *zone = load("America/Los_Angeles");
        int64_t half_past_one = 1509845400; /* 2017-11-05 01:30, twice */

        assert_int_equal(zone_utc_s(zone, half_past_one), half_past_one + 7 * HOUR);
        assert_int_equal(zone_utc_s(zone, half_past_one - HOUR), half_past_one + 6 * HOUR);
        /* 02:00 comes once, an hour after the second 01:00. */
        assert_int_equal(zone_utc_s(zone, half_past_one + HOUR / 2),
                         half_past_one + HOUR / 2 + 8 * HOUR);
        zone_free(zone);
}

static void an_hour_that_never_comes_is_read_with_the_offset_before(void **state)
{
        (void)state;
        struct zone *zone = load("America/Los_Angeles");
        int64_t half_past_two = 1489285800; /* 2017-03-12 02:30, which no clock showed */
        int64_t utc_s = zone_utc_s(zone, half_past_two);

        assert_int_equal(utc_s, half_past_two + 8 * HOUR);
        assert_int_equal(utc_s + zone_offset_s(zone, utc_s), half_past_two + HOUR);
        zone_free(zone);
}

static void what_is_no_zone_is_refused(void **state)
{
        (void)state;
        static const char long_name[] = "a12345678901234567890123456789/"
                                        "b12345678901234567890123456789/c1";
        static const char *const names[] = {
                "",
                "/UTC",
                "../UTC",
                "Europe/",
                "Europe//Berlin",
                "Europe/Ber lin",
                "Europe/B\xc3\xa4rlin",
                long_name,
        };
        assert_int_equal(strlen(long_name), ZONE_NAME_MAX);
        struct zone *zone = NULL;
        struct err err = {0};

        for (size_t n = 0; n < ARRAY_LEN(names); n++) {
                assert_int_equal(zone_load(names[n], &zone, &err), -ERR_INPUT);
                check_has(err.text, "is no name of a time zone; write for example Europe/Berlin");
        }
        assert_int_equal(zone_load("Europe/Nowhere", &zone, &err), -ERR_NOT_FOUND);
        check_has(err.text, "there is no time zone 'Europe/Nowhere' in /usr/share/zoneinfo");
        check_has(err.text, "tzdata");
        assert_int_equal(zone_load("Europe", &zone, &err), -ERR_NOT_FOUND);
        assert_int_equal(zone_load("tzdata.zi", &zone, &err), -ERR_INPUT);
        assert_null(zone);
}

/* Cut anywhere, a zone file is refused; and so is one that lost a byte of its heads. */
static void half_a_file_is_refused(void **state)
{
        (void)state;
        struct zone *zone = NULL;
        struct err err = {0};
        char *bytes;
        size_t size;

        if (file_read("/usr/share/zoneinfo/Europe/Berlin", ZONE_BYTES_MAX, &bytes, &size, &err) < 0)
                fail_msg("%s", err.text);
        for (size_t cut = 0; cut < size; cut++) {
                assert_int_equal(zone_parse("half", bytes, cut, &zone, &err), -ERR_INPUT);
                check_has(err.text, "the file of time zone 'half' is none that is understood");
        }
        assert_int_equal(zone_parse("whole", bytes, size, &zone, &err), 0);
        zone_free(zone);
        for (unsigned long n = 1;; n++) {
                mem_fail_at(n);
                int rc = zone_parse("whole", bytes, size, &zone, &err);
                bool failed = mem_fail_happened();
                mem_fail_at(0);
                if (!failed)
                        break;
                assert_int_equal(rc, -ERR_NOMEM);
        }
        zone_free(zone);
        mem_free(bytes);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(local_times_are_read_on_the_clock_of_the_place),
                cmocka_unit_test(an_hour_that_comes_twice_is_the_earlier_one),
                cmocka_unit_test(an_hour_that_never_comes_is_read_with_the_offset_before),
                cmocka_unit_test(what_is_no_zone_is_refused),
                cmocka_unit_test(half_a_file_is_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
