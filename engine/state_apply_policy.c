/* Facts of the policy: standings, preemption, capacity holds, and time. */
#include <assert.h>
#include <string.h>

#include "engine/contact.h"
#include "engine/state_impl.h"

/* ---- preemption ---- */

static void apply_planned(struct state *state, const struct fact_planned *fact)
{
        uint32_t slot = slot_of(state, fact->beneficiary);
        uint32_t number = slot_take(&state->plan_slots, state->plans, sizeof *state->plans);

        assert(number == fact->plan);
        state->plans[number] = (struct plan){.beneficiary = slot,
                                             .first_place = NONE,
                                             .cause = (uint8_t)fact->cause,
                                             .until_ms = fact->until_ms,
                                             .live = true};
        state->workloads[slot].plan = number + 1;
        if (fact->cause == PLAN_MOVE)
                return;                 /* it runs: it did not ask in the queue's turn */
        state->asked_ms = state->now_ms;
        state->asked_slot = slot;
}

/* What the place needs of the node itself; `sign` 1 keeps it, -1 lets it go. */
static void keep_room(struct state *state, const struct plan *plan, uint32_t number, int sign)
{
        const struct workload *workload = &state->workloads[plan->beneficiary];
        const struct need *need = &state->shapes[state->buckets[workload->bucket].shape].need;
        struct node *node = &state->nodes[number];
        uint32_t by = (uint32_t)sign;   /* wraps for -1, as meant */

        node->cpu_kept += need->cpu_milli * by;
        node->ram_kept += need->ram_mib * by;
        node->disk_kept += need->disk_mib * by;
        node->network_kept += need->network_mbit * by;
        node_refresh(state, number);
}

static void apply_kept(struct state *state, const struct fact_kept *fact)
{
        struct plan *plan = &state->plans[fact->plan];
        uint32_t number = slot_take(&state->plan_place_slots, state->plan_places,
                                    sizeof *state->plan_places);
        struct plan_place *place = &state->plan_places[number];

        *place = (struct plan_place){.next = plan->first_place,
                                     .node = fact->place.node,
                                     .member = fact->place.member,
                                     .parts_count = fact->place.parts_count};
        memcpy(place->parts, fact->place.parts, sizeof place->parts);
        plan->first_place = number;
        plan->places++;
        for (unsigned i = 0; i < place->parts_count; i++)
                node_devices(state, place->node)[place->parts[i].device].kept_for =
                        fact->plan + 1;
        keep_room(state, plan, place->node, 1);
}

/* Counted in windows of rules.stop_rate. */
static void count_stopped(struct accounts *accounts, uint64_t units)
{
        int64_t window = accounts->tenancy->rules.stop_rate_ms;
        int64_t from = window > 0 ? accounts->at_ms - accounts->at_ms % window : 0;

        if (accounts->stopped_from_ms != from) {
                accounts->stopped_from_ms = from;
                accounts->stopped_units = 0;
        }
        accounts->stopped_units += units;
}

static void apply_noticed(struct state *state, const struct fact *fact)
{
        struct workload *workload = &state->workloads[slot_of(state, fact->noticed.workload)];

        if (!workload->notice_until_ms)
                state->noticed++;
        workload->notice_until_ms = fact->noticed.until_ms ? fact->noticed.until_ms : 1;
        workload->notice_cause = (uint8_t)fact->noticed.cause;
        workload->leave_by_ms = fact->noticed.leave_by_ms;
        if (fact->noticed.cause == NOTICE_IDLE)
                workload->idle_done = IDLE_THEN_STOP;
        if (fact->noticed.plan == NONE)
                return;
        if (fact->noticed.cause == NOTICE_PLAN)
                count_stopped(state->accounts, fact->noticed.units);
        workload->plan = fact->noticed.plan + 1;
        state->plans[fact->noticed.plan].victims++;
}

static void stays(struct state *state, uint32_t slot)
{
        struct workload *workload = &state->workloads[slot];

        if (workload->notice_cause == NOTICE_IDLE)
                workload->idle_done = IDLE_THEN_NOTHING;
        workload->notice_until_ms = workload->leave_by_ms = 0;
        workload->notice_cause = 0;
        state->noticed--;
        accounts_stays(state, slot);
}

/* The locks go; victims that still run are told that they may stay. */
static void apply_plan_ended(struct state *state, uint32_t number)
{
        struct plan *plan = &state->plans[number];

        for (uint32_t at = plan->first_place; at != NONE;) {
                struct plan_place place = state->plan_places[at];
                for (unsigned i = 0; i < place.parts_count; i++)
                        node_devices(state, place.node)[place.parts[i].device].kept_for = 0;
                keep_room(state, plan, place.node, -1);
                slot_give(&state->plan_place_slots, state->plan_places,
                          sizeof *state->plan_places, at);
                at = place.next;
        }
        for (uint32_t w = 0; plan->victims > 0; w++) {
                struct workload *victim = &state->workloads[w];
                if (!victim->live || victim->members_placed == 0 || victim->plan != number + 1)
                        continue;
                victim->plan = 0;
                plan->victims--;
                stays(state, w);
        }
        state->workloads[plan->beneficiary].plan = 0;
        slot_give(&state->plan_slots, state->plans, sizeof *state->plans, number);
        state->freed++;
}

static void apply_node_held(struct state *state, uint64_t id, uint32_t number, int64_t until_ms)
{
        uint32_t slot = slot_of(state, id);
        struct node *node = &state->nodes[number];

        if (node->held_for == 0) {
                state->workloads[slot].nodes_held++;
                state->nodes_held++;
        }
        assert(node->held_for == 0 || node->held_for == slot + 1);
        node->held_for = slot + 1;
        node->held_until_ms = until_ms;
        node_touch(state, number);
}

static void apply_node_let_go(struct state *state, uint32_t number)
{
        struct node *node = &state->nodes[number];

        assert(node->held_for != 0);
        state->workloads[node->held_for - 1].nodes_held--;
        state->nodes_held--;
        node->held_for = 0;
        node->held_until_ms = 0;
        node_touch(state, number);
        state->freed++;
}

/* What runs goes on without contact, or does not, as before: before the policy comes the mark is
 * that, behind it whether it differs from the class. */
static void mark_contact(struct state *state)
{
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                struct workload *workload = &state->workloads[w];
                if (workload->live && workload->members_placed > 0)
                        workload->contact_otherwise = workload_continues(state, workload);
        }
}

/* Tenants and classes of buckets are indexes of the new policy from now on. */
static void apply_policy(struct state *state, struct accounts *accounts)
{
        mark_contact(state);
        accounts_adopt(state, accounts);
        mark_contact(state);
        enter_buckets(state);
        state->policy_version++;
        state->order_version++;
        state->nodes_version++;         /* other planes and labels may be feasible */
        state->freed++;
}

/* What is expected and how old things are changes here only. */
void apply_time(struct state *state, int64_t now_ms)
{
        state->now_ms = now_ms;
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                struct workload *workload = &state->workloads[w];
                if (workload->live && (workload->holds & HOLD_START) &&
                    workload->start_ms <= now_ms)
                        workload->holds &= (uint8_t)~HOLD_START;
        }
        state->order_version++;
        if (now_ms >= state->maintenance_due_ms)
                maintenance_follow(state);
        if (!state->accounts)
                return;
        accounts_time(state, now_ms);
        run_times_freeze(state->accounts->times);
        state->freed++;
}

static void apply_rescued(struct state *state, uint64_t id)
{
        uint32_t slot = slot_of(state, id);

        state->workloads[slot].rescued = true;
        state->rescued_units += workload_units(state, slot);
        state->order_version++;
}

void apply_of_policy(struct state *state, const struct fact *fact)
{
        switch (fact->kind) {
        case FACT_RESCUED:
                apply_rescued(state, fact->rescued);
                break;
        case FACT_STANDING_SET:
                accounts_standing_set(state, slot_of(state, fact->standing.workload),
                                      fact->standing.standing, fact->standing.promise);
                break;
        case FACT_PROMISES_SEEN:
                state->accounts->dirty[fact->tree] = false;
                state->accounts->dirty_count--;
                break;
        case FACT_PLANNED:
                apply_planned(state, &fact->planned);
                break;
        case FACT_PLACE_KEPT:
                apply_kept(state, &fact->kept);
                break;
        case FACT_NOTICED:
                apply_noticed(state, fact);
                break;
        case FACT_NOTICE_WITHDRAWN:
                stays(state, slot_of(state, fact->stays));
                break;
        case FACT_PLAN_ENDED:
                apply_plan_ended(state, fact->plan_ended.plan);
                break;
        case FACT_NODE_HELD:
                apply_node_held(state, fact->node_held.workload, fact->node_held.node,
                                fact->node_held.until_ms);
                break;
        case FACT_NODE_LET_GO:
                apply_node_let_go(state, fact->node_held.node);
                break;
        case FACT_POLICY_IN:
                apply_policy(state, fact->accounts);
                break;
        default:
                assert(false);
        }
}

