/* What the queue's order compares, worked out once per tenant and set of models, so that ten
 * thousand waiters cost little. The order is that of order.h. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/explain_line.h"

/* ---- standing of a bucket, as admission sees it ---- */

/* What a tenant could still start on a model. */
struct headroom {
        uint64_t limit, promise, rest; /* units: below limits, of a promise, left by promises */
};

struct tenant_room {
        bool known, jobs;
        uint64_t refused, demoted; /* models whose budget is empty; all ones: any */
        uint64_t forbidden;        /* models with `limit: none` */
        struct headroom models[MODELS_MAX];
};

/* Shares of a tenant and those above it, from the root down. */
struct chain {
        uint8_t depth;
        uint64_t borrowed[TENANT_DEPTH_MAX], weight[TENANT_DEPTH_MAX];
};

static const struct accounts *accounts_of(const struct line_up *line)
{
        return line->x->state->accounts;
}

static uint64_t left_below(uint64_t limit, uint64_t held)
{
        if (limit == AMOUNT_NONE)
                return 0;
        if (!amount_is_number(limit))
                return UINT64_MAX;
        return limit > held ? limit - held : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

static uint64_t pot_left(const struct accounts *accounts, uint32_t tenant, unsigned dimension)
{
        uint64_t pot = *account(accounts->pot, tenant, dimension) +
                       *account(accounts->reserved, tenant, dimension);
        uint64_t drawn = *account(accounts->drawn, tenant, dimension);

        return tenant != TENANT_NONE && pot > drawn ? pot - drawn : 0;
}

static uint64_t promise_left(const struct accounts *accounts, uint16_t tenant, unsigned model)
{
        const uint16_t *pots = accounts->pot_of + (size_t)tenant * DEVICE_DIMENSIONS;
        const struct {
                uint16_t whose;
                unsigned dimension;
        } rows[] = {
                {tenant, model}, {pots[model], model}, {tenant, DIM_ANY}, {pots[DIM_ANY], DIM_ANY}};
        uint64_t most = 0;

        for (unsigned i = 0; i < 4; i++) {
                if (rows[i].whose == TENANT_NONE)
                        continue;
                uint64_t left = pot_left(accounts, rows[i].whose, rows[i].dimension);
                most = left > most ? left : most;
        }
        return most;
}

static uint64_t rest_of(const struct state *state, uint16_t tenant, unsigned model)
{
        const struct accounts *accounts = state->accounts;
        uint64_t kept = accounts->kept[model] + accounts->kept[DIM_ANY];

        if (kept == 0)
                return UINT64_MAX;
        kept += accounts->used[model] - accounts_unlent(accounts, tenant, model);
        return state->capacity[model] > kept ? state->capacity[model] - kept : 0;
}

static void fill_budgets(const struct state *state, uint32_t tenant, struct tenant_room *room)
{
        const struct tenant *it = &state->accounts->tenancy->tenants[tenant];

        for (unsigned b = 0; b < it->budgets_count; b++) {
                uint64_t bits = it->budgets[b].dimension == DIM_ANY
                                        ? UINT64_MAX
                                        : 1ull << it->budgets[b].dimension;
                if (!accounts_budget_empty(state, (uint16_t)tenant, bits,
                                           (enum on_empty)it->budgets[b].on_empty))
                        continue;
                if (it->budgets[b].on_empty == ON_EMPTY_REFUSE)
                        room->refused |= bits;
                if (it->budgets[b].on_empty == ON_EMPTY_DEMOTE)
                        room->demoted |= bits;
        }
}

static const struct tenant_room *room_of(struct line_up *line, uint16_t tenant)
{
        const struct state *state = line->x->state;
        const struct tenancy *tenancy = state->accounts->tenancy;
        struct tenant_room *room = &line->tenants[tenant];

        if (room->known)
                return room;
        room->known = true;
        for (uint64_t left = line->present; left; left &= left - 1) {
                unsigned m = (unsigned)__builtin_ctzll(left);
                room->models[m] =
                        (struct headroom){UINT64_MAX, promise_left(state->accounts, tenant, m),
                                          rest_of(state, tenant, m)};
        }
        for (uint32_t t = tenant; t != TENANT_NONE; t = tenancy->tenants[t].parent) {
                const uint64_t *limit = tenancy->tenants[t].limit;
                const uint64_t *held = account_held(state->accounts, t, 0);
                uint64_t any = left_below(limit[DIM_ANY], held[DIM_ANY]);
                room->jobs |= left_below(limit[DIM_RUNNING], held[DIM_RUNNING]) == 0 ||
                              left_below(limit[DIM_JOBS], held[DIM_RUNNING]) == 0;
                for (uint64_t left = line->present; left; left &= left - 1) {
                        unsigned m = (unsigned)__builtin_ctzll(left);
                        uint64_t own = least(any, left_below(limit[m], held[m]));
                        if (limit[m] == AMOUNT_NONE || limit[DIM_ANY] == AMOUNT_NONE)
                                room->forbidden |= 1ull << m;
                        room->models[m].limit = least(room->models[m].limit, own);
                }
                fill_budgets(state, t, room);
        }
        return room;
}

static enum standing standing_on(const struct tenant_room *room, const struct service_class *class,
                                 bool spare, unsigned model, uint64_t units)
{
        const struct headroom *head = &room->models[model];
        bool empty = room->demoted >> model & 1;

        if (!spare && !empty && units <= head->limit) {
                if (units <= head->promise)
                        return STANDING_PROTECTED;
                return units <= head->rest ? STANDING_STANDARD : STANDINGS_END;
        }
        bool by_choice = spare || empty || class->above_limit == ABOVE_LIMIT_SPARE;
        if (room->forbidden >> model & 1)
                return STANDINGS_END;
        return class->stop != STOP_NEVER && by_choice && units <= head->rest ? STANDING_SPARE
                                                                             : STANDINGS_END;
}

/* The best standing its first waiter could start with; STANDINGS_END: none. */
static enum standing standing_of(struct line_up *line, uint32_t number)
{
        const struct state *state = line->x->state;
        const struct bucket *bucket = &state->buckets[number];
        const struct shape *shape = &state->shapes[bucket->shape];
        enum standing best = STANDINGS_END;

        if (!state->accounts)
                return STANDING_STANDARD;
        const struct service_class *class = class_of(state, number);
        const struct tenant_room *room = room_of(line, bucket->tenant);
        if (room->jobs || (room->refused & shape->models) || room->refused == UINT64_MAX)
                return STANDINGS_END;
        if (shape->need.devices == 0) {
                struct admission admission;
                accounts_admit(state, number, &admission);
                for (unsigned s = STANDINGS_END; s-- > 0;)
                        best = admission.models[s] ? (enum standing)s : best;
                return best;
        }
        for (uint64_t left = shape->models & line->present; left; left &= left - 1) {
                unsigned m = (unsigned)__builtin_ctzll(left);
                uint64_t units = (uint64_t)state->units[(size_t)bucket->shape * MODELS_MAX + m] *
                                 bucket->form.members;
                enum standing standing = standing_on(room, class, bucket->spare, m, units);
                best = standing < best ? standing : best;
        }
        return best;
}

/* ---- keys ---- */

static void fill_chain(const struct accounts *accounts, uint32_t tenant, uint64_t models,
                       struct chain *chain)
{
        chain->depth = accounts->tenancy->tenants[tenant].depth;
        for (unsigned level = chain->depth; level-- > 0;) {
                const struct tenant *it = &accounts->tenancy->tenants[tenant];
                uint64_t borrowed = UINT64_MAX, weight = 1;
                for (uint64_t left = models; left; left &= left - 1) {
                        unsigned m = (unsigned)__builtin_ctzll(left);
                        uint64_t more = *account_held(accounts, tenant, m) -
                                        *account(accounts->within, tenant, m) +
                                        *account(accounts->spare, tenant, m);
                        if (borrowed != UINT64_MAX &&
                            more * weight >= borrowed * it->weight_milli[m])
                                continue;
                        borrowed = more;
                        weight = it->weight_milli[m];
                }
                chain->borrowed[level] = borrowed == UINT64_MAX ? 0 : borrowed;
                chain->weight[level] = weight;
                tenant = it->parent;
        }
}

static uint32_t chain_of(struct line_up *line, uint16_t tenant, uint64_t models)
{
        uint64_t hash = map_mix(map_mix(models) + tenant);
        uint32_t at = map_get(&line->chain_of, hash);

        if (at != MAP_NONE)
                return at;
        at = line->chain_of.count;
        if (!memo_room(line->x->memo, &line->chains, &line->chains_room, at,
                       sizeof *line->chains) ||
            map_set(&line->chain_of, hash, at) != 0) {
                line->failed = true;
                return 0;
        }
        fill_chain(accounts_of(line), tenant, models, &line->chains[at]);
        return at;
}

static int compare_chains(const struct chain *a, const struct chain *b)
{
        for (unsigned level = 0; level < a->depth || level < b->depth; level++) {
                uint64_t x = level < a->depth ? a->borrowed[level] : 0;
                uint64_t y = level < b->depth ? b->borrowed[level] : 0;
                x *= level < b->depth ? b->weight[level] : 1;
                y *= level < a->depth ? a->weight[level] : 1;
                if (x != y)
                        return x < y ? -1 : 1;
        }
        return 0;
}

/* As order.c's policy_compare(), priority before it. */
int compare_keys(const struct line_up *line, const struct key *a, const struct key *b)
{
        if (a->priority != b->priority)
                return a->priority > b->priority ? -1 : 1;
        if (!a->class)
                return 0;
        if (a->standing != b->standing)
                return a->standing < b->standing ? -1 : 1;
        if (a->class->rank != b->class->rank)
                return a->class->rank < b->class->rank ? -1 : 1;
        if (a->class->by_weight != b->class->by_weight)
                return a->class->by_weight ? -1 : 1;
        if (a->class->by_weight && a->chain != b->chain) {
                int order = compare_chains(&line->chains[a->chain], &line->chains[b->chain]);
                if (order != 0)
                        return order;
        }
        if (a->class->order != b->class->order)
                return a->class->order < b->class->order ? -1 : 1;
        return 0;
}

struct key key_of(struct line_up *line, uint32_t number)
{
        const struct state *state = line->x->state;
        const struct bucket *bucket = &state->buckets[number];
        struct key key = {.priority = bucket->priority, .standing = standing_of(line, number)};

        if (!state->accounts)
                return key;
        key.class = class_of(state, number);
        if (key.class->by_weight)
                key.chain = chain_of(line, bucket->tenant,
                                     state->shapes[bucket->shape].models & line->present);
        return key;
}

/* ---- waiters ---- */

struct waiter waiter_of(const struct state *state, uint32_t slot)
{
        const struct workload *workload = &state->workloads[slot];
        struct waiter waiter = {.slot = slot, .arrival = workload->arrival};

        if (!state->accounts)
                return waiter;
        const struct service_class *class = class_of(state, workload->bucket);
        waiter.waited_ms = waited_ms(state, slot, state->now_ms);
        waiter.rescued = workload->rescued;
        waiter.level = workload->rescued ? 0 : (uint8_t)slice_level(class, workload->attained_ms);
        if (class->order == ORDER_SHORTEST)
                waiter.expected_ms =
                        expected_run_ms(state, slot, ORDER_PERCENT, workload->attained_ms);
        return waiter;
}

/* As order.c compares inside a bucket. */
bool waits_before(const struct waiter *a, const struct waiter *b)
{
        if (a->rescued != b->rescued)
                return a->rescued;
        if (a->level != b->level)
                return a->level < b->level;
        if (a->expected_ms > 0 && b->expected_ms > 0 && !a->rescued) {
                uint64_t x = (uint64_t)(a->waited_ms + AGEING_MS) / 1000 *
                             ((uint64_t)b->expected_ms / 1000 + 1);
                uint64_t y = (uint64_t)(b->waited_ms + AGEING_MS) / 1000 *
                             ((uint64_t)a->expected_ms / 1000 + 1);
                if (x != y)
                        return x > y;
        }
        return a->arrival < b->arrival;
}

bool is_eligible(const struct state *state, const struct workload *workload)
{
        if (workload->holds)
                return false;
        if (workload->array == 0 || workload->array_at_once == 0)
                return true;
        uint32_t running = map_get(state->array_running, workload->array);
        return running == MAP_NONE || running < workload->array_at_once;
}

bool place_before(const struct line_up *line, const struct place_in_line *a,
                  const struct place_in_line *b)
{
        int order = compare_keys(line, &a->key, &b->key);

        return order != 0 ? order < 0 : waits_before(&a->waiter, &b->waiter);
}

/* ---- life ---- */

int line_up_init(struct line_up *line, struct explainer *x, const struct asking *asking,
                 struct err *err)
{
        const struct accounts *accounts = x->state->accounts;

        *line = (struct line_up){.x = x, .asking = asking};
        for (unsigned m = 0; m < MODELS_MAX; m++)
                line->present |= x->state->capacity[m] ? 1ull << m : 0;
        map_init(&line->chain_of, MAP_ENTRIES_MAX);
        if (!accounts)
                return 0;
        line->tenants = mem_new(accounts->tenants, sizeof *line->tenants);
        return line->tenants ? 0 : err_set(err, ERR_NOMEM, "out of memory while explaining");
}

void line_up_done(struct line_up *line)
{
        mem_free(line->tenants);
        mem_free(line->chains);
        map_done(&line->chain_of);
}
