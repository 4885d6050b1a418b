/* What the log tells at its time: submissions, nodes, failures, and what owners want. */
#include <string.h>

#include "base/err.h"
#include "engine/accounts.h"
#include "proto/policy_doc.h"
#include "sim/log_play_impl.h"

/* ---- the policy ---- */

int play_set_policy(struct play *play, struct err *err)
{
        struct input input = {.kind = INPUT_POLICY_SET};
        int rc;

        if (play->is_set)
                return 0;
        input.accounts = accounts_new(play->policy->tenancy, err);
        if (!input.accounts)
                return -ERR_NOMEM;
        rc = play_feed(play, &input, err);
        if (play->pool.state->accounts != input.accounts) {
                accounts_free(input.accounts);
                return rc;
        }
        policy_doc_free(play->pool.policy);
        play->pool.policy = play->policy;
        play->policy = NULL;
        play->is_set = true;
        return rc;
}

static uint16_t label_of(struct play *play, const struct story_job *job)
{
        int label = job->label[0]
                            ? tenancy_label_find(play->pool.policy->tenancy, job->label)
                            : -1;

        return (uint16_t)(label + 1);
}

/* Whom it waits for may have ended before it came, here. */
static void keep_live_after(const struct play *play, struct request *request)
{
        uint8_t kept = 0;

        for (uint8_t a = 0; a < request->after_count; a++)
                if (state_workload(play->pool.state, request->after[a]) != NONE)
                        request->after[kept++] = request->after[a];
        memset(request->after + kept, 0, (AFTER_MAX - kept) * sizeof request->after[0]);
        request->after_count = kept;
}

static int submit(struct play *play, const struct input *logged, struct err *err)
{
        uint32_t job = map_get(&play->story->ids, logged->request.workload);
        struct input input = *logged;
        int rc = play_set_policy(play, err);

        if (rc)
                return rc;
        const struct story_job *it = &play->story->items[job];
        input.request.tenant = play->tenants[it->tenant];
        input.request.class = play->classes[it->class == JOBS_NONE
                                                    ? play->story->names.classes_count
                                                    : it->class];
        input.request.data = label_of(play, it);
        keep_live_after(play, &input.request);
        rc = play_feed(play, &input, err);
        if (rc == -ERR_NOMEM)
                return rc;
        if (rc)                         /* this policy knows no way to mean it */
                play->played->runs.items[job].is_refused = true;
        return 0;
}

/* ---- inputs ---- */

/* Of what is told at its time: whether it means anything here is the engine's to say. */
static int tell(struct play *play, struct input *input, struct err *err)
{
        struct err why = {0};
        int rc = log_brought_give_input(&play->pool.brought, play->pool.models, input, err);

        if (rc)
                return rc;
        rc = play_feed(play, input, &why);
        if (rc == -ERR_NOMEM)
                return err_set(err, ERR_NOMEM, "out of memory");
        play->played->inputs_left_out += rc != 0;
        return 0;
}

static uint64_t workload_of(const struct input *input)
{
        return input->kind == INPUT_HOLD_CHANGED ? input->hold.workload
               : input->kind == INPUT_STOP_ASKED ? input->stop.workload
               : input->kind == INPUT_MOVE_ASKED ? input->move.workload
                                                 : input->workload;
}

static bool runs_here(const struct play *play, uint64_t workload)
{
        uint32_t slot = state_workload(play->pool.state, workload);

        return slot != NONE && play->pool.state->workloads[slot].members_placed > 0;
}

static int fail(struct play *play, struct input *input, struct err *err)
{
        int rc = tell(play, input, err);

        return rc ? rc : play_jobs_tear(play, play->input_seq, err);
}

/* Other steps were planned here; that the device broke is so all the same. */
static int fail_layout(struct play *play, const struct layout_report *report, struct err *err)
{
        struct input input = {.kind = INPUT_DEVICES_FAILED,
                              .broke = {report->node, (uint16_t)(1u << report->device)}};

        return report->failed && log_torn_has(&play->story->torn, play->input_seq)
                       ? fail(play, &input, err)
                       : 0;
}

/* Unless that was the end of something torn: how that ends here is known (play_jobs_tear()). */
static int lose(struct play *play, struct input *input, struct err *err)
{
        return !log_torn_has_end(&play->story->torn, play->input_seq) &&
                               runs_here(play, input->workload)
                       ? tell(play, input, err)
                       : 0;
}

int play_told(struct play *play, struct input *input, struct err *err)
{
        switch (input->kind) {
        case INPUT_LOST:
                return lose(play, input, err);
        case INPUT_NODE_FAILED:
        case INPUT_DEVICES_FAILED:
                return fail(play, input, err);
        case INPUT_LAYOUT_OBSERVED:
                return fail_layout(play, &input->layout, err);
        case INPUT_SUBMITTED:
                return submit(play, input, err);
        case INPUT_POLICY_SET:
                return play_set_policy(play, err);
        case INPUT_CANCELLED:
        case INPUT_HOLD_CHANGED:
        case INPUT_STOP_ASKED:
        case INPUT_MOVE_ASKED:
                if (state_workload(play->pool.state, workload_of(input)) == NONE)
                        return 0;       /* it has ended, here */
                return tell(play, input, err);
        case INPUT_NODE_JOINED:
        case INPUT_NODE_CHANGED:
        case INPUT_NODE_DESCRIBED:
        case INPUT_NODE_REMOVED:
        case INPUT_FREEZE_SET:
        case INPUT_MAINTENANCE_SET:
        case INPUT_TICKED:
                return tell(play, input, err);
        case INPUT_EXITED:
        case INPUT_FAILED:
        case INPUT_STOPPED:
        case INPUT_CHECKPOINTED:
        case INPUT_USE_REPORTED:
        case INPUT_PLAN_SET:
        case INPUT_ETA_SET:
        case INPUTS_END:
                return 0;               /* it follows from running, or is left out */
        }
        return 0;
}

