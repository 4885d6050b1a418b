/* Starting one workload: where, how its devices are cut for it, and as what it counts. */
#include "engine/queue_impl.h"

#include <string.h>

#include "base/err.h"
#include "engine/drain.h"
#include "engine/gang.h"
#include "engine/hold.h"
#include "engine/preempt.h"

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

int allocate(struct memo *memo, const struct state *state, const struct fact_allocated *place,
             struct err *err)
{
        for (unsigned i = 0; i < place->parts_count; i++) {
                int rc = place_steps(memo, state, place->node, &place->parts[i], err);
                if (rc)
                        return rc;
        }
        struct fact *fact = fact_add(memo, FACT_ALLOCATED);
        if (!fact)
                return no_memory(err);
        fact->allocated = *place;
        return 0;
}

/* ---- starting ---- */

bool settle_standing(struct memo *memo, const struct state *state, uint32_t bucket)
{
        const struct need *need = &state->shapes[state->buckets[bucket].shape].need;
        struct holding holding;
        struct promise promise;

        holding_clear(&holding);
        for (uint32_t i = 0; i < memo->facts_count; i++) {
                const struct fact_allocated *place = &memo->facts[i].allocated;
                if (memo->facts[i].kind == FACT_ALLOCATED)
                        holding_add(state, place->node, need, place->parts, place->parts_count,
                                    &holding);
        }
        enum standing standing = accounts_standing(state, bucket, &holding, &promise);
        if (standing == STANDINGS_END)
                return false;
        for (uint32_t i = 0; i < memo->facts_count; i++) {
                if (memo->facts[i].kind != FACT_ALLOCATED)
                        continue;
                memo->facts[i].allocated.standing = (uint8_t)standing;
                memo->facts[i].allocated.promise = promise;
        }
        return true;
}

/* 1: facts were added; 0: it does not fit now. */
static int place_single(struct memo *memo, const struct state *state, uint32_t slot,
                        uint64_t models, int64_t now_ms, struct err *err)
{
        const struct workload *workload = &state->workloads[slot];
        uint32_t shape = state->buckets[workload->bucket].shape;
        struct asker asker;
        struct place_right right = {models, leaves_ms(state, slot, now_ms),
                                    asker_of_slot(state, slot, &asker) ? &asker : NULL};
        struct move move;
        uint32_t node = index_best(memo, shape, right, workload->arrival, &move);

        if (node == NONE && !memo->failed)
                node = held_best(memo, state, slot, right, now_ms, &move);
        if (node == NONE)
                return 0;
        if (!right.asker)
                (void)move_lay(memo, node, 0, &move);
        struct fact_allocated place = {.workload = workload->id,
                                       .node = node,
                                       .parts_count = move.count};
        memcpy(place.parts, move.parts, move.count * sizeof *move.parts);
        int rc = allocate(memo, state, &place, err);
        return rc ? rc : 1;
}

static int place_gang(struct memo *memo, const struct state *state, uint32_t slot,
                      uint64_t models, int64_t now_ms, struct err *err)
{
        const struct bucket *bucket = &state->buckets[state->workloads[slot].bucket];
        struct asker asker;
        struct gang_right right = {models, slot, leaves_ms(state, slot, now_ms),
                                   asker_of_slot(state, slot, &asker) ? &asker : NULL};
        const struct gang_place *places;
        int rc = gang_place(memo, bucket->shape, &bucket->form, right, &places, err);

        for (uint32_t m = 0; rc == 1 && m < bucket->form.members; m++) {
                struct fact_allocated place = {.workload = state->workloads[slot].id,
                                               .node = places[m].node,
                                               .member = (uint16_t)m,
                                               .parts_count = places[m].parts_count};
                memcpy(place.parts, places[m].parts, sizeof place.parts);
                int failed = allocate(memo, state, &place, err);
                if (failed)
                        return failed;
        }
        return rc;
}

bool tables_hold_places(const struct state *state, const struct bucket *bucket)
{
        uint64_t members = bucket->form.members;
        uint64_t parts = members * state->shapes[bucket->shape].need.devices;

        return members <= state->bounds.members_max - state->member_slots.used &&
               parts <= state->bounds.parts_max - state->part_slots.used;
}

/* What lies in its way of itself goes first: its capacity hold, and a plan it needs no more. */
static int place(struct memo *memo, const struct state *state, uint32_t slot, uint64_t models,
                 int64_t now_ms, struct err *err)
{
        uint32_t number = state->workloads[slot].bucket;
        const struct bucket *bucket = &state->buckets[number];
        int rc;

        if (!tables_hold_places(state, bucket))
                return 0;
        rc = let_go_of_nodes(memo, state, slot, err);
        if (rc == 0)
                rc = withdraw_plan(memo, state, slot, err);
        if (rc)
                return rc;
        rc = form_is_gang(&bucket->form) ? place_gang(memo, state, slot, models, now_ms, err)
                                         : place_single(memo, state, slot, models, now_ms, err);
        if (rc == 1 && state->accounts && !settle_standing(memo, state, number)) {
                memo->refused_late = true;
                return 0;
        }
        return rc;
}

/* A search that ran out of a bounded table is done once more on a fresh memo. */
static int place_surely(struct memo *memo, const struct state *state, uint32_t slot,
                        uint64_t models, int64_t now_ms, struct err *err)
{
        for (unsigned tries = 0; tries < 2; tries++) {
                memo->facts_count = 0;
                int rc = memo_sync(memo, state, err);
                if (rc == 0)
                        rc = place(memo, state, slot, models, now_ms, err);
                if (rc != 1)
                        memo->facts_count = 0;
                if (rc < 0 || !memo->failed)
                        return rc;
        }
        return no_memory(err);
}

/* Parts on several models may not be held together (one promise pays for all of a workload), or
 * only not on the model that looked best: each alone may do. */
int place_on_some(struct memo *memo, const struct state *state, uint32_t slot, uint64_t models,
                  int64_t now_ms, struct err *err)
{
        bool others_late = memo->refused_late;

        memo->refused_late = false;
        int rc = place_surely(memo, state, slot, models, now_ms, err);
        bool late = memo->refused_late;
        uint64_t left = late ? models & state->capacity_models : 0;
        for (bool several = left & (left - 1); rc == 0 && several && left; left &= left - 1)
                rc = place_surely(memo, state, slot, left & -left, now_ms, err);
        memo->refused_late = others_late || (late && rc == 0);
        return rc;
}
