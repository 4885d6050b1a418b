/* price_fill.h - what one node may be filled with: the soft knapsack behind price_make.
 *
 * Sums exp(value / tau) over all ways to fill a device or a node, by two linear recursions, and
 * differentiates the logarithm of that sum: the expected members of each item.
 * Pure: no globals, no allocation; one struct price_fill per caller. Floating point.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/price.h"

/* A shape with device demand. Either steps (a share of one device, 100 = whole) or devices (2
 * or more whole ones) is set. */
struct price_item {
        uint64_t models;
        double cores;
        double reward;                  /* devices asked */
        double supply;                  /* members expected */
        double prior_log;               /* of its weight among fillings of equal value */
        double pi;                      /* price of a member, devices */
        double used;                    /* members placed; summed by price_fill_use() */
        uint32_t steps;
        uint32_t size;                  /* index into price_items.sizes, if steps > 0 */
        uint32_t devices;
};

struct price_items {
        struct price_item at[PRICE_SHAPES_MAX];
        size_t len;
        uint32_t sizes[PRICE_STEPS];    /* distinct steps, ascending: price_items_index() */
        size_t sizes_len;
};

/* One kind of node at one core price and one smoothing. */
struct price_fill {
        double weight[PRICE_SHAPES_MAX];                /* of each item, 0 = may not */
        double share_weight[PRICE_STEPS];               /* summed over equal sizes */
        double share_used[PRICE_STEPS];
        double wide_weight[PRICE_DEVICES_MAX + 1];
        double wide_used[PRICE_DEVICES_MAX + 1];
        double device[PRICE_STEPS + 1];                 /* E: one device, by steps free */
        double node[PRICE_DEVICES_MAX + 1];             /* W / growth^g: idle devices */
        double single;                                  /* E[100] / growth */
        double growth_log;
};

/* Fills in sizes[] and each item's `size`. */
void price_items_index(struct price_items *items);

/* Fills an empty node of `kind` with cores at `core_price` devices each. */
void price_fill_run(struct price_fill *fill, const struct price_items *items,
                    const struct price_kind *kind, double core_price, double tau);

/* ln of the sum for one device with `steps` free, and for `devices` idle ones (at most the
 * kind's); times tau: their value in devices. */
double price_fill_device_log(const struct price_fill *fill, uint32_t steps);
double price_fill_node_log(const struct price_fill *fill, uint32_t devices);

/* Adds what all nodes of the kind are expected to hold to each item's `used`.
 * Returns the cores used on one node. Call after price_fill_run() of the same kind. */
double price_fill_use(struct price_fill *fill, struct price_items *items,
                      const struct price_kind *kind);
