/* fuzz_num.c - every number decoder against a slow one that adds up digit by digit. */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

__extension__ typedef unsigned __int128 wide;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct unit { const char *suffix; uint64_t factor; };

/* The value times 10^9 times the factor, if the text is a decimal and a suffix of the table; -1
 * when it is not. Texts are short here, so nothing wraps. */
static int model(const char *text, const struct unit *units, wide *ret_value)
{
        size_t length = strspn(text, "0123456789.");
        wide value = 0;
        unsigned fraction = 0;
        int points = 0;
        if (length == 0 || text[0] == '.' || text[length - 1] == '.' ||
            (length > 1 && text[0] == '0' && text[1] != '.'))
                return -1;
        for (size_t i = 0; i < length; i++) {
                if (text[i] == '.') {
                        points++;
                        continue;
                }
                value = value * 10 + (unsigned)(text[i] - '0');
                fraction += points > 0;
        }
        if (points > 1 || fraction > 9)
                return -1;
        for (; fraction < 9; fraction++)
                value *= 10;
        for (; units->suffix; units++)
                if (strcmp(units->suffix, text + length) == 0) {
                        *ret_value = value * units->factor;
                        return 0;
                }
        return -1;
}

static void check(int rc, uint64_t got, const char *text, const struct unit *units,
                  const struct err *err)
{
        const wide nano = 1000000000;
        wide value;
        int known = model(text, units, &value);
        if (rc == 0) {
                assert(known == 0);
                assert(value == got * nano);
        } else {
                assert(err->text[0] != '\0');           /* refusals explain */
                assert(rc == -(int)err->code);
                assert(known < 0 || value % nano != 0 || value / nano > INT64_MAX);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const struct unit whole[] = {{"", 1}, {0}};
        static const struct unit milli[] = {{"", 1000}, {0}};
        static const struct unit sizes[] = {{"", 1}, {"Mi", 1}, {"Gi", 1024}, {"Ti", 1048576},
                                            {"Pi", 1073741824}, {0}};
        static const struct unit rates[] = {{"Mb", 1}, {"Gb", 1000}, {"Tb", 1000000}, {0}};
        static const struct unit times[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000},
                                            {"d", 86400000}, {0}};
        static const struct unit months[] = {{"mo", 1}, {"y", 12}, {0}};
        static const struct unit cores[] = {{"", 1000}, {"m", 1}, {0}};
        char text[20];
        if (size >= sizeof text)
                return 0;
        if (size > 0)
                memcpy(text, data, size);
        text[size] = '\0';

        uint64_t value = 0;
        int64_t number = 0;
        struct err err = {0};
        int rc = num_u64(text, 0, INT64_MAX, &value, &err);
        if (!strchr(text, '.'))
                check(rc, value, text, whole, &err);
        else
                assert(rc < 0);
        rc = num_i64(text, INT64_MIN, INT64_MAX, &number, &err);
        if (text[0] == '-')
                check(rc, 0 - (uint64_t)number, text + 1, strchr(text, '.') ? &whole[1] : whole,
                      &err);
        rc = num_size_mib(text, 0, INT64_MAX, &value, &err);
        check(rc, value, text, sizes, &err);
        if (strcmp(text, "0") != 0) {
                rc = num_rate_mbit(text, 0, INT64_MAX, &value, &err);
                check(rc, value, text, rates, &err);
                rc = num_duration_ms(text, 0, INT64_MAX, &number, &err);
                check(rc, (uint64_t)number, text, times, &err);
                rc = num_months(text, 0, INT64_MAX, &value, &err);
                check(rc, value, text, months, &err);
        }
        rc = num_cpu_milli(text, 0, INT64_MAX, &value, &err);
        check(rc, value, text, cores, &err);
        /* A fourth digit is refused even when it is 0, so only an accepted one is compared. */
        rc = num_milli(text, 0, INT64_MAX, &value, &err);
        if (rc == 0)
                check(rc, value, text, milli, &err);
        for (unsigned digits = 0; digits <= 9; digits++)
                num_fixed(text, digits, 5, 500, &value, &err);
        return 0;
}
