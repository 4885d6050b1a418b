/* What stands against a start by the policy, for work and for requests that are not interned: asked
 * of the accounts (accounts.h), and which limit binds, for texts. */
#include <string.h>

#include "engine/explain_impl.h"
#include "engine/units.h"

/* ---- limits ---- */

/* What one start on that model would hold. */
void holding_on(const struct asking *asking, unsigned model, enum measure measure,
                struct holding *holding)
{
        uint64_t members = asking->form.members;
        bool most = measure == MEASURE_MOST;

        memset(holding, 0, sizeof *holding);
        if (asking->need.devices == 0) {
                holding->cpu_milli = asking->need.cpu_milli * members;
                return;
        }
        holding->all = members * (most ? asking->units_most[model] : asking->units[model]);
        holding->models = 1ull << model;
        holding->units[model] = holding->all;
        holding->memory_mib =
                members * (most ? asking->memory_most[model] : asking->memory_mib[model]);
        if (asking->profile[model] >= 0)
                holding->slices[asking->profile[model]] = (uint32_t)members * asking->need.devices;
}

/* Keeps what binds: first that forbids, else where least is left. */
static void bind_see(struct bind *bind, struct bind it)
{
        if (bind->any && bind->over)
                return;
        if (!bind->any || it.over || it.limit - it.after < bind->limit - bind->after)
                *bind = it;
}

static void bind_dimension(const struct state *state, const struct what_if *what_if,
                           uint32_t tenant, unsigned dimension, uint64_t more, struct bind *bind,
                           uint32_t *over)
{
        uint64_t limit = limit_of(state, what_if, tenant, dimension);

        if (more == 0 || (!amount_is_number(limit) && limit != AMOUNT_NONE))
                return;
        uint64_t used = held_of(state, what_if, tenant, dimension);
        struct bind it = {.tenant = (uint16_t)tenant,
                          .dimension = (uint16_t)dimension,
                          .used = used,
                          .limit = limit,
                          .after = used + more,
                          .over = limit_forbids(limit, used, more),
                          .alone = limit_forbids(limit, 0, more),
                          .any = true};
        *over += it.over;
        bind_see(bind, it);
}

/* Limits from the tenant up to its root. Returns how many forbid it. */
uint32_t bind_limits(const struct state *state, const struct what_if *what_if, uint32_t tenant,
                     const struct holding *holding, struct bind *ret_bind, bool *ret_alone)
{
        const struct tenancy *tenancy = state->accounts->tenancy;
        uint32_t over = 0;

        *ret_bind = (struct bind){.dimension = DIMENSIONS_END};
        *ret_alone = false;
        for (uint32_t t = tenant; t != TENANT_NONE; t = tenancy->tenants[t].parent) {
                unsigned model =
                        holding->models ? (unsigned)__builtin_ctzll(holding->models) : DIM_CPU;
                const unsigned dimensions[] = {model, DIM_ANY, DIM_MEMORY};
                for (unsigned i = 0; i < 3; i++)
                        bind_dimension(state, what_if, t, dimensions[i],
                                       holding_amount(holding, dimensions[i]), ret_bind, &over);
                for (uint32_t p = 0; p < tenancy->profiles_count; p++)
                        bind_dimension(state, what_if, t, DIM_SLICES + p, holding->slices[p],
                                       ret_bind, &over);
                *ret_alone |= ret_bind->over && ret_bind->alone;
        }
        return over;
}

/* ---- rights ---- */

static void right_on(const struct state *state, const struct asking *asking,
                     const struct what_if *what_if, unsigned model, enum measure measure,
                     struct rights *rights)
{
        uint64_t bits = asking->need.devices ? 1ull << model : UINT64_MAX;
        const struct claimant who = {asking->tenant, asking->class, asking->spare};
        struct holding holding;
        struct promise promise;
        enum gate gate;

        holding_on(asking, model, measure, &holding);
        enum standing standing = accounts_stand(state, what_if, &who, &holding, &promise, &gate);
        if (standing != STANDINGS_END)
                rights->models[standing] |= bits;
        else if (gate == GATE_LIMIT)
                rights->limited |= bits;
        else if (gate == GATE_BUDGET)
                rights->unfunded |= bits;
        else
                rights->kept |= bits;
        if (gate == GATE_LIMIT && rights->never) {
                struct bind bind;
                bool alone;
                bind_limits(state, what_if, asking->tenant, &holding, &bind, &alone);
                rights->never = alone;
        } else {
                rights->never = false;
        }
}

/* Models that count: those it can lie on and of which something is up; else all of the first. */
static uint64_t models_of(const struct state *state, const struct asking *asking)
{
        uint64_t up = 0;

        for (uint64_t left = asking->models; left; left &= left - 1) {
                unsigned m = (unsigned)__builtin_ctzll(left);
                up |= state->capacity[m] ? 1ull << m : 0;
        }
        return up ? up : asking->models;
}

void rights_of(const struct state *state, const struct asking *asking,
               const struct what_if *what_if, enum measure measure, struct rights *ret_rights)
{
        *ret_rights = (struct rights){.never = true};
        if (!state->accounts) {
                ret_rights->models[STANDING_STANDARD] = UINT64_MAX;
                ret_rights->never = false;
                return;
        }
        ret_rights->jobs = accounts_too_many_run(state, what_if, asking->tenant);
        ret_rights->refused = accounts_budget_empty(state, asking->tenant, asking->models,
                                                    ON_EMPTY_REFUSE);
        if (asking->need.devices == 0) {
                right_on(state, asking, what_if, 0, measure, ret_rights);
                return;
        }
        for (uint64_t left = models_of(state, asking); left; left &= left - 1)
                right_on(state, asking, what_if, (unsigned)__builtin_ctzll(left), measure,
                         ret_rights);
        ret_rights->never &= ret_rights->limited != 0;
}
