#include "engine/order.h"

#include <stdlib.h>
#include <string.h>

#include "engine/decide_impl.h"
#include "engine/gang.h"
#include "engine/units.h"

/* ---- what is expected ---- */

static int64_t expected_of(const struct state *state, uint16_t tenant, uint64_t devices,
                           int64_t limit, unsigned percent, int64_t attained)
{
        if (limit > 0)
                return limit > attained ? limit : attained + RUN_TIME_LEAST_MS;
        if (!state->accounts)
                return RUN_TIME_UNKNOWN_MS;
        return run_times_expect(state->accounts->times, tenant, run_times_width(devices), percent,
                                attained);
}

int64_t expected_run_ms(const struct state *state, uint32_t slot, unsigned percent,
                        int64_t attained)
{
        const struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];

        return expected_of(state, bucket->tenant, bucket_devices(state, bucket),
                           workload->time_limit_ms, percent, attained);
}

int64_t request_left_ms(const struct state *state, const struct request *request,
                        unsigned percent)
{
        uint64_t devices = (uint64_t)request->need.devices * request->form.members;
        int64_t left = expected_of(state, request->tenant, devices, request->time_limit_ms,
                                   percent, 0);

        return left < RUN_TIME_LEAST_MS ? RUN_TIME_LEAST_MS : left;
}

int64_t attained_ms(const struct state *state, uint32_t slot, int64_t now_ms)
{
        const struct workload *workload = &state->workloads[slot];

        return workload->attained_ms +
               (workload->members_placed > 0 ? now_ms - workload->since_ms : 0);
}

int64_t expected_left_ms(const struct state *state, uint32_t slot, unsigned percent,
                         int64_t now_ms)
{
        int64_t attained = attained_ms(state, slot, now_ms);
        int64_t left = expected_run_ms(state, slot, percent, attained) - attained;

        return left < RUN_TIME_LEAST_MS ? RUN_TIME_LEAST_MS : left;
}

int64_t waited_ms(const struct state *state, uint32_t slot, int64_t now_ms)
{
        const struct workload *workload = &state->workloads[slot];
        bool waits = workload->members_placed == 0 && now_ms > workload->since_ms;

        return workload->waited_ms + (waits ? now_ms - workload->since_ms : 0);
}

unsigned slice_level(const struct service_class *class, int64_t attained)
{
        unsigned level = 0;

        while (level < class->time_slices_count && attained >= class->time_slice_ms[level])
                level++;
        return level;
}

bool is_wide(const struct state *state, const struct bucket *bucket)
{
        uint64_t devices = bucket_devices(state, bucket);

        return devices > 1 && devices >= state->devices_max;
}

/* ---- inside a bucket ---- */

int waiter_compare(const struct waiter *a, const struct waiter *b)
{
        if (a->displaced != b->displaced)
                return a->displaced ? -1 : 1;
        if (a->rescued != b->rescued)
                return a->rescued ? -1 : 1;
        if (a->level != b->level)
                return a->level < b->level ? -1 : 1;
        if (a->expected_ms > 0 && b->expected_ms > 0 && !a->rescued) {
                /* In seconds: products of two times in ms would not fit. */
                uint64_t x = (uint64_t)(a->waited_ms + AGEING_MS) / 1000 *
                             ((uint64_t)b->expected_ms / 1000 + 1);
                uint64_t y = (uint64_t)(b->waited_ms + AGEING_MS) / 1000 *
                             ((uint64_t)a->expected_ms / 1000 + 1);
                if (x != y)
                        return x > y ? -1 : 1;
        }
        return (a->arrival > b->arrival) - (a->arrival < b->arrival);
}

static int sort_compare(const void *a, const void *b)
{
        return waiter_compare(a, b);
}

int64_t waiter_expects_ms(const struct state *state, uint32_t slot)
{
        const struct workload *workload = &state->workloads[slot];

        if (!state->accounts || class_of(state, workload->bucket)->order != ORDER_SHORTEST)
                return 0;
        return expected_run_ms(state, slot, ORDER_PERCENT, workload->attained_ms);
}

struct waiter waiter_expecting(const struct state *state, uint32_t slot, int64_t expected_ms)
{
        const struct workload *workload = &state->workloads[slot];
        struct waiter waiter = {.slot = slot, .arrival = workload->arrival};

        if (!state->accounts)
                return waiter;
        const struct service_class *class = class_of(state, workload->bucket);
        waiter.waited_ms = waited_ms(state, slot, state->now_ms);
        waiter.expected_ms = expected_ms;
        waiter.rescued = workload->rescued;
        waiter.displaced = workload->displaced;
        waiter.level = workload->rescued
                               ? 0
                               : (uint8_t)slice_level(class, workload->attained_ms);
        return waiter;
}

struct waiter waiter_of(const struct state *state, uint32_t slot)
{
        return waiter_expecting(state, slot, waiter_expects_ms(state, slot));
}

static bool line_sort(struct memo *memo, const struct state *state, uint32_t number)
{
        struct line *line = &memo->lines[number];
        const struct bucket *bucket = &state->buckets[number];

        line->count = line->first = 0;
        for (uint32_t slot = bucket->head; slot != NONE; slot = state->workloads[slot].next) {
                if (!memo_room(memo, &line->waiters, &line->room, line->count,
                               sizeof *line->waiters))
                        return false;
                line->waiters[line->count++] = waiter_of(state, slot);
        }
        qsort(line->waiters, line->count, sizeof *line->waiters, sort_compare);
        line->version = state->order_version + 1;
        line->arrivals = state->arrivals;
        return true;
}

/* Work that came since: it has not waited, so it mostly goes to the end. */
static bool line_add(struct memo *memo, const struct state *state, uint32_t number)
{
        struct line *line = &memo->lines[number];
        uint32_t slot = state->buckets[number].tail;

        if (line->first > 64 && line->first > line->count / 2) {
                line->count -= line->first;
                memmove(line->waiters, &line->waiters[line->first],
                        line->count * sizeof *line->waiters);
                line->first = 0;
        }
        while (slot != NONE && state->workloads[slot].arrival >= line->arrivals)
                slot = state->workloads[slot].prev;
        slot = slot == NONE ? state->buckets[number].head : state->workloads[slot].next;
        for (; slot != NONE; slot = state->workloads[slot].next) {
                struct waiter waiter = waiter_of(state, slot);
                if (!memo_room(memo, &line->waiters, &line->room, line->count,
                               sizeof *line->waiters))
                        return false;
                uint32_t low = line->first, high = line->count;
                while (low < high) {
                        uint32_t middle = (low + high) / 2;
                        if (waiter_compare(&line->waiters[middle], &waiter) < 0)
                                low = middle + 1;
                        else
                                high = middle;
                }
                memmove(&line->waiters[low + 1], &line->waiters[low],
                        (line->count - low) * sizeof *line->waiters);
                line->waiters[low] = waiter;
                line->count++;
        }
        line->arrivals = state->arrivals;
        return true;
}

static bool still_waits(const struct state *state, uint32_t bucket, const struct waiter *waiter)
{
        const struct workload *workload = &state->workloads[waiter->slot];

        return workload->live && workload->members_placed == 0 && workload->bucket == bucket &&
               workload->arrival == waiter->arrival;
}

bool may_start(const struct state *state, const struct workload *workload)
{
        if (workload->holds)
                return false;
        if (workload->array == 0 || workload->array_at_once == 0)
                return true;
        uint32_t running = map_get(state->array_running, workload->array);
        return running == MAP_NONE || running < workload->array_at_once;
}

/* Without a policy there is nothing but arrival: the bucket's own list is the order. */
static bool first_of_list(const struct state *state, uint32_t bucket, uint32_t at,
                          uint32_t *ret_slot)
{
        for (uint32_t slot = state->buckets[bucket].head; slot != NONE;
             slot = state->workloads[slot].next)
                if (may_start(state, &state->workloads[slot]) && at-- == 0) {
                        *ret_slot = slot;
                        return true;
                }
        return false;
}

/* One alone needs no line: most buckets of many tenants. */
static bool has_line(const struct state *state, uint32_t bucket)
{
        return state->accounts && state->buckets[bucket].count > 1;
}

struct waiter line_waiter(const struct memo *memo, const struct state *state, uint32_t bucket,
                          uint32_t at, uint32_t slot)
{
        return has_line(state, bucket) ? memo->lines[bucket].waiters[at] : waiter_of(state, slot);
}

bool line_next(struct memo *memo, const struct state *state, uint32_t bucket, uint32_t *at,
               uint32_t *ret_slot)
{
        struct line *line = &memo->lines[bucket];

        if (!has_line(state, bucket))
                return first_of_list(state, bucket, *at, ret_slot);
        bool fresh = line->version == state->order_version + 1;

        if (!fresh ? !line_sort(memo, state, bucket)
                   : line->arrivals != state->arrivals && !line_add(memo, state, bucket)) {
                memo->out_of_memory = true;
                return false;
        }
        while (line->first < line->count &&
               !still_waits(state, bucket, &line->waiters[line->first]))
                line->first++;
        if (*at < line->first)
                *at = line->first;
        for (; *at < line->count; ++*at) {
                const struct waiter *waiter = &line->waiters[*at];
                if (still_waits(state, bucket, waiter) &&
                    may_start(state, &state->workloads[waiter->slot])) {
                        *ret_slot = waiter->slot;
                        return true;
                }
        }
        return false;
}

/* ---- between buckets ---- */

struct rank rank_of(const struct state *state, const struct contender *it)
{
        return (struct rank){.priority = state->buckets[it->bucket].priority,
                             .standing = it->standing,
                             .class = state->accounts ? class_of(state, it->bucket) : NULL,
                             .displaced = it->waiter.displaced};
}

static int compare_shares(const struct state *state, uint32_t a, uint32_t b)
{
        const struct bucket *x = &state->buckets[a], *y = &state->buckets[b];

        return accounts_compare(state, x->tenant, state->shapes[x->shape].models, y->tenant,
                                state->shapes[y->shape].models);
}

bool order_before(const struct state *state, const struct contender *a, const struct contender *b)
{
        const struct rank x = rank_of(state, a), y = rank_of(state, b);
        int order = rank_compare(&x, &y);

        if (order == 0 && x.class && x.class->by_weight)
                order = compare_shares(state, a->bucket, b->bucket);
        if (order == 0)
                order = rank_compare_last(&x, &y);
        return (order ? order : waiter_compare(&a->waiter, &b->waiter)) < 0;
}

/* ---- nothing starves ---- */

/* Whether only others keep it waiting: no hold, limit, budget or promise, and the pool as it is
 * described could hold it. What waits for more would keep others from being rescued for as long. */
static bool only_waits(struct memo *memo, const struct state *state, uint32_t slot)
{
        const struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];
        const struct request request = {.need = state->shapes[bucket->shape].need,
                                        .form = bucket->form,
                                        .tenant = bucket->tenant,
                                        .class = bucket->class,
                                        .data = bucket->data};
        struct admission admission;

        if (!may_start(state, workload))
                return false;
        accounts_admit(state, workload->bucket, &admission);
        return admission.gate == GATE_FIT && request_feasible(memo, state, &request, NULL) == 1;
}

/* Whoever has waited longest of those that only others keep waiting. */
static uint32_t longest_overdue(struct memo *memo, const struct state *state, int64_t now_ms)
{
        uint32_t longest = NONE;

        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *it = &state->workloads[w];
                bool told = false;
                if (!it->live || it->members_placed > 0 || it->rescued ||
                    waited_ms(state, w, now_ms) < RESCUE_AFTER_MS ||
                    (longest != NONE &&
                     waited_ms(state, w, now_ms) <= waited_ms(state, longest, now_ms)))
                        continue;
                for (uint32_t i = 0; i < memo->facts_count; i++)
                        told |= memo->facts[i].kind == FACT_RESCUED &&
                                memo->facts[i].rescued == it->id;
                if (!told && only_waits(memo, state, w))
                        longest = w;
        }
        return longest;
}

/* Units of rescued work that runs, or only waits. */
static uint64_t rescued_in_play(struct memo *memo, const struct state *state)
{
        uint64_t units = 0;

        for (uint32_t w = 0; state->rescued_units > 0 && w < state->workload_slots.high; w++) {
                const struct workload *it = &state->workloads[w];
                if (it->live && it->rescued &&
                    (it->members_placed > 0 || only_waits(memo, state, w)))
                        units += workload_units(state, w);
        }
        return units;
}

int decide_rescues(struct memo *memo, const struct state *state, int64_t now_ms, struct err *err)
{
        uint64_t all = 0, units = rescued_in_play(memo, state);

        for (unsigned m = 0; m < MODELS_MAX; m++)
                all += state->capacity[m];
        for (;;) {
                uint32_t slot = longest_overdue(memo, state, now_ms);
                if (slot == NONE)
                        return 0;
                uint64_t more = workload_units(state, slot);
                if (units > 0 && (units + more) * 100 > all * RESCUE_PERCENT)
                        return 0;
                struct fact *fact = fact_add(memo, FACT_RESCUED);
                if (!fact)
                        return no_memory(err);
                fact->rescued = state->workloads[slot].id;
                units += more;
        }
}
