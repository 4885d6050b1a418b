#include "engine/idle.h"

#include <inttypes.h>

#include "base/err.h"
#include "engine/decide_impl.h"

/* ---- reports ---- */

static int check_report(const struct workload *workload, int64_t idle_since_ms, int64_t now_ms,
                        struct err *err)
{
        if (idle_since_ms < workload->since_ms)
                return err_set(err, ERR_RANGE,
                               "workload %" PRIu64 " is idle since %" PRId64
                               " ms, and started at %" PRId64 " ms only",
                               workload->id, idle_since_ms, workload->since_ms);
        if (idle_since_ms > now_ms)
                return err_set(err, ERR_RANGE,
                               "workload %" PRIu64 " is idle since %" PRId64
                               " ms, and it is %" PRId64 " ms only",
                               workload->id, idle_since_ms, now_ms);
        return 0;
}

int decide_use(struct memo *memo, const struct state *state, uint32_t slot,
               const struct use_report *report, int64_t now_ms, bool *ret_more, struct err *err)
{
        const struct workload *workload = &state->workloads[slot];
        int rc = report->idle_since_ms ? check_report(workload, report->idle_since_ms, now_ms, err)
                                       : 0;

        *ret_more = false;
        if (rc || report->idle_since_ms == workload->idle_since_ms)
                return rc;
        struct fact *fact = fact_add(memo, FACT_USE_SET);
        if (!fact)
                return no_memory(err);
        fact->use = *report;
        /* It may stay after all, or rise; to others it is nothing. */
        *ret_more = workload->demoted || workload->notice_cause == NOTICE_IDLE;
        return 0;
}

/* ---- what is due ---- */

static bool is_due(const struct workload *workload, const struct service_class *class,
                   int64_t now_ms)
{
        return workload->idle_since_ms > 0 && class->idle_then != IDLE_THEN_NOTHING &&
               now_ms - workload->idle_since_ms >= class->idle_after_ms;
}

bool idle_demotes(const struct state *state, const struct workload *workload, int64_t now_ms)
{
        const struct service_class *class = class_of(state, workload->bucket);

        return class->idle_then == IDLE_THEN_DEMOTE && is_due(workload, class, now_ms);
}

bool idle_stops(const struct state *state, const struct workload *workload, int64_t now_ms)
{
        const struct service_class *class = class_of(state, workload->bucket);

        return class->idle_then == IDLE_THEN_STOP && !workload->service &&
               is_due(workload, class, now_ms);
}

static int warn(struct memo *memo, const struct workload *workload, struct err *err)
{
        struct fact *fact = fact_add(memo, FACT_IDLE_WARNED);

        if (!fact)
                return no_memory(err);
        fact->warned = workload->id;
        return 0;
}

static int demote(struct memo *memo, const struct workload *workload, struct err *err)
{
        if (workload->standing == STANDING_SPARE)
                return 0;
        struct fact *fact = fact_add(memo, FACT_STANDING_SET);
        if (!fact)
                return no_memory(err);
        fact->standing.workload = workload->id;
        fact->standing.standing = STANDING_SPARE;
        fact->standing.promise = (struct promise){0};
        return 0;
}

static int stop(struct memo *memo, const struct workload *workload, int64_t until_ms,
                struct err *err)
{
        if (workload->service)
                return 0;
        const struct fact_noticed noticed = {.workload = workload->id,
                                             .plan = NONE,
                                             .cause = NOTICE_IDLE,
                                             .until_ms = until_ms};
        return notice(memo, &noticed, err);
}

int decide_idle(struct memo *memo, const struct state *state, int64_t now_ms, struct err *err)
{
        uint32_t before = memo->facts_count;
        uint64_t left = state->idle;
        int rc = 0;

        for (uint32_t w = 0; rc == 0 && left > 0 && w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (!workload->live || workload->idle_since_ms == 0)
                        continue;
                left--;
                const struct service_class *class = class_of(state, workload->bucket);
                if (workload->idle_done == class->idle_then || workload->notice_until_ms ||
                    !is_due(workload, class, now_ms) || workload_is_frozen(state, workload) ||
                    is_told(memo, before, workload->id))
                        continue;
                switch ((enum idle_then)class->idle_then) {
                case IDLE_THEN_WARN:
                        rc = warn(memo, workload, err);
                        break;
                case IDLE_THEN_DEMOTE:
                        rc = demote(memo, workload, err);
                        break;
                case IDLE_THEN_STOP:
                        rc = stop(memo, workload, now_ms + class->notice_ms, err);
                        break;
                case IDLE_THEN_NOTHING:
                case IDLE_THENS_END:
                        break;
                }
        }
        return rc;
}
