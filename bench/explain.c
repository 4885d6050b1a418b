/* How long an explanation takes: 10,000 nodes of 8 devices, full, 200 tenants, 10,000 waiting
 * workloads of about 100 shapes. Between two questions something ends, so that nothing remembered
 * for the pool as a whole is still true. One thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/time.h"
#include "bench/bench.h"
#include "engine/decide.h"
#include "engine/explain.h"
#include "proto/explain_text.h"
#include "proto/model_doc.h"
#include "proto/policy_doc.h"
#include "sim/rng.h"

#define NODES   10000
#define RACK    16
#define TENANTS 200
#define WAITING 10000
#define ASKED   2000
#define TICK_MS 60000

struct pool {
        struct model_table *models;
        struct policy_doc *policy;
        struct state *state;
        struct memo *memo;
        struct rng rng;
        int64_t now_ms;
        uint64_t ids;
};

static struct explanation record;

static void check(int rc, const struct err *err)
{
        if (rc == 0)
                return;
        fprintf(stderr, "bench-explain: %s\n", err->text);
        exit(1);
}

static void feed(struct pool *pool, const struct input *input)
{
        struct err err = {0};

        check(engine_run(pool->state, pool->memo, input, pool->now_ms, NULL, NULL, &err), &err);
}

static void read_policy(struct pool *pool)
{
        char *text = mem_new(1 << 16, 1);
        struct err err = {0};
        struct doc *doc;
        size_t used = 0;

        check(text ? 0 : err_set(&err, ERR_NOMEM, "out of memory"), &err);
        used += (size_t)sprintf(text, "kind: Policy\npreset: protected\nclasses:\n"
                                      "  service: {rank: 1, stop: never, hold_after: 10m}\n"
                                      "  training: {rank: 2, stop: for_protect, notice: 5m, "
                                      "order: shortest, hold_after: 10m}\n"
                                      "  batch: {rank: 3, stop: always, notice: 30s, above_limit: "
                                      "spare}\n"
                                      "tenants:\n");
        for (unsigned t = 0; t < TENANTS; t++)
                used += (size_t)sprintf(text + used,
                                        "  t%03u: {protect: {H100-80: %u, A100-40: %u}, limit: "
                                        "{H100-80: %u}, weight: %u}\n",
                                        t, 100 + t % 7 * 20, t % 5 * 10, 220 + t % 11 * 40,
                                        1 + t % 4);
        check(doc_read_yaml("policy", text, used, &doc, &err), &err);
        check(policy_doc_decode(doc_root(doc, 0), pool->models, NULL, &pool->policy, &err), &err);
        doc_free(doc);
        mem_free(text);
}

static void join_nodes(struct pool *pool)
{
        static const char *const names[] = {"H100-80", "A100-40", "L40S"};
        struct err err = {0};

        for (unsigned n = 0; n < NODES; n++) {
                char name[32], rack[32];
                int model = model_find(pool->models,
                                       names[n % 10 < 6   ? 0
                                             : n % 10 < 9 ? 1
                                                          : 2],
                                       &err);
                check(model < 0 ? model : 0, &err);
                snprintf(name, sizeof name, "node-%05u", n);
                snprintf(rack, sizeof rack, "rack-%u", n / RACK);
                struct input input = {
                        .kind = INPUT_NODE_JOINED,
                        .node = {.name = (uint32_t)vocab_name(pool->state->vocab, name, NULL),
                                 .rack = (uint16_t)vocab_word(pool->state->vocab, rack, NULL),
                                 .model = (uint8_t)model,
                                 .devices = 8,
                                 .cpu_milli = 96000,
                                 .ram_mib = 1 << 20,
                                 .disk_mib = 4 << 20,
                                 .network_mbit = 400000}};
                feed(pool, &input);
        }
}

/* One of about a hundred shapes. */
static struct request draw(struct pool *pool, bool wide)
{
        static const uint8_t devices[] = {1, 1, 2, 4, 8, 8};
        struct request request = {.workload = ++pool->ids, .form = {.members = 1}};
        unsigned kind = (unsigned)rng_below(&pool->rng, 100);

        request.tenant = (uint16_t)rng_below(&pool->rng, TENANTS);
        request.class = (uint16_t)(kind % 10 == 0 ? 0 : kind % 3 == 0 ? 2 : 1);
        request.need.ask = ASK_WHOLE;
        request.need.devices = devices[wide ? 3 + kind % 3 : kind % 6];
        request.need.models = rng_below(&pool->rng, 2)
                                      ? 1ull << model_find(pool->models, "H100-80", NULL)
                                      : UINT64_MAX;
        request.need.cpu_milli =
                4000 * (1 + (uint32_t)rng_below(&pool->rng, 5)) * request.need.devices / 2;
        request.need.ram_mib = 16384u << rng_below(&pool->rng, 3);
        if (kind % 5 == 4) {
                request.form.members = 2 + kind % 7;
                request.form.near = kind % 2 ? NEAR_RACK : NEAR_NONE;
                request.form.near_required = kind % 4 == 1;
        }
        request.time_limit_ms = kind % 4 == 0 ? 3600000 * (int64_t)(1 + kind % 24) : 0;
        return request;
}

static void fill(struct pool *pool)
{
        struct input tick = {.kind = INPUT_TICKED};

        for (unsigned i = 0; pool->state->waiting < WAITING; i++) {
                struct input input = {.kind = INPUT_SUBMITTED,
                                      .request = draw(pool, pool->state->waiting > 0)};
                feed(pool, &input);
        }
        pool->now_ms += TICK_MS;
        feed(pool, &tick);
}

static uint64_t any_waiting(struct pool *pool)
{
        for (;;) {
                uint32_t w = (uint32_t)rng_below(&pool->rng, pool->state->workload_slots.high);
                const struct workload *workload = &pool->state->workloads[w];
                if (workload->live && workload->members_placed == 0)
                        return workload->id;
        }
}

static void end_one(struct pool *pool)
{
        for (;;) {
                uint32_t w = (uint32_t)rng_below(&pool->rng, pool->state->workload_slots.high);
                const struct workload *workload = &pool->state->workloads[w];
                if (!workload->live || workload->members_placed == 0)
                        continue;
                struct input input = {.kind = INPUT_EXITED, .workload = workload->id};
                feed(pool, &input);
                return;
        }
}

static int by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static void measure(struct pool *pool)
{
        static double ms[ASKED], cpu_ms[ASKED];
        static unsigned verdicts[VERDICTS_END];
        struct err err = {0};

        for (unsigned i = 0; i < ASKED; i++) {
                if (i % 8 == 0)
                        end_one(pool);
                uint64_t id = any_waiting(pool);
                int64_t start = time_monotonic_ns(), cpu = time_cpu_ns();
                check(explain(pool->memo, pool->state, id, pool->now_ms, &record, &err), &err);
                ms[i] = (double)(time_monotonic_ns() - start) / 1e6;
                cpu_ms[i] = (double)(time_cpu_ns() - cpu) / 1e6;
                verdicts[record.verdict]++;
        }
        qsort(ms, ASKED, sizeof *ms, by_value);
        bench_figure("policy.explain_ms", ms[ASKED / 2], "ms p50", 5.0 / ms[ASKED / 2],
                     "the bar of 5 ms");
        bench_figure("policy.explain_ms", ms[ASKED * 99 / 100], "ms p99",
                     5.0 / ms[ASKED * 99 / 100], "the bar of 5 ms");
        qsort(cpu_ms, ASKED, sizeof *cpu_ms, by_value);
        bench_figure("policy.explain_cpu_ms", cpu_ms[ASKED / 2], "ms p50", 0, NULL);
        bench_figure("policy.explain_cpu_ms", cpu_ms[ASKED * 99 / 100], "ms p99", 0, NULL);
        bench_figure("policy.explain_cpu_ms", cpu_ms[ASKED - 1], "ms most", 0, NULL);
        for (unsigned v = 0; v < VERDICTS_END; v++)
                if (verdicts[v])
                        printf("  %s %u\n", verdict_name(v), verdicts[v]);
}

int main(void)
{
        struct pool pool = {.now_ms = INT64_C(1775000400000)};
        struct state_bounds bounds = {.nodes_max = NODES};
        struct err err = {0};
        struct input policy = {.kind = INPUT_POLICY_SET};

        rng_init(&pool.rng, 1);
        pool.models = model_table_new();
        check(pool.models ? model_doc_builtin(pool.models, &err) < 0 : -1, &err);
        pool.state = state_new(pool.models, &bounds);
        pool.memo = memo_new((struct policy){.kind = POLICY_BEST_FIT}, MEMO_INDEXED);
        if (!pool.state || !pool.memo)
                return 1;
        join_nodes(&pool);
        read_policy(&pool);
        policy.accounts = accounts_new(pool.policy->tenancy, &err);
        check(policy.accounts ? 0 : -ERR_NOMEM, &err);
        feed(&pool, &policy);
        fill(&pool);
        printf("%u nodes, %u running, %u waiting, %u shapes, %u buckets\n", NODES,
               (unsigned)(pool.state->workload_slots.used - pool.state->waiting),
               (unsigned)pool.state->waiting, pool.state->shapes_count, pool.state->buckets_count);
        measure(&pool);
        explain_text(stdout, &record, &(struct explain_names){.state = pool.state, .clock = true});
        memo_free(pool.memo);
        state_free(pool.state);
        policy_doc_free(pool.policy);
        model_table_free(pool.models);
        return 0;
}
