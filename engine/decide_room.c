/* Room for those who may ask for it: plans are made, and carried out when all victims are gone. */
#include "engine/queue_impl.h"

#include <string.h>

#include "base/err.h"
#include "engine/drain.h"
#include "engine/hold.h"
#include "engine/preempt.h"

/* ---- plans that are through ---- */

/* A hold, a limit, a budget, or a change of its nodes may have come in between. */
static bool may_take_over(const struct state *state, uint32_t number, int64_t now_ms)
{
        const struct workload *workload = &state->workloads[state->plans[number].beneficiary];
        struct admission admission;

        accounts_admit(state, workload->bucket, &admission);
        return may_start(state, workload) && best_standing(&admission) != STANDINGS_END &&
               tables_hold_places(state, &state->buckets[workload->bucket]) &&
               plan_fits(state, number, now_ms);
}

int hand_over(struct memo *memo, const struct state *state, uint32_t number, int64_t now_ms,
              struct err *err)
{
        const struct plan *plan = &state->plans[number];
        uint32_t slot = plan->beneficiary, bucket = state->workloads[slot].bucket;
        int rc = let_go_of_nodes(memo, state, slot, err);
        struct fact *fact = fact_add(memo, FACT_PLAN_ENDED);

        if (rc || !fact)
                return no_memory(err);
        fact->plan_ended.plan = number;
        fact->plan_ended.end = PLAN_DONE;
        uint32_t ended = memo->facts_count - 1;
        bool may = may_take_over(state, number, now_ms);
        for (uint32_t at = may ? plan->first_place : NONE; at != NONE;
             at = state->plan_places[at].next) {
                const struct plan_place *kept = &state->plan_places[at];
                struct fact_allocated place = {.workload = state->workloads[slot].id,
                                               .node = kept->node,
                                               .member = kept->member,
                                               .parts_count = kept->parts_count};
                memcpy(place.parts, kept->parts, sizeof place.parts);
                rc = allocate(memo, state, &place, err);
                if (rc)
                        return rc;
        }
        if (may && settle_standing(memo, state, bucket))
                return 0;
        memo->facts_count = ended + 1;
        memo->facts[ended].plan_ended.end = PLAN_WITHDRAWN;
        return 0;
}

uint32_t complete_plan(const struct state *state)
{
        uint32_t left = state->plan_slots.used;

        for (uint32_t p = 0; left > 0 && p < state->plan_slots.high; p++) {
                if (!state->plans[p].live)
                        continue;
                if (state->plans[p].victims == 0 && !plan_is_frozen(state, p))
                        return p;
                left--;
        }
        return NONE;
}

/* ---- making room ---- */

/* A tick's turn asks in order, each waiter once: after a plan it goes on behind whom that is for.
 * The last one that got a plan at this tick; false: none has. */
static bool asked_last(const struct state *state, struct contender *ret_last)
{
        if (state->asked_slot == NONE || state->asked_ms != state->now_ms ||
            !state->workloads[state->asked_slot].live)
                return false;
        ret_last->bucket = state->workloads[state->asked_slot].bucket;
        ret_last->waiter = waiter_of(state, state->asked_slot);
        accounts_admit(state, ret_last->bucket, &ret_last->admission);
        ret_last->standing = best_standing(&ret_last->admission);
        return true;
}

/* Everybody may ask for room at a tick; in between only who has just come. */
static uint32_t collect_asking(struct memo *memo, const struct state *state,
                               const struct input *input)
{
        uint32_t count = 0;

        if (input->kind == INPUT_SUBMITTED) {
                uint32_t slot = state_workload(state, input->request.workload);
                if (slot == NONE || state->workloads[slot].members_placed > 0 ||
                    state->workloads[slot].plan)
                        return 0;
                uint32_t bucket = state->workloads[slot].bucket;
                bool may = contend_alone(memo, state, bucket);
                memo->contending[bucket].it.waiter.slot = slot;
                memo->open[0] = bucket;
                return may && may_start(state, &state->workloads[slot]) &&
                       !state->workloads[slot].once;
        }
        if (input->kind != INPUT_TICKED)
                return 0;
        struct contender last;
        bool again = asked_last(state, &last);
        contend_follow(memo, state);
        for (uint32_t b = 0; b < state->buckets_count; b++)
                if (state->buckets[b].count > 0 && contend(memo, state, b) &&
                    !(again && order_before(state, &memo->contending[b].it, &last)))
                        memo->open[count++] = b;
        open_order(memo, state, count);
        return count;
}

static int ask_for(struct memo *memo, const struct state *state, const struct contender *it,
                   uint32_t slot, int64_t now_ms, struct err *err)
{
        enum plan_cause causes[PLAN_CAUSES_END];
        struct contender asking = *it;
        struct admission admission;

        asking.waiter.slot = slot;
        accounts_admit(state, it->bucket, &admission);
        unsigned count = plan_causes(state, &asking, now_ms, causes);
        for (unsigned c = 0; c < count; c++) {
                uint64_t models = admission.models[STANDING_PROTECTED];
                if (causes[c] != PLAN_PROTECT)
                        models |= admission.models[STANDING_STANDARD];
                int rc = decide_plan_for(memo, state, slot, models, causes[c], now_ms, err);
                if (rc == 0 && causes[c] == PLAN_TIME_SLICE)
                        rc = decide_plan_for(memo, state, slot, admission.models[STANDING_SPARE],
                                             causes[c], now_ms, err);
                if (rc != 0)
                        return rc;
        }
        return 0;
}

/* The bucket's waiters in order, until one finds no plan: those behind it would not either. */
static int ask_bucket(struct memo *memo, const struct state *state, const struct contender *it,
                      int64_t now_ms, struct err *err)
{
        uint32_t slot;

        for (uint32_t at = 0; line_next(memo, state, it->bucket, &at, &slot); at++) {
                if (state->workloads[slot].plan)
                        continue;
                return ask_for(memo, state, it, slot, now_ms, err);
        }
        return 0;
}

int make_room(struct memo *memo, const struct state *state, const struct input *input,
              int64_t now_ms, struct err *err)
{
        uint32_t count = collect_asking(memo, state, input);
        if (memo->out_of_memory)
                return no_memory(err);
        bool new = input->kind == INPUT_SUBMITTED;
        while (count > 0) {
                const struct contender *it = &memo->contending[memo->open[0]].it;
                memo->facts_count = 0;
                int rc = memo_sync(memo, state, err);
                if (rc == 0)
                        rc = new ? ask_for(memo, state, it, it->waiter.slot, now_ms, err)
                                 : ask_bucket(memo, state, it, now_ms, err);
                if (rc != 0)
                        return rc;
                memo->facts_count = 0;
                if (memo->failed)       /* a bounded table was full: nothing found counts */
                        memo->synced = false;
                open_pop(memo, state, &count);
        }
        return 0;
}
