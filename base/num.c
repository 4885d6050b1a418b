#include "base/num.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

__extension__ typedef unsigned __int128 wide;

#define UNITS_MAX       6
#define FRACTION_DIGITS 9               /* after the point, at most */

/* What a kind of amount looks like; units from the largest to the smallest, "" for none. */
struct kind {
        const char *article_name;       /* "a size" */
        const char *example;            /* "40Gi, 512Gi or 4Ti" */
        const char *grain;              /* what it must be a whole number of: "MiB" */
        struct { const char *suffix; uint64_t factor; } units[UNITS_MAX];
        bool zero_is_bare;              /* "0" needs no unit */
};

static const struct kind whole_kind = {
        .article_name = "a whole number",
        .example = "12",
        .grain = "ones",
        .units = {{"", 1}},
};

static const struct kind size_kind = {
        .article_name = "a size",
        .example = "40Gi, 512Gi or 4Ti (powers of 1024; a bare number is MiB)",
        .grain = "MiB",
        .units = {{"Pi", 1u << 30}, {"Ti", 1u << 20}, {"Gi", 1u << 10}, {"Mi", 1}, {"", 1}},
};

static const struct kind rate_kind = {
        .article_name = "a rate",
        .example = "100Gb or 800Mb (bits per second)",
        .grain = "Mb",
        .units = {{"Tb", 1000000}, {"Gb", 1000}, {"Mb", 1}},
        .zero_is_bare = true,
};

static const struct kind duration_kind = {
        .article_name = "a duration",
        .example = "30s, 5m, 6h or 2d",
        .grain = "milliseconds",
        .units = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}},
        .zero_is_bare = true,
};

static const struct kind months_kind = {
        .article_name = "a number of months",
        .example = "13mo or 2y",
        .grain = "months",
        .units = {{"mo", 1}, {"y", 12}},
        .zero_is_bare = true,
};

static const struct kind cpu_kind = {
        .article_name = "a number of cores",
        .example = "12, 0.5 or 500m",
        .grain = "thousandths of a core",
        .units = {{"", 1000}, {"m", 1}},
};

/* A decimal taken apart: `digits` without the point, `fraction` of them behind it. */
struct decimal {
        wide digits;
        unsigned fraction;
        bool is_huge;                   /* more than any result can hold */
        const char *rest;               /* what stands behind it */
};

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static void add_digit(struct decimal *decimal, char c)
{
        /* 10^28 times the largest factor stays far below 2^128; and it is out of any range. */
        if (decimal->digits > (wide)UINT64_MAX * 1000000000)
                decimal->is_huge = true;
        else
                decimal->digits = decimal->digits * 10 + (unsigned)(c - '0');
}

/* False when `text` does not start with a well-formed decimal. */
static bool read_decimal(const char *text, struct decimal *ret_decimal)
{
        struct decimal decimal = {0};
        if (!is_digit(*text) || (text[0] == '0' && is_digit(text[1])))
                return false;
        for (; is_digit(*text); text++)
                add_digit(&decimal, *text);
        if (*text == '.') {
                text++;
                if (!is_digit(*text))
                        return false;
                for (; is_digit(*text); text++) {
                        if (decimal.fraction <= FRACTION_DIGITS)
                                add_digit(&decimal, *text);
                        if (decimal.fraction < UINT16_MAX)
                                decimal.fraction++;
                }
        }
        decimal.rest = text;
        *ret_decimal = decimal;
        return true;
}

static int fail_form(const struct kind *kind, const char *text, struct err *err)
{
        char show[STR_SHOW_MAX];
        str_show(text, show);
        if (text[0] == '\0')
                return err_set(err, ERR_INPUT, "is empty; write %s, for example %s",
                               kind->article_name, kind->example);
        if (text[0] == '0' && is_digit(text[1]))
                return err_set(err, ERR_INPUT, "'%s' starts with a needless 0; leave it out", show);
        return err_set(err, ERR_INPUT, "'%s' is not %s; write for example %s", show,
                       kind->article_name, kind->example);
}

/* A bound as a person would write it. */
static void show_amount(const struct kind *kind, uint64_t amount, char *buf, size_t size)
{
        for (unsigned i = 0; i < UNITS_MAX && kind->units[i].suffix; i++) {
                if (amount % kind->units[i].factor != 0)
                        continue;
                snprintf(buf, size, "%" PRIu64 "%s", amount / kind->units[i].factor,
                         amount == 0 && kind->zero_is_bare ? "" : kind->units[i].suffix);
                return;
        }
        snprintf(buf, size, "%" PRIu64, amount);
}

/* `high` is NULL when there is no upper bound worth naming. */
static int fail_range(const char *text, const char *how, const char *low, const char *high,
                      struct err *err)
{
        char show[STR_SHOW_MAX];
        str_show(text, show);
        if (high)
                return err_set(err, ERR_RANGE, "'%s' is %s; write %s to %s", show, how, low, high);
        return err_set(err, ERR_RANGE, "'%s' is %s; write %s or more", show, how, low);
}

static bool is_negative(const char *text)
{
        return text[0] == '-' && is_digit(text[1]);
}

/* The value is outside min..max, or negative, which is as much. */
static int fail_amount(const struct kind *kind, const char *text, uint64_t min, uint64_t max,
                       uint64_t unbounded, bool is_above, struct err *err)
{
        char low[32];
        char high[32];
        show_amount(kind, min, low, sizeof low);
        show_amount(kind, max, high, sizeof high);
        return fail_range(text, is_negative(text) ? "negative" : "out of range", low,
                          max == unbounded && !is_above ? NULL : high, err);
}

static int read_amount(const struct kind *kind, const char *text, uint64_t min, uint64_t max,
                       uint64_t unbounded, uint64_t *ret_amount, struct err *err)
{
        assert(text);
        assert(min <= max);

        char show[STR_SHOW_MAX];
        struct decimal decimal;
        if (is_negative(text))
                return fail_amount(kind, text, min, max, unbounded, false, err);
        if (!read_decimal(text, &decimal))
                return fail_form(kind, text, err);

        uint64_t factor = 0;
        for (unsigned i = 0; i < UNITS_MAX && kind->units[i].suffix; i++)
                if (str_equal(decimal.rest, kind->units[i].suffix))
                        factor = kind->units[i].factor;
        if (factor == 0 && kind->zero_is_bare && str_equal(text, "0"))
                factor = 1;
        if (factor == 0 && decimal.rest[0] == '\0')
                return err_set(err, ERR_INPUT, "'%s' has no unit; write for example %s",
                               str_show(text, show), kind->example);
        if (factor == 0)
                return fail_form(kind, text, err);
        if (kind == &whole_kind && decimal.fraction > 0)
                return err_set(err, ERR_INPUT,
                               "'%s' is not a whole number; write one without a point",
                               str_show(text, show));
        if (decimal.fraction > FRACTION_DIGITS)
                return err_set(err, ERR_INPUT, "'%s' has more than %d digits after the point",
                               str_show(text, show), FRACTION_DIGITS);

        wide scale = 1;
        for (unsigned i = 0; i < decimal.fraction; i++)
                scale *= 10;
        wide amount = decimal.digits * factor / scale;
        if (!decimal.is_huge && amount * scale != decimal.digits * factor)
                return err_set(err, ERR_INPUT, "'%s' is not a whole number of %s",
                               str_show(text, show), kind->grain);
        bool is_above = decimal.is_huge || amount > max;
        if (is_above || amount < min)
                return fail_amount(kind, text, min, max, unbounded, is_above, err);
        *ret_amount = (uint64_t)amount;
        return 0;
}

int num_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value, struct err *err)
{
        return read_amount(&whole_kind, text, min, max, UINT64_MAX, ret_value, err);
}

int num_i64(const char *text, int64_t min, int64_t max, int64_t *ret_value, struct err *err)
{
        assert(text);
        assert(min <= max);

        const uint64_t lowest = (uint64_t)INT64_MAX + 1;        /* the size of INT64_MIN */
        bool is_minus = is_negative(text);
        uint64_t size = 0;
        int rc = read_amount(&whole_kind, text + is_minus, 0, UINT64_MAX, UINT64_MAX, &size, err);
        if (rc < 0 && rc != -ERR_RANGE)
                return rc;
        bool fits = rc == 0 && (is_minus ? size <= lowest : size < lowest);
        int64_t value = 0;
        if (fits)
                value = is_minus ? (int64_t)(0 - size) : (int64_t)size;
        bool is_above = !is_minus && (!fits || value > max);
        if (is_above || !fits || value < min || value > max) {
                char low[32];
                char high[32];
                snprintf(low, sizeof low, "%" PRId64, min);
                snprintf(high, sizeof high, "%" PRId64, max);
                return fail_range(text, is_minus && min >= 0 ? "negative" : "out of range", low,
                                  max == INT64_MAX && !is_above ? NULL : high, err);
        }
        *ret_value = value;
        return 0;
}

/* 250 with three digits -> "0.25" */
static void show_fixed(uint64_t value, unsigned digits, uint64_t scale, char *buf, size_t size)
{
        uint64_t fraction = value % scale;
        while (digits > 0 && fraction % 10 == 0) {
                fraction /= 10;
                digits--;
        }
        if (digits == 0)
                snprintf(buf, size, "%" PRIu64, value / scale);
        else
                snprintf(buf, size, "%" PRIu64 ".%0*" PRIu64, value / scale, (int)digits, fraction);
}

int num_fixed(const char *text, unsigned digits, uint64_t min, uint64_t max, uint64_t *ret_value,
              struct err *err)
{
        static const struct kind kind = {.article_name = "a number", .example = "0.25, 1 or 2.5"};
        assert(text);
        assert(digits <= FRACTION_DIGITS);
        assert(min <= max);

        char show[STR_SHOW_MAX];
        struct decimal decimal = {0};
        bool is_minus = is_negative(text);
        if (!is_minus && (!read_decimal(text, &decimal) || decimal.rest[0] != '\0'))
                return fail_form(&kind, text, err);
        if (decimal.fraction > digits)
                return err_set(err, ERR_INPUT, "'%s' has more than %u digits after the point",
                               str_show(text, show), digits);
        uint64_t scale = 1;
        for (unsigned i = 0; i < digits; i++)
                scale *= 10;
        wide value = decimal.digits;
        for (unsigned i = decimal.fraction; i < digits; i++)
                value *= 10;
        bool is_above = decimal.is_huge || value > max;
        if (is_minus || is_above || value < min) {
                char low[32];
                char high[32];
                show_fixed(min, digits, scale, low, sizeof low);
                show_fixed(max, digits, scale, high, sizeof high);
                return fail_range(text, is_minus ? "negative" : "out of range", low,
                                  max == UINT64_MAX && !is_above ? NULL : high, err);
        }
        *ret_value = (uint64_t)value;
        return 0;
}

int num_milli(const char *text, uint64_t min_milli, uint64_t max_milli, uint64_t *ret_milli,
              struct err *err)
{
        return num_fixed(text, 3, min_milli, max_milli, ret_milli, err);
}

int num_size_mib(const char *text, uint64_t min_mib, uint64_t max_mib, uint64_t *ret_mib,
                 struct err *err)
{
        return read_amount(&size_kind, text, min_mib, max_mib, UINT64_MAX, ret_mib, err);
}

int num_rate_mbit(const char *text, uint64_t min_mbit, uint64_t max_mbit, uint64_t *ret_mbit,
                  struct err *err)
{
        return read_amount(&rate_kind, text, min_mbit, max_mbit, UINT64_MAX, ret_mbit, err);
}

int num_duration_ms(const char *text, int64_t min_ms, int64_t max_ms, int64_t *ret_ms,
                    struct err *err)
{
        assert(min_ms >= 0);
        assert(min_ms <= max_ms);

        uint64_t value = 0;
        int rc = read_amount(&duration_kind, text, (uint64_t)min_ms, (uint64_t)max_ms, INT64_MAX,
                             &value, err);
        if (rc == 0)
                *ret_ms = (int64_t)value;
        return rc;
}

int num_months(const char *text, uint64_t min_months, uint64_t max_months, uint64_t *ret_months,
               struct err *err)
{
        return read_amount(&months_kind, text, min_months, max_months, UINT64_MAX, ret_months, err);
}

int num_cpu_milli(const char *text, uint64_t min_milli, uint64_t max_milli, uint64_t *ret_milli,
                  struct err *err)
{
        return read_amount(&cpu_kind, text, min_milli, max_milli, UINT64_MAX, ret_milli, err);
}
