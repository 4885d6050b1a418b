/* The only code that changes a state. decide() has checked that everything fits. */
#include <assert.h>
#include <string.h>

#include "engine/state_impl.h"

/* ---- queue ---- */

/* Into its bucket, by arrival: at the end, unless it was there before. */
static void enqueue(struct state *state, uint32_t slot)
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

/* Links it to the live workloads whose end it waits for. */
static void link_after(struct state *state, uint32_t slot, const struct request *request)
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
static void unlink_after(struct state *state, uint32_t slot)
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
static void unlink_waiter(struct state *state, uint32_t slot)
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

static void join_group(struct state *state, uint32_t slot)
{
        struct workload *workload = &state->workloads[slot];

        if (workload->group == 0)
                return;
        workload->group_next = map_get(state->first_of_group, workload->group);
        if (workload->group_next != NONE)
                state->workloads[workload->group_next].group_prev = slot;
        map_enter(state->first_of_group, workload->group, slot);
}

static void leave_group(struct state *state, uint32_t slot)
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

static void apply_queued(struct state *state, const struct request *request, int64_t now_ms)
{
        uint32_t slot = slot_take(&state->workload_slots, state->workloads,
                                  sizeof *state->workloads);
        uint32_t number = intern_bucket(state, request);
        uint8_t holds = request->user_hold ? HOLD_USER : 0;

        if (request->start_ms > now_ms)
                holds |= HOLD_START;
        state->workloads[slot] =
                (struct workload){.id = request->workload,
                                  .arrival = state->arrivals++,
                                  .submitted_ms = now_ms,
                                  .since_ms = now_ms,
                                  .start_ms = request->start_ms,
                                  .time_limit_ms = request->time_limit_ms,
                                  .checkpoint_every_ms = request->checkpoint_every_ms,
                                  .checkpoint_within_ms = request->checkpoint_within_ms,
                                  .bucket = number,
                                  .first_member = NONE,
                                  .array = request->array,
                                  .array_at_once = request->array_at_once,
                                  .group = request->group,
                                  .group_next = NONE,
                                  .group_prev = NONE,
                                  .retries = request->retries,
                                  .holds = holds,
                                  .once = request->once,
                                  .service = request->service,
                                  .serve = request->serve,
                                  .live = true};
        map_enter(state->workload_by_id, request->workload, slot);
        link_after(state, slot, request);
        join_group(state, slot);
        enqueue(state, slot);
        if (state->accounts)
                accounts_queued(state, slot, 1);
}

static void unqueue(struct state *state, uint32_t slot)
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

/* ---- placing ---- */

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

static void apply_allocated(struct state *state, const struct fact_allocated *fact, int64_t now_ms)
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

/* It leaves its places: for good, or back to the queue. */
static void leave_places(struct state *state, uint32_t slot)
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

static void learn(struct state *state, uint32_t slot, int64_t now_ms)
{
        const struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];

        if (!state->accounts || workload->service)
                return;
        run_times_add(state->accounts->times, bucket->tenant,
                      run_times_width(bucket_devices(state, bucket)),
                      workload->attained_ms + now_ms - workload->since_ms);
}

/* The workload is gone: from the queue, or from all its places. */
static void apply_gone(struct state *state, uint64_t id, enum release_cause cause, int64_t now_ms)
{
        uint32_t slot = slot_of(state, id);
        struct workload *workload = &state->workloads[slot];

        assert(workload->nodes_held == 0);
        if (cause == RELEASE_EXITED)
                learn(state, slot, now_ms);
        if (workload->members_placed == 0) {
                assert(workload->plan == 0);
                unqueue(state, slot);
        } else {
                leave_places(state, slot);
        }
        if (state->accounts)
                accounts_queued(state, slot, -1);
        if (workload->rescued)
                state->rescued_units -= workload_units(state, slot);
        unlink_after(state, slot);
        unlink_waiter(state, slot);
        leave_group(state, slot);
        map_remove(state->workload_by_id, id);
        slot_give(&state->workload_slots, state->workloads, sizeof *state->workloads, slot);
}

static void apply_requeued(struct state *state, const struct fact_requeued *fact, int64_t now_ms)
{
        uint32_t slot = slot_of(state, fact->workload);
        struct workload *workload = &state->workloads[slot];
        int64_t today = now_ms - now_ms % CALENDAR_DAY_MS;

        leave_places(state, slot);
        workload->attained_ms = fact->attained_ms;
        workload->saved_ms = 0;
        workload->since_ms = now_ms;
        if (fact->cause == RELEASE_FAILED)
                workload->retries--;
        workload->displaced = workload->service && (fact->cause == RELEASE_LOST ||
                                                    fact->cause == RELEASE_DRAINED);
        if (workload->stops_from_ms != today) {
                workload->stops_from_ms = today;
                workload->stops = 0;
        }
        if (fact->counts)
                workload->stops++;
        enqueue(state, slot);
        state->order_version++;
}

static void apply_eta(struct state *state, const struct eta_set *eta, int64_t now_ms)
{
        struct workload *workload = &state->workloads[slot_of(state, eta->workload)];

        workload->eta_at_ms = eta->coverage_pct > 0 ? now_ms : 0;
        workload->eta_p50_s = (uint32_t)(eta->p50_ms / 1000);
        workload->eta_p90_s = (uint32_t)(eta->p90_ms / 1000);
        workload->eta_coverage_pct = eta->coverage_pct;
}

/* Idle since a later time than before: it was used in between, and another spell has begun. */
static void apply_use(struct state *state, const struct use_report *use)
{
        uint32_t slot = slot_of(state, use->workload);
        struct workload *workload = &state->workloads[slot];

        state->idle -= workload->idle_since_ms != 0;
        state->idle += use->idle_since_ms != 0;
        if (use->idle_since_ms == 0 || use->idle_since_ms > workload->idle_since_ms) {
                workload->idle_done = IDLE_THEN_NOTHING;
                if (workload->demoted)
                        accounts_stays(state, slot);
        }
        workload->idle_since_ms = use->idle_since_ms;
}

static void apply_of_queue(struct state *state, const struct fact *fact, int64_t now_ms)
{
        struct workload *workload;

        switch (fact->kind) {
        case FACT_QUEUED:
                apply_queued(state, &fact->queued, now_ms);
                break;
        case FACT_REFUSED:
                if (state_workload(state, fact->refused.workload) != NONE)
                        apply_gone(state, fact->refused.workload, RELEASE_CANCELLED, now_ms);
                break;
        case FACT_ALLOCATED:
                apply_allocated(state, &fact->allocated, now_ms);
                break;
        case FACT_RELEASED:
                apply_gone(state, fact->released.workload, fact->released.cause, now_ms);
                break;
        case FACT_REQUEUED:
                apply_requeued(state, &fact->requeued, now_ms);
                break;
        case FACT_CHECKPOINT_SET:
                workload = &state->workloads[slot_of(state, fact->checkpoint.workload)];
                workload->saved_ms = fact->checkpoint.saved_ms;
                break;
        case FACT_USE_SET:
                apply_use(state, &fact->use);
                break;
        case FACT_IDLE_WARNED:
                state->workloads[slot_of(state, fact->warned)].idle_done = IDLE_THEN_WARN;
                break;
        case FACT_HOLDS_SET:
                workload = &state->workloads[slot_of(state, fact->holds.workload)];
                workload->holds = fact->holds.holds;
                state->order_version++;
                state->freed++;
                break;
        case FACT_ETA_SET:
                apply_eta(state, &fact->eta, now_ms);
                break;
        default:
                assert(false);
        }
}

void state_apply(struct state *state, const struct fact *fact, int64_t now_ms)
{
        if (state->accounts)
                state->accounts->at_ms = now_ms;
        state->moves_version += fact->kind != FACT_QUEUED;
        switch (fact->kind) {
        case FACT_QUEUED:
        case FACT_REFUSED:
        case FACT_ALLOCATED:
        case FACT_RELEASED:
        case FACT_REQUEUED:
        case FACT_CHECKPOINT_SET:
        case FACT_USE_SET:
        case FACT_IDLE_WARNED:
        case FACT_HOLDS_SET:
        case FACT_ETA_SET:
                apply_of_queue(state, fact, now_ms);
                break;
        case FACT_RESCUED:
        case FACT_STANDING_SET:
        case FACT_PROMISES_SEEN:
        case FACT_PLANNED:
        case FACT_PLACE_KEPT:
        case FACT_NOTICED:
        case FACT_NOTICE_WITHDRAWN:
        case FACT_PLAN_ENDED:
        case FACT_NODE_HELD:
        case FACT_NODE_LET_GO:
        case FACT_POLICY_IN:
                apply_of_policy(state, fact);
                break;
        case FACT_FREEZE_IN:
        case FACT_MAINTENANCE_IN:
        case FACT_LAYOUT_STEP:
        case FACT_LAYOUT_SEEN:
        case FACT_NODE_SET:
        case FACT_NODE_DOWN:
        case FACT_NODE_GONE:
        case FACT_DEMAND_SET:
                apply_of_pool(state, fact);
                break;
        case FACT_TIME_SET:
                apply_time(state, fact->now_ms);
                break;
        case FACTS_END:
                assert(false);
        }
        if (state->accounts && state->accounts->opened) {
                state->accounts->opened = false;
                state->freed++;
        }
}
