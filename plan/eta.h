/* eta.h - when waiting work will start: forward runs, corrected by how they turned out.
 *
 * Off the decision path: a worker asks, and the answer enters as the input ETA_SET, to be shown. A
 * question is answered by a few forward runs (forward.h); their median is the raw estimate. Told
 * are the raw estimate times the median (p50) and the 90th percentile (p90) of how much longer the
 * last ETA_KEPT answered ones really took, small and wide work apart. Their share that kept its p90
 * is the coverage. Where fewer than ETA_ENOUGH are known, or the coverage is below
 * ETA_COVERAGE_PCT, there is no reliable estimate.
 *
 * Deterministic. One owner at a time.
 */
#pragma once

#include <stdbool.h>

#include "engine/fact.h"
#include "engine/policy.h"
#include "sim/replay.h"

struct err;
struct state;

#define ETA_RUNS         6
#define ETA_KEPT         100
#define ETA_ENOUGH       20
#define ETA_COVERAGE_PCT 80
#define ETA_ASKED_MAX    65536          /* that have not started yet */
#define ETA_HORIZON_MS   INT64_C(86400000)

struct eta_options {
        int64_t tick_ms;                /* how often the queue's order is made anew */
        int64_t restart_ms;             /* that stopped work needs to start again */
        int64_t horizon_ms;             /* a forward run ends then; 0: ETA_HORIZON_MS */
        uint64_t seed;
        const volatile int *cancel;     /* non-zero: stop soon; NULL: never */
};

struct eta;

/* For work of this state, which must outlive it. NULL: out of memory. */
struct eta *eta_new(const struct state *state, const struct eta_options *options);
void eta_free(struct eta *eta);                         /* NULL is fine */

/* Every submission is told, in order; later, what became of the workloads that were asked for: any
 * other number is fine. 0 or -ERR_NOMEM. */
int eta_arrived(struct eta *eta, const struct request *request, int64_t now_ms, struct err *err);
void eta_started(struct eta *eta, uint64_t workload, int64_t now_ms);
void eta_dropped(struct eta *eta, uint64_t workload);   /* cancelled or refused */

/* Answers for waiting workloads, from the same forward runs: as the input ETA_SET wants them. The
 * first answer for a workload is the one that is held against its start. 0, -ERR_CANCELLED or
 * -ERR_NOMEM. */
int eta_ask(struct eta *eta, struct policy placement, int64_t now_ms, const uint64_t *workloads,
            uint32_t count, struct eta_set *ret_answers, struct err *err);

/* The same in two steps, for who reads what was told from a log: answers that count only when they
 * are told, and an answer that was told to somebody, by this process or one before it. */
int eta_answer(struct eta *eta, struct policy placement, int64_t now_ms,
               const uint64_t *workloads, uint32_t count, struct eta_set *ret_answers,
               struct err *err);
int eta_told(struct eta *eta, const struct eta_set *answer, int64_t at_ms, struct err *err);
/* Whether its start is waited for, to be held against an answer. */
bool eta_was_told(const struct eta *eta, uint64_t workload);

/* What is learnt of work of a kind: how many starts were foretold, and how many of the last
 * ETA_KEPT of them kept their p90, in percent; 0: too few to say. */
enum eta_kind { ETA_SMALL, ETA_WIDE, ETA_KINDS };
struct eta_learnt {
        uint64_t starts, told;          /* told: of them with a p90 */
        unsigned coverage_pct;
};
struct eta_learnt eta_learnt(const struct eta *eta, enum eta_kind kind);

/* What a replay needs to ask; see replay.h. `keeper` is zeroed at first, and done at the end. */
struct eta_keeper {
        struct eta *eta;
};
void eta_hook(struct eta_keeper *keeper, uint32_t every, struct replay_eta *ret_hook);
void eta_keeper_done(struct eta_keeper *keeper);
