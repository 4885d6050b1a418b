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

static int refuse(struct memo *memo, uint64_t workload, enum gate gate,
                  const struct request *nearest, struct err *err)
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

static int plan_step(struct memo *memo, const struct state *state, uint32_t node, unsigned device,
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

/* Instances of a workload that ends are destroyed; the device stays cut until it is wanted whole. */
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
                               "workload %" PRIu64 " has not started: it can be cancelled, not exit",
                               input->workload);
        return release(memo, state, slot,
                       input->kind == INPUT_EXITED ? RELEASE_EXITED : RELEASE_CANCELLED, err);
}

/* ---- the queue's turn ---- */

/* Whether a member placed by this very group lies on the device, and had it cut as needed. */
static bool is_taken_in_group(const struct memo *memo, uint32_t node, unsigned device)
{
        for (uint32_t i = 0; i < memo->facts_count; i++) {
                const struct fact *fact = &memo->facts[i];
                if (fact->kind != FACT_ALLOCATED || fact->allocated.node != node)
                        continue;
                for (unsigned k = 0; k < fact->allocated.parts_count; k++)
                        if (fact->allocated.parts[k].device == device)
                                return true;
        }
        return false;
}

static int place_steps(struct memo *memo, const struct state *state, uint32_t node,
                       const struct part *part, struct err *err)
{
        const struct device *device = &node_devices(state, node)[part->device];
        const struct model *model = node_model(state, node);
        bool slice = part->method == METHOD_SLICE;
        struct fact_layout toggle = {.op = slice ? LAYOUT_CUT_ON : LAYOUT_CUT_OFF,
                                     .profile = part->profile};
        struct fact_layout create = {.op = LAYOUT_CREATE,
                                     .profile = part->profile,
                                     .start = part->start};
        /* The mode of a MODEL_MODES device is chosen anew each time it was empty. */
        bool new_mode = slice && model->cut == MODEL_MODES && device->state.holders == 0;
        int rc = 0;

        if ((device->cut != slice || new_mode) && !is_taken_in_group(memo, node, part->device))
                rc = plan_step(memo, state, node, part->device, toggle, err);
        if (rc == 0 && slice)
                rc = plan_step(memo, state, node, part->device, create, err);
        return rc;
}

static int allocate(struct memo *memo, const struct state *state, uint64_t workload,
                    unsigned number, uint32_t node, const struct part *parts, unsigned count,
                    struct err *err)
{
        for (unsigned i = 0; i < count; i++) {
                int rc = place_steps(memo, state, node, &parts[i], err);
                if (rc)
                        return rc;
        }
        struct fact *fact = fact_add(memo, FACT_ALLOCATED);
        if (!fact)
                return no_memory(err);
        fact->allocated.workload = workload;
        fact->allocated.node = node;
        fact->allocated.member = (uint16_t)number;
        fact->allocated.parts_count = (uint8_t)count;
        memcpy(fact->allocated.parts, parts, count * sizeof *parts);
        return 0;
}

/* From conditions to devices: the lowest device in each; cut ones first where a slice is placed,
 * uncut ones first where it is not, so that nothing is switched without need. */
static void find_devices(const struct memo *memo, const struct state *state, uint32_t node,
                         struct move *move)
{
        const struct node_link *link = &memo->links[node];
        unsigned used = 0, count = state->nodes[node].desc.devices;

        for (unsigned i = 0; i < move->count; i++) {
                bool slice = move->parts[i].method == METHOD_SLICE;
                unsigned chosen = NODE_DEVICES_MAX;
                for (unsigned d = 0; d < count; d++) {
                        if ((used >> d & 1) || link->spots[d] != move->from[i])
                                continue;
                        bool suits = node_devices(state, node)[d].cut == slice;
                        if (chosen == NODE_DEVICES_MAX || suits)
                                chosen = d;
                        if (suits)
                                break;
                }
                assert(chosen < NODE_DEVICES_MAX);
                used |= 1u << chosen;
                move->parts[i].device = (uint8_t)chosen;
        }
}

/* 1: facts were added; 0: it does not fit now. */
static int place_single(struct memo *memo, const struct state *state, uint32_t slot,
                        uint32_t shape, struct err *err)
{
        struct move move;
        int rc;
        uint32_t node = index_best(memo, shape, state->workloads[slot].arrival, &move, &rc);

        if (rc)
                return no_memory(err);
        if (node == NONE)
                return 0;
        find_devices(memo, state, node, &move);
        rc = allocate(memo, state, state->workloads[slot].id, 0, node, move.parts, move.count, err);
        return rc ? rc : 1;
}

static int place_gang(struct memo *memo, const struct state *state, uint32_t slot,
                      const struct bucket *bucket, struct err *err)
{
        const struct gang_place *places;
        int rc = gang_place(memo, bucket->shape, &bucket->form, &places, err);

        for (uint32_t m = 0; rc == 1 && m < bucket->form.members; m++) {
                int failed = allocate(memo, state, state->workloads[slot].id, m, places[m].node,
                                      places[m].parts, places[m].parts_count, err);
                if (failed)
                        return failed;
        }
        return rc;
}

static bool tables_hold_places(const struct state *state, const struct bucket *bucket)
{
        uint64_t members = bucket->form.members;
        uint64_t parts = members * state->shapes[bucket->shape].need.devices;

        return members <= state->bounds.members_max - state->member_slots.used &&
               parts <= state->bounds.parts_max - state->part_slots.used;
}

static int place_head(struct memo *memo, const struct state *state, uint32_t number,
                      struct err *err)
{
        const struct bucket *bucket = &state->buckets[number];

        if (!tables_hold_places(state, bucket))
                return 0;
        if (form_is_gang(&bucket->form))
                return place_gang(memo, state, bucket->head, bucket, err);
        return place_single(memo, state, bucket->head, bucket->shape, err);
}

static bool head_goes_before(const struct state *state, uint32_t a, uint32_t b)
{
        const struct bucket *x = &state->buckets[a], *y = &state->buckets[b];

        if (x->priority != y->priority)
                return x->priority > y->priority;
        return state->workloads[x->head].arrival < state->workloads[y->head].arrival;
}

static bool is_open(const struct memo *memo, const struct state *state, uint32_t bucket)
{
        return state->buckets[bucket].count > 0 && memo->blocked[bucket] != state->freed + 1;
}

static void open_sift(const struct state *state, uint32_t *open, uint32_t count, uint32_t at)
{
        uint32_t bucket = open[at];

        for (;;) {
                uint32_t child = 2 * at + 1;
                if (child >= count)
                        break;
                if (child + 1 < count && head_goes_before(state, open[child + 1], open[child]))
                        child++;
                if (!head_goes_before(state, open[child], bucket))
                        break;
                open[at] = open[child];
                at = child;
        }
        open[at] = bucket;
}

/* Whether all that waited before this submission is known not to fit. */
static bool only_new(const struct memo *memo, const struct state *state, const struct input *input)
{
        return memo->settled && memo->settled_freed == state->freed &&
               input->kind == INPUT_SUBMITTED &&
               memo->settled_arrivals + 1 == state->arrivals;
}

/* The buckets that may fit, as a heap in the queue's order. */
static uint32_t collect_open(struct memo *memo, const struct state *state,
                             const struct input *input)
{
        uint32_t count = 0;

        if (only_new(memo, state, input)) {
                uint32_t slot = state_workload(state, input->request.workload);
                if (slot == NONE || state->workloads[slot].members_placed > 0)
                        return 0;
                memo->open[0] = state->workloads[slot].bucket;
                return is_open(memo, state, memo->open[0]);
        }
        for (uint32_t b = 0; b < state->buckets_count; b++)
                if (is_open(memo, state, b))
                        memo->open[count++] = b;
        for (uint32_t at = count / 2; at-- > 0;)
                open_sift(state, memo->open, count, at);
        return count;
}

static void settle(struct memo *memo, const struct state *state)
{
        memo->settled = true;
        memo->settled_freed = state->freed;
        memo->settled_arrivals = state->arrivals;
}

/* Who was only to be placed at once, and was not, is refused. */
static int refuse_once(struct memo *memo, const struct state *state, const struct input *input,
                       struct err *err)
{
        if (input->kind != INPUT_SUBMITTED)
                return 0;
        uint32_t slot = state_workload(state, input->request.workload);
        if (slot == NONE || !state->workloads[slot].once ||
            state->workloads[slot].members_placed > 0)
                return 0;
        return refuse(memo, input->request.workload, GATE_FIT, NULL, err);
}

/* blocked, feasible and open grow together. */
static bool buckets_room(struct memo *memo, uint32_t count)
{
        uint32_t blocked = memo->buckets_room, feasible = memo->buckets_room;

        if (count <= memo->buckets_room)
                return true;
        if (!memo_room(memo, &memo->blocked, &blocked, count - 1, sizeof *memo->blocked) ||
            !memo_room(memo, &memo->feasible, &feasible, count - 1, sizeof *memo->feasible) ||
            !memo_room(memo, &memo->open, &memo->open_room, count - 1, sizeof *memo->open))
                return false;
        memo->buckets_room = blocked;
        return true;
}

/* A search that ran out of a bounded table is done once more on a fresh memo. */
static int place_surely(struct memo *memo, const struct state *state, uint32_t bucket,
                        struct err *err)
{
        for (unsigned tries = 0; tries < 2; tries++) {
                memo->facts_count = 0;
                int rc = memo_sync(memo, state, err);
                if (rc == 0)
                        rc = place_head(memo, state, bucket, err);
                if (rc < 0 || !memo->failed)
                        return rc;
        }
        return no_memory(err);
}

static int decide_queue(struct memo *memo, const struct state *state, const struct input *input,
                        bool *ret_more, struct err *err)
{
        if (!buckets_room(memo, state->buckets_count))
                return no_memory(err);
        uint32_t count = collect_open(memo, state, input);
        while (count > 0) {
                uint32_t bucket = memo->open[0];
                int rc = place_surely(memo, state, bucket, err);
                if (rc < 0)
                        return rc;
                if (rc == 1) {
                        bool last = only_new(memo, state, input) &&
                                    state->buckets[bucket].count == 1;
                        if (last)
                                settle(memo, state);
                        *ret_more = !last;
                        return 0;
                }
                memo->blocked[bucket] = state->freed + 1;
                memo->open[0] = memo->open[--count];
                if (count > 0)
                        open_sift(state, memo->open, count, 0);
        }
        settle(memo, state);
        return refuse_once(memo, state, input, err);
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
