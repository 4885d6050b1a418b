/* preempt.h - plans that make room for waiting work by stopping running work.
 *
 * A plan is whole before anybody is told: the places of all members, the victims, what it costs.
 * Victims are eligible by cause and class (see may_stop in preempt_terms.c); the least lost work
 * wins; who turns out not to be needed is dropped. A required nearness and `spread` hold of a
 * plan's places (preempt_near.c); a preferred nearness is not looked at. A plan's devices are
 * locked for its beneficiary until it starts, or the plan is withdrawn.
 */
#pragma once

#include "engine/order.h"

#define SLICE_WAIT_MS INT64_C(300000)   /* a time slice is not asked for before */
#define SLICE_LOSS_MS INT64_C(300000)   /* ... nor of work that would lose more run time */
#define RESTART_MS    INT64_C(60000)    /* what a stop costs besides, as far as not known */
/* Gathering room may lose at most this part of the device-time that its beneficiary has waited.
 * Chosen on the Philly history: with 1/32, wide work and all work together wait less than under
 * first-come with skipping, whether 0, 25 or 100 % of the jobs save checkpoints; with 1/4, jobs
 * that do not save make the whole pool wait longer (docs/deciding.md). */
#define GATHER_PART   32
/* The same for classes with time slices, where wide work gets most of its room by them, and only
 * work that ran longer by a level gives way. */
#define GATHER_PART_SLICED 512

struct preempt_scratch;
void preempt_scratch_free(struct preempt_scratch *scratch);     /* NULL is fine */
void preempt_forget(struct preempt_scratch *scratch);           /* the state is another one */

/* Why the waiting workload may ask others to stop, in the order in which causes are tried.
 * Returns how many of `ret_causes` are written. */
unsigned plan_causes(const struct state *state, const struct contender *contender, int64_t now_ms,
                     enum plan_cause ret_causes[PLAN_CAUSES_END]);

/* `models`: on which it may lie; either only those where it would be spare, or none of them.
 * 1: facts of a plan were added; 0: there is none; -ERR_NOMEM. */
int decide_plan_for(struct memo *memo, const struct state *state, uint32_t slot, uint64_t models,
                    enum plan_cause cause, int64_t now_ms, struct err *err);

/* What stopping the workload now would lose, in unit-seconds, restart included. */
uint64_t stop_loss(const struct state *state, uint32_t slot, int64_t now_ms);

/* Whether the plan's places are free now, its nodes still take its work, and they still lie to each
 * other as it requires. */
bool plan_fits(const struct state *state, uint32_t plan, int64_t now_ms);
/* Whether one of its nodes is frozen: it waits. */
bool plan_is_frozen(const struct state *state, uint32_t plan);

/* Withdraws the plan that the workload waits for, or is moved by, if there is one: adds facts. */
int withdraw_plan(struct memo *memo, const struct state *state, uint32_t slot, struct err *err);
