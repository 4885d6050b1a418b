/* What comes in: the gates that are looked at once, at submission. */
#include "engine/decide_impl.h"

#include <inttypes.h>

#include "base/err.h"
#include "engine/accounts.h"
#include "engine/gang.h"
#include "engine/isolate.h"
#include "engine/memo_impl.h"
#include "engine/nearest.h"
#include "engine/rights.h"

static bool tables_hold(const struct state *state, const struct request *request, uint32_t shape,
                        uint32_t bucket)
{
        return state->workload_slots.used < state->bounds.workloads_max &&
               request->after_count <= state->after_slots.max - state->after_slots.used &&
               (shape != NONE || state->shapes_count < state->bounds.shapes_max) &&
               (bucket != NONE || state->buckets_count < state->bounds.buckets_max);
}

/* Where what was found is remembered, until a node is described anew; NULL: nowhere yet. */
static uint64_t *feasible_at(struct memo *memo, const struct request *request, uint32_t shape,
                             uint32_t bucket, bool kinds)
{
        if (!form_is_gang(&request->form) && !kinds)
                return shape != NONE && shape < memo->tight_room ? &memo->feasible_alone[shape]
                                                                 : NULL;
        return bucket != NONE && bucket < memo->buckets_room ? &memo->feasible[bucket] : NULL;
}

/* 1 or 0. */
static int could_fit(struct memo *memo, const struct state *state, const struct request *request,
                     uint32_t shape, uint32_t bucket, struct err *err)
{
        struct asker asker;
        bool kinds = asker_of_request(state, request, &asker) && asker.kinds;
        uint64_t *at = feasible_at(memo, request, shape, bucket, kinds);

        if (at && *at == state->nodes_version + 1)
                return 1;
        int rc = request_feasible(memo, state, request, err);
        if (rc == 1 && at)
                *at = state->nodes_version + 1;
        return rc;
}

/* FIT: nothing stands against it. Narrows it to what the policy allows. */
static enum gate gate_at_submission(const struct state *state, struct request *request)
{
        if (rights_narrow(state, request) != RIGHT_ALL)
                return GATE_ALLOWED;
        if (accounts_refuses_job(state, request->tenant) != TENANT_NONE)
                return GATE_JOBS;
        if (accounts_budget_empty(state, request->tenant, request->need.models, ON_EMPTY_REFUSE))
                return GATE_BUDGET;
        return GATE_FIT;
}

int decide_submitted(struct memo *memo, const struct state *state,
                            const struct request *asked, bool *ret_more, struct err *err)
{
        struct request request = *asked, nearest;

        if (state_workload(state, request.workload) != NONE)
                return err_set(err, ERR_EXISTS, "workload %" PRIu64 " is there already",
                               request.workload);
        int rc = request_settle(&request, err);
        if (rc)
                return err_prefix(err, "workload %" PRIu64, request.workload);
        enum gate gate = state->accounts ? gate_at_submission(state, &request) : GATE_FIT;
        if (gate != GATE_FIT)
                return refuse(memo, request.workload, gate, NULL, err);
        if (!state->accounts)
                request.data = 0;       /* a policy's labels */
        uint32_t shape = state_shape(state, &request.need);
        uint32_t bucket = shape == NONE ? NONE
                                        : state_bucket(state, shape, &request);
        if (!tables_hold(state, &request, shape, bucket))
                return refuse(memo, request.workload, GATE_TABLE, NULL, err);
        rc = could_fit(memo, state, &request, shape, bucket, err);
        if (rc < 0)
                return rc;
        if (rc == 0) {
                rc = request_nearest(memo, state, &request, &nearest, err);
                if (rc < 0)
                        return rc;
                return refuse(memo, request.workload, GATE_FEASIBLE, rc == 1 ? &nearest : NULL,
                              err);
        }
        struct fact *fact = fact_add(memo, FACT_QUEUED);
        if (!fact)
                return no_memory(err);
        fact->queued = request;
        *ret_more = true;
        return 0;
}
