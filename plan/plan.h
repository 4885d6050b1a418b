/* plan.h - a demand plan for a pool: prices, and whether they are worth using.
 *
 * Off the decision path. Prices come from plan/price_make.h, smoothed a little and smoothed
 * more; each is tried: random arrivals of the demand on the empty pool, by the prices and
 * by plain FGD on the same demand. Only a plan that leaves less unallocated (by
 * PLAN_MARGIN_PCT) than FGD is marked as priced; otherwise `auto` goes without prices.
 * Deterministic: the same demand and pool give the same plan, whatever their names.
 *
 * A planner remembers the last plans by the hash of demand and pool. One owner at a time.
 */
#pragma once

#include <stddef.h>

#include "sim/replay.h"

struct planner;

#define PLAN_MARGIN_PCT 0.1             /* points of the pool's devices */

struct planner *planner_new(void);      /* NULL: out of memory */
void planner_free(struct planner *planner);                     /* NULL is fine */

/* Who wants to see it at work, and may stop it; borrowed until the next call of this or the end. */
void planner_watch(struct planner *planner, const struct replay_hooks *hooks);

/* A replay_plan_make: `arg` is the planner. `ret_note` says in words what was found. 0, -ERR_INPUT
 * (a demand outside price.h's bounds), -ERR_CANCELLED or -ERR_NOMEM. */
int plan_make(void *arg, const struct replay_pool *pool, const struct price_shape *demand,
              uint32_t demand_count, struct price_plan *ret_plan, char *ret_note, size_t note_size,
              struct err *err);
