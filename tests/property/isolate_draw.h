/* isolate_draw.h - random rules of isolation, nodes and work that they matter to. */
#pragma once

#include "engine/fact.h"
#include "sim/rng.h"

struct model_table;
struct policy_doc;
struct state;

enum { ISOLATE_NODES = 7 };

unsigned isolate_below(struct rng *rng, unsigned n);

/* Tenants, classes and data labels have the same names in all of them. NULL: it is refused, and
 * stands on stderr. `say` prints it. */
struct policy_doc *isolate_policy(const struct model_table *models, uint64_t seed, uint64_t stream,
                                  bool say);

/* A vocabulary learns all words; each in the same order. */
void isolate_learn(const struct state *state);
struct node_desc isolate_node(const struct state *state, struct rng *rng, unsigned number);
struct request isolate_request(const struct state *state, struct rng *rng, uint64_t id);
