/* log_what_if.h - a pool's own log under another policy: the same work, the same nodes, the same
 * clock; each job does what it did, from wherever it starts.
 *
 * Pure apart from the heap and the reading. What comes from outside (submissions, cancellations,
 * holds, nodes, freezes, windows, ticks) comes at its recorded time. What follows from running
 * (ends, failures, checkpoints, reports of use) comes at its recorded run time; a stop as long
 * after its notice as it did. An end that the log does not tell is guessed (log_guess.c). Left out:
 * foreign instances that nodes report, price plans, foretold starts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/tenancy.h"
#include "sim/history_figures.h"

struct err;
struct log_replay_setup;

/* One side of a tenant, or of all. Waits run from submission to the first start, or to the log's
 * end for work that had not started; refused and cancelled work that never started counts in none.
 */
struct log_side {
        uint32_t started, waiting, refused, stops;
        double wait_mean_s, wait_p95_s;
        double lost_device_hours;
};

struct log_change {
        char tenant[TENANT_PATH_MAX];
        uint32_t jobs;
        uint32_t earlier, later;        /* by more than LOG_ALIKE_MS; never counts as the end */
        struct log_side before, after;
};
#define LOG_ALIKE_MS INT64_C(1000)

/* A workload whose first start, refusal or end of waiting is another. */
struct log_job_change {
        uint64_t workload;
        uint32_t tenant;                /* place in tenants */
        int64_t submit_ms, before_ms, after_ms;         /* starts, or LOG_NEVER */
        bool was_refused, is_refused;
};

struct log_what_if {
        uint64_t from_seq, last_seq;    /* the snapshot it began at (0: the start); the log's end */
        int64_t from_ms, until_ms;
        uint32_t policies_left_out;     /* that the log set later */
        uint32_t never_ended;           /* jobs whose run time is not known to its end */
        uint32_t inputs_left_out;       /* that mean nothing in this world */
        struct history_gap gap;         /* what the policy does not name */
        uint32_t tenants_count;
        struct log_change *tenants;     /* by path */
        struct log_change all;          /* its tenant: "all" */
        uint32_t jobs_count;            /* that changed */
        struct log_job_change *jobs;    /* by number */
};

void log_what_if_done(struct log_what_if *what_if);     /* a zeroed one is fine */

/* `policy` is a file. 0; -ERR_CANCELLED (nothing to show yet); what policy_load() and
 * log_replay_check() return. */
int log_what_if_run(const struct log_replay_setup *setup, const char *policy,
                    struct log_what_if *ret_what_if, struct err *err);
