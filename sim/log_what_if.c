#include "sim/log_what_if.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "sim/log_play.h"
#include "sim/log_replay.h"
#include "sim/log_story.h"

struct comparing {
        const struct log_story *story;
        const struct log_runs *before, *after;
        struct log_what_if *out;
        double *waits;                  /* scratch: of one tenant's jobs */
        uint32_t *order;                /* jobs by tenant */
        uint32_t *rank;                 /* of a tenant's number: its place by path */
};

/* ---- one job ---- */

static bool counts(const struct log_run *run)
{
        /* What went before it started waited for as long as its owner wanted. */
        return !run->is_refused && (run->first_start_ms != LOG_NEVER || run->end_ms == LOG_NEVER);
}

static int64_t start_of(const struct log_run *run)
{
        return run->first_start_ms == LOG_NEVER ? INT64_MAX : run->first_start_ms;
}

static int64_t wait_ms(const struct comparing *it, uint32_t job, const struct log_run *run)
{
        int64_t until_ms = run->first_start_ms == LOG_NEVER ? it->story->until_ms
                                                            : run->first_start_ms;

        return until_ms - it->story->items[job].submit_ms;
}

/* -1: it starts earlier after; 1: later; 0: at the same time, or not in both. */
static int moved(const struct log_run *before, const struct log_run *after)
{
        int64_t a = start_of(before), b = start_of(after);

        if (a == b || (a != INT64_MAX && b != INT64_MAX && llabs(a - b) <= LOG_ALIKE_MS))
                return 0;
        return b < a ? -1 : 1;
}

/* ---- one side of a tenant ---- */

static int compare_waits(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static void add_run(struct log_side *side, const struct log_run *run)
{
        side->refused += run->is_refused;
        side->started += run->first_start_ms != LOG_NEVER;
        side->waiting += run->first_start_ms == LOG_NEVER && counts(run);
        side->stops += run->stops;
        side->lost_device_hours += run->lost_device_ms / 3600000;
}

static void take_side(const struct comparing *it, const struct log_runs *runs,
                      const uint32_t *jobs, uint32_t count, struct log_side *ret_side)
{
        uint32_t waits = 0;
        double sum = 0;

        *ret_side = (struct log_side){0};
        for (uint32_t j = 0; j < count; j++) {
                const struct log_run *run = &runs->items[jobs[j]];
                add_run(ret_side, run);
                if (!counts(run))
                        continue;
                it->waits[waits] = (double)wait_ms(it, jobs[j], run) / 1000;
                sum += it->waits[waits++];
        }
        if (waits == 0)
                return;
        qsort(it->waits, waits, sizeof *it->waits, compare_waits);
        ret_side->wait_mean_s = sum / waits;
        ret_side->wait_p95_s = it->waits[((uint64_t)waits * 95 + 99) / 100 - 1];
}

static void take_change(const struct comparing *it, const uint32_t *jobs, uint32_t count,
                        struct log_change *ret_change)
{
        ret_change->jobs = count;
        for (uint32_t j = 0; j < count; j++) {
                int way = moved(&it->before->items[jobs[j]], &it->after->items[jobs[j]]);
                ret_change->earlier += way < 0;
                ret_change->later += way > 0;
        }
        take_side(it, it->before, jobs, count, &ret_change->before);
        take_side(it, it->after, jobs, count, &ret_change->after);
}

/* ---- tenants, by path ---- */

struct named {
        const char *path;
        uint32_t number;
};

static int compare_names(const void *a, const void *b)
{
        return strcmp(((const struct named *)a)->path, ((const struct named *)b)->path);
}

/* Places of tenants by path, and of each how many jobs it has. */
static int rank_tenants(struct comparing *it, uint32_t *counts_of, struct err *err)
{
        const struct jobs *names = &it->story->names;
        struct named *list = mem_new(names->tenants_count, sizeof *list);

        if (!list)
                return err_set(err, ERR_NOMEM, "out of memory");
        for (uint32_t t = 0; t < names->tenants_count; t++)
                list[t] = (struct named){names->tenants[t], t};
        qsort(list, names->tenants_count, sizeof *list, compare_names);
        for (uint32_t t = 0; t < names->tenants_count; t++) {
                it->rank[list[t].number] = t;
                (void)str_copy(it->out->tenants[t].tenant, sizeof it->out->tenants[t].tenant,
                               list[t].path);
        }
        mem_free(list);
        for (uint32_t j = 0; j < it->story->count; j++)
                counts_of[it->rank[it->story->items[j].tenant]]++;
        return 0;
}

/* Jobs sorted by their tenant's place, each tenant's as they came. */
static int take_tenants(struct comparing *it, struct err *err)
{
        uint32_t tenants = it->story->names.tenants_count, from = 0;
        uint32_t *counts_of = mem_new(tenants, sizeof *counts_of);
        uint32_t *at = mem_new(tenants, sizeof *at);
        int rc = counts_of && at ? rank_tenants(it, counts_of, err)
                                 : err_set(err, ERR_NOMEM, "out of memory");

        for (uint32_t t = 0; rc == 0 && t < tenants; t++) {
                at[t] = from;
                from += counts_of[t];
        }
        for (uint32_t j = 0; rc == 0 && j < it->story->count; j++)
                it->order[at[it->rank[it->story->items[j].tenant]]++] = j;
        for (uint32_t t = 0; rc == 0 && t < tenants; t++)
                take_change(it, it->order + at[t] - counts_of[t], counts_of[t],
                            &it->out->tenants[t]);
        mem_free(counts_of);
        mem_free(at);
        (void)strcpy(it->out->all.tenant, "all");
        if (rc == 0)
                take_change(it, it->order, it->story->count, &it->out->all);
        return rc;
}

/* ---- jobs ---- */

static bool has_changed(const struct log_run *before, const struct log_run *after)
{
        return moved(before, after) != 0 || before->is_refused != after->is_refused;
}

static int compare_jobs(const void *a, const void *b)
{
        uint64_t x = ((const struct log_job_change *)a)->workload;
        uint64_t y = ((const struct log_job_change *)b)->workload;

        return (x > y) - (x < y);
}

static int take_jobs(struct comparing *it, struct err *err)
{
        const struct log_story *story = it->story;
        uint32_t count = 0;

        it->out->jobs = mem_new(story->count, sizeof *it->out->jobs);
        if (!it->out->jobs)
                return err_set(err, ERR_NOMEM, "out of memory");
        for (uint32_t j = 0; j < story->count; j++) {
                const struct log_run *before = &it->before->items[j];
                const struct log_run *after = &it->after->items[j];
                if (!has_changed(before, after))
                        continue;
                it->out->jobs[count++] = (struct log_job_change){
                        .workload = story->items[j].id,
                        .tenant = it->rank[story->items[j].tenant],
                        .submit_ms = story->items[j].submit_ms,
                        .before_ms = before->first_start_ms,
                        .after_ms = after->first_start_ms,
                        .was_refused = before->is_refused,
                        .is_refused = after->is_refused};
        }
        it->out->jobs_count = count;
        qsort(it->out->jobs, count, sizeof *it->out->jobs, compare_jobs);
        return 0;
}

/* ---- all of it ---- */

static int compare(const struct log_story *story, const struct log_played *played,
                   struct log_what_if *out, struct err *err)
{
        struct comparing it = {.story = story, .before = &story->runs, .after = &played->runs,
                               .out = out};
        int rc = 0;

        assert(it.before->count == it.after->count);
        out->tenants_count = story->names.tenants_count;
        out->tenants = mem_new(out->tenants_count, sizeof *out->tenants);
        it.waits = mem_new(story->count, sizeof *it.waits);
        it.order = mem_new(story->count, sizeof *it.order);
        it.rank = mem_new(out->tenants_count, sizeof *it.rank);
        if (!out->tenants || !it.waits || !it.order || !it.rank)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        if (rc == 0)
                rc = take_tenants(&it, err);
        if (rc == 0)
                rc = take_jobs(&it, err);
        mem_free(it.waits);
        mem_free(it.order);
        mem_free(it.rank);
        return rc;
}

static void take_frame(const struct log_story *story, const struct log_played *played,
                       struct log_what_if *out)
{
        bool had_one = story->from_seq > 0;

        out->from_seq = story->from_seq;
        out->last_seq = story->last_seq;
        out->from_ms = story->from_ms;
        out->until_ms = story->until_ms;
        out->policies_left_out = story->policies > !had_one ? story->policies - !had_one : 0;
        out->never_ended = story->never_ended;
        out->gap = played->gap;
        out->inputs_left_out = played->inputs_left_out;
}

int log_what_if_run(const struct log_replay_setup *setup, const char *policy,
                    struct log_what_if *ret_what_if, struct err *err)
{
        struct log_what_if out = {0};
        struct log_story story;
        struct log_played played = {0};
        int rc = log_story_read(setup, &story, err);

        if (rc == 0)
                rc = log_play(setup, &story, policy, &played, err);
        if (rc == 0) {
                take_frame(&story, &played, &out);
                rc = compare(&story, &played, &out, err);
        }
        log_runs_done(&played.runs);
        log_story_done(&story);
        if (rc)
                log_what_if_done(&out);
        else
                *ret_what_if = out;
        return rc;
}

void log_what_if_done(struct log_what_if *what_if)
{
        mem_free(what_if->tenants);
        mem_free(what_if->jobs);
        *what_if = (struct log_what_if){0};
}
