/* Questions to the accounts: who may start as what, and who goes first. Deciding asks them of the
 * state as it is, explaining of what it might be: what_if.h. */
#include <string.h>

#include "engine/accounts.h"
#include "engine/what_if.h"

static const struct tenant *tenant_at(const struct accounts *accounts, uint32_t tenant)
{
        return &accounts->tenancy->tenants[tenant];
}

/* ---- promises ---- */

static inline uint64_t pot_left(const struct state *state, const struct what_if *what_if,
                                uint32_t tenant, unsigned dimension)
{
        const struct accounts *accounts = state->accounts;
        uint64_t pot = *account(accounts->pot, tenant, dimension) +
                       *account(accounts->reserved, tenant, dimension);
        uint64_t drawn = drawn_of(state, what_if, tenant, dimension);

        return pot > drawn ? pot - drawn : 0;
}

/* Whether the pots of `whose` for the models hold it all. */
static bool models_hold(const struct state *state, const struct what_if *what_if, uint32_t whose,
                        const struct holding *holding)
{
        for (uint64_t left = holding->models; left; left &= left - 1) {
                unsigned m = (unsigned)__builtin_ctzll(left);
                if (holding->units[m] > pot_left(state, what_if, whose, m))
                        return false;
        }
        return true;
}

/* Its own first, which a reservation may have filled; then the one it draws on. */
static bool may_draw(const struct state *state, const struct what_if *what_if, uint16_t tenant,
                     const struct holding *holding, struct promise *ret_promise)
{
        if (holding->models == 0)
                return false;
        unsigned first = (unsigned)__builtin_ctzll(holding->models);
        const uint16_t *pots = state->accounts->pot_of + (size_t)tenant * DEVICE_DIMENSIONS;
        const uint16_t whose[] = {tenant, pots[first], tenant, pots[DIM_ANY]};

        for (unsigned i = 0; i < 4; i++) {
                bool any = i >= 2;
                if (whose[i] == TENANT_NONE)
                        continue;
                if (any ? holding->all > pot_left(state, what_if, whose[i], DIM_ANY)
                        : !models_hold(state, what_if, whose[i], holding))
                        continue;
                *ret_promise = (struct promise){whose[i], any};
                return true;
        }
        return false;
}

bool accounts_draw(const struct state *state, uint16_t tenant, const struct holding *holding,
                   struct promise *ret_promise)
{
        return may_draw(state, NULL, tenant, holding, ret_promise);
}

bool accounts_start_opens(const struct accounts *accounts, uint16_t tenant)
{
        return accounts->kept_in_all > 0 || accounts->briefs[tenant].budgets;
}

/* ---- limits ---- */

static inline bool above(const struct state *state, const struct what_if *what_if,
                         uint32_t tenant, unsigned dimension, uint64_t more)
{
        return limit_forbids(limit_of(state, what_if, tenant, dimension),
                             held_of(state, what_if, tenant, dimension), more);
}

static bool within_limits(const struct state *state, const struct what_if *what_if,
                          uint32_t tenant, const struct holding *holding)
{
        const struct tenancy *tenancy = state->accounts->tenancy;

        for (uint32_t t = tenant; t != TENANT_NONE; t = tenancy->tenants[t].parent) {
                for (uint64_t left = holding->models; left; left &= left - 1) {
                        unsigned m = (unsigned)__builtin_ctzll(left);
                        if (above(state, what_if, t, m, holding->units[m]))
                                return false;
                }
                if ((holding->all > 0 && above(state, what_if, t, DIM_ANY, holding->all)) ||
                    (holding->cpu_milli > 0 &&
                     above(state, what_if, t, DIM_CPU, holding->cpu_milli)) ||
                    (holding->memory_mib > 0 &&
                     above(state, what_if, t, DIM_MEMORY, holding->memory_mib)))
                        return false;
                for (uint32_t p = 0; p < tenancy->profiles_count; p++)
                        if (holding->slices[p] > 0 &&
                            above(state, what_if, t, DIM_SLICES + p, holding->slices[p]))
                                return false;
        }
        return true;
}

uint64_t accounts_kept(const struct accounts *accounts, uint16_t tenant, unsigned model)
{
        uint64_t kept = accounts->kept[model] + accounts->kept[DIM_ANY];

        return kept == 0 ? 0 : kept - accounts_unlent(accounts, tenant, model);
}

/* Whether others' promises leave so much: what is not lent stays free. */
static bool leaves_promises(const struct state *state, const struct what_if *what_if,
                            uint16_t tenant, const struct holding *holding)
{
        const struct accounts *accounts = state->accounts;

        for (uint64_t left = holding->models; left; left &= left - 1) {
                unsigned m = (unsigned)__builtin_ctzll(left);
                if (accounts->kept[m] + accounts->kept[DIM_ANY] > 0 &&
                    used_of(state, what_if, m) + holding->units[m] +
                                    accounts_kept(accounts, tenant, m) >
                            state->capacity[m])
                        return false;
        }
        return true;
}

/* `none`: not even as spare work. */
static bool is_forbidden(const struct accounts *accounts, uint32_t tenant,
                         const struct holding *holding)
{
        for (uint64_t left = holding->models; left; left &= left - 1) {
                unsigned m = (unsigned)__builtin_ctzll(left);
                if (tenancy_limit(accounts->tenancy, (uint16_t)tenant, m) == AMOUNT_NONE)
                        return true;
        }
        return holding->all > 0 &&
               tenancy_limit(accounts->tenancy, (uint16_t)tenant, DIM_ANY) == AMOUNT_NONE;
}

static const struct service_class *class_at(const struct state *state, const struct claimant *who)
{
        return &state->accounts->tenancy->classes[who->class];
}

/* Nothing can stand against the tenant's work on any of these models, nor promise it anything. */
static bool is_plain(const struct state *state, const struct claimant *who, uint64_t models)
{
        const struct accounts *accounts = state->accounts;
        const struct tenant_brief *brief = &accounts->briefs[who->tenant];

        return !brief->special && !brief->limited_any && (brief->limited & models) == 0 &&
               accounts->kept_in_all == 0 &&
               (!who->spare || class_at(state, who)->stop != STOP_NEVER);
}

enum standing accounts_stand(const struct state *state, const struct what_if *what_if,
                             const struct claimant *who, const struct holding *holding,
                             struct promise *ret_promise, enum gate *ret_gate)
{
        const struct service_class *class = class_at(state, who);

        *ret_promise = (struct promise){0};
        *ret_gate = GATE_ORDER;
        if (holding->models && is_plain(state, who, holding->models))
                return who->spare ? STANDING_SPARE : STANDING_STANDARD;
        bool empty = accounts_budget_empty(state, who->tenant, holding->models, ON_EMPTY_DEMOTE);
        bool within = within_limits(state, what_if, who->tenant, holding);
        if (!who->spare && !empty && within) {
                if (may_draw(state, what_if, who->tenant, holding, ret_promise))
                        return STANDING_PROTECTED;
                return leaves_promises(state, what_if, who->tenant, holding) ? STANDING_STANDARD
                                                                            : STANDINGS_END;
        }
        bool may_be_spare = who->spare || class->above_limit == ABOVE_LIMIT_SPARE ||
                            (empty && within);
        if (class->stop == STOP_NEVER || !may_be_spare ||
            is_forbidden(state->accounts, who->tenant, holding)) {
                *ret_gate = !within ? GATE_LIMIT : empty ? GATE_BUDGET : GATE_ORDER;
                return STANDINGS_END;
        }
        return leaves_promises(state, what_if, who->tenant, holding) ? STANDING_SPARE
                                                                    : STANDINGS_END;
}

enum standing accounts_standing(const struct state *state, uint32_t number,
                                const struct holding *holding, struct promise *ret_promise)
{
        const struct claimant who = claimant_of(&state->buckets[number]);
        enum gate gate;

        return accounts_stand(state, NULL, &who, holding, ret_promise, &gate);
}

enum standing accounts_rise(const struct state *state, uint32_t number,
                            const struct holding *holding, struct promise *ret_promise)
{
        const struct bucket *bucket = &state->buckets[number];

        *ret_promise = (struct promise){0};
        if (bucket->spare || !within_limits(state, NULL, bucket->tenant, holding) ||
            accounts_budget_empty(state, bucket->tenant, holding->models, ON_EMPTY_DEMOTE))
                return STANDING_SPARE;
        return accounts_draw(state, bucket->tenant, holding, ret_promise) ? STANDING_PROTECTED
                                                                          : STANDING_STANDARD;
}

/* ---- budgets ---- */

static bool budget_counts(const struct budget *budget, uint64_t models)
{
        return budget->dimension == DIM_ANY || (models >> budget->dimension & 1);
}

bool accounts_budget_empty(const struct state *state, uint16_t tenant, uint64_t models,
                           enum on_empty on_empty)
{
        const struct accounts *accounts = state->accounts;

        for (uint32_t t = tenant; t != TENANT_NONE; t = tenant_at(accounts, t)->parent) {
                const struct tenant *it = tenant_at(accounts, t);
                for (unsigned b = 0; b < it->budgets_count; b++) {
                        unit_ms all = (unit_ms)it->budgets[b].device_ms * UNITS_DEVICE;
                        const struct budget_use *use =
                                &accounts->budgets[t * TENANT_BUDGETS_MAX + b];
                        if (it->budgets[b].on_empty == on_empty &&
                            budget_counts(&it->budgets[b], models) && use->used >= all)
                                return true;
                }
        }
        return false;
}

/* ---- before a place is known ---- */

bool accounts_too_many_run(const struct state *state, const struct what_if *what_if,
                           uint16_t tenant)
{
        const struct accounts *accounts = state->accounts;

        for (uint32_t t = tenant; t != TENANT_NONE; t = tenant_at(accounts, t)->parent) {
                uint64_t running = held_of(state, what_if, t, DIM_RUNNING);
                if (limit_forbids(limit_of(state, what_if, t, DIM_RUNNING), running, 1) ||
                    limit_forbids(limit_of(state, what_if, t, DIM_JOBS), running, 1))
                        return true;
        }
        return false;
}

uint16_t accounts_refuses_job(const struct state *state, uint16_t tenant)
{
        const struct accounts *accounts = state->accounts;

        if (accounts->tenancy->rules.over_jobs != OVER_JOBS_REFUSE)
                return TENANT_NONE;
        for (uint32_t t = tenant; t != TENANT_NONE; t = tenant_at(accounts, t)->parent)
                if (limit_forbids(tenant_at(accounts, t)->limit[DIM_JOBS],
                                  *account_held(accounts, t, DIM_JOBS), 1))
                        return (uint16_t)t;
        return TENANT_NONE;
}

/* Memory and slices of the smallest parts that it could get. */
static void hold_least(const struct state *state, const struct bucket *bucket, unsigned model,
                       struct holding *holding)
{
        const struct least *least = &state->least[(size_t)bucket->shape * MODELS_MAX + model];
        uint32_t parts = (uint32_t)bucket_devices(state, bucket);

        holding->memory_mib = (uint64_t)least->memory_mib * parts;
        if (least->method != METHOD_SLICE)
                return;
        int profile = accounts_profile(state->accounts->tenancy, model_get(state->models, model),
                                       least->profile);
        if (profile >= 0)
                holding->slices[profile] = parts;
}

static void admit_model(const struct state *state, uint32_t number, unsigned model,
                        uint64_t units, struct admission *admission)
{
        const struct bucket *bucket = &state->buckets[number];
        const struct need *need = &state->shapes[bucket->shape].need;
        const struct claimant who = claimant_of(bucket);
        struct holding holding;
        struct promise promise;
        enum gate gate;

        holding_clear(&holding);
        holding.models = units > 0 ? 1ull << model : 0;
        holding.units[model] = units;
        holding.all = units;
        if (units > 0)
                hold_least(state, bucket, model, &holding);
        else
                holding.cpu_milli = (uint64_t)need->cpu_milli * bucket->form.members;
        enum standing standing = accounts_stand(state, NULL, &who, &holding, &promise, &gate);
        uint64_t bits = units > 0 ? 1ull << model : UINT64_MAX;
        if (standing != STANDINGS_END) {
                admission->models[standing] |= bits;
                admission->gate = GATE_FIT;
                return;
        }
        /* A limit counts first, even where it would be spare above it if promises left room. */
        if (gate == GATE_ORDER && !within_limits(state, NULL, bucket->tenant, &holding))
                gate = GATE_LIMIT;
        if (gate == GATE_ORDER)
                admission->kept |= bits;
        if (admission->gate != GATE_FIT && (admission->gate == GATE_ALLOWED ||
                                            gate > admission->gate))
                admission->gate = gate;
}

void accounts_admit(const struct state *state, uint32_t number, struct admission *ret_admission)
{
        const struct bucket *bucket = &state->buckets[number];
        const struct shape *shape = &state->shapes[bucket->shape];
        const struct claimant who = claimant_of(bucket);
        uint64_t there = shape->models & state->capacity_models;

        *ret_admission = (struct admission){.gate = GATE_ALLOWED};
        if (accounts_too_many_run(state, NULL, bucket->tenant)) {
                ret_admission->gate = GATE_JOBS;
                return;
        }
        if (accounts_budget_empty(state, bucket->tenant, shape->models, ON_EMPTY_REFUSE)) {
                ret_admission->gate = GATE_BUDGET;
                return;
        }
        if (is_plain(state, &who, there) && shape->need.devices > 0) {
                ret_admission->models[bucket->spare ? STANDING_SPARE : STANDING_STANDARD] = there;
                ret_admission->gate = GATE_FIT;
                return;
        }
        if (shape->need.devices == 0) {
                admit_model(state, number, 0, 0, ret_admission);
                return;
        }
        for (uint64_t left = there; left; left &= left - 1) {
                unsigned m = (unsigned)__builtin_ctzll(left);
                admit_model(state, number, m,
                            (uint64_t)state->units[(size_t)bucket->shape * MODELS_MAX + m] *
                                    bucket->form.members,
                            ret_admission);
        }
        if (ret_admission->gate == GATE_ALLOWED)
                ret_admission->gate = GATE_FIT;         /* no such device is up just now */
}

/* ---- order ---- */

/* Only devices that are there count: of others everybody has borrowed nothing. */
struct share accounts_share(const struct state *state, uint32_t tenant, uint64_t models)
{
        const struct accounts *accounts = state->accounts;
        struct share least = {UINT64_MAX, 1};

        for (uint64_t left = models; left; left &= left - 1) {
                unsigned m = (unsigned)__builtin_ctzll(left);
                if (state->capacity[m] == 0)
                        continue;
                struct share share = {*account_held(accounts, tenant, m) -
                                              *account(accounts->within, tenant, m) +
                                              *account(accounts->spare, tenant, m),
                                      tenant_at(accounts, tenant)->weight_milli[m]};
                if (least.borrowed == UINT64_MAX || share_compare(share, least) < 0)
                        least = share;
        }
        return least.borrowed == UINT64_MAX ? (struct share){0, 1} : least;
}

/* The tenant's chain from its root down. */
static unsigned chain_of(const struct accounts *accounts, uint32_t tenant,
                         uint16_t chain[TENANT_DEPTH_MAX])
{
        unsigned depth = tenant_at(accounts, tenant)->depth;

        for (unsigned level = depth; level-- > 0; tenant = tenant_at(accounts, tenant)->parent)
                chain[level] = (uint16_t)tenant;
        return depth;
}

/* Level by level; who stands higher in the tree counts as having borrowed nothing below. */
int accounts_compare(const struct state *state, uint16_t a, uint64_t a_models, uint16_t b,
                     uint64_t b_models)
{
        const struct accounts *accounts = state->accounts;
        uint16_t x[TENANT_DEPTH_MAX], y[TENANT_DEPTH_MAX];

        if (a == b && a_models == b_models)
                return 0;
        unsigned deep_x = chain_of(accounts, a, x), deep_y = chain_of(accounts, b, y);
        for (unsigned level = 0; level < deep_x || level < deep_y; level++) {
                struct share none = {0, 1};
                int order = share_compare(
                        level < deep_x ? accounts_share(state, x[level], a_models) : none,
                        level < deep_y ? accounts_share(state, y[level], b_models) : none);
                if (order != 0)
                        return order;
        }
        return 0;
}
