/* move.h - running work that goes on somewhere else, as its owner or an operator asks.
 *
 * A plan (preempt.h) of which the work itself is beneficiary and only victim: its places there are
 * free, proven and locked before it is told, and when it has stopped it starts at them. Where the
 * plan falls through (a node of it fails, or is drained), the work is told that it may stay. It
 * keeps its device models, so that what it may hold stays the same; nobody else is stopped for it.
 */
#pragma once

#include <stdint.h>

struct err;
struct input;
struct memo;
struct state;

/* Adds the facts of the plan and the notice. 0, -ERR_NOT_FOUND (the node), -ERR_EXISTS (it has been
 * told to stop), -ERR_FULL (nowhere is room for it, or no table is for one more plan), -ERR_INPUT
 * (it has no devices, there is no policy, it lies there already, it is frozen), -ERR_RANGE,
 * -ERR_NOMEM. */
int decide_move(struct memo *memo, const struct state *state, uint32_t slot,
                const struct input *input, int64_t now_ms, struct err *err);
