/* fragment.h - idle device capacity that the expected demand cannot use.
 *
 * Pure. The measure of FGD (USENIX ATC'23; hkust-adsl/kubernetes-scheduler-simulator,
 * pkg/utils/frag.go): for one shape, all idle capacity of a node where the shape can
 * not run, else what lies on devices too full for it; weighted over the shapes that
 * make up 95 % of the demand. Memory is not part of it.
 */
#pragma once

#include "engine/price.h"
#include "engine/state.h"

struct fragment_shape {
        uint64_t models;
        uint32_t cpu_milli;
        uint16_t share_milli;
        uint8_t devices;
        int64_t weight;
};

struct fragment_target {
        struct fragment_shape shapes[PRICE_SHAPES_MAX];
        unsigned count;
        int64_t weight;                 /* sum; below 2^25 */
};

/* Cuts a demand to its most frequent shapes. `demand` of 0 shapes gives an empty target. */
void fragment_target_make(const struct price_shape *demand, uint32_t count,
                          struct fragment_target *ret_target);

/* Fragment of one node in thousandths of a device, times target->weight. `free`: compute left on
 * its devices, ascending; 1000 = idle. */
int64_t fragment_of(const struct fragment_target *target, unsigned model, uint32_t cpu_free,
                    const uint16_t *free, unsigned count);

/* Sum over the pool's nodes that are up, in thousandths of a device. 0 for an empty target. */
int64_t fragment_of_pool(const struct state *state, const struct fragment_target *target);

/* Compute left on a device for shares and whole devices. */
uint16_t fragment_free_milli(const struct device_state *device);
