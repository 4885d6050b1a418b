/* The record as a whole: who asks, the gates in their order, the verdict. */
#include "engine/explain.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/contact.h"
#include "engine/decide_impl.h"
#include "engine/explain_impl.h"
#include "engine/nearest.h"
#include "engine/preempt.h"
#include "engine/rights.h"

/* ---- life ---- */

static int no_room(struct err *err)
{
        return err_set(err, ERR_NOMEM, "out of memory while explaining");
}

/* The memo's conditions may have been numbered anew. */
static int follow(struct explainer *x, struct err *err)
{
        int rc = memo_sync(x->memo, x->state, err);

        if (rc)
                return rc;
        x->rooms_of = 0;
        if (x->memo->spots_count >= x->rooms_room) {
                mem_free(x->rooms);
                x->rooms_room = x->memo->spots_count + 64;
                x->rooms = mem_new(x->rooms_room, sizeof *x->rooms);
        }
        if (x->memo->classes_high > x->classes_room || !x->shorts) {
                mem_free(x->shorts);
                mem_free(x->codes);
                x->classes_room = x->memo->classes_high + 64;
                x->shorts = mem_new(x->classes_room, 1);
                x->codes = mem_new(x->classes_room, 1);
        }
        return x->rooms && x->shorts && x->codes ? 0 : no_room(err);
}

int explainer_init(struct explainer *x, struct memo *memo, const struct state *state,
                   int64_t now_ms, struct err *err)
{
        *x = (struct explainer){.memo = memo, .state = state, .now_ms = now_ms};
        map_init(&x->domains, MAP_ENTRIES_MAX);
        if (memo->state != state)
                memo_adopt(memo, state);
        return follow(x, err);
}

void explainer_done(struct explainer *x)
{
        mem_free(x->rooms);
        mem_free(x->shorts);
        mem_free(x->codes);
        mem_free(x->sums);
        map_done(&x->domains);
}

/* ---- gates ---- */

static void look_at_holds(struct explainer *x, uint32_t slot, struct explanation *ret)
{
        const struct workload *workload = &x->state->workloads[slot];
        uint32_t running =
                workload->array ? map_get(x->state->array_running, workload->array) : MAP_NONE;

        ret->holds = workload->holds;
        ret->after_left = workload->after_count;
        ret->start_ms = workload->start_ms;
        ret->array_running = running == MAP_NONE ? 0 : running;
        ret->array_at_once = workload->array ? workload->array_at_once : 0;
        if (ret->array_at_once > 0 && ret->array_running >= ret->array_at_once)
                ret->holds |= HOLD_ARRAY;
        ret->gates[GATE_HOLD].passed = ret->holds == 0;
}

static void look_at_request(const struct explainer *x, const struct request *request,
                            struct explanation *ret)
{
        uint32_t left = 0;

        ret->holds = request->user_hold ? HOLD_USER : 0;
        ret->start_ms = request->start_ms;
        ret->holds |= request->start_ms > x->now_ms ? HOLD_START : 0;
        for (unsigned i = 0; i < request->after_count; i++)
                left += state_workload(x->state, request->after[i]) != NONE;
        ret->after_left = left;
        ret->holds |= left > 0 ? HOLD_AFTER : 0;
        ret->gates[GATE_HOLD].passed = ret->holds == 0;
}

/* Sets of models on which it might be placed as a whole. */
static unsigned place_sets(const struct asking *asking, const struct rights *rights, bool all,
                           uint64_t sets[STANDINGS_END])
{
        uint64_t barred = rights->limited | rights->unfunded;
        bool gang = form_is_gang(&asking->form);
        unsigned count = 0;

        for (unsigned s = 0; s < STANDINGS_END; s++) {
                if (rights->models[s] == 0)
                        continue;
                sets[count] = rights->models[s] | (all ? rights->kept : 0);
                if (gang && count > 0) /* members may lie on models of different standings */
                        sets[count] |= sets[count - 1];
                count++;
        }
        if (count > 0)
                return count;
        if (rights->kept == 0)
                sets[count++] = barred; /* a limit is in the way: as if it were not */
        else if (all)
                sets[count++] = rights->kept;
        return count;
}

static bool fits_in(struct explainer *x, const struct asking *asking, const struct rights *rights,
                    bool all)
{
        uint64_t sets[STANDINGS_END];
        unsigned count = place_sets(asking, rights, all, sets);

        for (unsigned i = 0; i < count; i++)
                if (members_fit(x, asking, NULL, sets[i], all ? THROUGH_BOTH : 0) >=
                    asking->form.members)
                        return true;
        return false;
}

static int look_at_room(struct explainer *x, const struct asking *asking,
                        const struct rights *rights, struct explanation *ret, struct err *err)
{
        bool now = fits_in(x, asking, rights, false);
        bool ever = now || fits_in(x, asking, rights, true);
        bool feasible = ever || could_ever_fit(x, asking);

        ret->table_full = !tables_hold_asking(x->state, asking);
        ret->gates[GATE_FEASIBLE].passed = feasible;
        ret->gates[GATE_FIT].passed = ever && !ret->table_full;
        ret->gates[GATE_ORDER].passed = now || !ever;
        if (!feasible) {
                int rc = request_nearest(x->memo, x->state, &ret->request, &ret->possible, err);
                if (rc < 0)
                        return rc;
                ret->has_possible = rc == 1;
        }
        return x->failed ? no_room(err) : 0;
}

/* What its tenant may not use at all; the rest was checked when it was submitted. */
static bool any_model_allowed(const struct state *state, const struct asking *asking)
{
        const struct tenancy *tenancy = state->accounts ? state->accounts->tenancy : NULL;

        if (!tenancy || asking->need.devices == 0)
                return true;
        if (tenancy_limit(tenancy, asking->tenant, DIM_ANY) == AMOUNT_NONE)
                return false;
        for (size_t m = 0; m < model_count(state->models); m++)
                if ((asking->need.models >> m & 1) &&
                    tenancy_limit(tenancy, asking->tenant, (unsigned)m) != AMOUNT_NONE)
                        return true;
        return false;
}

/* ---- the verdict ---- */

/* A new request that a rule refuses is not queued, whatever else would make it wait. */
static bool refuses_at_submission(const struct state *state, const struct explanation *ret,
                                  const struct rights *rights)
{
        struct explained_gate gate;

        return ret->gates[GATE_ALLOWED].passed && ret->gates[GATE_FEASIBLE].passed &&
               (rights->refused || refuses_more_jobs(state, ret->request.tenant, &gate));
}

static enum verdict verdict_of_gate(const struct rights *rights, enum gate gate)
{
        switch (gate) {
        case GATE_ALLOWED:
                return VERDICT_REFUSED;
        case GATE_FEASIBLE:
                return VERDICT_NEVER;
        case GATE_JOBS:
                return VERDICT_WAIT_QUOTA;
        case GATE_LIMIT:
                return rights->never ? VERDICT_NEVER : VERDICT_WAIT_QUOTA;
        case GATE_BUDGET:
                return VERDICT_WAIT_BUDGET;
        case GATE_HOLD:
                return VERDICT_HELD;
        case GATE_ORDER:
                return VERDICT_WAIT_ORDER;
        case GATE_FIT:
        case GATE_TABLE:
        case GATES_END:
                break;
        }
        return VERDICT_WAIT_CAPACITY;
}

/* All gates pass: what the queue's turn would do is the truth. */
static int ask_engine(struct explainer *x, const struct asking *asking, struct explanation *ret,
                      struct err *err)
{
        struct input nothing = {.kind = INPUT_NODE_CHANGED}; /* a turn, and nobody asks for room */
        uint64_t id = x->state->workloads[asking->slot].id;
        struct group group;
        enum standing standing;
        bool others = false;
        int rc = engine_decide(x->state, x->memo, &nothing, x->now_ms, 2, &group, err);

        if (rc == 0)
                rc = follow(x, err);
        if (rc)
                return rc;
        ret->verdict = VERDICT_STARTING;
        for (uint32_t i = 0; i < group.count; i++) {
                if (group.facts[i].kind != FACT_ALLOCATED)
                        continue;
                if (group.facts[i].allocated.workload == id)
                        return 0;
                others = true;
        }
        if (others) {
                ret->gates[GATE_ORDER].passed = false;
                ret->verdict = VERDICT_WAIT_ORDER;
        } else if (group.count == 0 && !would_start(x, asking, NULL, true, &standing)) {
                /* There is a place, but what would be held there is above a limit. */
                ret->gates[GATE_LIMIT].passed = false;
                ret->verdict = VERDICT_WAIT_QUOTA;
        }
        return 0;
}

static int decide_verdict(struct explainer *x, const struct asking *asking,
                          const struct rights *rights, bool is_new, struct explanation *ret,
                          struct err *err)
{
        uint32_t plan = is_new ? 0 : x->state->workloads[asking->slot].plan;
        unsigned gate = 0;

        if (is_new && refuses_at_submission(x->state, ret, rights)) {
                ret->verdict = VERDICT_REFUSED;
                return 0;
        }
        while (gate < EXPLAIN_GATES && ret->gates[gate].passed)
                gate++;
        if (gate < GATE_ORDER || (gate < EXPLAIN_GATES && plan == 0)) {
                ret->verdict = verdict_of_gate(rights, (enum gate)gate);
                return 0;
        }
        if (plan) {
                const struct plan *it = &x->state->plans[plan - 1];
                /* All victims gone, it still waits for its places where they are frozen. */
                ret->verdict = it->victims || plan_is_frozen(x->state, plan - 1)
                                       ? VERDICT_WAIT_PREEMPTION
                                       : VERDICT_STARTING;
                ret->until_ms = it->until_ms;
                ret->plan_cause = (enum plan_cause)it->cause;
                ret->victims = it->victims;
                return 0;
        }
        ret->verdict = VERDICT_STARTING;
        if (!is_new)
                return ask_engine(x, asking, ret, err);
        /* The engine may choose a model on which it then turns out to be above a limit. */
        enum standing standing;
        if (!would_start(x, asking, NULL, false, &standing) ||
            (!is_certain(x->state, asking) && !would_start(x, asking, NULL, true, &standing))) {
                ret->gates[GATE_LIMIT].passed = false;
                ret->verdict = VERDICT_WAIT_QUOTA;
        }
        return 0;
}

/* ---- the record ---- */

static void start_record(const struct state *state, int64_t now_ms, struct explanation *ret)
{
        memset(ret, 0, sizeof *ret);
        ret->now_ms = now_ms;
        ret->as_of_ms = state->now_ms;
        ret->standing = STANDINGS_END;
        ret->has_policy = state->accounts != NULL;
        ret->policy_revision = state->accounts ? state->accounts->tenancy->revision : 0;
        for (unsigned g = 0; g < EXPLAIN_GATES; g++)
                ret->gates[g] = (struct explained_gate){
                        .passed = true, .tenant = TENANT_NONE, .dimension = DIMENSIONS_END};
}

static void request_of_slot(const struct state *state, uint32_t slot, struct request *ret_request)
{
        const struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];

        *ret_request = (struct request){.workload = workload->id,
                                        .need = state->shapes[bucket->shape].need,
                                        .form = bucket->form,
                                        .priority = bucket->priority,
                                        .tenant = bucket->tenant,
                                        .class = bucket->class,
                                        .data = bucket->data,
                                        .group = workload->group,
                                        .serve = workload->serve,
                                        .spare = bucket->spare,
                                        .service = workload->service,
                                        .retries = workload->retries,
                                        .time_limit_ms = workload->time_limit_ms,
                                        .checkpoint_every_ms = workload->checkpoint_every_ms,
                                        .checkpoint_within_ms = workload->checkpoint_within_ms};
}

/* What is looked at when it comes, and not again. */
static void submission_gates(const struct state *state, struct explanation *ret,
                             struct rights *rights)
{
        if (refuses_more_jobs(state, ret->request.tenant, &ret->gates[GATE_JOBS]))
                ret->gates[GATE_JOBS].passed = false;
        if (state->accounts && accounts_budget_empty(state, ret->request.tenant,
                                                     ret->request.need.models, ON_EMPTY_REFUSE)) {
                ret->gates[GATE_BUDGET].passed = false;
                rights->refused = true;
        }
}

static int explain_waiting(struct explainer *x, const struct asking *asking, bool is_new,
                           struct explanation *ret, struct err *err)
{
        struct rights rights;

        rights_of(x->state, asking, NULL, MEASURE_LEAST, &rights);
        gates_fill(x->state, asking, &rights, ret->gates);
        if (is_new)
                submission_gates(x->state, ret, &rights);
        int rc = look_at_room(x, asking, &rights, ret, err);
        if (rc == 0)
                rc = decide_verdict(x, asking, &rights, is_new, ret, err);
        for (unsigned s = STANDINGS_END; s-- > 0;)
                if (rights.models[s])
                        ret->standing = (enum standing)s;
        if (rc == 0)
                rc = explain_groups(x, asking, &rights, ret, err);
        if (rc == 0 && !is_new && !x->is_brief)
                rc = explain_position(x, asking, ret, err);
        if (rc == 0 && ret->verdict != VERDICT_STARTING && !x->is_brief) {
                nearest_others(x, asking, ret);
                nearest_requests(x, ret);
        }
        if (rc == 0 && x->now_ms - x->state->now_ms > EXPLAIN_STALE_MS)
                ret->verdict = VERDICT_UNKNOWN;
        return rc == 0 && x->failed ? no_room(err) : rc;
}

static int explain_live(struct memo *memo, const struct state *state, uint64_t workload,
                        int64_t now_ms, bool is_brief, struct explanation *ret, struct err *err)
{
        uint32_t slot = state_workload(state, workload);
        struct explainer x;
        struct asking asking;

        if (slot == NONE)
                return err_set(err, ERR_NOT_FOUND, "there is no workload %" PRIu64, workload);
        const struct workload *it = &state->workloads[slot];
        start_record(state, now_ms, ret);
        ret->workload = workload;
        ret->submitted_ms = it->submitted_ms;
        ret->waited_ms = waited_ms(state, slot, now_ms);
        ret->eta_known = it->eta_at_ms != 0;
        ret->eta_at_ms = it->eta_at_ms;
        ret->eta_p50_ms = it->eta_at_ms + INT64_C(1000) * it->eta_p50_s;
        ret->eta_p90_ms = it->eta_at_ms + INT64_C(1000) * it->eta_p90_s;
        ret->eta_coverage_pct = it->eta_coverage_pct;
        request_of_slot(state, slot, &ret->request);
        if (it->members_placed > 0) {
                ret->verdict = VERDICT_RUNNING;
                ret->standing = (enum standing)it->standing;
                ret->until_ms = it->notice_until_ms;
                ret->is_idle = it->idle_since_ms != 0;
                ret->told_idle = it->notice_cause == NOTICE_IDLE;
                ret->is_torn = workload_is_torn(state, it);
                ret->is_silent = workload_is_silent(state, it);
                return 0;
        }
        int rc = explainer_init(&x, memo, state, now_ms, err);
        x.is_brief = is_brief;
        if (rc == 0) {
                asking_of_slot(&x, slot, &asking);
                look_at_holds(&x, slot, ret);
                ret->gates[GATE_ALLOWED].passed = any_model_allowed(state, &asking);
                rc = explain_waiting(&x, &asking, false, ret, err);
        }
        explainer_done(&x);
        return rc;
}

int explain(struct memo *memo, const struct state *state, uint64_t workload, int64_t now_ms,
            struct explanation *ret, struct err *err)
{
        return explain_live(memo, state, workload, now_ms, false, ret, err);
}

int explain_briefly(struct memo *memo, const struct state *state, uint64_t workload,
                    int64_t now_ms, struct explanation *ret, struct err *err)
{
        return explain_live(memo, state, workload, now_ms, true, ret, err);
}

int explain_request(struct memo *memo, const struct state *state, const struct request *request,
                    int64_t now_ms, struct explanation *ret, struct err *err)
{
        struct request settled = *request;
        struct explainer x;
        struct asking asking;
        int rc = request_settle(&settled, err);

        if (rc)
                return rc;
        start_record(state, now_ms, ret);
        ret->workload = settled.workload;
        ret->submitted_ms = now_ms;
        enum right right = rights_narrow(state, &settled);
        ret->request = settled;
        ret->gates[GATE_ALLOWED].passed = right == RIGHT_ALL;
        ret->gates[GATE_ALLOWED].right = (uint8_t)right;
        if (right == RIGHT_TENANT) {
                ret->verdict = VERDICT_REFUSED; /* of nobody there is more to say */
                return 0;
        }
        rc = explainer_init(&x, memo, state, now_ms, err);
        if (rc == 0) {
                asking_of_request(&x, &settled, NONE, &asking);
                look_at_request(&x, &settled, ret);
                rc = explain_waiting(&x, &asking, true, ret, err);
        }
        explainer_done(&x);
        return rc;
}
