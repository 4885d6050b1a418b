#include "engine/drain.h"

#include "engine/decide_impl.h"
#include "engine/idle.h"

/* ---- who may start ---- */

/* What waits, as far as it matters here. */
struct stay {
        const struct service_class *class;      /* NULL: no policy */
        bool service;
        int64_t checkpoint_every_ms, checkpoint_within_ms;
};

static bool has_known_length(const struct state *state, uint16_t tenant, uint64_t devices,
                             int64_t time_limit_ms)
{
        return time_limit_ms > 0 ||
               (state->accounts &&
                run_times_known(state->accounts->times, tenant, run_times_width(devices)));
}

static bool saves_when_told(int64_t within_ms, const struct service_class *class)
{
        return within_ms > 0 && within_ms <= class->notice_ms;
}

/* Time for one checkpoint at least: what it does then is not in vain. */
static int64_t shortened(const struct stay *stay, int64_t stays_ms)
{
        if (!stay->class || stay->service || stay->class->stop == STOP_NEVER)
                return stays_ms;
        int64_t saved = saves_when_told(stay->checkpoint_within_ms, stay->class)
                                ? RUN_TIME_LEAST_MS
                                : stay->checkpoint_every_ms;

        saved += saved > 0 ? stay->class->notice_ms : 0;
        return saved > 0 && saved < stays_ms ? saved : stays_ms;
}

int64_t leaves_ms(const struct state *state, uint32_t slot, int64_t now_ms)
{
        const struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];

        if (state->nodes_closing == 0)
                return now_ms;
        struct stay stay = {.class = state->accounts ? class_of(state, workload->bucket) : NULL,
                            .service = workload->service,
                            .checkpoint_every_ms = workload->checkpoint_every_ms,
                            .checkpoint_within_ms = workload->checkpoint_within_ms};
        int64_t left = DRAIN_LEAD_MS;

        if (!stay.service && has_known_length(state, bucket->tenant, bucket_devices(state, bucket),
                                              workload->time_limit_ms))
                left = expected_left_ms(state, slot, BACKFILL_PERCENT, now_ms);
        return now_ms + shortened(&stay, left);
}

int64_t request_leaves_ms(const struct state *state, const struct request *request,
                          int64_t now_ms)
{
        const struct accounts *accounts = state->accounts;

        if (state->nodes_closing == 0)
                return now_ms;
        struct stay stay = {.class = accounts ? &accounts->tenancy->classes[request->class] : NULL,
                            .service = request->service,
                            .checkpoint_every_ms = request->checkpoint_every_ms,
                            .checkpoint_within_ms = request->checkpoint_within_ms};
        uint64_t devices = (uint64_t)request->need.devices * request->form.members;
        int64_t left = DRAIN_LEAD_MS;

        if (!stay.service &&
            has_known_length(state, request->tenant, devices, request->time_limit_ms))
                left = request_left_ms(state, request, BACKFILL_PERCENT);
        return now_ms + shortened(&stay, left);
}

/* ---- who is told ---- */

/* When the first of its nodes is to be empty, and why. INT64_MAX: none is. */
static int64_t leave_by_ms(const struct state *state, const struct workload *workload,
                           enum notice_cause *ret_cause)
{
        int64_t by_ms = INT64_MAX;

        for (uint32_t at = workload->first_member; at != NONE; at = state->members[at].next) {
                const struct node *node = &state->nodes[state->members[at].node];
                int64_t empty_by = node_empty_by_ms(node);
                if (empty_by >= by_ms)
                        continue;
                by_ms = empty_by;
                *ret_cause = empty_by < node_closes_ms(node) ? NOTICE_DRAIN : NOTICE_MAINTENANCE;
        }
        return by_ms;
}

/* Whether it is told now, and until when it may run then. */
static bool is_due(const struct state *state, uint32_t slot, int64_t by_ms, int64_t now_ms,
                   int64_t *ret_until_ms)
{
        const struct workload *workload = &state->workloads[slot];
        const struct service_class *class = class_of(state, workload->bucket);
        int64_t until = now_ms + class->notice_ms;

        if (now_ms >= by_ms - class->notice_ms - DRAIN_EARLY_MS) {
                *ret_until_ms = until > by_ms ? until : by_ms;
                return true;
        }
        if (workload->checkpoint_every_ms == 0 ||
            saves_when_told(workload->checkpoint_within_ms, class) ||
            workload->since_ms + workload->saved_ms + workload->checkpoint_every_ms <= by_ms ||
            now_ms + expected_left_ms(state, slot, BACKFILL_PERCENT, now_ms) <= by_ms)
                return false;
        *ret_until_ms = until;
        return true;
}

int decide_drains(struct memo *memo, const struct state *state, int64_t now_ms, struct err *err)
{
        uint32_t before = memo->facts_count;

        if (state->nodes_closing == 0)
                return 0;
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                enum notice_cause cause = NOTICE_DRAIN;
                int64_t until;
                if (!workload->live || workload->members_placed == 0 || workload->notice_until_ms)
                        continue;
                int64_t by_ms = leave_by_ms(state, workload, &cause);
                if (by_ms == INT64_MAX || !is_due(state, w, by_ms, now_ms, &until) ||
                    workload_is_frozen(state, workload) || is_told(memo, before, workload->id))
                        continue;
                const struct fact_noticed noticed = {.workload = workload->id,
                                                     .plan = NONE,
                                                     .cause = cause,
                                                     .until_ms = until,
                                                     .leave_by_ms = by_ms};
                int rc = notice(memo, &noticed, err);
                if (rc)
                        return rc;
        }
        return 0;
}

/* Whether the reason is gone for which it was told; not a plan's, or its time limit. */
static bool may_stay(const struct state *state, uint32_t slot, int64_t now_ms)
{
        const struct workload *workload = &state->workloads[slot];
        enum notice_cause cause;
        int64_t until;

        if (!workload->live || workload->notice_until_ms <= now_ms)
                return false;
        if (workload->notice_cause == NOTICE_IDLE)
                return !idle_stops(state, workload, now_ms);
        if (workload->leave_by_ms == 0)
                return false;
        int64_t by_ms = leave_by_ms(state, workload, &cause);
        return by_ms > workload->leave_by_ms &&
               (by_ms == INT64_MAX || !is_due(state, slot, by_ms, now_ms, &until));
}

int decide_stays(struct memo *memo, const struct state *state, int64_t now_ms, struct err *err)
{
        for (uint32_t w = 0; state->noticed > 0 && w < state->workload_slots.high; w++) {
                if (!may_stay(state, w, now_ms))
                        continue;
                struct fact *fact = fact_add(memo, FACT_NOTICE_WITHDRAWN);
                if (!fact)
                        return no_memory(err);
                fact->stays = state->workloads[w].id;
        }
        return 0;
}
