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
        struct accounts kept = *to;

        *to = *from;
        to->times = kept.times;
        to->versions = kept.versions;   /* no table: of no snapshot either */
        COPY(to->versions, from->versions, from->tenants);
#define X(table, length) \
        to->table = kept.table; \
        COPY(to->table, from->table, length);
        ACCOUNTS_TABLES(X, from->tenants)
#undef X
        run_times_copy_all(to->times, from->times);
        for (uint32_t t = 0; t < from->tenants; t++)
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
#define X(table, length) \
        clone->table = kept.table; \
        COPY(clone->table, original->table, length);
        STATE_TABLES(X, original)
#undef X
        clone->node_by_name = kept.node_by_name;
        clone->shape_by_hash = kept.shape_by_hash;
        clone->bucket_by_hash = kept.bucket_by_hash;
        clone->workload_by_id = kept.workload_by_id;
        clone->array_running = kept.array_running;
        clone->first_of_group = kept.first_of_group;
        clone->plan = kept.plan;
        clone->accounts = kept.accounts;
        clone->changes = kept.changes;
        if (original->plan_set)
                *clone->plan = *original->plan;
        state_enter_all(clone);
        return 0;
}
