/* What a worker tells enters as any input does: checked, decided, logged. */
#include "controller/worker.h"

#include <inttypes.h>

#include "base/err.h"
#include "controller/live.h"
#include "engine/model.h"
#include "engine/price.h"
#include "engine/state.h"
#include "proto/log_group.h"

/* That has not started or gone meanwhile. */
static bool still_waits(const struct live *live, const struct eta_set *eta)
{
        const struct state *state = core_state(live->core);
        uint32_t slot = state_workload(state, eta->workload);

        return slot != NONE && state->workloads[slot].members_placed == 0;
}

static int check_plan(const struct live *live, const struct price_plan *plan, struct err *err)
{
        if (plan->table.models_len > model_count(core_models(live->core)))
                return err_set(err, ERR_INPUT,
                               "a plan for %" PRIu32 " device models, and only %zu are known",
                               plan->table.models_len, model_count(core_models(live->core)));
        for (uint32_t s = 0; s < plan->shapes_count; s++)
                if (plan->shapes[s].devices > PRICE_DEVICES_MAX ||
                    plan->shapes[s].share_milli > SHARE_WHOLE)
                        return err_set(err, ERR_INPUT, "a plan for a shape of more than %d devices",
                                       PRICE_DEVICES_MAX);
        return 0;
}

static int enter(struct live *live, struct act **act, const struct input *input, int64_t now_ms,
                 struct err *err)
{
        if (!*act)
                *act = core_begin(live->core, "worker", "", now_ms, err);
        if (!*act)
                return -ERR_IO;
        int rc = core_input(*act, input, NULL, err);
        return rc ? rc : 1;
}

int worker_take(struct live *live, struct act **act, const struct worker_line *line,
                int64_t now_ms, bool *ret_is_plan, struct err *err)
{
        struct logged_input logged;
        int rc = worker_input_parse(line, &logged, err);

        if (rc)
                return rc;
        const struct input *input = &logged.input;
        *ret_is_plan = input->kind == INPUT_PLAN_SET;
        if (line->seq > core_last_seq(live->core))
                rc = err_set(err, ERR_INPUT, "it is from record %" PRIu64 ", which is none yet",
                             line->seq);
        else if (*ret_is_plan)
                rc = check_plan(live, input->plan, err);
        else if (now_ms - line->as_of_ms > WORKER_STALE_MS || !still_waits(live, &input->eta))
                goto out;
        rc = rc ? rc : enter(live, act, input, now_ms, err);
out:
        logged_input_done(&logged);
        return rc;
}
