/* What the queue's order compares, worked out once per tenant and set of models, so that ten
 * thousand waiters cost little. The order is that of order.h. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/explain_line.h"

/* ---- standing of a bucket, as admission sees it ---- */

/* Shares of a tenant and those above it, from the root down. */
struct chain {
        uint8_t depth;
        struct share shares[TENANT_DEPTH_MAX];
};

/* The best standing its first waiter could start with; STANDINGS_END: none. */
static enum standing standing_of(const struct line_up *line, uint32_t number)
{
        const struct state *state = line->x->state;
        struct admission admission;
        unsigned best = 0;

        if (!state->accounts)
                return STANDING_STANDARD;
        accounts_admit(state, number, &admission);
        while (best < STANDINGS_END && admission.models[best] == 0)
                best++;
        return (enum standing)best;
}

/* ---- keys ---- */

static void fill_chain(const struct state *state, uint32_t tenant, uint64_t models,
                       struct chain *chain)
{
        const struct tenancy *tenancy = state->accounts->tenancy;

        chain->depth = tenancy->tenants[tenant].depth;
        for (unsigned level = chain->depth; level-- > 0; tenant = tenancy->tenants[tenant].parent)
                chain->shares[level] = accounts_share(state, tenant, models);
}

static uint32_t chain_of(struct line_up *line, uint16_t tenant, uint64_t models)
{
        uint64_t hash = map_mix(map_mix(models) + tenant);
        uint32_t at = map_get(&line->chain_of, hash);

        if (at != MAP_NONE)
                return at;
        at = line->chain_of.count;
        if (!memo_room(line->x->memo, &line->chains, &line->chains_room, at,
                       sizeof *line->chains) ||
            map_set(&line->chain_of, hash, at) != 0) {
                line->failed = true;
                return 0;
        }
        fill_chain(line->x->state, tenant, models, &line->chains[at]);
        return at;
}

static int compare_chains(const struct chain *a, const struct chain *b)
{
        const struct share none = {0, 1};
        int order = 0;

        for (unsigned level = 0; order == 0 && (level < a->depth || level < b->depth); level++)
                order = share_compare(level < a->depth ? a->shares[level] : none,
                                      level < b->depth ? b->shares[level] : none);
        return order;
}

int compare_keys(const struct line_up *line, const struct key *a, const struct key *b)
{
        int order = rank_compare(&a->rank, &b->rank);

        if (order == 0 && a->rank.class && a->rank.class->by_weight && a->chain != b->chain)
                order = compare_chains(&line->chains[a->chain], &line->chains[b->chain]);
        return order ? order : rank_compare_last(&a->rank, &b->rank);
}

struct key key_of(struct line_up *line, uint32_t number)
{
        const struct state *state = line->x->state;
        const struct bucket *bucket = &state->buckets[number];
        struct key key = {.rank = {.priority = bucket->priority,
                                   .standing = standing_of(line, number)}};

        if (!state->accounts)
                return key;
        key.rank.class = class_of(state, number);
        if (key.rank.class->by_weight)
                key.chain = chain_of(line, bucket->tenant,
                                     state->shapes[bucket->shape].models & line->present);
        return key;
}

bool place_before(const struct line_up *line, const struct place_in_line *a,
                  const struct place_in_line *b)
{
        int order = compare_keys(line, &a->key, &b->key);

        return order != 0 ? order < 0 : waiter_compare(&a->waiter, &b->waiter) < 0;
}

/* ---- life ---- */

void line_up_init(struct line_up *line, struct explainer *x, const struct asking *asking)
{
        *line = (struct line_up){.x = x, .asking = asking};
        for (unsigned m = 0; m < MODELS_MAX; m++)
                line->present |= x->state->capacity[m] ? 1ull << m : 0;
        map_init(&line->chain_of, MAP_ENTRIES_MAX);
}

void line_up_done(struct line_up *line)
{
        mem_free(line->chains);
        map_done(&line->chain_of);
}
