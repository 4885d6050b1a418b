#include "sim/demand.h"

#include <string.h>

static bool shape_of(const struct need *need, struct price_shape *ret_shape)
{
        if (need->ask == ASK_PROFILE || need->ask == ASK_MEMORY)
                return false;
        if (need->ask == ASK_SHARE && (need->devices > 1 || need->share_milli == 0))
                return false;
        *ret_shape = (struct price_shape){.cpu_milli = need->cpu_milli,
                                          .devices = need->devices,
                                          .models = need->models};
        if (need->ask == ASK_SHARE)
                ret_shape->share_milli = need->share_milli;
        else if (need->ask == ASK_WHOLE)
                ret_shape->share_milli = SHARE_WHOLE;
        return true;
}

static int compare_shapes(const struct price_shape *a, const struct price_shape *b)
{
        if (a->devices != b->devices)
                return a->devices < b->devices ? -1 : 1;
        if (a->share_milli != b->share_milli)
                return a->share_milli < b->share_milli ? -1 : 1;
        if (a->cpu_milli != b->cpu_milli)
                return a->cpu_milli < b->cpu_milli ? -1 : 1;
        return a->models < b->models ? -1 : a->models > b->models;
}

/* The list stays sorted: a demand is in canonical order at any time. */
void demand_add_shape(struct demand *demand, const struct price_shape *shape, uint64_t weight)
{
        uint32_t low = 0, high = demand->count;

        while (low < high) {
                uint32_t middle = (low + high) / 2;
                if (compare_shapes(&demand->shapes[middle], shape) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low < demand->count && compare_shapes(&demand->shapes[low], shape) == 0) {
                demand->shapes[low].weight += weight;
                return;
        }
        if (demand->count == PRICE_SHAPES_MAX) {
                demand->left_out += weight;
                return;
        }
        memmove(&demand->shapes[low + 1], &demand->shapes[low],
                (demand->count - low) * sizeof *shape);
        demand->shapes[low] = *shape;
        demand->shapes[low].weight = weight;
        demand->count++;
}

void demand_add(struct demand *demand, const struct need *need, uint64_t weight)
{
        struct price_shape shape;

        if (shape_of(need, &shape))
                demand_add_shape(demand, &shape, weight);
}

void demand_halve(struct demand *demand)
{
        uint32_t kept = 0;

        for (uint32_t s = 0; s < demand->count; s++) {
                demand->shapes[s].weight /= 2;
                if (demand->shapes[s].weight > 0)
                        demand->shapes[kept++] = demand->shapes[s];
        }
        demand->count = kept;
}

void demand_of(const struct need *needs, uint32_t count, struct demand *ret_demand)
{
        ret_demand->count = 0;
        ret_demand->left_out = 0;
        for (uint32_t i = 0; i < count; i++)
                demand_add(ret_demand, &needs[i], 1);
}
