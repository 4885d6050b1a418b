/* The state's tables: slots, keys, and what is entered into them for good. */
#include "engine/state_impl.h"

#include <assert.h>
#include <string.h>

/* ---- tables with free lists; the first word of a free slot links to the next ---- */

uint32_t slot_take(struct slots *slots, void *table, size_t size)
{
        uint32_t slot = slots->free;

        if (slot != NONE)
                memcpy(&slots->free, (char *)table + slot * size, sizeof slots->free);
        else
                slot = slots->high++;
        assert(slot < slots->max);
        memset((char *)table + slot * size, 0, size);
        slots->used++;
        return slot;
}

void slot_give(struct slots *slots, void *table, size_t size, uint32_t slot)
{
        memset((char *)table + slot * size, 0, size);
        memcpy((char *)table + slot * size, &slots->free, sizeof slots->free);
        slots->free = slot;
        slots->used--;
}

void map_enter(struct map *map, uint64_t key, uint32_t value)
{
        int rc = map_set(map, key, value);

        assert(rc == 0);                /* reserved at start */
        (void)rc;
}

static uint64_t free_key(const struct map *map, uint64_t key)
{
        while (map_get(map, key) != MAP_NONE)
                key++;
        return key;
}

uint32_t slot_of(const struct state *state, uint64_t id)
{
        uint32_t slot = state_workload(state, id);

        assert(slot != NONE);
        return slot;
}

void node_touch(struct state *state, uint32_t node)
{
        state->changes[state->changes_count++ % CHANGES_RING] = node;
}

/* ---- shapes and buckets ---- */

/* The least that a member costs on a model: by the smallest part of an empty device. */
static void find_least(struct state *state, uint32_t shape, unsigned model_id)
{
        const struct model *model = model_get(state->models, model_id);
        const struct need *need = &state->shapes[shape].need;
        size_t at = (size_t)shape * MODELS_MAX + model_id;
        struct part options[PART_OPTIONS_MAX], *part = &options[0];
        struct device_state empty = {0};

        if (part_options(model, &empty, &state->fits[at], options) == 0)
                return;
        state->units[at] = need->devices * part_units(model, part);
        state->least[at] = (struct least){.method = part->method, .profile = part->profile};
        if (part->method == METHOD_SHARE)
                state->least[at].memory_mib = part->memory_mib;
        if (part->method == METHOD_SLICE)
                state->least[at].memory_mib = model->profiles[part->profile].memory_mib;
}

void state_measure_shape(struct state *state, uint32_t number, uint32_t models)
{
        struct shape *shape = &state->shapes[number];
        const struct need *need = &shape->need;
        const char *profile = need->profile ? vocab_text(state->vocab, need->profile) : NULL;

        shape->models = 0;
        shape->fits_count = models;
        for (unsigned m = 0; m < models; m++) {
                const struct model *model = model_get(state->models, m);
                struct part_fit *fit = &state->fits[(size_t)number * MODELS_MAX + m];
                if (!(need->models >> m & 1) || !part_fit_make(model, need, profile, fit))
                        continue;
                shape->models |= 1ull << m;
                find_least(state, number, m);
        }
}

static uint32_t intern_shape(struct state *state, const struct need *need)
{
        uint32_t number = state_shape(state, need);

        if (number != NONE)
                return number;
        assert(state->shapes_count < state->bounds.shapes_max);
        number = state->shapes_count++;
        state->shapes[number].need = *need;
        state_measure_shape(state, number, (uint32_t)model_count(state->models));
        map_enter(state->shape_by_hash, free_key(state->shape_by_hash, need_hash(need)), number);
        return number;
}

uint32_t intern_bucket(struct state *state, const struct request *request)
{
        uint32_t shape = intern_shape(state, &request->need);
        uint32_t number = state_bucket(state, shape, request);

        if (number != NONE)
                return number;
        assert(state->buckets_count < state->bounds.buckets_max);
        number = state->buckets_count++;
        state->buckets[number] = (struct bucket){.shape = shape,
                                                 .form = request->form,
                                                 .priority = request->priority,
                                                 .tenant = request->tenant,
                                                 .class = request->class,
                                                 .data = request->data,
                                                 .spare = request->spare,
                                                 .head = NONE,
                                                 .tail = NONE};
        uint64_t key = bucket_hash(shape, request);
        map_enter(state->bucket_by_hash, free_key(state->bucket_by_hash, key), number);
        return number;
}

void enter_buckets(struct state *state)
{
        map_clear(state->bucket_by_hash);
        for (uint32_t b = 0; b < state->buckets_count; b++) {
                const struct bucket *bucket = &state->buckets[b];
                struct request request = {.form = bucket->form,
                                          .priority = bucket->priority,
                                          .tenant = bucket->tenant,
                                          .class = bucket->class,
                                          .data = bucket->data,
                                          .spare = bucket->spare};
                uint64_t key = bucket_hash(bucket->shape, &request);
                map_enter(state->bucket_by_hash, free_key(state->bucket_by_hash, key), b);
        }
}

/* ---- every key anew ---- */

static void enter_workloads(struct state *state)
{
        map_clear(state->workload_by_id);
        map_clear(state->first_of_group);
        map_clear(state->array_running);
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (!workload->live)
                        continue;
                map_enter(state->workload_by_id, workload->id, w);
                if (workload->group && workload->group_prev == NONE)
                        map_enter(state->first_of_group, workload->group, w);
                if (workload->array && workload->members_placed > 0) {
                        uint32_t running = map_get(state->array_running, workload->array);
                        map_enter(state->array_running, workload->array,
                                  running == MAP_NONE ? 1 : running + 1);
                }
        }
}

void state_enter_all(struct state *state)
{
        map_clear(state->node_by_name);
        map_clear(state->shape_by_hash);
        for (uint32_t n = 0; n < state->node_slots.high; n++)
                if (state->nodes[n].status != NODE_FREE_SLOT)
                        map_enter(state->node_by_name, state->nodes[n].desc.name, n);
        for (uint32_t s = 0; s < state->shapes_count; s++) {
                uint64_t key = need_hash(&state->shapes[s].need);
                map_enter(state->shape_by_hash, free_key(state->shape_by_hash, key), s);
        }
        enter_buckets(state);
        enter_workloads(state);
}
