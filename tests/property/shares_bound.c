/* What holds after every input: rules 2 to 5 of shares.c. */
#include <inttypes.h>
#include <string.h>

#include "engine/accounts.h"
#include "engine/units.h"
#include "tests/property/shares_world.h"

static bool check_accounts(void)
{
        const struct accounts *accounts = world.play.state->accounts;

        for (unsigned t = 0; t < accounts->tenants; t++)
                for (unsigned m = 0; m < world.models_count; m++) {
                        unsigned dimension = world.models[m];
                        uint64_t within = *account(accounts->within, t, dimension);
                        uint64_t borrowed = *account_held(accounts, t, dimension) - within +
                                            *account(accounts->spare, t, dimension);
                        if (borrowed != world.tenants[t].borrowed[m] * UNITS_DEVICE ||
                            within != world.tenants[t].within[m] * UNITS_DEVICE)
                                return play_fail(&world.play, "the accounts of %s are wrong",
                                                 tenant_of(t)->path);
                }
        return true;
}

/* Rule 2. */
static bool check_full(void)
{
        const struct state *state = world.play.state;

        world.counts->others[RULE_FULL]++;
        for (uint32_t n = 0; n < state->node_slots.high; n++)
                if (shares_free_on(n) > 0)
                        return play_fail(&world.play, "a device of node %u is idle", n);
        for (unsigned l = 0; l < world.leaves_count; l++)
                for (unsigned m = 0; m < world.models_count && world.hungry[world.leaves[l]]; m++)
                        if (shares_pot_left(world.leaves[l], m) > 0)
                                return play_fail(&world.play, "what %s is promised is not used",
                                                 tenant_of(world.leaves[l])->path);
        return true;
}

static unsigned hungry_siblings(unsigned tenant)
{
        unsigned count = 0;

        for (unsigned t = 0; t < play_tenancy(&world.play)->tenants_count; t++)
                count += world.hungry[t] && tenant_of(t)->parent == tenant_of(tenant)->parent;
        return count;
}

/* d(a) / weight(a), and for siblings L(b) d / weight(b): times both weights. */
static uint64_t bound(unsigned a, unsigned b, uint64_t devices_of_a)
{
        uint64_t by_start = devices_of_a * weight_of(b);

        if (tenant_of(a)->parent == TENANT_NONE)
                return by_start;
        return by_start + hungry_siblings(b) * world.largest * weight_of(a);
}

/* Rules 3, 4 and the first half of 5. */
static bool check_pair(unsigned a, unsigned b, unsigned model)
{
        const struct tenant_now *x = &world.tenants[a], *y = &world.tenants[b];
        bool roots = tenant_of(a)->parent == TENANT_NONE;
        uint64_t span_ms = (uint64_t)(world.counted_ms - world.turned_ms);

        world.counts->others[roots ? RULE_ROOTS : RULE_SIBLINGS]++;
        if (x->borrowed[model] * weight_of(b) >
            y->borrowed[model] * weight_of(a) + bound(a, b, x->newest[model]))
                return play_fail(&world.play,
                                 "%s has borrowed %" PRIu64 " with weight %" PRIu64
                                 " (newest %" PRIu64 "), %s %" PRIu64 " with %" PRIu64,
                                 tenant_of(a)->path, x->borrowed[model], weight_of(a),
                                 x->newest[model], tenant_of(b)->path, y->borrowed[model],
                                 weight_of(b));
        world.counts->others[RULE_TIME]++;
        if (x->device_ms[model] * weight_of(b) >
            y->device_ms[model] * weight_of(a) + bound(a, b, world.largest) * span_ms)
                return play_fail(&world.play, "%s has borrowed longer than %s may lack",
                                 tenant_of(a)->path, tenant_of(b)->path);
        return true;
}

/* The second half of 5. */
static bool check_part(unsigned model)
{
        uint64_t all_ms = 0, weights = 0, roots = 0;
        uint64_t span_ms = (uint64_t)(world.counted_ms - world.turned_ms);
        unsigned count = play_tenancy(&world.play)->tenants_count;

        for (unsigned t = 0; t < count; t++) {
                if (!world.hungry[t] || tenant_of(t)->parent != TENANT_NONE)
                        continue;
                all_ms += world.tenants[t].device_ms[model];
                weights += weight_of(t);
                roots++;
        }
        for (unsigned t = 0; t < count; t++) {
                if (!world.hungry[t] || tenant_of(t)->parent != TENANT_NONE)
                        continue;
                uint64_t has = world.tenants[t].device_ms[model] * weights;
                uint64_t part = all_ms * weight_of(t);
                world.counts->others[RULE_PART]++;
                if (has > part + world.largest * span_ms * weights ||
                    has + (roots - 1) * world.largest * span_ms * weight_of(t) < part)
                        return play_fail(&world.play, "%s has not had its part",
                                         tenant_of(t)->path);
        }
        return true;
}

static bool check_shares(void)
{
        unsigned count = play_tenancy(&world.play)->tenants_count;

        for (unsigned m = 0; m < world.models_count; m++) {
                for (unsigned a = 0; a < count; a++)
                        for (unsigned b = 0; b < count; b++)
                                if (a != b && world.hungry[a] && world.hungry[b] &&
                                    tenant_of(a)->parent == tenant_of(b)->parent &&
                                    !check_pair(a, b, m))
                                        return false;
                if (!check_part(m))
                        return false;
        }
        return true;
}

void shares_count_time(int64_t now_ms)
{
        for (unsigned t = 0; t < TENANTS; t++)
                for (unsigned m = 0; m < MODELS; m++)
                        world.tenants[t].device_ms[m] +=
                                world.tenants[t].borrowed[m] *
                                (uint64_t)(now_ms - world.counted_ms);
        world.counted_ms = now_ms;
}

static void turn_over(void)
{
        world.turned_ms = world.counted_ms = world.play.now_ms;
        for (unsigned t = 0; t < TENANTS; t++)
                memset(world.tenants[t].device_ms, 0, sizeof world.tenants[t].device_ms);
}

bool shares_check(void)
{
        if (!check_accounts())
                return false;
        if (world.frozen || world.older > 0) {
                world.turned_ms = 0;
                return true;
        }
        if (world.turned_ms == 0)
                turn_over();
        if (world.play.state->plan_slots.used > 0)
                return true;            /* what it locked is idle */
        return world.loose || (check_full() && check_shares());
}
