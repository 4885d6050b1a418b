/* Work whose devices nobody uses: what is done about it when, and who rises when it is used. */
#include <inttypes.h>
#include <stdio.h>

#include "tests/property/policy_book.h"

static bool demotes(const struct book *book, const struct book_work *work)
{
        return book_class(book, work)->idle_then == IDLE_THEN_DEMOTE;
}

bool law_use(struct book *book, const struct use_report *use)
{
        struct book_work *work = book_work(book, use->workload);
        int64_t since = use->idle_since_ms;

        book->checked[PROMISE_IDLE]++;
        if (!work || work->status != WORK_RUNS ||
            (since != 0 && (since < work->since_ms || since > book->now_ms)))
                return BOOK_FAIL(book, "workload %" PRIu64 " is idle when it did not run",
                                 use->workload);
        if (since == 0 || since > work->idle_since_ms)
                work->idle_done = IDLE_THEN_NOTHING;
        work->idle_since_ms = since;
        return true;
}

/* Idle for as long as its class says. */
static bool is_due(const struct book *book, const struct book_work *work)
{
        const struct service_class *class = book_class(book, work);

        return work->idle_since_ms != 0 && class->idle_then != IDLE_THEN_NOTHING &&
               book->now_ms - work->idle_since_ms >= class->idle_after_ms &&
               !(class->idle_then == IDLE_THEN_STOP && work->request.service);
}

/* Done for it: not too early, not twice, and what its class says. */
bool law_idle(struct book *book, struct book_work *work, enum idle_then then)
{
        book->checked[PROMISE_IDLE]++;
        if (!work || work->status != WORK_RUNS)
                return BOOK_FAIL(book, "work is told that it is idle, and does not run");
        uint64_t id = work->request.workload;
        if (book_class(book, work)->idle_then != then || !is_due(book, work) ||
            book->ticked_ms != book->now_ms)
                return BOOK_FAIL(book, "workload %" PRIu64 " is idle for %" PRId64 " ms, and its "
                                       "class does not do '%s' then",
                                 id,
                                 work->idle_since_ms ? book->now_ms - work->idle_since_ms : 0,
                                 idle_then_names[then]);
        if (work->idle_done == then)
                return BOOK_FAIL(book, "workload %" PRIu64 " is told twice that it is idle", id);
        if (work->notice_until_ms || book_lies_frozen(book, work))
                return BOOK_FAIL(book, "workload %" PRIu64 " is told to stop or frozen, and told "
                                       "that it is idle",
                                 id);
        work->idle_done = (uint8_t)then;
        book->idle[then]++;
        return true;
}

/* Whether it may be told that it may stay: it is used again, or its class is content. */
bool law_idle_stays(const struct book *book, const struct book_work *work)
{
        return book_class(book, work)->idle_then != IDLE_THEN_STOP || !is_due(book, work);
}

/* It falls by idleness only; it rises out of that only when it is used again. */
bool law_standing(struct book *book, struct book_work *work, enum standing standing)
{
        uint64_t id = work->request.workload;
        bool rises = standing < (enum standing)work->standing;

        if (work->status != WORK_RUNS || standing == (enum standing)work->standing)
                return BOOK_FAIL(book, "workload %" PRIu64 " gets a standing that it has", id);
        if (!rises && standing != STANDING_SPARE)
                return BOOK_FAIL(book, "workload %" PRIu64 " falls to %s", id,
                                 standing_name(standing));
        if (!rises && !law_idle(book, work, IDLE_THEN_DEMOTE))
                return false;
        if (rises && work->standing == STANDING_SPARE &&
            (!work->demoted || work->idle_done == IDLE_THEN_DEMOTE))
                return BOOK_FAIL(book, "workload %" PRIu64 " is spare, and rises while it is "
                                       "idle, or was never made so",
                                 id);
        if (rises && work->plan)
                return BOOK_FAIL(book, "workload %" PRIu64 " is told to stop, and rises", id);
        bool was_spare = work->standing == STANDING_SPARE;
        work->standing = (uint8_t)standing;
        work->demoted = !rises;
        book->rises += was_spare;
        return !rises || law_raised(book, work, was_spare);
}

/* Standings come out anew with a policy, but not of what is idle for one that still says so. */
bool law_idle_policy(struct book *book, struct book_work *work)
{
        if (!work->demoted)
                return true;
        book->checked[PROMISE_IDLE]++;
        if (!demotes(book, work)) {
                work->demoted = false;
                work->idle_done = IDLE_THEN_NOTHING;
        }
        return !work->demoted || work->standing == STANDING_SPARE ||
               BOOK_FAIL(book, "workload %" PRIu64 " is idle, and rises by a policy",
                         work->request.workload);
}

/* After a tick: nobody was overlooked. Who may stay after all is looked at at the next one. */
bool law_all_idle(struct book *book)
{
        for (uint64_t w = 1; book->tenancy && w <= book->last_id; w++) {
                struct book_work *work = &book->works[w];
                if (work->status != WORK_RUNS || work->notice_until_ms ||
                    book_lies_frozen(book, work) || work->since_ms == book->now_ms ||
                    work->stays_ms == book->now_ms)
                        continue;
                book->checked[PROMISE_IDLE]++;
                if (is_due(book, work) && work->idle_done != book_class(book, work)->idle_then &&
                    !(demotes(book, work) && work->standing == STANDING_SPARE))
                        return BOOK_FAIL(book, "workload %" PRIu64 " is idle for %" PRId64 " ms, "
                                               "and nothing is done",
                                         w, book->now_ms - work->idle_since_ms);
        }
        return true;
}
