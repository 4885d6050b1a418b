/* Who goes before a waiting workload, and who might if something changed. */
#include <string.h>

#include "base/err.h"
#include "engine/explain_line.h"
#include "engine/hold.h"

/* ---- who might go first if something changed ---- */

/* Of its tree, and behind it for the models it could use: less borrowed of one may change that. */
static bool is_swayed(const struct line_up *line, const struct bucket *bucket)
{
        const struct state *state = line->x->state;
        const struct accounts *accounts = state->accounts;

        return accounts && accounts->root[bucket->tenant] == accounts->root[line->asking->tenant] &&
               accounts->tenancy->classes[bucket->class].by_weight &&
               ((state->shapes[bucket->shape].models ^ line->asking->models) & line->present);
}

static void count_rival(struct line_up *line, uint32_t number, enum standing standing, bool ahead)
{
        const struct state *state = line->x->state;
        const struct bucket *bucket = &state->buckets[number];
        const struct shape *shape = &state->shapes[bucket->shape];
        struct rivals *rivals = &line->x->rivals;

        if (standing == STANDINGS_END) {
                uint16_t tenant = line->asking->tenant;
                rivals->barred++;
                rivals->barred_in_tree +=
                        state->accounts->root[bucket->tenant] == state->accounts->root[tenant];
                return;
        }
        rivals->held += state->accounts && hold_is_for(state, bucket);
        if (!ahead) {
                rivals->swayed += is_swayed(line, bucket);
                return;
        }
        rivals->ahead_cpu += shape->need.devices == 0;
        rivals->ahead_in_tree +=
                !state->accounts || state->accounts->root[bucket->tenant] ==
                                            state->accounts->root[line->asking->tenant];
        for (uint64_t left = shape->models & line->present; left; left &= left - 1)
                rivals->ahead_on[__builtin_ctzll(left)]++;
}

/* ---- counting ---- */

struct counting {
        struct line_up *line;
        struct place_in_line own;
        struct place_in_line first[EXPLAIN_AHEAD_MAX + 1];
        struct explained_position *ret;
        /* Of the bucket's work without a limit that has not run yet: alike, and known by 0. */
        int64_t usual_ms, order_ms;
};

/* As waiter_of(), asking once a bucket for what is expected. */
static struct waiter waiter_in(struct counting *it, uint32_t slot)
{
        const struct state *state = it->line->x->state;
        const struct workload *workload = &state->workloads[slot];

        if (workload->time_limit_ms > 0 || workload->attained_ms > 0)
                return waiter_of(state, slot);
        if (it->order_ms == 0)
                it->order_ms = waiter_expects_ms(state, slot);
        return waiter_expecting(state, slot, it->order_ms);
}

static void keep_first(struct counting *it, const struct key *key, uint32_t slot)
{
        struct place_in_line place = {.key = *key};
        uint32_t at = it->ret->first_count;

        if (at == EXPLAIN_AHEAD_MAX && compare_keys(it->line, key, &it->first[at - 1].key) > 0)
                return;
        place.waiter = waiter_in(it, slot);
        for (; at > 0 && place_before(it->line, &place, &it->first[at - 1]); at--)
                it->first[at] = it->first[at - 1];
        if (at == EXPLAIN_AHEAD_MAX)
                return;
        it->first[at] = place;
        if (it->ret->first_count < EXPLAIN_AHEAD_MAX)
                it->ret->first_count++;
}

static int64_t runs_ms(struct counting *it, uint32_t slot)
{
        const struct state *state = it->line->x->state;
        const struct workload *workload = &state->workloads[slot];

        if (workload->time_limit_ms > 0 || workload->attained_ms > 0)
                return expected_left_ms(state, slot, END_PERCENT, state->now_ms);
        if (it->usual_ms == 0)
                it->usual_ms = expected_left_ms(state, slot, END_PERCENT, state->now_ms);
        return it->usual_ms;
}

/* One waiter of a bucket whose key compares so with its own. */
static void count_waiter(struct counting *it, uint32_t number, const struct key *key, int order,
                         uint32_t slot)
{
        const struct state *state = it->line->x->state;
        const struct bucket *bucket = &state->buckets[number];
        bool own = !state->accounts || bucket->tenant == it->line->asking->tenant;
        bool ahead = order < 0;

        if (order == 0) {
                struct waiter waiter = waiter_in(it, slot);
                ahead = waiter_compare(&waiter, &it->own.waiter) < 0;
        }
        it->ret->in_tenant += own && ahead;
        if (ahead || bucket != &state->buckets[state->workloads[it->own.waiter.slot].bucket])
                count_rival(it->line, number, key->rank.standing, ahead);
        if (!ahead || key->rank.standing == STANDINGS_END)
                return;
        it->ret->ahead_exact++;
        it->ret->ahead_device_ms += bucket_devices(state, bucket) * (uint64_t)runs_ms(it, slot);
        keep_first(it, key, slot);
}

static void count_bucket(struct counting *it, uint32_t number)
{
        const struct state *state = it->line->x->state;
        const struct bucket *bucket = &state->buckets[number];
        struct key key = key_of(it->line, number);
        int order = compare_keys(it->line, &key, &it->own.key);

        it->usual_ms = it->order_ms = 0;
        if (!state->accounts || bucket->tenant == it->line->asking->tenant)
                it->ret->of_tenant += bucket->count;
        for (uint32_t slot = bucket->head; slot != NONE; slot = state->workloads[slot].next) {
                const struct workload *workload = &state->workloads[slot];
                if (slot == it->own.waiter.slot)
                        continue;
                struct key lost = key;
                lost.rank.displaced = true;
                if (may_start(state, workload) && workload->displaced)
                        count_waiter(it, number, &lost,
                                     compare_keys(it->line, &lost, &it->own.key), slot);
                else if (may_start(state, workload))
                        count_waiter(it, number, &key, order, slot);
                else
                        it->line->x->rivals.timed += (workload->holds & HOLD_START) != 0;
        }
}

static enum ahead ahead_of(uint64_t count)
{
        return count == 0     ? AHEAD_NEXT
               : count <= 5   ? AHEAD_TO_5
               : count <= 20  ? AHEAD_TO_20
               : count <= 100 ? AHEAD_TO_100
                              : AHEAD_MORE;
}

static void finish(struct counting *it)
{
        const struct state *state = it->line->x->state;
        struct explained_position *ret = it->ret;

        for (uint32_t i = 0; i < ret->first_count; i++) {
                const struct workload *workload = &state->workloads[it->first[i].waiter.slot];
                const struct bucket *bucket = &state->buckets[workload->bucket];
                ret->first[i] =
                        (struct explained_other){.workload = workload->id,
                                                 .tenant = bucket->tenant,
                                                 .class = bucket->class,
                                                 .devices = (uint32_t)bucket_devices(state, bucket),
                                                 .standing = STANDINGS_END};
        }
        ret->known = true;
        ret->in_tenant++;
        ret->ahead = ahead_of(ret->ahead_exact);
        ret->device_hours = ahead_of((ret->ahead_device_ms + 3599999) / 3600000);
}

int explain_position(struct explainer *x, const struct asking *asking, struct explanation *ret,
                     struct err *err)
{
        const struct state *state = x->state;
        struct line_up line;
        struct counting it = {.line = &line, .ret = &ret->position};
        int rc = 0;

        line_up_init(&line, x, asking);
        it.own.key = key_of(&line, state->workloads[asking->slot].bucket);
        it.own.key.rank.displaced = state->workloads[asking->slot].displaced;
        it.own.waiter = waiter_of(state, asking->slot);
        for (uint32_t b = 0; b < state->buckets_count; b++)
                if (state->buckets[b].count > 0)
                        count_bucket(&it, b);
        finish(&it);
        if (line.failed)
                rc = err_set(err, ERR_NOMEM, "out of memory while explaining");
        line_up_done(&line);
        return rc;
}
