/* writer.h - the one thread that writes: group commit, and an answer only after it.
 *
 * Not pure. writer_push, writer_retry, writer_chore, writer_holds_key and writer_stats may be
 * called from any thread, and from the callbacks; those come from the writer's thread (or from
 * writer_step and writer_free). The store is the writer's until writer_free().
 *
 * Everything that waits is one transaction and one sync. When a commit fails, it is rolled back,
 * the state becomes FAILED, every batch that waits is handed back as failed, and pushes are refused
 * (-ERR_IO, with the sentence) until writer_retry() has brought it back. A failed batch may still
 * turn out to be in the log after a crash; after a crash and after a retry alike, the log's head
 * says what is in. Reads go on meanwhile, over views. A batch that the file refuses (a sum of usage
 * out of range) fails the same way.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/log.h"

struct batch;
struct store;
struct writer;

enum writer_state {
        WRITER_WORKING,
        WRITER_FAILED,
        WRITER_STATES_END
};

#define WRITER_EVENTS(X)                                                                   \
        X(COMMITTED,        "committed")        /* the batches are durable */              \
        X(FAILED,           "failed")           /* they are not; the state is FAILED */    \
        X(RECOVERED,        "recovered")        /* a retry went well; head is the log's */ \
        X(STILL_FAILED,     "still_failed")     /* it did not */                           \
        X(CHECKPOINT_FAILED, "checkpoint_failed") /* a warning: the WAL grows */

enum writer_event_kind {
#define X(name, word) WRITER_EVENT_##name,
        WRITER_EVENTS(X)
#undef X
        WRITER_EVENTS_END
};

struct writer_event {
        enum writer_event_kind kind;
        struct log_head head;           /* the log's; zero when it cannot be read, and with */
                                        /* STILL_FAILED and CHECKPOINT_FAILED */
        const struct batch *batches;    /* in order (batch_next); freed after the call */
        const struct err *err;          /* NULL with COMMITTED and RECOVERED */
};

typedef void writer_callback(void *self, const struct writer_event *event);

struct writer_options {
        writer_callback *callback;
        void *self;
        uint32_t batches_max;           /* waiting; 0: 16384 */
        size_t bytes_max;               /* waiting; 0: 256 MiB */
        uint32_t group_records_max;     /* of one transaction, if it holds more than one batch; */
                                        /* 0: 4096 */
        uint32_t checkpoint_pages;      /* WAL pages that start a checkpoint; 0: 4000 */
        bool is_stepped;                /* no thread: the caller calls writer_step() */
};

/* Commits that took up to 0.25, 0.5, 1, 2, 4 ... 512 ms, and longer. */
#define WRITER_LATENCY_BUCKETS 13
extern const int64_t writer_latency_us[WRITER_LATENCY_BUCKETS - 1];

struct writer_stats {
        enum writer_state state;
        struct err failure;             /* why FAILED */
        uint32_t waiting_batches;
        size_t waiting_bytes;
        int64_t busy_ms;                /* how long the present commit runs; 0: none does */
        uint64_t durable_seq;
        uint64_t commits, batches, records, failures, checkpoints, checkpoints_failed;
        uint64_t syncs;                 /* of the store, since it was opened */
        uint64_t latency[WRITER_LATENCY_BUCKETS];
        uint64_t latency_us_sum;
};

/* 0, -ERR_IO (the log cannot be read), -ERR_NOMEM. */
int writer_new(struct store *store, const struct writer_options *options,
               struct writer **ret_writer, struct err *err);
/* Commits what waits (a FAILED one has nothing), ends chores with -ERR_CANCELLED and the thread.
 * NULL is fine. */
void writer_free(struct writer *writer);

/* Takes the batch (one record at least) and says the seq of its last record.
 * 0, or, and then the batch is still the caller's: -ERR_FULL (a bound of the queue), -ERR_EXISTS
 * (its idempotency key waits in the queue), -ERR_IO (FAILED), -ERR_CANCELLED (being freed),
 * -ERR_NOMEM. */
int writer_push(struct writer *writer, struct batch *batch, uint64_t *ret_last_seq,
                struct err *err);

/* Whether a batch with this key waits or is being committed. */
bool writer_holds_key(struct writer *writer, const char *actor, const char *key);

/* Asks for a try with a small durable write; RECOVERED or STILL_FAILED tells how it went. Then the
 * caller rebuilds its state from the log and pushes again. Nothing when WORKING. */
void writer_retry(struct writer *writer);

/* Work on the store between commits, in short steps: `step` returns 1 while there is more. It
 * begins when all that was pushed before it is durable, so a snapshot of a state may be given as
 * soon as the state's batches are pushed. `done` is called once at the end: with 0, with the error,
 * or with -ERR_CANCELLED, also when a commit has failed. A chore that fails does not stop the
 * writer. Up to WRITER_CHORES_MAX wait; then -ERR_FULL; -ERR_IO (FAILED), -ERR_CANCELLED (being
 * freed). */
#define WRITER_CHORES_MAX 8
struct writer_chore {
        void *self;
        int (*step)(void *self, struct store *store, struct err *err);
        void (*done)(void *self, int rc, const struct err *err);        /* may be NULL */
};
int writer_chore(struct writer *writer, const struct writer_chore *chore, struct err *err);

/* One round of the loop, for a writer without a thread: a group, a step of a chore, a checkpoint if
 * it is time. False: there was nothing to do. */
bool writer_step(struct writer *writer);

void writer_stats(struct writer *writer, struct writer_stats *ret_stats);
