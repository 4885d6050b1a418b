#include "sim/log_pool.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/model.h"
#include "engine/state.h"
#include "proto/model_doc.h"
#include "proto/policy_doc.h"
#include "proto/pool_image.h"
#include "proto/state_image.h"
#include "store/log.h"
#include "store/objects.h"
#include "store/snapshot.h"

/* Until the first input: a usual one is large. */
static const struct state_bounds no_bounds = {.nodes_max = 1, .workloads_max = 1};
/* Of logs that do not say: what a controller takes when nobody says otherwise. */
static const struct state_bounds usual_bounds = {.nodes_max = 16384, .workloads_max = 200000};

int log_pool_new(const char *models, struct log_pool *ret_pool, struct err *err)
{
        struct log_pool pool = {.models = model_table_new()};
        int rc = pool.models ? model_doc_builtin(pool.models, err)
                             : err_set(err, ERR_NOMEM, "out of memory");

        if (rc == 0 && models)
                rc = model_doc_load(models, pool.models, err);
        if (rc == 0) {
                pool.models_listed = pool.words.models = (uint32_t)model_count(pool.models);
                pool.state = state_new(pool.models, &no_bounds);
                if (!pool.state)
                        rc = err_set(err, ERR_NOMEM, "out of memory");
        }
        if (rc)
                log_pool_done(&pool);
        else
                *ret_pool = pool;
        return rc;
}

void log_pool_done(struct log_pool *pool)
{
        state_free(pool->state);
        policy_doc_free(pool->policy);
        log_brought_done(&pool->brought);
        model_table_free(pool->models);
        *pool = (struct log_pool){0};
}

/* ---- a snapshot ---- */

static int load_policy(struct log_pool *pool, struct store *store, uint64_t revision,
                       struct err *err)
{
        struct object_copy *copy;
        int rc;

        if (revision == 0)
                return 0;
        rc = objects_get(store, OBJECT_POLICY, revision, &copy, err);
        if (rc)
                return rc;
        rc = log_policy_read(copy->object.body, revision, pool->models, &pool->policy, err);
        mem_free(copy);
        pool->policy_revision = revision;
        return rc;
}

static int read_state(struct log_pool *pool, const struct image_in *in, struct err *err)
{
        struct state *state;
        int rc = state_image_read(in->at, (size_t)(in->end - in->at), pool->models,
                                  pool->policy ? pool->policy->tenancy : NULL, &state, err);

        if (rc)
                return rc;
        state_free(pool->state);
        pool->state = state;
        for (unsigned kind = 0; kind < VOCAB_KINDS_END; kind++)
                pool->words.counts[kind] = vocab_count(state->vocab, kind);
        return 0;
}

static int read_body(struct log_pool *pool, struct store *store, const void *body, size_t size,
                     struct err *err)
{
        struct image_in in = {.at = body, .end = (const unsigned char *)body + size};
        struct pool_image image;
        struct pool_run *runs;          /* the controller's matter */
        size_t runs_count;
        int rc = pool_image_read(&in, pool->models, pool->models_listed, POOL_IMAGE_RUNS_MAX,
                                 &image, &runs, &runs_count, err);

        if (rc)
                return rc;
        mem_free(runs);
        pool->words.models = image.models;
        pool->now_ms = image.now_ms;
        rc = load_policy(pool, store, image.policy_revision, err);
        return rc ? rc : read_state(pool, &in, err);
}

int log_pool_restore(struct log_pool *pool, struct store *store, const struct snapshot *about,
                     struct err *err)
{
        void *body;
        int rc = snapshot_read(store, about, &body, err);

        assert(pool->seq == 0);
        if (rc == 0) {
                rc = read_body(pool, store, body, about->size, err);
                mem_free(body);
        }
        if (rc)
                return err_prefix(err, "the snapshot at record %llu",
                                  (unsigned long long)about->seq);
        pool->seq = about->seq;
        pool->has_begun = true;
        return 0;
}

int log_pool_restore_first(struct log_pool *pool, struct store *store, const struct snapshot *list,
                           size_t count, struct err *err)
{
        for (size_t i = 0; i < count; i++) {
                if (snapshot_check_place(store, &list[i], NULL) < 0)
                        continue;
                int rc = log_pool_restore(pool, store, &list[i], err);
                if (rc == 0)
                        return 1;
                if (rc != -ERR_INPUT)
                        return rc;
                log_pool_done(pool);    /* damaged: another one */
                rc = log_pool_new(NULL, pool, err);
                if (rc)
                        return rc;
        }
        return 0;
}

/* ---- records ---- */

/* A pool has the bounds that it began with: its first input says them. */
static int take_bounds(struct log_pool *pool, struct err *err)
{
        struct state *state;

        if (pool->has_begun)
                return 0;
        state = state_new(pool->models, pool->brought.has_bounds ? &pool->brought.bounds
                                                                 : &usual_bounds);
        if (!state)
                return err_set(err, ERR_NOMEM, "out of memory");
        state_free(pool->state);
        pool->state = state;
        return 0;
}

static void take_time(struct log_pool *pool, const struct record *record)
{
        pool->seq = record->seq;
        if (record->at_ms > pool->now_ms)
                pool->now_ms = record->at_ms;
}

int log_pool_take_input(struct log_pool *pool, const struct record *record,
                        struct logged_input *logged, struct err *err)
{
        int rc = log_brought_take(&pool->brought, logged, err);

        if (rc == 0)
                rc = take_bounds(pool, err);
        pool->has_begun = true;
        take_time(pool, record);
        return rc;
}

void log_pool_apply(struct log_pool *pool, const struct fact *fact)
{
        struct policy_doc *policy;

        if (pool->before)
                pool->before(pool->arg, pool, fact);
        state_apply(pool->state, fact, pool->now_ms);
        pool->facts++;
        policy = log_brought_settle(&pool->brought, fact);
        if (!policy)
                return;
        policy_doc_free(pool->policy);
        pool->policy = policy;
        pool->policy_revision = pool->brought.revision;
}

static int see_fact(void *arg, struct fact *fact, struct err *err)
{
        struct log_pool *pool = arg;
        int rc = log_brought_give(&pool->brought, pool->models, fact, err);

        if (rc == 0)
                log_pool_apply(pool, fact);
        return rc;
}

int log_pool_follow(struct log_pool *pool, const struct record *record, struct err *err)
{
        int rc = 0;

        if (record->kind == RECORD_INPUT) {
                rc = log_brought_see(&pool->brought, record->body, record->size,
                                     !pool->has_begun, err);
                if (rc == 0)
                        rc = take_bounds(pool, err);
                pool->has_begun = true;
        }
        take_time(pool, record);
        if (record->kind == RECORD_FACTS)
                rc = log_facts_parse(record->body, record->size, pool->state->vocab, pool->models,
                                     &pool->words, see_fact, pool, err);
        return rc ? err_prefix(err, "record %llu of the log", (unsigned long long)record->seq) : 0;
}
