/* The only code that changes a state. decide() has checked that everything fits. */
#include <assert.h>

#include "engine/state_impl.h"

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
