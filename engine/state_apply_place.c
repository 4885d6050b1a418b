/* A workload takes its places, member by member, and leaves them all at once. */
#include <assert.h>

#include "engine/state_impl.h"

/* `sign` 1 takes what the need asks of the node itself, -1 gives it back. */
static void node_charge(struct state *state, uint32_t number, const struct need *need, int sign)
{
        struct node *node = &state->nodes[number];
        uint32_t by = (uint32_t)sign;   /* wraps for -1, as meant */

        node->cpu_used += need->cpu_milli * by;
        node->ram_used += need->ram_mib * by;
        node->disk_used += need->disk_mib * by;
        node->network_used += need->network_mbit * by;
        if (need->devices > 0)
                node->held[need_held(need)] = (uint16_t)(node->held[need_held(need)] + sign);
        node_refresh(state, number);
}

static void count_array(struct state *state, uint32_t array, int by)
{
        uint32_t running = map_get(state->array_running, array);

        if (array == 0)
                return;
        state->arrays_version++;
        running = (running == MAP_NONE ? 0 : running) + (uint32_t)by;
        if (running > 0)
                map_enter(state->array_running, array, running);
        else
                map_remove(state->array_running, array);
}

/* From the queue to its first place. */
static void start(struct state *state, uint32_t slot, enum standing standing,
                  struct promise promise, int64_t now_ms)
{
        struct workload *workload = &state->workloads[slot];

        unqueue(state, slot);
        workload->waited_ms += now_ms - workload->since_ms;
        workload->since_ms = now_ms;
        workload->saved_ms = 0;
        workload->displaced = false;
        workload->contact_otherwise = false;
        workload->eta_at_ms = 0;
        count_array(state, workload->array, 1);
        if (state->accounts)
                accounts_start(state, slot, standing, promise);
}

void apply_allocated(struct state *state, const struct fact_allocated *fact, int64_t now_ms)
{
        uint32_t slot = slot_of(state, fact->workload);
        struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];
        struct node *node = &state->nodes[fact->node];
        const struct model *model = node_model(state, fact->node);

        if (workload->members_placed == 0)
                start(state, slot, (enum standing)fact->standing, fact->promise, now_ms);
        uint32_t place = slot_take(&state->member_slots, state->members, sizeof *state->members);
        struct member *member = &state->members[place];
        *member = (struct member){.workload = slot,
                                  .node = fact->node,
                                  .next = workload->first_member,
                                  .node_next = node->first_member,
                                  .node_prev = NONE,
                                  .first_part = NONE,
                                  .number = fact->member,
                                  .parts_count = fact->parts_count};
        workload->first_member = place;
        workload->members_placed++;
        if (node->first_member != NONE)
                state->members[node->first_member].node_prev = place;
        node->first_member = place;
        for (unsigned i = fact->parts_count; i-- > 0;) {
                uint32_t held = slot_take(&state->part_slots, state->parts, sizeof *state->parts);
                state->parts[held] = (struct held_part){fact->parts[i], member->first_part};
                member->first_part = held;
                device_take(model, &node_devices(state, fact->node)[fact->parts[i].device].state,
                            &fact->parts[i]);
        }
        node_charge(state, fact->node, &state->shapes[bucket->shape].need, 1);
        state->used[node->desc.model] += member_capacity(state, place);
        if (state->accounts)
                accounts_member(state, place, 1);
}

static void free_member(struct state *state, uint32_t place, const struct need *need)
{
        struct member *member = &state->members[place];
        struct node *node = &state->nodes[member->node];
        const struct model *model = node_model(state, member->node);

        state->used[node->desc.model] -= member_capacity(state, place);
        if (state->accounts)
                accounts_member(state, place, -1);
        for (uint32_t held = member->first_part; held != NONE;) {
                const struct part *part = &state->parts[held].part;
                device_give(model, &node_devices(state, member->node)[part->device].state, part);
                uint32_t next = state->parts[held].next;
                slot_give(&state->part_slots, state->parts, sizeof *state->parts, held);
                held = next;
        }
        if (member->node_prev != NONE)
                state->members[member->node_prev].node_next = member->node_next;
        else
                node->first_member = member->node_next;
        if (member->node_next != NONE)
                state->members[member->node_next].node_prev = member->node_prev;
        node_charge(state, member->node, need, -1);
        slot_give(&state->member_slots, state->members, sizeof *state->members, place);
}

void leave_places(struct state *state, uint32_t slot)
{
        struct workload *workload = &state->workloads[slot];
        const struct need *need = &state->shapes[state->buckets[workload->bucket].shape].need;

        for (uint32_t place = workload->first_member; place != NONE;) {
                uint32_t next = state->members[place].next;
                free_member(state, place, need);
                place = next;
        }
        workload->first_member = NONE;
        workload->members_placed = 0;
        count_array(state, workload->array, -1);
        if (workload->notice_until_ms) {
                workload->notice_until_ms = workload->leave_by_ms = 0;
                workload->notice_cause = 0;
                state->noticed--;
        }
        state->idle -= workload->idle_since_ms != 0;
        workload->idle_since_ms = 0;
        workload->idle_done = IDLE_THEN_NOTHING;
        if (workload->plan) {
                struct plan *plan = &state->plans[workload->plan - 1];
                plan->victims--;
                if (plan->beneficiary != slot)  /* else it is moved: its places are kept */
                        workload->plan = 0;
        }
        if (state->accounts)
                accounts_end(state, slot);
        state->freed++;
}
