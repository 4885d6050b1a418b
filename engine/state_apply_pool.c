/* Facts about nodes, layouts and demand. */
#include <assert.h>
#include <string.h>

#include "engine/price.h"
#include "engine/state_impl.h"
#include "engine/units.h"

static uint32_t left_of(uint32_t total, uint32_t used, uint32_t kept)
{
        uint64_t gone = (uint64_t)used + kept;

        return total > gone ? total - (uint32_t)gone : 0;
}

void node_refresh(struct state *state, uint32_t number)
{
        struct node *node = &state->nodes[number];

        node->cpu_free = left_of(node->desc.cpu_milli, node->cpu_used, node->cpu_kept);
        node->ram_free = left_of(node->desc.ram_mib, node->ram_used, node->ram_kept);
        node->disk_free = left_of(node->desc.disk_mib, node->disk_used, node->disk_kept);
        node->network_free = left_of(node->desc.network_mbit, node->network_used,
                                     node->network_kept);
        node_touch(state, number);
}

/* What the node adds to the pool; `sign` 1 or -1. */
void node_count(struct state *state, uint32_t number, int sign)
{
        const struct node *node = &state->nodes[number];
        uint64_t by = (uint64_t)(int64_t)sign;  /* wraps for -1, as meant */

        if (!node_takes_work(node))
                return;
        for (unsigned d = 0; d < node->desc.devices; d++)
                if (!node_devices(state, number)[d].state.broken)
                        state->capacity[node->desc.model] += UNITS_DEVICE * by;
        for (uint32_t at = node->first_member; at != NONE; at = state->members[at].node_next)
                state->used[node->desc.model] += member_capacity(state, at) * by;
        uint64_t bit = node->desc.devices > 0 ? 1ull << node->desc.model : 0;
        state->capacity_models |= bit;
        if (state->capacity[node->desc.model] == 0)
                state->capacity_models &= ~bit;
}

static bool is_frozen(const struct state *state, unsigned plane)
{
        for (uint32_t p = 0; p < state->frozen_planes_count; p++)
                if (state->frozen_planes[p] == plane)
                        return true;
        return state->frozen;
}

static void apply_node_set(struct state *state, uint32_t number, const struct node_desc *desc)
{
        if (state_node(state, desc->name) == NONE) {
                uint32_t slot = slot_take(&state->node_slots, state->nodes, sizeof *state->nodes);
                assert(slot == number);
                state->nodes[slot].first_device = slot * NODE_DEVICES_MAX;
                state->nodes[slot].first_member = NONE;
                map_enter(state->node_by_name, desc->name, slot);
        }
        struct node *node = &state->nodes[number];
        bool other_model = node->desc.model != desc->model;
        node_count(state, number, -1);
        closing_drop(state, number);
        node->desc = *desc;
        node->status = NODE_UP;
        for (unsigned d = 0; d < NODE_DEVICES_MAX; d++) {
                struct device *device = &node_devices(state, number)[d];
                device->state.broken = desc->broken >> d & 1;
                /* What was seen of another card, or cut on it, says nothing of this one. */
                if (other_model || d >= desc->devices) {
                        device->state.foreign_slots = 0;
                        device->cut = false;
                }
        }
        if (state->accounts && desc->plane)
                isolation_follow(state);
        closing_add(state, number);
        node_count(state, number, 1);
        if (desc->devices > state->devices_max)
                state->devices_max = desc->devices;
        node->frozen = is_frozen(state, desc->plane);
        node_refresh(state, number);
        state->nodes_version++;
        state->freed++;
}

static void apply_freeze(struct state *state, const struct freeze *freeze)
{
        uint32_t at = 0;

        if (freeze->plane == 0)
                state->frozen = freeze->frozen;
        while (at < state->frozen_planes_count && state->frozen_planes[at] != freeze->plane)
                at++;
        if (freeze->plane && freeze->frozen && at == state->frozen_planes_count)
                state->frozen_planes[state->frozen_planes_count++] = freeze->plane;
        if (freeze->plane && !freeze->frozen && at < state->frozen_planes_count)
                state->frozen_planes[at] = state->frozen_planes[--state->frozen_planes_count];
        for (uint32_t n = 0; n < state->node_slots.high; n++) {
                if (state->nodes[n].status == NODE_FREE_SLOT)
                        continue;
                state->nodes[n].frozen = is_frozen(state, state->nodes[n].desc.plane);
                node_touch(state, n);
        }
        state->nodes_version++;
        state->freed++;
}

/* What may still run, there or elsewhere, keeps its place. */
static void apply_node_down(struct state *state, uint32_t number, bool is_silent)
{
        node_count(state, number, -1);
        state->nodes[number].status = is_silent ? NODE_SILENT : NODE_DOWN;
        node_touch(state, number);
        state->nodes_version++;
}

static void apply_node_gone(struct state *state, uint32_t number)
{
        assert(state->nodes[number].first_member == NONE);
        node_count(state, number, -1);
        closing_drop(state, number);
        map_remove(state->node_by_name, state->nodes[number].desc.name);
        memset(node_devices(state, number), 0, NODE_DEVICES_MAX * sizeof *state->devices);
        slot_give(&state->node_slots, state->nodes, sizeof *state->nodes, number);
        node_touch(state, number);
        state->nodes_version++;
}

static void apply_layout_step(struct state *state, const struct fact_layout *step)
{
        struct device *device = &node_devices(state, step->node)[step->device];

        assert(step->epoch == device->epoch + 1);
        device->epoch = step->epoch;
        if (step->op == LAYOUT_CUT_ON || step->op == LAYOUT_CUT_OFF)
                device->cut = step->op == LAYOUT_CUT_ON;
}

static void apply_layout_seen(struct state *state, uint32_t number,
                              const struct layout_report *report)
{
        struct device *device = &node_devices(state, number)[report->device];

        if (device->state.foreign_slots & ~report->foreign_slots)
                state->freed++;
        device->seen_epoch = report->epoch;
        device->state.foreign_slots = report->foreign_slots;
        node_count(state, number, -1);
        if (report->failed)
                device->state.broken = 1;
        node_count(state, number, 1);
        node_touch(state, number);
}

static void apply_demand(struct state *state, const struct price_plan *plan)
{
        state->plan_set = plan != NULL;
        if (plan)
                *state->plan = *plan;
        state->plan_version++;
}

void apply_of_pool(struct state *state, const struct fact *fact)
{
        switch (fact->kind) {
        case FACT_FREEZE_IN:
                apply_freeze(state, &fact->freeze);
                break;
        case FACT_MAINTENANCE_IN:
                apply_maintenance(state, fact->maintenance);
                break;
        case FACT_LAYOUT_STEP:
                apply_layout_step(state, &fact->layout_step);
                break;
        case FACT_LAYOUT_SEEN:
                apply_layout_seen(state, fact->layout_seen.node, &fact->layout_seen.report);
                break;
        case FACT_NODE_SET:
                apply_node_set(state, fact->node_set.node, &fact->node_set.desc);
                break;
        case FACT_NODE_DOWN:
                apply_node_down(state, fact->down.node, fact->down.silent);
                break;
        case FACT_NODE_GONE:
                apply_node_gone(state, fact->node);
                break;
        case FACT_DEMAND_SET:
                apply_demand(state, fact->plan);
                break;
        default:
                assert(false);
        }
}
