/* What a policy costs: plans that take borrowed capacity back, and placing with 200 tenants while
 * 10,000 workloads wait. One thread. How long an explanation takes: bench/explain.c. */
#include <stdio.h>
#include <stdlib.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "bench/bench.h"
#include "engine/accounts.h"
#include "plan/plan.h"
#include "proto/model_doc.h"
#include "proto/policy_doc.h"
#include "sim/rng.h"
#include "sim/runner.h"

#define RECLAIM_NODES 500
#define PER_NODE      8
#define TENANTS       200
#define WAITING       10000
#define SEEDS         5
#define HOUR_MS       3600000

static void check(int rc, const struct err *err)
{
        if (rc == 0)
                return;
        fprintf(stderr, "bench-policy: %s\n", err->text);
        exit(1);
}

static void check_memory(const void *memory)
{
        if (memory)
                return;
        fprintf(stderr, "bench-policy: out of memory\n");
        exit(1);
}

static struct policy_doc *read_policy(const char *text, size_t size,
                                      const struct model_table *models)
{
        struct policy_doc *policy;
        struct err err = {0};
        struct doc *doc;

        check(doc_read_yaml("policy", text, size, &doc, &err), &err);
        check(policy_doc_decode(doc_root(doc, 0), models, NULL, &policy, &err), &err);
        doc_free(doc);
        return policy;
}

static void set_policy(struct state *state, struct memo *memo, const struct policy_doc *policy,
                       int64_t now_ms)
{
        struct err err = {0};
        struct input input = {.kind = INPUT_POLICY_SET,
                              .accounts = accounts_new(policy->tenancy, &err)};

        check_memory(input.accounts);
        check(engine_run(state, memo, &input, now_ms, NULL, NULL, &err), &err);
}

/* ---- reclaim ---- */

/* The lender's 4,000 devices are all borrowed; then it wants every one of them, at once. */
static const char reclaim_policy[] =
        "kind: Policy\n"
        "preset: protected\n"
        "rules: {stop_rate: {pct: 100, per: 10m}}\n"
        "classes: {training: {exempt: 0s, notice: 5m}}\n"
        "tenants: {lender: {protect: {A100-80: 4000}}, borrower: {}}\n";

struct plans {
        uint64_t plans, victims;
};

static void see_plan(void *arg, const struct fact *fact)
{
        struct plans *plans = arg;

        if (fact->kind != FACT_PLANNED)
                return;
        plans->plans++;
        plans->victims += fact->planned.victims;
}

static void submit_one(struct state *state, struct memo *memo, uint64_t id, uint16_t tenant,
                       uint8_t devices, int64_t now_ms, struct plans *plans)
{
        struct err err = {0};
        struct input input = {.kind = INPUT_SUBMITTED,
                              .request = {.workload = id,
                                          .need = {.models = UINT64_MAX,
                                                   .ask = ASK_WHOLE,
                                                   .devices = devices},
                                          .form = {.members = 1},
                                          .tenant = tenant}};

        check(engine_run(state, memo, &input, now_ms, see_plan, plans, &err), &err);
}

static void bench_reclaim(void)
{
        struct model_table *models = model_table_new();
        struct scenario_pool spec = {.source = POOL_UNIFORM,
                                     .nodes = RECLAIM_NODES,
                                     .devices_per_node = PER_NODE};
        struct replay_pool pool;
        struct err err = {0};
        struct plans plans = {0};
        struct memo *memo = memo_new((struct policy){.kind = POLICY_AUTO}, MEMO_INDEXED);
        int64_t all_ns = 0, most_ns = 0;

        check_memory(models);
        check_memory(memo);
        check(model_doc_builtin(models, &err), &err);
        (void)str_copy(spec.model, sizeof spec.model, "A100-80");
        check(replay_pool_load(&spec, models, NULL, &pool, &err), &err);
        struct state *state = replay_state_new(&pool, 1, &err);
        check_memory(state);
        struct policy_doc *policy =
                read_policy(reclaim_policy, sizeof reclaim_policy - 1, models);
        set_policy(state, memo, policy, 0);
        int lender = tenancy_find(policy->tenancy, "lender");
        int borrower = tenancy_find(policy->tenancy, "borrower");
        for (uint64_t id = 1; id <= RECLAIM_NODES * PER_NODE; id++)
                submit_one(state, memo, id, (uint16_t)borrower, 1, (int64_t)id * 100, &plans);
        for (uint64_t id = 1; id <= RECLAIM_NODES * PER_NODE; id++) {
                int64_t start_ns = time_monotonic_ns();
                submit_one(state, memo, 1000000 + id, (uint16_t)lender, 1, HOUR_MS, &plans);
                int64_t took_ns = time_monotonic_ns() - start_ns;
                all_ns += took_ns;
                most_ns = took_ns > most_ns ? took_ns : most_ns;
        }
        bench_figure("policy.reclaim_all_ms", (double)all_ns / 1e6, "ms", 0, NULL);
        bench_figure("policy.reclaim_one_ms", (double)most_ns / 1e6, "ms", 0, NULL);
        bench_figure("policy.reclaim_plans", (double)plans.plans, "", 0, NULL);
        bench_figure("policy.reclaim_victims", (double)plans.victims, "", 0, NULL);
        memo_free(memo);
        state_free(state);
        policy_doc_free(policy);
        replay_pool_done(&pool);
        model_table_free(models);
}

/* ---- placing with 200 tenants ---- */

struct crowd {
        struct replay_pool pool;
        struct replay_pods pods;
        struct demand demand;
        struct replay_hooks hooks;
        struct policy_doc *policy, *domains;
};

/* Of each ten tenants one may hold no device: its work waits for its quota. Every class may get
 * what the pods get without a policy, so that the same ones are placed. `apart`: each tenant is a
 * trust domain of its own, so that shares of one device are all of one tenant. */
static struct policy_doc *crowd_policy(const struct model_table *models, bool apart)
{
        char *text = mem_new(TENANTS, 96);
        size_t used = 0;

        check_memory(text);
        used += (size_t)sprintf(text, "kind: Policy\npreset: protected\n"
                                      "classes: {interactive: {}, batch: {above_limit: wait},\n"
                                      "  training: {methods: [whole, slice, share]}}\n"
                                      "tenants:\n");
        for (unsigned t = 0; t < TENANTS; t++)
                used += (size_t)sprintf(text + used, "  t%03u: {limit: {any: %s}%s}\n", t,
                                        t % 10 == 0 ? "0" : "unlimited",
                                        apart ? "" : ", trust: all");
        struct policy_doc *policy = read_policy(text, used, models);
        mem_free(text);
        return policy;
}

static void load_crowd(struct crowd *crowd)
{
        struct scenario_pool spec = {.source = POOL_OPENB};
        char pods[SCENARIO_PATH_MAX];
        struct err err = {0};

        bench_data("openb/openb_node_list_gpu_node.csv", spec.openb_nodes,
                   sizeof spec.openb_nodes);
        bench_data("openb/openb_pod_list_default.csv", pods, sizeof pods);
        check(replay_pool_load(&spec, NULL, pods, &crowd->pool, &err), &err);
        check(replay_pods_load(pods, &crowd->pool, &crowd->pods, &err), &err);
        demand_of(crowd->pods.needs, crowd->pods.count, &crowd->demand);
        crowd->hooks.make_plan = plan_make;
        crowd->hooks.plan_arg = planner_new();
        check_memory(crowd->hooks.plan_arg);
        crowd->policy = crowd_policy(crowd->pool.models, false);
        crowd->domains = crowd_policy(crowd->pool.models, true);
}

static void submit_pod(struct runner *runner, const struct need *need, uint64_t id,
                       uint16_t tenant, uint16_t class, bool once)
{
        struct err err = {0};
        struct input input = {.kind = INPUT_SUBMITTED,
                              .request = {.workload = id,
                                          .need = *need,
                                          .form = {.members = 1},
                                          .tenant = tenant,
                                          .class = class,
                                          .once = once}};

        check(engine_run(runner->state, runner->memo, &input, 0, NULL, NULL, &err), &err);
}

/* The list once, shuffled: nanoseconds per placed one. */
static double place_list(struct crowd *crowd, const struct policy_doc *policy, uint64_t seed)
{
        struct policy placement = {.kind = POLICY_AUTO};
        uint32_t *order = mem_new(crowd->pods.count, sizeof *order);
        struct runner runner;
        struct rng rng;
        struct err err = {0};
        uint64_t id = 1;

        check_memory(order);
        check(runner_init(&runner, &crowd->pool, 1, placement, &crowd->demand, false,
                          &crowd->hooks, &err),
              &err);
        rng_init(&rng, seed);
        if (policy) {
                set_policy(runner.state, runner.memo, policy, 0);
                while (runner.state->waiting < WAITING) {
                        const struct need *need =
                                &crowd->pods.needs[rng_below(&rng, crowd->pods.count)];
                        uint16_t tenant = (uint16_t)(id % (TENANTS / 10) * 10);
                        if (need->devices > 0)  /* of cores they may hold what they like */
                                submit_pod(&runner, need, id++, tenant,
                                           (uint16_t)rng_below(&rng, 3), false);
                }
        }
        for (uint32_t p = 0; p < crowd->pods.count; p++)
                order[p] = p;
        rng_shuffle(&rng, order, crowd->pods.count);
        uint32_t before = runner.state->workload_slots.used;
        int64_t start_ns = time_monotonic_ns();
        for (uint32_t p = 0; p < crowd->pods.count; p++)
                submit_pod(&runner, &crowd->pods.needs[order[p]], id++,
                           policy ? (uint16_t)(p % TENANTS / 10 * 10 + 1 + p % 9) : 0,
                           policy ? (uint16_t)(p % 3) : 0, true);
        double ns = (double)(time_monotonic_ns() - start_ns);
        ns /= runner.state->workload_slots.used - before;
        runner_done(&runner);
        mem_free(order);
        return ns;
}

static void bench_crowd(void)
{
        struct crowd crowd = {0};
        double plain[SEEDS], policy[SEEDS], domains[SEEDS];

        load_crowd(&crowd);
        for (unsigned s = 0; s < SEEDS; s++) {
                plain[s] = place_list(&crowd, NULL, 42 + s);
                policy[s] = place_list(&crowd, crowd.policy, 42 + s);
                domains[s] = place_list(&crowd, crowd.domains, 42 + s);
        }
        double without = bench_median(plain, SEEDS), with = bench_median(policy, SEEDS);
        bench_figure("policy.placements_200_tenants", 1e9 / with, "/s", without / with,
                     "no policy and nobody waiting");
        bench_figure("policy.placements_200_domains", 1e9 / bench_median(domains, SEEDS), "/s",
                     with / bench_median(domains, SEEDS), "one trust domain of all tenants");
        policy_doc_free(crowd.policy);
        policy_doc_free(crowd.domains);
        planner_free(crowd.hooks.plan_arg);
        replay_pods_done(&crowd.pods);
        replay_pool_done(&crowd.pool);
}

/* ---- a full pool: what an exit costs while many wait ---- */

#define FULL_NODES    1000
#define FULL_TENANTS  50
#define FULL_EXITS    2000
#define FULL_BATCH    20                /* exits in a row */
#define FULL_WAITERS  (FULL_BATCH + 5)  /* of each bucket: none runs empty */
#define FULL_ROUNDS   3
#define FULL_GANG     16
#define FULL_MS       10000             /* virtual time, when all wait */

/* `promised`: the pool is borrowed, by work that may not be stopped yet, and all who wait have a
 * promise: each may ask for room, and there is none. */
static struct policy_doc *full_policy(const struct model_table *models, bool promised)
{
        char text[4096];
        size_t used = (size_t)sprintf(text, "kind: Policy\npreset: %s\n%stenants:\n",
                                      promised ? "protected" : "equal",
                                      promised ? "classes: {training: {exempt: 24h}}\n" : "");

        for (unsigned t = 0; t < FULL_TENANTS; t++)
                used += (size_t)sprintf(text + used, "  t%02u: {%s}\n", t,
                                        promised ? "protect: {H100-80: 160}" : "");
        used += (size_t)sprintf(text + used, "  x: {}\n");
        return read_policy(text, used, models);
}

struct full {
        struct replay_pool pool;
        struct policy_doc *policy;
        struct state *state;
        struct memo *memo;
        uint16_t class;
        uint32_t members;               /* of whoever waits */
        uint64_t next_id;
        uint64_t started;               /* workload of the newest start; 0: nobody */
};

static void see_start(void *arg, const struct fact *fact)
{
        struct full *full = arg;

        if (fact->kind == FACT_ALLOCATED)
                full->started = fact->allocated.workload;
}

static void run_full(struct full *full, const struct input *input, int64_t now_ms)
{
        struct err err = {0};

        full->started = 0;
        check(engine_run(full->state, full->memo, input, now_ms, see_start, full, &err), &err);
}

/* Buckets differ by tenant, and in cores and devices by every FULL_TENANTS of them. */
static void submit_full(struct full *full, uint32_t bucket, uint16_t tenant, int64_t now_ms)
{
        uint32_t shape = bucket / FULL_TENANTS;
        struct input input = {.kind = INPUT_SUBMITTED,
                              .request = {.workload = full->next_id++,
                                          .need = {.models = UINT64_MAX,
                                                   .ask = ASK_WHOLE,
                                                   .devices = (uint8_t)(1 + shape % 2),
                                                   .cpu_milli = 1000 + shape * 100},
                                          .form = {.members = full->members},
                                          .tenant = tenant,
                                          .class = full->class}};

        run_full(full, &input, now_ms);
}

static void fill_full(struct full *full, bool promised)
{
        struct err err = {0};

        full->state = replay_state_new(&full->pool, 1, &err);
        full->memo = memo_new((struct policy){.kind = POLICY_AUTO}, MEMO_INDEXED);
        check_memory(full->state);
        check_memory(full->memo);
        set_policy(full->state, full->memo, full->policy, 0);
        full->next_id = 1;
        full->members = 1;
        int borrower = tenancy_find(full->policy->tenancy, "x");
        for (uint32_t d = 0; d < FULL_NODES * PER_NODE; d++)
                submit_full(full, 0, promised ? (uint16_t)borrower : (uint16_t)(d % FULL_TENANTS),
                            0);
}

static void wait_full(struct full *full, uint32_t buckets, uint32_t members)
{
        full->members = members;
        for (uint32_t w = 0; w < FULL_WAITERS * buckets; w++)
                submit_full(full, w % buckets, (uint16_t)(w % buckets % FULL_TENANTS),
                            1 + w / 10);
}

static void empty_full(struct full *full)
{
        memo_free(full->memo);
        state_free(full->state);
}

/* Another one for the bucket of whoever started. */
static void follow_start(struct full *full, uint64_t started)
{
        const struct state *state = full->state;
        const struct workload *workload = &state->workloads[state_workload(state, started)];
        const struct bucket *bucket = &state->buckets[workload->bucket];
        const struct need *need = &state->shapes[bucket->shape].need;

        submit_full(full, (need->cpu_milli - 1000) / 100 * FULL_TENANTS, bucket->tenant, FULL_MS);
}

/* Microseconds of processor time of an exit, and of the start that it leads to. */
static double exits_full(struct full *full)
{
        int64_t took_ns = 0;

        for (uint64_t id = 1; id <= FULL_EXITS;) {
                uint64_t started[FULL_BATCH];
                unsigned count = 0;
                int64_t start_ns = time_cpu_ns();
                for (unsigned b = 0; b < FULL_BATCH; b++, id++) {
                        struct input input = {.kind = INPUT_EXITED, .workload = id};
                        run_full(full, &input, FULL_MS);
                        if (full->started > 0)  /* a gang needs more than one exit */
                                started[count++] = full->started;
                }
                took_ns += time_cpu_ns() - start_ns;
                while (count > 0)
                        follow_start(full, started[--count]);
        }
        return (double)took_ns / 1e3 / FULL_EXITS;
}

static double tick_full(struct full *full)
{
        struct input input = {.kind = INPUT_TICKED};
        int64_t start_ns = time_cpu_ns();

        run_full(full, &input, FULL_MS + 1000);
        return (double)(time_cpu_ns() - start_ns) / 1e6;
}

static void bench_exits(struct full *full)
{
        static const uint32_t waiting[] = {1, 50, 500, 2000};
        double us[4][FULL_ROUNDS], tick_ms[FULL_ROUNDS], one = 0;

        for (unsigned r = 0; r < FULL_ROUNDS; r++)
                for (unsigned w = 0; w < 4; w++) {
                        fill_full(full, false);
                        wait_full(full, waiting[w], 1);
                        us[w][r] = exits_full(full);
                        tick_ms[r] = tick_full(full);
                        empty_full(full);
                }
        fill_full(full, false);
        wait_full(full, 500, FULL_GANG);
        double gangs_us = exits_full(full);
        empty_full(full);
        for (unsigned w = 0; w < 4; w++) {
                char name[64];
                double it = bench_median(us[w], FULL_ROUNDS);
                one = w == 0 ? it : one;
                (void)snprintf(name, sizeof name, "policy.full_pool_exits_%u", waiting[w]);
                bench_figure(name, 1e6 / it, "/s", it / one, "1 waiting bucket");
        }
        bench_figure("policy.full_pool_exits_gangs", 1e6 / gangs_us, "/s", gangs_us / one,
                     "1 waiting bucket");
        bench_figure("policy.full_pool_tick_ms", bench_median(tick_ms, FULL_ROUNDS), "ms", 0,
                     NULL);
}

static void bench_hopeless(struct full *full)
{
        double submit_us[FULL_ROUNDS], tick_ms[FULL_ROUNDS];

        for (unsigned r = 0; r < FULL_ROUNDS; r++) {
                fill_full(full, true);
                int64_t start_ns = time_cpu_ns();
                wait_full(full, 2000, 1);
                submit_us[r] = (double)(time_cpu_ns() - start_ns) / 1e3 /
                               (2000 * FULL_WAITERS);
                tick_ms[r] = tick_full(full);
                empty_full(full);
        }
        bench_figure("policy.hopeless_submit_us", bench_median(submit_us, FULL_ROUNDS), "us", 0,
                     NULL);
        bench_figure("policy.hopeless_tick_ms", bench_median(tick_ms, FULL_ROUNDS), "ms", 0, NULL);
}

static void bench_full(void)
{
        struct model_table *models = model_table_new();
        struct scenario_pool spec = {.source = POOL_UNIFORM,
                                     .nodes = FULL_NODES,
                                     .devices_per_node = PER_NODE};
        struct full full = {0};
        struct err err = {0};

        check_memory(models);
        check(model_doc_builtin(models, &err), &err);
        (void)str_copy(spec.model, sizeof spec.model, "H100-80");
        check(replay_pool_load(&spec, models, NULL, &full.pool, &err), &err);
        for (unsigned promised = 0; promised < 2; promised++) {
                full.policy = full_policy(models, promised == 1);
                full.class = (uint16_t)tenancy_class_find(full.policy->tenancy, "training");
                if (promised)
                        bench_hopeless(&full);
                else
                        bench_exits(&full);
                policy_doc_free(full.policy);
        }
        replay_pool_done(&full.pool);
        model_table_free(models);
}

int main(void)
{
        bench_reclaim();
        bench_full();
        bench_crowd();                  /* the last: it ends where there is no data */
        return 0;
}
