/* Invariants of the accounts: every sum made anew from what running work holds. For tests. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "engine/accounts.h"

/* The sums again. Tables are [tenant][dimension], as in struct accounts. */
struct sums {
        uint64_t *held, *spare, *within, *drawn;
};

static void sums_new(struct sums *sums, uint32_t tenants)
{
        size_t devices = (size_t)tenants * DEVICE_DIMENSIONS;

        sums->held = mem_new((size_t)tenants * DIMENSIONS_END, sizeof(uint64_t));
        sums->spare = mem_new(devices, sizeof(uint64_t));
        sums->within = mem_new(devices, sizeof(uint64_t));
        sums->drawn = mem_new(devices, sizeof(uint64_t));
        assert(sums->held);
        assert(sums->spare);
        assert(sums->within);
        assert(sums->drawn);
}

static void sums_free(struct sums *sums)
{
        mem_free(sums->held);
        mem_free(sums->spare);
        mem_free(sums->within);
        mem_free(sums->drawn);
}

/* Units by device dimension. */
static void add_units(uint64_t *table, uint32_t tenant, const struct holding *holding)
{
        uint64_t *row = table + (size_t)tenant * DEVICE_DIMENSIONS;

        for (uint64_t left = holding->models; left; left &= left - 1)
                row[__builtin_ctzll(left)] += holding->units[__builtin_ctzll(left)];
        row[DIM_ANY] += holding->all;
}

static void add_held(struct sums *sums, uint32_t tenant, uint32_t profiles,
                     const struct holding *holding)
{
        uint64_t *row = sums->held + (size_t)tenant * DIMENSIONS_END;

        for (uint64_t left = holding->models; left; left &= left - 1)
                row[__builtin_ctzll(left)] += holding->units[__builtin_ctzll(left)];
        row[DIM_ANY] += holding->all;
        row[DIM_CPU] += holding->cpu_milli;
        row[DIM_MEMORY] += holding->memory_mib;
        for (uint32_t p = 0; p < profiles; p++)
                row[DIM_SLICES + p] += holding->slices[p];
}

static void add_drawn(struct sums *sums, const struct promise *promise,
                      const struct holding *holding)
{
        uint64_t *row = sums->drawn + (size_t)promise->tenant * DEVICE_DIMENSIONS;

        for (uint64_t left = holding->models; left; left &= left - 1) {
                unsigned model = (unsigned)__builtin_ctzll(left);
                row[promise->any ? DIM_ANY : model] += holding->units[model];
        }
}

static void add_running(const struct state *state, uint32_t slot, struct sums *sums)
{
        const struct accounts *accounts = state->accounts;
        const struct workload *workload = &state->workloads[slot];
        uint32_t tenant = state->buckets[workload->bucket].tenant;
        struct holding holding;

        assert(workload->standing < STANDINGS_END);
        holding_of(state, slot, &holding);
        for (uint32_t t = tenant; t != TENANT_NONE; t = accounts->tenancy->tenants[t].parent) {
                sums->held[(size_t)t * DIMENSIONS_END + DIM_RUNNING]++;
                if (workload->standing == STANDING_SPARE)
                        add_units(sums->spare, t, &holding);
                else
                        add_held(sums, t, accounts->tenancy->profiles_count, &holding);
                if (workload->standing == STANDING_PROTECTED)
                        add_units(sums->within, t, &holding);
        }
        if (workload->standing == STANDING_PROTECTED)
                add_drawn(sums, &workload->promise, &holding);
}

static void check_running(const struct state *state)
{
        uint32_t running[CLASSES_MAX * STANDINGS_END] = {0};

        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (workload->live && workload->members_placed > 0)
                        running[state->buckets[workload->bucket].class * STANDINGS_END +
                                workload->standing]++;
        }
        assert(memcmp(running, state->accounts->running, sizeof running) == 0);
}

/* The trees' lists of running work: each once, in both directions, standard ones counted. */
static uint32_t check_tree(const struct state *state, uint32_t root)
{
        const struct accounts *accounts = state->accounts;
        uint32_t count = 0, standard = 0, demoted = 0, before = NONE;

        for (uint32_t slot = accounts->first[root]; slot != NONE;
             slot = state->workloads[slot].next) {
                const struct workload *workload = &state->workloads[slot];
                assert(workload->live);
                assert(workload->members_placed > 0);
                assert(workload->prev == before);
                assert(accounts->root[state->buckets[workload->bucket].tenant] == root);
                standard += workload->standing == STANDING_STANDARD;
                demoted += workload->demoted;
                assert(!workload->demoted || workload->standing == STANDING_SPARE);
                before = slot;
                count++;
        }
        assert(accounts->last[root] == before);
        assert(accounts->standard[root] == standard);
        assert(accounts->demoted[root] == demoted);
        return count;
}

static void check_kept(const struct accounts *accounts)
{
        for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++) {
                uint64_t kept = 0;
                for (uint32_t t = 0; t < accounts->tenants; t++)
                        kept += accounts_unlent(accounts, t, d);
                assert(kept == accounts->kept[d]);
        }
}

void accounts_check(const struct state *state)
{
        const struct accounts *accounts = state->accounts;
        size_t devices = (size_t)accounts->tenants * DEVICE_DIMENSIONS * sizeof(uint64_t);
        uint32_t running = 0, listed = 0, dirty = 0;
        struct sums sums = {0};

        sums_new(&sums, accounts->tenants);
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (!workload->live)
                        continue;
                for (uint32_t t = state->buckets[workload->bucket].tenant; t != TENANT_NONE;
                     t = accounts->tenancy->tenants[t].parent)
                        sums.held[(size_t)t * DIMENSIONS_END + DIM_JOBS]++;
                if (workload->members_placed == 0)
                        continue;
                add_running(state, w, &sums);
                running++;
        }
        assert(memcmp(sums.held, accounts->held,
                      (size_t)accounts->tenants * DIMENSIONS_END * sizeof(uint64_t)) == 0);
        assert(memcmp(sums.spare, accounts->spare, devices) == 0);
        assert(memcmp(sums.within, accounts->within, devices) == 0);
        assert(memcmp(sums.drawn, accounts->drawn, devices) == 0);
        sums_free(&sums);
        for (uint32_t t = 0; t < accounts->tenants; t++) {
                dirty += accounts->dirty[t];
                if (accounts->root[t] == t)
                        listed += check_tree(state, t);
        }
        assert(listed == running);
        assert(dirty == accounts->dirty_count);
        check_running(state);
        check_kept(accounts);
}
