/* How long work runs whose end the log does not tell: as the middle one of its tenant's jobs that
 * ended well, or of all tenants'; longer than it did run, in any case. */
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "sim/log_story.h"

/* Run times of jobs that ended well, by tenant. */
struct length {
        uint32_t tenant;
        int64_t work_ms;
};

struct lengths {
        struct length *items;
        uint32_t count;
        int64_t *middle_ms;             /* of each tenant; 0: nobody of it ended well */
        int64_t middle_of_all_ms;
};

static int compare_lengths(const void *a, const void *b)
{
        const struct length *x = a, *y = b;

        if (x->tenant != y->tenant)
                return x->tenant < y->tenant ? -1 : 1;
        return (x->work_ms > y->work_ms) - (x->work_ms < y->work_ms);
}

static void take_lengths(const struct log_story *story, struct lengths *lengths)
{
        for (uint32_t j = 0; j < story->count; j++) {
                const struct story_job *job = &story->items[j];
                const struct moment *last = job->last ? &story->moments[job->last - 1] : NULL;
                if (last && last->kind == MOMENT_EXITED)
                        lengths->items[lengths->count++] = (struct length){job->tenant,
                                                                           last->work_ms};
        }
        qsort(lengths->items, lengths->count, sizeof *lengths->items, compare_lengths);
}

static void take_middles(struct lengths *lengths)
{
        uint32_t first = 0;

        for (uint32_t i = 1; i <= lengths->count; i++) {
                uint32_t tenant = lengths->items[first].tenant;
                if (i < lengths->count && lengths->items[i].tenant == tenant)
                        continue;
                lengths->middle_ms[tenant] = lengths->items[first + (i - first) / 2].work_ms;
                first = i;
        }
        for (uint32_t i = 0; i < lengths->count; i++)
                lengths->items[i].tenant = 0;
        qsort(lengths->items, lengths->count, sizeof *lengths->items, compare_lengths);
        if (lengths->count > 0)
                lengths->middle_of_all_ms = lengths->items[lengths->count / 2].work_ms;
}

static int guess(struct log_story *story, const struct lengths *lengths, struct err *err)
{
        int rc = 0;

        for (uint32_t j = 0; rc == 0 && j < story->count; j++) {
                const struct log_run *run = &story->runs.items[j];
                int64_t middle_ms = lengths->middle_ms[story->items[j].tenant];
                int64_t so_far_ms = log_run_work_ms(run, story->until_ms);
                if (so_far_ms < run->reached_ms)
                        so_far_ms = run->reached_ms;
                struct moment moment = {.seq = story->last_seq + 1, .kind = MOMENT_EXITED,
                                        .idle_ms = -1};
                if (run->end_ms != LOG_NEVER || run->is_refused)
                        continue;
                story->never_ended++;
                moment.work_ms = middle_ms ? middle_ms : lengths->middle_of_all_ms;
                if (moment.work_ms == 0)
                        continue;
                if (moment.work_ms <= so_far_ms)
                        moment.work_ms = so_far_ms + 1;
                rc = log_story_add_moment(story, j, &moment, err);
        }
        return rc;
}

int log_story_guess(struct log_story *story, struct err *err)
{
        struct lengths lengths = {0};
        int rc;

        lengths.items = mem_new(story->count, sizeof *lengths.items);
        lengths.middle_ms = mem_new(story->names.tenants_count, sizeof *lengths.middle_ms);
        if (lengths.items && lengths.middle_ms) {
                take_lengths(story, &lengths);
                take_middles(&lengths);
                rc = guess(story, &lengths, err);
        } else {
                rc = err_set(err, ERR_NOMEM, "out of memory");
        }
        mem_free(lengths.items);
        mem_free(lengths.middle_ms);
        return rc;
}
