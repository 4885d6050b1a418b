#include "engine/state.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "engine/accounts.h"
#include "engine/price.h"

/* ---- life ---- */

static void bounds_defaults(struct state_bounds *bounds)
{
        if (bounds->nodes_max == 0)
                bounds->nodes_max = 1;
        if (bounds->workloads_max == 0)
                bounds->workloads_max = bounds->nodes_max * 64 + 65536;
        if (bounds->members_max == 0)
                bounds->members_max = bounds->nodes_max * 128 + 65536;
        if (bounds->parts_max == 0)
                bounds->parts_max = bounds->members_max + bounds->nodes_max * NODE_DEVICES_MAX;
        if (bounds->shapes_max == 0)
                bounds->shapes_max = 4096;
        if (bounds->buckets_max == 0)
                bounds->buckets_max = 32768;
        if (bounds->plans_max == 0)
                bounds->plans_max = 8192;
}

static struct map *new_map(uint32_t entries_max)
{
        struct map *map = mem_new(1, sizeof *map);

        if (!map)
                return NULL;
        map_init(map, entries_max);
        if (map_reserve(map, entries_max) != 0) {
                mem_free(map);
                return NULL;
        }
        return map;
}

/* Each plan may be for a gang as wide as the pool, but not all of them. */
static uint32_t plan_places_max(const struct state_bounds *bounds)
{
        return bounds->plans_max + bounds->nodes_max * NODE_DEVICES_MAX;
}

static bool state_tables(struct state *state)
{
        const struct state_bounds *bounds = &state->bounds;

        state->vocab = vocab_new();
        state->nodes = mem_new(bounds->nodes_max, sizeof *state->nodes);
        state->devices = mem_new((size_t)bounds->nodes_max * NODE_DEVICES_MAX,
                                 sizeof *state->devices);
        state->shapes = mem_new(bounds->shapes_max, sizeof *state->shapes);
        state->fits = mem_new((size_t)bounds->shapes_max * MODELS_MAX, sizeof *state->fits);
        state->least = mem_new((size_t)bounds->shapes_max * MODELS_MAX, sizeof *state->least);
        state->units = mem_new((size_t)bounds->shapes_max * MODELS_MAX, sizeof *state->units);
        state->buckets = mem_new(bounds->buckets_max, sizeof *state->buckets);
        state->workloads = mem_new(bounds->workloads_max, sizeof *state->workloads);
        state->members = mem_new(bounds->members_max, sizeof *state->members);
        state->parts = mem_new(bounds->parts_max, sizeof *state->parts);
        state->plans = mem_new(bounds->plans_max, sizeof *state->plans);
        state->plan_places = mem_new(plan_places_max(bounds), sizeof *state->plan_places);
        state->afters = mem_new(bounds->workloads_max, sizeof *state->afters);
        state->plan = mem_new(1, sizeof *state->plan);
        state->changes = mem_new(CHANGES_RING, sizeof *state->changes);
        state->node_by_name = new_map(bounds->nodes_max);
        state->shape_by_hash = new_map(bounds->shapes_max);
        state->bucket_by_hash = new_map(bounds->buckets_max);
        state->workload_by_id = new_map(bounds->workloads_max);
        state->array_running = new_map(bounds->workloads_max);
        state->first_of_group = new_map(bounds->workloads_max);
        return state->vocab && state->nodes && state->devices && state->shapes && state->fits &&
               state->buckets && state->workloads && state->members && state->parts &&
               state->plan && state->changes && state->node_by_name && state->shape_by_hash &&
               state->bucket_by_hash && state->workload_by_id && state->array_running &&
               state->first_of_group &&
               state->least && state->units && state->plans && state->plan_places && state->afters;
}

static struct slots new_slots(uint32_t max)
{
        return (struct slots){.max = max, .free = NONE};
}

struct state *state_new(const struct model_table *models, const struct state_bounds *bounds)
{
        struct state *state = mem_new(1, sizeof *state);

        if (!state)
                return NULL;
        state->bounds = *bounds;
        bounds_defaults(&state->bounds);
        state->models = models;
        if (!state_tables(state)) {
                state_free(state);
                return NULL;
        }
        state->node_slots = new_slots(state->bounds.nodes_max);
        state->workload_slots = new_slots(state->bounds.workloads_max);
        state->member_slots = new_slots(state->bounds.members_max);
        state->part_slots = new_slots(state->bounds.parts_max);
        state->plan_slots = new_slots(state->bounds.plans_max);
        state->plan_place_slots = new_slots(plan_places_max(&state->bounds));
        state->after_slots = new_slots(state->bounds.workloads_max);
        state->maintenance_due_ms = INT64_MAX;
        state->asked_slot = NONE;
        return state;
}

static void free_map(struct map *map)
{
        if (map)
                map_done(map);
        mem_free(map);
}

void state_free(struct state *state)
{
        if (!state)
                return;
        free_map(state->node_by_name);
        free_map(state->shape_by_hash);
        free_map(state->bucket_by_hash);
        free_map(state->workload_by_id);
        free_map(state->array_running);
        free_map(state->first_of_group);
        accounts_free(state->accounts);
        mem_free(state->least);
        mem_free(state->units);
        mem_free(state->plans);
        mem_free(state->plan_places);
        mem_free(state->afters);
        vocab_free(state->vocab);
        mem_free(state->nodes);
        mem_free(state->devices);
        mem_free(state->shapes);
        mem_free(state->fits);
        mem_free(state->buckets);
        mem_free(state->workloads);
        mem_free(state->members);
        mem_free(state->parts);
        mem_free(state->plan);
        mem_free(state->changes);
        mem_free(state);
}

/* ---- look-ups ---- */

uint32_t state_node(const struct state *state, unsigned name)
{
        return map_get(state->node_by_name, name);
}

uint32_t state_workload(const struct state *state, uint64_t id)
{
        return map_get(state->workload_by_id, id);
}

/* Hashes that meet move on to the next key, here and in state_tables.c. */
uint32_t state_shape(const struct state *state, const struct need *need)
{
        for (uint64_t key = need_hash(need);; key++) {
                uint32_t shape = map_get(state->shape_by_hash, key);
                if (shape == MAP_NONE || need_equal(&state->shapes[shape].need, need))
                        return shape;
        }
}

static bool bucket_takes(const struct bucket *bucket, uint32_t shape,
                         const struct request *request)
{
        return bucket->shape == shape && bucket->priority == request->priority &&
               bucket->tenant == request->tenant && bucket->class == request->class &&
               bucket->data == request->data && bucket->spare == request->spare &&
               form_equal(&bucket->form, &request->form);
}

uint32_t state_bucket(const struct state *state, uint32_t shape, const struct request *request)
{
        for (uint64_t key = bucket_hash(shape, request);; key++) {
                uint32_t found = map_get(state->bucket_by_hash, key);
                if (found == MAP_NONE)
                        return NONE;
                if (bucket_takes(&state->buckets[found], shape, request))
                        return found;
        }
}

uint64_t bucket_hash(uint32_t shape, const struct request *request)
{
        const struct form *form = &request->form;
        uint64_t hash = map_mix(((uint64_t)shape << 32) | (uint32_t)request->priority);

        hash = map_mix(hash ^ ((uint64_t)request->data << 48 | (uint64_t)request->tenant << 32 |
                               (uint64_t)request->class << 8 |
                               request->spare));
        return map_mix(hash ^ ((uint64_t)form->members << 32 | (uint64_t)form->near << 16 |
                               (uint64_t)form->near_required << 8 | form->spread));
}

bool shape_fit(const struct state *state, const struct need *need, unsigned model,
               struct part_fit *ret_fit)
{
        uint32_t shape = state_shape(state, need);

        if (shape != NONE && model < state->shapes[shape].fits_count) {
                if (!(state->shapes[shape].models >> model & 1))
                        return false;
                *ret_fit = state->fits[(size_t)shape * MODELS_MAX + model];
                return true;
        }
        if (!(need->models >> model & 1))
                return false;
        return part_fit_make(model_get(state->models, model), need,
                             need->profile ? vocab_text(state->vocab, need->profile) : NULL,
                             ret_fit);
}

uint64_t member_capacity(const struct state *state, uint32_t place)
{
        const struct member *member = &state->members[place];
        uint64_t units = 0;

        if (!node_takes_work(&state->nodes[member->node]))
                return 0;
        for (uint32_t held = member->first_part; held != NONE; held = state->parts[held].next) {
                const struct part *part = &state->parts[held].part;
                if (!node_devices(state, member->node)[part->device].state.broken)
                        units += part_units(node_model(state, member->node), part);
        }
        return units;
}

bool workload_is_frozen(const struct state *state, const struct workload *workload)
{
        for (uint32_t at = workload->first_member; at != NONE; at = state->members[at].next)
                if (state->nodes[state->members[at].node].frozen ||
                    node_is_down(&state->nodes[state->members[at].node]))
                        return true;
        return false;
}

unsigned need_held(const struct need *need)
{
        if (need->ask != ASK_WHOLE)
                return HELD_SHARE;
        return need->devices >= 8 ? HELD_8 : need->devices >= 4 ? HELD_4
                                     : need->devices >= 2       ? HELD_2
                                                                : HELD_1;
}

bool node_admits(const struct state *state, const struct node_desc *desc, const struct need *need)
{
        if (desc->drained || need->devices > desc->devices)
                return false;
        if (need->devices > 0 && !(need->models >> desc->model & 1))
                return false;
        if (need->plane && need->plane != desc->plane)
                return false;
        return vocab_meets(state->vocab, desc->labels, need->where);
}
