/* The queue's lists: buckets by arrival, who waits for whose end, and groups. */
#include "engine/state_impl.h"

/* ---- buckets ---- */

void enqueue(struct state *state, uint32_t slot)
{
        struct workload *workload = &state->workloads[slot];
        struct bucket *bucket = &state->buckets[workload->bucket];
        uint32_t before = bucket->tail;

        while (before != NONE && state->workloads[before].arrival > workload->arrival)
                before = state->workloads[before].prev;
        workload->prev = before;
        workload->next = before != NONE ? state->workloads[before].next : bucket->head;
        if (before != NONE)
                state->workloads[before].next = slot;
        else
                bucket->head = slot;
        if (workload->next != NONE)
                state->workloads[workload->next].prev = slot;
        else
                bucket->tail = slot;
        bucket->count++;
        state->waiting++;
}

void unqueue(struct state *state, uint32_t slot)
{
        struct workload *workload = &state->workloads[slot];
        struct bucket *bucket = &state->buckets[workload->bucket];

        if (workload->prev != NONE)
                state->workloads[workload->prev].next = workload->next;
        else
                bucket->head = workload->next;
        if (workload->next != NONE)
                state->workloads[workload->next].prev = workload->prev;
        else
                bucket->tail = workload->prev;
        bucket->count--;
        state->waiting--;
        workload->next = workload->prev = NONE;
}

/* ---- those whose end it waits for ---- */

/* Links it to the live workloads whose end it waits for. */
void link_after(struct state *state, uint32_t slot, const struct request *request)
{
        struct workload *workload = &state->workloads[slot];

        for (unsigned i = 0; i < request->after_count; i++) {
                uint32_t other = state_workload(state, request->after[i]);
                if (other == NONE)
                        continue;
                uint32_t link = slot_take(&state->after_slots, state->afters,
                                          sizeof *state->afters);
                state->afters[link] = (struct after_link){slot,
                                                          state->workloads[other].first_after};
                state->workloads[other].first_after = link + 1;
                workload->after_count++;
        }
        if (workload->after_count > 0)
                workload->holds |= HOLD_AFTER;
}

/* Its end lets go of those that waited for it. */
void unlink_after(struct state *state, uint32_t slot)
{
        for (uint32_t at = state->workloads[slot].first_after; at != 0;) {
                struct after_link link = state->afters[at - 1];
                struct workload *waiter = &state->workloads[link.waiter];
                if (--waiter->after_count == 0)
                        waiter->holds &= (uint8_t)~HOLD_AFTER;
                slot_give(&state->after_slots, state->afters, sizeof *state->afters, at - 1);
                at = link.next;
                state->order_version++;
                state->freed++;
        }
        state->workloads[slot].first_after = 0;
}

/* It waits for nobody any more. */
void unlink_waiter(struct state *state, uint32_t slot)
{
        if (state->workloads[slot].after_count == 0)
                return;
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                if (!state->workloads[w].live)
                        continue;
                for (uint32_t *at = &state->workloads[w].first_after; *at != 0;) {
                        uint32_t link = *at - 1;
                        if (state->afters[link].waiter == slot) {
                                *at = state->afters[link].next;
                                slot_give(&state->after_slots, state->afters,
                                          sizeof *state->afters, link);
                        } else {
                                at = &state->afters[link].next;
                        }
                }
        }
}

/* ---- groups ---- */

void join_group(struct state *state, uint32_t slot)
{
        struct workload *workload = &state->workloads[slot];

        if (workload->group == 0)
                return;
        workload->group_next = map_get(state->first_of_group, workload->group);
        if (workload->group_next != NONE)
                state->workloads[workload->group_next].group_prev = slot;
        map_enter(state->first_of_group, workload->group, slot);
}

void leave_group(struct state *state, uint32_t slot)
{
        const struct workload *workload = &state->workloads[slot];

        if (workload->group == 0)
                return;
        if (workload->group_next != NONE)
                state->workloads[workload->group_next].group_prev = workload->group_prev;
        if (workload->group_prev != NONE)
                state->workloads[workload->group_prev].group_next = workload->group_next;
        else if (workload->group_next != NONE)
                map_enter(state->first_of_group, workload->group, workload->group_next);
        else
                map_remove(state->first_of_group, workload->group);
}
