/* decide_impl.h - shared by decide.c (the door; inputs of one workload), decide_submit.c,
 * decide_end.c, decide_queue.c (the queue's turn), decide_pool.c (policy, prices, time) and
 * decide_node.c (nodes and their devices).
 * All return 0 or a negative code; facts are added to the memo's. */
#pragma once

#include "engine/decide.h"

struct fact *fact_add(struct memo *memo, enum fact_kind kind);  /* NULL: out of memory */
int no_memory(struct err *err);

/* The fact `refused`; `nearest` may be NULL. */
int refuse(struct memo *memo, uint64_t workload, enum gate gate, const struct request *nearest,
           struct err *err);
/* A layout step; node, device and epoch are filled in here. */
int plan_step(struct memo *memo, const struct state *state, uint32_t node, unsigned device,
              struct fact_layout step, struct err *err);

/* ---- decide_submit.c ---- */

int decide_submitted(struct memo *memo, const struct state *state, const struct request *asked,
                     bool *ret_more, struct err *err);

/* ---- decide_end.c ---- */

/* Destroys the instances of a workload and releases it. */
int release(struct memo *memo, const struct state *state, uint32_t slot, enum release_cause cause,
            int64_t now_ms, struct err *err);
/* It leaves its places and waits again, from its last checkpoint. */
int requeue(struct memo *memo, const struct state *state, uint32_t slot, enum release_cause cause,
            int64_t now_ms, struct err *err);
/* The same for work whose place is lost; without a policy it is released: it is for the caller to
 * submit it again. */
int lose_one(struct memo *memo, const struct state *state, uint32_t slot, int64_t now_ms,
             struct err *err);
/* Adds notices for running work whose time limit is over. */
int decide_overtime(struct memo *memo, const struct state *state, int64_t now_ms, struct err *err);
/* Running work that failed, that is asked to stop, that has stopped. */
int decide_failed(struct memo *memo, const struct state *state, uint32_t slot, int64_t now_ms,
                  struct err *err);
int decide_stop_asked(struct memo *memo, const struct state *state, uint32_t slot,
                      int64_t notice_ms, int64_t now_ms, struct err *err);
int decide_stopped(struct memo *memo, const struct state *state, uint32_t slot, int64_t now_ms,
                   struct err *err);

/* The fact that running work is told to stop. */
int notice(struct memo *memo, const struct fact_noticed *noticed, struct err *err);
/* Whether one of the first `facts` of this group tells it to stop. */
bool is_told(const struct memo *memo, uint32_t facts, uint64_t workload);

/* ---- decide_queue.c, decide_pool.c, decide_node.c ---- */

int decide_queue(struct memo *memo, const struct state *state, const struct input *input,
                 int64_t now_ms, unsigned step, bool *ret_more, struct err *err);
int decide_pool(struct memo *memo, const struct state *state, const struct input *input,
                int64_t now_ms, struct err *err);
/* NODE_..., DEVICES_FAILED, LAYOUT_OBSERVED. */
int decide_node(struct memo *memo, const struct state *state, const struct input *input,
                int64_t now_ms, struct err *err);
