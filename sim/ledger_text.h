/* ledger_text.h - words, days and sums for whoever writes a ledger out. Pure. */
#pragma once

#include <stdint.h>

#include "engine/ledger.h"

const char *ledger_method_name(unsigned method);        /* "-" where nothing runs yet */
const char *ledger_standing_name(unsigned standing);    /* "-": the same */

unit_ms ledger_row_held(const struct ledger_row *row);
unit_ms ledger_row_lost(const struct ledger_row *row);
unit_ms ledger_row_refund(const struct ledger_row *row);

/* "2017-10-09" and "2017-10-09T00:00:00Z". Return `buf`. */
#define LEDGER_TIME_MAX 32
const char *ledger_day_text(int64_t at_ms, char buf[LEDGER_TIME_MAX]);
const char *ledger_time_text(int64_t at_ms, char buf[LEDGER_TIME_MAX]);

/* The calendar month that holds the time; its end is outside. */
void ledger_month(int64_t at_ms, int64_t *ret_from_ms, int64_t *ret_until_ms);
