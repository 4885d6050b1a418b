#include "engine/state_clone.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/price.h"
#include "engine/state_impl.h"

struct state *state_clone_new(const struct state *original)
{
        struct state *clone = state_new(original->models, &original->bounds);

        if (!clone)
                return NULL;
        vocab_free(clone->vocab);
        clone->vocab = original->vocab;
        return clone;
}

void state_clone_free(struct state *clone)
{
        if (!clone)
                return;
        clone->vocab = NULL;
        state_free(clone);
}

/* ---- accounts ---- */

#define COPY(to, from, count) memcpy((to), (from), (size_t)(count) * sizeof *(to))

static void copy_accounts(struct accounts *to, const struct accounts *from)
{
        size_t tenants = from->tenants, devices = tenants * DEVICE_DIMENSIONS;
        struct accounts kept = *to;

        *to = *from;
        to->held = kept.held;
        to->spare = kept.spare;
        to->within = kept.within;
        to->pot = kept.pot;
        to->drawn = kept.drawn;
        to->pot_of = kept.pot_of;
        to->reserved = kept.reserved;
        to->reserved_keep = kept.reserved_keep;
        to->root = kept.root;
        to->briefs = kept.briefs;
        to->first = kept.first;
        to->last = kept.last;
        to->standard = kept.standard;
        to->demoted = kept.demoted;
        to->dirty = kept.dirty;
        to->budgets = kept.budgets;
        to->counted_ms = kept.counted_ms;
        to->times = kept.times;
        COPY(to->held, from->held, tenants * DIMENSIONS_END);
        COPY(to->spare, from->spare, devices);
        COPY(to->within, from->within, devices);
        COPY(to->pot, from->pot, devices);
        COPY(to->drawn, from->drawn, devices);
        COPY(to->pot_of, from->pot_of, devices);
        COPY(to->reserved, from->reserved, devices);
        COPY(to->reserved_keep, from->reserved_keep, devices);
        COPY(to->root, from->root, tenants);
        COPY(to->briefs, from->briefs, tenants);
        COPY(to->first, from->first, tenants);
        COPY(to->last, from->last, tenants);
        COPY(to->standard, from->standard, tenants);
        COPY(to->demoted, from->demoted, tenants);
        COPY(to->dirty, from->dirty, tenants);
        COPY(to->budgets, from->budgets, tenants * TENANT_BUDGETS_MAX);
        COPY(to->counted_ms, from->counted_ms, tenants);
        run_times_copy_all(to->times, from->times);
        for (uint32_t t = 0; t < tenants; t++)
                run_times_copy(to->times, t, from->times, t);
}

/* A policy may have come into force since, or be the first. */
static int take_accounts(struct state *clone, const struct accounts *from, struct err *err)
{
        struct accounts *to = clone->accounts;

        if (!to || !from || to->tenancy != from->tenancy || to->tenants != from->tenants) {
                accounts_free(to);
                clone->accounts = to = NULL;
        }
        if (!from)
                return 0;
        if (!to)
                clone->accounts = to = accounts_new(from->tenancy, err);
        if (!to)
                return -ERR_NOMEM;
        copy_accounts(to, from);
        return 0;
}

/* ---- maps: entered anew, in any order ---- */

static void take_maps(struct state *clone)
{
        map_clear(clone->node_by_name);
        map_clear(clone->shape_by_hash);
        map_clear(clone->workload_by_id);
        map_clear(clone->first_of_group);
        for (uint32_t n = 0; n < clone->node_slots.high; n++)
                if (clone->nodes[n].status != NODE_FREE_SLOT)
                        map_enter(clone->node_by_name, clone->nodes[n].desc.name, n);
        for (uint32_t s = 0; s < clone->shapes_count; s++) {
                uint64_t key = need_hash(&clone->shapes[s].need);
                map_enter(clone->shape_by_hash, free_key(clone->shape_by_hash, key), s);
        }
        enter_buckets(clone);
        for (uint32_t w = 0; w < clone->workload_slots.high; w++) {
                const struct workload *workload = &clone->workloads[w];
                if (workload->live)
                        map_enter(clone->workload_by_id, workload->id, w);
                if (workload->live && workload->group && workload->group_prev == NONE)
                        map_enter(clone->first_of_group, workload->group, w);
        }
}

static void take_arrays(struct state *clone, const struct state *original)
{
        uint32_t cursor = 0, running;
        uint64_t array;

        map_clear(clone->array_running);
        while (map_next(original->array_running, &cursor, &array, &running))
                map_enter(clone->array_running, array, running);
}

/* ---- all of it ---- */

/* What the clone used beyond the original is as if it had never been. */
static void clear_rest(struct state *clone, const struct state *original)
{
        if (clone->node_slots.high > original->node_slots.high) {
                size_t from = (size_t)original->node_slots.high * NODE_DEVICES_MAX;
                size_t to = (size_t)clone->node_slots.high * NODE_DEVICES_MAX;
                memset(clone->devices + from, 0, (to - from) * sizeof *clone->devices);
        }
        for (uint32_t s = original->shapes_count; s < clone->shapes_count; s++) {
                size_t first = (size_t)s * MODELS_MAX;
                memset(&clone->shapes[s], 0, sizeof clone->shapes[s]);
                memset(clone->fits + first, 0, MODELS_MAX * sizeof *clone->fits);
                memset(clone->units + first, 0, MODELS_MAX * sizeof *clone->units);
                memset(clone->least + first, 0, MODELS_MAX * sizeof *clone->least);
        }
}

static void take_tables(struct state *clone, const struct state *original)
{
        COPY(clone->nodes, original->nodes, original->node_slots.high);
        COPY(clone->devices, original->devices,
             (size_t)original->node_slots.high * NODE_DEVICES_MAX);
        COPY(clone->shapes, original->shapes, original->shapes_count);
        COPY(clone->fits, original->fits, (size_t)original->shapes_count * MODELS_MAX);
        COPY(clone->units, original->units, (size_t)original->shapes_count * MODELS_MAX);
        COPY(clone->least, original->least, (size_t)original->shapes_count * MODELS_MAX);
        COPY(clone->buckets, original->buckets, original->buckets_count);
        COPY(clone->workloads, original->workloads, original->workload_slots.high);
        COPY(clone->members, original->members, original->member_slots.high);
        COPY(clone->parts, original->parts, original->part_slots.high);
        COPY(clone->plans, original->plans, original->plan_slots.high);
        COPY(clone->plan_places, original->plan_places, original->plan_place_slots.high);
        COPY(clone->afters, original->afters, original->after_slots.high);
        if (original->plan_set)
                *clone->plan = *original->plan;
}

int state_clone_take(struct state *clone, const struct state *original, struct err *err)
{
        struct state kept = *clone;
        int rc = take_accounts(clone, original->accounts, err);

        assert(clone->vocab == original->vocab);
        assert(clone->bounds.workloads_max == original->bounds.workloads_max);
        if (rc)
                return rc;
        clear_rest(clone, original);
        kept.accounts = clone->accounts;
        *clone = *original;
        clone->nodes = kept.nodes;
        clone->devices = kept.devices;
        clone->shapes = kept.shapes;
        clone->fits = kept.fits;
        clone->units = kept.units;
        clone->least = kept.least;
        clone->buckets = kept.buckets;
        clone->workloads = kept.workloads;
        clone->members = kept.members;
        clone->parts = kept.parts;
        clone->plans = kept.plans;
        clone->plan_places = kept.plan_places;
        clone->afters = kept.afters;
        clone->node_by_name = kept.node_by_name;
        clone->shape_by_hash = kept.shape_by_hash;
        clone->bucket_by_hash = kept.bucket_by_hash;
        clone->workload_by_id = kept.workload_by_id;
        clone->array_running = kept.array_running;
        clone->first_of_group = kept.first_of_group;
        clone->plan = kept.plan;
        clone->accounts = kept.accounts;
        clone->changes = kept.changes;
        take_tables(clone, original);
        take_maps(clone);
        take_arrays(clone, original);
        return 0;
}
