/* What jobs do once they run: each goes through its moments of the story, wherever it starts. */
#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/contact.h"
#include "sim/log_play_impl.h"

/* What an event is: the lower bits of its `run`. */
enum comes { COMES_MOMENT, COMES_STOP, COMES_END_OF_TORN };
#define COMES_BITS 2

/* ---- what will happen ---- */

/* What comes at one time comes in the order of the log, as far as it can; what ends something torn
 * behind all else of its record: it may have ended by itself. */
static uint32_t order_of(const struct play *play, uint64_t seq, bool is_last)
{
        uint64_t order = seq - play->story->from_seq;

        return order < UINT32_MAX / 2 ? (uint32_t)order * 2 + is_last : UINT32_MAX;
}

static void expect(struct play *play, uint32_t job, enum comes what, int64_t at_ms, uint64_t seq)
{
        const struct event event = {.at_ms = at_ms < play->now_ms ? play->now_ms : at_ms,
                                    .kind = order_of(play, seq,
                                                     what == COMES_END_OF_TORN),
                                    .what = job,
                                    .run = play->courses[job].run << COMES_BITS | what};

        if (!timeline_add(&play->timeline, event))
                play->failed = true;
}

static void expect_moment(struct play *play, uint32_t job)
{
        const struct log_run *run = &play->played->runs.items[job];
        const struct course *course = &play->courses[job];

        if (course->at == 0)
                return;
        const struct moment *moment = &play->story->moments[course->at - 1];
        expect(play, job, COMES_MOMENT, run->since_ms + moment->work_ms - run->attained_ms,
               moment->seq);
}

static void expect_stop(struct play *play, uint32_t job, int64_t until_ms)
{
        uint32_t at = play->courses[job].stop;
        const struct moment *moment = at ? &play->story->moments[at - 1] : NULL;

        expect(play, job, COMES_STOP, until_ms + (moment ? moment->work_ms : 0),
               moment ? moment->seq : play->story->last_seq);
}

/* After a stop: what it has saved is not done again. Where the log took the run away as well, and
 * nothing more is told of it, the next one goes as it went there. */
static void rewind_course(struct play *play, uint32_t job)
{
        struct course *course = &play->courses[job];
        const struct moment *next = course->at ? &play->story->moments[course->at - 1] : NULL;
        int64_t attained_ms = play->played->runs.items[job].attained_ms;

        if (next && next->kind == MOMENT_TAKEN)
                course->from = next->next;
        course->run++;
        course->torn = false;
        course->at = course->from;
        while (course->at && play->story->moments[course->at - 1].work_ms <= attained_ms)
                course->at = play->story->moments[course->at - 1].next;
}

void play_jobs_see(struct play *play, const struct fact *fact)
{
        uint64_t workload = fact->kind == FACT_ALLOCATED   ? fact->allocated.workload
                            : fact->kind == FACT_REQUEUED  ? fact->requeued.workload
                            : fact->kind == FACT_RELEASED  ? fact->released.workload
                            : fact->kind == FACT_NOTICED   ? fact->noticed.workload
                                                           : 0;
        uint32_t job = workload ? map_get(&play->story->ids, workload) : MAP_NONE;

        if (job == MAP_NONE)
                return;
        if (fact->kind == FACT_ALLOCATED && fact->allocated.member == 0)
                expect_moment(play, job);
        else if (fact->kind == FACT_NOTICED)
                expect_stop(play, job, fact->noticed.until_ms);
        else if (fact->kind != FACT_ALLOCATED)
                rewind_course(play, job);
}

/* ---- what happens ---- */

static int stop(struct play *play, uint32_t job, struct err *err)
{
        uint64_t workload = play->story->items[job].id;
        const struct input input = {.kind = INPUT_STOPPED, .workload = workload};
        struct course *course = &play->courses[job];
        uint32_t slot = state_workload(play->pool.state, workload);
        int64_t until_ms = slot == NONE ? 0 : play->pool.state->workloads[slot].notice_until_ms;

        /* The notice may have been withdrawn, and another one given since. */
        if (until_ms == 0 || until_ms > play->now_ms)
                return 0;
        if (course->stop)
                course->stop = play->story->moments[course->stop - 1].next;
        return play_feed(play, &input, err);
}

/* What the next run reported to get as far again is over here. */
static void go_on(struct play *play, uint32_t job, const struct moment *taken)
{
        struct course *course = &play->courses[job];

        while (course->at) {
                const struct moment *it = &play->story->moments[course->at - 1];
                if ((it->kind != MOMENT_USE && it->kind != MOMENT_CHECKPOINTED) ||
                    it->work_ms > taken->work_ms)
                        break;
                course->at = it->next;
        }
        expect_moment(play, job);
}

static int reach(struct play *play, uint32_t job, struct err *err)
{
        const struct moment *moment = &play->story->moments[play->courses[job].at - 1];
        const uint64_t workload = play->story->items[job].id;
        struct input input = {.workload = workload};
        uint32_t run = play->courses[job].run;

        play->courses[job].at = moment->next;
        switch ((enum moment_kind)moment->kind) {
        case MOMENT_EXITED:
                input.kind = INPUT_EXITED;
                break;
        case MOMENT_FAILED:
                play->courses[job].from = moment->next;
                input.kind = INPUT_FAILED;
                break;
        case MOMENT_CHECKPOINTED:
                input = (struct input){.kind = INPUT_CHECKPOINTED};
                input.checkpoint.workload = workload;
                input.checkpoint.age_ms = moment->idle_ms > 0 ? moment->idle_ms : 0;
                break;
        case MOMENT_USE:
                input = (struct input){.kind = INPUT_USE_REPORTED};
                input.use.workload = workload;
                input.use.idle_since_ms =
                        moment->idle_ms < 0 ? 0 : play->now_ms - moment->idle_ms;
                break;
        case MOMENT_TAKEN:
                go_on(play, job, moment);
                return 0;
        case MOMENT_STOPPED:
                assert(false);          /* they are a list of their own */
        }
        /* Who can do without what it lost may end well; else that is why. */
        if (input.kind == INPUT_FAILED && play->courses[job].torn)
                input.kind = INPUT_LOST;
        int rc = play_feed(play, &input, err);
        if (rc == 0 && play->courses[job].run == run)
                expect_moment(play, job);
        return rc;
}

static int end_torn(struct play *play, uint32_t job, struct err *err)
{
        const struct input input = {.kind = INPUT_LOST, .workload = play->story->items[job].id};

        return play_feed(play, &input, err);
}

static int happen(struct play *play, const struct event *event, struct err *err)
{
        const struct log_run *run = &play->played->runs.items[event->what];
        uint32_t number = play->courses[event->what].run << COMES_BITS;

        if (!run->runs || event->run >> COMES_BITS != number >> COMES_BITS)
                return 0;
        switch ((enum comes)(event->run - number)) {
        case COMES_MOMENT:
                return reach(play, event->what, err);
        case COMES_STOP:
                return stop(play, event->what, err);
        case COMES_END_OF_TORN:
                return end_torn(play, event->what, err);
        }
        return 0;
}

int play_jobs_until(struct play *play, int64_t at_ms, uint64_t seq, struct err *err)
{
        for (;;) {
                const struct event *first = timeline_first(&play->timeline);
                if (!first || first->at_ms > at_ms ||
                    (first->at_ms == at_ms && first->kind >= order_of(play, seq, false)))
                        return 0;
                struct event event = *first;
                timeline_pop(&play->timeline);
                play->now_ms = event.at_ms;
                int rc = happen(play, &event, err);
                if (rc)
                        return rc;
        }
}

/* ---- failures ---- */

int play_jobs_tear(struct play *play, uint64_t failure_seq, struct err *err)
{
        const struct state *state = play->pool.state;

        for (uint32_t slot = 0; slot < state->workload_slots.high; slot++) {
                const struct workload *it = &state->workloads[slot];
                uint32_t job = it->live ? map_get(&play->story->ids, it->id) : MAP_NONE;
                if (job == MAP_NONE || play->courses[job].torn || !workload_is_torn(state, it))
                        continue;
                const struct tearing *like = log_torn_like(&play->story->torn, failure_seq, job);
                play->courses[job].torn = true;
                if (!like)
                        expect(play, job, COMES_END_OF_TORN, play->now_ms, failure_seq);
                else if (like->took_ms != TORN_FOR_EVER)
                        expect(play, job, COMES_END_OF_TORN, play->now_ms + like->took_ms,
                               like->end_seq);
        }
        return play->failed ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

/* ---- where the log begins ---- */

static int start_courses(struct play *play, struct err *err)
{
        const struct log_story *story = play->story;

        play->courses = mem_new(story->count, sizeof *play->courses);
        if (!play->courses)
                return err_set(err, ERR_NOMEM, "out of memory");
        play->played->runs.ids = &story->ids;
        for (uint32_t j = 0; j < story->count; j++) {
                if (!log_runs_add(&play->played->runs))
                        return err_set(err, ERR_NOMEM, "out of memory");
                play->courses[j] = (struct course){.at = story->items[j].first,
                                                   .from = story->items[j].first,
                                                   .stop = story->items[j].first_stop};
        }
        return 0;
}

static void resume(struct play *play, const struct workload *workload)
{
        uint32_t job = map_get(&play->story->ids, workload->id);
        struct log_run *run = &play->played->runs.items[job];

        run->attained_ms = workload->attained_ms;
        run->runs = workload->members_placed > 0;
        if (!run->runs)
                return;
        run->first_start_ms = run->since_ms = workload->since_ms;
        run->units = log_units_held(play->pool.state, workload);
        expect_moment(play, job);
        if (workload->notice_until_ms)
                expect_stop(play, job, workload->notice_until_ms);
}

int play_jobs_start(struct play *play, struct err *err)
{
        const struct state *state = play->pool.state;
        int rc = start_courses(play, err);

        for (uint32_t w = 0; rc == 0 && w < state->workload_slots.high; w++)
                if (state->workloads[w].live)
                        resume(play, &state->workloads[w]);
        return rc;
}
