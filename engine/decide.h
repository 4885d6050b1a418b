/* decide.h - the only place that decides.
 *
 * Pure. An input leads to one or more groups of facts; each group is atomic: one
 * gang, one refusal, one layout change with its allocation. The caller's loop:
 *
 *     for (unsigned step = 0;; step++) {
 *             rc = engine_decide(state, memo, &input, now_ms, step, &group, &err);
 *             if (rc) break;
 *             log(group); for each fact: state_apply(state, fact, now_ms);
 *             if (!group.more) break;
 *     }
 *
 * Step 0 is what the input itself means; the steps after it are the queue's turn:
 * by priority, then arrival, and what does not fit lets others pass.
 */
#pragma once

#include <stdbool.h>

#include "engine/memo.h"
#include "engine/state.h"

struct group {
        const struct fact *facts;       /* owned by the memo, good until the next decide */
        uint32_t count;                 /* may be 0: nothing (more) follows */
        bool more;                      /* apply, then call again with step + 1 */
};

/* 0, or: -ERR_INPUT / -ERR_RANGE / -ERR_NOT_FOUND / -ERR_EXISTS / -ERR_FULL for an input that
 * cannot be meant (unknown workload, node described twice, time that goes back ...), -ERR_NOMEM. On
 * failure there are no facts; groups of earlier steps stand, and the next input goes on from there
 * (a request with `once` that was queued by then waits like any other: cancel it). A request that
 * can be understood but not served is no failure: it is a fact, `refused`. */
int engine_decide(const struct state *state, struct memo *memo, const struct input *input,
                  int64_t now_ms, unsigned step, struct group *ret_group, struct err *err);

/* The whole loop, for callers without a log: decides and applies until nothing follows. Every fact
 * is shown to `see` (NULL: nobody) before it is applied. */
typedef void fact_see(void *arg, const struct fact *fact);
int engine_run(struct state *state, struct memo *memo, const struct input *input, int64_t now_ms,
               fact_see *see, void *arg, struct err *err);
