/* accounts.h - what tenants hold, against what they are promised and allowed.
 *
 * Pure. Made for one policy (tenancy.h) before it comes into force, so that bringing it into force
 * cannot fail; from then on the state owns the accounts, and only state_apply() changes them. The
 * tenancy is borrowed and must outlive them.
 *
 * A promise is a set of disjoint pots: what a tenant is promised and has not passed on to tenants
 * below it. A tenant without a promise of its own draws on the pot of the nearest one above it that
 * has one. Work is protected when all it holds lies in one pot.
 * Sums of a tenant count all tenants below it. Units: units.h, thousandths of cores, MiB.
 */
#pragma once

#include "engine/isolate.h"
#include "engine/run_times.h"
#include "engine/tenancy.h"
#include "engine/units.h"

struct what_if;

struct budget_use {
        int64_t from_ms, until_ms;      /* the period that `used` counts; empty: none yet */
        unit_ms used;
};

/* Whether who holds so much may not hold more of what the limit is for. */
static inline bool limit_forbids(uint64_t limit, uint64_t held, uint64_t more)
{
        return limit == AMOUNT_NONE ||
               (more > 0 && amount_is_number(limit) && held + more > limit);
}

/* What holds for a tenant by itself or by one above it, so that most questions end here. */
struct tenant_brief {
        uint64_t limited;               /* bit = model with a limit */
        bool limited_any;               /* all models together */
        bool special;                   /* other limits on what is held, promises, budgets */
        bool budgets;
};

struct accounts {
        const struct tenancy *tenancy;
        uint32_t tenants;
        uint64_t *held;                 /* [tenant][DIMENSIONS_END]: protected and standard */
        uint64_t *spare;                /* [tenant][DEVICE_DIMENSIONS] */
        uint64_t *within;               /* [tenant][DEVICE_DIMENSIONS]: protected */
        uint64_t *pot;                  /* [tenant][DEVICE_DIMENSIONS]: its own pot */
        uint64_t *drawn;                /* [tenant][DEVICE_DIMENSIONS]: of that pot */
        uint16_t *pot_of;               /* [tenant][DEVICE_DIMENSIONS]: whose, or TENANT_NONE */
        uint64_t *reserved;             /* [tenant][DEVICE_DIMENSIONS]: by open reservations */
        uint64_t *reserved_keep;        /* ... of it with `unused: keep` */
        uint64_t kept[DEVICE_DIMENSIONS];       /* unused promises that are not lent */
        uint64_t kept_in_all;                   /* their sum: mostly 0 */
        uint16_t *root;                 /* [tenant] */
        struct tenant_brief *briefs;    /* [tenant] */
        uint32_t *first, *last;         /* [root]: running workloads, in order of admission */
        uint32_t *standard;             /* [root]: of them standard ones */
        uint32_t *demoted;              /* [root]: of them those that are spare for idleness */
        /* Running workloads by class and standing. */
        uint32_t running[CLASSES_MAX * STANDINGS_END];
        bool *dirty;                    /* [root]: running work may rise */
        uint32_t dirty_count;
        uint64_t *versions;             /* [root]: grows when what its tenants hold, or have
                                         * waiting, changes; for memos */
        struct budget_use *budgets;     /* [tenant][TENANT_BUDGETS_MAX] */
        int64_t *counted_ms;            /* [tenant]: up to when its budgets are counted */
        int64_t at_ms;                  /* of the fact that is being applied */
        bool opened;                    /* others may start: a budget is full again, or what was
                                         * kept of any model, or all of one, is drawn */
        struct run_times *times;
        struct isolation isolation;
        /* What has been stopped for capacity, for rules.stop_rate. */
        int64_t stopped_from_ms;
        uint64_t stopped_units;
};

/* Its tables and their lengths: for copies and snapshots. */
#define ACCOUNTS_TABLES(X, tenants) \
        X(held, (size_t)(tenants)*DIMENSIONS_END) \
        X(spare, (size_t)(tenants)*DEVICE_DIMENSIONS) \
        X(within, (size_t)(tenants)*DEVICE_DIMENSIONS) \
        X(pot, (size_t)(tenants)*DEVICE_DIMENSIONS) \
        X(drawn, (size_t)(tenants)*DEVICE_DIMENSIONS) \
        X(pot_of, (size_t)(tenants)*DEVICE_DIMENSIONS) \
        X(reserved, (size_t)(tenants)*DEVICE_DIMENSIONS) \
        X(reserved_keep, (size_t)(tenants)*DEVICE_DIMENSIONS) \
        X(root, (tenants)) \
        X(briefs, (tenants)) \
        X(first, (tenants)) \
        X(last, (tenants)) \
        X(standard, (tenants)) \
        X(demoted, (tenants)) \
        X(dirty, (tenants)) \
        X(budgets, (size_t)(tenants)*TENANT_BUDGETS_MAX) \
        X(counted_ms, (tenants))

/* NULL with err: out of memory. */
struct accounts *accounts_new(const struct tenancy *tenancy, struct err *err);
void accounts_free(struct accounts *accounts);          /* NULL is fine */

static inline uint64_t *account(uint64_t *table, uint32_t tenant, unsigned dimension)
{
        return table + (size_t)tenant * DEVICE_DIMENSIONS + dimension;
}

static inline uint32_t accounts_running(const struct accounts *accounts, unsigned class,
                                        enum standing standing)
{
        return accounts->running[class * STANDINGS_END + standing];
}

static inline uint64_t *account_held(const struct accounts *accounts, uint32_t tenant,
                                     unsigned dimension)
{
        return accounts->held + (size_t)tenant * DIMENSIONS_END + dimension;
}

/* ---- questions; none changes anything ---- */

/* How work of a bucket could start now: as what on which device models. */
struct admission {
        uint64_t models[STANDINGS_END]; /* by standing; each model in the best only. Work without
                                         * device: all ones in one of them */
        uint64_t kept;                  /* models where the rest is kept for others' promises */
        enum gate gate;                 /* why no model is left; FIT where one is */
};

void accounts_admit(const struct state *state, uint32_t bucket, struct admission *ret_admission);

/* Whether a device-hour budget of the tenant, or of one above it, is used up and says so. */
bool accounts_budget_empty(const struct state *state, uint16_t tenant, uint64_t models,
                           enum on_empty on_empty);

/* Whether the tenant, or one above it, runs as many workloads as it may. */
bool accounts_too_many_run(const struct state *state, const struct what_if *what_if,
                           uint16_t tenant);

/* The tenant, or one above it, because of whose jobs the rules refuse one more at submission;
 * TENANT_NONE. */
uint16_t accounts_refuses_job(const struct state *state, uint16_t tenant);

/* What somebody holds, or would. */
struct holding {
        uint64_t models;                /* bit = model of which it holds units */
        uint64_t units[MODELS_MAX];     /* only where the bit is set */
        uint64_t all;                   /* sum */
        uint64_t cpu_milli;             /* of work without device */
        uint64_t memory_mib;
        uint32_t slices[SLICE_LIMITS_MAX];
};

/* Who asks: waiting work, or a request that is not queued. */
struct claimant {
        uint16_t tenant, class;
        bool spare;
};

static inline struct claimant claimant_of(const struct bucket *bucket)
{
        return (struct claimant){bucket->tenant, bucket->class, bucket->spare};
}

/* Nothing; units of single models are told by their bits, and stay as they are. */
void holding_clear(struct holding *holding);
/* Of one dimension; 0 where nothing is held by the amount. */
uint64_t holding_amount(const struct holding *holding, unsigned dimension);

/* The standing that work of the bucket takes when it holds this, and the promise it draws on;
 * STANDINGS_END: a limit, an empty budget or others' promises forbid it. */
enum standing accounts_standing(const struct state *state, uint32_t bucket,
                                const struct holding *holding, struct promise *ret_promise);
/* ... of whoever asks, and where it is STANDINGS_END what stands in the way: LIMIT, BUDGET, ORDER.
 * `what_if`: see what_if.h; NULL: of the state as it is. */
enum standing accounts_stand(const struct state *state, const struct what_if *what_if,
                             const struct claimant *who, const struct holding *holding,
                             struct promise *ret_promise, enum gate *ret_gate);
/* The same of running work that is spare and holds this already: no limit and no promise stands
 * against what it holds, only against counting it. */
enum standing accounts_rise(const struct state *state, uint32_t bucket,
                            const struct holding *holding, struct promise *ret_promise);
void holding_add(const struct state *state, uint32_t node, const struct need *need,
                 const struct part *parts, unsigned count, struct holding *holding);

/* Where the policy counts slices of that profile; -1: it does not. */
int accounts_profile(const struct tenancy *tenancy, const struct model *model, unsigned profile);

/* What the workload holds. */
void holding_of(const struct state *state, uint32_t slot, struct holding *ret_holding);

/* Whether one promise has room for all of it, and which. */
bool accounts_draw(const struct state *state, uint16_t tenant, const struct holding *holding,
                   struct promise *ret_promise);

/* Whether a start of the tenant's may let others start: by drawing on what is kept, or as a new
 * period of a budget is found to have begun. */
bool accounts_start_opens(const struct accounts *accounts, uint16_t tenant);

/* What a tenant borrowed of one model, against its weight there. */
struct share {
        uint64_t borrowed, weight;
};

static inline int share_compare(struct share a, struct share b)
{
        uint64_t x = a.borrowed * b.weight, y = b.borrowed * a.weight;

        return (x > y) - (x < y);
}

/* Of the model where that is least. */
struct share accounts_share(const struct state *state, uint32_t tenant, uint64_t models);
/* borrowed / weight of the tenants in the order of the tree, level by level: below 0, 0 or above 0
 * as `a` borrowed less, as much, or more. `models`: as the work of each could use; the model on
 * which it borrowed least counts. */
int accounts_compare(const struct state *state, uint16_t a, uint64_t a_models, uint16_t b,
                     uint64_t b_models);

/* Of the tenant's own pot: what is not used, and not lent. */
uint64_t accounts_unlent(const struct accounts *accounts, uint32_t tenant, unsigned dimension);
/* Units of the model that are kept for promises of others. */
uint64_t accounts_kept(const struct accounts *accounts, uint16_t tenant, unsigned model);

/* ---- changes; for state_apply() only ---- */

void accounts_start(struct state *state, uint32_t slot, enum standing standing,
                    struct promise promise);
/* What a placed member holds; `sign` 1 or -1. */
void accounts_member(struct state *state, uint32_t member, int sign);
void accounts_end(struct state *state, uint32_t slot);
void accounts_standing_set(struct state *state, uint32_t slot, enum standing standing,
                           struct promise promise);
void accounts_queued(struct state *state, uint32_t slot, int sign);
/* It was told to stop, and may stay, or is used again: it may rise again. */
void accounts_stays(struct state *state, uint32_t slot);
/* Counts budgets up to this time. */
void accounts_time(struct state *state, int64_t now_ms);
/* Takes the place of the accounts that were in force: tenants and classes are found again by their
 * names (decide() has checked that all are there), what is held is counted anew, run times and
 * budgets of tenants that stay are kept. */
void accounts_adopt(struct state *state, struct accounts *accounts);

/* Every sum against what running work holds. Asserts; part of state_check(). */
void accounts_check(const struct state *state);
