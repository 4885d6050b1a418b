#include "controller/live.h"

#include <string.h>

#include "base/doc.h"
#include "base/mem.h"
#include "controller/alerts.h"
#include "controller/enrolment.h"
#include "controller/live_impl.h"
#include "controller/attach.h"
#include "controller/nodes.h"
#include "controller/simulated.h"
#include "controller/submit.h"
#include "controller/usage.h"
#include "controller/wants.h"
#include "controller/works.h"
#include "proto/pool_doc.h"

static int64_t read_duration(struct live *live, uint64_t id)
{
        struct submission submission;
        struct object_copy *copy;
        int64_t ms = SIMULATED_MS;

        if (objects_get(core_view(live->core), OBJECT_WORKLOAD, id, &copy, NULL) < 0)
                return ms;
        if (submission_read_again(live->core, &copy->object, &submission, NULL) == 0) {
                ms = simulated_duration_ms(submission.document);
                submission_done(&submission);
        }
        mem_free(copy);
        return ms;
}

int64_t live_duration_ms(struct live *live, struct work *work)
{
        if (work->simulated_ms == 0)
                work->simulated_ms = read_duration(live, work->id);
        return work->simulated_ms;
}

void live_resume_simulated(struct live *live)
{
        const struct state *state = core_state(live->core);
        uint32_t cursor = 0;
        struct work *work;

        while (live->simulated && (work = works_next(core_works(live->core), &cursor))) {
                uint32_t slot = state_workload(state, work->id);
                if (work->epoch == 0 || slot == NONE)
                        continue;
                int64_t ends_ms = work->started_ms + live_duration_ms(live, work);
                int64_t notice_ms = state->workloads[slot].notice_until_ms;
                (void)simulated_expect(live->simulated, work->id, work->epoch, ends_ms);
                if (notice_ms || work->wish == WISH_CANCEL)
                        (void)simulated_expect(live->simulated, work->id, work->epoch, notice_ms);
        }
}

int live_open(struct live *live, const struct core_setup *setup, bool simulate, int64_t now_ms,
              struct core_recovery *ret_recovery, struct err *err)
{
        struct core_setup with_usage = *setup;
        struct core_watch watch;
        int rc;

        live->usage = usage_new();
        if (!live->usage)
                return err_set(err, ERR_NOMEM, "out of memory");
        watch = usage_watch(live->usage);
        with_usage.early = &watch;
        rc = core_open(&with_usage, &live->core, ret_recovery, err);
        if (rc) {
                usage_free(live->usage);
                live->usage = NULL;
                return rc;
        }
        live->leased_ms = live->ticked_ms = live_steady_ms(live);
        live->generation = (uint64_t)now_ms * 1000;     /* above all that was given before */
        live->nodes = nodes_new();
        if (simulate)
                live->simulated = simulated_new();
        live->wants = wants_new();
        live->attachments = attachments_new();
        if (!live->nodes || !live->wants || !live->attachments || (simulate && !live->simulated))
                rc = err_set(err, ERR_NOMEM, "out of memory");
        if (rc == 0)
                rc = live_load_pool(live, err);
        if (rc == 0)
                rc = enrolments_load(live, err);
        if (rc == 0)
                rc = alerts_new(live, live->version ? live->version : "", &live->alerts, err);
        if (rc == 0) {
                live->unsettled = true;
                live_watch(live);
                live_resume_simulated(live);
        }
        return rc;
}

void live_close(struct live *live)
{
        core_free(live->core);
        alerts_free(live->alerts);
        usage_free(live->usage);
        nodes_free(live->nodes);
        pool_doc_free(live->pool);
        simulated_free(live->simulated);
        wants_free(live->wants);
        attachments_free(live->attachments);
        *live = (struct live){0};
}
