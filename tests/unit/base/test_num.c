#include "tests/unit/check.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

#define UNTOUCHED 4711u

typedef int decode(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value,
                   struct err *err);

static int fixed0(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value,
                  struct err *err)
{
        return num_fixed(text, 0, min, max, ret_value, err);
}

static int fixed9(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value,
                  struct err *err)
{
        return num_fixed(text, 9, min, max, ret_value, err);
}

static int duration(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value,
                    struct err *err)
{
        int64_t value = (int64_t)*ret_value;
        int rc = num_duration_ms(text, (int64_t)min,
                                 max > INT64_MAX ? INT64_MAX : (int64_t)max, &value, err);
        *ret_value = (uint64_t)value;
        return rc;
}

static void numbers_are_exact_or_refused_with_a_sentence(void **state)
{
        (void)state;
        static const struct {
                decode *decode;
                const char *text;
                uint64_t min, max;
                int rc;
                uint64_t value;
                const char *sentence;
        } rows[] = {
                {num_u64, "0", 0, UINT64_MAX, 0, 0, NULL},
                {num_u64, "12", 0, UINT64_MAX, 0, 12, NULL},
                {num_u64, "18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX, NULL},
                {num_u64, "18446744073709551616", 0, UINT64_MAX, -ERR_RANGE, 0, "write 0 to 184"},
                {num_u64, "99999999999999999999999999999999999999999999", 0, UINT64_MAX,
                 -ERR_RANGE, 0, "out of range"},
                {num_u64, "4", 1, 4, 0, 4, NULL},
                {num_u64, "5", 1, 4, -ERR_RANGE, 0, "'5' is out of range; write 1 to 4"},
                {num_u64, "0", 1, 4, -ERR_RANGE, 0, "write 1 to 4"},
                {num_u64, "", 0, 9, -ERR_INPUT, 0, "is empty; write a whole number"},
                {num_u64, "-1", 0, 9, -ERR_RANGE, 0, "'-1' is negative; write 0 to 9"},
                {num_u64, "-1", 1, UINT64_MAX, -ERR_RANGE, 0, "'-1' is negative; write 1 or more"},
                {num_u64, "0", 1, UINT64_MAX, -ERR_RANGE, 0, "out of range; write 1 or more"},
                {num_u64, "+1", 0, 9, -ERR_INPUT, 0, "'+1' is not a whole number"},
                {num_u64, " 1", 0, 9, -ERR_INPUT, 0, "is not a whole number"},
                {num_u64, "1 ", 0, 9, -ERR_INPUT, 0, "is not a whole number"},
                {num_u64, "1\n", 0, 9, -ERR_INPUT, 0, "'1?' is not a whole number"},
                {num_u64, "007", 0, 9, -ERR_INPUT, 0, "needless 0"},
                {num_u64, "0x10", 0, 99, -ERR_INPUT, 0, "is not a whole number"},
                {num_u64, "1e3", 0, 9999, -ERR_INPUT, 0, "is not a whole number"},
                {num_u64, "1_000", 0, 9999, -ERR_INPUT, 0, "is not a whole number"},
                {num_u64, "1.0", 0, 9, -ERR_INPUT, 0, "without a point"},
                {num_u64, "1.", 0, 9, -ERR_INPUT, 0, "is not a whole number"},
                {num_u64, ".5", 0, 9, -ERR_INPUT, 0, "is not a whole number"},
                {num_u64, "twelve", 0, 9, -ERR_INPUT, 0, "'twelve' is not a whole number"},
                {num_u64, "\xd9\xa1", 0, 9, -ERR_INPUT, 0, "is not a whole number"},

                {num_milli, "0.25", 0, 1000, 0, 250, NULL},
                {num_milli, "1", 0, 1000, 0, 1000, NULL},
                {num_milli, "0", 0, 1000, 0, 0, NULL},
                {num_milli, "0.001", 0, 1000, 0, 1, NULL},
                {num_milli, "0.0005", 0, 1000, -ERR_INPUT, 0, "more than 3 digits"},
                {num_milli, "0.2500", 0, 1000, -ERR_INPUT, 0, "more than 3 digits"},
                {num_milli, "1.001", 0, 1000, -ERR_RANGE, 0, "write 0 to 1"},
                {num_milli, "0", 1, 1500, -ERR_RANGE, 0, "write 0.001 to 1.5"},
                {num_milli, "18446744073709551.615", 0, UINT64_MAX, 0, UINT64_MAX, NULL},
                {num_milli, "18446744073709551.616", 0, UINT64_MAX, -ERR_RANGE, 0, "0 to 184"},
                {num_milli, "1e-3", 0, 1000, -ERR_INPUT, 0, "is not a number"},
                {num_milli, "0.", 0, 1000, -ERR_INPUT, 0, "is not a number"},
                {num_milli, "00.5", 0, 1000, -ERR_INPUT, 0, "needless 0"},
                {num_milli, "-0.5", 0, 1000, -ERR_RANGE, 0, "is negative; write 0 to 1"},
                {num_milli, "25%", 0, 1000, -ERR_INPUT, 0, "is not a number"},
                {fixed0, "3", 0, 9, 0, 3, NULL},
                {fixed0, "3.0", 0, 9, -ERR_INPUT, 0, "more than 0 digits"},
                {fixed9, "1.000000001", 0, UINT64_MAX, 0, 1000000001, NULL},
                {fixed9, "1.0000000001", 0, UINT64_MAX, -ERR_INPUT, 0, "more than 9 digits"},

                {num_size_mib, "512Gi", 0, UINT64_MAX, 0, 524288, NULL},
                {num_size_mib, "4Ti", 0, UINT64_MAX, 0, 4194304, NULL},
                {num_size_mib, "100Mi", 0, UINT64_MAX, 0, 100, NULL},
                {num_size_mib, "1024", 0, UINT64_MAX, 0, 1024, NULL},
                {num_size_mib, "1.5Gi", 0, UINT64_MAX, 0, 1536, NULL},
                {num_size_mib, "2Pi", 0, UINT64_MAX, 0, 2147483648, NULL},
                {num_size_mib, "1.3Gi", 0, UINT64_MAX, -ERR_INPUT, 0, "a whole number of MiB"},
                {num_size_mib, "40GB", 0, UINT64_MAX, -ERR_INPUT, 0, "'40GB' is not a size"},
                {num_size_mib, "40G", 0, UINT64_MAX, -ERR_INPUT, 0, "powers of 1024"},
                {num_size_mib, "40 Gi", 0, UINT64_MAX, -ERR_INPUT, 0, "is not a size"},
                {num_size_mib, "Gi", 0, UINT64_MAX, -ERR_INPUT, 0, "is not a size"},
                {num_size_mib, "40gi", 0, UINT64_MAX, -ERR_INPUT, 0, "is not a size"},
                {num_size_mib, "8Ti", 1024, 4194304, -ERR_RANGE, 0, "write 1Gi to 4Ti"},
                {num_size_mib, "17179869184Pi", 0, UINT64_MAX, -ERR_RANGE, 0, "out of range"},
                {num_size_mib, "18446744073709551615Pi", 0, UINT64_MAX, -ERR_RANGE, 0, "range"},

                {num_rate_mbit, "400Gb", 0, UINT64_MAX, 0, 400000, NULL},
                {num_rate_mbit, "800Mb", 0, UINT64_MAX, 0, 800, NULL},
                {num_rate_mbit, "1.6Tb", 0, UINT64_MAX, 0, 1600000, NULL},
                {num_rate_mbit, "0", 0, UINT64_MAX, 0, 0, NULL},
                {num_rate_mbit, "100", 0, UINT64_MAX, -ERR_INPUT, 0, "'100' has no unit"},
                {num_rate_mbit, "100GB", 0, UINT64_MAX, -ERR_INPUT, 0, "bits per second"},
                {num_rate_mbit, "0", 1, 1000, -ERR_RANGE, 0, "write 1Mb to 1Gb"},

                {num_cpu_milli, "12", 0, UINT64_MAX, 0, 12000, NULL},
                {num_cpu_milli, "0.5", 0, UINT64_MAX, 0, 500, NULL},
                {num_cpu_milli, "500m", 0, UINT64_MAX, 0, 500, NULL},
                {num_cpu_milli, "0.0005", 0, UINT64_MAX, -ERR_INPUT, 0, "thousandths of a core"},
                {num_cpu_milli, "0.5m", 0, UINT64_MAX, -ERR_INPUT, 0, "thousandths of a core"},
                {num_cpu_milli, "12c", 0, UINT64_MAX, -ERR_INPUT, 0, "is not a number of cores"},
                {num_cpu_milli, "65", 500, 64000, -ERR_RANGE, 0, "write 500m to 64"},

                {duration, "30s", 0, UINT64_MAX, 0, 30000, NULL},
                {duration, "5m", 0, UINT64_MAX, 0, 300000, NULL},
                {duration, "6h", 0, UINT64_MAX, 0, 21600000, NULL},
                {duration, "2d", 0, UINT64_MAX, 0, 172800000, NULL},
                {duration, "500ms", 0, UINT64_MAX, 0, 500, NULL},
                {duration, "1.5h", 0, UINT64_MAX, 0, 5400000, NULL},
                {duration, "0", 0, UINT64_MAX, 0, 0, NULL},
                {duration, "30", 0, UINT64_MAX, -ERR_INPUT, 0, "'30' has no unit"},
                {duration, "0.0001s", 0, UINT64_MAX, -ERR_INPUT, 0, "milliseconds"},
                {duration, "1h30m", 0, UINT64_MAX, -ERR_INPUT, 0, "is not a duration"},
                {duration, "5min", 0, UINT64_MAX, -ERR_INPUT, 0, "is not a duration"},
                {duration, "-5m", 0, UINT64_MAX, -ERR_RANGE, 0, "is negative"},
                {duration, "3d", 1000, 172800000, -ERR_RANGE, 0, "write 1s to 2d"},
                {duration, "9223372036854775807ms", 0, UINT64_MAX, 0, INT64_MAX, NULL},
                {duration, "9223372036854775808ms", 0, UINT64_MAX, -ERR_RANGE, 0, "write 0 to 92"},
                {duration, "0.0000000001d", 0, UINT64_MAX, -ERR_INPUT, 0, "more than 9 digits"},
                {num_months, "13mo", 0, UINT64_MAX, 0, 13, NULL},
                {num_months, "2y", 13, 24, 0, 24, NULL},
                {num_months, "1.5y", 0, 24, 0, 18, NULL},
                {num_months, "0", 0, 24, 0, 0, NULL},
                {num_months, "25mo", 13, 24, -ERR_RANGE, 0, "write 13mo to 24mo"},
                {num_months, "1.5mo", 0, 24, -ERR_INPUT, 0, "is not a whole number of months"},
                {num_months, "13", 0, 24, -ERR_INPUT, 0, "'13' has no unit; write for example "
                                                         "13mo"},
                {num_months, "13m", 0, 24, -ERR_INPUT, 0, "is not a number of months"},
                {num_months, "1600000000000000000y", 0, UINT64_MAX, -ERR_RANGE, 0, "out of range"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                uint64_t value = UNTOUCHED;
                int rc = rows[i].decode(rows[i].text, rows[i].min, rows[i].max, &value, &err);
                uint64_t wanted = rows[i].rc == 0 ? rows[i].value : UNTOUCHED;
                if (rc != rows[i].rc || value != wanted)
                        fail_msg("'%s': %d, %" PRIu64 ", '%s'", rows[i].text, rc, value, err.text);
                if (rows[i].sentence)
                        check_has(err.text, rows[i].sentence);
                assert_int_equal(rows[i].decode(rows[i].text, rows[i].min, rows[i].max, &value,
                                                NULL), rc);
        }
}

static void signed_numbers_reach_both_ends(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                int64_t min, max;
                int rc;
                int64_t value;
        } rows[] = {
                {"0", INT64_MIN, INT64_MAX, 0, 0},
                {"-0", INT64_MIN, INT64_MAX, 0, 0},
                {"-12", INT64_MIN, INT64_MAX, 0, -12},
                {"9223372036854775807", INT64_MIN, INT64_MAX, 0, INT64_MAX},
                {"-9223372036854775808", INT64_MIN, INT64_MAX, 0, INT64_MIN},
                {"9223372036854775808", INT64_MIN, INT64_MAX, -ERR_RANGE, 0},
                {"-9223372036854775809", INT64_MIN, INT64_MAX, -ERR_RANGE, 0},
                {"-99999999999999999999999", INT64_MIN, INT64_MAX, -ERR_RANGE, 0},
                {"-6", -5, 5, -ERR_RANGE, 0},
                {"-5", -5, 5, 0, -5},
                {"5", -5, 5, 0, 5},
                {"6", -5, 5, -ERR_RANGE, 0},
                {"--5", -5, 5, -ERR_INPUT, 0},
                {"-", -5, 5, -ERR_INPUT, 0},
                {"", -5, 5, -ERR_INPUT, 0},
                {"-05", -5, 5, -ERR_INPUT, 0},
                {"-1.5", -5, 5, -ERR_INPUT, 0},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                int64_t value = UNTOUCHED;
                int rc = num_i64(rows[i].text, rows[i].min, rows[i].max, &value, &err);
                if (rc != rows[i].rc || value != (rc == 0 ? rows[i].value : (int64_t)UNTOUCHED))
                        fail_msg("'%s': %d, %" PRId64 ", '%s'", rows[i].text, rc, value, err.text);
                assert_true(rc == 0 || err.text[0] != '\0');
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(numbers_are_exact_or_refused_with_a_sentence),
                cmocka_unit_test(signed_numbers_reach_both_ends),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
