/* The hash of a state: everything that decisions depend on. */
#include <string.h>

#include "base/map.h"
#include "engine/accounts.h"
#include "engine/price.h"

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
        map_chain(hash, (uint64_t)desc->drain_by_ms);
        map_chain(hash, (uint64_t)desc->cpu_milli << 32 | node->cpu_used);
        map_chain(hash, (uint64_t)desc->ram_mib << 32 | node->ram_used);
        map_chain(hash, (uint64_t)desc->disk_mib << 32 | node->disk_used);
        map_chain(hash, (uint64_t)desc->network_mbit << 32 | node->network_used);
        map_chain(hash, desc->artifacts);
        map_chain(hash, (uint64_t)node->held_for << 8 | node->frozen);
        map_chain(hash, (uint64_t)node->held_until_ms);
        map_chain(hash, (uint64_t)node->closed_from_ms << 1 | node->closed);
        map_chain(hash, (uint64_t)node->closed_until_ms);
        for (unsigned d = 0; d < desc->devices; d++) {
                const struct device *device = &node_devices(state, number)[d];
                mix_bytes(hash, &device->state, sizeof device->state);
                map_chain(hash, (uint64_t)device->epoch << 32 | device->seen_epoch);
                map_chain(hash, (uint64_t)device->kept_for << 8 | device->cut);
        }
}

static void hash_workload(const struct state *state, uint32_t slot, uint64_t *hash)
{
        const struct workload *workload = &state->workloads[slot];

        map_chain(hash, workload->id);
        map_chain(hash, workload->arrival);
        map_chain(hash, (uint64_t)workload->since_ms);
        map_chain(hash, (uint64_t)workload->bucket << 32 | workload->members_placed);
        map_chain(hash, (uint64_t)workload->submitted_ms);
        map_chain(hash, (uint64_t)workload->waited_ms);
        map_chain(hash, (uint64_t)workload->attained_ms);
        map_chain(hash, (uint64_t)workload->saved_ms);
        map_chain(hash, (uint64_t)workload->start_ms);
        map_chain(hash, (uint64_t)workload->time_limit_ms);
        map_chain(hash, (uint64_t)workload->checkpoint_every_ms);
        map_chain(hash, (uint64_t)workload->checkpoint_within_ms);
        map_chain(hash, (uint64_t)workload->notice_until_ms);
        map_chain(hash, (uint64_t)workload->leave_by_ms << 8 | workload->notice_cause);
        map_chain(hash, (uint64_t)workload->idle_since_ms);
        map_chain(hash, (uint64_t)workload->idle_done << 8 | workload->demoted);
        map_chain(hash, (uint64_t)workload->stops_from_ms);
        map_chain(hash, (uint64_t)workload->plan << 32 | workload->nodes_held);
        map_chain(hash, (uint64_t)workload->array << 32 | workload->array_at_once);
        map_chain(hash, (uint64_t)workload->stops << 48 | (uint64_t)workload->retries << 32 |
                                (uint64_t)workload->after_count << 24 |
                                (uint64_t)workload->standing << 16 |
                                (uint64_t)workload->holds << 8 |
                                (uint64_t)workload->displaced << 2 |
                                (uint64_t)workload->rescued << 1 | workload->service);
        map_chain(hash, (uint64_t)workload->promise.tenant << 8 | workload->promise.any);
        map_chain(hash, (uint64_t)workload->group << 8 |
                                (uint64_t)workload->contact_otherwise << 1 | workload->serve);
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

/* Sums follow from the workloads; what is past does not. */
static void hash_accounts(const struct accounts *accounts, uint64_t *hash)
{
        map_chain(hash, accounts->tenancy->revision);
        map_chain(hash, run_times_hash(accounts->times, accounts->tenants));
        map_chain(hash, (uint64_t)accounts->stopped_from_ms);
        map_chain(hash, accounts->stopped_units);
        for (uint32_t t = 0; t < accounts->tenants; t++) {
                map_chain(hash, (uint64_t)accounts->counted_ms[t] << 1 | accounts->dirty[t]);
                for (unsigned b = 0; b < accounts->tenancy->tenants[t].budgets_count; b++) {
                        const struct budget_use *use =
                                &accounts->budgets[t * TENANT_BUDGETS_MAX + b];
                        map_chain(hash, (uint64_t)use->used);
                        map_chain(hash, (uint64_t)(use->used >> 64));
                }
        }
}

static void hash_plans(const struct state *state, uint64_t *hash)
{
        for (uint32_t p = 0; p < state->plan_slots.high; p++) {
                const struct plan *plan = &state->plans[p];
                if (!plan->live)
                        continue;
                map_chain(hash, (uint64_t)p << 32 | plan->beneficiary);
                map_chain(hash, (uint64_t)plan->victims << 32 | plan->places);
                map_chain(hash, (uint64_t)plan->until_ms);
        }
}

static void hash_maintenance(const struct state *state, uint64_t *hash)
{
        map_chain(hash, state->maintenance.count);
        for (uint32_t w = 0; w < state->maintenance.count; w++) {
                const struct maintenance_window *window = &state->maintenance.windows[w];
                mix_bytes(hash, window->name, sizeof window->name);
                map_chain(hash, (uint64_t)window->node << 16 | window->plane);
                map_chain(hash, (uint64_t)window->when.from_ms);
                map_chain(hash, (uint64_t)window->when.until_ms);
                map_chain(hash, (uint64_t)window->when.every_ms);
                map_chain(hash, (uint64_t)window->when.last_ms);
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
                map_chain(&hash, (uint64_t)bucket->shape << 32 | (uint32_t)bucket->priority);
                map_chain(&hash, (uint64_t)bucket->tenant << 32 | (uint64_t)bucket->class << 8 |
                                         bucket->spare);
                mix_bytes(&hash, &bucket->form, sizeof bucket->form);
                for (uint32_t slot = bucket->head; slot != NONE;
                     slot = state->workloads[slot].next)
                        map_chain(&hash, state->workloads[slot].id);
        }
        for (uint32_t w = 0; w < state->workload_slots.high; w++)
                if (state->workloads[w].live)
                        hash_workload(state, w, &hash);
        if (state->accounts)
                hash_accounts(state->accounts, &hash);
        hash_plans(state, &hash);
        map_chain(&hash, (uint64_t)state->frozen << 32 | state->frozen_planes_count);
        hash_maintenance(state, &hash);
        map_chain(&hash, state->plan_set);
        if (state->plan_set)
                hash_plan(state, &hash);
        map_chain(&hash, (uint64_t)state->now_ms);
        map_chain(&hash, state->asked_ms == state->now_ms ? state->asked_slot : NONE);
        map_chain(&hash, state->arrivals);
        return hash;
}
