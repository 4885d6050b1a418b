/* The queue's turn: in order (order.h); what does not fit lets others pass, as far as capacity
 * holds allow; then room is made for those who may ask for it. */
#include "engine/queue_impl.h"

#include "base/err.h"
#include "engine/drain.h"
#include "engine/hold.h"
#include "engine/idle.h"
#include "engine/preempt.h"

/* ---- trying ---- */

/* Work of a bucket differs in how long it runs: on held nodes the first that is gone in time. */
#define WAITERS_TRIED 64

static int try_waiter(struct memo *memo, const struct state *state, const struct contender *it,
                      uint32_t slot, int64_t now_ms, struct err *err)
{
        const struct admission *admission = &it->admission;

        if (!state->accounts)
                return place_on_some(memo, state, slot, UINT64_MAX, now_ms, err);
        bool gang = form_is_gang(&state->buckets[it->bucket].form);
        uint64_t models = 0;
        for (unsigned s = it->standing; s < STANDINGS_END; s++) {
                if (admission->models[s] == 0)
                        continue;
                /* Members may need models that it may hold in different standings. */
                models = admission->models[s] | (gang ? models : 0);
                int rc = place_on_some(memo, state, slot, models, now_ms, err);
                if (rc != 0)
                        return rc;
        }
        return 0;
}

/* 1: facts of a start were added; 0: nothing of the bucket can start. */
static int try_bucket(struct memo *memo, const struct state *state, const struct contender *it,
                      bool alone, int64_t now_ms, struct err *err)
{
        const struct bucket *bucket = &state->buckets[it->bucket];
        uint32_t slot;
        int64_t failed_ms = INT64_MAX;  /* the least that was too late, or did not fit */
        uint32_t failed_group = 0;      /* that lies everywhere already */
        unsigned tried = 0;

        if (memo_sync(memo, state, err) != 0)
                return no_memory(err);
        /* Work that is alone in its turn is simply tried. */
        if (state->accounts && !alone && !contend_shape_fits(memo, state, bucket->shape, now_ms))
                return 0;
        for (uint32_t at = 0; tried < WAITERS_TRIED; at++) {
                if (!line_next(memo, state, it->bucket, &at, &slot))
                        break;
                uint32_t group = state->workloads[slot].group;
                if (group && group == failed_group)
                        continue;
                tried++;
                int64_t leaves = leaves_ms(state, slot, now_ms);
                if (state->nodes_held == 0 && leaves >= failed_ms)
                        continue;
                int rc = try_waiter(memo, state, it, slot, now_ms, err);
                if (rc != 0)
                        return rc;
                failed_group = bucket->form.spread != SPREAD_NONE ? group : 0;
                if (failed_group)       /* what bars it need not bar others */
                        continue;
                if (state->nodes_held == 0 && state->nodes_closing == 0)
                        break;
                failed_ms = leaves < failed_ms ? leaves : failed_ms;
        }
        return 0;
}

static void settle(struct memo *memo, const struct state *state)
{
        memo->settled = !memo->refused_late;
        memo->settled_freed = state->freed;
        memo->settled_arrivals = state->arrivals;
}

/* Who was only to be placed at once, and was not, is refused. */
static int refuse_once(struct memo *memo, const struct state *state, const struct input *input,
                       struct err *err)
{
        if (input->kind != INPUT_SUBMITTED)
                return 0;
        uint32_t slot = state_workload(state, input->request.workload);
        if (slot == NONE || !state->workloads[slot].once ||
            state->workloads[slot].members_placed > 0)
                return 0;
        return refuse(memo, input->request.workload, GATE_FIT, NULL, err);
}

/* ---- what comes before anybody starts ---- */

/* What standing running work could have now: standard work that of a promise which has room, what
 * idleness made spare its old one, once it is used again. */
static enum standing better_standing(const struct state *state, uint32_t slot,
                                     struct promise *ret_promise)
{
        const struct workload *workload = &state->workloads[slot];
        bool standard = workload->standing == STANDING_STANDARD;
        bool used_again = workload->demoted && workload->idle_done == IDLE_THEN_NOTHING &&
                          !idle_demotes(state, workload, state->now_ms);
        uint16_t tenant = state->buckets[workload->bucket].tenant;
        struct holding holding;

        if (workload->plan || !(standard || used_again))
                return (enum standing)workload->standing;
        holding_of(state, slot, &holding);
        if (!standard)
                return accounts_rise(state, workload->bucket, &holding, ret_promise);
        return accounts_draw(state, tenant, &holding, ret_promise) ? STANDING_PROTECTED
                                                                   : STANDING_STANDARD;
}

/* Running work that what came free of a promise now covers, in order of admission. */
static int raise_standings(struct memo *memo, const struct state *state, struct err *err)
{
        const struct accounts *accounts = state->accounts;
        struct fact *fact;
        uint32_t root = 0;

        while (!accounts->dirty[root])
                root++;
        for (uint32_t slot = accounts->first[root]; slot != NONE;
             slot = state->workloads[slot].next) {
                const struct workload *workload = &state->workloads[slot];
                struct promise promise = {0};
                enum standing standing = better_standing(state, slot, &promise);
                if (standing == (enum standing)workload->standing)
                        continue;
                fact = fact_add(memo, FACT_STANDING_SET);
                if (!fact)
                        return no_memory(err);
                fact->standing.workload = workload->id;
                fact->standing.standing = standing;
                fact->standing.promise = promise;
                return 0;               /* the promise has less from here on: one at a time */
        }
        fact = fact_add(memo, FACT_PROMISES_SEEN);
        if (!fact)
                return no_memory(err);
        fact->tree = (uint16_t)root;
        return 0;
}

/* ---- the turn ---- */

/* Inputs by which a node may no longer have to be empty, or only later; or by which idle work is
 * used, or may be idle for longer. */
static bool may_put_off(enum input_kind kind)
{
        return kind == INPUT_TICKED || kind == INPUT_NODE_CHANGED ||
               kind == INPUT_NODE_DESCRIBED ||
               kind == INPUT_MAINTENANCE_SET || kind == INPUT_USE_REPORTED ||
               kind == INPUT_POLICY_SET;
}

static int turn_before(struct memo *memo, const struct state *state, const struct input *input,
                       int64_t now_ms, unsigned step, struct err *err)
{
        uint32_t plan;

        if (step == 1 && may_put_off(input->kind)) {
                int rc = decide_stays(memo, state, now_ms, err);
                if (rc)
                        return rc;
        }
        if (step == 1 && input->kind == INPUT_TICKED) {
                int rc = memo_sync(memo, state, err);
                rc = rc ? rc : decide_overtime(memo, state, now_ms, err);
                rc = rc ? rc : decide_drains(memo, state, now_ms, err);
                rc = rc ? rc : decide_idle(memo, state, now_ms, err);
                rc = rc ? rc : decide_rescues(memo, state, now_ms, err);
                rc = rc ? rc : decide_holds(memo, state, now_ms, err);
                if (rc)
                        return rc;
        }
        if (memo->facts_count > 0)
                return 1;
        if (state->accounts->dirty_count > 0) {
                int rc = raise_standings(memo, state, err);
                return rc ? rc : 1;
        }
        plan = complete_plan(state);
        if (plan == NONE)
                return 0;
        int rc = hand_over(memo, state, plan, now_ms, err);
        return rc ? rc : 1;
}

static int start_one(struct memo *memo, const struct state *state, const struct input *input,
                     int64_t now_ms, bool *ret_last, struct err *err)
{
        uint32_t count = contend_collect(memo, state, input, now_ms);

        if (memo->out_of_memory)
                return no_memory(err);
        while (count > 0) {
                const struct contender *it = &memo->contending[memo->open[0]].it;
                int rc = try_bucket(memo, state, it, count == 1, now_ms, err);
                if (rc < 0)
                        return rc;
                if (rc == 1) {
                        const struct bucket *bucket = &state->buckets[it->bucket];
                        *ret_last = contend_only_new(memo, state, input) && bucket->count == 1 &&
                                    !(state->accounts &&
                                      accounts_start_opens(state->accounts, bucket->tenant));
                        if (*ret_last)
                                settle(memo, state);
                        return 1;
                }
                if (!memo->refused_late)
                        memo->blocked[it->bucket] = state->freed + 1;
                open_pop(memo, state, &count);
        }
        return 0;
}

int decide_queue(struct memo *memo, const struct state *state, const struct input *input,
                 int64_t now_ms, unsigned step, bool *ret_more, struct err *err)
{
        bool last = false;
        int rc = 0;

        memo->out_of_memory = memo->refused_late = false;
        memo->facts_count = 0;
        if (!contend_room(memo, state))
                return no_memory(err);
        if (state->accounts)
                rc = turn_before(memo, state, input, now_ms, step, err);
        if (rc == 0 && !state->frozen)
                rc = start_one(memo, state, input, now_ms, &last, err);
        if (rc == 0 && state->accounts && !state->frozen) {
                settle(memo, state);
                rc = make_room(memo, state, input, now_ms, err);
        }
        if (rc < 0)
                return rc;
        *ret_more = rc == 1 && !last;
        if (rc == 1)
                return 0;
        settle(memo, state);
        return refuse_once(memo, state, input, err);
}
