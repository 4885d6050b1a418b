#include "sim/shuffled.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/fragment.h"
#include "engine/units.h"
#include "sim/rng.h"

struct run {
        const struct shuffled_setup *setup;
        struct runner runner;
        struct rng rng;
        uint32_t *order;                /* the shuffled list */
        uint64_t capacity_milli, asked_milli, given_milli;
        uint32_t point;                 /* next one to record */
        bool timed;                     /* 100 % arrived: the speed figures are taken */
        struct fragment_target *target;
        struct shuffled_figures *figures;
};

static void record_point(struct run *run)
{
        double capacity = (double)run->capacity_milli;

        run->figures->unallocated_pct[run->point] = 100.0 -
                                                    100.0 * (double)run->given_milli / capacity;
        if (run->target)
                run->figures->fragmented_pct[run->point] =
                        100.0 *
                        (double)fragment_of_pool(run->runner.state, run->target) / capacity;
        run->point++;
}

static void take_speed(struct run *run)
{
        struct runner *runner = &run->runner;
        struct shuffled_figures *figures = run->figures;

        run->timed = true;
        if (runner->decide_ns > 0)
                figures->placements_per_s = (double)runner->accepted * 1e9 /
                                            (double)runner->decide_ns;
        if (runner->accepted > 0)
                figures->ns_per_placement = (double)runner->decide_ns / (double)runner->accepted;
        figures->p50_us = latency_us(runner->latencies_ns, runner->latencies_count, 500);
        figures->p99_us = latency_us(runner->latencies_ns, runner->latencies_count, 990);
}

static int arrive(struct run *run, const struct need *need, struct err *err)
{
        uint64_t id, milli = need_milli(need);
        struct need asked = run->setup->whole ? need_on_whole(need) : *need;
        int rc = runner_submit(&run->runner, &asked, 0, &id, err);

        if (rc < 0)
                return rc;
        run->asked_milli += milli;
        if (rc == 1)
                run->given_milli += milli;
        if (!run->timed && run->asked_milli >= run->capacity_milli)
                take_speed(run);
        while (run->point < run->setup->points_count &&
               run->asked_milli * 100 >= run->capacity_milli * run->setup->points_pct[run->point])
                record_point(run);
        return 0;
}

static void report_progress(const struct run *run)
{
        const struct replay_hooks *hooks = run->setup->hooks;

        if (hooks && hooks->progress)
                hooks->progress(hooks->progress_arg, policy_name(run->runner.policy.kind),
                                run->asked_milli,
                                run->capacity_milli * run->setup->arrive_pct / 100);
}

/* The list once, shuffled; then draws with replacement. */
static int arrive_all(struct run *run, struct err *err)
{
        const struct replay_pods *pods = run->setup->pods;
        uint64_t enough = run->capacity_milli * run->setup->arrive_pct;
        uint64_t copies = run->setup->copies;

        for (uint64_t n = 0; run->asked_milli * 100 < enough; n++) {
                bool listed = n < (uint64_t)pods->count * copies;
                if (listed && n > 0 && n % pods->count == 0)
                        rng_shuffle(&run->rng, run->order, pods->count);
                uint64_t pick = listed ? run->order[n % pods->count]
                                       : rng_below(&run->rng, pods->count);
                int rc = arrive(run, &pods->needs[pick], err);
                if (rc < 0)
                        return rc;
                if (n % 1024 == 0)
                        report_progress(run);
                if (runner_cancelled(&run->runner))
                        return err_set(err, ERR_CANCELLED, "stopped");
                if (n > 1000000 && run->asked_milli == 0)
                        return err_set(err, ERR_INPUT, "the pod list asks for no device at all");
        }
        return 0;
}

static int prepare(struct run *run, struct policy policy, uint64_t seed, struct err *err)
{
        const struct shuffled_setup *setup = run->setup;

        run->capacity_milli = (uint64_t)setup->pool->devices * SHARE_WHOLE * setup->copies;
        run->order = mem_new(setup->pods->count, sizeof *run->order);
        if (setup->measure)
                run->target = mem_new(1, sizeof *run->target);
        if (!run->order || (setup->measure && !run->target))
                return err_set(err, ERR_NOMEM, "out of memory");
        if (setup->measure)
                fragment_target_make(setup->measure->shapes, setup->measure->count, run->target);
        for (uint32_t p = 0; p < setup->pods->count; p++)
                run->order[p] = p;
        rng_init(&run->rng, seed);
        rng_shuffle(&run->rng, run->order, setup->pods->count);
        return runner_init(&run->runner, setup->pool, setup->copies, policy, setup->given,
                           setup->learns, setup->hooks, err);
}

static void finish(struct run *run)
{
        struct shuffled_figures *figures = run->figures;
        struct runner *runner = &run->runner;

        if (!run->timed)
                take_speed(run);
        while (run->point < run->setup->points_count)
                record_point(run);
        figures->accepted = runner->accepted;
        figures->refused = runner->arrived - runner->accepted;
        figures->count_pct = 100.0 * (double)runner->accepted / (double)runner->arrived;
        figures->units_pct = 100.0 * (double)run->given_milli / (double)run->asked_milli;
        runner_sum_up(runner, &figures->summary);
}

int shuffled_run(const struct shuffled_setup *setup, struct policy policy, uint64_t seed,
                 struct shuffled_figures *ret_figures, struct err *err)
{
        struct run run = {.setup = setup, .figures = ret_figures};
        int rc;

        *ret_figures = (struct shuffled_figures){0};
        rc = prepare(&run, policy, seed, err);
        if (rc == 0)
                rc = arrive_all(&run, err);
        if (rc == 0)
                finish(&run);
        runner_done(&run.runner);
        mem_free(run.order);
        mem_free(run.target);
        return rc;
}
