/* fuzz_sacct.c - every accepted history keeps the promises of the header, and the same rows once
 * more behind it change nothing. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "trace/jobs.h"
#include "trace/sacct.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_job(const struct jobs *jobs, const struct job *job)
{
        assert(job->submit_ms >= 0);
        assert(job->eligible_ms >= job->submit_ms);
        assert(job->duration_ms > 0);
        assert(job->duration_ms <= JOB_MS_MAX);
        assert(job->limit_ms >= 0);
        assert(job->tenant < jobs->tenants_count);
        assert(job->class < jobs->classes_count || job->class == JOBS_NONE);
        assert(job->user < jobs->users_count || job->user == JOBS_NONE);
        assert(job->array > 0 || job->array_at_once == 0);
        assert(job->line >= 2);
        assert(job->members >= 1);
        assert((uint64_t)job->members * job->devices <= JOB_DEVICES_MAX);
        assert(strlen(job->model) < sizeof job->model);
        assert(strlen(job->profile) < sizeof job->profile);
        assert(job->share_milli < 1000);
        assert(job->devices > 0 || (!job->model[0] && !job->profile[0] && !job->share_milli));
        assert(!job->profile[0] || !job->share_milli);
        assert(job->end <= JOB_STOPPED);
}

static uint64_t sum(const struct jobs *jobs)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < jobs->count; i++)
                sum += (uint64_t)jobs->items[i].duration_ms + jobs->items[i].requeues +
                       jobs->items[i].array_at_once;
        return sum;
}

static void check_twice(const char *text, size_t size, const struct sacct_options *options,
                        const struct jobs *jobs)
{
        char *twice = malloc(2 * size + 1);
        struct jobs again = {0};

        assert(twice);
        memcpy(twice, text, size);
        twice[size] = '\n';
        memcpy(twice + size + 1, text, size);
        int rc = sacct_parse("f", twice, 2 * size + 1, options, &JOBS_ALL, &again, NULL, NULL);
        assert(rc == 0);
        assert(again.count == jobs->count);
        assert(again.tenants_count == jobs->tenants_count);
        assert(again.left_out == jobs->left_out);
        assert(again.left_steps == 2 * jobs->left_steps);
        assert(sum(&again) == sum(jobs));
        jobs_done(&again);
        free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct sacct_options options = {
                .tenant = (uint8_t)(size / 2 % SACCT_TENANTS_END),
                .class = (uint8_t)(size / 3 % SACCT_CLASSES_END),
                .model = (uint8_t)(size / 5 % SACCT_MODELS_END),
                .keep_running = size % 2,
        };
        struct jobs jobs = {0};
        struct sacct_notes notes = {0};
        struct err err = {0};

        if (sacct_parse("f", (const char *)data, size, &options, &JOBS_ALL, &jobs, &notes, &err) <
            0) {
                assert(strncmp(err.text, "f:", 2) == 0);
                assert(!jobs.items);
                return 0;
        }
        assert(jobs.count >= 1);
        assert(jobs.left_out == jobs.left_never_ran + jobs.left_still_running);
        for (size_t i = 0; i < jobs.count; i++) {
                check_job(&jobs, &jobs.items[i]);
                assert(i == 0 || jobs.items[i - 1].submit_ms <= jobs.items[i].submit_ms);
        }
        /* The mark in front of a first line makes another line of it. */
        if (size < 3 || memcmp(data, "\xef\xbb\xbf", 3) != 0)
                check_twice((const char *)data, size, &options, &jobs);
        jobs_done(&jobs);
        return 0;
}
