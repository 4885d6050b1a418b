/* calendar.h - days, weeks, months and years of Coordinated Universal Time, in whole numbers.
 *
 * Pure. Times are milliseconds since 1970-01-01T00:00Z; the calendar is the Gregorian one, without
 * leap seconds and without time zones: a month of a budget begins at 00:00Z of its first day.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CALENDAR_MS_MAX 253402300799999 /* 9999-12-31T23:59:59.999Z; the least is 0 */
#define CALENDAR_DAY_MS 86400000

#define PERIODS(X)              \
        X(DAY,     "day")       \
        X(WEEK,    "week")      /* from Monday */ \
        X(MONTH,   "month")     \
        X(QUARTER, "quarter")   \
        X(YEAR,    "year")

enum period {
#define X(name, wire) PERIOD_##name,
        PERIODS(X)
#undef X
        PERIODS_END
};

const char *period_name(enum period period);

struct calendar_date {
        int32_t year;                   /* 1970 to 9999 */
        uint8_t month, day;             /* from 1 */
};

/* Days since 1970-01-01 of a date that exists, and back. */
int64_t calendar_day(struct calendar_date date);
struct calendar_date calendar_date(int64_t day);
uint8_t calendar_month_days(int32_t year, uint8_t month);

/* The period that holds the time (0 to CALENDAR_MS_MAX): its first millisecond, and the first one
 * behind it. */
void calendar_period(enum period period, int64_t now_ms, int64_t *ret_from_ms,
                     int64_t *ret_until_ms);

/* A stretch of time that may come again, at equal distances. */
struct calendar_window {
        int64_t from_ms, until_ms;      /* the first one; its end is outside */
        int64_t every_ms;               /* 0: only once; else at least its length */
        int64_t last_ms;                /* none begins at this time or later; 0 = for ever */
};

/* The one that is open at `now_ms`, or else the next one. False: none comes any more. */
bool calendar_window_next(const struct calendar_window *window, int64_t now_ms,
                          int64_t *ret_from_ms, int64_t *ret_until_ms);
