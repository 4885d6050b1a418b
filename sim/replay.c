#include "sim/replay.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "engine/price.h"
#include "sim/mix.h"
#include "sim/methods.h"
#include "sim/shuffled.h"

/* ---- figures over seeds ---- */

/* Mean and sample deviation as they come (Welford). */
struct tally {
        uint32_t count;
        double mean, squares;
};

static void tally_add(struct tally *tally, double value)
{
        double off = value - tally->mean;

        tally->count++;
        tally->mean += off / tally->count;
        tally->squares += off * (value - tally->mean);
}

static struct replay_stat tally_stat(const struct tally *tally)
{
        return (struct replay_stat){
                .mean = tally->mean,
                .sd = tally->count > 1 ? sqrt(tally->squares / (tally->count - 1)) : 0};
}

/* Everything of one row of the result while its seeds run. */
struct row {
        struct tally unallocated[SCENARIO_POINTS_MAX], fragmented[SCENARIO_POINTS_MAX];
        struct tally count, slices, units, speed, p50, p99;
        struct tally done, over_whole, slowdown;
};

static void row_finish(const struct row *row, const struct scenario *scenario,
                       struct replay_run *run)
{
        run->points_count = scenario->workload.arrivals == ARRIVALS_SHUFFLED
                                    ? scenario->points_count
                                    : 0;
        for (uint32_t p = 0; p < run->points_count; p++) {
                struct replay_point *point = &run->points[p];
                point->arrived_pct = scenario->points_pct[p];
                point->unallocated_pct = tally_stat(&row->unallocated[p]);
                point->fragmented_pct = tally_stat(&row->fragmented[p]);
                point->has_fragmented = row->fragmented[p].count > 0;
        }
        run->seeds = row->count.count;
        run->acceptance.count_pct = tally_stat(&row->count);
        run->acceptance.slices_pct = tally_stat(&row->slices);
        run->acceptance.has_slices = row->slices.count > 0;
        run->acceptance.units_pct = tally_stat(&row->units);
        run->decisions_per_s = row->speed.mean;
        run->decide_p50_us = row->p50.mean;
        run->decide_p99_us = row->p99.mean;
        run->benefit.done_per_life = tally_stat(&row->done);
        run->benefit.over_whole_pct = tally_stat(&row->over_whole);
        run->benefit.slowdown_pct = tally_stat(&row->slowdown);
        run->peak_rss_mib = (double)time_peak_rss_mib();
}

static void add_summary(struct replay_run *run, const struct runner_summary *summary)
{
        run->facts_hash = run->facts_hash * 31 + summary->facts_hash;
        run->plan_s += summary->plan_s;
        run->plan_priced = summary->plan_priced;
        memcpy(run->plan_note, summary->plan_note, sizeof run->plan_note);
}

/* ---- the whole scenario ---- */

struct replay {
        const struct scenario *scenario;
        const struct model_table *models;
        const struct replay_hooks *hooks;
        struct replay_pool pool;
        struct replay_pods pods;
        struct mix mix;
        struct demand *given, *own;     /* what is known; what comes */
        struct replay_result *result;
};

static int load(struct replay *replay, struct err *err)
{
        const struct scenario *scenario = replay->scenario;
        const char *pods = scenario->workload.openb_pods;
        struct replay_pods other = {0};
        int rc = replay_pool_load(&scenario->pool, replay->models, pods, &replay->pool, err);

        replay->own = mem_new(1, sizeof *replay->own);
        replay->given = mem_new(1, sizeof *replay->given);
        if (rc == 0 && (!replay->own || !replay->given))
                rc = err_set(err, ERR_NOMEM, "out of memory");
        if (rc == 0 && scenario->workload.source == WORKLOAD_OPENB)
                rc = replay_pods_load(pods, &replay->pool, &replay->pods, err);
        if (rc)
                return rc;
        /* They stand in the order of their devices. */
        if (replay->pods.count > 0 && replay->pods.needs[replay->pods.count - 1].devices == 0)
                return err_set(err, ERR_INPUT,
                               "%s: no pod asks for a device; use a list with GPU pods", pods);
        demand_of(replay->pods.needs, replay->pods.count, replay->own);
        for (uint32_t p = 0; p < replay->pods.count; p++)
                replay->result->pods_without_model += need_has_no_model(&replay->pods.needs[p]);
        if (scenario->demand == DEMAND_SAME)
                *replay->given = *replay->own;
        if (scenario->demand == DEMAND_OPENB) {
                rc = replay_pods_load(scenario->demand_pods, &replay->pool, &other, err);
                if (rc)
                        return rc;
                demand_of(other.needs, other.count, replay->given);
                replay_pods_done(&other);
        }
        return 0;
}

static const struct demand *given_of(const struct replay *replay)
{
        return replay->given->count > 0 ? replay->given : NULL;
}

static int shuffled_seed(struct replay *replay, uint64_t seed, struct row *row,
                         struct replay_run *run, struct err *err)
{
        const struct scenario *scenario = replay->scenario;
        struct shuffled_setup setup = {.pool = &replay->pool,
                                       .copies = 1,
                                       .pods = &replay->pods,
                                       .given = given_of(replay),
                                       .learns = scenario->demand != DEMAND_NONE,
                                       .measure = replay->own,
                                       .whole = run->is_baseline,
                                       .arrive_pct = scenario->workload.arrive_pct,
                                       .points_count = scenario->points_count,
                                       .points_pct = scenario->points_pct,
                                       .hooks = replay->hooks};
        struct shuffled_figures figures;
        int rc = shuffled_run(&setup, run->placement, seed, &figures, err);

        if (rc)
                return rc;
        for (uint32_t p = 0; p < scenario->points_count; p++) {
                tally_add(&row->unallocated[p], figures.unallocated_pct[p]);
                tally_add(&row->fragmented[p], figures.fragmented_pct[p]);
        }
        tally_add(&row->count, figures.count_pct);
        tally_add(&row->units, figures.units_pct);
        tally_add(&row->speed, figures.placements_per_s);
        tally_add(&row->p50, figures.p50_us);
        tally_add(&row->p99, figures.p99_us);
        run->accepted += figures.accepted;
        run->refused += figures.refused;
        add_summary(run, &figures.summary);
        return 0;
}

static int poisson_seed(struct replay *replay, uint64_t seed, struct row *row,
                        struct replay_run *run, struct err *err)
{
        struct poisson_figures *figures = mem_new(1, sizeof *figures);
        struct poisson_setup setup;
        int rc = figures ? mix_setup(&replay->mix, replay->scenario, &replay->pool, &replay->pods,
                                     given_of(replay), replay->hooks, &setup, err)
                         : err_set(err, ERR_NOMEM, "out of memory");

        setup.whole = run->is_baseline;
        if (rc == 0)
                rc = poisson_run(&setup, run->placement, seed, figures, err);
        if (rc == 0) {
                tally_add(&row->count, figures->count_pct);
                if (replay->mix.all_slices)
                        tally_add(&row->slices, figures->size_pct);
                tally_add(&row->units, figures->units_pct);
                tally_add(&row->speed, figures->placements_per_s);
                tally_add(&row->p50, figures->p50_us);
                tally_add(&row->p99, figures->p99_us);
                run->accepted += figures->accepted;
                run->refused += figures->refused;
                add_summary(run, &figures->summary);
        }
        mem_free(figures);
        return rc;
}

static int methods_seed(struct replay *replay, uint64_t seed, struct row *row,
                        struct replay_run *run, struct err *err)
{
        const volatile int *cancel = replay->hooks ? replay->hooks->cancel : NULL;
        struct methods_figures figures, whole;
        int rc = methods_run(replay->scenario, replay->models, run->placement, run->method, seed,
                             &figures, cancel, err);

        /* The baseline once more for each method: cheap, and it needs no memory of other rows. */
        if (rc == 0)
                rc = methods_run(replay->scenario, replay->models, run->placement, TASK_WHOLE,
                                 seed, &whole, cancel, err);
        if (rc)
                return rc;
        tally_add(&row->count, figures.count_pct);
        tally_add(&row->units, figures.units_pct);
        tally_add(&row->done, figures.done_per_life);
        tally_add(&row->over_whole, methods_over_whole_pct(&whole, &figures));
        tally_add(&row->slowdown, figures.slowdown_pct);
        if (figures.decide_s > 0)
                tally_add(&row->speed, (double)figures.decided / figures.decide_s);
        tally_add(&row->p50, figures.decide_p50_us);
        tally_add(&row->p99, figures.decide_p99_us);
        run->accepted += figures.accepted;
        run->refused += figures.refused;
        run->facts_hash = run->facts_hash * 31 + figures.facts_hash;
        run->has_benefit = true;
        return 0;
}

static int one_seed(struct replay *replay, uint64_t seed, struct row *row, struct replay_run *run,
                    struct err *err)
{
        if (replay->scenario->workload.source == WORKLOAD_TASKS)
                return methods_seed(replay, seed, row, run, err);
        if (replay->scenario->workload.arrivals == ARRIVALS_POISSON)
                return poisson_seed(replay, seed, row, run, err);
        return shuffled_seed(replay, seed, row, run, err);
}

/* Adds the run to the result; a cancelled one too when some of its seeds are through. */
static int one_row(struct replay *replay, struct replay_run run, struct err *err)
{
        const struct scenario *scenario = replay->scenario;
        struct row row = {0};
        int rc = 0;

        for (uint64_t seed = scenario->seed_first; rc == 0 && seed <= scenario->seed_last; seed++)
                rc = one_seed(replay, seed, &row, &run, err);
        if (rc == 0 || (rc == -ERR_CANCELLED && row.count.count > 0)) {
                row_finish(&row, scenario, &run);
                replay->result->runs[replay->result->runs_count++] = run;
        }
        return rc;
}

static bool shares_devices(const struct replay *replay)
{
        const struct scenario_workload *work = &replay->scenario->workload;

        for (uint32_t m = 0; m < work->mix_count; m++)
                if (!str_equal(work->mix[m].name, "whole"))
                        return true;
        for (uint32_t p = 0; p < replay->pods.count; p++)
                if (replay->pods.needs[p].ask == ASK_SHARE)
                        return true;
        return false;
}

static int all_rows(struct replay *replay, struct err *err)
{
        const struct scenario *scenario = replay->scenario;
        uint32_t methods = scenario->methods_count ? scenario->methods_count : 1;
        struct replay_run baseline = {.placement = scenario->placements[0],
                                      .is_baseline = true,
                                      .has_method = true,
                                      .method = TASK_WHOLE};

        for (uint32_t p = 0; p < scenario->placements_count; p++) {
                for (uint32_t m = 0; m < methods; m++) {
                        struct replay_run run = {.placement = scenario->placements[p],
                                                 .has_method = scenario->methods_count > 0,
                                                 .method = scenario->methods[m]};
                        int rc = one_row(replay, run, err);
                        if (rc)
                                return rc;
                }
        }
        return shares_devices(replay) ? one_row(replay, baseline, err) : 0;
}

int replay_run_scenario(const struct scenario *scenario, const struct model_table *models,
                        const struct replay_hooks *hooks, struct replay_result *ret_result,
                        struct err *err)
{
        struct replay replay = {.scenario = scenario,
                                .models = models,
                                .hooks = hooks,
                                .result = ret_result};
        int rc;

        *ret_result = (struct replay_result){0};
        rc = load(&replay, err);
        if (rc == 0)
                rc = all_rows(&replay, err);
        replay_pods_done(&replay.pods);
        replay_pool_done(&replay.pool);
        mem_free(replay.own);
        mem_free(replay.given);
        return rc;
}
