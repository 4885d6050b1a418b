#include "engine/what_if.h"

struct what_if what_if_gone(const struct state *state, uint32_t slot)
{
        struct what_if what_if = {.gone = slot};

        holding_of(state, slot, &what_if.held);
        return what_if;
}

uint64_t what_if_limit(const struct what_if *what_if, uint32_t tenant, unsigned dimension,
                       uint64_t limit)
{
        for (uint32_t r = 0; r < what_if->raises_count; r++)
                if (what_if->raises[r].tenant == tenant &&
                    what_if->raises[r].dimension == dimension)
                        return what_if->raises[r].to;
        return limit;
}

uint64_t what_if_held(const struct state *state, const struct what_if *what_if, uint32_t tenant,
                      unsigned dimension)
{
        if (what_if->gone == NONE)
                return 0;
        const struct workload *gone = &state->workloads[what_if->gone];
        if (!tenancy_is_below(state->accounts->tenancy, state->buckets[gone->bucket].tenant,
                              (uint16_t)tenant) ||
            (gone->standing == STANDING_SPARE && dimension != DIM_RUNNING))
                return 0;
        return dimension == DIM_RUNNING ? 1 : holding_amount(&what_if->held, dimension);
}

uint64_t what_if_drawn(const struct state *state, const struct what_if *what_if, uint32_t tenant,
                       unsigned dimension)
{
        if (what_if->gone == NONE)
                return 0;
        const struct workload *gone = &state->workloads[what_if->gone];
        bool of_it = gone->standing == STANDING_PROTECTED && gone->promise.tenant == tenant &&
                     gone->promise.any == (dimension == DIM_ANY);

        return of_it ? holding_amount(&what_if->held, dimension) : 0;
}

uint64_t what_if_used(const struct state *state, const struct what_if *what_if, unsigned model)
{
        uint64_t units = 0;

        if (what_if->gone == NONE)
                return 0;
        for (uint32_t at = state->workloads[what_if->gone].first_member; at != NONE;
             at = state->members[at].next)
                if (state->nodes[state->members[at].node].desc.model == model)
                        units += member_capacity(state, at);
        return units;
}
