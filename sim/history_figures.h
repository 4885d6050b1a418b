/* history_figures.h - what a policy did to a history of jobs, in figures.
 *
 * Pure apart from the heap. Floating point is fine here: nothing of it is decided on.
 * wait = end - submit - duration, so it holds requeues, restarts and work that was lost; wide jobs
 * have HISTORY_WIDE devices or more in all, short ones run less than HISTORY_SHORT_MS. Percentiles
 * are by the nearest rank. A refused job counts in `refused` alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/fact.h"
#include "engine/tenancy.h"
#include "engine/units.h"
#include "sim/job_record.h"

struct err;
struct jobs;

#define HISTORY_WIDE       8
#define HISTORY_SHORT_MS   600000
#define HISTORY_LATE_MS    900000 /* a promise that is due for longer is broken */
#define HISTORY_LEDGER_MAX 24
#define HISTORY_BUCKET_MAX 32

/* The means: over seeds they are averaged. */
#define HISTORY_MEANS(X)                        \
        X(jobs)                                 \
        X(refused)                              \
        X(wait_mean_s)                          \
        X(wait_p50_s)                           \
        X(wait_p95_s)                           \
        X(wait_p99_s)                           \
        X(jct_mean_s)                           \
        X(wide_wait_mean_s)                     \
        X(short_wait_mean_s)                    \
        X(utilisation_pct)                      \
        X(preemptions)                          \
        X(lost_device_hours)    /* restarts too */\
        X(promises_made)                        \
        X(promises_broken)                      \
        X(eta_estimated_pct)                    \
        X(eta_p90_coverage_pct)                 \
        X(eta_median_relative_error)

#define HISTORY_TENANT_MEANS(X)                 \
        X(jobs)                                 \
        X(wait_mean_s)                          \
        X(wait_p95_s)                           \
        X(device_hours)                         \
        X(stops)                                \
        X(lost_device_hours)    /* restarts too */\
        X(promises_broken)

struct history_tenant {
        char name[TENANT_PATH_MAX];
#define X(name) double name;
        HISTORY_TENANT_MEANS(X)
#undef X
};

struct history_bucket {
        char name[HISTORY_BUCKET_MAX];
        unit_ms unit_ms; /* of all seeds together: it must add up exactly */
};

/* What a history names and its policy does not: how many, and the first of each. */
struct history_gap {
        uint32_t tenants, classes;
        char tenant[TENANT_PATH_MAX], class[TENANCY_WORD_MAX];
};

struct history_figures {
#define X(name) double name;
        HISTORY_MEANS(X)
#undef X
        double wait_max_s; /* over seeds the greatest, so too: */
        uint32_t max_stops_of_one_job;
        double waited_device_hours[GATES_END];
        uint32_t ledger_count;
        struct history_bucket ledger[HISTORY_LEDGER_MAX];
        uint32_t tenants_count;
        struct history_tenant *tenants; /* in the order of jobs.tenants */
        struct history_gap gap;
        /* What a comparison cannot know is absent. Whoever runs a policy sets these, and writes
         * promises, eta and the ledger himself. */
        bool has_promises, has_gates, has_ledger, has_eta;
};

void history_figures_done(struct history_figures *figures); /* a zeroed one is fine */

/* Everything that follows from jobs and their records; `devices` are the pool's. What `figures`
 * holds of promises, ledger and eta stays. 0 or -ERR_NOMEM. */
int history_figures_take(struct history_figures *figures, const struct jobs *jobs,
                         const struct job_record *records, uint64_t devices,
                         const struct job_window *window, struct err *err);

/* Adds one seed's figures to a sum (zeroed at first); then makes means of `seeds` of them.
 * history_figures_add: 0 or -ERR_NOMEM. */
int history_figures_add(struct history_figures *sum, const struct history_figures *one,
                        struct err *err);
void history_figures_divide(struct history_figures *sum, uint32_t seeds);
