/* Inputs about the pool as a whole: policy, prices, freezes, windows, time. */
#include "base/err.h"
#include "engine/accounts.h"
#include "engine/decide_impl.h"
#include "engine/memo_impl.h"
#include "engine/price.h"

static int decide_plan(struct memo *memo, const struct price_plan *plan, struct err *err)
{
        int rc = plan ? price_plan_check(plan, err) : 0;

        if (rc)
                return rc;
        struct fact *fact = fact_add(memo, FACT_DEMAND_SET);
        if (!fact)
                return no_memory(err);
        fact->plan = plan;
        return 0;
}

static int decide_tick(struct memo *memo, const struct state *state, int64_t now_ms,
                       struct err *err)
{
        if (now_ms < state->now_ms)
                return err_set(err, ERR_RANGE, "time goes back");
        struct fact *fact = fact_add(memo, FACT_TIME_SET);
        if (!fact)
                return no_memory(err);
        fact->now_ms = now_ms;
        return 0;
}

/* ---- policy ---- */

static int check_policy(const struct state *state, const struct tenancy *tenancy, struct err *err)
{
        const struct tenancy *before = state->accounts ? state->accounts->tenancy : NULL;

        if (tenancy->tenants_count == 0 || tenancy->classes_count == 0)
                return err_set(err, ERR_INPUT, "a policy without tenants or classes");
        for (uint32_t w = 0; before && w < state->workload_slots.high; w++) {
                if (!state->workloads[w].live)
                        continue;
                const struct bucket *bucket = &state->buckets[state->workloads[w].bucket];
                const char *tenant = before->tenants[bucket->tenant].path;
                const char *class = before->classes[bucket->class].name;
                if (tenancy_find(tenancy, tenant) < 0)
                        return err_set(err, ERR_INPUT,
                                       "the policy has no tenant '%s', which has live work; keep "
                                       "it (with limit: 0, nothing of it starts) until that ends",
                                       tenant);
                const char *label = bucket->data ? before->labels[bucket->data - 1].name : NULL;
                if (label && tenancy_label_find(tenancy, label) < 0)
                        return err_set(err, ERR_INPUT,
                                       "the policy has no data label '%s', which has live work; "
                                       "keep it until that ends",
                                       label);
                if (tenancy_class_find(tenancy, class) < 0)
                        return err_set(err, ERR_INPUT,
                                       "the policy has no class '%s', which has live work; keep "
                                       "it until that ends",
                                       class);
        }
        return 0;
}

static int decide_policy(struct memo *memo, const struct state *state, struct accounts *accounts,
                         struct err *err)
{
        int rc = check_policy(state, accounts->tenancy, err);

        if (rc)
                return rc;
        struct fact *fact = fact_add(memo, FACT_POLICY_IN);
        if (!fact)
                return no_memory(err);
        fact->accounts = accounts;
        return 0;
}

static int decide_freeze(struct memo *memo, const struct state *state, struct freeze freeze,
                         struct err *err)
{
        if (freeze.plane && freeze.frozen &&
            state->frozen_planes_count == FROZEN_PLANES_MAX)
                return err_set(err, ERR_FULL, "at most %d planes can be frozen",
                               FROZEN_PLANES_MAX);
        struct fact *fact = fact_add(memo, FACT_FREEZE_IN);
        if (!fact)
                return no_memory(err);
        fact->freeze = freeze;
        return 0;
}

static int decide_maintenance(struct memo *memo, const struct maintenance *maintenance,
                              struct err *err)
{
        int rc = maintenance_check(maintenance, err);

        if (rc)
                return rc;
        struct fact *fact = fact_add(memo, FACT_MAINTENANCE_IN);
        if (!fact)
                return no_memory(err);
        fact->maintenance = maintenance;
        return 0;
}

int decide_pool(struct memo *memo, const struct state *state, const struct input *input,
                int64_t now_ms, struct err *err)
{
        switch (input->kind) {
        case INPUT_NODE_JOINED:
        case INPUT_NODE_CHANGED:
        case INPUT_NODE_DESCRIBED:
        case INPUT_NODE_FAILED:
        case INPUT_DEVICES_FAILED:
        case INPUT_NODE_REMOVED:
        case INPUT_LAYOUT_OBSERVED:
                return decide_node(memo, state, input, now_ms, err);
        case INPUT_PLAN_SET:
                return decide_plan(memo, input->plan, err);
        case INPUT_TICKED:
                return decide_tick(memo, state, now_ms, err);
        case INPUT_POLICY_SET:
                return decide_policy(memo, state, input->accounts, err);
        case INPUT_FREEZE_SET:
                return decide_freeze(memo, state, input->freeze, err);
        case INPUT_MAINTENANCE_SET:
                return decide_maintenance(memo, input->maintenance, err);
        case INPUT_SUBMITTED:
        case INPUT_CANCELLED:
        case INPUT_EXITED:
        case INPUT_FAILED:
        case INPUT_STOPPED:
        case INPUT_LOST:
        case INPUT_CHECKPOINTED:
        case INPUT_STOP_ASKED:
        case INPUT_MOVE_ASKED:
        case INPUT_USE_REPORTED:
        case INPUT_HOLD_CHANGED:
        case INPUT_ETA_SET:
        case INPUTS_END:
                break;
        }
        return err_set(err, ERR_INPUT, "an input of no known kind");
}
