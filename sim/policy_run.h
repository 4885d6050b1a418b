/* policy_run.h - a history replayed through the engine, by a policy. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/policy.h"
#include "proto/scenario.h"
#include "sim/history_figures.h"
#include "sim/job_record.h"
#include "sim/replay.h"

struct err;
struct jobs;
struct ledger_book;
struct model_table;

struct policy_run_setup {
        const struct scenario *scenario;
        const struct model_table *models;
        const struct jobs *jobs;
        const int64_t *limits_ms;             /* by job, this seed's; 0 = none */
        const struct scenario_policy *policy; /* DEFAULT or FILE */
        bool consolidates;
        struct policy placement; /* where it does not consolidate */
        uint64_t seed;
        struct job_window window;
        const struct replay_hooks *hooks; /* may be NULL */
        struct ledger_book *ledger;       /* its newest run is this one; may be NULL */
};

/* Writes a record for each job (they come zeroed, with times of JOB_RECORD_NEVER), and of
 * `ret_figures` (zeroed) what only the policy's run knows: promises, eta, the ledger and the four
 * has_ marks. 0; -ERR_CANCELLED; -ERR_INPUT and others for the policy file, file:line in the
 * sentence; -ERR_NOMEM. */
int history_policy_run(const struct policy_run_setup *setup, struct job_record *ret_records,
                       struct history_figures *ret_figures, struct err *err);
