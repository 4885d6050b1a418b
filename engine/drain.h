/* drain.h - nodes that are to be empty by a time: drains with a deadline, maintenance windows.
 *
 * Work starts on such a node only when it leaves in time (leaves_ms). At ticks running work on it
 * is told, a gang as a whole, whatever its class and standing: no earlier than needed, so that its
 * notice is over at the deadline. Who saves checkpoints by itself, is not expected to end in time,
 * and will not save again before the deadline is told at once: what it would do until then is lost.
 * A notice is never shorter than the class's; a deadline that is nearer is met late. What is frozen
 * is told nothing. docs/policy.md, "Drains and maintenance", is the same for users.
 */
#pragma once

#include "engine/order.h"

/* Services, and work that nobody knows the length of, do not start so soon before a window. */
#define DRAIN_LEAD_MS  INT64_C(86400000)
/* Notices come so much before they must: no tick is missed. They end no earlier for it. */
#define DRAIN_EARLY_MS INT64_C(60000)

/* By when the waiting work, started at `now_ms`, is gone, or can be with what it did saved. Where
 * no node is ever to be empty it does not matter: `now_ms`. */
int64_t leaves_ms(const struct state *state, uint32_t slot, int64_t now_ms);

/* The same of a request that is not queued, as it would be. */
int64_t request_leaves_ms(const struct state *state, const struct request *request,
                          int64_t now_ms);

/* Adds notices that are due. 0 or -ERR_NOMEM. */
int decide_drains(struct memo *memo, const struct state *state, int64_t now_ms, struct err *err);
/* Adds withdrawals where a deadline is gone, or put off so far that nobody need know of it yet, or
 * where idle work (idle.h) is used again, and the notice is not over. 0 or -ERR_NOMEM. */
int decide_stays(struct memo *memo, const struct state *state, int64_t now_ms, struct err *err);
