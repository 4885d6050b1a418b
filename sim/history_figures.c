#include "sim/history_figures.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "trace/jobs.h"

#define MS_PER_HOUR 3600000.0

void history_figures_done(struct history_figures *figures)
{
        if (!figures)
                return;
        mem_free(figures->tenants);
        *figures = (struct history_figures){0};
}

/* ---- one replay ---- */

struct tally {
        uint64_t count;
        double sum;
};

static void tally_add(struct tally *tally, double value)
{
        tally->count++;
        tally->sum += value;
}

static double tally_mean(const struct tally *tally)
{
        return tally->count > 0 ? tally->sum / (double)tally->count : 0;
}

static int compare_times(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

        return x < y ? -1 : x > y;
}

/* The least wait that so many per cent do not exceed. */
static double percentile_s(const int64_t *waits_ms, size_t count, unsigned pct)
{
        if (count == 0)
                return 0;
        size_t rank = (count * pct + 99) / 100;

        return (double)waits_ms[rank > 0 ? rank - 1 : 0] / 1000;
}

static void take_waits(struct history_figures *figures, const struct jobs *jobs,
                       const struct job_record *records, int64_t *waits_ms)
{
        struct tally wait = {0}, jct = {0}, wide = {0}, brief = {0};
        size_t count = 0;

        for (size_t j = 0; j < jobs->count; j++) {
                const struct job *job = &jobs->items[j];
                if (records[j].end_ms == JOB_RECORD_NEVER)
                        continue;
                int64_t jct_ms = records[j].end_ms - job->submit_ms;
                int64_t wait_ms = jct_ms - job->duration_ms;
                waits_ms[count++] = wait_ms;
                tally_add(&jct, (double)jct_ms / 1000);
                tally_add(&wait, (double)wait_ms / 1000);
                if (job_devices(job) >= HISTORY_WIDE)
                        tally_add(&wide, (double)wait_ms / 1000);
                if (job->duration_ms < HISTORY_SHORT_MS)
                        tally_add(&brief, (double)wait_ms / 1000);
        }
        if (count > 1)
                qsort(waits_ms, count, sizeof *waits_ms, compare_times);
        figures->jobs = (double)count;
        figures->refused = (double)(jobs->count - count);
        figures->wait_mean_s = tally_mean(&wait);
        figures->wait_p50_s = percentile_s(waits_ms, count, 50);
        figures->wait_p95_s = percentile_s(waits_ms, count, 95);
        figures->wait_p99_s = percentile_s(waits_ms, count, 99);
        figures->wait_max_s = percentile_s(waits_ms, count, 100);
        figures->jct_mean_s = tally_mean(&jct);
        figures->wide_wait_mean_s = tally_mean(&wide);
        figures->short_wait_mean_s = tally_mean(&brief);
}

static void take_devices(struct history_figures *figures, const struct jobs *jobs,
                         const struct job_record *records, uint64_t devices,
                         const struct job_window *window)
{
        double held_ms = 0, lost_ms = 0, stops = 0;
        double capacity_ms = (double)devices * (double)(window->until_ms - window->from_ms);
        uint32_t most = 0;

        for (size_t j = 0; j < jobs->count; j++) {
                const struct job_record *record = &records[j];
                held_ms += (double)record->window_device_ms;
                lost_ms += (double)record->lost_device_ms + (double)record->restart_device_ms;
                stops += record->stops;
                most = record->stops > most ? record->stops : most;
                for (unsigned g = 0; g < GATES_END; g++)
                        figures->waited_device_hours[g] += (double)record->waited_ms[g] *
                                                           job_devices(&jobs->items[j]) /
                                                           MS_PER_HOUR;
        }
        figures->utilisation_pct = capacity_ms > 0 ? 100 * held_ms / capacity_ms : 0;
        figures->preemptions = stops;
        figures->max_stops_of_one_job = most;
        figures->lost_device_hours = lost_ms / MS_PER_HOUR;
}

/* Waits side by side by tenant; `ends` (of them, all 0) and `waits_ms` (of jobs) are room. */
static void take_tenant_p95(struct history_figures *figures, const struct jobs *jobs,
                            const struct job_record *records, size_t *ends, int64_t *waits_ms)
{
        size_t from = 0;

        for (uint32_t t = 0; t < jobs->tenants_count; t++) {
                ends[t] = from;
                from += (size_t)figures->tenants[t].jobs;
        }
        for (size_t j = 0; j < jobs->count; j++)
                if (records[j].end_ms != JOB_RECORD_NEVER)
                        waits_ms[ends[jobs->items[j].tenant]++] = records[j].end_ms -
                                                                  jobs->items[j].submit_ms -
                                                                  jobs->items[j].duration_ms;
        for (uint32_t t = 0; t < jobs->tenants_count; t++) {
                size_t count = (size_t)figures->tenants[t].jobs;
                int64_t *first = waits_ms + ends[t] - count;
                if (count > 1)
                        qsort(first, count, sizeof *first, compare_times);
                figures->tenants[t].wait_p95_s = percentile_s(first, count, 95);
        }
}

static void take_tenants(struct history_figures *figures, const struct jobs *jobs,
                         const struct job_record *records)
{
        for (uint32_t t = 0; t < jobs->tenants_count; t++)
                (void)str_copy(figures->tenants[t].name, sizeof figures->tenants[t].name,
                               jobs->tenants[t]);
        for (size_t j = 0; j < jobs->count; j++) {
                const struct job *job = &jobs->items[j];
                struct history_tenant *tenant = &figures->tenants[job->tenant];
                if (records[j].end_ms == JOB_RECORD_NEVER)
                        continue;
                tenant->jobs++;
                tenant->wait_mean_s +=
                        (double)(records[j].end_ms - job->submit_ms - job->duration_ms) / 1000;
                tenant->device_hours += (double)records[j].held_device_ms;
                tenant->stops += records[j].stops;
                tenant->lost_device_hours += (double)records[j].lost_device_ms +
                                             (double)records[j].restart_device_ms;
        }
        for (uint32_t t = 0; t < jobs->tenants_count; t++) {
                figures->tenants[t].device_hours /= MS_PER_HOUR;
                figures->tenants[t].lost_device_hours /= MS_PER_HOUR;
                if (figures->tenants[t].jobs > 0)
                        figures->tenants[t].wait_mean_s /= figures->tenants[t].jobs;
        }
}

int history_figures_take(struct history_figures *figures, const struct jobs *jobs,
                         const struct job_record *records, uint64_t devices,
                         const struct job_window *window, struct err *err)
{
        int64_t *waits_ms = mem_new(jobs->count, sizeof *waits_ms);
        size_t *ends = mem_new(jobs->tenants_count, sizeof *ends);

        assert(!figures->tenants);
        figures->tenants = mem_new(jobs->tenants_count, sizeof *figures->tenants);
        if (!waits_ms || !ends || !figures->tenants) {
                mem_free(waits_ms);
                mem_free(ends);
                mem_free(figures->tenants);
                figures->tenants = NULL;
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        figures->tenants_count = jobs->tenants_count;
        memset(figures->waited_device_hours, 0, sizeof figures->waited_device_hours);
        take_waits(figures, jobs, records, waits_ms);
        take_devices(figures, jobs, records, devices, window);
        take_tenants(figures, jobs, records);
        take_tenant_p95(figures, jobs, records, ends, waits_ms);
        mem_free(waits_ms);
        mem_free(ends);
        return 0;
}

/* ---- several seeds ---- */

static void add_ledger(struct history_figures *sum, const struct history_figures *one)
{
        if (sum->ledger_count == 0) {
                memcpy(sum->ledger, one->ledger, sizeof sum->ledger);
                sum->ledger_count = one->ledger_count;
                return;
        }
        assert(sum->ledger_count == one->ledger_count);
        for (uint32_t b = 0; b < one->ledger_count; b++)
                sum->ledger[b].unit_ms += one->ledger[b].unit_ms;
}

int history_figures_add(struct history_figures *sum, const struct history_figures *one,
                        struct err *err)
{
        if (!sum->tenants) {
                sum->tenants = mem_new(one->tenants_count, sizeof *sum->tenants);
                if (!sum->tenants)
                        return err_set(err, ERR_NOMEM, "out of memory");
                sum->tenants_count = one->tenants_count;
        }
        assert(sum->tenants_count == one->tenants_count);
#define X(name) sum->name += one->name;
        HISTORY_MEANS(X)
#undef X
        for (unsigned g = 0; g < GATES_END; g++)
                sum->waited_device_hours[g] += one->waited_device_hours[g];
        for (uint32_t t = 0; t < one->tenants_count; t++) {
                struct history_tenant *tenant = &sum->tenants[t];
                memcpy(tenant->name, one->tenants[t].name, sizeof tenant->name);
#define X(name) tenant->name += one->tenants[t].name;
                HISTORY_TENANT_MEANS(X)
#undef X
        }
        add_ledger(sum, one);
        if (one->wait_max_s > sum->wait_max_s)
                sum->wait_max_s = one->wait_max_s;
        if (one->max_stops_of_one_job > sum->max_stops_of_one_job)
                sum->max_stops_of_one_job = one->max_stops_of_one_job;
        sum->gap = one->gap; /* of the files, so the same for each seed */
        sum->has_promises = one->has_promises;
        sum->has_gates = one->has_gates;
        sum->has_ledger = one->has_ledger;
        sum->has_eta = one->has_eta;
        return 0;
}

void history_figures_divide(struct history_figures *sum, uint32_t seeds)
{
        assert(seeds >= 1);
#define X(name) sum->name /= seeds;
        HISTORY_MEANS(X)
#undef X
        for (unsigned g = 0; g < GATES_END; g++)
                sum->waited_device_hours[g] /= seeds;
        for (uint32_t t = 0; t < sum->tenants_count; t++) {
#define X(name) sum->tenants[t].name /= seeds;
                HISTORY_TENANT_MEANS(X)
#undef X
        }
}
