#include "engine/fragment.h"

#define COVERED_PCT 95

/* Weights are scaled to sum to less than 2^24 (and a little for those that would become 0): a
 * fragment in millionths still fits 64 bits. */
#define WEIGHT_BITS 24

void fragment_target_make(const struct price_shape *demand, uint32_t count,
                          struct fragment_target *ret_target)
{
        bool used[PRICE_SHAPES_MAX] = {false};
        uint64_t total = 0, covered = 0;
        unsigned shift = 0;

        ret_target->count = 0;
        ret_target->weight = 0;
        for (uint32_t s = 0; s < count; s++)
                total += demand[s].weight;
        while (total >> shift >> WEIGHT_BITS)
                shift++;
        while (ret_target->count < count && covered * 100 < total * COVERED_PCT) {
                uint32_t best = 0;
                for (uint32_t s = 0; s < count; s++)
                        if (used[best] || (!used[s] && demand[s].weight > demand[best].weight))
                                best = s;
                const struct price_shape *shape = &demand[best];
                int64_t scaled = (int64_t)(shape->weight >> shift ? shape->weight >> shift : 1);
                used[best] = true;
                covered += shape->weight;
                ret_target->shapes[ret_target->count++] =
                        (struct fragment_shape){.models = shape->models,
                                                .cpu_milli = shape->cpu_milli,
                                                .share_milli = shape->share_milli,
                                                .devices = shape->devices,
                                                .weight = scaled};
                ret_target->weight += scaled;
        }
}

int64_t fragment_of(const struct fragment_target *target, unsigned model, uint32_t cpu_free,
                    const uint16_t *free, unsigned count)
{
        int64_t below[NODE_DEVICES_MAX + 1], sum = 0;

        below[0] = 0;
        for (unsigned i = 0; i < count; i++)
                below[i + 1] = below[i] + free[i];
        for (unsigned s = 0; s < target->count; s++) {
                const struct fragment_shape *shape = &target->shapes[s];
                int64_t fragment = below[count];
                if (shape->devices > 0 && (shape->models >> model & 1) &&
                    cpu_free >= shape->cpu_milli) {
                        unsigned full = 0;
                        while (full < count && free[full] < shape->share_milli)
                                full++;
                        if (count - full >= shape->devices)
                                fragment = below[full];
                }
                sum += shape->weight * fragment;
        }
        return sum;
}

uint16_t fragment_free_milli(const struct device_state *device)
{
        if (device->mode == DEVICE_SHARED && !device->broken && device->foreign_slots == 0)
                return (uint16_t)(SHARE_WHOLE - device->share_taken_milli);
        return device_is_idle(device) ? SHARE_WHOLE : 0;
}

static int64_t fragment_of_node(const struct state *state, uint32_t number,
                                const struct fragment_target *target)
{
        const struct node *node = &state->nodes[number];
        uint16_t free[NODE_DEVICES_MAX];

        for (unsigned d = 0; d < node->desc.devices; d++) {
                uint16_t milli = fragment_free_milli(&node_devices(state, number)[d].state);
                unsigned at = d;
                for (; at > 0 && free[at - 1] > milli; at--)
                        free[at] = free[at - 1];
                free[at] = milli;
        }
        return fragment_of(target, node->desc.model, node->cpu_free, free, node->desc.devices);
}

int64_t fragment_of_pool(const struct state *state, const struct fragment_target *target)
{
        int64_t sum = 0;

        if (target->weight == 0)
                return 0;
        for (uint32_t n = 0; n < state->node_slots.high; n++)
                if (state->nodes[n].status == NODE_UP)
                        sum += fragment_of_node(state, n, target) / target->weight;
        return sum;
}
