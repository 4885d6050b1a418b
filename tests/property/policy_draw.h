/* policy_draw.h - random pools, policies and requests.
 *
 * A policy is drawn as a document and read as a user's is. Its tree and its numbers come from two
 * streams, so that a second policy can keep the tenants of the first. Everything that is drawn is
 * meant: a document that is refused is drawn anew.
 */
#pragma once

#include "engine/tenancy.h"
#include "sim/rng.h"
#include "tests/property/case.h"

struct policy_doc;

enum { DRAW_NODES_MAX = 20, DRAW_CLASSES = 4 };

/* Where virtual time begins: twenty minutes before a day, a month and a quarter end. */
#define DRAW_START_MS INT64_C(1775000400000)

struct draw_pool {
        unsigned nodes_count, models_count;
        struct node_desc nodes[DRAW_NODES_MAX];
        uint8_t models[3];              /* that its nodes have */
        uint32_t devices[CASE_MODELS];  /* of each */
};

void draw_pool(struct rng *rng, const struct case_words *words, struct draw_pool *ret_pool);

/* NULL: no document in many tries was accepted; the last one and its error are on stderr. `say`
 * prints the one that was. */
struct policy_doc *draw_policy(uint64_t tree_seed, uint64_t seed, const struct draw_pool *pool,
                               const struct model_table *models, bool say);

/* Everything but the id, the array and what it waits for. */
struct request draw_work(struct rng *rng, const struct draw_pool *pool,
                         const struct case_words *words, const struct tenancy *tenancy,
                         int64_t now_ms);

unsigned draw_below(struct rng *rng, unsigned n);
bool draw_chance(struct rng *rng, unsigned percent);
/* A time from `low` to `high`, each size equally likely. */
int64_t draw_span(struct rng *rng, int64_t low_ms, int64_t high_ms);
