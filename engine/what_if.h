/* what_if.h - the accounts with one thing changed, for who asks what would be.
 *
 * Pure, and changes nothing. Deciding passes NULL: the accounts as they are. Explaining passes
 * higher limits, or running work that is gone, and so gets its answers from the same questions
 * (accounts.h). What the work that is gone leaves of promises that are not lent is not counted
 * anew: who asks looks whether there are any.
 */
#pragma once

#include "engine/accounts.h"
#include "engine/state.h"

struct limit_raise {
        uint16_t tenant, dimension;
        uint64_t from, to;
};

struct what_if {
        const struct limit_raise *raises;       /* limits that are higher */
        uint32_t raises_count;
        uint32_t gone;                  /* slot of running work that ended; NONE */
        struct holding held;            /* by it */
};

/* Running work is gone. */
struct what_if what_if_gone(const struct state *state, uint32_t slot);

/* ---- for the questions themselves ---- */

uint64_t what_if_limit(const struct what_if *what_if, uint32_t tenant, unsigned dimension,
                       uint64_t limit);
/* What the gone work had of the tenant's sums; of a tenant's pot; of what is used of a model. */
uint64_t what_if_held(const struct state *state, const struct what_if *what_if, uint32_t tenant,
                      unsigned dimension);
uint64_t what_if_drawn(const struct state *state, const struct what_if *what_if, uint32_t tenant,
                       unsigned dimension);
uint64_t what_if_used(const struct state *state, const struct what_if *what_if, unsigned model);

static inline uint64_t limit_of(const struct state *state, const struct what_if *what_if,
                                uint32_t tenant, unsigned dimension)
{
        uint64_t limit = state->accounts->tenancy->tenants[tenant].limit[dimension];

        return what_if ? what_if_limit(what_if, tenant, dimension, limit) : limit;
}

static inline uint64_t held_of(const struct state *state, const struct what_if *what_if,
                               uint32_t tenant, unsigned dimension)
{
        uint64_t held = *account_held(state->accounts, tenant, dimension);

        return what_if ? held - what_if_held(state, what_if, tenant, dimension) : held;
}

static inline uint64_t drawn_of(const struct state *state, const struct what_if *what_if,
                                uint32_t tenant, unsigned dimension)
{
        uint64_t drawn = *account(state->accounts->drawn, tenant, dimension);

        return what_if ? drawn - what_if_drawn(state, what_if, tenant, dimension) : drawn;
}

static inline uint64_t used_of(const struct state *state, const struct what_if *what_if,
                               unsigned model)
{
        uint64_t used = state->used[model];

        return what_if ? used - what_if_used(state, what_if, model) : used;
}
