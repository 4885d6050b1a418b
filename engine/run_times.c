#include "engine/run_times.h"

#include <string.h>

#include "base/map.h"
#include "base/mem.h"

struct run_times {
        uint32_t tenants;
        struct runs all;
        struct runs of_width[WIDTHS];
        struct runs (*of_tenant)[WIDTHS + 1];   /* the last one: of any width */
};

struct run_times *run_times_new(uint32_t tenants)
{
        struct run_times *times = mem_new(1, sizeof *times);

        if (!times)
                return NULL;
        times->tenants = tenants;
        times->of_tenant = mem_new(tenants, sizeof *times->of_tenant);
        if (!times->of_tenant) {
                mem_free(times);
                return NULL;
        }
        return times;
}

void run_times_free(struct run_times *times)
{
        if (!times)
                return;
        mem_free(times->of_tenant);
        mem_free(times);
}

unsigned run_times_width(uint64_t devices)
{
        unsigned width = 0;

        for (uint64_t most = 1; width + 1 < WIDTHS && devices > most; most *= 2)
                width++;
        return width;
}

/* ---- one kind of runs ---- */

static void runs_add(struct runs *runs, uint32_t seconds)
{
        runs->newest[runs->added++ % RUN_TIMES_KEPT] = seconds;
        runs->changed = true;
}

static void runs_freeze(struct runs *runs)
{
        uint32_t count = runs->added < RUN_TIMES_KEPT ? (uint32_t)runs->added : RUN_TIMES_KEPT;

        if (!runs->changed)
                return;
        runs->changed = false;
        for (uint32_t i = 0; i < count; i++) {
                uint32_t at = i;
                for (; at > 0 && runs->sorted[at - 1] > runs->newest[i]; at--)
                        runs->sorted[at] = runs->sorted[at - 1];
                runs->sorted[at] = runs->newest[i];
        }
        runs->sorted_count = count;
}

static uint32_t runs_expect(const struct runs *runs, unsigned percent, uint32_t attained)
{
        uint32_t low = 0, high = runs->sorted_count;

        while (low < high) {
                uint32_t middle = (low + high) / 2;
                if (runs->sorted[middle] > attained)
                        high = middle;
                else
                        low = middle + 1;
        }
        uint32_t longer = runs->sorted_count - low;
        if (longer == 0)
                return attained > UINT32_MAX / 2 ? UINT32_MAX : attained * 2;
        uint32_t rank = (longer * percent + 99) / 100;
        return runs->sorted[low + (rank > 0 ? rank - 1 : 0)];
}

/* ---- all of them ---- */

void run_times_add(struct run_times *times, uint32_t tenant, unsigned width, int64_t ran_ms)
{
        int64_t seconds = (ran_ms + 500) / 1000;
        uint32_t ran = seconds > UINT32_MAX ? UINT32_MAX : seconds < 0 ? 0 : (uint32_t)seconds;

        runs_add(&times->all, ran);
        runs_add(&times->of_width[width], ran);
        runs_add(&times->of_tenant[tenant][width], ran);
        runs_add(&times->of_tenant[tenant][WIDTHS], ran);
}

void run_times_freeze(struct run_times *times)
{
        if (!times->all.changed)
                return;
        runs_freeze(&times->all);
        for (unsigned w = 0; w < WIDTHS; w++)
                runs_freeze(&times->of_width[w]);
        for (uint32_t t = 0; t < times->tenants; t++)
                for (unsigned w = 0; w <= WIDTHS && times->of_tenant[t][WIDTHS].added > 0; w++)
                        runs_freeze(&times->of_tenant[t][w]);
}

void run_times_copy(struct run_times *to, uint32_t to_tenant, const struct run_times *from,
                    uint32_t from_tenant)
{
        memcpy(to->of_tenant[to_tenant], from->of_tenant[from_tenant], sizeof *to->of_tenant);
}

void run_times_copy_all(struct run_times *to, const struct run_times *from)
{
        to->all = from->all;
        memcpy(to->of_width, from->of_width, sizeof to->of_width);
}

uint32_t run_times_kinds(const struct run_times *times)
{
        return 1 + WIDTHS + times->tenants * (WIDTHS + 1);
}

struct runs *run_times_kind(struct run_times *times, uint32_t kind)
{
        if (kind == 0)
                return &times->all;
        if (--kind < WIDTHS)
                return &times->of_width[kind];
        kind -= WIDTHS;
        return &times->of_tenant[kind / (WIDTHS + 1)][kind % (WIDTHS + 1)];
}

static const struct runs *runs_that_know(const struct run_times *times, uint32_t tenant,
                                         unsigned width)
{
        const struct runs *kinds[] = {&times->of_tenant[tenant][width],
                                      &times->of_tenant[tenant][WIDTHS],
                                      &times->of_width[width]};

        for (unsigned k = 0; k < ARRAY_LEN(kinds); k++)
                if (kinds[k]->sorted_count >= RUN_TIMES_ENOUGH)
                        return kinds[k];
        return times->all.sorted_count >= RUN_TIMES_LEAST ? &times->all : NULL;
}

bool run_times_known(const struct run_times *times, uint32_t tenant, unsigned width)
{
        return runs_that_know(times, tenant, width) != NULL;
}

int64_t run_times_expect(const struct run_times *times, uint32_t tenant, unsigned width,
                         unsigned percent, int64_t attained_ms)
{
        const struct runs *runs = runs_that_know(times, tenant, width);
        int64_t expected = RUN_TIME_UNKNOWN_MS;

        if (runs) {
                int64_t attained = attained_ms / 1000;
                uint32_t cut = attained > UINT32_MAX ? UINT32_MAX : (uint32_t)attained;
                expected = INT64_C(1000) * runs_expect(runs, percent, cut);
        } else if (expected <= attained_ms) {
                expected = attained_ms * 2;
        }
        return expected < RUN_TIME_LEAST_MS ? RUN_TIME_LEAST_MS : expected;
}

static void runs_hash(const struct runs *runs, uint64_t *hash)
{
        map_chain(hash, runs->added);
        for (uint32_t i = 0; i < RUN_TIMES_KEPT; i++)
                map_chain(hash, (uint64_t)runs->newest[i] << 32 | runs->sorted[i]);
}

uint64_t run_times_hash(const struct run_times *times, uint32_t tenants)
{
        uint64_t hash = 1;

        runs_hash(&times->all, &hash);
        for (unsigned w = 0; w < WIDTHS; w++)
                runs_hash(&times->of_width[w], &hash);
        for (uint32_t t = 0; t < tenants; t++)
                for (unsigned w = 0; w <= WIDTHS && times->of_tenant[t][WIDTHS].added > 0; w++)
                        runs_hash(&times->of_tenant[t][w], &hash);
        return hash;
}
