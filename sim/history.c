#include "sim/history.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/zone.h"
#include "sim/baseline.h"
#include "sim/ledger_book.h"
#include "sim/policy_run.h"
#include "sim/rng.h"
#include "sim/wait_watch.h"
#include "trace/jobs.h"
#include "trace/jobs_csv.h"
#include "trace/sacct.h"

enum { STREAM_LIMITS = 0x6c696d }; /* apart from what ties draw */

struct history {
        const struct scenario *scenario;
        const struct model_table *models;
        const struct replay_hooks *hooks;
        struct jobs jobs;
        struct job_window window;
        struct job_record *records;
        int64_t *limits_ms;
        struct history_result *result;
};

const char *history_gate_name(unsigned gate)
{
        return gate_name((enum gate)gate);
}

/* ---- the jobs ---- */

static int read_jobs(const struct scenario_workload *work, const struct zone *zone,
                     struct jobs *ret_jobs, struct sacct_notes *ret_notes, struct err *err)
{
        const struct scenario_history *spec = &work->history;
        struct jobs_filter filter = {.from_ms = spec->from_ms,
                                     .until_ms = spec->until_ms,
                                     .tenants_at_least_jobs = spec->tenants_at_least_jobs};
        struct sacct_options options = {.zone = zone};
        struct jobs_csv_layout layout = {.zone = zone};

        if (work->source == WORKLOAD_SACCT)
                return sacct_read(spec->file, &options, &filter, ret_jobs, ret_notes, err);
        for (unsigned c = 0; c < JOB_COLUMNS_END; c++)
                if (spec->columns[c][0])
                        layout.columns[c] = spec->columns[c];
        return jobs_csv_read(spec->file, &layout, &filter, ret_jobs, err);
}

/* From the scenario; else from the first submission to the last one. */
static struct job_window window_of(const struct scenario_history *spec, const struct jobs *jobs)
{
        struct job_window window = {spec->from_ms, spec->until_ms};

        if (!spec->has_from)
                window.from_ms = jobs->items[0].submit_ms;
        if (!spec->has_until)
                window.until_ms = jobs->items[jobs->count - 1].submit_ms + 1;
        return window;
}

static int load(struct history *history, struct err *err)
{
        const struct scenario_workload *work = &history->scenario->workload;
        const struct scenario_history *spec = &work->history;
        struct jobs *jobs = &history->jobs;
        struct history_result *result = history->result;
        struct zone *zone;
        int rc = zone_load(spec->timezone, &zone, err);

        if (rc < 0)
                return rc;
        rc = read_jobs(work, zone, jobs, &result->sacct, err);
        zone_free(zone);
        if (rc < 0)
                return rc;
        history->records = mem_new(jobs->count, sizeof *history->records);
        history->limits_ms = mem_new(jobs->count, sizeof *history->limits_ms);
        if (!history->records || !history->limits_ms)
                return err_set(err, ERR_NOMEM, "out of memory");
        history->window = window_of(spec, jobs);
        result->jobs_count = jobs->count;
        result->tenants_count = jobs->tenants_count;
        result->left_never_ran = jobs->left_never_ran;
        result->left_still_running = jobs->left_still_running;
        result->left_out_of_window = jobs->left_out_of_window;
        result->left_small_tenant = jobs->left_small_tenant;
        result->window = history->window;
        for (size_t j = 0; j < jobs->count; j++)
                result->parts_as_whole +=
                        jobs->items[j].profile[0] != '\0' || jobs->items[j].share_milli > 0;
        return 0;
}

/* ---- one seed ---- */

/* The recorded limit, or the duration times a factor drawn for that job. */
static void draw_limits(struct history *history, uint64_t seed)
{
        const struct scenario_history *spec = &history->scenario->workload.history;
        uint64_t least = spec->limit_factor_milli[0];
        uint64_t spread = spec->limit_factor_milli[1] - least;
        struct rng rng;

        rng_init_stream(&rng, seed, STREAM_LIMITS);
        for (size_t j = 0; j < history->jobs.count; j++) {
                const struct job *job = &history->jobs.items[j];
                /* Drawn for all, so that one job's limit says nothing of the others'. */
                uint64_t factor = least + rng_below(&rng, spread + 1);
                history->limits_ms[j] = job->limit_ms;
                if (spec->has_limit_factor && job->limit_ms == 0)
                        history->limits_ms[j] =
                                (int64_t)((uint64_t)job->duration_ms * factor / 1000);
        }
}

static int run_baseline(struct history *history, enum history_rule rule, uint64_t seed,
                        struct err *err)
{
        const struct scenario_pool *pool = &history->scenario->pool;
        struct baseline_setup setup = {.jobs = &history->jobs,
                                       .nodes = pool->nodes,
                                       .devices_per_node = pool->devices_per_node,
                                       .rule = rule,
                                       .seed = seed,
                                       .window = history->window,
                                       .hooks = history->hooks};

        return baseline_run(&setup, history->records, err);
}

/* A run of its own in the book, where one is kept. */
static int open_ledger(const struct history *history, const struct history_row *row, uint64_t seed,
                       struct ledger_book **ret_book, struct err *err)
{
        struct ledger_book *book = history->hooks ? history->hooks->ledger : NULL;

        *ret_book = book;
        if (!book)
                return 0;
        struct ledger_run *run = ledger_book_run(book);
        if (!run)
                return err_set(err, ERR_NOMEM, "out of memory");
        (void)str_copy(run->policy, sizeof run->policy,
                       history->scenario->policies[row->policy].name);
        if (!row->consolidates && row->placement.kind == POLICY_RANDOM)
                snprintf(run->placement, sizeof run->placement, "random:%" PRIu64,
                         row->placement.seed);
        else
                (void)str_copy(run->placement, sizeof run->placement,
                               row->consolidates ? "consolidate"
                                                 : policy_name(row->placement.kind));
        run->seed = seed;
        run->row = history->result->rows_count;
        return 0;
}

static int run_policy(struct history *history, const struct history_row *row, uint64_t seed,
                      struct history_figures *figures, struct err *err)
{
        struct policy_run_setup setup = {.scenario = history->scenario,
                                         .models = history->models,
                                         .jobs = &history->jobs,
                                         .limits_ms = history->limits_ms,
                                         .policy = &history->scenario->policies[row->policy],
                                         .consolidates = row->consolidates,
                                         .placement = row->placement,
                                         .seed = seed,
                                         .window = history->window,
                                         .hooks = history->hooks};
        int rc = open_ledger(history, row, seed, &setup.ledger, err);

        if (rc)
                return rc;
        for (uint32_t j = 0; j < history->jobs.count; j++)
                history->records[j] = (struct job_record){.job = j,
                                                          .first_start_ms = JOB_RECORD_NEVER,
                                                          .end_ms = JOB_RECORD_NEVER};
        rc = history_policy_run(&setup, history->records, figures, err);
        if (rc && setup.ledger)
                ledger_book_drop(setup.ledger);
        return rc;
}

static int one_seed(struct history *history, struct history_row *row, uint64_t seed,
                    struct err *err)
{
        const struct scenario_pool *pool = &history->scenario->pool;
        enum history_rule rule = history->scenario->policies[row->policy].rule;
        uint64_t devices = (uint64_t)pool->nodes * pool->devices_per_node;
        struct history_figures figures = {0};
        int rc;

        draw_limits(history, seed);
        if (rule <= RULE_SHORTEST_SKIP)
                rc = run_baseline(history, rule, seed, err);
        else
                rc = run_policy(history, row, seed, &figures, err);
        if (rc == 0)
                rc = history_figures_take(&figures, &history->jobs, history->records, devices,
                                          &history->window, err);
        if (rc == 0 && figures.has_promises)
                wait_watch_promises(&figures, &history->jobs, history->records);
        if (rc == 0)
                rc = history_figures_add(&row->figures, &figures, err);
        if (rc == 0)
                row->seeds++;
        history_figures_done(&figures);
        return rc;
}

/* ---- all of it ---- */

static int one_row(struct history *history, struct history_row row, struct err *err)
{
        const struct scenario *scenario = history->scenario;
        struct history_result *result = history->result;
        int rc = 0;

        for (uint64_t seed = scenario->seed_first; rc == 0 && seed <= scenario->seed_last; seed++)
                rc = one_seed(history, &row, seed, err);
        if (row.seeds > 0 && (rc == 0 || rc == -ERR_CANCELLED)) {
                history_figures_divide(&row.figures, row.seeds);
                result->rows[result->rows_count++] = row;
        } else {
                history_figures_done(&row.figures);
        }
        return rc;
}

static int all_rows(struct history *history, struct err *err)
{
        const struct scenario *scenario = history->scenario;
        int rc = 0;

        for (uint32_t p = 0; rc == 0 && p < scenario->policies_count; p++) {
                struct history_row row = {.policy = p, .consolidates = true};
                if (scenario->policies[p].rule <= RULE_SHORTEST_SKIP) {
                        rc = one_row(history, row, err);
                        continue;
                }
                for (uint32_t l = 0; rc == 0 && l < scenario->placements_count; l++) {
                        row.consolidates = scenario->consolidates[l];
                        row.placement = scenario->placements[l];
                        rc = one_row(history, row, err);
                }
        }
        return rc;
}

void history_result_done(struct history_result *result)
{
        if (!result)
                return;
        for (uint32_t r = 0; r < result->rows_count; r++)
                history_figures_done(&result->rows[r].figures);
        result->rows_count = 0;
}

int history_run_scenario(const struct scenario *scenario, const struct model_table *models,
                         const struct replay_hooks *hooks, struct history_result *ret_result,
                         struct err *err)
{
        assert(scenario_is_history(scenario));

        struct history history = {.scenario = scenario,
                                  .models = models,
                                  .hooks = hooks,
                                  .result = ret_result};
        int rc;

        memset(ret_result, 0, sizeof *ret_result);
        rc = load(&history, err);
        if (rc == 0)
                rc = all_rows(&history, err);
        jobs_done(&history.jobs);
        mem_free(history.records);
        mem_free(history.limits_ms);
        return rc;
}
