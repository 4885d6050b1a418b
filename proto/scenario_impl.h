/* scenario_impl.h - shared by scenario.c (the document), scenario_work.c and
 * scenario_jobs.c (its workload), and scenario_price.c. */
#pragma once

#include "proto/scenario.h"

struct doc_node;
struct err;
struct model;

/* By enum task_method; the first ones are those of enum method too. */
extern const char *const scenario_method_names[TASK_METHODS_END];
_Static_assert((int)TASK_WHOLE == METHOD_WHOLE && (int)TASK_SLICE == METHOD_SLICE &&
               (int)TASK_SHARE == METHOD_SHARE, "one list of names");

/* Of `workload`, where it is a history. */
#define HISTORY_KEYS                                                                              \
        "jobs_csv", "sacct", "columns", "timezone", "from", "until", "tenants_at_least_jobs",     \
                "limit_factor", "checkpoint"

struct reader {
        const struct model *model;      /* of the pool, where all devices are alike; else NULL */
        struct scenario *scenario;      /* under construction */
};

/* A path as the document means it, from its own folder. An absent node leaves the buffer alone. */
int scenario_read_path(const struct reader *reader, const struct doc_node *node,
                       char ret_path[SCENARIO_PATH_MAX], struct err *err);

/* Refuses the first of these keys that is there, with the same sentence for all. */
int scenario_refuse_keys(const struct doc_node *map, const char *const *keys, size_t count,
                         const char *sentence, struct err *err);

/* The fields `workload` and, where it is made of tasks, `methods` of the document. */
int scenario_read_workload(const struct reader *reader, const struct doc_node *root,
                           struct err *err);

/* scenario_jobs.c: `workload` where it is a history, and the root's `policies`, `durations`
 * and `eta`. */
int scenario_read_jobs(const struct reader *reader, const struct doc_node *map,
                       const struct doc_node *source, struct err *err);
/* scenario_price.c: `prices` and `currency` of `pool`, with a history. */
struct model_table;
int scenario_read_prices(const struct reader *reader, const struct model_table *models,
                         const struct doc_node *root, struct err *err);
int scenario_read_policies(const struct reader *reader, const struct doc_node *root,
                           struct err *err);
