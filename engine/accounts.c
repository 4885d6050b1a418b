/* The sums themselves: changed, and taken over by a new policy. Made: accounts_make.c. */
#include "engine/accounts.h"

#include <assert.h>
#include <string.h>

/* ---- holdings ---- */

void holding_clear(struct holding *holding)
{
        holding->models = holding->all = holding->cpu_milli = holding->memory_mib = 0;
        memset(holding->slices, 0, sizeof holding->slices);
}

uint64_t holding_amount(const struct holding *holding, unsigned dimension)
{
        if (dimension < MODELS_MAX)
                return holding->models >> dimension & 1 ? holding->units[dimension] : 0;
        if (dimension == DIM_ANY)
                return holding->all;
        if (dimension == DIM_CPU)
                return holding->cpu_milli;
        if (dimension == DIM_MEMORY)
                return holding->memory_mib;
        return dimension >= DIM_SLICES ? holding->slices[dimension - DIM_SLICES] : 0;
}

static void hold_units(struct holding *holding, unsigned model, uint64_t units)
{
        if (!(holding->models >> model & 1))
                holding->units[model] = 0;
        holding->models |= 1ull << model;
        holding->units[model] += units;
        holding->all += units;
}

int accounts_profile(const struct tenancy *tenancy, const struct model *model, unsigned profile)
{
        for (uint32_t p = 0; p < tenancy->profiles_count; p++)
                if (strcmp(tenancy->profiles[p], model->profiles[profile].name) == 0)
                        return (int)p;
        return -1;
}

void holding_add(const struct state *state, uint32_t node, const struct need *need,
                 const struct part *parts, unsigned count, struct holding *holding)
{
        const struct model *model = node_model(state, node);
        unsigned number = state->nodes[node].desc.model;

        if (need->devices == 0)
                holding->cpu_milli += need->cpu_milli;
        for (unsigned i = 0; i < count; i++) {
                hold_units(holding, number, part_units(model, &parts[i]));
                if (parts[i].method == METHOD_SHARE)
                        holding->memory_mib += parts[i].memory_mib;
                if (parts[i].method != METHOD_SLICE)
                        continue;
                holding->memory_mib += model->profiles[parts[i].profile].memory_mib;
                int profile = accounts_profile(state->accounts->tenancy, model, parts[i].profile);
                if (profile >= 0)
                        holding->slices[profile]++;
        }
}

static void holding_member(const struct state *state, uint32_t place, struct holding *holding)
{
        const struct member *member = &state->members[place];
        const struct workload *workload = &state->workloads[member->workload];
        const struct need *need = &state->shapes[state->buckets[workload->bucket].shape].need;
        struct part parts[NODE_DEVICES_MAX];
        unsigned count = 0;

        for (uint32_t held = member->first_part; held != NONE; held = state->parts[held].next)
                parts[count++] = state->parts[held].part;
        holding_add(state, member->node, need, parts, count, holding);
}

void holding_of(const struct state *state, uint32_t slot, struct holding *ret_holding)
{
        holding_clear(ret_holding);
        for (uint32_t place = state->workloads[slot].first_member; place != NONE;
             place = state->members[place].next)
                holding_member(state, place, ret_holding);
}

/* ---- changes ---- */

uint64_t accounts_unlent(const struct accounts *accounts, uint32_t tenant, unsigned dimension)
{
        uint64_t lend = accounts->tenancy->tenants[tenant].lend[dimension];
        uint64_t pot = *account(accounts->pot, tenant, dimension) +
                       *account(accounts->reserved, tenant, dimension);
        uint64_t drawn = *account(accounts->drawn, tenant, dimension);
        uint64_t unused = pot > drawn ? pot - drawn : 0;
        uint64_t keep = *account(accounts->reserved_keep, tenant, dimension), kept = 0;

        if (lend == AMOUNT_NONE)
                kept = unused;
        else if (amount_is_number(lend) && unused > lend)
                kept = unused - lend;
        if (keep > unused)
                keep = unused;
        return kept > keep ? kept : keep;
}

/* What is kept of one model falls as what is used of it grows, and leaves nobody more; but who
 * draws on what was kept of any model leaves the others, and the last of a pot no longer binds
 * gangs that could lie on several models. */
static void draw(struct accounts *accounts, uint16_t whose, unsigned dimension, uint64_t units)
{
        uint64_t before = accounts_unlent(accounts, whose, dimension);

        *account(accounts->drawn, whose, dimension) += units;
        uint64_t now = accounts_unlent(accounts, whose, dimension), more = now - before;
        accounts->opened |= now < before && (now == 0 || dimension == DIM_ANY);
        accounts->kept[dimension] += more;
        accounts->kept_in_all += more;
}

static void budgets_count(struct accounts *accounts, uint32_t tenant)
{
        const struct tenant *it = &accounts->tenancy->tenants[tenant];
        int64_t from = accounts->counted_ms[tenant], until = accounts->at_ms;

        if (it->budgets_count == 0)
                return;
        accounts->counted_ms[tenant] = until;
        for (unsigned b = 0; b < it->budgets_count; b++) {
                struct budget_use *use = &accounts->budgets[tenant * TENANT_BUDGETS_MAX + b];
                unsigned dimension = it->budgets[b].dimension;
                uint64_t units = *account_held(accounts, tenant, dimension) +
                                 *account(accounts->spare, tenant, dimension);
                if (until >= use->until_ms) {   /* a new period: what lies before it is past */
                        calendar_period(it->budgets[b].period, until, &use->from_ms,
                                        &use->until_ms);
                        use->used = 0;
                        accounts->opened = true;
                }
                int64_t since = from > use->from_ms ? from : use->from_ms;
                use->used += (unit_ms)units * (uint64_t)(until - since);
        }
}

/* Adds a holding to the tenant and all above it. */
static void book(struct accounts *accounts, uint16_t tenant, enum standing standing,
                 struct promise promise, const struct holding *holding, int sign)
{
        uint64_t by = (uint64_t)(int64_t)sign;  /* wraps for -1, as meant */

        accounts->versions[accounts->root[tenant]]++;
        for (uint32_t t = tenant; t != TENANT_NONE; t = accounts->tenancy->tenants[t].parent) {
                budgets_count(accounts, t);
                for (uint64_t left = holding->models; left; left &= left - 1) {
                        unsigned m = (unsigned)__builtin_ctzll(left);
                        uint64_t units = holding->units[m] * by;
                        if (standing == STANDING_SPARE) {
                                *account(accounts->spare, t, m) += units;
                                continue;
                        }
                        *account_held(accounts, t, m) += units;
                        if (standing == STANDING_PROTECTED)
                                *account(accounts->within, t, m) += units;
                }
                if (standing == STANDING_SPARE) {
                        *account(accounts->spare, t, DIM_ANY) += holding->all * by;
                        continue;
                }
                *account_held(accounts, t, DIM_ANY) += holding->all * by;
                *account_held(accounts, t, DIM_CPU) += holding->cpu_milli * by;
                *account_held(accounts, t, DIM_MEMORY) += holding->memory_mib * by;
                for (uint32_t p = 0; p < accounts->tenancy->profiles_count; p++)
                        *account_held(accounts, t, DIM_SLICES + p) += holding->slices[p] * by;
                if (standing == STANDING_PROTECTED)
                        *account(accounts->within, t, DIM_ANY) += holding->all * by;
        }
        for (uint64_t left = standing == STANDING_PROTECTED ? holding->models : 0; left;
             left &= left - 1) {
                unsigned m = (unsigned)__builtin_ctzll(left);
                draw(accounts, promise.tenant, promise.any ? DIM_ANY : m, holding->units[m] * by);
        }
}

static uint16_t tenant_of(const struct state *state, uint32_t slot)
{
        return state->buckets[state->workloads[slot].bucket].tenant;
}

void accounts_member(struct state *state, uint32_t place, int sign)
{
        const struct member *member = &state->members[place];
        const struct workload *workload = &state->workloads[member->workload];
        struct holding holding;

        holding_clear(&holding);
        holding_member(state, place, &holding);
        book(state->accounts, tenant_of(state, member->workload),
             (enum standing)workload->standing, workload->promise, &holding, sign);
}

static void count_jobs(struct accounts *accounts, uint32_t tenant, unsigned dimension, int sign)
{
        accounts->versions[accounts->root[tenant]]++;
        for (; tenant != TENANT_NONE; tenant = accounts->tenancy->tenants[tenant].parent)
                *account_held(accounts, tenant, dimension) += (uint64_t)(int64_t)sign;
}

void accounts_queued(struct state *state, uint32_t slot, int sign)
{
        count_jobs(state->accounts, tenant_of(state, slot), DIM_JOBS, sign);
}

/* Under the standing that it has. */
static void count_running(struct state *state, uint32_t slot, int by)
{
        const struct workload *workload = &state->workloads[slot];
        unsigned class = state->buckets[workload->bucket].class;

        state->accounts->running[class * STANDINGS_END + workload->standing] += (uint32_t)by;
}

void accounts_start(struct state *state, uint32_t slot, enum standing standing,
                    struct promise promise)
{
        struct accounts *accounts = state->accounts;
        struct workload *workload = &state->workloads[slot];
        uint16_t root = accounts->root[tenant_of(state, slot)];

        workload->standing = (uint8_t)standing;
        workload->promise = promise;
        workload->next = NONE;
        workload->prev = accounts->last[root];
        if (workload->prev != NONE)
                state->workloads[workload->prev].next = slot;
        else
                accounts->first[root] = slot;
        accounts->last[root] = slot;
        accounts->standard[root] += standing == STANDING_STANDARD;
        count_running(state, slot, 1);
        accounts->demoted[root] += workload->demoted;
        count_jobs(accounts, tenant_of(state, slot), DIM_RUNNING, 1);
}

static void mark_dirty(struct accounts *accounts, uint16_t root)
{
        if (accounts->dirty[root] || accounts->standard[root] + accounts->demoted[root] == 0)
                return;
        accounts->dirty[root] = true;
        accounts->dirty_count++;
}

void accounts_end(struct state *state, uint32_t slot)
{
        struct accounts *accounts = state->accounts;
        struct workload *workload = &state->workloads[slot];
        uint16_t root = accounts->root[tenant_of(state, slot)];

        if (workload->prev != NONE)
                state->workloads[workload->prev].next = workload->next;
        else
                accounts->first[root] = workload->next;
        if (workload->next != NONE)
                state->workloads[workload->next].prev = workload->prev;
        else
                accounts->last[root] = workload->prev;
        workload->next = workload->prev = NONE;
        accounts->standard[root] -= workload->standing == STANDING_STANDARD;
        count_running(state, slot, -1);
        accounts->demoted[root] -= workload->demoted;
        workload->demoted = false;
        /* Below a limit, too: that is what demoted work waits for. */
        if (workload->standing == STANDING_PROTECTED || accounts->demoted[root] > 0)
                mark_dirty(accounts, root);
        count_jobs(accounts, tenant_of(state, slot), DIM_RUNNING, -1);
}

void accounts_standing_set(struct state *state, uint32_t slot, enum standing standing,
                           struct promise promise)
{
        struct accounts *accounts = state->accounts;
        struct workload *workload = &state->workloads[slot];
        uint16_t tenant = tenant_of(state, slot), root = accounts->root[tenant];
        struct holding holding;

        holding_of(state, slot, &holding);
        book(accounts, tenant, (enum standing)workload->standing, workload->promise, &holding,
             -1);
        accounts->standard[root] -= workload->standing == STANDING_STANDARD;
        count_running(state, slot, -1);
        accounts->demoted[root] -= workload->demoted;
        workload->standing = (uint8_t)standing;
        workload->promise = promise;
        workload->demoted = standing == STANDING_SPARE; /* without a new policy only by idleness */
        if (workload->demoted)
                workload->idle_done = IDLE_THEN_DEMOTE;
        accounts->standard[root] += standing == STANDING_STANDARD;
        count_running(state, slot, 1);
        accounts->demoted[root] += workload->demoted;
        book(accounts, tenant, standing, promise, &holding, 1);
        if (workload->demoted)          /* of its promise, or below its limit, there is room */
                mark_dirty(accounts, root);
        state->freed++;                 /* more or less is kept for the promise */
}

void accounts_stays(struct state *state, uint32_t slot)
{
        mark_dirty(state->accounts, state->accounts->root[tenant_of(state, slot)]);
}

/* ---- time ---- */

static void open_reservations(struct accounts *accounts, int64_t now_ms)
{
        const struct tenancy *tenancy = accounts->tenancy;
        size_t size = (size_t)accounts->tenants * DEVICE_DIMENSIONS * sizeof(uint64_t);

        memset(accounts->reserved, 0, size);
        memset(accounts->reserved_keep, 0, size);
        for (uint32_t r = 0; r < tenancy->reservations_count; r++) {
                const struct reservation *reservation = &tenancy->reservations[r];
                int64_t from, until;
                if (!reservation_window(reservation, now_ms, &from, &until) || from > now_ms)
                        continue;
                for (unsigned m = 0; m < reservation->models_count; m++) {
                        unsigned dimension = reservation->models[m];
                        uint64_t units = reservation->units[m];
                        *account(accounts->reserved, reservation->tenant, dimension) += units;
                        if (reservation->unused == UNUSED_KEEP)
                                *account(accounts->reserved_keep, reservation->tenant,
                                         dimension) += units;
                }
        }
}

static void sum_kept(struct accounts *accounts)
{
        accounts->kept_in_all = 0;
        for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++) {
                accounts->kept[d] = 0;
                for (uint32_t t = 0; t < accounts->tenants; t++)
                        accounts->kept[d] += accounts_unlent(accounts, t, d);
                accounts->kept_in_all += accounts->kept[d];
        }
}

void accounts_time(struct state *state, int64_t now_ms)
{
        struct accounts *accounts = state->accounts;

        accounts->at_ms = now_ms;
        for (uint32_t t = 0; t < accounts->tenants; t++)
                budgets_count(accounts, t);
        if (accounts->tenancy->reservations_count == 0)
                return;
        open_reservations(accounts, now_ms);
        sum_kept(accounts);
        for (uint32_t t = 0; t < accounts->tenants; t++)
                if (accounts->root[t] == t)
                        mark_dirty(accounts, (uint16_t)t);
}

/* ---- a new policy ---- */

static void move_bucket(struct bucket *bucket, const struct tenancy *from, const struct tenancy *to)
{
        int tenant = tenancy_find(to, from->tenants[bucket->tenant].path);
        int class = tenancy_class_find(to, from->classes[bucket->class].name);

        /* Nobody uses a bucket whose tenant, class or label went. */
        bucket->tenant = (uint16_t)(tenant < 0 ? 0 : tenant);
        bucket->class = (uint16_t)(class < 0 ? 0 : class);
        if (bucket->data)
                bucket->data = (uint16_t)(tenancy_label_find(
                                                  to, from->labels[bucket->data - 1].name) +
                                          1);
}

static void move_past(struct accounts *to, const struct accounts *from)
{
        run_times_copy_all(to->times, from->times);
        for (uint32_t t = 0; t < to->tenants; t++) {
                int old = tenancy_find(from->tenancy, to->tenancy->tenants[t].path);
                if (old < 0)
                        continue;
                run_times_copy(to->times, t, from->times, (uint32_t)old);
                const struct tenant *new = &to->tenancy->tenants[t];
                const struct tenant *was = &from->tenancy->tenants[old];
                for (unsigned b = 0; b < new->budgets_count && b < was->budgets_count; b++)
                        if (new->budgets[b].dimension == was->budgets[b].dimension &&
                            new->budgets[b].period == was->budgets[b].period)
                                to->budgets[t * TENANT_BUDGETS_MAX + b] =
                                        from->budgets[(uint32_t)old * TENANT_BUDGETS_MAX + b];
                to->counted_ms[t] = from->counted_ms[old];
        }
        to->stopped_from_ms = from->stopped_from_ms;
        to->stopped_units = from->stopped_units;
        to->at_ms = from->at_ms;
}

static void book_again(struct state *state, uint32_t slot)
{
        struct holding holding;
        struct promise promise = {0};
        struct workload *workload = &state->workloads[slot];
        uint32_t bucket = workload->bucket;
        const struct service_class *class =
                &state->accounts->tenancy->classes[state->buckets[bucket].class];

        holding_of(state, slot, &holding);
        /* What idleness made spare rises by itself, when it may. */
        if (workload->demoted && class->idle_then != IDLE_THEN_DEMOTE) {
                workload->demoted = false;
                workload->idle_done = IDLE_THEN_NOTHING;
        }
        enum standing standing = workload->demoted ? STANDING_SPARE
                                                   : accounts_standing(state, bucket, &holding,
                                                                       &promise);
        /* Above a limit that came down it runs on; told to stop, it does not rise. */
        if (standing == STANDINGS_END ||
            (standing == STANDING_PROTECTED && workload->plan &&
             state->plans[workload->plan - 1].beneficiary != slot)) {
                standing = STANDING_STANDARD;
                promise = (struct promise){0};
        }
        accounts_start(state, slot, standing, promise);
        book(state->accounts, state->buckets[bucket].tenant, standing, promise, &holding,
             1);
}

/* Running work in the order of its admission, so that standings come out as they did. */
static void book_all(struct state *state, const struct accounts *before)
{
        if (!before) {
                for (uint32_t w = 0; w < state->workload_slots.high; w++)
                        if (state->workloads[w].live && state->workloads[w].members_placed > 0)
                                book_again(state, w);
                return;
        }
        for (uint32_t t = 0; t < before->tenants; t++)
                for (uint32_t slot = before->first[t]; slot != NONE;) {
                        uint32_t next = state->workloads[slot].next;
                        book_again(state, slot);
                        slot = next;
                }
}

void accounts_adopt(struct state *state, struct accounts *accounts)
{
        struct accounts *before = state->accounts;

        for (uint32_t b = 0; before && b < state->buckets_count; b++)
                move_bucket(&state->buckets[b], before->tenancy, accounts->tenancy);
        state->accounts = accounts;
        isolation_follow(state);
        for (uint32_t t = 0; before && t < before->tenants; t++)
                budgets_count(before, t);
        if (before)
                move_past(accounts, before);
        open_reservations(accounts, state->now_ms);
        sum_kept(accounts);
        for (uint32_t w = 0; w < state->workload_slots.high; w++)
                if (state->workloads[w].live)
                        accounts_queued(state, w, 1);
        book_all(state, before);
        for (uint32_t t = 0; t < accounts->tenants; t++)
                if (accounts->demoted[t] > 0)
                        mark_dirty(accounts, (uint16_t)t);
        accounts_free(before);
}
