/* replay.h - runs a scenario through the engine in virtual time.
 *
 * One run per placement (and method, where a workload of tasks names some) and seed; where work
 * shares devices also a baseline, the same work on whole ones by the first placement;
 * results are put together per placement over the seeds. Every placement sees the
 * same arrivals and lives. Floating point is fine here: nothing of it is decided on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/scenario.h"

struct price_plan;
struct price_shape;
struct err;
struct eta_set;
struct memo;
struct request;
struct state;

#define PLAN_NOTE_MAX 192

struct replay_stat {
        double mean, sd;                /* sd: sample, over seeds; 0 for one seed */
};

struct replay_point {
        uint16_t arrived_pct;
        struct replay_stat unallocated_pct;
        struct replay_stat fragmented_pct;      /* of capacity, by the FGD measure */
        bool has_fragmented;                    /* false: no demand is known to measure it by */
};

struct replay_acceptance {
        struct replay_stat count_pct;
        struct replay_stat slices_pct;          /* by memory slices; where all work is slices */
        struct replay_stat units_pct;
        bool has_slices;
};

/* What sharing brought, against the same tasks on whole devices. */
struct replay_benefit {
        struct replay_stat done_per_life;       /* tasks finished per mean life */
        struct replay_stat over_whole_pct;      /* can be negative */
        struct replay_stat slowdown_pct;        /* by neighbours, mean over finished tasks */
};

struct replay_run {
        struct policy placement;
        bool is_baseline;                       /* not as asked, but on whole devices */
        uint32_t seeds;                         /* that were finished */
        bool has_method;
        enum task_method method;
        uint32_t points_count;
        struct replay_point points[SCENARIO_POINTS_MAX];
        struct replay_acceptance acceptance;
        bool has_benefit;
        struct replay_benefit benefit;
        uint64_t accepted, refused;             /* over all seeds */
        double decisions_per_s; /* accepted placements per second of decide + apply */
        double decide_p50_us, decide_p99_us;    /* one submission: decide + apply, all its steps */
        double plan_s; /* making of plans in all seeds, apart from decisions */
        bool plan_priced;                       /* the last plan's self-check promised a gain */
        char plan_note[PLAN_NOTE_MAX];          /* what the plan's maker says of it; "" = no plan */
        double peak_rss_mib;
        uint64_t facts_hash;                    /* chain over all facts of all seeds */
};

struct replay_result {
        uint32_t pods_without_model;            /* of the list: ask only for models no node has */
        uint32_t runs_count;
        struct replay_run runs[SCENARIO_PLACEMENTS_MAX * SCENARIO_METHODS_MAX + 1];
};

struct ledger_book;
struct replay_pool;

/* The plan maker comes from above (plan/ stands on sim/): fills *ret_plan for a demand on the pool.
 */
typedef int replay_plan_make(void *arg, const struct replay_pool *pool,
                             const struct price_shape *demand, uint32_t demand_count,
                             struct price_plan *ret_plan, char *ret_note, size_t note_size,
                             struct err *err);

/* A look at a history's pool on the way: once, in the first run of a policy, when all that happens
 * up to `at_ms` has happened. The replay ends with it: -ERR_CANCELLED and `seen`, or what `look`
 * returns. */
struct replay_look {
        int64_t at_ms;
        int (*look)(void *arg, const struct state *state, struct memo *memo, int64_t now_ms,
                    struct err *err);
        void *arg;
        bool seen;
};

/* Who foretells, in a history run by a policy, when jobs start: from above too (plan/eta.h). Asked
 * for every n-th job that does not start when it comes; the answer enters as the input ETA_SET. All
 * return 0 or a negative code. */
struct replay_eta {
        uint32_t every;                 /* 1: all */
        void *arg;
        int (*begin)(void *arg, const struct state *state, int64_t tick_ms, int64_t restart_ms,
                     uint64_t seed, struct err *err);   /* a run; forget the last one */
        int (*arrived)(void *arg, const struct request *request, int64_t now_ms, struct err *err);
        int (*ask)(void *arg, struct policy placement, int64_t now_ms, uint64_t workload,
                   struct eta_set *ret_answer, struct err *err);
        void (*started)(void *arg, uint64_t workload, int64_t now_ms);  /* also of others */
};

struct replay_hooks {
        replay_plan_make *make_plan;            /* NULL: `auto` goes without prices */
        void *plan_arg;
        /* Called now and then: `done` of `total` steps of what is named. NULL: nobody watches. */
        void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
        void *progress_arg;
        const volatile int *cancel;             /* non-zero: stop soon; NULL: never */
        struct ledger_book *ledger;             /* of histories, days and facts; NULL: not kept */
        struct replay_look *look;               /* NULL: nobody looks */
        const struct replay_eta *eta;           /* NULL: nobody foretells */
};

/* 0; -ERR_CANCELLED; -ERR_IO / -ERR_INPUT for files it reads (file:line in the sentence);
 * -ERR_NOMEM. *ret_result is written on success, and on cancel with what was finished: the last run
 * may hold fewer seeds. */
int replay_run_scenario(const struct scenario *scenario, const struct model_table *models,
                        const struct replay_hooks *hooks, struct replay_result *ret_result,
                        struct err *err);
