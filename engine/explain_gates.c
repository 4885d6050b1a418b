/* Numbers of the policy's gates, and what limits would have to be. */
#include <string.h>

#include "engine/explain_impl.h"
#include "engine/units.h"

static const struct tenant *tenant_at(const struct state *state, uint32_t tenant)
{
        return &state->accounts->tenancy->tenants[tenant];
}

/* ---- raises ---- */

/* `ret_raises` may hold some already. */
uint32_t raises_needed(const struct state *state, const struct asking *asking, unsigned model,
                       uint32_t count, struct limit_raise *ret_raises)
{
        struct holding holding;
        struct what_if what_if = {.raises = ret_raises, .raises_count = count, .gone = NONE};
        struct bind bind;
        bool alone;

        holding_on(asking, model, MEASURE_MOST, &holding);
        while (bind_limits(state, &what_if, asking->tenant, &holding, &bind, &alone) > 0) {
                if (bind.limit == AMOUNT_NONE)
                        return 0;
                if (what_if.raises_count == EXPLAIN_RAISES_MAX)
                        return EXPLAIN_RAISES_MAX + 1;
                ret_raises[what_if.raises_count++] = (struct limit_raise){
                        bind.tenant, bind.dimension, bind.limit, bind.after};
        }
        return what_if.raises_count;
}

uint32_t raises_of_jobs(const struct state *state, uint16_t tenant,
                        struct limit_raise *ret_raises)
{
        static const uint16_t dimensions[] = {DIM_RUNNING, DIM_JOBS};
        uint32_t count = 0;

        for (uint32_t t = tenant; t != TENANT_NONE; t = tenant_at(state, t)->parent)
                for (unsigned i = 0; i < 2; i++) {
                        uint64_t limit = tenant_at(state, t)->limit[dimensions[i]];
                        uint64_t after = *account_held(state->accounts, t, DIM_RUNNING) + 1;
                        if (limit == AMOUNT_NONE)
                                return 0;
                        if (!limit_forbids(limit, after - 1, 1))
                                continue;
                        if (count == EXPLAIN_RAISES_MAX)
                                return EXPLAIN_RAISES_MAX + 1;
                        ret_raises[count++] =
                                (struct limit_raise){(uint16_t)t, dimensions[i], limit, after};
                }
        return count;
}
/* ---- numbers ---- */

static uint64_t any_right(const struct rights *rights)
{
        return rights->models[STANDING_PROTECTED] | rights->models[STANDING_STANDARD] |
               rights->models[STANDING_SPARE];
}

static void gate_numbers(struct explained_gate *gate, uint16_t tenant, unsigned dimension,
                         uint64_t used, uint64_t limit, uint64_t after)
{
        gate->tenant = tenant;
        gate->dimension = (uint16_t)dimension;
        gate->used = used;
        gate->limit = limit;
        gate->after = after;
}

static unsigned first_of(uint64_t models)
{
        return models == 0 || models == UINT64_MAX ? 0 : (unsigned)__builtin_ctzll(models);
}

static void fill_limit(const struct state *state, const struct asking *asking,
                       const struct rights *rights, struct explained_gate *gate)
{
        uint64_t past = any_right(rights) | rights->unfunded | rights->kept;
        struct holding holding;
        struct bind bind;
        bool alone;

        gate->passed = past != 0 || rights->limited == 0;
        holding_on(asking, first_of(past ? past : rights->limited), MEASURE_LEAST, &holding);
        bind_limits(state, NULL, asking->tenant, &holding, &bind, &alone);
        if (bind.any)
                gate_numbers(gate, bind.tenant, bind.dimension, bind.used, bind.limit, bind.after);
}

/* Whole devices x ms, without a division of 128 bits. Below 2^96, which is for ever. */
static uint64_t devices_of(unit_ms used)
{
        uint64_t high = (uint64_t)(used >> 32), low = (uint32_t)used;

        return (high / UNITS_DEVICE << 32) + ((high % UNITS_DEVICE << 32 | low) / UNITS_DEVICE);
}

/* The budget that is fullest for its size, of those that count for it. */
static void fill_budget(const struct state *state, const struct asking *asking,
                        const struct rights *rights, struct explained_gate *gate)
{
        const struct tenancy *tenancy = state->accounts->tenancy;
        uint64_t past = any_right(rights) | rights->kept;
        bool first = true;

        gate->passed = !rights->refused && (past != 0 || rights->unfunded == 0);
        for (uint32_t t = asking->tenant; t != TENANT_NONE; t = tenancy->tenants[t].parent)
                for (unsigned b = 0; b < tenancy->tenants[t].budgets_count; b++) {
                        const struct budget *budget = &tenancy->tenants[t].budgets[b];
                        uint64_t used = devices_of(
                                state->accounts->budgets[t * TENANT_BUDGETS_MAX + b].used);
                        if (budget->dimension != DIM_ANY &&
                            !(asking->models >> budget->dimension & 1))
                                continue;
                        uint64_t over = used >= budget->device_ms ? 2 : 1;
                        uint64_t shown = gate->used >= gate->limit ? 2 : 1;
                        if (!first && over <= shown)
                                continue;
                        first = false;
                        gate_numbers(gate, (uint16_t)t, budget->dimension, used, budget->device_ms,
                                     used);
                }
}

static void fill_order(const struct state *state, const struct asking *asking,
                       const struct rights *rights, struct explained_gate *gate)
{
        unsigned m = first_of(rights->kept);

        if (rights->kept == 0 || asking->need.devices == 0)
                return;
        uint64_t kept = accounts_kept(state->accounts, asking->tenant, m), all = state->capacity[m];
        uint64_t units = (uint64_t)asking->units[m] * asking->form.members;
        gate_numbers(gate, TENANT_NONE, m, state->used[m], all > kept ? all - kept : 0,
                     state->used[m] + units);
}

/* The first limit that forbids one more to run; else the first there is. */
static void fill_jobs(const struct state *state, const struct asking *asking,
                      const struct rights *rights, struct explained_gate *gate)
{
        static const unsigned dimensions[] = {DIM_RUNNING, DIM_JOBS};

        gate->passed = !rights->jobs;
        for (uint32_t t = asking->tenant; t != TENANT_NONE; t = tenant_at(state, t)->parent) {
                uint64_t used = *account_held(state->accounts, t, DIM_RUNNING);
                for (unsigned i = 0; i < 2; i++) {
                        uint64_t limit = tenant_at(state, t)->limit[dimensions[i]];
                        bool over = limit_forbids(limit, used, 1);
                        bool shown = gate->dimension != DIMENSIONS_END;
                        if (!over && (shown || !amount_is_number(limit)))
                                continue;
                        gate_numbers(gate, (uint16_t)t, dimensions[i], used, limit, used + 1);
                        if (over)
                                return;
                }
        }
}

bool refuses_more_jobs(const struct state *state, uint16_t tenant, struct explained_gate *gate)
{
        uint16_t whose = state->accounts ? accounts_refuses_job(state, tenant) : TENANT_NONE;

        if (whose == TENANT_NONE)
                return false;
        uint64_t used = *account_held(state->accounts, whose, DIM_JOBS);
        gate_numbers(gate, whose, DIM_JOBS, used, tenant_at(state, whose)->limit[DIM_JOBS],
                     used + 1);
        return true;
}

void gates_fill(const struct state *state, const struct asking *asking, const struct rights *rights,
                struct explained_gate *gates)
{
        if (!state->accounts)
                return;
        fill_jobs(state, asking, rights, &gates[GATE_JOBS]);
        fill_limit(state, asking, rights, &gates[GATE_LIMIT]);
        fill_budget(state, asking, rights, &gates[GATE_BUDGET]);
        fill_order(state, asking, rights, &gates[GATE_ORDER]);
}
