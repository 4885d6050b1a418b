/* nearest.h - the nearest request that the pool could ever hold. */
#pragma once

#include "engine/decide.h"

/* Cuts a request that is not feasible down as little as can be found: first everything that can be
 * cut is cut to its least; if that is feasible, each wish in turn (devices, members, memory, share,
 * cores, ...) is put back as far as it goes. 1: *ret_nearest is feasible; 0: nothing of it is (no
 * such model, plane or label); -ERR_NOMEM. */
int request_nearest(struct memo *memo, const struct state *state, const struct request *request,
                    struct request *ret_nearest, struct err *err);
