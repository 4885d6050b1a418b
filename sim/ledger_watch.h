/* ledger_watch.h - keeps the ledger of one replay, closes its days, and writes its facts down.
 *
 * Counts inside the replay's window; what happens behind it is no longer looked at.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/ledger.h"
#include "sim/history_figures.h"
#include "sim/job_record.h"

struct err;
struct ledger_book;
struct state;

struct ledger_watch {
        struct ledger *ledger;
        struct ledger_book *book; /* may be NULL: nobody wants days or facts */
        struct job_window window;
        int64_t from_ms; /* of the day under way */
        unit_ms totals[BUCKETS_END];
        bool over;
};

/* With the state as it starts. `book` has its newest run made, where there is a book. 0, -ERR_RANGE
 * (a window above LEDGER_DAYS_MAX) or -ERR_NOMEM. */
int ledger_watch_start(struct ledger_watch *watch, const struct state *state,
                       const struct job_window *window, struct ledger_book *book, struct err *err);
void ledger_watch_done(struct ledger_watch *watch); /* a zeroed one is fine */

/* Before anything happens at `now_ms`: closes the days that are over. 0 or -ERR_NOMEM. */
int ledger_watch_until(struct ledger_watch *watch, const struct state *state, int64_t now_ms,
                       struct err *err);

/* Every fact before it is applied. */
void ledger_watch_see(struct ledger_watch *watch, const struct state *state,
                      const struct fact *fact, int64_t now_ms);
void ledger_watch_overhead(struct ledger_watch *watch, const struct state *state,
                           uint64_t workload, int64_t now_ms, int64_t until_ms);

/* The replay is over: closes the window and writes the totals. 0 or -ERR_NOMEM. */
int ledger_watch_end(struct ledger_watch *watch, const struct state *state,
                     struct history_figures *ret_figures, struct err *err);
