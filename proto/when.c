#include "proto/when.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/num.h"
#include "base/str.h"
#include "base/zone.h"
#include "engine/calendar.h"

/* `count` digits; false: they are not all there. */
static bool read_digits(const char **at, unsigned count, int32_t *ret_number)
{
        int32_t number = 0;

        for (; count > 0; count--, (*at)++) {
                if (**at < '0' || **at > '9')
                        return false;
                number = number * 10 + (**at - '0');
        }
        *ret_number = number;
        return true;
}

static bool skip(const char **at, char byte)
{
        if (**at != byte)
                return false;
        (*at)++;
        return true;
}

struct parts {
        int32_t year, month, day, hour, minute, second, ms;
        bool has_zone;
        int32_t zone_minutes; /* east of UTC */
};

static bool read_zone(const char **at, struct parts *parts)
{
        int32_t hours, minutes;
        bool is_west = **at == '-';

        parts->has_zone = true;
        if (skip(at, 'Z'))
                return **at == '\0';
        if ((!skip(at, '+') && !skip(at, '-')) || !read_digits(at, 2, &hours) || !skip(at, ':') ||
            !read_digits(at, 2, &minutes) || hours > 14 || minutes > 59)
                return false;
        parts->zone_minutes = (hours * 60 + minutes) * (is_west ? -1 : 1);
        return **at == '\0';
}

static bool read_parts(const char *text, struct parts *parts)
{
        if (!read_digits(&text, 4, &parts->year) || !skip(&text, '-') ||
            !read_digits(&text, 2, &parts->month) || !skip(&text, '-') ||
            !read_digits(&text, 2, &parts->day) || !skip(&text, 'T') ||
            !read_digits(&text, 2, &parts->hour) || !skip(&text, ':') ||
            !read_digits(&text, 2, &parts->minute))
                return false;
        if (skip(&text, ':') && !read_digits(&text, 2, &parts->second))
                return false;
        return read_zone(&text, parts);
}

/* ".5", ".123"; more digits only where they say nothing more: ".000000". */
static bool read_fraction(const char **at, int32_t *ret_ms)
{
        int32_t ms = 0, worth = 100;

        if (!skip(at, '.'))
                return true;
        if (**at < '0' || **at > '9')
                return false;
        for (; **at >= '0' && **at <= '9'; (*at)++) {
                if (worth == 0 && **at != '0')
                        return false;
                ms += (**at - '0') * worth;
                worth /= 10;
        }
        *ret_ms = ms;
        return true;
}

/* A day, or day and time; with or without a zone. */
static bool read_local_parts(const char *text, struct parts *parts)
{
        if (!read_digits(&text, 4, &parts->year) || !skip(&text, '-') ||
            !read_digits(&text, 2, &parts->month) || !skip(&text, '-') ||
            !read_digits(&text, 2, &parts->day))
                return false;
        if (*text == '\0')
                return true;
        if ((!skip(&text, 'T') && !skip(&text, ' ')) || !read_digits(&text, 2, &parts->hour) ||
            !skip(&text, ':') || !read_digits(&text, 2, &parts->minute))
                return false;
        if (skip(&text, ':') &&
            (!read_digits(&text, 2, &parts->second) || !read_fraction(&text, &parts->ms)))
                return false;
        return *text == '\0' || read_zone(&text, parts);
}

/* On the clock of `zone` where the parts have none of their own; NULL: UTC. */
static int parts_ms(const char *text, const struct parts *parts, const struct zone *zone,
                    int64_t *ret_ms, struct err *err)
{
        char show[STR_SHOW_MAX];

        if (parts->year < 1970)
                return err_set(err, ERR_RANGE, "'%s' lies before 1970", str_show(text, show));
        if (parts->month < 1 || parts->month > 12 || parts->day < 1 ||
            parts->day > calendar_month_days(parts->year, (uint8_t)parts->month) ||
            parts->hour > 23 || parts->minute > 59 || parts->second > 59)
                return err_set(err, ERR_INPUT,
                               "'%s' does not exist in the calendar or on the clock",
                               str_show(text, show));
        struct calendar_date date = {parts->year, (uint8_t)parts->month, (uint8_t)parts->day};
        int64_t local_s = calendar_day(date) * (CALENDAR_DAY_MS / 1000) + parts->hour * 3600 +
                          parts->minute * 60 + parts->second;
        int64_t utc_s = zone && !parts->has_zone ? zone_utc_s(zone, local_s)
                                                 : local_s - parts->zone_minutes * 60;
        if (utc_s < 0 || utc_s > CALENDAR_MS_MAX / 1000)
                return err_set(err, ERR_RANGE, "'%s' lies outside 1970 to 9999 in UTC",
                               str_show(text, show));
        *ret_ms = utc_s * 1000 + parts->ms;
        return 0;
}

int when_parse(const char *text, int64_t *ret_ms, struct err *err)
{
        struct parts parts = {0};
        char show[STR_SHOW_MAX];

        if (!read_parts(text, &parts))
                return err_set(err, ERR_INPUT,
                               "'%s' is no time with a zone; write for example 2027-01-04T08:00Z",
                               str_show(text, show));
        return parts_ms(text, &parts, NULL, ret_ms, err);
}

int when_parse_local(const char *text, const struct zone *zone, int64_t *ret_ms, struct err *err)
{
        struct parts parts = {0};
        char show[STR_SHOW_MAX];

        if (!read_local_parts(text, &parts))
                return err_set(err, ERR_INPUT,
                               "'%s' is no time; write for example 2027-01-04 08:00:00 or a day, "
                               "2027-01-04",
                               str_show(text, show));
        return parts_ms(text, &parts, zone, ret_ms, err);
}

bool when_is_relative(const char *text)
{
        return text[0] == '-' || text[0] == '+' || str_equal(text, "now");
}

/* "-1h", "+30m", "-0s"; with `ahead` also "30m". */
static int read_span(const char *text, bool ahead, int64_t now_ms, int64_t *ret_ms,
                     struct err *err)
{
        bool is_signed = text[0] == '-' || text[0] == '+', is_past = text[0] == '-';
        int64_t span_ms = 0, room_ms = is_past ? now_ms : CALENDAR_MS_MAX - now_ms;
        char show[STR_SHOW_MAX];
        int rc = -ERR_INPUT;

        if ((is_signed || ahead) && text[is_signed] != '-' && text[is_signed] != '+')
                rc = num_duration_ms(text + is_signed, is_signed ? 0 : 1, CALENDAR_MS_MAX,
                                     &span_ms, NULL);
        if (rc == -ERR_RANGE || (rc == 0 && span_ms > room_ms))
                return err_set(err, ERR_RANGE, "'%s' is no span %s now, %s",
                               str_show(text, show), is_past ? "before" : "from",
                               is_past ? "from 1970 on" : "up to the year 9999");
        if (rc == 0)
                *ret_ms = is_past ? now_ms - span_ms : now_ms + span_ms;
        return rc;
}

static int take_told(const char *text, bool ahead, int64_t now_ms, int64_t *ret_ms,
                     struct err *err)
{
        struct parts parts = {0};
        char show[STR_SHOW_MAX];

        if (str_equal(text, "now")) {
                *ret_ms = now_ms;
                return 0;
        }
        int rc = read_span(text, ahead, now_ms, ret_ms, err);
        if (rc != -ERR_INPUT)
                return rc;
        if (read_local_parts(text, &parts))
                return parts_ms(text, &parts, NULL, ret_ms, err);
        return err_set(err, ERR_INPUT,
                       ahead ? "'%s' is no time: write 2h (from now), 7d, 2027-01-04, or "
                               "2027-01-04T08:00Z"
                             : "'%s' is no time: write now, -1h, -7d (before now), 2027-01-04, or "
                               "2027-01-04T08:00Z",
                       str_show(text, show));
}

int when_told(const char *text, int64_t now_ms, int64_t *ret_ms, struct err *err)
{
        return take_told(text, false, now_ms, ret_ms, err);
}

int when_ahead(const char *text, int64_t now_ms, int64_t *ret_ms, struct err *err)
{
        return take_told(text, true, now_ms, ret_ms, err);
}

const char *when_text(int64_t ms, char buf[WHEN_TEXT_MAX])
{
        assert(ms >= 0 && ms <= CALENDAR_MS_MAX);
        struct calendar_date date = calendar_date(ms / CALENDAR_DAY_MS);
        int64_t second = ms % CALENDAR_DAY_MS / 1000;
        int length =
                snprintf(buf, WHEN_TEXT_MAX, "%04d-%02u-%02uT%02" PRId64 ":%02" PRId64,
                         (int)date.year, date.month, date.day, second / 3600, second / 60 % 60);

        if (second % 60)
                snprintf(buf + length, WHEN_TEXT_MAX - (size_t)length, ":%02" PRId64 "Z",
                         second % 60);
        else
                snprintf(buf + length, WHEN_TEXT_MAX - (size_t)length, "Z");
        return buf;
}

int when_read(const struct doc_node *node, int64_t *ret_ms, struct err *err)
{
        const char *text = NULL;
        int rc = doc_text(node, 1, WHEN_TEXT_MAX - 1, &text, err);

        if (rc < 0 || !text)
                return rc;
        if ((rc = when_parse(text, ret_ms, err)) < 0)
                doc_blame(node, err);
        return rc;
}
