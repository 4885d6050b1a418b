#include "sim/log_play.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/accounts.h"
#include "engine/contact.h"
#include "engine/decide.h"
#include "proto/policy_doc.h"
#include "proto/scenario.h"
#include "sim/log_pool.h"
#include "sim/log_replay.h"
#include "sim/log_story.h"
#include "sim/policy_load.h"
#include "sim/replay.h"
#include "sim/timeline.h"
#include "store/log.h"

#define PROGRESS_EVERY 4096u

/* Where a job is in its story. */
struct course {
        uint32_t at;                    /* the next moment, + 1; 0: none */
        uint32_t from;                  /* where its run begins, + 1: a stop goes no further back */
        uint32_t stop;                  /* its next stop, + 1; 0: none that was recorded */
        uint32_t run;                   /* number of its start; events of others are void */
        bool torn;                      /* it keeps its place until it has ended */
};

/* What an event is: the lower bits of its `run`. */
enum comes { COMES_MOMENT, COMES_STOP, COMES_END_OF_TORN };
#define COMES_BITS 2

struct play {
        const struct log_replay_setup *setup;
        const struct log_story *story;
        struct log_played *played;
        struct log_pool pool;
        struct memo *memo;
        struct policy_doc *policy;      /* until it is in force */
        bool is_set;
        uint16_t *tenants, *classes;    /* of the policy, by the story's numbers */
        struct course *courses;
        struct timeline timeline;
        int64_t now_ms;
        bool failed;                    /* out of memory in a callback */
        struct logged_input input;      /* whose facts, and so words, come next */
        uint64_t input_seq;             /* its record */
        bool has_input;
};

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

static void see_more(struct play *play, const struct fact *fact)
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

static void see(void *arg, const struct fact *fact)
{
        struct play *play = arg;

        log_runs_see(&play->played->runs, play->pool.state, fact, play->now_ms);
        see_more(play, fact);
}

static int feed(struct play *play, const struct input *input, struct err *err)
{
        int rc = engine_run(play->pool.state, play->memo, input, play->now_ms, see, play, err);

        return rc == 0 && play->failed ? err_set(err, ERR_NOMEM, "out of memory") : rc;
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
        return feed(play, &input, err);
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
        int rc = feed(play, &input, err);
        if (rc == 0 && play->courses[job].run == run)
                expect_moment(play, job);
        return rc;
}

static int end_torn(struct play *play, uint32_t job, struct err *err)
{
        const struct input input = {.kind = INPUT_LOST, .workload = play->story->items[job].id};

        return feed(play, &input, err);
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

/* Everything before that record of that time. */
static int happen_until(struct play *play, int64_t at_ms, uint64_t seq, struct err *err)
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

/* ---- the policy ---- */

static int set_policy(struct play *play, struct err *err)
{
        struct input input = {.kind = INPUT_POLICY_SET};
        int rc;

        if (play->is_set)
                return 0;
        input.accounts = accounts_new(play->policy->tenancy, err);
        if (!input.accounts)
                return -ERR_NOMEM;
        rc = feed(play, &input, err);
        if (play->pool.state->accounts != input.accounts) {
                accounts_free(input.accounts);
                return rc;
        }
        policy_doc_free(play->pool.policy);
        play->pool.policy = play->policy;
        play->policy = NULL;
        play->is_set = true;
        return rc;
}

static uint16_t label_of(struct play *play, const struct story_job *job)
{
        int label = job->label[0]
                            ? tenancy_label_find(play->pool.policy->tenancy, job->label)
                            : -1;

        return (uint16_t)(label + 1);
}

/* Whom it waits for may have ended before it came, here. */
static void keep_live_after(const struct play *play, struct request *request)
{
        uint8_t kept = 0;

        for (uint8_t a = 0; a < request->after_count; a++)
                if (state_workload(play->pool.state, request->after[a]) != NONE)
                        request->after[kept++] = request->after[a];
        memset(request->after + kept, 0, (AFTER_MAX - kept) * sizeof request->after[0]);
        request->after_count = kept;
}

static int submit(struct play *play, const struct input *logged, struct err *err)
{
        uint32_t job = map_get(&play->story->ids, logged->request.workload);
        struct input input = *logged;
        int rc = set_policy(play, err);

        if (rc)
                return rc;
        const struct story_job *it = &play->story->items[job];
        input.request.tenant = play->tenants[it->tenant];
        input.request.class = play->classes[it->class == JOBS_NONE
                                                    ? play->story->names.classes_count
                                                    : it->class];
        input.request.data = label_of(play, it);
        keep_live_after(play, &input.request);
        rc = feed(play, &input, err);
        if (rc == -ERR_NOMEM)
                return rc;
        if (rc)                         /* this policy knows no way to mean it */
                play->played->runs.items[job].is_refused = true;
        return 0;
}

/* ---- the log ---- */

/* Of what is told at its time: whether it means anything here is the engine's to say. */
static int tell(struct play *play, struct input *input, struct err *err)
{
        struct err why = {0};
        int rc = log_brought_give_input(&play->pool.brought, play->pool.models, input, err);

        if (rc)
                return rc;
        rc = feed(play, input, &why);
        if (rc == -ERR_NOMEM)
                return err_set(err, ERR_NOMEM, "out of memory");
        play->played->inputs_left_out += rc != 0;
        return 0;
}

static uint64_t workload_of(const struct input *input)
{
        return input->kind == INPUT_HOLD_CHANGED ? input->hold.workload
               : input->kind == INPUT_STOP_ASKED ? input->stop.workload
               : input->kind == INPUT_MOVE_ASKED ? input->move.workload
                                                 : input->workload;
}

static bool runs_here(const struct play *play, uint64_t workload)
{
        uint32_t slot = state_workload(play->pool.state, workload);

        return slot != NONE && play->pool.state->workloads[slot].members_placed > 0;
}

/* What a failure took a part of, here, takes as long to end as what it took a part of there. */
static void tear(struct play *play, uint64_t failure_seq)
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
}

static int fail(struct play *play, struct input *input, struct err *err)
{
        int rc = tell(play, input, err);

        tear(play, play->input_seq);
        return rc == 0 && play->failed ? err_set(err, ERR_NOMEM, "out of memory") : rc;
}

/* Other steps were planned here; that the device broke is so all the same. */
static int fail_layout(struct play *play, const struct layout_report *report, struct err *err)
{
        struct input input = {.kind = INPUT_DEVICES_FAILED,
                              .broke = {report->node, (uint16_t)(1u << report->device)}};

        return report->failed && log_torn_has(&play->story->torn, play->input_seq)
                       ? fail(play, &input, err)
                       : 0;
}

/* Unless that was the end of something torn: how that ends here is known (tear()). */
static int lose(struct play *play, struct input *input, struct err *err)
{
        return !log_torn_has_end(&play->story->torn, play->input_seq) &&
                               runs_here(play, input->workload)
                       ? tell(play, input, err)
                       : 0;
}

static int take_input(struct play *play, struct input *input, struct err *err)
{
        switch (input->kind) {
        case INPUT_LOST:
                return lose(play, input, err);
        case INPUT_NODE_FAILED:
        case INPUT_DEVICES_FAILED:
                return fail(play, input, err);
        case INPUT_LAYOUT_OBSERVED:
                return fail_layout(play, &input->layout, err);
        case INPUT_SUBMITTED:
                return submit(play, input, err);
        case INPUT_POLICY_SET:
                return set_policy(play, err);
        case INPUT_CANCELLED:
        case INPUT_HOLD_CHANGED:
        case INPUT_STOP_ASKED:
        case INPUT_MOVE_ASKED:
                if (state_workload(play->pool.state, workload_of(input)) == NONE)
                        return 0;       /* it has ended, here */
                return tell(play, input, err);
        case INPUT_NODE_JOINED:
        case INPUT_NODE_CHANGED:
        case INPUT_NODE_DESCRIBED:
        case INPUT_NODE_REMOVED:
        case INPUT_FREEZE_SET:
        case INPUT_MAINTENANCE_SET:
        case INPUT_TICKED:
                return tell(play, input, err);
        case INPUT_EXITED:
        case INPUT_FAILED:
        case INPUT_STOPPED:
        case INPUT_CHECKPOINTED:
        case INPUT_USE_REPORTED:
        case INPUT_PLAN_SET:
        case INPUT_ETA_SET:
        case INPUTS_END:
                return 0;               /* it follows from running, or is left out */
        }
        return 0;
}

static int keep_input(struct play *play, const struct record *record, struct err *err)
{
        int rc;

        if (play->has_input)
                return err_set(err, ERR_INPUT, "an input without facts stands before it");
        rc = log_input_parse(record->body, record->size, &play->input, err);
        if (rc)
                return rc;
        play->has_input = true;
        play->input_seq = record->seq;
        return log_pool_take_input(&play->pool, record, &play->input, err);
}

static int take_facts(struct play *play, const struct record *record, struct err *err)
{
        int rc = log_words_parse(record->body, record->size, play->pool.state->vocab,
                                 play->pool.models, &play->pool.words, err);

        if (!play->has_input)
                return rc;              /* words alone */
        if (rc == 0)
                rc = happen_until(play, record->at_ms, record->seq - 1, err);
        play->now_ms = play->pool.now_ms;
        if (rc == 0)
                rc = take_input(play, &play->input.input, err);
        logged_input_done(&play->input);
        play->has_input = false;
        return rc;
}

static int see_record(struct play *play, const struct record *record, struct err *err)
{
        const struct replay_hooks *hooks = play->setup->hooks;
        int rc = 0;

        if (hooks && hooks->progress && record->seq % PROGRESS_EVERY == 0)
                hooks->progress(hooks->progress_arg, "playing",
                                record->seq - play->story->from_seq,
                                play->story->last_seq - play->story->from_seq);
        if (hooks && hooks->cancel && *hooks->cancel)
                return -ERR_CANCELLED;
        if (record->kind == RECORD_INPUT)
                rc = keep_input(play, record, err);
        else if (record->kind == RECORD_FACTS)
                rc = take_facts(play, record, err);
        return rc ? err_prefix(err, "record %" PRIu64 " of the log", record->seq) : 0;
}

static int play_all(struct play *play, struct err *err)
{
        struct log_cursor *cursor;
        struct record record;
        int rc = log_read(play->setup->store, play->pool.seq + 1, &cursor, err);

        if (rc)
                return rc;
        while ((rc = log_next(cursor, &record, err)) > 0 && record.seq <= play->story->last_seq) {
                rc = see_record(play, &record, err);
                if (rc)
                        break;
        }
        log_cursor_free(cursor);
        return rc < 0 ? rc : 0;
}

/* ---- life ---- */

static int load_policy(struct play *play, const char *path, struct err *err)
{
        struct scenario_policy policy = {.rule = RULE_FILE};
        const struct jobs *names = &play->story->names;

        if (!str_copy(policy.path, sizeof policy.path, path))
                return err_set(err, ERR_INPUT, "the path of the policy is longer than %d bytes",
                               SCENARIO_PATH_MAX - 1);
        play->tenants = mem_new(names->tenants_count + 1, sizeof *play->tenants);
        play->classes = mem_new(names->classes_count + 1, sizeof *play->classes);
        if (!play->tenants || !play->classes)
                return err_set(err, ERR_NOMEM, "out of memory");
        return policy_load(&policy, play->pool.models, "the log", names, &play->policy,
                           play->tenants, play->classes, &play->played->gap, err);
}

/* Every job as it stands where the log begins: those of its snapshot are there already. */
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

static int start(struct play *play, const char *policy, struct err *err)
{
        int rc = log_replay_begin(play->setup, &play->pool, err);

        if (rc)
                return rc;
        play->now_ms = play->pool.now_ms;
        play->memo = memo_new((struct policy){.kind = POLICY_AUTO}, MEMO_INDEXED);
        if (!play->memo)
                return err_set(err, ERR_NOMEM, "out of memory");
        if ((rc = load_policy(play, policy, err)) < 0 || (rc = start_courses(play, err)) < 0)
                return rc;
        const struct state *state = play->pool.state;
        for (uint32_t w = 0; w < state->workload_slots.high; w++)
                if (state->workloads[w].live)
                        resume(play, &state->workloads[w]);
        /* One that is in force is replaced at once; else the new one comes when the log's does. */
        rc = play->pool.policy ? set_policy(play, err) : 0;
        tear(play, play->story->from_seq);
        return rc == 0 && play->failed ? err_set(err, ERR_NOMEM, "out of memory") : rc;
}

int log_play(const struct log_replay_setup *setup, const struct log_story *story,
             const char *policy, struct log_played *ret_played, struct err *err)
{
        struct play play = {.setup = setup, .story = story, .played = ret_played};
        int rc;

        *ret_played = (struct log_played){0};
        rc = start(&play, policy, err);
        if (rc == 0)
                rc = play_all(&play, err);
        if (rc == 0)
                rc = happen_until(&play, story->until_ms, UINT64_MAX, err);
        if (play.has_input)
                logged_input_done(&play.input);
        timeline_done(&play.timeline);
        memo_free(play.memo);
        log_pool_done(&play.pool);
        policy_doc_free(play.policy);
        mem_free(play.tenants);
        mem_free(play.classes);
        mem_free(play.courses);
        return rc;
}
