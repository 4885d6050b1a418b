/* Nodes that are to be empty: who may start there, who is told when, and who may stay after all. */
#include <inttypes.h>
#include <stdio.h>

#include "tests/property/policy_book.h"

#define LEAD_MS  INT64_C(86400000)      /* services and unknown lengths: docs/policy.md */
#define EARLY_MS INT64_C(60000)         /* ... and how much sooner a notice may come */
#define LEAST_MS INT64_C(30000)         /* nothing is taken to be shorter */

/* The window of the node that is not over at the time, one after the other. INT64_MAX: none. */
static int64_t closes_ms(const struct book *book, uint32_t number, int64_t at_ms)
{
        const struct node_desc *desc = &book->nodes[number].desc;
        int64_t first = INT64_MAX;

        for (uint32_t w = 0; w < book->maintenance.count; w++) {
                const struct maintenance_window *window = &book->maintenance.windows[w];
                const struct calendar_window *when = &window->when;
                int64_t from = when->from_ms;
                if ((window->node && window->node != desc->name) ||
                    (window->plane && window->plane != desc->plane))
                        continue;
                while (when->every_ms && from + when->until_ms - when->from_ms <= at_ms)
                        from += when->every_ms;
                if (from + when->until_ms - when->from_ms <= at_ms ||
                    (when->last_ms && from >= when->last_ms))
                        continue;
                first = from < first ? from : first;
        }
        return first;
}

/* As of the newest tick: when the first of its nodes is to be empty. */
static int64_t leave_by_ms(const struct book *book, const struct book_work *work)
{
        int64_t first = INT64_MAX;

        for (unsigned m = 0; m < work->placed; m++) {
                const struct node_desc *desc = &book->nodes[work->places[m].node].desc;
                int64_t by = closes_ms(book, work->places[m].node, book->ticked_ms);
                if (desc->drained && desc->drain_by_ms && desc->drain_by_ms < by)
                        by = desc->drain_by_ms;
                first = by < first ? by : first;
        }
        return first;
}

static bool saves_when_told(const struct book *book, const struct book_work *work)
{
        int64_t within = work->request.checkpoint_within_ms;

        return within > 0 && within <= book_class(book, work)->notice_ms;
}

/* The least that it stays, as far as that is said and not learnt. */
static int64_t stays_ms(const struct book *book, const struct book_work *work)
{
        const struct request *request = &work->request;
        const struct service_class *class = book_class(book, work);
        int64_t stays = LEAST_MS;

        if (request->service)
                return LEAD_MS;
        if (request->time_limit_ms - work->attained_ms > LEAST_MS)
                stays = request->time_limit_ms - work->attained_ms;
        int64_t saved = saves_when_told(book, work) ? LEAST_MS : request->checkpoint_every_ms;
        if (class->stop != STOP_NEVER && saved > 0 && saved + class->notice_ms < stays)
                stays = saved + class->notice_ms;
        return stays;
}

bool law_leaves(struct book *book, const struct book_work *work)
{
        book->checked[PROMISE_EMPTY]++;
        for (unsigned m = 0; m < work->placed; m++) {
                int64_t closes = closes_ms(book, work->places[m].node, book->now_ms);
                if (closes == INT64_MAX || book->now_ms + stays_ms(book, work) <= closes)
                        continue;
                return BOOK_FAIL(book, "it starts on node %u and stays at least %" PRId64
                                       " s, and maintenance begins in %" PRId64 " s",
                                 work->places[m].node, stays_ms(book, work) / 1000,
                                 (closes - book->now_ms) / 1000);
        }
        return true;
}

bool law_told(struct book *book, const struct fact *fact)
{
        struct book_work *work = book_work(book, fact->noticed.workload);
        int64_t by_ms = fact->noticed.leave_by_ms, now = book->now_ms;

        if (!work || work->status != WORK_RUNS || work->notice_until_ms)
                return BOOK_FAIL(book, "workload %" PRIu64 " is told, and does not run or knows",
                                 fact->noticed.workload);
        if (fact->noticed.cause == NOTICE_IDLE && !law_idle(book, work, IDLE_THEN_STOP))
                return false;
        int64_t notice = book_class(book, work)->notice_ms, until = fact->noticed.until_ms;
        work->notice_until_ms = until;
        work->leave_by_ms = by_ms;
        work->told_idle = fact->noticed.cause == NOTICE_IDLE;
        if (work->told_idle && (until != now + notice || by_ms != 0))
                return BOOK_FAIL(book, "workload %" PRIu64 " is idle and has a notice of %" PRId64
                                       " ms",
                                 fact->noticed.workload, until - now);
        if (fact->noticed.cause == NOTICE_ASKED)
                return law_asked(book, work, &fact->noticed);
        if (fact->noticed.cause == NOTICE_TIME_LIMIT || work->told_idle)
                return true;
        const struct request *request = &work->request;
        bool saves = request->checkpoint_every_ms > 0 && !saves_when_told(book, work) &&
                     work->since_ms + work->saved_ms + request->checkpoint_every_ms > by_ms;
        book->checked[PROMISE_TOLD]++;
        if (by_ms != leave_by_ms(book, work) || book_lies_frozen(book, work))
                return BOOK_FAIL(book, "workload %" PRIu64 " is told to leave, and is frozen or "
                                       "has another time for it",
                                 request->workload);
        if (until < now + notice || (until != now + notice && until != by_ms))
                return BOOK_FAIL(book, "workload %" PRIu64 " has a notice of %" PRId64 " ms",
                                 request->workload, until - now);
        if (now < by_ms - notice - EARLY_MS && !saves)
                return BOOK_FAIL(book, "workload %" PRIu64 " is told too early",
                                 request->workload);
        return true;
}

bool law_stays(struct book *book, uint64_t id)
{
        struct book_work *work = book_work(book, id);

        book->checked[PROMISE_TOLD]++;
        if (!work || work->notice_until_ms <= book->now_ms ||
            (work->told_idle ? !law_idle_stays(book, work)
                             : work->leave_by_ms == 0 ||
                                       leave_by_ms(book, work) <= work->leave_by_ms))
                return BOOK_FAIL(book, "workload %" PRIu64 " may stay, and its node is to be empty "
                                       "as it was, or it is idle",
                                 id);
        if (work->told_idle)
                work->idle_done = IDLE_THEN_NOTHING;
        work->notice_until_ms = work->leave_by_ms = 0;
        work->told_idle = false;
        work->stays_ms = book->now_ms;
        return true;
}

/* After a tick: whoever must know, knows. */
bool law_all_told(struct book *book)
{
        for (uint64_t w = 1; book->tenancy && w <= book->last_id; w++) {
                const struct book_work *work = &book->works[w];
                /* Who started at this very tick is told at the next one. */
                if (work->status != WORK_RUNS || work->notice_until_ms ||
                    book_lies_frozen(book, work) || work->since_ms == book->now_ms)
                        continue;
                int64_t by_ms = leave_by_ms(book, work);
                book->checked[PROMISE_TOLD]++;
                if (by_ms != INT64_MAX &&
                    book->now_ms >= by_ms - book_class(book, work)->notice_ms)
                        return BOOK_FAIL(book, "workload %" PRIu64 " is not told to leave, and its "
                                               "node is to be empty in %" PRId64 " s",
                                         w, (by_ms - book->now_ms) / 1000);
        }
        return true;
}
