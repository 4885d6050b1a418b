/* history.h - a recorded history replayed with each policy, placement and seed of a scenario.
 *
 * Every policy meets the same jobs; where a seed draws limits, the same ones. The comparisons that
 * need no policy file (baseline.h) place by consolidation only, and so have one row each.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proto/scenario.h"
#include "sim/history_figures.h"
#include "sim/replay.h"
#include "trace/sacct.h"

struct err;
struct model_table;

#define HISTORY_ROWS_MAX (SCENARIO_POLICIES_MAX * SCENARIO_PLACEMENTS_MAX)

struct history_row {
        uint32_t policy; /* in scenario.policies */
        bool consolidates;
        struct policy placement;        /* where it does not consolidate */
        uint32_t seeds;                 /* that were finished */
        struct history_figures figures; /* means over them */
};

struct history_result {
        size_t jobs_count, tenants_count;
        uint32_t left_never_ran, left_still_running, left_out_of_window, left_small_tenant;
        struct sacct_notes sacct; /* of the whole file; zeroed where it is a table */
        uint32_t parts_as_whole;  /* jobs that had slices or shares: here they hold whole devices */
        struct job_window window; /* what utilisation is measured over */
        uint32_t rows_count;
        struct history_row rows[HISTORY_ROWS_MAX];
};

void history_result_done(struct history_result *result); /* a zeroed one is fine */

/* The scenario must be a history. 0; -ERR_CANCELLED; -ERR_IO / -ERR_INPUT for files it reads
 * (file:line in the sentence); -ERR_NOMEM. *ret_result is written on success, and on cancel with
 * what was finished: the last row may hold fewer seeds. Freed with history_result_done() in any
 * case. */
int history_run_scenario(const struct scenario *scenario, const struct model_table *models,
                         const struct replay_hooks *hooks, struct history_result *ret_result,
                         struct err *err);

/* "ORDER", by place in history_figures.waited_device_hours. */
const char *history_gate_name(unsigned gate);
#define HISTORY_GATES GATES_END
