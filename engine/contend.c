/* Who contends for a place: buckets by their first waiters, the one whose turn it is on top. */
#include "engine/queue_impl.h"

#include "engine/memo_impl.h"

static void open_sift(const struct state *state, struct contender *open, uint32_t count,
                      uint32_t at)
{
        struct contender contender = open[at];

        for (;;) {
                uint32_t child = 2 * at + 1;
                if (child >= count)
                        break;
                if (child + 1 < count && order_before(state, &open[child + 1], &open[child]))
                        child++;
                if (!order_before(state, &open[child], &contender))
                        break;
                open[at] = open[child];
                at = child;
        }
        open[at] = contender;
}

void open_order(struct memo *memo, const struct state *state, uint32_t count)
{
        for (uint32_t at = count / 2; at-- > 0;)
                open_sift(state, memo->open, count, at);
}

void open_pop(struct memo *memo, const struct state *state, uint32_t *count)
{
        memo->open[0] = memo->open[--*count];
        if (*count > 0)
                open_sift(state, memo->open, *count, 0);
}

enum standing best_standing(const struct admission *admission)
{
        unsigned standing = 0;

        while (standing < STANDINGS_END && admission->models[standing] == 0)
                standing++;
        return (enum standing)standing;
}

bool contend(struct memo *memo, const struct state *state, uint32_t bucket, bool alone,
             struct contender *ret_contender)
{
        uint32_t at = 0, slot;

        ret_contender->bucket = bucket;
        ret_contender->standing = STANDING_STANDARD;
        if (state->accounts) {
                accounts_admit(state, bucket, &ret_contender->admission);
                ret_contender->standing = best_standing(&ret_contender->admission);
                if (ret_contender->standing == STANDINGS_END)
                        return false;
        }
        if (!line_next(memo, state, bucket, &at, &slot))
                return false;
        if (alone)
                ret_contender->waiter.slot = slot;
        else
                ret_contender->waiter = line_waiter(memo, state, bucket, at, slot);
        return true;
}
