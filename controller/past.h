/* past.h - explanations of the pool as it was, and its queue: from a snapshot, and the records behind it.
 *
 * Not pure: reads a store, through a view that is the caller's. Any thread, one owner per view. All
 * that is made (a pool with its own vocabulary, device models and policy) is gone when a call ends.
 * Memory is that of one more pool. Who may ask is decided before; what they see of others is taken
 * away here, by the policy of then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tenancy.h"
#include "store/store.h"

struct err;
struct log_pool;

#define PAST_RECORDS_MAX UINT64_C(2000000)      /* from a snapshot to the time asked for */

struct past_question {
        int64_t at_ms;
        uint64_t workload;              /* 0: why devices are idle, or the queue */
        uint32_t queue;                 /* what waits, at most so many rows; 0: not that */
        char tenant[TENANT_PATH_MAX];   /* the workload's, or whose of the queue ("": all) */
        int64_t submitted_ms, ended_ms; /* ... and when it came and went; 0: it has not ended */
        bool is_operator;               /* else its tenant sees it */
        bool as_text;
};

struct past_limits {
        uint64_t records_max;
        store_stops *stops;             /* true: it is given up. NULL: it never is */
        void *stops_arg;
};

/* The pool after the last record that is not younger than `at_ms`; ended by log_pool_done().
 * 0, -ERR_NOT_FOUND (before all that the log keeps: the sentence names the oldest time), -ERR_RANGE
 * (too many records lie between), -ERR_CANCELLED (`stops`), -ERR_INPUT (a log that this
 * version cannot read), -ERR_IO, -ERR_NOMEM. */
int past_pool(struct store *view, int64_t at_ms, const struct past_limits *limits,
              struct log_pool *ret_pool, struct err *err);

/* The answer, in words or as JSON, freed with free(). -ERR_NOT_FOUND too for work that the pool did
 * not have then; else as past_pool(). */
int past_answer(struct store *view, const struct past_question *question,
                const struct past_limits *limits, char **ret_bytes, size_t *ret_size,
                struct err *err);
