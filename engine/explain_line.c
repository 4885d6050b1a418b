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
        uint64_t borrowed[TENANT_DEPTH_MAX], weight[TENANT_DEPTH_MAX];
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

static void fill_chain(const struct accounts *accounts, uint32_t tenant, uint64_t models,
                       struct chain *chain)
{
        chain->depth = accounts->tenancy->tenants[tenant].depth;
        for (unsigned level = chain->depth; level-- > 0;) {
                const struct tenant *it = &accounts->tenancy->tenants[tenant];
                uint64_t borrowed = UINT64_MAX, weight = 1;
                for (uint64_t left = models; left; left &= left - 1) {
                        unsigned m = (unsigned)__builtin_ctzll(left);
                        uint64_t more = *account_held(accounts, tenant, m) -
                                        *account(accounts->within, tenant, m) +
                                        *account(accounts->spare, tenant, m);
                        if (borrowed != UINT64_MAX &&
                            more * weight >= borrowed * it->weight_milli[m])
                                continue;
                        borrowed = more;
                        weight = it->weight_milli[m];
                }
                chain->borrowed[level] = borrowed == UINT64_MAX ? 0 : borrowed;
                chain->weight[level] = weight;
                tenant = it->parent;
        }
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
        fill_chain(line->x->state->accounts, tenant, models, &line->chains[at]);
        return at;
}

static int compare_chains(const struct chain *a, const struct chain *b)
{
        for (unsigned level = 0; level < a->depth || level < b->depth; level++) {
                uint64_t x = level < a->depth ? a->borrowed[level] : 0;
                uint64_t y = level < b->depth ? b->borrowed[level] : 0;
                x *= level < b->depth ? b->weight[level] : 1;
                y *= level < a->depth ? a->weight[level] : 1;
                if (x != y)
                        return x < y ? -1 : 1;
        }
        return 0;
}

/* As order.c's policy_compare(), priority before it. */
int compare_keys(const struct line_up *line, const struct key *a, const struct key *b)
{
        if (a->priority != b->priority)
                return a->priority > b->priority ? -1 : 1;
        if (!a->class)
                return 0;
        if (a->standing != b->standing)
                return a->standing < b->standing ? -1 : 1;
        if (a->class->rank != b->class->rank)
                return a->class->rank < b->class->rank ? -1 : 1;
        if (a->displaced != b->displaced)
                return a->displaced ? -1 : 1;
        if (a->class->by_weight != b->class->by_weight)
                return a->class->by_weight ? -1 : 1;
        if (a->class->by_weight && a->chain != b->chain) {
                int order = compare_chains(&line->chains[a->chain], &line->chains[b->chain]);
                if (order != 0)
                        return order;
        }
        if (a->class->order != b->class->order)
                return a->class->order < b->class->order ? -1 : 1;
        return 0;
}

struct key key_of(struct line_up *line, uint32_t number)
{
        const struct state *state = line->x->state;
        const struct bucket *bucket = &state->buckets[number];
        struct key key = {.priority = bucket->priority, .standing = standing_of(line, number)};

        if (!state->accounts)
                return key;
        key.class = class_of(state, number);
        if (key.class->by_weight)
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
