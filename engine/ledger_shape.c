/* What the pool is asked for, and how much of a node that could use. */
#include <assert.h>
#include <string.h>

#include "engine/ledger_impl.h"

void ledger_shape_used(struct ledger *ledger, uint32_t shape, int64_t at_ms)
{
        if (ledger->shape_used_ms[shape] < at_ms)
                ledger->shape_used_ms[shape] = at_ms;
}

void ledger_shape_comes(struct ledger *ledger, const struct state *state, const struct need *need)
{
        if (need->devices == 0 || ledger->shape_came || ledger->shapes_count == LEDGER_SHAPES_MAX)
                return;
        uint32_t shape = state_shape(state, need);
        for (unsigned i = 0; i < ledger->shapes_count; i++)
                if (ledger->shapes[i] == shape)
                        return;
        ledger->shape_came = true;
}

/* All that waits or runs now. */
static void mark(struct ledger *ledger, const struct state *state)
{
        for (uint32_t b = 0; b < state->buckets_count; b++)
                if (state->buckets[b].count > 0)
                        ledger_shape_used(ledger, state->buckets[b].shape, ledger->at_ms);
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (workload->live && workload->members_placed > 0)
                        ledger_shape_used(ledger, state->buckets[workload->bucket].shape,
                                          ledger->at_ms);
        }
}

/* The newest use first, then the lower number. */
static unsigned insert(const struct ledger *ledger, uint32_t *shapes, unsigned count,
                       uint32_t shape)
{
        unsigned at = count;

        while (at > 0 && ledger->shape_used_ms[shapes[at - 1]] < ledger->shape_used_ms[shape])
                at--;
        if (at == LEDGER_SHAPES_MAX)
                return count;
        if (count == LEDGER_SHAPES_MAX)
                count--;
        memmove(shapes + at + 1, shapes + at, (count - at) * sizeof *shapes);
        shapes[at] = shape;
        return count + 1;
}

static void sort_by_number(uint32_t *shapes, unsigned count)
{
        for (unsigned i = 1; i < count; i++)
                for (unsigned at = i; at > 0 && shapes[at - 1] > shapes[at]; at--) {
                        uint32_t other = shapes[at - 1];
                        shapes[at - 1] = shapes[at];
                        shapes[at] = other;
                }
}

bool ledger_shapes_revise(struct ledger *ledger, const struct state *state)
{
        uint32_t shapes[LEDGER_SHAPES_MAX];
        unsigned count = 0;

        mark(ledger, state);
        ledger->revised_ms = ledger->at_ms;
        ledger->shape_came = false;
        for (uint32_t s = 0; s < state->shapes_count; s++)
                if (state->shapes[s].need.devices > 0 && ledger->shape_used_ms[s] != INT64_MIN &&
                    ledger->at_ms - ledger->shape_used_ms[s] <= LEDGER_SHAPE_MS)
                        count = insert(ledger, shapes, count, s);
        sort_by_number(shapes, count);
        if (count == ledger->shapes_count &&
            memcmp(shapes, ledger->shapes, count * sizeof *shapes) == 0)
                return false;
        memcpy(ledger->shapes, shapes, count * sizeof *shapes);
        ledger->shapes_count = count;
        ledger->ordered = 0;
        return true;
}

static uint32_t member_units(const struct state *state, uint32_t shape, unsigned model)
{
        return state->units[(size_t)shape * MODELS_MAX + model];
}

static void order(struct ledger *ledger, const struct state *state, unsigned model)
{
        uint32_t *shapes = ledger->order[model];

        for (unsigned i = 0; i < ledger->shapes_count; i++) {
                uint32_t units = member_units(state, ledger->shapes[i], model);
                unsigned at = i;
                for (; at > 0 && member_units(state, shapes[at - 1], model) < units; at--)
                        shapes[at] = shapes[at - 1];
                shapes[at] = ledger->shapes[i];
        }
        ledger->ordered |= 1ull << model;
}

/* Puts one member of the need on the devices; its units, or 0: it does not fit. */
static uint32_t place(const struct model *model, struct device_state *devices, unsigned count,
                      const struct need *need, const struct part_fit *fit)
{
        unsigned fitting[NODE_DEVICES_MAX], found = 0;
        uint32_t units = 0;

        for (unsigned d = 0; d < count && found < need->devices; d++)
                if (part_fits(model, &devices[d], fit))
                        fitting[found++] = d;
        if (found < need->devices)
                return 0;
        for (unsigned i = 0; i < found; i++) {
                struct part options[PART_OPTIONS_MAX];
                unsigned options_count = part_options(model, &devices[fitting[i]], fit, options);
                assert(options_count > 0);
                (void)options_count;
                device_take(model, &devices[fitting[i]], &options[0]);
                units += part_units(model, &options[0]);
        }
        return units;
}

static uint32_t fill(const struct state *state, struct node *room, struct device_state *devices,
                     unsigned count, uint32_t shape)
{
        const struct need *need = &state->shapes[shape].need;
        const struct part_fit *fit = &state->fits[(size_t)shape * MODELS_MAX + room->desc.model];
        const struct model *model = model_get(state->models, room->desc.model);
        uint32_t units = 0, by;

        if (!(state->shapes[shape].models >> room->desc.model & 1) ||
            !node_admits(state, &room->desc, need))
                return 0;
        while (node_has_room(room, need) && (by = place(model, devices, count, need, fit)) > 0) {
                units += by;
                room->cpu_free -= need->cpu_milli;
                room->ram_free -= need->ram_mib;
                room->disk_free -= need->disk_mib;
                room->network_free -= need->network_mbit;
        }
        return units;
}

uint32_t ledger_usable(struct ledger *ledger, const struct state *state, uint32_t number,
                       uint16_t open)
{
        struct device_state devices[NODE_DEVICES_MAX];
        struct node room = state->nodes[number];
        unsigned count = 0, model = room.desc.model;
        uint32_t units = 0;

        for (unsigned d = 0; d < room.desc.devices; d++)
                if (open >> d & 1)
                        devices[count++] = node_devices(state, number)[d].state;
        if (!(ledger->ordered >> model & 1))
                order(ledger, state, model);
        for (unsigned i = 0; i < ledger->shapes_count; i++)
                units += fill(state, &room, devices, count, ledger->order[model][i]);
        return units;
}

/* ---- nodes with nothing on them ---- */

/* Whether what is asked of nodes tells them apart. */
static bool are_alike(const struct node_desc *a, const struct node_desc *b)
{
        return a->model == b->model && a->devices == b->devices && a->plane == b->plane &&
               a->labels == b->labels && a->cpu_milli == b->cpu_milli &&
               a->ram_mib == b->ram_mib && a->disk_mib == b->disk_mib &&
               a->network_mbit == b->network_mbit;
}

static bool fits_when_empty(const struct ledger *ledger, const struct state *state,
                            const struct node_desc *desc)
{
        for (unsigned i = 0; i < ledger->shapes_count; i++) {
                struct device_state devices[NODE_DEVICES_MAX] = {0};
                struct node room = {.desc = *desc,
                                    .cpu_free = desc->cpu_milli,
                                    .ram_free = desc->ram_mib,
                                    .disk_free = desc->disk_mib,
                                    .network_free = desc->network_mbit};
                room.desc.drained = false;
                if (fill(state, &room, devices, desc->devices, ledger->shapes[i]) > 0)
                        return true;
        }
        return false;
}

bool ledger_can_be_used(const struct ledger *ledger, const struct state *state, unsigned model)
{
        const struct node_desc *last = NULL;    /* nodes of one kind mostly stand in a row */

        for (uint32_t n = 0; n < state->node_slots.high; n++) {
                const struct node_desc *desc = &state->nodes[n].desc;
                if (state->nodes[n].status == NODE_FREE_SLOT || desc->devices == 0 ||
                    desc->model != model || (last && are_alike(last, desc)))
                        continue;
                if (fits_when_empty(ledger, state, desc))
                        return true;
                last = desc;
        }
        return false;
}
