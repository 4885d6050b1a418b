/* renamed.h - an openb pool and pod list with other names and in another order, in memory.
 *
 * For tests. Each model gets another name, in the nodes and wherever a pod names it; rows are
 * shuffled, and so are the models a pod may use. What the lists mean stays as it was.
 */
#pragma once

#include "base/str.h"
#include "sim/rng.h"
#include "trace/openb.h"

/* 0 or -ERR_NOMEM. `plain` writes the lists as they are. Both are freed with mem_free(). */
int renamed_write(const struct openb_nodes *nodes, const struct openb_pods *pods, bool plain,
                  uint64_t seed, char **ret_nodes, char **ret_pods);
