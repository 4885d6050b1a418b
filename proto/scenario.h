/* scenario.h - the document `kind: Replay`: a pool, a workload, and what to compare.
 *
 * Decoding checks everything that can be checked without opening the files it
 * names; paths are resolved against the document's own folder. docs/replay.md
 * describes every key for users.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/model.h"
#include "engine/need.h"
#include "engine/policy.h"
#include "proto/job_column.h"

#define SCENARIO_PATH_MAX       1024
#define SCENARIO_PLACEMENTS_MAX 16
#define SCENARIO_POINTS_MAX     64
#define SCENARIO_MIX_MAX        64
#define SCENARIO_METHODS_MAX    4
#define SCENARIO_SEEDS_MAX      1000
#define SCENARIO_POLICIES_MAX   8
#define SCENARIO_COLUMN_MAX     64      /* bytes of a column's name, with the final NUL */
#define SCENARIO_ZONE_MAX       64
#define SCENARIO_ETA_MAX        1000000

enum pool_source { POOL_OPENB, POOL_UNIFORM };

struct scenario_pool {
        enum pool_source source;
        char openb_nodes[SCENARIO_PATH_MAX];    /* POOL_OPENB */
        /* POOL_UNIFORM: `nodes` equal nodes. */
        uint32_t nodes;
        uint8_t devices_per_node;
        uint8_t last_node_devices;              /* where it differs; 0: it does not (benches) */
        char model[MODEL_NAME_MAX];
        uint32_t cpu_milli, ram_mib;            /* of a node; where absent: as much as can be */
        /* Histories: what a device costs, in millionths an hour, and "EUR". 0, "" = not given. */
        uint64_t price_micro;
        char currency[4];
};

/* What a workload is made of. */
enum workload_source {
        WORKLOAD_OPENB,         /* a recorded pod list */
        WORKLOAD_MIX,           /* profile (or share, or whole) : weight */
        WORKLOAD_TASKS,         /* kinds of task, each served by the method under test */
        WORKLOAD_JOBS_CSV,      /* a history of jobs, from a table of any columns */
        WORKLOAD_SACCT,         /* the same, as Slurm's sacct writes it */
};

enum workload_arrivals {
        ARRIVALS_SHUFFLED,      /* facts of the FGD protocol: shuffle, inflate, nobody leaves */
        ARRIVALS_POISSON,       /* exponential gaps and lives */
        ARRIVALS_RECORDED,      /* as the history says; what does not fit waits */
};

struct scenario_mix {
        char name[PROFILE_NAME_MAX];            /* "1g.5gb", "whole", "share:250" */
        uint64_t weight_milli;                  /* thousandths, as written */
};

/* One kind of task: what it really needs, so that each method can serve it in its own way. */
struct scenario_task {
        char name[32];
        uint64_t weight_milli;
        uint16_t compute_milli;                 /* of one device */
        uint32_t memory_mib;
        uint32_t cpu_milli, ram_mib;            /* of its node; 0 where absent */
        uint8_t mixed;                          /* enum method: how `mixed` serves it */
};

/* How much longer work takes beside others on the same device: tenths of a per cent for each
 * neighbour, by method. Always 0 for whole. */
struct scenario_interference {
        uint16_t per_neighbour_permille[METHODS_END];
        bool given[METHODS_END];                /* the document says something of it */
        bool measured[METHODS_END];             /* false: assumed; the table says so */
        char source[METHODS_END][96];
};

/* What a history is read from, and what its jobs could do. */
struct scenario_history {
        char file[SCENARIO_PATH_MAX];
        char columns[JOB_COLUMNS_END][SCENARIO_COLUMN_MAX];     /* JOBS_CSV; "" = there is none */
        char timezone[SCENARIO_ZONE_MAX];       /* "UTC" where absent */
        bool has_from, has_until;
        int64_t from_ms, until_ms;              /* where absent: INT64_MIN, INT64_MAX */
        uint32_t tenants_at_least_jobs;         /* 0 = any */
        /* The limit of a job that recorded none: so many thousandths of its duration, drawn. */
        bool has_limit_factor;
        uint32_t limit_factor_milli[2];         /* least and most */
        bool has_checkpoint;
        int64_t checkpoint_every_ms, checkpoint_restart_ms;
        uint8_t checkpoint_share_pct;           /* of the jobs, drawn */
};

enum task_method { TASK_WHOLE, TASK_SLICE, TASK_SHARE, TASK_MIXED, TASK_METHODS_END };

struct scenario_workload {
        enum workload_source source;
        enum workload_arrivals arrivals;
        char openb_pods[SCENARIO_PATH_MAX];
        uint16_t arrive_pct;                    /* SHUFFLED: until so much was asked for */
        /* POISSON: offered load, 1000 = the whole pool. Measured in devices (openb), memory slices
         * (a mix of slices; else units), or units that tasks really need (tasks). */
        uint32_t load_milli;
        uint32_t mean_life;                     /* in steps of 1000 ms of virtual time */
        uint32_t warmup_lives, measure_lives;
        uint32_t mix_count;
        struct scenario_mix mix[SCENARIO_MIX_MAX];
        uint32_t tasks_count;
        struct scenario_task tasks[SCENARIO_MIX_MAX];
        struct scenario_interference interference;
        struct scenario_history history;        /* JOBS_CSV and SACCT */
};

/* Which queue rule a history is replayed with: a policy file, or a comparison known by name that
 * needs none and knows every duration. */
#define HISTORY_RULES(X)                                                                       \
        X(FIFO,          "fifo",          "by arrival; who does not fit holds all others up")  \
        X(FIFO_SKIP,     "fifo-skip",     "by arrival; who does not fit is passed")            \
        X(SHORTEST,      "shortest",      "shortest first; who does not fit holds all up")     \
        X(SHORTEST_SKIP, "shortest-skip", "shortest first; who does not fit is passed")        \
        X(DEFAULT,       "default",       "the policy that is shipped")

enum history_rule {
#define X(name, wire, help) RULE_##name,
        HISTORY_RULES(X)
#undef X
        RULE_FILE,
        RULES_END
};

struct scenario_policy {
        enum history_rule rule;
        char name[96];                          /* as the document writes it */
        char path[SCENARIO_PATH_MAX];           /* RULE_FILE */
};

/* What a policy is told of how long a job will run. */
#define HISTORY_DURATIONS(X)    \
        X(LEARNED, "learned")   /* what earlier jobs like it took */ \
        X(LIMIT,   "limit")     /* its limit */ \
        X(ORACLE,  "oracle")    /* how long it will run */

enum history_durations {
#define X(name, wire) DURATIONS_##name,
        HISTORY_DURATIONS(X)
#undef X
        DURATIONS_END
};

enum demand_source {
        DEMAND_SAME,            /* the workload's own popularity, as FGD has it */
        DEMAND_LEARNED,         /* arrivals so far */
        DEMAND_OPENB,           /* another list's: knowledge that may be false */
        DEMAND_NONE,            /* nothing is known: the default for mixes and tasks */
};

struct scenario {
        char file[SCENARIO_PATH_MAX];           /* the document */
        char name[96];
        struct scenario_pool pool;
        struct scenario_workload workload;
        enum demand_source demand;
        char demand_pods[SCENARIO_PATH_MAX];    /* DEMAND_OPENB */
        uint32_t placements_count;
        struct policy placements[SCENARIO_PLACEMENTS_MAX];
        bool consolidates[SCENARIO_PLACEMENTS_MAX];     /* by `consolidate`, not placements[i] */
        uint32_t policies_count;                /* histories only */
        struct scenario_policy policies[SCENARIO_POLICIES_MAX];
        enum history_durations durations;
        uint32_t eta_every;                     /* foretell every n-th start; 0: none */
        uint32_t methods_count;                 /* WORKLOAD_TASKS */
        enum task_method methods[SCENARIO_METHODS_MAX];
        uint64_t seed_first, seed_last;         /* both included */
        uint32_t points_count;
        uint16_t points_pct[SCENARIO_POINTS_MAX];       /* rising; SHUFFLED only */
};

const char *task_method_name(enum task_method method);
const char *history_rule_name(enum history_rule rule);          /* not of RULE_FILE */

/* The workload is a recorded history: its jobs wait, and policies are compared. */
bool scenario_is_history(const struct scenario *scenario);
/* Besides comparisons that need none, it names a policy. */
bool scenario_has_policy(const struct scenario *scenario);

/* Reads and checks the document at `path`; names of models and profiles against the built-in ones.
 * 0, or -ERR_IO, -ERR_NOT_FOUND, -ERR_INPUT, -ERR_RANGE, -ERR_NOMEM with file:line and the way out.
 * *ret_scenario is written only on success. */
int scenario_load(const char *path, struct scenario *ret_scenario, struct err *err);
/* The same from memory; `file` names it in errors, and its folder is what paths start from. */
int scenario_decode(const char *file, const char *text, size_t size,
                    struct scenario *ret_scenario, struct err *err);
/* The same two against a table of the caller's. */
struct doc;
int scenario_load_with(const char *path, const struct model_table *models,
                       struct scenario *ret_scenario, struct err *err);
int scenario_decode_doc(const char *file, const struct doc *doc, const struct model_table *models,
                        struct scenario *ret_scenario, struct err *err);

/* The smallest base profile (in units, then by its place in the model's list) that has the task's
 * compute and memory; -1: no profile holds it, it takes a whole device. */
int scenario_task_profile(const struct model *model, const struct scenario_task *task);

/* "auto,fgd,random:7" and "42..51" (or "42") as the command line gives them; they replace what the
 * document says. 0 or -ERR_INPUT, -ERR_NOT_FOUND, -ERR_RANGE; unchanged on failure. */
int scenario_parse_placements(const char *text, struct scenario *scenario, struct err *err);
int scenario_parse_seeds(const char *text, struct scenario *scenario, struct err *err);
