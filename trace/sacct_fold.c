/* From the runs in sacct's output to jobs: one JobID is one job, mostly. */
#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "trace/sacct_impl.h"

#define REUSED_AFTER_MS INT64_C(86400000) /* a requeue comes sooner after the run's end */

/* Where a run stands in the order of jobs and time. */
struct place {
        uint64_t key;
        int64_t submit_ms, start_ms;
        uint32_t at;
};

static int compare(const void *a, const void *b)
{
        const struct place *x = a, *y = b;

        if (x->key != y->key)
                return x->key < y->key ? -1 : 1;
        if (x->submit_ms != y->submit_ms)
                return x->submit_ms < y->submit_ms ? -1 : 1;
        if (x->start_ms != y->start_ms)
                return x->start_ms < y->start_ms ? -1 : 1;
        return x->at < y->at ? -1 : x->at > y->at;
}

static struct place *put_in_order(const struct sacct_reader *reader)
{
        struct place *places = mem_new(reader->runs_count, sizeof *places);

        if (!places)
                return NULL;
        for (size_t i = 0; i < reader->runs_count; i++) {
                const struct sacct_run *run = &reader->runs[i];
                places[i] =
                        (struct place){run->key, run->job.submit_ms, run->start_ms, (uint32_t)i};
        }
        if (reader->runs_count > 1)
                qsort(places, reader->runs_count, sizeof *places, compare);
        return places;
}

/* What the runs seen so far come to. */
struct life {
        const struct sacct_run *first, *last; /* rows, in order of time */
        const struct sacct_run *last_run;     /* that ran; NULL: none yet */
        int64_t duration_ms;
        uint32_t starts; /* runs, those after a change of size aside */
};

static bool is_same_run(const struct sacct_run *a, const struct sacct_run *b)
{
        return a->job.submit_ms == b->job.submit_ms &&
               (a->start_ms == b->start_ms || a->start_ms == SACCT_NO_TIME ||
                b->start_ms == SACCT_NO_TIME);
}

/* Of two rows of one run: the one that knows more of it. */
static const struct sacct_run *surer(const struct sacct_run *a, const struct sacct_run *b)
{
        return b->stage >= a->stage ? b : a;
}

static bool is_reused(const struct sacct_run *before, const struct sacct_run *run)
{
        int64_t end_ms = before->job.submit_ms;

        if (before->start_ms != SACCT_NO_TIME)
                end_ms = before->start_ms + before->job.duration_ms;
        if (before->end_ms != SACCT_NO_TIME && before->end_ms > end_ms)
                end_ms = before->end_ms;
        if (before->job.user != JOBS_NONE && run->job.user != JOBS_NONE &&
            before->job.user != run->job.user)
                return true;
        return before->stage != SACCT_WAITS && run->job.submit_ms > end_ms + REUSED_AFTER_MS;
}

static void live_on(struct life *life, const struct sacct_run *run)
{
        if (!life->first)
                life->first = run;
        if (run->has_run) {
                life->duration_ms += run->job.duration_ms;
                life->starts += !life->last || life->last->stage != SACCT_RESIZED;
                life->last_run = run;
        }
        life->last = run;
}

static void note(struct sacct_notes *notes, const struct life *life, uint32_t restarts)
{
        const struct sacct_run *run = life->last_run;

        notes->from_request += run->is_from_request;
        notes->uneven += run->is_uneven;
        notes->mixed += run->is_mixed;
        notes->untyped += run->is_untyped;
        notes->runs_missing += restarts > life->starts - 1;
        notes->running += life->last->stage == SACCT_RUNS;
        notes->waits_again +=
                life->last->stage == SACCT_WAITS || life->last->stage == SACCT_STOPPED_AGAIN;
}

/* Adds the job that lived so, or counts why not. */
static int add_job(struct sacct_reader *reader, const struct life *life, struct err *err)
{
        struct jobs *jobs = &reader->jobs;

        if (!life->last_run) {
                jobs->left_never_ran += life->last->tasks;
                jobs->left_out += life->last->tasks;
                return 0;
        }
        if (life->last->stage == SACCT_RUNS && !reader->options.keep_running) {
                jobs->left_still_running++;
                jobs->left_out++;
                return 0;
        }
        struct job job = life->last_run->job;
        job.submit_ms = life->first->job.submit_ms;
        job.eligible_ms = life->first->job.eligible_ms;
        job.line = life->first->job.line;
        job.duration_ms = life->duration_ms > JOB_MS_MAX ? JOB_MS_MAX : life->duration_ms;
        job.end = life->last->job.end;
        if (job.array > 0)
                job.array_at_once = reader->at_once[job.array - 1];
        /* A row that was requeued counts the start that is still to come. */
        uint32_t restarts = life->last->restarts;
        restarts -= restarts > 0 && life->last->stage == SACCT_STOPPED_AGAIN;
        assert(life->starts > 0);
        uint32_t requeues = life->starts - 1 > restarts ? life->starts - 1 : restarts;
        job.requeues = requeues > UINT16_MAX ? UINT16_MAX : (uint16_t)requeues;
        note(&reader->notes, life, restarts);
        return jobs_add(jobs, &job, err);
}

int sacct_fold(struct sacct_reader *reader, struct err *err)
{
        struct place *places = put_in_order(reader);
        const struct sacct_run *run = NULL; /* not yet in the life: a later row may know more */
        struct life life = {0};
        int rc = 0;

        if (!places)
                return err_set(err, ERR_NOMEM, "out of memory");
        for (size_t i = 0; i < reader->runs_count && rc == 0; i++) {
                const struct sacct_run *next = &reader->runs[places[i].at];
                if (run && run->key == next->key && is_same_run(run, next)) {
                        run = surer(run, next);
                        reader->notes.repeated_rows++;
                        continue;
                }
                if (run)
                        live_on(&life, run);
                bool is_new = run && run->key != next->key;
                if (run && !is_new && is_reused(run, next)) {
                        reader->notes.numbers_reused++;
                        is_new = true;
                }
                if (is_new) {
                        rc = add_job(reader, &life, err);
                        life = (struct life){0};
                }
                run = next;
        }
        if (run && rc == 0) {
                live_on(&life, run);
                rc = add_job(reader, &life, err);
        }
        mem_free(places);
        return rc;
}
