/* Who contends for a place: buckets by their first waiters, the one whose turn it is on top. */
#include "engine/queue_impl.h"

#include "engine/gang.h"
#include "engine/hold.h"
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

/* What is kept for promises depends on all that is used, and what lasted before something was kept
 * does not know of it: then nothing lasts. */
bool contend(struct memo *memo, const struct state *state, uint32_t bucket)
{
        struct contending *contending = &memo->contending[bucket];
        const struct accounts *accounts = state->accounts;
        bool lasts = accounts && accounts->kept_in_all == 0;
        uint64_t version = 0;
        uint32_t at;

        if (lasts) {
                version = accounts->versions[accounts->root[state->buckets[bucket].tenant]];
                if (contending->epoch == memo->contend.epoch && contending->version == version)
                        return contending->may;
        }
        struct contender *it = &contending->it;
        contending->may = make_contender(memo, state, bucket, &at, it);
        contending->epoch = lasts && !memo->out_of_memory ? memo->contend.epoch : 0;
        contending->version = version;
        if (!contending->may)
                return false;
        it->waiter = line_waiter(memo, state, bucket, at, it->waiter.slot);
        contending->rank = rank_of(state, it);
        if (contending->rank.class && contending->rank.class->by_weight)
                contending->share = root_share(state, bucket);
        return true;
}

/* ---- who is to be tried ---- */

/* Whoever may use most: what does not fit it fits nobody. */
static struct place_right anybody(int64_t now_ms)
{
        return (struct place_right){UINT64_MAX, now_ms + RUN_TIME_LEAST_MS, NULL};
}

static bool is_open(const struct memo *memo, const struct state *state, uint32_t bucket)
{
        return state->buckets[bucket].count > 0 && memo->blocked[bucket] != state->freed + 1;
}

bool contend_only_new(const struct memo *memo, const struct state *state,
                      const struct input *input)
{
        return memo->settled && memo->settled_freed == state->freed &&
               input->kind == INPUT_SUBMITTED &&
               memo->settled_arrivals + 1 == state->arrivals;
}

/* With a policy there are many buckets of a shape, which most turns give no room: then none of them
 * is looked at, until something comes free. */
static bool is_tight(struct memo *memo, const struct state *state, uint32_t shape, int64_t now_ms)
{
        if (memo->tight[shape] == state->freed + 1)
                return true;
        if (!state->accounts)
                return false;
        if (memo_sync(memo, state, NULL) != 0) {
                memo->out_of_memory = true;
                return false;
        }
        if (!index_is_empty(memo, shape) || held_fits(memo, state, shape, anybody(now_ms)))
                return false;
        memo->tight[shape] = state->freed + 1;
        return true;
}

/* Whether nodes are held for work of the bucket: they are open to it alone. */
static bool has_holds(const struct memo *memo, const struct state *state, uint32_t bucket)
{
        for (uint32_t h = 0; h < memo->held_count; h++) {
                uint32_t held_for = state->nodes[memo->held[h]].held_for;
                if (held_for && state->workloads[held_for - 1].bucket == bucket)
                        return true;
        }
        return false;
}

/* Gangs of a shape are mostly alike: the newest answer is kept. */
struct form_seen {
        struct form form;               /* members 0: none yet */
        bool may_fit;
};

static bool form_may_fit(struct memo *memo, const struct state *state, uint32_t number,
                         struct form_seen *seen)
{
        const struct bucket *bucket = &state->buckets[number];

        if (!state->accounts || !form_is_gang(&bucket->form))
                return true;
        if (seen->form.members == 0 || !form_equal(&seen->form, &bucket->form)) {
                seen->form = bucket->form;
                seen->may_fit = gang_may_fit(memo, bucket->shape, &bucket->form);
        }
        return seen->may_fit || has_holds(memo, state, number);
}

/* Adds the shape's buckets that may fit to memo->open. */
static void collect_shape(struct memo *memo, const struct state *state, uint32_t shape,
                          int64_t now_ms, uint32_t *count)
{
        struct form_seen seen = {.may_fit = true};
        bool looked = false;

        for (uint32_t b = memo->first_of_shape[shape]; b != NONE; b = memo->next_of_shape[b]) {
                if (!is_open(memo, state, b))
                        continue;
                if (!looked && is_tight(memo, state, shape, now_ms))
                        break;
                looked = true;
                if (form_may_fit(memo, state, b, &seen) && contend(memo, state, b))
                        memo->open[(*count)++] = b;
                else
                        memo->blocked[b] = state->freed + 1;
        }
}

uint32_t contend_collect(struct memo *memo, const struct state *state, const struct input *input,
                         int64_t now_ms)
{
        uint32_t count = 0, new = input->kind == INPUT_SUBMITTED
                                          ? state_workload(state, input->request.workload)
                                          : NONE;

        /* Who has just come may start where those before it were held, or stay too long. */
        if (new != NONE && (state->accounts || state->nodes_closing > 0) &&
            memo->settled_arrivals != state->arrivals)
                memo->blocked[state->workloads[new].bucket] = 0;
        if (contend_only_new(memo, state, input)) {
                if (new == NONE || state->workloads[new].members_placed > 0)
                        return 0;
                uint32_t bucket = state->workloads[new].bucket;
                memo->open[0] = bucket;
                return is_open(memo, state, bucket) && contend_alone(memo, state, bucket);
        }
        contend_follow(memo, state);
        for (uint32_t s = 0; s < state->shapes_count; s++)
                collect_shape(memo, state, s, now_ms, &count);
        open_order(memo, state, count);
        return count;
}

bool contend_shape_fits(struct memo *memo, const struct state *state, uint32_t shape,
                        int64_t now_ms)
{
        struct place_right any = anybody(now_ms);
        struct move move;

        if (memo->tight[shape] == state->freed + 1)
                return false;
        if (index_best(memo, shape, any, 0, &move) != NONE || memo->failed ||
            held_fits(memo, state, shape, any))
                return true;
        memo->tight[shape] = state->freed + 1;
        return false;
}

/* ---- the tables for it ---- */

/* All that stands by bucket grows together, and what stands by shape. */
static bool room(struct memo *memo, const struct state *state)
{
        uint32_t count = state->buckets_count;
        uint32_t blocked = memo->buckets_room, feasible = blocked, lines = blocked;
        uint32_t next = blocked, contending = blocked, alone = memo->tight_room, first = alone;

        if (state->shapes_count > memo->tight_room &&
            (!memo_room(memo, &memo->feasible_alone, &alone, state->shapes_count - 1,
                        sizeof *memo->feasible_alone) ||
             !memo_room(memo, &memo->first_of_shape, &first, state->shapes_count - 1,
                        sizeof *memo->first_of_shape) ||
             !memo_room(memo, &memo->tight, &memo->tight_room, state->shapes_count - 1,
                        sizeof *memo->tight)))
                return false;
        if (count <= memo->buckets_room)
                return true;
        if (!memo_room(memo, &memo->blocked, &blocked, count - 1, sizeof *memo->blocked) ||
            !memo_room(memo, &memo->feasible, &feasible, count - 1, sizeof *memo->feasible) ||
            !memo_room(memo, &memo->lines, &lines, count - 1, sizeof *memo->lines) ||
            !memo_room(memo, &memo->next_of_shape, &next, count - 1,
                       sizeof *memo->next_of_shape) ||
            !memo_room(memo, &memo->contending, &contending, count - 1,
                       sizeof *memo->contending) ||
            !memo_room(memo, &memo->open, &memo->open_room, count - 1, sizeof *memo->open))
                return false;
        memo->buckets_room = blocked;
        return true;
}

/* What is new joins its shape's list. */
static void list_buckets(struct memo *memo, const struct state *state)
{
        for (; memo->shapes_listed < state->shapes_count; memo->shapes_listed++)
                memo->first_of_shape[memo->shapes_listed] = NONE;
        for (; memo->buckets_listed < state->buckets_count; memo->buckets_listed++) {
                uint32_t *first = &memo->first_of_shape[state->buckets[memo->buckets_listed].shape];
                memo->next_of_shape[memo->buckets_listed] = *first;
                *first = memo->buckets_listed;
        }
}

bool contend_room(struct memo *memo, const struct state *state)
{
        if (!room(memo, state))
                return false;
        list_buckets(memo, state);
        return true;
}
