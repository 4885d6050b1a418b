/* hold.h - capacity holds: room kept for whole devices that are waited for, and for rescued work.
 *
 * At each tick the first HOLDS_MAX get the nodes that are expected to have room for them soonest:
 * of those that are rescued (order.h), in order of arrival; then, in the queue's order, of those
 * that want whole devices, have waited for their class's hold_after and do not fit. Those are wide
 * ones, and narrow ones with a time limit in classes without time slices. One is for wide work,
 * where there is any. Others may use a held node only when they are expected to be gone by then.
 *
 * Where a level of nearness is required all nodes held lie in one domain of it: the one whose
 * latest node is ready first. `spread` holds of them too. A level that is only preferred is not
 * looked at.
 */
#pragma once

#include "engine/order.h"

#define HOLDS_MAX 4

/* Adds facts that bring the holds up to what they should be now. 0 or -ERR_NOMEM. */
int decide_holds(struct memo *memo, const struct state *state, int64_t now_ms, struct err *err);

/* Whether work of the bucket may get one without being rescued; under a policy. */
bool hold_is_for(const struct state *state, const struct bucket *bucket);
/* Adds facts that let go what is held for the workload. 0 or -ERR_NOMEM. */
int let_go_of_nodes(struct memo *memo, const struct state *state, uint32_t slot, struct err *err);

/* The best held node that work of the bucket's shape fits on and may use; NONE. */
uint32_t held_best(struct memo *memo, const struct state *state, uint32_t slot,
                   struct place_right right, int64_t now_ms, struct move *ret_move);
/* Whether the shape fits on any held node at all, whoever may use it. */
bool held_fits(struct memo *memo, const struct state *state, uint32_t shape,
               struct place_right right);
