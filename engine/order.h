/* order.h - who goes before whom.
 *
 * Between buckets: priority; work inside its promise, then inside limits, then spare; class rank;
 * services that lost their place or had to leave it; who borrowed least for its weight; the class's
 * own order; arrival. Inside a bucket only the last two and the services differ. All that depends
 * on time counts as of the newest tick (state->now_ms), so between ticks only what is held changes
 * the order.
 *
 * `shortest` is least expected run time over time waited: (waited + 1 h) / expected, largest first;
 * waiting is ageing.
 *
 * Nothing starves: work that has waited for RESCUE_AFTER_MS in all is rescued at a tick, longest
 * wait first, as long as what is rescued asks for RESCUE_PERCENT of the pool at most (or is one
 * workload). It goes before all other work of its class from then on, in its level of time slices
 * as well, has a capacity hold whatever its width, class and tenant (hold.h), and is stopped for
 * promises only. So it waits for those rescued before it, and they end: docs/deciding.md has the
 * bound, tests/property/starve.c the reasons.
 */
#pragma once

#include "engine/accounts.h"
#include "engine/memo_impl.h"

#define AGEING_MS        INT64_C(3600000)
#define ORDER_PERCENT    75     /* quantile of past run times that orders */
#define BACKFILL_PERCENT 90     /* ... that must be over before the room is wanted */
#define END_PERCENT      50     /* ... that tells when running work ends */
#define RESCUE_AFTER_MS  INT64_C(864000000)     /* 10 days */
#define RESCUE_PERCENT   2

/* What a waiting workload brings into the order. */
struct waiter {
        uint64_t arrival;
        int64_t waited_ms;
        int64_t expected_ms;            /* 0: the class goes by arrival */
        uint32_t slot;
        uint8_t level;                  /* of time slices: 0 ran least */
        bool rescued, displaced;
};

struct waiter waiter_of(const struct state *state, uint32_t slot);
/* In two steps, for who knows already what is expected (expected_ms above). */
int64_t waiter_expects_ms(const struct state *state, uint32_t slot);
struct waiter waiter_expecting(const struct state *state, uint32_t slot, int64_t expected_ms);
/* Below 0: a goes before b, of equal buckets. Never 0 between two. */
int waiter_compare(const struct waiter *a, const struct waiter *b);

/* A bucket's waiters in order, as far as known; a cache. */
struct line {
        struct waiter *waiters;
        uint32_t count, room, first;
        uint64_t version;               /* state->order_version + 1 it was sorted at; 0: never */
        uint64_t arrivals;              /* newest arrival that is in it, + 1 */
};

/* The bucket's first waiter from place `*at` on that is not held; false: none. Moves *at to it. */
bool line_next(struct memo *memo, const struct state *state, uint32_t bucket, uint32_t *at,
               uint32_t *ret_slot);
/* What the one just given, at place `at`, brings into the order. */
struct waiter line_waiter(const struct memo *memo, const struct state *state, uint32_t bucket,
                          uint32_t at, uint32_t slot);

/* A contender: a bucket and its waiter. */
struct contender {
        uint32_t bucket;
        struct waiter waiter;
        enum standing standing;         /* the best it could start with */
        struct admission admission;     /* with a policy */
};

/* Whether nothing holds it: owner, dependency, start time, array. */
bool may_start(const struct state *state, const struct workload *workload);

/* What tells waiters of different buckets apart before arrival does, but for who borrowed least. */
struct rank {
        int32_t priority;
        enum standing standing;
        const struct service_class *class;      /* NULL: no policy */
        bool displaced;                 /* a service that lost its place */
};

/* Below 0: a goes before b. 0: where both go by weight (then their classes' by_weight is true), who
 * borrowed less goes before; then rank_compare_last(). */
static inline int rank_compare(const struct rank *a, const struct rank *b)
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
        /* Work that goes by weight and work that does not are not compared by it. */
        if (a->class->by_weight != b->class->by_weight)
                return a->class->by_weight ? -1 : 1;
        return 0;
}

static inline int rank_compare_last(const struct rank *a, const struct rank *b)
{
        if (!a->class || a->class->order == b->class->order)
                return 0;
        return a->class->order < b->class->order ? -1 : 1;
}

struct rank rank_of(const struct state *state, const struct contender *it);

/* Whether a goes before b. */
bool order_before(const struct state *state, const struct contender *a, const struct contender *b);

/* Expected whole run time, and what is left of it at `now_ms`, of waiting or running work. */
int64_t expected_run_ms(const struct state *state, uint32_t slot, unsigned percent,
                        int64_t attained_ms);
int64_t expected_left_ms(const struct state *state, uint32_t slot, unsigned percent,
                         int64_t now_ms);

/* The same of a request that is not queued: all of its run is left. */
int64_t request_left_ms(const struct state *state, const struct request *request,
                        unsigned percent);

int64_t waited_ms(const struct state *state, uint32_t slot, int64_t now_ms);
/* Run time of all its runs up to `now_ms`, as far as it counts. */
int64_t attained_ms(const struct state *state, uint32_t slot, int64_t now_ms);
unsigned slice_level(const struct service_class *class, int64_t attained);
/* Adds facts for those to be rescued now. 0 or -ERR_NOMEM. */
int decide_rescues(struct memo *memo, const struct state *state, int64_t now_ms, struct err *err);

/* As many devices as a whole node has, or more. */
bool is_wide(const struct state *state, const struct bucket *bucket);

static inline const struct service_class *class_of(const struct state *state, uint32_t bucket)
{
        return &state->accounts->tenancy->classes[state->buckets[bucket].class];
}
