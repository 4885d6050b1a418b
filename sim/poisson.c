#include "sim/poisson.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/units.h"
#include "sim/rng.h"

/* Streams of one seed: drawing more of one does not move the others. */
enum { STREAM_GAPS, STREAM_KINDS, STREAM_LIVES };

struct ending {
        double at_ms;
        uint64_t id;
        double size;
};

struct counts {
        double arrived, accepted, size_arrived, size_accepted, units_arrived, units_accepted;
};

struct run {
        const struct poisson_setup *setup;
        struct poisson_figures *figures;
        struct runner runner;
        struct rng gaps, kinds, lives;
        struct need *needs;             /* with this state's vocabulary */
        double *sizes;                  /* of each need, as load counts it */
        double *units;
        double capacity, mean_size, held;
        struct ending *endings;         /* binary heap, soonest on top */
        size_t endings_count;
        uint32_t endings_room;
        struct counts all, window;
        size_t window_from;             /* first latency of the window */
        size_t measured_from;
        int64_t decide_before_ns;
};

/* ---- endings ---- */

static bool endings_push(struct run *run, struct ending ending)
{
        struct ending *grown = mem_grow(run->endings, run->endings_count, &run->endings_room, 1024,
                                        sizeof *grown);
        if (!grown)
                return false;
        run->endings = grown;
        size_t at = run->endings_count++;
        for (; at > 0 && run->endings[(at - 1) / 2].at_ms > ending.at_ms; at = (at - 1) / 2)
                run->endings[at] = run->endings[(at - 1) / 2];
        run->endings[at] = ending;
        return true;
}

static struct ending endings_pop(struct run *run)
{
        struct ending top = run->endings[0], last = run->endings[--run->endings_count];
        size_t at = 0;

        for (;;) {
                size_t child = 2 * at + 1;
                if (child >= run->endings_count)
                        break;
                if (child + 1 < run->endings_count &&
                    run->endings[child + 1].at_ms < run->endings[child].at_ms)
                        child++;
                if (run->endings[child].at_ms >= last.at_ms)
                        break;
                run->endings[at] = run->endings[child];
                at = child;
        }
        run->endings[at] = last;
        return top;
}

/* ---- sizes ---- */

static double units_of(const struct model *model, const struct need *need)
{
        if (need->ask == ASK_PROFILE)
                return profile_units(model, &model->profiles[need->profile - 1]);
        return (double)need_milli(need) * UNITS_DEVICE / SHARE_WHOLE;
}

static double slices_of(const struct model *model, const struct need *need)
{
        if (need->ask == ASK_PROFILE)
                return model->profiles[need->profile - 1].memory_slices;
        return (double)need_milli(need) * model->memory_slices / SHARE_WHOLE;
}

static int measure_needs(struct run *run, struct err *err)
{
        const struct poisson_setup *setup = run->setup;
        const struct model *model = model_get(setup->pool->models, setup->pool->nodes[0].model);
        double total = 0, weights = 0;

        for (uint32_t i = 0; i < setup->needs_count; i++) {
                double weight = setup->weights ? (double)setup->weights[i] : 1;
                run->needs[i] = setup->needs[i];
                run->units[i] = units_of(model, &setup->needs[i]);
                run->sizes[i] = setup->by_slices ? slices_of(model, &setup->needs[i])
                                                 : (double)need_milli(&setup->needs[i]);
                total += weight * run->sizes[i];
                weights += weight;
                if (setup->whole)
                        run->needs[i] = need_on_whole(&setup->needs[i]);
                if (run->needs[i].ask != ASK_PROFILE)
                        continue;
                const char *name = model->profiles[setup->needs[i].profile - 1].name;
                int word = vocab_word(run->runner.state->vocab, name, err);
                if (word < 0)
                        return word;
                run->needs[i].profile = (uint16_t)word;
        }
        if (!(total > 0))
                return err_set(err, ERR_INPUT, "the workload asks for no device at all");
        run->mean_size = total / weights;
        run->capacity = (double)setup->pool->devices *
                        (setup->by_slices ? model->memory_slices : SHARE_WHOLE);
        return 0;
}

/* ---- arrivals ---- */

static int arrive(struct run *run, double now_ms, struct err *err)
{
        const struct poisson_setup *setup = run->setup;
        size_t pick = setup->weights ? rng_weighted(&run->kinds, setup->weights, setup->needs_count)
                                     : (size_t)rng_below(&run->kinds, setup->needs_count);
        double life_ms = rng_exponential(&run->lives, setup->mean_life_ms);
        uint64_t id;
        int rc = runner_submit(&run->runner, &run->needs[pick], (int64_t)now_ms, &id, err);

        if (rc < 0)
                return rc;
        run->window.arrived++;
        run->window.size_arrived += run->sizes[pick];
        run->window.units_arrived += run->units[pick];
        if (rc == 0)
                return 0;
        run->window.accepted++;
        run->window.size_accepted += run->sizes[pick];
        run->window.units_accepted += run->units[pick];
        run->held += run->sizes[pick];
        struct ending ending = {.at_ms = now_ms + life_ms, .id = id, .size = run->sizes[pick]};
        return endings_push(run, ending) ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int end_until(struct run *run, double now_ms, struct err *err)
{
        while (run->endings_count > 0 && run->endings[0].at_ms <= now_ms) {
                struct ending ending = endings_pop(run);
                int rc = runner_exit(&run->runner, ending.id, (int64_t)ending.at_ms, err);
                if (rc)
                        return rc;
                run->held -= ending.size;
        }
        return 0;
}

/* ---- windows of one mean life ---- */

static double part_pct(double part, double whole)
{
        return whole > 0 ? 100.0 * part / whole : 100.0;
}

static void add_window(struct counts *all, const struct counts *window)
{
        all->arrived += window->arrived;
        all->accepted += window->accepted;
        all->size_arrived += window->size_arrived;
        all->size_accepted += window->size_accepted;
        all->units_arrived += window->units_arrived;
        all->units_accepted += window->units_accepted;
}

static void close_window(struct run *run, uint32_t number)
{
        struct runner *runner = &run->runner;
        const struct counts *counts = &run->window;

        if (number == run->setup->warmup_lives)         /* the measured time began here */
                run->measured_from = run->window_from;
        if (number >= run->setup->warmup_lives) {
                uint32_t at = run->figures->windows_count;
                uint32_t *from = runner->latencies_ns + run->window_from;
                size_t count = runner->latencies_count - run->window_from;
                add_window(&run->all, counts);
                if (at < POISSON_WINDOWS_MAX) {
                        run->figures->windows_count++;
                        run->figures->windows[at] = (struct poisson_window){
                                .count_pct = part_pct(counts->accepted, counts->arrived),
                                .size_pct = part_pct(counts->size_accepted, counts->size_arrived),
                                .p50_us = latency_us(from, count, 500),
                                .p99_us = latency_us(from, count, 990),
                                .memory_bytes = memo_bytes(runner->memo)};
                }
        } else {
                run->decide_before_ns = runner->decide_ns;
        }
        run->window = (struct counts){0};
        run->window_from = runner->latencies_count;
}

static int arrive_all(struct run *run, struct err *err)
{
        const struct poisson_setup *setup = run->setup;
        double gap_ms = run->mean_size * setup->mean_life_ms / (setup->load * run->capacity);
        uint32_t lives = setup->warmup_lives + setup->measure_lives;
        double now_ms = 0;
        int rc = 0;

        for (uint32_t life = 0; rc == 0 && life < lives; life++) {
                double end_ms = (life + 1) * setup->mean_life_ms;
                while (rc == 0 && now_ms < end_ms) {
                        now_ms += rng_exponential(&run->gaps, gap_ms);
                        rc = end_until(run, now_ms, err);
                        if (rc == 0)
                                rc = arrive(run, now_ms, err);
                        if (rc == 0 && runner_cancelled(&run->runner))
                                rc = err_set(err, ERR_CANCELLED, "stopped");
                }
                close_window(run, life);
                if (setup->hooks && setup->hooks->progress)
                        setup->hooks->progress(setup->hooks->progress_arg,
                                               policy_name(run->runner.policy.kind), life + 1,
                                               lives);
        }
        return rc;
}

static void finish(struct run *run)
{
        struct poisson_figures *figures = run->figures;
        struct runner *runner = &run->runner;
        const struct counts *all = &run->all;
        int64_t ns = runner->decide_ns - run->decide_before_ns;

        figures->count_pct = part_pct(all->accepted, all->arrived);
        figures->size_pct = part_pct(all->size_accepted, all->size_arrived);
        figures->units_pct = part_pct(all->units_accepted, all->units_arrived);
        figures->accepted = (uint64_t)all->accepted;
        figures->refused = (uint64_t)(all->arrived - all->accepted);
        if (ns > 0)
                figures->placements_per_s = all->accepted * 1e9 / (double)ns;
        uint32_t *from = runner->latencies_ns + run->measured_from;
        figures->p50_us = latency_us(from, runner->latencies_count - run->measured_from, 500);
        figures->p99_us = latency_us(from, runner->latencies_count - run->measured_from, 990);
        runner_sum_up(runner, &figures->summary);
}

static int prepare(struct run *run, struct policy policy, uint64_t seed, struct err *err)
{
        const struct poisson_setup *setup = run->setup;
        int rc = runner_init(&run->runner, setup->pool, 1, policy, setup->given, setup->learns,
                             setup->hooks, err);

        if (rc)
                return rc;
        run->needs = mem_new(setup->needs_count, sizeof *run->needs);
        run->sizes = mem_new(setup->needs_count, sizeof *run->sizes);
        run->units = mem_new(setup->needs_count, sizeof *run->units);
        if (!run->needs || !run->sizes || !run->units)
                return err_set(err, ERR_NOMEM, "out of memory");
        rng_init_stream(&run->gaps, seed, STREAM_GAPS);
        rng_init_stream(&run->kinds, seed, STREAM_KINDS);
        rng_init_stream(&run->lives, seed, STREAM_LIVES);
        return measure_needs(run, err);
}

int poisson_run(const struct poisson_setup *setup, struct policy policy, uint64_t seed,
                struct poisson_figures *ret_figures, struct err *err)
{
        struct run run = {.setup = setup, .figures = ret_figures};
        int rc;

        *ret_figures = (struct poisson_figures){0};
        rc = prepare(&run, policy, seed, err);
        if (rc == 0)
                rc = arrive_all(&run, err);
        if (rc == 0)
                finish(&run);
        runner_done(&run.runner);
        mem_free(run.needs);
        mem_free(run.sizes);
        mem_free(run.units);
        mem_free(run.endings);
        return rc;
}
