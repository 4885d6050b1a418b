#include "sim/log_story.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/accounts.h"
#include "engine/contact.h"
#include "engine/state.h"
#include "proto/log_group.h"
#include "proto/policy_doc.h"
#include "sim/log_pool.h"
#include "sim/log_replay.h"
#include "sim/replay.h"
#include "store/log.h"
#include "store/objects.h"

#define JOBS_OF_LOG_MAX (1u << 28)
#define PROGRESS_EVERY  4096u

struct reading {
        const struct log_replay_setup *setup;
        struct log_story *story;
        struct log_pool pool;
        uint64_t input_seq;             /* of the newest input */
        bool fails;                     /* it tells of a failure */
        bool no_memory;                 /* in a callback */
};

static int no_memory(struct err *err)
{
        return err_set(err, ERR_NOMEM, "out of memory");
}

/* ---- jobs ---- */

static int add_names(struct log_story *story, struct story_job *job, const char *tenant,
                     const char *class, struct err *err)
{
        int rc = jobs_tenant(&story->names, tenant[0] ? tenant : "everybody", &job->tenant, err);

        job->class = JOBS_NONE;
        if (rc == 0 && class[0])
                rc = jobs_class(&story->names, class, &job->class, err);
        return rc;
}

static int add_job(struct log_story *story, const struct story_job *job, struct err *err)
{
        struct story_job *grown = mem_grow(story->items, story->count, &story->room, 1024,
                                           sizeof *grown);
        if (!grown)
                return no_memory(err);
        story->items = grown;
        if (map_set(&story->ids, job->id, story->count) < 0 || !log_runs_add(&story->runs))
                return no_memory(err);
        story->items[story->count++] = *job;
        return 0;
}

static int add_named(struct log_story *story, struct story_job *job,
                     const struct tenancy *tenancy, uint16_t tenant, uint16_t class, uint16_t data,
                     struct err *err)
{
        if (data > 0)
                (void)str_copy(job->label, sizeof job->label, tenancy->labels[data - 1].name);
        int rc = add_names(story, job, tenancy->tenants[tenant].path,
                           tenancy->classes[class].name, err);
        return rc ? rc : add_job(story, job, err);
}

/* Without a policy in force requests name nobody; their documents may still be there. */
static int add_unnamed(struct reading *reading, struct story_job *job, struct err *err)
{
        struct object_copy *copy = NULL;
        int rc = objects_get(reading->setup->store, OBJECT_WORKLOAD, job->id, &copy, err);

        if (rc < 0 && rc != -ERR_NOT_FOUND)
                return rc;
        rc = add_names(reading->story, job, copy ? copy->object.tenant : "",
                       copy ? copy->object.class : "", err);
        mem_free(copy);
        return rc ? rc : add_job(reading->story, job, err);
}

static int submitted(struct reading *reading, const struct request *request, int64_t at_ms,
                     struct err *err)
{
        const struct policy_doc *policy = reading->pool.policy;
        struct story_job job = {.id = request->workload, .submit_ms = at_ms};

        if (!policy)
                return add_unnamed(reading, &job, err);
        if (request->tenant >= policy->tenancy->tenants_count ||
            request->class >= policy->tenancy->classes_count ||
            request->data > policy->tenancy->labels_count)
                return err_set(err, ERR_INPUT, "a request of a tenant or class that is not");
        return add_named(reading->story, &job, policy->tenancy, request->tenant, request->class,
                         request->data, err);
}

/* ---- what a snapshot has ---- */

static int add_live(struct reading *reading, const struct workload *workload, struct err *err)
{
        const struct state *state = reading->pool.state;
        const struct bucket *bucket = &state->buckets[workload->bucket];
        struct story_job job = {.id = workload->id, .submit_ms = workload->submitted_ms};
        int rc = state->accounts
                         ? add_named(reading->story, &job, state->accounts->tenancy,
                                     bucket->tenant, bucket->class, bucket->data, err)
                         : add_unnamed(reading, &job, err);

        if (rc)
                return rc;
        struct log_run *run = &reading->story->runs.items[reading->story->count - 1];
        run->attained_ms = workload->attained_ms;
        run->runs = workload->members_placed > 0;
        if (run->runs) {
                run->first_start_ms = run->since_ms = workload->since_ms;
                run->units = log_units_held(state, workload);
        }
        return 0;
}

static int add_all_live(struct reading *reading, struct err *err)
{
        const struct state *state = reading->pool.state;
        int rc = 0;

        for (uint32_t w = 0; rc == 0 && w < state->workload_slots.high; w++)
                if (state->workloads[w].live)
                        rc = add_live(reading, &state->workloads[w], err);
        return rc;
}

/* ---- failures ---- */

/* What keeps its place now until it has ended, and did not before. */
static int see_torn(struct reading *reading, struct err *err)
{
        const struct state *state = reading->pool.state;
        struct log_story *story = reading->story;

        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *it = &state->workloads[w];
                uint32_t place = it->live ? map_get(&story->ids, it->id) : MAP_NONE;
                if (place == MAP_NONE || story->items[place].torn || !workload_is_torn(state, it))
                        continue;
                if (log_torn_add(&story->torn, reading->input_seq, place, reading->pool.now_ms))
                        return no_memory(err);
                story->items[place].torn = story->torn.count;
        }
        return 0;
}

/* Whatever ended it. */
static int see_end_of_torn(struct reading *reading, uint64_t workload)
{
        struct log_story *story = reading->story;
        uint32_t place = map_get(&story->ids, workload);
        uint32_t torn = place == MAP_NONE ? 0 : story->items[place].torn;

        if (torn == 0)
                return 0;
        story->items[place].torn = 0;
        return log_torn_end(&story->torn, torn - 1, reading->input_seq, reading->pool.now_ms);
}

/* ---- moments ---- */

int log_story_add_moment(struct log_story *story, uint32_t place, const struct moment *moment,
                         struct err *err)
{
        struct story_job *job = &story->items[place];
        bool is_stop = moment->kind == MOMENT_STOPPED;
        uint32_t *first = is_stop ? &job->first_stop : &job->first;
        uint32_t *last = is_stop ? &job->last_stop : &job->last;

        struct moment *grown = mem_grow(story->moments, story->moments_count, &story->moments_room,
                                        1024, sizeof *grown);
        if (!grown)
                return no_memory(err);
        story->moments = grown;
        story->moments[story->moments_count++] = *moment;
        if (*last)
                story->moments[*last - 1].next = story->moments_count;
        else
                *first = story->moments_count;
        *last = story->moments_count;
        return 0;
}

/* What a stop or a loss took, it has not done. */
static int see_taken(struct reading *reading, uint64_t workload)
{
        const struct log_pool *pool = &reading->pool;
        struct log_story *story = reading->story;
        uint32_t place = map_get(&story->ids, workload);
        /* The end itself comes first. */
        struct moment moment = {.seq = reading->input_seq + 1, .kind = MOMENT_TAKEN};

        if (place == MAP_NONE)
                return 0;
        moment.work_ms = log_run_work_ms(&story->runs.items[place], pool->now_ms);
        return log_story_add_moment(story, place, &moment, NULL);
}

static int tell_moment(struct reading *reading, uint64_t workload, enum moment_kind kind,
                       int64_t idle_since_ms, const struct record *record, struct err *err)
{
        struct log_story *story = reading->story;
        uint32_t place = map_get(&story->ids, workload);
        struct moment moment = {.seq = record->seq, .kind = (uint8_t)kind, .idle_ms = -1};

        if (place == MAP_NONE || !story->runs.items[place].runs)
                return 0;
        moment.work_ms = log_run_work_ms(&story->runs.items[place], record->at_ms);
        if (idle_since_ms > 0)
                moment.idle_ms = record->at_ms - idle_since_ms;
        return log_story_add_moment(story, place, &moment, err);
}

/* How long after the end of its notice it was gone: its agent's doing, not the policy's. */
static int tell_stop(struct reading *reading, uint64_t workload, const struct record *record,
                     struct err *err)
{
        struct moment moment = {.seq = record->seq, .kind = MOMENT_STOPPED};
        const struct state *state = reading->pool.state;
        uint32_t place = map_get(&reading->story->ids, workload);
        uint32_t slot = state_workload(state, workload);
        int64_t until_ms = slot == NONE ? 0 : state->workloads[slot].notice_until_ms;

        if (place == MAP_NONE || until_ms == 0)
                return 0;
        if (record->at_ms > until_ms)
                moment.work_ms = record->at_ms - until_ms;
        return log_story_add_moment(reading->story, place, &moment, err);
}

static int tell_input(struct reading *reading, const struct input *input,
                      const struct record *record, struct err *err)
{
        switch (input->kind) {
        case INPUT_SUBMITTED:
                return submitted(reading, &input->request, record->at_ms, err);
        case INPUT_EXITED:
                return tell_moment(reading, input->workload, MOMENT_EXITED, 0, record, err);
        case INPUT_FAILED:
                return tell_moment(reading, input->workload, MOMENT_FAILED, 0, record, err);
        case INPUT_CHECKPOINTED:
                return tell_moment(reading, input->checkpoint.workload, MOMENT_CHECKPOINTED,
                                   record->at_ms - input->checkpoint.age_ms, record, err);
        case INPUT_USE_REPORTED:
                return tell_moment(reading, input->use.workload, MOMENT_USE,
                                   input->use.idle_since_ms, record, err);
        case INPUT_STOPPED:
                return tell_stop(reading, input->workload, record, err);
        case INPUT_POLICY_SET:
                reading->story->policies++;
                return 0;
        /* Told by the log when the work is played again: they do not depend on what is decided. */
        case INPUT_CANCELLED:
        case INPUT_HOLD_CHANGED:
        case INPUT_STOP_ASKED:
        case INPUT_MOVE_ASKED:
        case INPUT_NODE_JOINED:
        case INPUT_NODE_CHANGED:
        case INPUT_NODE_DESCRIBED:
        case INPUT_NODE_FAILED:
        case INPUT_DEVICES_FAILED:
        case INPUT_LOST:
        case INPUT_NODE_REMOVED:
        case INPUT_LAYOUT_OBSERVED:
        case INPUT_PLAN_SET:
        case INPUT_FREEZE_SET:
        case INPUT_MAINTENANCE_SET:
        case INPUT_ETA_SET:
        case INPUT_TICKED:
        case INPUTS_END:
                return 0;
        }
        return 0;
}

/* ---- the log ---- */

static void see_fact(void *arg, const struct log_pool *pool, const struct fact *fact)
{
        struct reading *reading = arg;
        int rc = 0;

        if (fact->kind == FACT_REQUEUED && fact->requeued.cause != RELEASE_FAILED)
                rc = see_taken(reading, fact->requeued.workload);
        reading->no_memory |= rc < 0;
        log_runs_see(&reading->story->runs, pool->state, fact, pool->now_ms);
        if (fact->kind == FACT_RELEASED)
                rc = see_end_of_torn(reading, fact->released.workload);
        else if (fact->kind == FACT_REQUEUED)
                rc = see_end_of_torn(reading, fact->requeued.workload);
        else if (fact->kind == FACT_LAYOUT_SEEN && fact->layout_seen.report.failed)
                rc = log_torn_add(&reading->story->torn, reading->input_seq, MAP_NONE,
                                  pool->now_ms);
        reading->no_memory |= rc < 0;
}

static int see_facts(struct reading *reading, const struct record *record, struct err *err)
{
        int rc = log_pool_follow(&reading->pool, record, err);

        if (rc == 0 && reading->no_memory)
                return no_memory(err);
        if (rc == 0 && reading->fails)
                rc = see_torn(reading, err);
        return rc;
}

static int see_input(struct reading *reading, const struct record *record, struct err *err)
{
        struct logged_input logged;
        int rc = log_input_parse(record->body, record->size, &logged, err);

        if (rc)
                return rc;
        reading->input_seq = record->seq;
        reading->fails = logged.input.kind == INPUT_NODE_FAILED ||
                         logged.input.kind == INPUT_DEVICES_FAILED ||
                         logged.input.kind == INPUT_LAYOUT_OBSERVED;
        rc = log_pool_take_input(&reading->pool, record, &logged, err);
        if (rc == 0)
                rc = tell_input(reading, &logged.input, record, err);
        logged_input_done(&logged);
        return rc ? err_prefix(err, "record %" PRIu64 " of the log", record->seq) : 0;
}

static int see_record(struct reading *reading, const struct record *record, struct err *err)
{
        struct log_story *story = reading->story;
        const struct replay_hooks *hooks = reading->setup->hooks;

        if (story->from_ms == 0)
                story->from_ms = record->at_ms;
        story->until_ms = record->at_ms;
        story->last_seq = record->seq;
        if (hooks && hooks->progress && record->seq % PROGRESS_EVERY == 0)
                hooks->progress(hooks->progress_arg, "reading", record->seq, record->seq + 1);
        if (hooks && hooks->cancel && *hooks->cancel)
                return -ERR_CANCELLED;
        return record->kind == RECORD_INPUT ? see_input(reading, record, err)
                                            : see_facts(reading, record, err);
}

static int read_all(struct reading *reading, struct err *err)
{
        struct log_cursor *cursor;
        struct record record;
        int rc = log_read(reading->setup->store, reading->pool.seq + 1, &cursor, err);

        if (rc)
                return rc;
        while ((rc = log_next(cursor, &record, err)) > 0) {
                rc = see_record(reading, &record, err);
                if (rc)
                        break;
        }
        log_cursor_free(cursor);
        return rc;
}

int log_story_read(const struct log_replay_setup *setup, struct log_story *ret_story,
                   struct err *err)
{
        struct reading reading = {.setup = setup, .story = ret_story};
        int rc;

        *ret_story = (struct log_story){0};
        map_init(&ret_story->ids, JOBS_OF_LOG_MAX);
        log_torn_init(&ret_story->torn);
        ret_story->runs.ids = &ret_story->ids;
        rc = log_replay_begin(setup, &reading.pool, err);
        if (rc)
                return rc;
        reading.pool.before = see_fact;
        reading.pool.arg = &reading;
        ret_story->from_seq = ret_story->last_seq = reading.input_seq = reading.pool.seq;
        rc = add_all_live(&reading, err);
        if (rc == 0)
                rc = see_torn(&reading, err);
        if (rc == 0)
                rc = read_all(&reading, err);
        log_pool_done(&reading.pool);
        return rc ? rc : log_story_guess(ret_story, err);
}

void log_story_done(struct log_story *story)
{
        mem_free(story->items);
        mem_free(story->moments);
        map_done(&story->ids);
        log_torn_done(&story->torn);
        jobs_done(&story->names);
        log_runs_done(&story->runs);
        *story = (struct log_story){0};
}
