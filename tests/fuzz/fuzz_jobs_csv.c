/* fuzz_jobs_csv.c - every accepted history keeps the promises of the header, and a filter only
 * takes away what it says. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/zone.h"
#include "trace/jobs_csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct zone *known_zone(void)
{
        static struct zone *zone;

        if (!zone && zone_load("America/Los_Angeles", &zone, NULL) < 0)
                abort();
        return zone;
}

static void check_job(const struct jobs *jobs, const struct job *job)
{
        assert(job->submit_ms >= 0);
        assert(job->eligible_ms == job->submit_ms);
        assert(job->duration_ms >= 1 && job->duration_ms <= JOB_MS_MAX);
        assert(job->limit_ms >= 0 && job->limit_ms <= JOB_MS_MAX);
        assert(job->tenant < jobs->tenants_count);
        assert(job->class < jobs->classes_count || job->class == JOBS_NONE);
        assert(job->user < jobs->users_count || job->user == JOBS_NONE);
        assert(job_devices(job) <= JOB_DEVICES_MAX);
        assert(job->line >= 2);
}

static void check_jobs(const struct jobs *jobs, const struct jobs_filter *filter)
{
        uint32_t *counts = calloc(jobs->tenants_count, sizeof *counts);

        assert(counts);
        assert(jobs->count >= 1);
        for (size_t j = 0; j < jobs->count; j++) {
                const struct job *job = &jobs->items[j];
                check_job(jobs, job);
                counts[job->tenant]++;
                assert(job->submit_ms >= filter->from_ms && job->submit_ms < filter->until_ms);
                if (j > 0)
                        assert(job[-1].submit_ms < job->submit_ms ||
                               (job[-1].submit_ms == job->submit_ms && job[-1].line < job->line));
        }
        for (uint32_t t = 0; t < jobs->tenants_count; t++) {
                assert(counts[t] >= 1 && counts[t] >= filter->tenants_at_least_jobs);
                assert(jobs->tenants[t][0] != '\0');
        }
        free(counts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct jobs_csv_layout layout = {
                .columns = {"submit", "duration", "devices", "tenant", "limit", "class", "user"}};
        struct jobs_filter few = {.from_ms = INT64_C(1506841200000),
                                  .until_ms = INT64_C(1512115200000),
                                  .tenants_at_least_jobs = 2};
        struct jobs_filter all = JOBS_ALL;
        struct jobs jobs = {0}, less = {0};
        struct err err = {0};

        layout.zone = known_zone();
        if (size > 0 && data[0] == 's') /* a header that starts so: required ones only */
                layout.columns[JOB_COLUMN_LIMIT] = layout.columns[JOB_COLUMN_CLASS] =
                        layout.columns[JOB_COLUMN_USER] = NULL;
        if (jobs_csv_parse("f", (const char *)data, size, &layout, &all, &jobs, &err) < 0) {
                assert(strncmp(err.text, "f:", 2) == 0);
                assert(!jobs.items);
                return 0;
        }
        check_jobs(&jobs, &all);
        assert(jobs.left_out == jobs.left_never_ran);
        if (jobs_csv_parse("f", (const char *)data, size, &layout, &few, &less, &err) == 0) {
                check_jobs(&less, &few);
                assert(less.count + less.left_out == jobs.count + jobs.left_out);
                assert(less.left_out ==
                       less.left_never_ran + less.left_out_of_window + less.left_small_tenant);
        }
        jobs_done(&jobs);
        jobs_done(&less);
        return 0;
}
