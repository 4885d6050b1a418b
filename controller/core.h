/* core.h - the live pool: one engine, its log, and what is known of its work.
 *
 * Not pure: it writes to the store. One thread, which is not the writer's. The clock is the
 * caller's; time never goes back for the engine.
 *
 * An *act* is what one caller wants done: inputs, and documents that are kept. They are decided in
 * order, committed as one, and the caller is told when they are durable. Nothing may be shown to
 * anybody before: core_when_durable().
 *
 * When a commit fails, what was decided since the last good one is undone: the state is made anew
 * from the log (core_recover()), and every act that was not durable is told so. Until then acts are
 * refused, and core_state() is the last durable one once it is made anew.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "controller/numbers.h"
#include "controller/works.h"
#include "engine/fact.h"
#include "engine/policy.h"
#include "engine/state.h"
#include "store/objects.h"
#include "store/writer.h"

struct core;
struct core_watch;
struct key_entry;
struct memo;
struct model_table;
struct policy_doc;
struct review_row;
struct store;
struct tenancy;
struct usage_row;

struct core_setup {
        struct store *store;            /* the core's from here on, until core_free() */
        struct model_table *models;     /* borrowed; pool documents may add to it */
        struct state_bounds bounds;     /* of a new pool; else those of its snapshot */
        struct policy placement;
        writer_callback *event;         /* from the writer's thread, or (its event is NULL then) */
        void *arg;                      /* ... from core_commit(): have core_event() called soon */
        bool is_stepped;                /* no writer thread: core_step(), for simulations */
        struct numbers_wish numbers;    /* of this start */
        const struct core_watch *early; /* also sees what recovery brings back; NULL: none */
};

struct core_recovery {
        bool had_snapshot;
        uint64_t snapshot_seq, records, facts, workloads;
        unsigned snapshots_bad;         /* newer ones that were passed over */
        int64_t took_ms;
};

/* Brings the state back from the store. 0, -ERR_INPUT (a log that this version cannot read, or that
 * is damaged), -ERR_IO, -ERR_NOMEM. On failure the store is still the caller's. */
int core_open(const struct core_setup *setup, struct core **ret_core,
              struct core_recovery *ret_recovery, struct err *err);
void core_free(struct core *core);                      /* NULL is fine; commits what waits */

const struct state *core_state(const struct core *core);
struct memo *core_memo(struct core *core);              /* for explanations: decides nothing */
const struct model_table *core_models(const struct core *core);
const struct policy_doc *core_policy(const struct core *core);  /* NULL: no policy is in force */
const struct tenancy *core_tenancy(const struct core *core);    /* the same */
uint64_t core_policy_revision(const struct core *core);
struct works *core_works(const struct core *core);
struct store *core_view(const struct core *core);       /* for reading what is durable */
int64_t core_now_ms(const struct core *core);           /* of the newest act */

/* ---- acts ---- */

struct act;

/* Why acts are refused now: 0, -ERR_IO (the store has failed; the sentence says why), -ERR_FULL
 * (too much waits to be committed). */
int core_may_act(struct core *core, struct err *err);

/* `actor` and `reason` (may be "") are borrowed until the act ends. NULL: refused (core_may_act;
 * -ERR_INPUT: one of them can stand in no record), or out of memory. */
struct act *core_begin(struct core *core, const char *actor, const char *reason, int64_t now_ms,
                       struct err *err);

/* A document beside the next input of the act; borrowed for the call of core_input(). */
struct core_document {
        const char *text;               /* NULL: none */
        uint64_t revision;              /* POLICY_SET */
};

/* Decides one input to its end, and applies what was decided. 0, what engine_decide() returns for
 * an input that cannot be meant, or -ERR_QUARANTINED: then nothing of it is logged. */
int core_input(struct act *act, const struct input *input, const struct core_document *document,
               struct err *err);
/* Of what it returned: an input in quarantine is left out, and the rest of the act goes on. */
static inline int core_unless_held(int rc)
{
        return rc == -ERR_QUARANTINED ? 0 : rc;
}
/* What the act has decided so far, in order: good until the next core_input() of any act. */
const struct fact *core_facts(const struct act *act, uint32_t *ret_count);
bool core_facts_any(const struct act *act);

/* Behind the input that brought it into force; the core's from here on. */
void core_policy_set(struct core *core, struct policy_doc *policy, uint64_t revision);

/* A document, or what became of it, kept with the act. 0, -ERR_INPUT, -ERR_FULL, -ERR_NOMEM. */
int core_put(struct act *act, const struct object *object, struct err *err);
int core_set(struct act *act, const struct object_change *change, struct err *err);
/* The idempotency key of the request, with the answer it will get. Not while core_holds_key(): the
 * commit would fail. */
int core_key(struct act *act, const struct key_entry *entry, struct err *err);
/* Whether a request with this key is on its way to the disk. Ask before keys_find(): then what is
 * found neither here nor there is new. */
bool core_holds_key(struct core *core, const char *actor, const char *key);
/* A remark for the log: who wanted what that is no input. */
int core_note(struct act *act, const char *text, struct err *err);
/* The owner of running work wants it gone (or not, with WISH_NONE): noted in the log, so that it is
 * known after a crash. 0, -ERR_FULL, -ERR_NOMEM. */
int core_wish(struct act *act, struct work *work, enum work_wish wish, struct err *err);

/* Rows of usage that are kept with the act. On failure the act is not committed, and the core
 * recovers: what was added cannot be taken out. */
int core_usage(struct act *act, const struct usage_row *row, struct err *err);

/* The same of rows of the review. */
int core_review(struct act *act, const struct review_row *row, struct err *err);

/* Numbers for `count` new workloads: the first one. */
uint64_t core_take_ids(struct core *core, uint32_t count);
/* The number of the record that the act's next note gets, or its next input. */
uint64_t core_next_seq(const struct core *core);

/* ---- numbers: core_numbers.c ---- */

/* The log's, as far as it was decided; its name is 0 before the first input. */
const struct numbers *core_numbers(const struct core *core);
/* Whether work of that epoch, and of that number, is of this log. */
bool core_knows(const struct core *core, uint64_t epoch, uint64_t workload);
/* Whether that number was given before this start of the controller. */
bool core_is_older(const struct core *core, uint64_t workload);
/* Whether either is not below what is given next: somebody else has given it. */
bool core_is_beyond(const struct core *core, uint64_t epoch, uint64_t workload);
/* From now on all that is given is above both (within the bounds of numbers.h), also where what
 * stands in memory is lost: the note that says so comes with the next input. */
void core_pass(struct core *core, uint64_t epoch, uint64_t workload);

/* `done` is called when the act is durable (rc 0), or when it never will be (-ERR_IO): once, from
 * core_event(). Without anything to commit: when all that was decided before is durable. */
typedef void core_done(void *arg, int rc, const struct err *err);
void core_commit(struct act *act, core_done *done, void *arg);
/* Before anything was decided or kept. */
void core_abandon(struct act *act);
/* What the act has decided cannot stand, and cannot be taken back by inputs: its commit, which must
 * still follow, leaves no trace, and the state is made anew. */
void core_undo(struct act *act);

/* The same without an act: what was decided until now. Called at once where that is durable, and
 * with -ERR_IO where the state holds what never will be. */
void core_when_durable(struct core *core, core_done *done, void *arg);
/* For who was told so and may look again: `done` is called when the state is one that the log has,
 * at once where it is. -ERR_IO: it could not be made anew; -ERR_FULL: too many wait. */
void core_when_anew(struct core *core, core_done *done, void *arg);
bool core_is_durable(const struct core *core, uint64_t seq);
uint64_t core_last_seq(const struct core *core);

/* ---- what others watch ---- */

/* Every fact as it is decided, before it is applied; and how far the log is durable. */
struct core_watch {
        void *arg;
        void (*before)(void *arg, const struct state *state, const struct fact *fact, uint64_t seq,
                       int64_t at_ms);
        void (*note)(void *arg, const char *text, uint64_t seq);        /* of core_note() */
        void (*durable)(void *arg, uint64_t seq);       /* everything up to that record is */
        void (*renewed)(void *arg);     /* the state was made anew */
        /* Behind a FACT_REFUSED of work that was never taken, which is in no table: what it was. */
        void (*refused)(void *arg, const struct state *state, const struct request *request,
                        enum gate gate, int64_t at_ms);
        /* Of core_setup.early only. Recovery begins with this state (that of a snapshot, and its
         * time; 0: nothing has happened yet) and goes on with `before` for each fact; and it has
         * come to a note (core_note()). */
        void (*begins)(void *arg, const struct state *state, int64_t at_ms);
        void (*noted)(void *arg, const struct state *state, const void *body, size_t size,
                      int64_t at_ms);
};
#define CORE_WATCHES_MAX 8
void core_watch(struct core *core, const struct core_watch *watch);

/* Asked for every input before it is decided, as it will be logged: what is not 0 is its answer,
 * and nothing of it is decided or logged. `decided`: it was, within that act. */
struct core_guard {
        void *arg;
        int (*may)(void *arg, enum input_kind kind, const char *body, size_t size,
                   struct err *err);
        void (*decided)(void *arg, struct act *act, enum input_kind kind);
};
void core_guard_set(struct core *core, const struct core_guard *guard);

/* ---- the writer ---- */

/* After the caller's thread was woken: tells who waits, recovers after a failure. 0, or a
 * failure to make the state anew (then acts stay refused, and it is tried again at the next
 * one). */
int core_event(struct core *core, struct err *err);
bool core_step(struct core *core);      /* one step of a stepped writer; false: nothing to do */
void core_retry(struct core *core);     /* now and then while the store has failed */
/* Before core_free(), where there is time: commits what waits and leaves a snapshot, so that the
 * next start is quick. Nothing can be decided any more. 0, -ERR_IO, -ERR_NOMEM. */
int core_finish(struct core *core, struct err *err);
/* Begins a snapshot of the state as it is. -ERR_FULL: one is under way. */
int core_snapshot(struct core *core, struct err *err);
/* Begins to remove what is older (store/retain.h has the rules; 0: for ever), behind heads that are
 * signed with the key beside the store. -ERR_INPUT (another's key), -ERR_RANGE, -ERR_FULL, -ERR_IO,
 * -ERR_NOMEM. */
int core_retain(struct core *core, uint32_t record_days, uint32_t object_days,
                uint32_t usage_months, struct err *err);
void core_stats(struct core *core, struct writer_stats *ret_stats);

/* Decisions that took up to 1, 2, 4, 8 ... microseconds, and longer. */
#define CORE_LATENCY_BUCKETS 22
struct core_figures {
        uint64_t inputs[INPUTS_END];    /* decided, ever, by kind */
        uint64_t latency[CORE_LATENCY_BUCKETS];
        uint64_t latency_ns_sum;
};
const struct core_figures *core_figures(const struct core *core);
