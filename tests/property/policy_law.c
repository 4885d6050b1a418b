/* What must hold when work is taken, starts, or rises; and when a policy comes into force. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/calendar.h"
#include "tests/property/policy_book.h"

/* ---- sums, made anew each time ---- */

struct sums {
        uint64_t models[MODELS_MAX], all, cpu, memory, slices[SLICE_LIMITS_MAX], running, jobs;
};

static void sum_part(const struct book *book, uint32_t node, const struct part *part,
                     struct sums *sums)
{
        const struct model *model = book_model(book, node);
        uint64_t units = book_part_units(model, part);

        sums->models[book->nodes[node].desc.model] += units;
        sums->all += units;
        if (part->method == METHOD_SHARE)
                sums->memory += part->memory_mib;
        if (part->method != METHOD_SLICE)
                return;
        sums->memory += model->profiles[part->profile].memory_mib;
        for (uint32_t p = 0; p < book->tenancy->profiles_count; p++)
                sums->slices[p] += strcmp(book->tenancy->profiles[p],
                                          model->profiles[part->profile].name) == 0;
}

static void sum_work(const struct book *book, const struct book_work *work, struct sums *sums)
{
        for (unsigned m = 0; m < work->placed; m++) {
                if (work->request.need.devices == 0)
                        sums->cpu += work->request.need.cpu_milli;
                for (unsigned i = 0; i < work->places[m].count; i++)
                        sum_part(book, work->places[m].node, &work->places[m].parts[i], sums);
        }
}

/* Of the tenant and all below it: what runs in a standing of the set. */
static void sum_tenant(const struct book *book, uint16_t tenant, unsigned standings,
                       struct sums *sums)
{
        memset(sums, 0, sizeof *sums);
        for (uint64_t w = 1; w <= book->last_id; w++) {
                const struct book_work *work = &book->works[w];
                if ((work->status != WORK_RUNS && work->status != WORK_WAITS) ||
                    !book_below(book->tenancy, work->request.tenant, tenant))
                        continue;
                sums->jobs++;
                if (work->status != WORK_RUNS)
                        continue;
                sums->running++;
                if (standings >> work->standing & 1)
                        sum_work(book, work, sums);
        }
}

#define PROTECTED_ONLY (1u << STANDING_PROTECTED)
#define WITHIN_LIMIT   (PROTECTED_ONLY | 1u << STANDING_STANDARD)
#define IN_ANY         (WITHIN_LIMIT | 1u << STANDING_SPARE)

/* ---- limits ---- */

static bool is_above(uint64_t limit, uint64_t held)
{
        return held > 0 && (limit == AMOUNT_NONE || (amount_is_number(limit) && held > limit));
}

/* Only what the start, or the rise of spare work, adds to is looked at: a limit that came down
 * stops nobody. */
static bool law_limits(struct book *book, const struct book_work *work, uint16_t tenant,
                       bool starts)
{
        const struct tenant *it = &book->tenancy->tenants[tenant];
        struct sums sums, own = {0};

        sum_work(book, work, &own);
        sum_tenant(book, tenant, WITHIN_LIMIT, &sums);
        book->checked[PROMISE_LIMITS]++;
        if (starts && is_above(it->limit[DIM_RUNNING], sums.running))
                return BOOK_FAIL(book, "tenant %s runs %" PRIu64 " workloads, above its limit",
                                 it->path, sums.running);
        for (unsigned m = 0; m < MODELS_MAX; m++)
                if (own.models[m] > 0 && it->limit[m] == AMOUNT_NONE)
                        return BOOK_FAIL(book, "tenant %s starts %s work on a model it may not use",
                                         it->path, standing_name(work->standing));
        if (work->standing == STANDING_SPARE)
                return true;
        for (unsigned m = 0; m < MODELS_MAX; m++)
                if (own.models[m] > 0 && is_above(it->limit[m], sums.models[m]))
                        return BOOK_FAIL(book, "tenant %s holds %" PRIu64 " units of model %u, "
                                               "above its limit",
                                         it->path, sums.models[m], m);
        for (uint32_t p = 0; p < book->tenancy->profiles_count; p++)
                if (own.slices[p] > 0 && is_above(it->limit[DIM_SLICES + p], sums.slices[p]))
                        return BOOK_FAIL(book, "tenant %s is above its limit of slices", it->path);
        if ((own.all > 0 && is_above(it->limit[DIM_ANY], sums.all)) ||
            (own.cpu > 0 && is_above(it->limit[DIM_CPU], sums.cpu)) ||
            (own.memory > 0 && is_above(it->limit[DIM_MEMORY], sums.memory)))
                return BOOK_FAIL(book,
                                 "tenant %s holds %" PRIu64 " units of any model, %" PRIu64
                                 " milli cores, %" PRIu64 " MiB, above a limit of it",
                                 it->path, sums.all, sums.cpu, sums.memory);
        return true;
}

/* ---- promises ---- */

/* What a root's tree is promised at most: reservations count as if all were open. */
static void promised(const struct book *book, uint16_t root, struct sums *ret_promised)
{
        const struct tenant *it = &book->tenancy->tenants[root];
        uint64_t models = 0, any, reserved_any = 0, reserved = 0;

        memset(ret_promised, 0, sizeof *ret_promised);
        for (unsigned m = 0; m < MODELS_MAX; m++)
                models += ret_promised->models[m] = amount_number(it->protect[m]);
        any = amount_number(it->protect[DIM_ANY]);
        for (uint32_t r = 0; r < book->tenancy->reservations_count; r++) {
                const struct reservation *reservation = &book->tenancy->reservations[r];
                if (!book_below(book->tenancy, reservation->tenant, root))
                        continue;
                for (unsigned i = 0; i < reservation->models_count; i++) {
                        reserved += reservation->units[i];
                        if (reservation->models[i] == DIM_ANY)
                                reserved_any += reservation->units[i];
                        else
                                ret_promised->models[reservation->models[i]] +=
                                        reservation->units[i];
                }
        }
        for (unsigned m = 0; m < MODELS_MAX; m++)
                ret_promised->models[m] += (any > models ? any - models : 0) + reserved_any;
        ret_promised->all = (any > models ? any : models) + reserved;
}

static bool law_inside(struct book *book, uint16_t tenant)
{
        struct sums sums, most;
        uint16_t root = tenant;

        while (book->tenancy->tenants[root].parent != TENANT_NONE)
                root = book->tenancy->tenants[root].parent;
        sum_tenant(book, root, PROTECTED_ONLY, &sums);
        promised(book, root, &most);
        book->checked[PROMISE_INSIDE]++;
        for (unsigned m = 0; m < MODELS_MAX; m++)
                if (sums.models[m] > most.models[m])
                        return BOOK_FAIL(book, "tenant %s has %" PRIu64 " protected units of model "
                                               "%u, and was promised %" PRIu64,
                                         book->tenancy->tenants[root].path, sums.models[m], m,
                                         most.models[m]);
        if (sums.all > most.all)
                return BOOK_FAIL(book, "tenant %s has %" PRIu64 " protected units, and was "
                                       "promised %" PRIu64,
                                 book->tenancy->tenants[root].path, sums.all, most.all);
        return true;
}

/* ---- budgets ---- */

static unit_ms budget_units(const struct book *book, uint16_t tenant, unsigned dimension)
{
        struct sums sums;

        sum_tenant(book, tenant, IN_ANY, &sums);
        return dimension == DIM_ANY ? sums.all : sums.models[dimension];
}

void book_time(struct book *book, int64_t now_ms)
{
        for (uint32_t t = 0; book->tenancy && now_ms > book->now_ms &&
                             t < book->tenancy->tenants_count;
             t++) {
                const struct tenant *it = &book->tenancy->tenants[t];
                for (unsigned b = 0; b < it->budgets_count; b++) {
                        struct book_budget *budget = &book->budgets[t][b];
                        if (now_ms >= budget->until_ms) {
                                calendar_period(it->budgets[b].period, now_ms, &budget->from_ms,
                                                &budget->until_ms);
                                budget->used = budget->used_at_tick = 0;
                        }
                        int64_t since = book->now_ms > budget->from_ms ? book->now_ms
                                                                       : budget->from_ms;
                        budget->used += budget_units(book, (uint16_t)t, it->budgets[b].dimension) *
                                        (uint64_t)(now_ms - since);
                }
        }
        book->now_ms = now_ms;
}

static bool is_empty(const struct book *book, uint16_t tenant, uint64_t models,
                     enum on_empty on_empty)
{
        for (; tenant != TENANT_NONE; tenant = book->tenancy->tenants[tenant].parent) {
                const struct tenant *it = &book->tenancy->tenants[tenant];
                for (unsigned b = 0; b < it->budgets_count; b++)
                        if (it->budgets[b].on_empty == on_empty &&
                            (it->budgets[b].dimension == DIM_ANY ||
                             (models >> it->budgets[b].dimension & 1)) &&
                            book->budgets[tenant][b].used_at_tick >=
                                    (unit_ms)it->budgets[b].device_ms * UNITS_DEVICE)
                                return true;
        }
        return false;
}

static bool law_budgets(struct book *book, const struct book_work *work)
{
        struct sums own = {0};
        uint64_t models = 0;

        sum_work(book, work, &own);
        for (unsigned m = 0; m < MODELS_MAX; m++)
                models |= (uint64_t)(own.models[m] > 0) << m;
        book->checked[PROMISE_BUDGETS]++;
        if (work->standing != STANDING_SPARE && own.all > 0 &&
            is_empty(book, work->request.tenant, models, ON_EMPTY_DEMOTE))
                return BOOK_FAIL(book, "%s work of tenant %s starts, and its budget demotes",
                                 standing_name(work->standing),
                                 book->tenancy->tenants[work->request.tenant].path);
        return true;
}

bool law_queued(struct book *book, const struct request *request)
{
        if (!book->tenancy)
                return true;
        book->checked[PROMISE_BUDGETS]++;
        if (request->need.devices > 0 &&
            is_empty(book, request->tenant, request->need.models, ON_EMPTY_REFUSE))
                return BOOK_FAIL(book, "work of tenant %s is taken, and its budget refuses it",
                                 book->tenancy->tenants[request->tenant].path);
        return true;
}

/* ---- starts ---- */

static bool law_holds(struct book *book, const struct book_work *work)
{
        const struct request *request = &work->request;
        unsigned running = 0;

        book->checked[PROMISE_HOLDS]++;
        if (work->user_held)
                return BOOK_FAIL(book, "it starts while its owner holds it");
        if (request->start_ms > book->now_ms)
                return BOOK_FAIL(book, "it starts before its start time");
        for (unsigned i = 0; i < request->after_count; i++) {
                const struct book_work *other = book_work(book, request->after[i]);
                if (other && (other->status != WORK_GONE || other->end != RELEASE_EXITED))
                        return BOOK_FAIL(book, "it starts, and workload %" PRIu64
                                               " that it waits for has not ended well",
                                         request->after[i]);
        }
        if (request->array == 0 || request->array_at_once == 0)
                return true;
        for (uint64_t w = 1; w <= book->last_id; w++)
                running += book->works[w].status == WORK_RUNS &&
                           book->works[w].request.array == request->array;
        if (running > request->array_at_once)
                return BOOK_FAIL(book, "%u tasks of its array run, and %u may", running,
                                 request->array_at_once);
        return true;
}

static bool law_frozen(struct book *book, const struct book_work *work)
{
        book->checked[PROMISE_FROZEN]++;
        for (unsigned m = 0; m < work->placed; m++)
                if (book_is_frozen(book, work->places[m].node))
                        return BOOK_FAIL(book, "it starts on node %u, which is frozen",
                                         work->places[m].node);
        return true;
}

static bool same_place(const struct book_place *a, const struct book_place *b)
{
        return a->node == b->node && a->count == b->count &&
               memcmp(a->parts, b->parts, a->count * sizeof *a->parts) == 0;
}

/* By a plan that is done: in its places. */
static bool law_handed(struct book *book, const struct book_work *work)
{
        const struct book_plan *plan = &book->handed;

        if (!plan->live)
                return true;
        book->checked[PROMISE_HANDED]++;
        if (plan->fact.beneficiary != work->request.workload)
                return BOOK_FAIL(book, "a plan is done, and somebody else starts");
        for (unsigned m = 0; m < work->placed; m++) {
                bool found = false;
                for (unsigned p = 0; p < plan->places_count; p++)
                        found |= same_place(&work->places[m], &plan->places[p]);
                if (!found)
                        return BOOK_FAIL(book, "its member %u does not get a place of its plan", m);
        }
        return true;
}

bool law_starts(struct book *book, struct book_work *work)
{
        const struct form *form = &work->request.form;
        char why[sizeof book->why];
        bool good = true;

        book->checked[PROMISE_GANGS]++;
        if (work->placed != form->members)
                good = BOOK_FAIL(book, "%u of its %u members are placed", work->placed,
                                 form->members);
        else if (!book_lies_as_wished(book, form, work->places, work->placed))
                good = BOOK_FAIL(book, "its members lie not near each other (%s), or not spread",
                                 near_level_name(form->near));
        good = good && law_holds(book, work) && law_frozen(book, work) && law_leaves(book, work) &&
               law_handed(book, work) &&
               law_budgets(book, work);
        for (uint16_t t = work->request.tenant; good && t != TENANT_NONE;
             t = book->tenancy->tenants[t].parent)
                good = law_limits(book, work, t, true);
        if (good && work->standing == STANDING_PROTECTED)
                good = law_inside(book, work->request.tenant);
        if (good)
                return true;
        memcpy(why, book->why, sizeof why);
        return BOOK_FAIL(book, "workload %" PRIu64 " starts%s: %.400s", work->request.workload,
                         book->handed.live ? " by its plan" : "", why);
}

/* Spare work that rises is counted from then on. */
bool law_raised(struct book *book, struct book_work *work, bool was_spare)
{
        bool good = !was_spare || law_budgets(book, work);

        for (uint16_t t = work->request.tenant; was_spare && good && t != TENANT_NONE;
             t = book->tenancy->tenants[t].parent)
                good = law_limits(book, work, t, false);
        return good &&
               (work->standing != STANDING_PROTECTED || law_inside(book, work->request.tenant));
}

/* ---- a new policy ---- */

static int tenant_of(const struct tenancy *tenancy, const char *path)
{
        for (uint32_t t = 0; t < tenancy->tenants_count; t++)
                if (strcmp(tenancy->tenants[t].path, path) == 0)
                        return (int)t;
        return -1;
}

static void move_budgets(struct book *book, const struct tenancy *to)
{
        static struct book_budget moved[BOOK_TENANTS][TENANT_BUDGETS_MAX];

        memset(moved, 0, sizeof moved);
        for (uint32_t t = 0; t < to->tenants_count; t++) {
                int old = tenant_of(book->tenancy, to->tenants[t].path);
                for (unsigned b = 0; old >= 0 && b < to->tenants[t].budgets_count; b++) {
                        const struct budget *new = &to->tenants[t].budgets[b];
                        const struct budget *was = &book->tenancy->tenants[old].budgets[b];
                        if (b < book->tenancy->tenants[old].budgets_count &&
                            new->dimension == was->dimension && new->period == was->period)
                                moved[t][b] = book->budgets[old][b];
                }
        }
        memcpy(book->budgets, moved, sizeof moved);
}

bool law_policy(struct book *book, const struct tenancy *tenancy)
{
        const struct tenancy *before = book->tenancy;

        if (before)
                move_budgets(book, tenancy);
        for (uint64_t w = 1; before && w <= book->last_id; w++) {
                struct book_work *work = &book->works[w];
                if (work->status != WORK_WAITS && work->status != WORK_RUNS)
                        continue;
                int tenant = tenant_of(tenancy, before->tenants[work->request.tenant].path);
                int class = -1;
                for (uint32_t c = 0; c < tenancy->classes_count; c++)
                        if (strcmp(tenancy->classes[c].name,
                                   before->classes[work->request.class].name) == 0)
                                class = (int)c;
                if (tenant < 0 || class < 0)
                        return BOOK_FAIL(book, "a policy comes into force that does not know the "
                                               "tenant or class of workload %" PRIu64,
                                         w);
                work->request.tenant = (uint16_t)tenant;
                work->request.class = (uint16_t)class;
        }
        book->tenancy = tenancy;
        return true;
}

bool book_standings(struct book *book, const struct state *state)
{
        for (uint64_t w = 1; w <= book->last_id; w++) {
                if (book->works[w].status != WORK_RUNS)
                        continue;
                book->works[w].standing = state->workloads[state_workload(state, w)].standing;
                if (!law_idle_policy(book, &book->works[w]))
                        return false;
        }
        for (uint32_t t = 0; t < book->tenancy->tenants_count; t++)
                if (book->tenancy->tenants[t].parent == TENANT_NONE &&
                    !law_inside(book, (uint16_t)t))
                        return false;
        return true;
}
