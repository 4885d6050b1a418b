#include "engine/decide.h"

#include <inttypes.h>

#include "base/err.h"
#include "engine/decide_impl.h"
#include "engine/hold.h"
#include "engine/idle.h"
#include "engine/memo_impl.h"
#include "engine/move.h"
#include "engine/preempt.h"

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

/* ---- inputs of one workload ---- */

static int not_running(const struct workload *workload, const char *what, struct err *err)
{
        return err_set(err, ERR_INPUT,
                       "workload %" PRIu64 " has not started: it can be cancelled, not %s",
                       workload->id, what);
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
