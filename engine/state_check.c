/* Hash and invariants: two walks over everything decisions depend on. */
#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "engine/price.h"
#include "engine/state.h"
#include "engine/units.h"

/* ---- hash ---- */

static void mix_bytes(uint64_t *hash, const void *bytes, size_t size)
{
        const unsigned char *at = bytes;

        for (; size >= 8; size -= 8, at += 8) {
                uint64_t word;
                memcpy(&word, at, 8);
                map_chain(hash, word);
        }
        for (; size > 0; size--, at++)
                map_chain(hash, *at);
}

static void hash_node(const struct state *state, uint32_t number, uint64_t *hash)
{
        const struct node *node = &state->nodes[number];
        const struct node_desc *desc = &node->desc;

        map_chain(hash, number);
        map_chain(hash, (uint64_t)node->status << 56 | (uint64_t)desc->name << 16 | desc->plane);
        map_chain(hash, (uint64_t)desc->labels << 48 | (uint64_t)desc->nvlink << 32 |
                          (uint64_t)desc->rack << 16 | desc->block);
        map_chain(hash, (uint64_t)desc->model << 24 | (uint64_t)desc->devices << 16 |
                          (uint64_t)desc->link_group << 8 | desc->drained);
        map_chain(hash, (uint64_t)desc->cpu_milli << 32 | node->cpu_used);
        map_chain(hash, (uint64_t)desc->ram_mib << 32 | node->ram_used);
        map_chain(hash, (uint64_t)desc->disk_mib << 32 | node->disk_used);
        map_chain(hash, (uint64_t)desc->network_mbit << 32 | node->network_used);
        map_chain(hash, desc->artifacts);
        for (unsigned d = 0; d < desc->devices; d++) {
                const struct device *device = &node_devices(state, number)[d];
                mix_bytes(hash, &device->state, sizeof device->state);
                map_chain(hash, (uint64_t)device->epoch << 32 | device->seen_epoch);
                map_chain(hash, device->cut);
        }
}

static void hash_workload(const struct state *state, uint32_t slot, uint64_t *hash)
{
        const struct workload *workload = &state->workloads[slot];

        map_chain(hash, workload->id);
        map_chain(hash, workload->arrival);
        map_chain(hash, (uint64_t)workload->since_ms);
        map_chain(hash, (uint64_t)workload->bucket << 32 | workload->members_placed);
        for (uint32_t place = workload->first_member; place != NONE;
             place = state->members[place].next) {
                const struct member *member = &state->members[place];
                map_chain(hash, (uint64_t)member->node << 32 | member->number);
                for (uint32_t held = member->first_part; held != NONE;
                     held = state->parts[held].next)
                        mix_bytes(hash, &state->parts[held].part, sizeof(struct part));
        }
}

/* Which slot the next node gets: its number breaks ties. */
static void hash_free_nodes(const struct state *state, uint64_t *hash)
{
        map_chain(hash, state->node_slots.high);
        for (uint32_t slot = state->node_slots.free; slot != NONE;) {
                map_chain(hash, slot);
                memcpy(&slot, &state->nodes[slot], sizeof slot);
        }
}

/* Prices are named by the plan's hash; a demand may come without one. */
static void hash_plan(const struct state *state, uint64_t *hash)
{
        const struct price_plan *plan = state->plan;

        map_chain(hash, plan->hash);
        map_chain(hash, (uint64_t)plan->priced << 32 | plan->shapes_count);
        for (uint32_t s = 0; s < plan->shapes_count; s++) {
                const struct price_shape *shape = &plan->shapes[s];
                map_chain(hash, (uint64_t)shape->cpu_milli << 32 |
                                        (uint64_t)shape->share_milli << 8 | shape->devices);
                map_chain(hash, shape->models);
                map_chain(hash, shape->weight);
        }
}

uint64_t state_hash(const struct state *state)
{
        uint64_t hash = 1;

        hash_free_nodes(state, &hash);

        for (uint32_t n = 0; n < state->node_slots.high; n++)
                if (state->nodes[n].status != NODE_FREE_SLOT)
                        hash_node(state, n, &hash);
        for (uint32_t s = 0; s < state->shapes_count; s++)
                mix_bytes(&hash, &state->shapes[s].need, sizeof(struct need));
        for (uint32_t b = 0; b < state->buckets_count; b++) {
                const struct bucket *bucket = &state->buckets[b];
                map_chain(&hash, bucket_hash(bucket->shape, &bucket->form, bucket->priority));
                for (uint32_t slot = bucket->head; slot != NONE;
                     slot = state->workloads[slot].next)
                        map_chain(&hash, state->workloads[slot].id);
        }
        for (uint32_t w = 0; w < state->workload_slots.high; w++)
                if (state->workloads[w].live)
                        hash_workload(state, w, &hash);
        map_chain(&hash, state->plan_set);
        if (state->plan_set)
                hash_plan(state, &hash);
        map_chain(&hash, (uint64_t)state->now_ms);
        map_chain(&hash, state->arrivals);
        return hash;
}

/* ---- invariants ---- */

struct node_sums {
        uint64_t cpu, ram, disk, network;
        struct device_state devices[NODE_DEVICES_MAX];
        uint64_t units[NODE_DEVICES_MAX];
};

/* Rebuilds the devices from what their holders have; taking a part asserts that it fits. */
static void sum_member(const struct state *state, uint32_t place, struct node_sums *sums)
{
        const struct member *member = &state->members[place];
        const struct model *model = node_model(state, member->node);
        const struct workload *workload = &state->workloads[member->workload];
        const struct need *need = &state->shapes[state->buckets[workload->bucket].shape].need;
        unsigned count = 0, devices = 0;

        assert(workload->live);
        sums->cpu += need->cpu_milli;
        sums->ram += need->ram_mib;
        sums->disk += need->disk_mib;
        sums->network += need->network_mbit;
        for (uint32_t held = member->first_part; held != NONE; held = state->parts[held].next) {
                const struct part *part = &state->parts[held].part;
                assert(part->device < state->nodes[member->node].desc.devices);
                assert(!(devices >> part->device & 1));
                devices |= 1u << part->device;
                device_take(model, &sums->devices[part->device], part);
                sums->units[part->device] += part_units(model, part);
                count++;
        }
        assert(count == need->devices);
        assert(count == member->parts_count);
}

static void check_device(const struct model *model, const struct device *device,
                         const struct device_state *rebuilt, uint64_t units)
{
        struct device_state state = device->state;

        state.broken = 0;
        state.foreign_slots = 0;
        assert(memcmp(&state, rebuilt, sizeof state) == 0);
        assert(units <= UNITS_DEVICE);
        if (!device->state.broken && device->state.foreign_slots == 0 &&
            state.mode != DEVICE_SHARED)
                assert(units + device_free_units(model, &device->state) == UNITS_DEVICE);
}

static uint32_t check_node(const struct state *state, uint32_t number)
{
        const struct node *node = &state->nodes[number];
        struct node_sums sums = {0};
        uint32_t count = 0, before = NONE;

        for (uint32_t place = node->first_member; place != NONE;
             place = state->members[place].node_next) {
                assert(state->members[place].node == number);
                assert(state->members[place].node_prev == before);
                before = place;
                sum_member(state, place, &sums);
                count++;
        }
        assert(sums.cpu == node->cpu_used);
        assert(sums.ram == node->ram_used);
        assert(sums.disk == node->disk_used);
        assert(sums.network == node->network_used);
        for (unsigned d = 0; d < node->desc.devices; d++)
                check_device(node_model(state, number), &node_devices(state, number)[d],
                             &sums.devices[d], sums.units[d]);
        return count;
}

static void check_bucket(const struct state *state, uint32_t number)
{
        const struct bucket *bucket = &state->buckets[number];
        uint32_t count = 0, before = NONE;
        uint64_t arrival = 0;

        for (uint32_t slot = bucket->head; slot != NONE; slot = state->workloads[slot].next) {
                const struct workload *workload = &state->workloads[slot];
                assert(workload->live);
                assert(workload->bucket == number);
                assert(workload->prev == before);
                assert(workload->members_placed == 0);
                assert(count == 0 || workload->arrival > arrival);
                arrival = workload->arrival;
                before = slot;
                count++;
        }
        assert(bucket->tail == before);
        assert(bucket->count == count);
}

/* Gangs are whole: every placed member once. */
static uint32_t check_workload(const struct state *state, uint32_t slot)
{
        const struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];
        uint32_t count = 0;

        assert(state_workload(state, workload->id) == slot);
        for (uint32_t place = workload->first_member; place != NONE;
             place = state->members[place].next) {
                assert(state->members[place].workload == slot);
                count++;
        }
        assert(count == workload->members_placed);
        assert(count == 0 || count == bucket->form.members);
        return count;
}

void state_check(const struct state *state)
{
        uint64_t on_nodes = 0, of_workloads = 0, waiting = 0, live = 0;

        for (uint32_t n = 0; n < state->node_slots.high; n++)
                if (state->nodes[n].status != NODE_FREE_SLOT)
                        on_nodes += check_node(state, n);
        for (uint32_t b = 0; b < state->buckets_count; b++) {
                check_bucket(state, b);
                waiting += state->buckets[b].count;
        }
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                if (!state->workloads[w].live)
                        continue;
                live++;
                of_workloads += check_workload(state, w);
        }
        assert(on_nodes == of_workloads);
        assert(on_nodes == state->member_slots.used);
        assert(waiting == state->waiting);
        assert(live == state->workload_slots.used);
}
