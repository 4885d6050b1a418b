#include "engine/calendar.h"

#include <assert.h>

static const char *const period_names[] = {
#define X(name, wire) wire,
        PERIODS(X)
#undef X
};
_Static_assert(sizeof period_names / sizeof period_names[0] == PERIODS_END, "a name per period");

const char *period_name(enum period period)
{
        return period_names[period];
}

/* A year here starts in March, so that the day that comes and goes is its last; 400 years are
 * always 146,097 days. */
int64_t calendar_day(struct calendar_date date)
{
        assert(date.month >= 1 && date.month <= 12);
        assert(date.day >= 1);
        int64_t year = date.year - (date.month <= 2);
        int64_t era = year / 400, of_era = year % 400;
        int64_t month = (date.month + 9) % 12;
        int64_t of_year = (153 * month + 2) / 5 + date.day - 1;

        return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

struct calendar_date calendar_date(int64_t day)
{
        assert(day >= 0);
        int64_t shifted = day + 719468, era = shifted / 146097, of_era = shifted % 146097;
        int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
        int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
        int64_t month = (5 * of_year + 2) / 153;
        struct calendar_date date = {
                .year = (int32_t)(era * 400 + year + (month >= 10)),
                .month = (uint8_t)(month < 10 ? month + 3 : month - 9),
                .day = (uint8_t)(of_year - (153 * month + 2) / 5 + 1),
        };

        return date;
}

uint8_t calendar_month_days(int32_t year, uint8_t month)
{
        static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

        assert(month >= 1 && month <= 12);
        return (uint8_t)(days[month - 1] + (month == 2 && leap));
}

static int64_t month_start_ms(int32_t year, unsigned month_from_0)
{
        struct calendar_date date = {year + (int32_t)(month_from_0 / 12),
                                     (uint8_t)(month_from_0 % 12 + 1), 1};

        return calendar_day(date) * CALENDAR_DAY_MS;
}

void calendar_period(enum period period, int64_t now_ms, int64_t *ret_from_ms,
                     int64_t *ret_until_ms)
{
        assert(now_ms >= 0);
        assert(now_ms <= CALENDAR_MS_MAX);
        int64_t day = now_ms / CALENDAR_DAY_MS;
        struct calendar_date date = calendar_date(day);
        unsigned month = date.month - 1u, months = 1;

        switch (period) {
        case PERIOD_DAY:
                *ret_from_ms = day * CALENDAR_DAY_MS;
                *ret_until_ms = *ret_from_ms + CALENDAR_DAY_MS;
                return;
        case PERIOD_WEEK:
                /* Day 0 was a Thursday; the week of it began before time did. */
                *ret_from_ms = (day - (day + 3) % 7) * CALENDAR_DAY_MS;
                *ret_until_ms = *ret_from_ms + 7 * (int64_t)CALENDAR_DAY_MS;
                return;
        case PERIOD_MONTH:
                break;
        case PERIOD_QUARTER:
                month -= month % 3;
                months = 3;
                break;
        case PERIOD_YEAR:
                month = 0;
                months = 12;
                break;
        case PERIODS_END:
                assert(0);
        }
        *ret_from_ms = month_start_ms(date.year, month);
        *ret_until_ms = month_start_ms(date.year, month + months);
}

bool calendar_window_next(const struct calendar_window *window, int64_t now_ms,
                          int64_t *ret_from_ms, int64_t *ret_until_ms)
{
        int64_t length = window->until_ms - window->from_ms;
        int64_t from = window->from_ms;

        assert(length > 0);
        if (now_ms >= window->until_ms) {
                if (window->every_ms == 0)
                        return false;
                assert(window->every_ms >= length);
                from += (now_ms - from) / window->every_ms * window->every_ms;
                if (now_ms >= from + length)
                        from += window->every_ms;
        }
        if (window->last_ms > 0 && from >= window->last_ms)
                return false;
        *ret_from_ms = from;
        *ret_until_ms = from + length;
        return true;
}
