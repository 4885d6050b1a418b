/* Who contends for a place: buckets by their first waiters, the one whose turn it is on top. */
#include "engine/queue_impl.h"

#include "engine/memo_impl.h"

/* ---- the order of those who may fit ---- */

static bool goes_before(const struct memo *memo, const struct state *state, uint32_t a, uint32_t b)
{
        const struct contending *x = &memo->contending[a], *y = &memo->contending[b];
        int order = rank_compare(&x->rank, &y->rank);

        if (order == 0 && x->rank.class && x->rank.class->by_weight) {
                order = share_compare(x->share, y->share);
                if (order == 0)         /* further down the tree they may differ */
                        return order_before(state, &x->it, &y->it);
        }
        if (order == 0)
                order = rank_compare_last(&x->rank, &y->rank);
        return (order ? order : waiter_compare(&x->it.waiter, &y->it.waiter)) < 0;
}

static void open_sift(const struct memo *memo, const struct state *state, uint32_t count,
                      uint32_t at)
{
        uint32_t *open = memo->open, bucket = open[at];

        for (;;) {
                uint32_t child = 2 * at + 1;
                if (child >= count)
                        break;
                if (child + 1 < count && goes_before(memo, state, open[child + 1], open[child]))
                        child++;
                if (!goes_before(memo, state, open[child], bucket))
                        break;
                open[at] = open[child];
                at = child;
        }
        open[at] = bucket;
}

/* Mostly the first of them is placed, and nobody asks for a second. */
void open_order(struct memo *memo, const struct state *state, uint32_t count)
{
        uint32_t *open = memo->open, first = 0;

        memo->open_is_heap = false;
        for (uint32_t at = 1; at < count; at++)
                if (goes_before(memo, state, open[at], open[first]))
                        first = at;
        if (first == 0)
                return;
        uint32_t bucket = open[first];
        open[first] = open[0];
        open[0] = bucket;
}

void open_pop(struct memo *memo, const struct state *state, uint32_t *count)
{
        memo->open[0] = memo->open[--*count];
        if (*count == 0)
                return;
        if (memo->open_is_heap) {
                open_sift(memo, state, *count, 0);
                return;
        }
        for (uint32_t at = *count / 2; at-- > 0;)
                open_sift(memo, state, *count, at);
        memo->open_is_heap = true;
}

/* ---- what a bucket brings into it ---- */

enum standing best_standing(const struct admission *admission)
{
        unsigned standing = 0;

        while (standing < STANDINGS_END && admission->models[standing] == 0)
                standing++;
        return (enum standing)standing;
}

static bool make_contender(struct memo *memo, const struct state *state, uint32_t bucket,
                           uint32_t *ret_at, struct contender *ret_contender)
{
        *ret_at = 0;
        ret_contender->bucket = bucket;
        ret_contender->standing = STANDING_STANDARD;
        if (state->accounts) {
                accounts_admit(state, bucket, &ret_contender->admission);
                ret_contender->standing = best_standing(&ret_contender->admission);
                if (ret_contender->standing == STANDINGS_END)
                        return false;
        }
        return line_next(memo, state, bucket, ret_at, &ret_contender->waiter.slot);
}

bool contend_alone(struct memo *memo, const struct state *state, uint32_t bucket)
{
        uint32_t at;

        memo->contending[bucket].epoch = 0;
        return make_contender(memo, state, bucket, &at, &memo->contending[bucket].it);
}

void contend_follow(struct memo *memo, const struct state *state)
{
        if (memo->contend.order_version == state->order_version &&
            memo->contend.nodes_version == state->nodes_version &&
            memo->contend.policy_version == state->policy_version &&
            memo->contend.arrays_version == state->arrays_version &&
            memo->contend.capacity_models == state->capacity_models)
                return;
        memo->contend.epoch++;
        memo->contend.order_version = state->order_version;
        memo->contend.nodes_version = state->nodes_version;
        memo->contend.policy_version = state->policy_version;
        memo->contend.arrays_version = state->arrays_version;
        memo->contend.capacity_models = state->capacity_models;
}

static struct share root_share(const struct state *state, uint32_t number)
{
        const struct bucket *bucket = &state->buckets[number];

        return accounts_share(state, state->accounts->root[bucket->tenant],
                              state->shapes[bucket->shape].models);
}

/* What is kept for promises depends on all that is used: then nothing lasts. */
bool contend(struct memo *memo, const struct state *state, uint32_t bucket)
{
        struct contending *contending = &memo->contending[bucket];
        const struct accounts *accounts = state->accounts;
        uint64_t version = 0;
        uint32_t at;

        if (accounts) {
                version = accounts->versions[accounts->root[state->buckets[bucket].tenant]];
                if (contending->epoch == memo->contend.epoch && contending->version == version)
                        return contending->may;
        }
        struct contender *it = &contending->it;
        contending->may = make_contender(memo, state, bucket, &at, it);
        bool lasts = accounts && accounts->kept_in_all == 0 && !memo->out_of_memory;
        contending->epoch = lasts ? memo->contend.epoch : 0;
        contending->version = version;
        if (!contending->may)
                return false;
        it->waiter = line_waiter(memo, state, bucket, at, it->waiter.slot);
        contending->rank = rank_of(state, it);
        if (contending->rank.class && contending->rank.class->by_weight)
                contending->share = root_share(state, bucket);
        return true;
}
