/* How running work is told to stop, and leaves its place: it ends, or waits again. */
#include "engine/decide_impl.h"

#include <inttypes.h>

#include "base/err.h"
#include "engine/hold.h"
#include "engine/memo_impl.h"
#include "engine/preempt.h"

/* Instances of a workload that ends are destroyed; the device stays cut until wanted whole. */
static int destroy_instances(struct memo *memo, const struct state *state, uint32_t slot,
                             struct err *err)
{
        for (uint32_t place = state->workloads[slot].first_member; place != NONE;
             place = state->members[place].next) {
                const struct member *member = &state->members[place];
                for (uint32_t held = member->first_part; held != NONE;
                     held = state->parts[held].next) {
                        const struct part *part = &state->parts[held].part;
                        if (part->method != METHOD_SLICE)
                                continue;
                        struct fact_layout step = {.op = LAYOUT_DESTROY,
                                                   .profile = part->profile,
                                                   .start = part->start};
                        int rc = plan_step(memo, state, member->node, part->device, step, err);
                        if (rc)
                                return rc;
                }
        }
        return 0;
}

/* What ran since the newest checkpoint; all of a run without one. */
static int64_t lost_ms(const struct workload *workload, int64_t now_ms)
{
        return workload->members_placed > 0 ? now_ms - workload->since_ms - workload->saved_ms : 0;
}

/* Those that wait for its good end will wait for ever: they are refused, and so on. */
static int refuse_waiters(struct memo *memo, const struct state *state, uint32_t slot,
                          struct err *err)
{
        uint32_t from = memo->facts_count;

        for (;;) {
                for (uint32_t at = state->workloads[slot].first_after; at != 0;
                     at = state->afters[at - 1].next) {
                        uint64_t id = state->workloads[state->afters[at - 1].waiter].id;
                        bool told = false;
                        for (uint32_t i = 0; i < memo->facts_count; i++)
                                told |= memo->facts[i].kind == FACT_REFUSED &&
                                        memo->facts[i].refused.workload == id;
                        int rc = told ? 0 : refuse(memo, id, GATE_HOLD, NULL, err);
                        if (rc)
                                return rc;
                }
                while (from < memo->facts_count && memo->facts[from].kind != FACT_REFUSED)
                        from++;
                if (from == memo->facts_count)
                        return 0;
                slot = state_workload(state, memo->facts[from++].refused.workload);
        }
}

int release(struct memo *memo, const struct state *state, uint32_t slot, enum release_cause cause,
            int64_t now_ms, struct err *err)
{
        const struct workload *workload = &state->workloads[slot];
        int rc = destroy_instances(memo, state, slot, err);

        if (rc == 0)
                rc = let_go_of_nodes(memo, state, slot, err);
        if (rc == 0)
                rc = withdraw_plan(memo, state, slot, err);
        if (rc == 0 && cause != RELEASE_EXITED)
                rc = refuse_waiters(memo, state, slot, err);
        if (rc)
                return rc;
        struct fact *fact = fact_add(memo, FACT_RELEASED);
        if (!fact)
                return no_memory(err);
        fact->released.workload = workload->id;
        fact->released.cause = cause;
        fact->released.lost_ms = cause == RELEASE_EXITED ? 0 : lost_ms(workload, now_ms);
        return 0;
}

int requeue(struct memo *memo, const struct state *state, uint32_t slot, enum release_cause cause,
            int64_t now_ms, struct err *err)
{
        const struct workload *workload = &state->workloads[slot];
        int rc = destroy_instances(memo, state, slot, err);
        struct fact *fact = rc ? NULL : fact_add(memo, FACT_REQUEUED);

        if (!fact)
                return rc ? rc : no_memory(err);
        fact->requeued = (struct fact_requeued){
                .workload = workload->id,
                .cause = cause,
                .attained_ms = workload->attained_ms + workload->saved_ms,
                .lost_ms = lost_ms(workload, now_ms),
                .counts = cause == RELEASE_STOPPED};
        return 0;
}

int lose_one(struct memo *memo, const struct state *state, uint32_t slot, int64_t now_ms,
             struct err *err)
{
        if (state->accounts && !state->workloads[slot].once)
                return requeue(memo, state, slot, RELEASE_LOST, now_ms, err);
        return release(memo, state, slot, RELEASE_LOST, now_ms, err);
}

int notice(struct memo *memo, const struct fact_noticed *noticed, struct err *err)
{
        struct fact *fact = fact_add(memo, FACT_NOTICED);

        if (!fact)
                return no_memory(err);
        fact->noticed = *noticed;
        return 0;
}

bool is_told(const struct memo *memo, uint32_t facts, uint64_t workload)
{
        for (uint32_t i = 0; i < facts; i++)
                if (memo->facts[i].kind == FACT_NOTICED &&
                    memo->facts[i].noticed.workload == workload)
                        return true;
        return false;
}

static bool is_overtime(const struct workload *workload, int64_t now_ms)
{
        return workload->time_limit_ms > 0 &&
               workload->attained_ms + now_ms - workload->since_ms > workload->time_limit_ms;
}

int decide_overtime(struct memo *memo, const struct state *state, int64_t now_ms, struct err *err)
{
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (!workload->live || workload->members_placed == 0 ||
                    workload->notice_until_ms || !is_overtime(workload, now_ms))
                        continue;
                const struct fact_noticed noticed = {.workload = workload->id,
                                                     .plan = NONE,
                                                     .cause = NOTICE_TIME_LIMIT,
                                                     .until_ms = now_ms};
                int rc = notice(memo, &noticed, err);
                if (rc)
                        return rc;
        }
        return 0;
}

/* Ended badly: started again as often as it may be. */
int decide_failed(struct memo *memo, const struct state *state, uint32_t slot,
                  int64_t now_ms, struct err *err)
{
        if (state->workloads[slot].retries > 0)
                return requeue(memo, state, slot, RELEASE_FAILED, now_ms, err);
        return release(memo, state, slot, RELEASE_FAILED, now_ms, err);
}

/* Running work is told, and waits again when it has stopped; in its old place. */
int decide_stop_asked(struct memo *memo, const struct state *state, uint32_t slot,
                      int64_t notice_ms, int64_t now_ms, struct err *err)
{
        const struct workload *workload = &state->workloads[slot];
        const struct fact_noticed noticed = {.workload = workload->id,
                                             .plan = NONE,
                                             .cause = NOTICE_ASKED,
                                             .until_ms = now_ms + notice_ms};

        if (notice_ms < 0 || notice_ms > RUN_MS_MAX)
                return err_set(err, ERR_RANGE, "a notice of %" PRId64 " ms cannot be", notice_ms);
        if (workload->notice_until_ms)
                return err_set(err, ERR_EXISTS,
                               "workload %" PRIu64 " has been told to stop already", workload->id);
        return notice(memo, &noticed, err);
}

/* Told to stop, and gone: it waits again, unless its time was over, or nobody used its devices. Who
 * has saved and leaves before its notice is over is not waited for: its place is free. */
int decide_stopped(struct memo *memo, const struct state *state, uint32_t slot,
                   int64_t now_ms, struct err *err)
{
        const struct workload *workload = &state->workloads[slot];

        if (workload->notice_until_ms == 0)
                return err_set(err, ERR_INPUT, "workload %" PRIu64 " has not been told to stop",
                               workload->id);
        if (workload->notice_cause == NOTICE_IDLE)
                return release(memo, state, slot, RELEASE_IDLE, now_ms, err);
        if (workload->notice_cause == NOTICE_ASKED || workload->notice_cause == NOTICE_MOVE)
                return requeue(memo, state, slot, RELEASE_ASKED, now_ms, err);
        if (workload->plan == 0 && is_overtime(workload, now_ms))
                return release(memo, state, slot, RELEASE_TIMED_OUT, now_ms, err);
        return requeue(memo, state, slot,
                       workload->leave_by_ms ? RELEASE_DRAINED : RELEASE_STOPPED, now_ms, err);
}
