/* What stands against a start by the policy, as admission.c decides it; for work and for requests
 * that are not interned, and for states with one thing changed. */
#include <string.h>

#include "engine/explain_impl.h"
#include "engine/units.h"

static const struct tenant *tenant_at(const struct state *state, uint32_t tenant)
{
        return &state->accounts->tenancy->tenants[tenant];
}

/* ---- the state with one thing changed ---- */

static uint64_t limit_of(const struct state *state, const struct what_if *what_if, uint32_t tenant,
                         unsigned dimension)
{
        for (uint32_t r = 0; what_if && r < what_if->raises_count; r++)
                if (what_if->raises[r].tenant == tenant &&
                    what_if->raises[r].dimension == dimension)
                        return what_if->raises[r].to;
        return tenant_at(state, tenant)->limit[dimension];
}

static uint64_t held_by(const struct holding *holding, unsigned dimension)
{
        if (dimension < MODELS_MAX)
                return holding->models >> dimension & 1 ? holding->units[dimension] : 0;
        if (dimension == DIM_ANY)
                return holding->all;
        if (dimension == DIM_CPU)
                return holding->cpu_milli;
        if (dimension == DIM_MEMORY)
                return holding->memory_mib;
        if (dimension == DIM_RUNNING)
                return 1;
        return dimension >= DIM_SLICES ? holding->slices[dimension - DIM_SLICES] : 0;
}

/* What the gone work had of a tenant's sums. */
static uint64_t gone_of(const struct state *state, const struct what_if *what_if, uint32_t tenant,
                        unsigned dimension)
{
        if (!what_if || what_if->gone == NONE)
                return 0;
        const struct workload *gone = &state->workloads[what_if->gone];
        if (!tenancy_is_below(state->accounts->tenancy, state->buckets[gone->bucket].tenant,
                              (uint16_t)tenant) ||
            (gone->standing == STANDING_SPARE && dimension != DIM_RUNNING))
                return 0;
        return held_by(&what_if->held, dimension);
}

static uint64_t held_of(const struct state *state, const struct what_if *what_if, uint32_t tenant,
                        unsigned dimension)
{
        return *account_held(state->accounts, tenant, dimension) -
               gone_of(state, what_if, tenant, dimension);
}

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
        struct bind it = {(uint16_t)tenant,
                          (uint16_t)dimension,
                          used,
                          limit,
                          used + more,
                          false,
                          false,
                          true};
        it.over = limit == AMOUNT_NONE || it.after > limit;
        it.alone = limit == AMOUNT_NONE || more > limit;
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
                                       held_by(holding, dimensions[i]), ret_bind, &over);
                for (uint32_t p = 0; p < tenancy->profiles_count; p++)
                        bind_dimension(state, what_if, t, DIM_SLICES + p, holding->slices[p],
                                       ret_bind, &over);
                *ret_alone |= ret_bind->over && ret_bind->alone;
        }
        return over;
}
/* ---- promises ---- */

static uint64_t pot_left(const struct state *state, const struct what_if *what_if, uint32_t tenant,
                         unsigned dimension)
{
        const struct accounts *accounts = state->accounts;
        uint64_t pot = *account(accounts->pot, tenant, dimension) +
                       *account(accounts->reserved, tenant, dimension);
        uint64_t drawn = *account(accounts->drawn, tenant, dimension);

        if (what_if && what_if->gone != NONE) {
                const struct workload *gone = &state->workloads[what_if->gone];
                bool of_it = gone->standing == STANDING_PROTECTED &&
                             gone->promise.tenant == tenant &&
                             gone->promise.any == (dimension == DIM_ANY);
                drawn -= of_it ? held_by(&what_if->held, dimension) : 0;
        }
        return pot > drawn ? pot - drawn : 0;
}

/* As accounts_draw(). */
static bool may_draw(const struct state *state, const struct what_if *what_if, uint16_t tenant,
                     unsigned model, uint64_t units)
{
        const uint16_t *pots = state->accounts->pot_of + (size_t)tenant * DEVICE_DIMENSIONS;
        const uint16_t whose[] = {tenant, pots[model], tenant, pots[DIM_ANY]};

        for (unsigned i = 0; i < 4 && units > 0; i++)
                if (whose[i] != TENANT_NONE &&
                    units <= pot_left(state, what_if, whose[i], i >= 2 ? DIM_ANY : model))
                        return true;
        return false;
}

/* What of the model is kept for promises of others. */
uint64_t kept_of(const struct accounts *accounts, uint16_t tenant, unsigned model)
{
        uint64_t kept = accounts->kept[model] + accounts->kept[DIM_ANY];

        return kept == 0 ? 0 : kept - accounts_unlent(accounts, tenant, model);
}

static uint64_t used_by(const struct state *state, uint32_t slot, unsigned model)
{
        uint64_t units = 0;

        for (uint32_t at = state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next)
                if (state->nodes[state->members[at].node].desc.model == model)
                        units += member_capacity(state, at);
        return units;
}

static bool leaves_promises(const struct state *state, const struct what_if *what_if,
                            uint16_t tenant, unsigned model, uint64_t units)
{
        const struct accounts *accounts = state->accounts;
        uint64_t used = state->used[model];

        if (accounts->kept[model] + accounts->kept[DIM_ANY] == 0)
                return true;
        if (what_if && what_if->gone != NONE)
                used -= used_by(state, what_if->gone, model);
        return used + units + kept_of(accounts, tenant, model) <= state->capacity[model];
}

/* ---- budgets and jobs ---- */

static bool is_empty(const struct state *state, const struct asking *asking, uint64_t models,
                     enum on_empty on_empty)
{
        return accounts_budget_empty(state, asking->tenant, models, on_empty);
}

bool too_many_jobs(const struct state *state, const struct what_if *what_if, uint32_t tenant,
                   struct explained_gate *gate)
{
        static const unsigned dimensions[] = {DIM_RUNNING, DIM_JOBS};
        const struct tenancy *tenancy = state->accounts->tenancy;

        for (uint32_t t = tenant; t != TENANT_NONE; t = tenancy->tenants[t].parent) {
                uint64_t used = held_of(state, what_if, t, DIM_RUNNING);
                for (unsigned i = 0; i < 2; i++) {
                        uint64_t limit = limit_of(state, what_if, t, dimensions[i]);
                        bool over = limit == AMOUNT_NONE ||
                                    (amount_is_number(limit) && used + 1 > limit);
                        bool shown = gate->dimension != DIMENSIONS_END;
                        if ((over && gate->passed) || (amount_is_number(limit) && !shown)) {
                                gate->tenant = (uint16_t)t;
                                gate->dimension = (uint16_t)dimensions[i];
                                gate->used = used;
                                gate->limit = limit;
                                gate->after = used + 1;
                        }
                        gate->passed &= !over;
                }
        }
        return !gate->passed;
}

/* ---- rights ---- */

static bool may_be_spare(const struct state *state, const struct asking *asking)
{
        return state->accounts->tenancy->classes[asking->class].stop != STOP_NEVER;
}

/* `none` forbids it as spare work, too. */
static bool is_forbidden(const struct state *state, const struct asking *asking, unsigned model)
{
        const struct tenancy *tenancy = state->accounts->tenancy;

        return asking->need.devices > 0 &&
               (tenancy_limit(tenancy, asking->tenant, model) == AMOUNT_NONE ||
                tenancy_limit(tenancy, asking->tenant, DIM_ANY) == AMOUNT_NONE);
}

/* As accounts_standing(); and the gate that stands in the way. */
static enum standing stand(const struct state *state, const struct asking *asking,
                           const struct what_if *what_if, unsigned model,
                           const struct holding *holding, enum gate *ret_gate)
{
        const struct service_class *class = &state->accounts->tenancy->classes[asking->class];
        struct bind bind;
        bool alone;
        bool within = bind_limits(state, what_if, asking->tenant, holding, &bind, &alone) == 0;
        bool empty = is_empty(state, asking, holding->models, ON_EMPTY_DEMOTE);
        bool leaves = asking->need.devices == 0 ||
                      leaves_promises(state, what_if, asking->tenant, model, holding->all);

        *ret_gate = GATE_ORDER;
        if (!asking->spare && !empty && within) {
                if (asking->need.devices > 0 &&
                    may_draw(state, what_if, asking->tenant, model, holding->all))
                        return STANDING_PROTECTED;
                return leaves ? STANDING_STANDARD : STANDINGS_END;
        }
        bool by_choice = asking->spare || (empty && within) ||
                         class->above_limit == ABOVE_LIMIT_SPARE;
        if (!may_be_spare(state, asking) || !by_choice || is_forbidden(state, asking, model)) {
                *ret_gate = !within ? GATE_LIMIT : empty ? GATE_BUDGET : GATE_ORDER;
                return STANDINGS_END;
        }
        return leaves ? STANDING_SPARE : STANDINGS_END;
}

static void right_on(const struct state *state, const struct asking *asking,
                     const struct what_if *what_if, unsigned model, enum measure measure,
                     struct rights *rights)
{
        uint64_t bits = asking->need.devices ? 1ull << model : UINT64_MAX;
        struct holding holding;
        enum gate gate;

        holding_on(asking, model, measure, &holding);
        enum standing standing = stand(state, asking, what_if, model, &holding, &gate);
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
        struct explained_gate jobs = {.passed = true, .dimension = DIMENSIONS_END};

        *ret_rights = (struct rights){.never = true};
        if (!state->accounts) {
                ret_rights->models[STANDING_STANDARD] = UINT64_MAX;
                ret_rights->never = false;
                return;
        }
        ret_rights->jobs = too_many_jobs(state, what_if, asking->tenant, &jobs);
        ret_rights->refused = is_empty(state, asking, asking->models, ON_EMPTY_REFUSE);
        if (asking->need.devices == 0) {
                right_on(state, asking, what_if, 0, measure, ret_rights);
                return;
        }
        for (uint64_t left = models_of(state, asking); left; left &= left - 1)
                right_on(state, asking, what_if, (unsigned)__builtin_ctzll(left), measure,
                         ret_rights);
        ret_rights->never &= ret_rights->limited != 0;
}
