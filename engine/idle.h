/* idle.h - work whose devices nobody uses: the class's idle_after.
 *
 * Pure. Reports say since when the devices of running work are idle, or that they are in use again
 * (INPUT_USE_REPORTED). A spell of idleness lasts until the next use: until a report of use, or of
 * idleness since a later time. What is not reported is in use; a new run starts so.
 *
 * At the first tick at which a spell has lasted for its class's idle_after, once a spell:
 *
 *   warn     a fact, by which the owner is told
 *   demote   the work becomes spare and lets go of its promise. It rises as far as limits and
 *            promises then allow, when it is used again, or later as room comes free in its tree
 *   stop     it is told to stop, with the class's notice. Use before the notice is over withdraws
 *            it; else the work is gone for good when it has stopped. Never a service
 *
 * Who has been told to stop already, and what is frozen, is left alone; that it may stay after all
 * counts from the next tick on. It is by the class's word, not for capacity: whatever the standing,
 * no stop a day, and nothing of the pool's stop rate.
 * docs/policy.md, "Idle work", is the same for users.
 */
#pragma once

#include "engine/order.h"

/* Sets since when its devices are idle, where that is news. 0, or -ERR_RANGE, -ERR_NOMEM. */
int decide_use(struct memo *memo, const struct state *state, uint32_t slot,
               const struct use_report *report, int64_t now_ms, bool *ret_more, struct err *err);

/* Adds what is due for idleness. 0 or -ERR_NOMEM. */
int decide_idle(struct memo *memo, const struct state *state, int64_t now_ms, struct err *err);

/* Whether running work has been idle for so long that its class makes it spare: what was before
 * then does not rise, though the spell is a new one. */
bool idle_demotes(const struct state *state, const struct workload *workload, int64_t now_ms);
/* Whether running work has been idle for so long that its class stops it. */
bool idle_stops(const struct state *state, const struct workload *workload, int64_t now_ms);
