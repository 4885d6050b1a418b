/* worker_follow.h - the pool as the worker sees it: its log, and what is learnt on the way.
 *
 * Pure apart from the heap and the reading; one owner. The store is only read, in short pieces, so
 * that its WAL can be reused. It begins at a snapshot that is some way back, so that what earlier
 * workers told, and what came of it, is learnt again. Who falls far behind begins anew at the
 * newest snapshot: what lies between is not learnt from, and nothing else depends on it.
 */
#pragma once

#include "plan/eta.h"
#include "sim/learned.h"
#include "sim/log_pool.h"

struct err;
struct store;

#define FOLLOW_BACK   UINT64_C(200000)  /* records before the newest that it may begin at */
#define FOLLOW_BEHIND UINT64_C(400000)  /* records: more is too far behind */

struct worker_follow {
        struct store *store;            /* borrowed */
        struct eta_options eta_options;
        struct log_pool pool;
        struct eta *eta;                /* NULL: nothing has happened yet */
        struct learned learned;
        bool plan_due, changed;         /* since they were last set to false by their reader */
        bool failed;                    /* out of memory while a fact was looked at */
        uint64_t head_seq;              /* the log's newest record, when it was last looked at */
};

/* `follow` is zeroed but for store and eta_options. 0, -ERR_NOT_FOUND (pruned, and no good
 * snapshot), -ERR_INPUT (a log that this version cannot read), -ERR_IO, -ERR_NOMEM. */
int worker_follow_begin(struct worker_follow *follow, struct err *err);
void worker_follow_done(struct worker_follow *follow);  /* a zeroed one is fine */

/* Up to `records` more. 1: there are more; 0: it is at the end; or as worker_follow_begin(). */
int worker_follow_step(struct worker_follow *follow, unsigned records, struct err *err);
