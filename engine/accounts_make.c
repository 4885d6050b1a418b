/* Accounts for a policy before it comes into force: tables, and the pots of what it promises. */
#include "engine/accounts.h"

#include "base/err.h"
#include "base/mem.h"

static uint64_t *table_new(uint32_t tenants, unsigned dimensions)
{
        return mem_new((size_t)tenants * dimensions, sizeof(uint64_t));
}

static bool tables_new(struct accounts *accounts)
{
        uint32_t tenants = accounts->tenants;

        accounts->held = table_new(tenants, DIMENSIONS_END);
        accounts->spare = table_new(tenants, DEVICE_DIMENSIONS);
        accounts->within = table_new(tenants, DEVICE_DIMENSIONS);
        accounts->pot = table_new(tenants, DEVICE_DIMENSIONS);
        accounts->drawn = table_new(tenants, DEVICE_DIMENSIONS);
        accounts->reserved = table_new(tenants, DEVICE_DIMENSIONS);
        accounts->reserved_keep = table_new(tenants, DEVICE_DIMENSIONS);
        accounts->pot_of = mem_new((size_t)tenants * DEVICE_DIMENSIONS, sizeof(uint16_t));
        accounts->root = mem_new(tenants, sizeof *accounts->root);
        accounts->briefs = mem_new(tenants, sizeof *accounts->briefs);
        accounts->first = mem_new(tenants, sizeof *accounts->first);
        accounts->last = mem_new(tenants, sizeof *accounts->last);
        accounts->standard = mem_new(tenants, sizeof *accounts->standard);
        accounts->demoted = mem_new(tenants, sizeof *accounts->demoted);
        accounts->dirty = mem_new(tenants, sizeof *accounts->dirty);
        accounts->versions = mem_new(tenants, sizeof *accounts->versions);
        accounts->budgets = mem_new((size_t)tenants * TENANT_BUDGETS_MAX,
                                    sizeof *accounts->budgets);
        accounts->counted_ms = mem_new(tenants, sizeof *accounts->counted_ms);
        accounts->times = run_times_new(tenants);
        return accounts->held && accounts->spare && accounts->within && accounts->pot &&
               accounts->drawn && accounts->reserved && accounts->reserved_keep &&
               accounts->pot_of && accounts->root && accounts->briefs && accounts->first &&
               accounts->last && accounts->standard && accounts->demoted && accounts->dirty &&
               accounts->versions && accounts->budgets && accounts->counted_ms && accounts->times;
}

/* Whose pot a tenant draws on: its own, or the nearest one above it. */
static uint16_t find_pot(const struct tenancy *tenancy, uint32_t tenant, unsigned dimension)
{
        for (uint32_t at = tenant; at != TENANT_NONE; at = tenancy->tenants[at].parent) {
                uint64_t protect = tenancy->tenants[at].protect[dimension];
                if (amount_is_number(protect))
                        return (uint16_t)at;
                if (protect == AMOUNT_NONE)
                        break;
        }
        return TENANT_NONE;
}

/* What is promised of a model; of any: beyond what is promised of single models, children's
 * included (a parent's promise of a model covers theirs). */
static uint64_t own_promise(const struct tenant *tenant, unsigned dimension)
{
        uint64_t promise = amount_number(tenant->protect[dimension]), models = 0;

        for (unsigned m = 0; dimension == DIM_ANY && m < MODELS_MAX; m++)
                models += amount_number(tenant->protect[m]);
        return promise > models ? promise - models : 0;
}

static void take_pot(uint64_t *pot, uint64_t *units)
{
        uint64_t taken = *pot < *units ? *pot : *units;

        *pot -= taken;
        *units -= taken;
}

/* What is promised to `tenant` leaves the pot of the nearest one above that has one. */
static void fill_pots(struct accounts *accounts, unsigned dimension)
{
        const struct tenancy *tenancy = accounts->tenancy;

        for (uint32_t t = 0; t < accounts->tenants; t++) {
                uint64_t protect = own_promise(&tenancy->tenants[t], dimension);
                uint16_t parent = tenancy->tenants[t].parent;
                accounts->pot_of[(size_t)t * DEVICE_DIMENSIONS + dimension] =
                        find_pot(tenancy, t, dimension);
                *account(accounts->pot, t, dimension) += protect;
                uint16_t above = parent == TENANT_NONE ? TENANT_NONE
                                                       : find_pot(tenancy, parent, dimension);
                if (above == TENANT_NONE)
                        continue;
                take_pot(account(accounts->pot, above, dimension), &protect);
                /* More of any than is left of any: it is part of what is promised of models. */
                for (unsigned m = 0; m < MODELS_MAX; m++)
                        take_pot(account(accounts->pot, above, m), &protect);
        }
}

static bool has_limit(uint64_t amount)
{
        return amount == AMOUNT_NONE || amount_is_number(amount);
}

static void fill_brief(struct accounts *accounts, uint32_t number)
{
        const struct tenant *tenant = &accounts->tenancy->tenants[number];
        struct tenant_brief *brief = &accounts->briefs[number];

        if (tenant->parent != TENANT_NONE)
                *brief = accounts->briefs[tenant->parent];
        for (unsigned d = 0; d < DIMENSIONS_END; d++) {
                if (d == DIM_JOBS || d == DIM_RUNNING || !has_limit(tenant->limit[d]))
                        continue;
                if (d < MODELS_MAX)
                        brief->limited |= 1ull << d;
                else if (d == DIM_ANY)
                        brief->limited_any = true;
                else
                        brief->special = true;
        }
        for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++)
                brief->special |= amount_number(tenant->protect[d]) > 0;
        brief->budgets |= tenant->budgets_count > 0;
        brief->special |= brief->budgets || accounts->tenancy->reservations_count > 0;
}

struct accounts *accounts_new(const struct tenancy *tenancy, struct err *err)
{
        struct accounts *accounts = mem_new(1, sizeof *accounts);

        if (!accounts) {
                (void)err_set(err, ERR_NOMEM, "out of memory");
                return NULL;
        }
        accounts->tenancy = tenancy;
        accounts->tenants = tenancy->tenants_count;
        isolation_make(tenancy, &accounts->isolation);
        if (!tables_new(accounts)) {
                accounts_free(accounts);
                (void)err_set(err, ERR_NOMEM, "out of memory");
                return NULL;
        }
        for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++)
                fill_pots(accounts, d);
        for (uint32_t t = 0; t < accounts->tenants; t++) {
                uint16_t parent = tenancy->tenants[t].parent;
                accounts->root[t] = parent == TENANT_NONE ? (uint16_t)t : accounts->root[parent];
                accounts->first[t] = accounts->last[t] = NONE;
                fill_brief(accounts, t);
        }
        return accounts;
}

void accounts_free(struct accounts *accounts)
{
        if (!accounts)
                return;
        mem_free(accounts->held);
        mem_free(accounts->spare);
        mem_free(accounts->within);
        mem_free(accounts->pot);
        mem_free(accounts->drawn);
        mem_free(accounts->reserved);
        mem_free(accounts->reserved_keep);
        mem_free(accounts->pot_of);
        mem_free(accounts->root);
        mem_free(accounts->briefs);
        mem_free(accounts->first);
        mem_free(accounts->last);
        mem_free(accounts->standard);
        mem_free(accounts->demoted);
        mem_free(accounts->dirty);
        mem_free(accounts->versions);
        mem_free(accounts->budgets);
        mem_free(accounts->counted_ms);
        run_times_free(accounts->times);
        mem_free(accounts);
}
