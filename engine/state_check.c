/* Invariants: what must hold in every state. */
#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "engine/accounts.h"
#include "engine/units.h"

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
        assert(workload->idle_since_ms == 0 || count > 0);
        assert(workload->idle_since_ms != 0 || workload->idle_done == IDLE_THEN_NOTHING);
        assert(!workload->demoted || count > 0);
        return count;
}

/* Who waits for whose end: links against counts. */
static void check_afters(const struct state *state)
{
        uint32_t links = 0, counted = 0;

        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (!workload->live)
                        continue;
                counted += workload->after_count;
                assert((workload->after_count > 0) == ((workload->holds & HOLD_AFTER) != 0));
                assert(workload->holds == 0 || workload->members_placed == 0 ||
                       workload->holds == HOLD_USER);
                for (uint32_t at = workload->first_after; at != 0;
                     at = state->afters[at - 1].next) {
                        const struct workload *waiter =
                                &state->workloads[state->afters[at - 1].waiter];
                        assert(waiter->live);
                        assert(waiter->members_placed == 0);
                        assert(waiter->after_count > 0);
                        links++;
                }
        }
        assert(links == counted);
        assert(links == state->after_slots.used);
}

static void check_arrays(const struct state *state)
{
        struct map counts = {0};
        uint32_t cursor = 0, value, entries = 0;
        uint64_t key;

        map_init(&counts, state->bounds.workloads_max);
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (!workload->live || workload->members_placed == 0 || workload->array == 0)
                        continue;
                uint32_t count = map_get(&counts, workload->array);
                int rc = map_set(&counts, workload->array, count == MAP_NONE ? 1 : count + 1);
                assert(rc == 0);
                (void)rc;
        }
        while (map_next(&counts, &cursor, &key, &value)) {
                assert(map_get(state->array_running, key) == value);
                entries++;
        }
        for (cursor = 0; map_next(state->array_running, &cursor, &key, &value); entries--)
                ;
        assert(entries == 0);
        map_done(&counts);
}

/* Locks against places, both ways; victims that still run; the beneficiary waits. */
static void check_plans(const struct state *state)
{
        uint32_t locked = 0, kept = 0, places = 0, plans = 0, noticed = 0;

        for (uint32_t p = 0; p < state->plan_slots.high; p++) {
                const struct plan *plan = &state->plans[p];
                uint32_t count = 0;
                if (!plan->live)
                        continue;
                plans++;
                assert(state->workloads[plan->beneficiary].live);
                assert(plan->cause == PLAN_MOVE ||
                       state->workloads[plan->beneficiary].members_placed == 0);
                assert(state->workloads[plan->beneficiary].plan == p + 1);
                for (uint32_t at = plan->first_place; at != NONE;
                     at = state->plan_places[at].next) {
                        const struct plan_place *place = &state->plan_places[at];
                        assert(state->nodes[place->node].status == NODE_UP);
                        for (unsigned i = 0; i < place->parts_count; i++)
                                assert(node_devices(state, place->node)[place->parts[i].device]
                                               .kept_for == p + 1);
                        kept += place->parts_count;
                        count++;
                }
                assert(count == plan->places);
                places += count;
                count = 0;
                for (uint32_t w = 0; w < state->workload_slots.high; w++)
                        count += state->workloads[w].live && state->workloads[w].plan == p + 1 &&
                                 state->workloads[w].members_placed > 0;
                assert(count == plan->victims);
        }
        for (uint32_t n = 0; n < state->node_slots.high; n++)
                for (unsigned d = 0; d < NODE_DEVICES_MAX; d++)
                        locked += state->nodes[n].status != NODE_FREE_SLOT &&
                                  node_devices(state, n)[d].kept_for != 0;
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (!workload->live)
                        continue;
                assert(workload->plan == 0 || state->plans[workload->plan - 1].live);
                assert(workload->plan == 0 || workload->members_placed == 0 ||
                       workload->notice_until_ms != 0);
                assert(workload->notice_until_ms == 0 || workload->members_placed > 0);
                noticed += workload->notice_until_ms != 0;
        }
        assert(locked <= kept);         /* parts of one plan may share a device */
        assert(plans == state->plan_slots.used);
        assert(places == state->plan_place_slots.used);
        assert(noticed == state->noticed);
}

static bool plane_is_frozen(const struct state *state, unsigned plane)
{
        bool frozen = state->frozen;

        for (uint32_t p = 0; p < state->frozen_planes_count; p++)
                frozen |= state->frozen_planes[p] == plane;
        return frozen;
}

static void check_window(const struct state *state, const struct node *node)
{
        int64_t from = 0, until = 0;

        maintenance_next(&state->maintenance, &node->desc, state->now_ms, &from, &until);
        assert(node->closed_from_ms == from);
        assert(node->closed_until_ms == until);
        assert(node->closed == (until > 0 && from <= state->now_ms));
}

static void check_groups(const struct state *state)
{
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (!workload->live || workload->group == 0)
                        continue;
                if (workload->group_prev == NONE) {
                        assert(map_get(state->first_of_group, workload->group) == w);
                } else {
                        assert(state->workloads[workload->group_prev].live);
                        assert(state->workloads[workload->group_prev].group_next == w);
                        assert(state->workloads[workload->group_prev].group == workload->group);
                }
        }
}

static void check_pool(const struct state *state)
{
        uint64_t capacity[MODELS_MAX] = {0}, used[MODELS_MAX] = {0};
        uint32_t held = 0, by_workloads = 0, closing = 0;

        for (uint32_t n = 0; n < state->node_slots.high; n++) {
                const struct node *node = &state->nodes[n];
                if (node->status == NODE_FREE_SLOT)
                        continue;
                assert(node->desc.devices <= state->devices_max);
                assert(node->frozen == plane_is_frozen(state, node->desc.plane));
                held += node->held_for != 0;
                closing += node_empty_by_ms(node) != INT64_MAX;
                check_window(state, node);
                assert(node->held_for == 0 ||
                       (state->workloads[node->held_for - 1].live &&
                        state->workloads[node->held_for - 1].members_placed == 0));
                for (unsigned d = 0; node_takes_work(node) && d < node->desc.devices; d++)
                        if (!node_devices(state, n)[d].state.broken)
                                capacity[node->desc.model] += UNITS_DEVICE;
                for (uint32_t m = node->first_member; m != NONE; m = state->members[m].node_next)
                        used[node->desc.model] += member_capacity(state, m);
        }
        for (uint32_t w = 0; w < state->workload_slots.high; w++)
                if (state->workloads[w].live)
                        by_workloads += state->workloads[w].nodes_held;
        assert(held == state->nodes_held);
        assert(closing == state->nodes_closing);
        assert(by_workloads == held);
        assert(memcmp(capacity, state->capacity, sizeof capacity) == 0);
        assert(memcmp(used, state->used, sizeof used) == 0);
}

void state_check(const struct state *state)
{
        uint64_t on_nodes = 0, of_workloads = 0, waiting = 0, live = 0, rescued = 0, idle = 0;

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
                idle += state->workloads[w].idle_since_ms != 0;
                if (state->workloads[w].rescued)
                        rescued += workload_units(state, w);
        }
        assert(on_nodes == of_workloads);
        assert(on_nodes == state->member_slots.used);
        assert(waiting == state->waiting);
        assert(live == state->workload_slots.used);
        assert(rescued == state->rescued_units);
        assert(idle == state->idle);
        check_pool(state);
        check_groups(state);
        check_afters(state);
        check_arrays(state);
        check_plans(state);
        if (state->accounts)
                accounts_check(state);
}
