/* The queue's turn: by priority, then arrival; what does not fit lets others pass. */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "engine/decide_impl.h"
#include "engine/gang.h"
#include "engine/memo_impl.h"

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
        uint32_t node = index_best(memo, shape, state->workloads[slot].arrival, &move);

        if (node == NONE)
                return 0;
        find_devices(memo, state, node, &move);
        int rc = allocate(memo, state, state->workloads[slot].id, 0, node, move.parts, move.count,
                          err);
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

int decide_queue(struct memo *memo, const struct state *state, const struct input *input,
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
