#include "controller/past.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/explained.h"
#include "controller/past_queue.h"
#include "engine/explain.h"
#include "engine/memo.h"
#include "engine/state.h"
#include "proto/explain_text.h"
#include "proto/policy_doc.h"
#include "proto/when.h"
#include "sim/log_pool.h"
#include "store/log.h"
#include "store/objects.h"
#include "store/snapshot.h"

#define PIECE_RECORDS 20000u            /* read at once: the WAL cannot be reused meanwhile */

/* ---- where the time lies in the log ---- */

struct span {
        struct store *view;
        uint64_t base_seq, head_seq;
        struct snapshot snapshots[SNAPSHOT_KEPT_MAX];       /* newest first */
        size_t snapshots_count;
};

static int find_span(struct store *view, struct span *ret, struct err *err)
{
        struct log_head base, head;
        int rc = log_head(view, &head, err);

        if (rc == 0)
                rc = log_base(view, &base, err);
        if (rc == 0)
                rc = snapshot_list(view, ret->snapshots, SNAPSHOT_KEPT_MAX, &ret->snapshots_count,
                                   err);
        if (rc)
                return rc;
        ret->view = view;
        ret->base_seq = base.seq;
        ret->head_seq = head.seq;
        return 0;
}

static int time_of(struct store *view, uint64_t seq, int64_t *ret_ms, struct err *err)
{
        struct log_cursor *cursor;
        struct record record;
        int rc = log_read(view, seq, &cursor, err);

        if (rc)
                return rc;
        rc = log_next(cursor, &record, err);
        if (rc > 0)
                *ret_ms = record.at_ms;
        log_cursor_free(cursor);
        return rc > 0    ? 0
               : rc == 0 ? err_set(err, ERR_INPUT, "record %" PRIu64 " of the log is missing", seq)
                         : rc;
}

/* Before all that is kept. Rounded up to the second: that time can be asked for as it is told. */
static int fail_too_old(const struct span *span, struct err *err)
{
        char when[WHEN_TEXT_MAX];
        int64_t oldest_ms = 0;
        size_t oldest = span->snapshots_count;
        int rc = 0;

        while (oldest > 0 && span->snapshots[oldest - 1].seq < span->base_seq)
                oldest--;

        if (span->base_seq == 0 && span->head_seq > 0)
                rc = time_of(span->view, 1, &oldest_ms, err);
        else if (oldest > 0)
                oldest_ms = span->snapshots[oldest - 1].at_ms;
        else
                return err_set(err, ERR_NOT_FOUND,
                               "nothing is kept of the time before now: the log %s",
                               span->base_seq ? "was pruned, and there is no snapshot"
                                              : "is empty");
        if (rc)
                return rc;
        return err_set(err, ERR_NOT_FOUND,
                       "the log %s: the oldest time that can be asked for is %s",
                       span->base_seq ? "is pruned before that" : "began later",
                       when_text((oldest_ms + 999) / 1000 * 1000, when));
}

/* ---- the pool of then ---- */

/* At each record: cheap. */
static int may_go_on(const struct past_limits *limits, uint64_t seq, struct err *err)
{
        if (limits->stops && seq % 64 == 0 && limits->stops(limits->stops_arg))
                return err_set(err, ERR_CANCELLED, "the answer was given up");
        return 0;
}

static int follow_piece(const struct past_limits *limits, struct store *view, uint64_t to_seq,
                        struct log_pool *pool, struct err *err)
{
        struct log_cursor *cursor;
        struct record record;
        int rc = log_read(view, pool->seq + 1, &cursor, err);

        if (rc)
                return rc;
        for (unsigned n = 0; rc == 0 && n < PIECE_RECORDS && pool->seq < to_seq; n++) {
                rc = may_go_on(limits, pool->seq, err);
                if (rc == 0)
                        rc = log_next(cursor, &record, err);
                if (rc == 0)
                        rc = err_set(err, ERR_INPUT, "the log ends at record %" PRIu64, pool->seq);
                if (rc > 0)
                        rc = log_pool_follow(pool, &record, err);
        }
        log_cursor_free(cursor);
        return rc;
}

/* Of a state right at the base nothing tells when it began, but its snapshot. */
static bool is_too_young(const struct span *span, const struct snapshot *about, uint64_t seq,
                         int64_t at_ms)
{
        return about->seq > seq || (seq == span->base_seq && about->at_ms > at_ms);
}

static int restore(const struct span *span, uint64_t seq, int64_t at_ms,
                   const struct past_limits *limits, struct log_pool *pool, struct err *err)
{
        size_t first = 0;
        int rc;

        while (first < span->snapshots_count &&
               is_too_young(span, &span->snapshots[first], seq, at_ms))
                first++;
        rc = log_pool_restore_first(pool, span->view, span->snapshots + first,
                                    span->snapshots_count - first, err);
        if (rc < 0)
                return rc;
        if (rc == 0 && span->base_seq > 0)
                return fail_too_old(span, err);
        if (seq - pool->seq > limits->records_max)
                return err_set(err, ERR_RANGE,
                               "%" PRIu64 " records lie between that time and the %s before it, "
                               "and at most %" PRIu64 " are gone through here: ask for a time "
                               "sooner behind one",
                               seq - pool->seq, rc ? "snapshot" : "log's begin",
                               limits->records_max);
        return 0;
}

/* What was read was removed meanwhile: then that is what is told. */
static int was_pruned(const struct span *before, int rc, struct err *err)
{
        struct span *now = mem_new(1, sizeof *now);

        if (now && find_span(before->view, now, NULL) == 0 && now->base_seq > before->base_seq)
                rc = fail_too_old(now, err);
        mem_free(now);
        return rc;
}

int past_pool(struct store *view, int64_t at_ms, const struct past_limits *limits,
              struct log_pool *ret_pool, struct err *err)
{
        struct span *span = mem_new(1, sizeof *span);
        struct log_pool pool = {0};
        uint64_t seq = 0;
        int rc = span ? find_span(view, span, err) : err_set(err, ERR_NOMEM, "out of memory");

        if (rc == 0)
                rc = log_find_older(view, span->base_seq, span->head_seq, at_ms + 1, &seq, err);
        if (rc == 0 && seq == 0)
                rc = fail_too_old(span, err);
        if (rc == 0)
                rc = may_go_on(limits, 0, err);
        if (rc == 0)
                rc = log_pool_new(NULL, &pool, err);
        if (rc == 0)
                rc = restore(span, seq, at_ms, limits, &pool, err);
        while (rc == 0 && pool.seq < seq)
                rc = follow_piece(limits, view, seq, &pool, err);
        if (rc && rc != -ERR_CANCELLED && span && span->view)
                rc = was_pruned(span, rc, err);
        mem_free(span);
        if (rc)
                log_pool_done(&pool);
        else
                *ret_pool = pool;
        return rc;
}

/* ---- names of work ---- */

/* Kept until the answer is made: several may be in use at once. */
struct name {
        struct name *next;
        uint64_t id;
        struct object_copy *copy;       /* NULL: its row is gone */
};

struct names {
        struct store *view;
        struct name *first;
};

static const char *name_of(void *arg, uint64_t id)
{
        struct names *names = arg;
        struct name *name = names->first;

        while (name && name->id != id)
                name = name->next;
        if (!name) {
                name = mem_new(1, sizeof *name);
                if (!name)
                        return NULL;
                name->id = id;
                name->next = names->first;
                names->first = name;
                if (objects_get(names->view, OBJECT_WORKLOAD, id, &name->copy, NULL) < 0)
                        name->copy = NULL;
        }
        return name->copy ? name->copy->object.name : NULL;
}

static void names_done(struct names *names)
{
        for (struct name *name = names->first, *next; name; name = next) {
                next = name->next;
                mem_free(name->copy);
                mem_free(name);
        }
}

/* ---- what is answered ---- */

static int fail_no_work(const struct past_question *question, struct err *err)
{
        char when[WHEN_TEXT_MAX], then[WHEN_TEXT_MAX];
        uint64_t id = question->workload;

        when_text(question->at_ms / 1000 * 1000, when);
        if (question->submitted_ms > question->at_ms)
                return err_set(err, ERR_NOT_FOUND,
                               "workload %" PRIu64 " had not been submitted at %s: it came at %s",
                               id, when, when_text(question->submitted_ms / 1000 * 1000, then));
        if (question->ended_ms > 0 && question->ended_ms <= question->at_ms)
                return err_set(err, ERR_NOT_FOUND,
                               "workload %" PRIu64 " had ended at %s, since %s: 'berth status "
                               "%" PRIu64 "' says how",
                               id, when, when_text(question->ended_ms / 1000 * 1000, then), id);
        return err_set(err, ERR_NOT_FOUND, "the pool had no workload %" PRIu64 " at %s", id, when);
}

/* Redacts as the tenant of the work sees it, by the policy of then. */
static int take_away(const struct past_question *question, const struct log_pool *pool,
                     struct explanation *record, struct err *err)
{
        const struct tenancy *tenancy = pool->policy ? pool->policy->tenancy : NULL;
        int tenant = tenancy ? tenancy_find(tenancy, question->tenant) : 0;

        if (tenant < 0 && !question->is_operator)
                return err_set(err, ERR_NOT_FOUND, "the policy of then has no tenant '%s'",
                               question->tenant);
        const struct viewer viewer = {.is_operator = question->is_operator,
                                      .tenant = tenant < 0 ? 0 : (uint16_t)tenant};
        return explain_view(record, pool->state, viewer, err);
}

/* What is large, together. */
struct answer {
        struct explanation record;
        struct explained_idle idle;
};

static int explain_pool(const struct past_question *question, const struct log_pool *pool,
                        struct memo *memo, struct answer *answer, struct err *err)
{
        int rc;

        if (question->workload == 0) {
                rc = explain_idle(memo, pool->state, question->at_ms, &answer->idle, err);
                answer->idle.snapshot = pool->seq;
                return rc;
        }
        if (state_workload(pool->state, question->workload) == NONE)
                return fail_no_work(question, err);
        rc = explain(memo, pool->state, question->workload, question->at_ms, &answer->record, err);
        if (rc == 0)
                rc = take_away(question, pool, &answer->record, err);
        answer->record.snapshot = pool->seq;
        return rc;
}

static int write_answer(struct store *view, const struct past_question *question,
                        const struct log_pool *pool, char **ret_bytes, size_t *ret_size,
                        struct err *err)
{
        const struct policy placement = {.kind = POLICY_AUTO};  /* as the live pool's */
        struct memo *memo = memo_new(placement, MEMO_INDEXED);
        struct answer *answer = mem_new(1, sizeof *answer);
        struct names work = {.view = view};
        const struct explain_names names = {.state = pool->state,
                                            .clock = true,
                                            .workload = name_of,
                                            .arg = &work};
        int rc = memo && answer ? explain_pool(question, pool, memo, answer, err)
                                : err_set(err, ERR_NOMEM, "out of memory");

        if (rc == 0) {
                const struct explained it = {
                        .record = question->workload ? &answer->record : NULL,
                        .idle = question->workload ? NULL : &answer->idle};
                rc = explained_write(&it, &names, question->as_text, ret_bytes, ret_size, err);
        }
        names_done(&work);
        memo_free(memo);
        mem_free(answer);
        return rc;
}

static int write_queue(struct store *view, const struct past_question *question,
                       const struct log_pool *pool, char **ret_bytes, size_t *ret_size,
                       struct err *err)
{
        json_t *json = past_queue(view, pool, question->tenant, question->is_operator,
                                  question->queue, question->at_ms);
        char *bytes = json ? json_dumps(json, JSON_COMPACT) : NULL;

        json_decref(json);
        if (!bytes)
                return err_set(err, ERR_NOMEM, "out of memory");
        *ret_bytes = bytes;
        *ret_size = strlen(bytes);
        return 0;
}

int past_answer(struct store *view, const struct past_question *question,
                const struct past_limits *limits, char **ret_bytes, size_t *ret_size,
                struct err *err)
{
        struct log_pool pool;
        int rc;

        if (question->workload && question->submitted_ms > question->at_ms)
                return fail_no_work(question, err);     /* no need to look */
        rc = past_pool(view, question->at_ms, limits, &pool, err);
        if (rc)
                return rc;
        rc = question->queue ? write_queue(view, question, &pool, ret_bytes, ret_size, err)
                             : write_answer(view, question, &pool, ret_bytes, ret_size, err);
        log_pool_done(&pool);
        return rc;
}
