#include "engine/decide.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "engine/decide_impl.h"
#include "engine/gang.h"
#include "engine/memo_impl.h"
#include "engine/nearest.h"

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

static bool tables_hold(const struct state *state, uint32_t shape, uint32_t bucket)
{
        return state->workload_slots.used < state->bounds.workloads_max &&
               (shape != NONE || state->shapes_count < state->bounds.shapes_max) &&
               (bucket != NONE || state->buckets_count < state->bounds.buckets_max);
}

/* 1 or 0; remembers what was found for a bucket until a node is described anew. */
static int could_fit(struct memo *memo, const struct state *state, const struct request *request,
                     uint32_t bucket, struct err *err)
{
        if (bucket != NONE && bucket < memo->buckets_room &&
            memo->feasible[bucket] == state->nodes_version + 1)
                return 1;
        int rc = gang_feasible(memo, state, &request->need, &request->form, err);
        if (rc == 1 && bucket != NONE && bucket < memo->buckets_room)
                memo->feasible[bucket] = state->nodes_version + 1;
        return rc;
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
        uint32_t shape = state_shape(state, &request.need);
        uint32_t bucket = shape == NONE ? NONE
                                        : state_bucket(state, shape, &request.form,
                                                       request.priority);
        if (!tables_hold(state, shape, bucket))
                return refuse(memo, request.workload, GATE_TABLE, NULL, err);
        rc = could_fit(memo, state, &request, bucket, err);
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
int release(struct memo *memo, const struct state *state, uint32_t slot, enum release_cause cause,
            struct err *err)
{
        const struct workload *workload = &state->workloads[slot];

        for (uint32_t place = workload->first_member; place != NONE;
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
        struct fact *fact = fact_add(memo, FACT_RELEASED);
        if (!fact)
                return no_memory(err);
        fact->released.workload = workload->id;
        fact->released.cause = cause;
        return 0;
}

static int decide_ended(struct memo *memo, const struct state *state, const struct input *input,
                        struct err *err)
{
        uint32_t slot = state_workload(state, input->workload);

        if (slot == NONE)
                return err_set(err, ERR_NOT_FOUND, "there is no workload %" PRIu64,
                               input->workload);
        if (input->kind == INPUT_EXITED && state->workloads[slot].members_placed == 0)
                return err_set(err, ERR_INPUT,
                               "workload %" PRIu64
                               " has not started: it can be cancelled, not exit",
                               input->workload);
        return release(memo, state, slot,
                       input->kind == INPUT_EXITED ? RELEASE_EXITED : RELEASE_CANCELLED, err);
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
                rc = decide_queue(memo, state, input, &more, err);
        } else if (input->kind == INPUT_SUBMITTED) {
                rc = decide_submitted(memo, state, &input->request, &more, err);
        } else if (input->kind == INPUT_CANCELLED || input->kind == INPUT_EXITED) {
                rc = decide_ended(memo, state, input, err);
                more = state->waiting > 0;
        } else {
                rc = decide_pool(memo, state, input, now_ms, err);
                more = state->waiting > 0;
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
