/* demand.h - shapes and how often they come, in the words of a price plan.
 *
 * Counts needs as price shapes (memory, disk and network are not part of them;
 * slices are left out), in canonical order.
 */
#pragma once

#include "engine/need.h"
#include "engine/price.h"

struct demand {
        struct price_shape shapes[PRICE_SHAPES_MAX];
        uint32_t count;
        uint64_t left_out;              /* needs of shapes beyond PRICE_SHAPES_MAX */
};

void demand_add(struct demand *demand, const struct need *need, uint64_t weight);
/* A shape as such; its own weight does not count. */
void demand_add_shape(struct demand *demand, const struct price_shape *shape, uint64_t weight);
/* Every weight counts half; shapes that fall to 0 are forgotten. */
void demand_halve(struct demand *demand);
void demand_of(const struct need *needs, uint32_t count, struct demand *ret_demand);
