/* Is sharing worth it for each tenant? Every tenant is promised 95 % of its share of the demand, in
 * whole devices; its jobs that fit a private partition of that size wait in the shared pool, and
 * in such a partition of their own, under the same policy. Ratio of the mean waits; at most 1 is
 * what a tenant may expect. The Philly history, October and November 2017. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/zone.h"
#include "bench/bench.h"
#include "proto/model_doc.h"
#include "sim/policy_run.h"
#include "trace/jobs.h"
#include "trace/jobs_csv.h"

#define PER_NODE 8
#define SEED     1

struct incentive {
        struct model_table *models;
        struct jobs jobs;
        struct scenario scenario;
        int64_t *no_limits;
        uint64_t *demand;               /* device-s, by tenant */
        uint32_t *promised;             /* devices, by tenant */
        char policy[64];                /* file */
};

static void check(int rc, const struct err *err)
{
        if (rc == 0)
                return;
        fprintf(stderr, "bench-incentive: %s\n", err->text);
        exit(1);
}

static void *make(size_t count, size_t size)
{
        void *memory = mem_new(count, size);

        if (!memory) {
                fprintf(stderr, "bench-incentive: out of memory\n");
                exit(1);
        }
        return memory;
}

static void load(struct incentive *it)
{
        struct jobs_csv_layout layout = {.columns = {[JOB_COLUMN_SUBMIT] = "timestamp",
                                                     [JOB_COLUMN_DURATION] = "duration",
                                                     [JOB_COLUMN_DEVICES] = "num_gpus",
                                                     [JOB_COLUMN_TENANT] = "cluster"}};
        struct jobs_filter filter = JOBS_ALL;
        struct scenario_history *history = &it->scenario.workload.history;
        char path[SCENARIO_PATH_MAX];
        struct zone *zone;
        struct err err = {0};

        bench_data("philly/philly.csv", path, sizeof path);
        it->models = model_table_new();
        check(it->models ? model_doc_builtin(it->models, &err) : -ERR_NOMEM, &err);
        check(zone_load("America/Los_Angeles", &zone, &err), &err);
        layout.zone = zone;
        filter.tenants_at_least_jobs = 10;
        check(jobs_csv_read(path, &layout, &filter, &it->jobs, &err), &err);
        zone_free(zone);
        it->scenario.pool.source = POOL_UNIFORM;
        it->scenario.pool.devices_per_node = PER_NODE;
        (void)str_copy(it->scenario.pool.model, sizeof it->scenario.pool.model, "V100");
        it->scenario.workload.source = WORKLOAD_JOBS_CSV;
        history->has_checkpoint = true;
        history->checkpoint_every_ms = 1800000;
        history->checkpoint_restart_ms = 60000;
        history->checkpoint_share_pct = 100;
        it->no_limits = make(it->jobs.count, sizeof *it->no_limits);
        it->demand = make(it->jobs.tenants_count, sizeof *it->demand);
        it->promised = make(it->jobs.tenants_count, sizeof *it->promised);
        for (size_t j = 0; j < it->jobs.count; j++)
                it->demand[it->jobs.items[j].tenant] +=
                        (uint64_t)(it->jobs.items[j].duration_ms / 1000) *
                        job_devices(&it->jobs.items[j]);
}

/* 95 % of the demand's share, rounded to whole devices; at least one. */
static void promise(struct incentive *it, uint32_t devices)
{
        uint64_t all = 0;

        for (uint32_t t = 0; t < it->jobs.tenants_count; t++)
                all += it->demand[t];
        for (uint32_t t = 0; t < it->jobs.tenants_count; t++) {
                uint64_t part = it->demand[t] / 1000 * devices * 95 / 100;
                it->promised[t] = (uint32_t)((part + all / 2000) / (all / 1000));
                if (it->promised[t] == 0)
                        it->promised[t] = 1;
        }
}

static void write_policy(struct incentive *it)
{
        (void)str_copy(it->policy, sizeof it->policy, "/tmp/berth-incentive-XXXXXX.yaml");
        int fd = mkstemps(it->policy, 5);
        FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

        if (!file) {
                fprintf(stderr, "bench-incentive: cannot write %s\n", it->policy);
                exit(1);
        }
        fprintf(file, "kind: Policy\npreset: protected\ntenants:\n");
        for (uint32_t t = 0; t < it->jobs.tenants_count; t++)
                fprintf(file, "  \"%s\": {protect: {V100: %u}}\n", it->jobs.tenants[t],
                        it->promised[t]);
        fclose(file);
}

static void run(struct incentive *it, const struct jobs *jobs, uint32_t devices,
                const char *policy, struct job_record *records)
{
        struct scenario_policy rule = {.rule = policy ? RULE_FILE : RULE_DEFAULT};
        struct policy_run_setup setup = {.scenario = &it->scenario,
                                         .models = it->models,
                                         .jobs = jobs,
                                         .limits_ms = it->no_limits,
                                         .policy = &rule,
                                         .consolidates = true,
                                         .seed = SEED,
                                         .window = {jobs->items[0].submit_ms,
                                                    jobs->items[jobs->count - 1].submit_ms + 1}};
        struct history_figures figures = {0};
        struct err err = {0};

        (void)str_copy(rule.name, sizeof rule.name, policy ? policy : "default");
        if (policy)
                (void)str_copy(rule.path, sizeof rule.path, policy);
        it->scenario.pool.nodes = (devices + PER_NODE - 1) / PER_NODE;
        it->scenario.pool.last_node_devices = (uint8_t)(devices % PER_NODE);
        for (uint32_t j = 0; j < jobs->count; j++)
                records[j] = (struct job_record){.job = j,
                                                 .first_start_ms = JOB_RECORD_NEVER,
                                                 .end_ms = JOB_RECORD_NEVER};
        check(history_policy_run(&setup, records, &figures, &err), &err);
        history_figures_done(&figures);
}

static double wait_s(const struct job *job, const struct job_record *record)
{
        return (double)(record->end_ms - job->submit_ms - job->duration_ms) / 1000;
}

/* Mean waits of the tenant's jobs that fit its partition: there, and as they were in the pool. */
static void compare(struct incentive *it, uint32_t tenant, const struct job_record *pooled,
                    struct job_record *own, double *ret_pooled_s, double *ret_alone_s)
{
        struct jobs jobs = it->jobs;
        uint32_t *place = make(it->jobs.count, sizeof *place);
        size_t count = 0;

        jobs.items = make(it->jobs.count, sizeof *jobs.items);
        jobs.count = 0;
        for (uint32_t j = 0; j < it->jobs.count; j++) {
                if (it->jobs.items[j].tenant != tenant ||
                    job_devices(&it->jobs.items[j]) > it->promised[tenant])
                        continue;
                place[jobs.count] = j;
                jobs.items[jobs.count++] = it->jobs.items[j];
        }
        *ret_pooled_s = *ret_alone_s = 0;
        if (jobs.count > 0)
                run(it, &jobs, it->promised[tenant], NULL, own);
        for (size_t j = 0; j < jobs.count; j++) {
                if (own[j].end_ms == JOB_RECORD_NEVER)  /* not on its nodes, wide as it is */
                        continue;
                *ret_alone_s += wait_s(&jobs.items[j], &own[j]);
                *ret_pooled_s += wait_s(&jobs.items[j], &pooled[place[j]]);
                count++;
        }
        if (count > 0) {
                *ret_alone_s /= (double)count;
                *ret_pooled_s /= (double)count;
        }
        mem_free(place);
        mem_free(jobs.items);
}

static void bench_at(struct incentive *it, uint32_t devices)
{
        struct job_record *records = make(it->jobs.count, sizeof *records);
        struct job_record *own = make(it->jobs.count, sizeof *own);
        char name[64];
        double worst = 0;

        promise(it, devices);
        write_policy(it);
        run(it, &it->jobs, devices, it->policy, records);
        unlink(it->policy);
        printf("tenant      promised  pooled s  private s  ratio   (%u devices)\n", devices);
        for (uint32_t t = 0; t < it->jobs.tenants_count; t++) {
                double pooled, alone;
                compare(it, t, records, own, &pooled, &alone);
                double ratio = alone > 0 ? pooled / alone : pooled > 0 ? 99 : 0;
                printf("%-10s  %8u  %8.0f  %9.0f  %5.2f\n", it->jobs.tenants[t], it->promised[t],
                       pooled, alone, ratio);
                worst = ratio > worst ? ratio : worst;
        }
        (void)snprintf(name, sizeof name, "incentive.worst_ratio_%u", devices);
        bench_figure(name, worst, "x", worst, "a private partition of what is promised");
        mem_free(records);
        mem_free(own);
}

int main(void)
{
        struct incentive *it = make(1, sizeof *it);

        load(it);
        bench_at(it, 640);
        bench_at(it, 576);
        jobs_done(&it->jobs);
        model_table_free(it->models);
        mem_free(it->no_limits);
        mem_free(it->demand);
        mem_free(it->promised);
        mem_free(it);
        return 0;
}
