/* runner.h - one engine, driven and measured: what the protocols share.
 *
 * Owns a state and a memo; times every submission (decide + apply, all steps) and
 * chains a hash over all facts. One owner at a time.
 */
#pragma once

#include "engine/decide.h"
#include "sim/demand.h"
#include "sim/learned.h"
#include "sim/pool.h"
#include "sim/replay.h"

/* What a placement is allowed to know of the demand, and when it learns more.
 *
 * `auto` counts what arrives and believes a given popularity like KNOWLEDGE_PRIOR arrivals, so that
 * a false one is outvoted soon; learned.h says when the plan is made anew. The published policies
 * take a given popularity as it is, and counts on the same schedule where none is given. */
#define KNOWLEDGE_PRIOR 100

struct runner {
        const struct replay_pool *pool;
        const struct replay_hooks *hooks;
        struct policy policy;
        struct state *state;
        struct memo *memo;

        const struct demand *given;             /* NULL: nothing is given */
        bool learns;
        struct learned learned;
        struct price_plan *plan;
        double plan_s;
        char plan_note[PLAN_NOTE_MAX];

        uint64_t arrived, accepted;
        uint64_t next_id;
        int64_t decide_ns;                      /* of submissions */
        uint64_t facts_hash;
        uint32_t *latencies_ns;
        size_t latencies_count;
        uint32_t latencies_room;
};

/* What every protocol reports of its runner. */
struct runner_summary {
        uint64_t facts_hash;
        double plan_s;
        bool plan_priced;
        char plan_note[PLAN_NOTE_MAX];
};

void runner_sum_up(const struct runner *runner, struct runner_summary *ret_summary);

/* `copies` as in replay_state_new. The first plan is made at once where a popularity is given.
 * `learns`: counts arrivals and plans from them. */
int runner_init(struct runner *runner, const struct replay_pool *pool, uint32_t copies,
                struct policy policy, const struct demand *given, bool learns,
                const struct replay_hooks *hooks, struct err *err);
void runner_done(struct runner *runner);                /* a zeroed one is fine */

/* Submits one member to be placed at once or never. 1: placed under *ret_id; 0: refused; or an
 * error. */
int runner_submit(struct runner *runner, const struct need *need, int64_t now_ms, uint64_t *ret_id,
                  struct err *err);
int runner_exit(struct runner *runner, uint64_t id, int64_t now_ms, struct err *err);

bool runner_cancelled(const struct runner *runner);

/* The `p` thousandth of the latencies, which it sorts; 0 when there are none. */
double latency_us(uint32_t *latencies_ns, size_t count, unsigned p);
