/* isolate_rules.h - what a policy says of isolation, looked up anew each time in all live work. */
#pragma once

#include "engine/state.h"

/* Who started after it, at the same input, was not there yet. */
struct later {
        const uint64_t *ids;
        unsigned count;
};

/* The devices of the node that the workload may not lie on; all ones: it may not lie there. */
uint32_t rules_forbid(const struct state *state, uint32_t slot, uint32_t node, struct later later);

/* Whether the only member of a waiting workload could start there now. Room that is kept for others
 * is theirs. */
bool rules_allow(const struct state *state, uint32_t slot, uint32_t node);
