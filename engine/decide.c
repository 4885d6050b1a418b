#include "engine/decide.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "engine/decide_impl.h"
#include "engine/gang.h"
#include "engine/hold.h"
#include "engine/idle.h"
#include "engine/memo_impl.h"
#include "engine/move.h"
#include "engine/nearest.h"
#include "engine/preempt.h"
#include "engine/rights.h"

/* ---- facts under construction ---- */

struct fact *fact_add(struct memo *memo, enum fact_kind kind)
{
        if (!memo_room(memo, &memo->facts, &memo->facts_room, memo->facts_count,
                       sizeof *memo->facts))
                return NULL;
        struct fact *fact = &memo->facts[memo->facts_count++];
        fact->kind = kind;
        return fact;
}

int no_memory(struct err *err)
{
        return err_set(err, ERR_NOMEM, "out of memory while deciding");
}

/* ---- submissions ---- */

int refuse(struct memo *memo, uint64_t workload, enum gate gate, const struct request *nearest,
           struct err *err)
{
        struct fact *fact = fact_add(memo, FACT_REFUSED);

        if (!fact)
                return no_memory(err);
        fact->refused = (struct fact_refused){.workload = workload,
                                              .gate = gate,
                                              .has_nearest = nearest != NULL};
        if (nearest)
                fact->refused.nearest = *nearest;
        return 0;
}

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

static int decide_submitted(struct memo *memo, const struct state *state,
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

/* ---- endings ---- */

int plan_step(struct memo *memo, const struct state *state, uint32_t node, unsigned device,
              struct fact_layout step, struct err *err)
{
        struct fact *fact = fact_add(memo, FACT_LAYOUT_STEP);
        uint32_t epoch = node_devices(state, node)[device].epoch;

        if (!fact)
                return no_memory(err);
        /* Several steps of one group on one device count on. */
        for (uint32_t i = 0; i + 1 < memo->facts_count; i++) {
                const struct fact *other = &memo->facts[i];
                if (other->kind == FACT_LAYOUT_STEP && other->layout_step.node == node &&
                    other->layout_step.device == device)
                        epoch = other->layout_step.epoch;
        }
        step.node = node;
        step.device = (uint8_t)device;
        step.epoch = epoch + 1;
        fact->layout_step = step;
        return 0;
}

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

static int not_running(const struct workload *workload, const char *what, struct err *err)
{
        return err_set(err, ERR_INPUT,
                       "workload %" PRIu64 " has not started: it can be cancelled, not %s",
                       workload->id, what);
}

/* Ended badly: started again as often as it may be. */
static int decide_failed(struct memo *memo, const struct state *state, uint32_t slot,
                         int64_t now_ms, struct err *err)
{
        if (state->workloads[slot].retries > 0)
                return requeue(memo, state, slot, RELEASE_FAILED, now_ms, err);
        return release(memo, state, slot, RELEASE_FAILED, now_ms, err);
}

/* Running work is told, and waits again when it has stopped; in its old place. */
static int decide_stop_asked(struct memo *memo, const struct state *state, uint32_t slot,
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
static int decide_stopped(struct memo *memo, const struct state *state, uint32_t slot,
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

/* One that is older than the newest, or than the run, says nothing new. */
static int decide_checkpointed(struct memo *memo, const struct state *state, uint32_t slot,
                               int64_t age_ms, int64_t now_ms, struct err *err)
{
        const struct workload *workload = &state->workloads[slot];
        int64_t saved_ms = now_ms - workload->since_ms - age_ms;

        if (age_ms < 0 || age_ms > RUN_MS_MAX)
                return err_set(err, ERR_RANGE, "a checkpoint %" PRId64 " ms ago cannot be", age_ms);
        if (age_ms > 0 && saved_ms <= workload->saved_ms)
                return 0;
        struct fact *fact = fact_add(memo, FACT_CHECKPOINT_SET);
        if (!fact)
                return no_memory(err);
        fact->checkpoint.workload = workload->id;
        fact->checkpoint.saved_ms = saved_ms;
        return 0;
}

static int decide_hold(struct memo *memo, const struct state *state, uint32_t slot, bool held,
                       struct err *err)
{
        const struct workload *workload = &state->workloads[slot];
        int rc = held ? withdraw_plan(memo, state, slot, err) : 0;
        struct fact *fact = rc ? NULL : fact_add(memo, FACT_HOLDS_SET);

        if (!fact)
                return rc ? rc : no_memory(err);
        fact->holds.workload = workload->id;
        fact->holds.holds = (uint8_t)(held ? workload->holds | HOLD_USER
                                           : workload->holds & ~HOLD_USER);
        return 0;
}

/* It is too late for work that has started. */
static int decide_eta(struct memo *memo, const struct state *state, const struct eta_set *eta,
                      struct err *err)
{
        uint32_t slot = state_workload(state, eta->workload);

        if (slot == NONE)
                return err_set(err, ERR_NOT_FOUND, "there is no workload %" PRIu64, eta->workload);
        if (eta->p50_ms < 0 || eta->p90_ms < eta->p50_ms || eta->p90_ms > RUN_MS_MAX ||
            eta->coverage_pct > 100 || eta->raw_ms < 0 || eta->raw_ms > RUN_MS_MAX)
                return err_set(err, ERR_RANGE,
                               "the estimate for workload %" PRIu64 " is not 0 <= p50 <= p90 <= "
                               "100 years, covered in 0 to 100 %%",
                               eta->workload);
        if (state->workloads[slot].members_placed > 0)
                return 0;
        struct fact *fact = fact_add(memo, FACT_ETA_SET);
        if (!fact)
                return no_memory(err);
        fact->eta = *eta;
        return 0;
}

static uint64_t workload_of(const struct input *input)
{
        switch (input->kind) {
        case INPUT_HOLD_CHANGED:
                return input->hold.workload;
        case INPUT_USE_REPORTED:
                return input->use.workload;
        case INPUT_STOP_ASKED:
                return input->stop.workload;
        case INPUT_MOVE_ASKED:
                return input->move.workload;
        case INPUT_CHECKPOINTED:
                return input->checkpoint.workload;
        default:
                return input->workload;
        }
}

static int decide_of_workload(struct memo *memo, const struct state *state,
                              const struct input *input, int64_t now_ms, bool *ret_more,
                              struct err *err)
{
        uint64_t id = workload_of(input);
        uint32_t slot = state_workload(state, id);

        if (slot == NONE)
                return err_set(err, ERR_NOT_FOUND, "there is no workload %" PRIu64, id);
        const struct workload *workload = &state->workloads[slot];
        bool runs = workload->members_placed > 0;
        /* A checkpoint gives nobody room. */
        *ret_more = input->kind != INPUT_CHECKPOINTED;
        switch (input->kind) {
        case INPUT_CANCELLED:
                return release(memo, state, slot, RELEASE_CANCELLED, now_ms, err);
        case INPUT_HOLD_CHANGED:
                return decide_hold(memo, state, slot, input->hold.held, err);
        case INPUT_EXITED:
                return runs ? release(memo, state, slot, RELEASE_EXITED, now_ms, err)
                            : not_running(workload, "exit", err);
        case INPUT_FAILED:
                return runs ? decide_failed(memo, state, slot, now_ms, err)
                            : not_running(workload, "fail", err);
        case INPUT_STOPPED:
                return runs ? decide_stopped(memo, state, slot, now_ms, err)
                            : not_running(workload, "be stopped", err);
        case INPUT_LOST:
                return runs ? lose_one(memo, state, slot, now_ms, err)
                            : not_running(workload, "be lost", err);
        case INPUT_STOP_ASKED:
                return runs ? decide_stop_asked(memo, state, slot, input->stop.notice_ms, now_ms,
                                                err)
                            : not_running(workload, "be told to stop", err);
        case INPUT_MOVE_ASKED:
                return runs ? decide_move(memo, state, slot, input, now_ms, err)
                            : not_running(workload, "be moved", err);
        case INPUT_USE_REPORTED:
                return runs ? decide_use(memo, state, slot, &input->use, now_ms, ret_more, err)
                            : not_running(workload, "be idle or in use", err);
        default:
                return runs ? decide_checkpointed(memo, state, slot, input->checkpoint.age_ms,
                                                  now_ms, err)
                            : not_running(workload, "save a checkpoint", err);
        }
}

static bool is_of_workload(enum input_kind kind)
{
        return kind == INPUT_CANCELLED || kind == INPUT_EXITED || kind == INPUT_FAILED ||
               kind == INPUT_STOPPED || kind == INPUT_LOST || kind == INPUT_CHECKPOINTED ||
               kind == INPUT_STOP_ASKED || kind == INPUT_MOVE_ASKED ||
               kind == INPUT_USE_REPORTED || kind == INPUT_HOLD_CHANGED;
}

int engine_decide(const struct state *state, struct memo *memo, const struct input *input,
                  int64_t now_ms, unsigned step, struct group *ret_group, struct err *err)
{
        bool more = false;
        int rc;

        memo->facts_count = 0;
        if (memo->state != state)
                memo_adopt(memo, state);
        if (step > 0) {
                rc = decide_queue(memo, state, input, now_ms, step, &more, err);
        } else if (input->kind == INPUT_SUBMITTED) {
                rc = decide_submitted(memo, state, &input->request, &more, err);
        } else if (is_of_workload(input->kind)) {
                rc = decide_of_workload(memo, state, input, now_ms, &more, err);
        } else if (input->kind == INPUT_ETA_SET) {
                rc = decide_eta(memo, state, &input->eta, err);
        } else {
                rc = decide_pool(memo, state, input, now_ms, err);
                more = true;
        }
        if (rc)
                return rc;
        *ret_group = (struct group){memo->facts, memo->facts_count, more};
        return 0;
}

int engine_run(struct state *state, struct memo *memo, const struct input *input, int64_t now_ms,
               fact_see *see, void *arg, struct err *err)
{
        for (unsigned step = 0;; step++) {
                struct group group;
                int rc = engine_decide(state, memo, input, now_ms, step, &group, err);
                if (rc)
                        return rc;
                for (uint32_t i = 0; i < group.count; i++) {
                        if (see)
                                see(arg, &group.facts[i]);
                        state_apply(state, &group.facts[i], now_ms);
                }
                if (!group.more)
                        return 0;
        }
}
