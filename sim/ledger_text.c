#include "sim/ledger_text.h"

#include <stdio.h>

#include "engine/calendar.h"
#include "engine/need.h"

const char *ledger_method_name(unsigned method)
{
        static const char *const names[METHODS_END] = {"whole", "slice", "share"};

        return method < METHODS_END ? names[method] : "-";
}

const char *ledger_standing_name(unsigned standing)
{
        return standing < STANDINGS_END ? standing_name((enum standing)standing) : "-";
}

unit_ms ledger_row_held(const struct ledger_row *row)
{
        unit_ms held = 0;

        for (unsigned b = 0; b < BUCKETS_END; b++)
                if (b != BUCKET_RESERVED)
                        held += row->buckets[b];
        return held;
}

unit_ms ledger_row_lost(const struct ledger_row *row)
{
        unit_ms lost = 0;

        for (unsigned l = 0; l < LOSSES_END; l++)
                lost += row->lost[l];
        return lost;
}

unit_ms ledger_row_refund(const struct ledger_row *row)
{
        unit_ms refund = 0;

        for (unsigned l = 0; l < LOSSES_END; l++)
                if (ledger_loss_refunded((enum ledger_loss)l))
                        refund += row->lost[l];
        return refund;
}

const char *ledger_day_text(int64_t at_ms, char buf[LEDGER_TIME_MAX])
{
        struct calendar_date date = calendar_date(at_ms / CALENDAR_DAY_MS);

        snprintf(buf, LEDGER_TIME_MAX, "%04d-%02d-%02d", (int)date.year, date.month, date.day);
        return buf;
}

const char *ledger_time_text(int64_t at_ms, char buf[LEDGER_TIME_MAX])
{
        struct calendar_date date = calendar_date(at_ms / CALENDAR_DAY_MS);
        int second = (int)(at_ms % CALENDAR_DAY_MS / 1000);

        snprintf(buf, LEDGER_TIME_MAX, "%04d-%02d-%02dT%02d:%02d:%02dZ", (int)date.year, date.month,
                 date.day, second / 3600, second / 60 % 60, second % 60);
        return buf;
}

void ledger_month(int64_t at_ms, int64_t *ret_from_ms, int64_t *ret_until_ms)
{
        calendar_period(PERIOD_MONTH, at_ms, ret_from_ms, ret_until_ms);
}
