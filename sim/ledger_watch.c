#include "sim/ledger_watch.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "engine/calendar.h"
#include "engine/state.h"
#include "sim/ledger_book.h"
#include "sim/ledger_facts.h"

static struct text *facts_of(const struct ledger_watch *watch)
{
        return watch->book && watch->book->wants_facts && !watch->over ? &watch->book->facts : NULL;
}

static int no_memory(struct err *err)
{
        return err_set(err, ERR_NOMEM, "out of memory");
}

int ledger_watch_start(struct ledger_watch *watch, const struct state *state,
                       const struct job_window *window, struct ledger_book *book, struct err *err)
{
        struct ledger_bounds bounds = {0};

        *watch = (struct ledger_watch){.book = book, .window = *window};
        if (watch->window.from_ms < 0)
                watch->window.from_ms = 0;
        if (watch->window.until_ms < watch->window.from_ms)
                watch->window.until_ms = watch->window.from_ms;
        watch->from_ms = watch->window.from_ms;
        if ((watch->window.until_ms - watch->from_ms) / CALENDAR_DAY_MS >= LEDGER_DAYS_MAX)
                return err_set(err, ERR_RANGE,
                               "the window of the history is longer than %d days; "
                               "write workload.from and workload.until",
                               LEDGER_DAYS_MAX);
        watch->ledger = ledger_new(state, &bounds, watch->from_ms);
        if (!watch->ledger)
                return no_memory(err);
        if (book) {
                struct ledger_run *run = &book->runs[book->runs_count - 1];
                run->from_ms = watch->window.from_ms;
                run->until_ms = watch->window.until_ms;
        }
        if (facts_of(watch))
                ledger_facts_start(facts_of(watch), &book->runs[book->runs_count - 1], state);
        return 0;
}

void ledger_watch_done(struct ledger_watch *watch)
{
        if (!watch)
                return;
        ledger_free(watch->ledger);
        watch->ledger = NULL;
}

static int close_day(struct ledger_watch *watch, const struct state *state, int64_t at_ms,
                     struct err *err)
{
        ledger_close(watch->ledger, state, at_ms);
        for (unsigned m = 0; m < MODELS_MAX; m++) {
                struct ledger_sums sums = ledger_sums(watch->ledger, m);
                for (unsigned b = 0; b < BUCKETS_END; b++)
                        watch->totals[b] += sums.buckets[b];
        }
        if (watch->book && !ledger_book_day(watch->book, watch->ledger, watch->from_ms, at_ms))
                return no_memory(err);
        ledger_next(watch->ledger);
        watch->from_ms = at_ms;
        return 0;
}

int ledger_watch_until(struct ledger_watch *watch, const struct state *state, int64_t now_ms,
                       struct err *err)
{
        while (!watch->over) {
                int64_t end_ms =
                        watch->from_ms - watch->from_ms % CALENDAR_DAY_MS + CALENDAR_DAY_MS;
                if (end_ms > watch->window.until_ms)
                        end_ms = watch->window.until_ms;
                if (now_ms < end_ms)
                        return 0;
                int rc = end_ms > watch->from_ms ? close_day(watch, state, end_ms, err) : 0;
                if (rc)
                        return rc;
                watch->over = end_ms == watch->window.until_ms;
        }
        return 0;
}

void ledger_watch_see(struct ledger_watch *watch, const struct state *state,
                      const struct fact *fact, int64_t now_ms)
{
        if (watch->over)
                return;
        ledger_see(watch->ledger, state, fact, now_ms);
        if (facts_of(watch))
                ledger_facts_add(facts_of(watch), state, fact, now_ms);
}

void ledger_watch_overhead(struct ledger_watch *watch, const struct state *state, uint64_t workload,
                           int64_t now_ms, int64_t until_ms)
{
        if (watch->over)
                return;
        ledger_overhead(watch->ledger, state, workload, until_ms);
        if (facts_of(watch))
                ledger_facts_overhead(facts_of(watch), workload, now_ms, until_ms);
}

int ledger_watch_end(struct ledger_watch *watch, const struct state *state,
                     struct history_figures *ret_figures, struct err *err)
{
        int rc = ledger_watch_until(watch, state, watch->window.until_ms, err);

        if (rc == 0 && watch->book && !ledger_book_end(watch->book, watch->ledger))
                rc = no_memory(err);
        if (rc == 0 && watch->book && watch->book->facts.failed)
                rc = no_memory(err);
        if (rc)
                return rc;
        _Static_assert(BUCKETS_END <= HISTORY_LEDGER_MAX, "room for all buckets");
        ret_figures->has_ledger = true;
        ret_figures->ledger_count = BUCKETS_END;
        for (unsigned b = 0; b < BUCKETS_END; b++) {
                bool ok = str_copy(ret_figures->ledger[b].name, HISTORY_BUCKET_MAX,
                                   ledger_bucket_name((enum ledger_bucket)b));
                assert(ok);
                (void)ok;
                ret_figures->ledger[b].unit_ms = watch->totals[b];
        }
        return 0;
}
