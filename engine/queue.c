#include "engine/queue.h"

#include "base/mem.h"
#include "engine/queue_impl.h"

struct waiting {
        struct contender contender;
        bool may_start;
};

/* A heap: whoever goes first is on top. */
struct queue_list {
        const struct state *state;
        uint32_t count;
        struct waiting list[];
};

static bool goes_before(const struct state *state, const struct waiting *a,
                        const struct waiting *b)
{
        if (a->may_start != b->may_start)
                return a->may_start;
        if (a->may_start)
                return order_before(state, &a->contender, &b->contender);
        return state->workloads[a->contender.waiter.slot].arrival <
               state->workloads[b->contender.waiter.slot].arrival;
}

static void sink(struct queue_list *list, uint32_t at)
{
        for (;;) {
                uint32_t first = at, left = 2 * at + 1;
                for (uint32_t child = left; child < left + 2 && child < list->count; child++)
                        if (goes_before(list->state, &list->list[child], &list->list[first]))
                                first = child;
                if (first == at)
                        return;
                struct waiting kept = list->list[at];
                list->list[at] = list->list[first];
                list->list[first] = kept;
                at = first;
        }
}

static void take_bucket(struct queue_list *list, uint32_t number)
{
        const struct state *state = list->state;
        struct contender contender = {.bucket = number, .standing = STANDING_STANDARD};

        if (state->accounts) {
                accounts_admit(state, number, &contender.admission);
                contender.standing = best_standing(&contender.admission);
        }
        for (uint32_t slot = state->buckets[number].head; slot != NONE;
             slot = state->workloads[slot].next) {
                contender.waiter = waiter_of(state, slot);
                list->list[list->count++] = (struct waiting){
                        contender, may_start(state, &state->workloads[slot])};
        }
}

struct queue_list *queue_list_new(const struct state *state)
{
        struct queue_list *list =
                mem_new(1, sizeof *list + (size_t)state->waiting * sizeof list->list[0]);

        if (!list)
                return NULL;
        list->state = state;
        for (uint32_t b = 0; b < state->buckets_count; b++)
                take_bucket(list, b);
        for (uint32_t at = list->count / 2; at-- > 0;)
                sink(list, at);
        return list;
}

void queue_list_free(struct queue_list *list)
{
        mem_free(list);
}

uint32_t queue_list_next(struct queue_list *list)
{
        uint32_t slot;

        if (list->count == 0)
                return NONE;
        slot = list->list[0].contender.waiter.slot;
        list->list[0] = list->list[--list->count];
        sink(list, 0);
        return slot;
}
