/* hold_impl.h - shared by hold.c (who holds, and the soonest nodes) and hold_near.c (those of one
 * domain of the fabric). */
#pragma once

#include "engine/hold.h"

/* A node, and when it is expected to have room for a member, or for one more. */
struct place {
        int64_t ready_ms;
        uint64_t domain;
        uint32_t node;
};

/* For whom nodes are looked for. */
struct hold_search {
        const struct state *state;
        const struct bucket *bucket;
        struct place_right right;
        const uint32_t *taken_for;      /* by node: not 0 where others hold it */
        int64_t now_ms;
};

/* When the node is expected to have so many free devices for it. INT64_MAX: never. */
int64_t hold_ready_ms(const struct hold_search *search, uint32_t node, unsigned devices);

/* Whether places hang together: by a required level, by racks that may not be the same, or because
 * several members may share a node. */
bool hold_looks_around(const struct state *state, const struct bucket *bucket);
/* The places of the members in the domain of the required level that is ready soonest, by time: the
 * first of memo->hold_places. 1; 0: there is none; -ERR_NOMEM. */
int hold_find_near(struct memo *memo, const struct hold_search *search, struct err *err);
