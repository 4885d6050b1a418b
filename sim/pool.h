/* pool.h - the pool and the pods of a scenario, in an order that does not hang on names.
 *
 * Nodes, pods and device models are put in canonical order by what they are, so that
 * renaming them or permuting rows changes no result (but for policies that rank by name).
 * One owner at a time.
 */
#pragma once

#include "engine/state.h"
#include "proto/scenario.h"

struct replay_node {
        char name[VOCAB_WORD_MAX];
        uint8_t model, devices;
        uint32_t cpu_milli, ram_mib;
};

struct replay_pool {
        const struct model_table *models;       /* of this pool: own_models, or the caller's */
        struct model_table *own_models; /* openb: its names mean nothing, so figures neither */
        struct replay_node *nodes;
        uint32_t nodes_count;
        uint32_t devices;
};

/* One thing to place. */
struct replay_pods {
        struct need *needs;                     /* canonical order */
        uint32_t count;
};

/* `models` is the built-in table (and the operator's own); used for uniform pools. 0 or an error
 * with file:line. */
int replay_pool_load(const struct scenario_pool *spec, const struct model_table *models,
                     const char *openb_pods, struct replay_pool *ret_pool, struct err *err);
void replay_pool_done(struct replay_pool *pool);        /* a zeroed one is fine */

/* Reads an openb pod list against the pool's models. A pod that names only models the pool does not
 * have stays, as one that can never run. */
int replay_pods_load(const char *path, const struct replay_pool *pool,
                     struct replay_pods *ret_pods, struct err *err);
void replay_pods_done(struct replay_pods *pods);

/* A fresh state with every node joined; `copies` of each (named apart) for growth benches. NULL:
 * out of memory. */
struct state *replay_state_new(const struct replay_pool *pool, uint32_t copies, struct err *err);

/* The same on whole devices: the baseline every way of sharing is held against. */
struct need need_on_whole(const struct need *need);

/* Whether a pod asks only for models that no node has. */
bool need_has_no_model(const struct need *need);

/* What a need asks of its devices, in thousandths of a device. */
uint64_t need_milli(const struct need *need);
