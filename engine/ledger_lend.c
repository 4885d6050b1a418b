/* What others use of promises that their owners do not use. */
#include <assert.h>

#include "engine/accounts.h"
#include "engine/ledger_impl.h"

#define FRACTION_BITS 20

/* Of a model: the tenant's own promise that is neither used nor kept from others. */
static uint64_t lendable(const struct accounts *accounts, uint32_t tenant, unsigned model)
{
        uint64_t pot = *account(accounts->pot, tenant, model) +
                       *account(accounts->reserved, tenant, model);
        uint64_t gone =
                *account(accounts->drawn, tenant, model) + accounts_unlent(accounts, tenant, model);

        return pot > gone ? pot - gone : 0;
}

/* Work outside promises that stands on more than what nobody is promised. */
static uint64_t beyond(const struct state *state, unsigned model, uint64_t promised)
{
        const struct accounts *accounts = state->accounts;
        uint64_t open = state->capacity[model] > promised ? state->capacity[model] - promised : 0;
        uint64_t borrowed = 0;

        for (uint32_t t = 0; t < accounts->tenants; t++)
                if (accounts->root[t] == t)
                        borrowed += *account_held(accounts, t, model) +
                                    *account(accounts->spare, t, model) -
                                    *account(accounts->within, t, model);
        return borrowed > open ? borrowed - open : 0;
}

/* `part` x `of` / `all`, rounded down to a millionth; part is at most all. */
static uint64_t share(uint64_t part, uint64_t of, uint64_t all)
{
        assert(part <= all);
        if (part == all)
                return of;
        assert(all < UINT64_C(1) << (63 - FRACTION_BITS));
        return of * ((part << FRACTION_BITS) / all) >> FRACTION_BITS;
}

static void lend(struct ledger *ledger, const struct state *state, unsigned model)
{
        const struct accounts *accounts = state->accounts;
        uint64_t promised = 0, unused = 0, used;

        for (uint32_t t = 0; t < accounts->tenants; t++) {
                promised +=
                        *account(accounts->pot, t, model) + *account(accounts->reserved, t, model);
                unused += lendable(accounts, t, model);
        }
        if (unused == 0 || (used = beyond(state, model, promised)) == 0)
                return;
        for (uint32_t t = 0; t < accounts->tenants; t++) {
                uint64_t units =
                        share(used < unused ? used : unused, lendable(accounts, t, model), unused);
                if (units == 0)
                        continue;
                struct ledger_row *row = ledger_row_of_owner(ledger, state, (uint16_t)t, model);
                ledger_row_settle(ledger, row);
                row->lent_units += units;
                ledger->lends = true;
        }
}

void ledger_lend(struct ledger *ledger, const struct state *state)
{
        for (uint32_t r = 0; ledger->lends && r < ledger->rows_count; r++) {
                if (ledger->rows[r].lent_units == 0)
                        continue;
                ledger_row_settle(ledger, &ledger->rows[r]);
                ledger->rows[r].lent_units = 0;
        }
        ledger->lends = false;
        for (uint64_t left = state->accounts ? ledger->models : 0; left; left &= left - 1)
                lend(ledger, state, (unsigned)__builtin_ctzll(left));
}
