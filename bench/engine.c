/* How fast the engine places, and how that grows: the openb default list, a plan active, until as
 * much was asked for as the pool has. Quality is printed from the same runs. One thread. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/time.h"
#include "bench/bench.h"
#include "engine/price.h"
#include "plan/plan.h"
#include "sim/poisson.h"
#include "sim/shuffled.h"

#define SEEDS   9
#define WAITERS 200000

struct bench {
        struct replay_pool pool;
        struct replay_pods pods;
        struct demand demand;
        struct replay_hooks hooks;
        struct err err;
};

static void check(int rc, const struct err *err)
{
        if (rc == 0)
                return;
        fprintf(stderr, "bench-engine: %s\n", err->text);
        exit(1);
}

static void load(struct bench *bench)
{
        struct scenario_pool spec = {.source = POOL_OPENB};
        char pods[SCENARIO_PATH_MAX];

        bench_data("openb/openb_node_list_gpu_node.csv", spec.openb_nodes,
                   sizeof spec.openb_nodes);
        bench_data("openb/openb_pod_list_default.csv", pods, sizeof pods);
        check(replay_pool_load(&spec, NULL, pods, &bench->pool, &bench->err), &bench->err);
        check(replay_pods_load(pods, &bench->pool, &bench->pods, &bench->err), &bench->err);
        demand_of(bench->pods.needs, bench->pods.count, &bench->demand);
        bench->hooks.make_plan = plan_make;
        bench->hooks.plan_arg = planner_new();
        check(bench->hooks.plan_arg ? 0 : err_set(&bench->err, ERR_NOMEM, "out of memory"),
              &bench->err);
}

static struct shuffled_figures run(struct bench *bench, const char *placement, uint32_t copies,
                                   uint64_t seed)
{
        static const uint16_t full[] = {100};
        struct shuffled_setup setup = {.pool = &bench->pool,
                                       .copies = copies,
                                       .pods = &bench->pods,
                                       .given = &bench->demand,
                                       .learns = true,
                                       .arrive_pct = 100,
                                       .points_count = 1,
                                       .points_pct = full,
                                       .hooks = &bench->hooks};
        struct shuffled_figures figures;
        struct policy policy;

        check(policy_parse(placement, &policy, &bench->err), &bench->err);
        check(shuffled_run(&setup, policy, seed, &figures, &bench->err), &bench->err);
        return figures;
}

/* Nanoseconds per accepted placement, median over seeds. */
static double speed(struct bench *bench, const char *placement, uint32_t copies, unsigned seeds,
                    double *ret_tail, double *ret_unallocated_pct)
{
        double ns[SEEDS], tails[SEEDS], left = 0;

        for (unsigned s = 0; s < seeds; s++) {
                struct shuffled_figures figures = run(bench, placement, copies, 42 + s);
                ns[s] = figures.ns_per_placement;
                tails[s] = figures.p99_us / figures.p50_us;
                left += figures.unallocated_pct[0] / seeds;
        }
        if (ret_tail)
                *ret_tail = bench_median(tails, seeds);
        if (ret_unallocated_pct)
                *ret_unallocated_pct = left;
        return bench_median(ns, seeds);
}

static void bench_speed(struct bench *bench)
{
        double tail, left_1x, left_80x;
        double fgd = speed(bench, "fgd", 1, SEEDS, NULL, NULL);
        double one = speed(bench, "auto", 1, SEEDS, &tail, &left_1x);
        double ten = speed(bench, "auto", 10, 5, NULL, NULL);
        double eighty = speed(bench, "auto", 80, 3, NULL, &left_80x);

        bench_figure("engine.placements_1x", 1e9 / one, "/s", fgd / one,
                     "the published rule (fgd) in the same engine");
        bench_figure("engine.growth_10x", ten / one, "x", ten / one, "1,213 nodes");
        bench_figure("engine.growth_80x", eighty / one, "x", eighty / one, "1,213 nodes");
        bench_figure("engine.p99_over_p50", tail, "x", 0, NULL);
        bench_figure("engine.unallocated_1x", left_1x, "%", 0, NULL);
        bench_figure("engine.unallocated_80x", left_80x, "%", 0, NULL);
        bench_figure("engine.peak_rss_80x", (double)time_peak_rss_mib(), "MiB", 0, NULL);
}

/* ---- memory of what waits ---- */

static double resident_bytes(void)
{
        FILE *statm = fopen("/proc/self/statm", "r");
        long size = 0, resident = 0;

        if (!statm || fscanf(statm, "%ld %ld", &size, &resident) != 2)
                resident = 0;
        if (statm)
                fclose(statm);
        return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* A pool of one node, full; everything else waits. Counted by the process's own memory. */
static void bench_waiting(struct bench *bench)
{
        struct state_bounds bounds = {.nodes_max = 1, .workloads_max = WAITERS + 1};
        double before = resident_bytes();
        struct state *state = state_new(bench->pool.models, &bounds);
        struct memo *memo = memo_new((struct policy){.kind = POLICY_AUTO}, MEMO_INDEXED);
        struct input join = {.kind = INPUT_NODE_JOINED,
                             .node = {.devices = 1, .cpu_milli = 1000}};

        check(state && memo ? 0 : err_set(&bench->err, ERR_NOMEM, "out of memory"), &bench->err);
        join.node.name = (uint32_t)vocab_name(state->vocab, "node", &bench->err);
        check(engine_run(state, memo, &join, 0, NULL, NULL, &bench->err), &bench->err);
        for (uint64_t id = 1; id <= WAITERS + 1; id++) {
                struct input submit = {.kind = INPUT_SUBMITTED,
                                       .request = {.workload = id * 0x9e3779b97f4a7c15u,
                                                   .need = {.models = UINT64_MAX,
                                                            .ask = ASK_WHOLE,
                                                            .devices = 1},
                                                   .form = {.members = 1}}};
                check(engine_run(state, memo, &submit, 0, NULL, NULL, &bench->err), &bench->err);
        }
        bench_figure("engine.queued_bytes", (resident_bytes() - before) / WAITERS, "B", 0, NULL);
        memo_free(memo);
        state_free(state);
}

/* ---- plans ---- */

static void bench_plan(struct bench *bench)
{
        struct price_plan *plan = mem_new(1, sizeof *plan);
        struct planner *planner = planner_new();
        int64_t start_ns = time_cpu_ns();
        char note[PLAN_NOTE_MAX];

        check(plan && planner ? 0 : err_set(&bench->err, ERR_NOMEM, "out of memory"),
              &bench->err);
        check(plan_make(planner, &bench->pool, bench->demand.shapes, bench->demand.count, plan,
                        note, sizeof note, &bench->err),
              &bench->err);
        bench_figure("engine.plan_s", (double)(time_cpu_ns() - start_ns) / 1e9, "s", 0, NULL);
        planner_free(planner);
        mem_free(plan);
}

/* ---- arrivals and exits for ten mean lives, after the pool has filled ---- */

#define LIVES 10
#define ENDS  3                         /* lives at either end that are compared */

static double mean_size_pct(const struct poisson_window *windows, unsigned count)
{
        double sum = 0;

        for (unsigned w = 0; w < count; w++)
                sum += windows[w].size_pct;
        return sum / count;
}

/* The memo starts anew with every plan, so single lives say little: the most of each half. */
static double most_memory(const struct poisson_window *windows, unsigned count)
{
        uint64_t most = 0;

        for (unsigned w = 0; w < count; w++)
                most = windows[w].memory_bytes > most ? windows[w].memory_bytes : most;
        return (double)most;
}

static void bench_steady(struct bench *bench)
{
        struct poisson_setup setup = {.pool = &bench->pool,
                                      .needs = bench->pods.needs,
                                      .needs_count = bench->pods.count,
                                      .given = &bench->demand,
                                      .learns = true,
                                      .load = 0.95,
                                      .mean_life_ms = 500000,
                                      .warmup_lives = 5,
                                      .measure_lives = LIVES,
                                      .hooks = &bench->hooks};
        struct poisson_figures *figures = mem_new(1, sizeof *figures);
        struct policy policy = {.kind = POLICY_AUTO};
        double accepted = 0, drift = 0, tail[SEEDS], memory[SEEDS];

        check(figures ? 0 : err_set(&bench->err, ERR_NOMEM, "out of memory"), &bench->err);
        for (unsigned s = 0; s < SEEDS; s++) {
                check(poisson_run(&setup, policy, s + 1, figures, &bench->err), &bench->err);
                const struct poisson_window *w = figures->windows;
                accepted += figures->size_pct / SEEDS;
                drift += (mean_size_pct(w + LIVES - ENDS, ENDS) - mean_size_pct(w, ENDS)) / SEEDS;
                tail[s] = w[LIVES - 1].p99_us / w[0].p99_us;
                memory[s] = most_memory(w + LIVES / 2, LIVES / 2) / most_memory(w, LIVES / 2);
        }
        bench_figure("engine.steady_accepted", accepted, "%", 0, NULL);
        bench_figure("engine.steady_drift", drift, "points", 0, NULL);
        bench_figure("engine.steady_p99", bench_median(tail, SEEDS), "x", 0, NULL);
        bench_figure("engine.steady_memory", bench_median(memory, SEEDS), "x", 0, NULL);
        mem_free(figures);
}

int main(void)
{
        static struct bench bench;

        load(&bench);
        bench_waiting(&bench);
        bench_plan(&bench);
        bench_steady(&bench);
        bench_speed(&bench);
        planner_free(bench.hooks.plan_arg);
        replay_pods_done(&bench.pods);
        replay_pool_done(&bench.pool);
        return 0;
}
