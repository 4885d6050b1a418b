/* The state, from the newest good snapshot and the facts behind it. */
#include "controller/core_impl.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "controller/wish.h"
#include "proto/log_brought.h"
#include "proto/policy_doc.h"
#include "proto/pool_image.h"
#include "proto/state_image.h"
#include "store/log.h"
#include "store/snapshot.h"

#define SNAPSHOT_VERSION 1              /* of the body; older ones are read as long as they can */

void core_take_policy(struct core *core, struct policy_doc *policy, uint64_t revision)
{
        policy_doc_free(core->policy);
        core->policy = policy;
        core->policy_revision = revision;
}

/* ---- what is made anew ---- */

/* A core's state while it comes back; takes the place of the old one when all went well. */
struct recovery {
        struct core *core;              /* its fields are the new ones */
        struct log_brought brought;     /* by the inputs before */
        struct core_recovery told;
        struct text submitted;          /* body of the newest input, where it is one; else empty */
        uint64_t seq;                   /* of the record under way */
        int64_t at_ms;
};

static int add_work(void *arg, const struct object *object, struct err *err)
{
        struct core *core = arg;

        return works_add(core->works, object->id, object->tenant, object->name, object->owner,
                         (uint32_t)object->seq, err);
}

/* Live ones as of the log's head: facts of those that have ended since are passed over. */
static int load_works(struct core *core, struct err *err)
{
        const struct object_filter filter = {.kind = OBJECT_WORKLOAD, .live = true,
                                             .oldest_first = true};

        return objects_list(core->view, &filter, add_work, core, err);
}

static int restore_runs(struct core *core, const struct pool_run *runs, size_t count,
                        struct err *err)
{
        for (size_t r = 0; r < count; r++) {
                struct work *work = works_find(core->works, runs[r].id);
                const struct work run = {.id = runs[r].id,
                                         .epoch = runs[r].epoch,
                                         .started_ms = runs[r].started_ms,
                                         .stops = runs[r].stops,
                                         .wish = runs[r].wish == WISH_CANCEL ? WISH_CANCEL
                                                                          : WISH_NONE,
                                         .members_count = runs[r].members_count};
                if (work && !works_restore(work, &run))
                        return err_set(err, ERR_NOMEM, "out of memory");
        }
        return 0;
}

static int load_policy(struct core *core, uint64_t revision, struct err *err)
{
        struct object_copy *copy;
        struct policy_doc *policy;
        int rc;

        if (revision == 0)
                return 0;
        rc = objects_get(core->view, OBJECT_POLICY, revision, &copy, err);
        if (rc)
                return rc;
        rc = log_policy_read(copy->object.body, revision, core->setup.models, &policy, err);
        mem_free(copy);
        if (rc == 0)
                core_take_policy(core, policy, revision);
        return rc;
}

static int read_body(struct core *core, const void *body, size_t size, struct err *err)
{
        struct image_in in = {.at = body, .end = (const unsigned char *)body + size};
        struct pool_image image;
        struct pool_run *runs;
        size_t runs_count;
        int rc = pool_image_read(&in, core->setup.models, core->models_listed,
                                 core->setup.bounds.workloads_max, &image, &runs, &runs_count,
                                 err);

        if (rc)
                return rc;
        core->now_ms = image.now_ms;
        core->words.models = image.models;
        rc = numbers_read(&core->numbers, image.numbers, image.numbers_count, err);
        rc = rc ? rc : restore_runs(core, runs, runs_count, err);
        mem_free(runs);
        if (rc || (rc = load_policy(core, image.policy_revision, err)) < 0)
                return rc;
        rc = state_image_read(in.at, (size_t)(in.end - in.at), core->setup.models,
                              core_tenancy(core), &core->state, err);
        for (unsigned kind = 0; rc == 0 && kind < VOCAB_KINDS_END; kind++)
                core->words.counts[kind] = vocab_count(core->state->vocab, kind);
        return rc;
}

static int load_snapshot(struct recovery *recovery, struct err *err)
{
        struct core *core = recovery->core;
        struct snapshot about;
        void *body;
        size_t size;
        int rc = snapshot_newest(core->view, &about, &body, &size, &recovery->told.snapshots_bad,
                                 err);

        if (rc == -ERR_NOT_FOUND)
                return 0;
        if (rc)
                return rc;
        rc = read_body(core, body, size, err);
        mem_free(body);
        recovery->told.had_snapshot = core->has_begun = true;
        recovery->told.snapshot_seq = about.seq;
        return rc;
}

/* ---- the facts behind it ---- */

/* Only who is refused is asked who it was: the input says, and the fact does not. */
static int tell_refused(struct recovery *recovery, const struct fact *fact, struct err *err)
{
        struct logged_input logged;

        if (fact->kind != FACT_REFUSED || recovery->submitted.size == 0 ||
            state_workload(recovery->core->state, fact->refused.workload) != NONE)
                return 0;
        int rc = log_input_parse(recovery->submitted.bytes, recovery->submitted.size, &logged, err);
        if (rc)
                return rc;
        if (logged.input.request.workload == fact->refused.workload)
                core_tell_refused(recovery->core, &logged.input.request, fact, recovery->at_ms);
        logged_input_done(&logged);
        return 0;
}

static void keep_submitted(struct recovery *recovery, const struct record *record)
{
        static const char start[] = "{\"input\":\"submitted\"";

        recovery->submitted.size = 0;
        if (record->size >= sizeof start && memcmp(record->body, start, sizeof start - 1) == 0)
                text_add_bytes(&recovery->submitted, record->body, record->size);
}

static int see_fact(void *arg, struct fact *fact, struct err *err)
{
        struct recovery *recovery = arg;
        struct core *core = recovery->core;
        struct policy_doc *policy;
        int rc = log_brought_give(&recovery->brought, core->setup.models, fact, err);

        if (rc)
                return rc;
        for (unsigned w = 0; w < core->watches_count; w++)
                if (core->watches[w].begins && core->watches[w].before)
                        core->watches[w].before(core->watches[w].arg, core->state, fact,
                                                recovery->seq, recovery->at_ms);
        rc = tell_refused(recovery, fact, err);
        if (rc)
                return rc;
        if (core_apply(core, fact, recovery->seq, recovery->at_ms) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        policy = log_brought_settle(&recovery->brought, fact);
        if (policy)
                core_take_policy(core, policy, recovery->brought.revision);
        recovery->told.facts++;
        return 0;
}

static int see_note(struct core *core, const struct record *record, struct err *err)
{
        enum work_wish wish;
        uint64_t workload;
        struct work *work;

        for (unsigned w = 0; w < core->watches_count; w++)
                if (core->watches[w].noted)
                        core->watches[w].noted(core->watches[w].arg, core->state, record->body,
                                               record->size, record->at_ms);
        int rc = numbers_note_read(&core->numbers, record->body, record->size, record->seq, err);
        if (rc)
                return rc < 0 ? rc : 0;
        if (!wish_note_read(record->body, record->size, &workload, &wish))
                return 0;
        work = works_find(core->works, workload);
        if (work)
                work->wish = (uint8_t)wish;
        return 0;
}

static int see_record(struct recovery *recovery, const struct record *record, struct err *err)
{
        struct core *core = recovery->core;
        int rc = 0;

        recovery->seq = record->seq;
        recovery->at_ms = record->at_ms;
        recovery->told.records++;
        core->has_begun |= record->kind == RECORD_INPUT;
        if (record->kind == RECORD_INPUT)
                keep_submitted(recovery, record);
        if (recovery->submitted.failed)
                return err_set(err, ERR_NOMEM, "out of memory");
        if (record->kind == RECORD_INPUT)
                rc = log_brought_see(&recovery->brought, record->body, record->size, false, err);
        else if (record->kind == RECORD_FACTS)
                rc = log_facts_parse(record->body, record->size, core->state->vocab,
                                     core->setup.models, &core->words, see_fact, recovery, err);
        else if (record->kind == RECORD_NOTE)
                rc = see_note(core, record, err);
        if (rc)
                return err_prefix(err, "record %llu of the log",
                                  (unsigned long long)record->seq);
        core->last_seq = record->seq;
        if (record->at_ms > core->now_ms)
                core->now_ms = record->at_ms;
        return 0;
}

static int load_facts(struct recovery *recovery, struct err *err)
{
        struct log_cursor *cursor;
        struct record record;
        int rc = log_read(recovery->core->view, recovery->told.snapshot_seq + 1, &cursor, err);

        if (rc == -ERR_NOT_FOUND && recovery->told.snapshot_seq == 0)
                return err_prefix(err, "the log was pruned, and there is no good snapshot");
        if (rc)
                return rc;
        while ((rc = log_next(cursor, &record, err)) > 0) {
                rc = see_record(recovery, &record, err);
                if (rc)
                        break;
        }
        log_cursor_free(cursor);
        return rc;
}

/* ---- all of it ---- */

/* A pool has the bounds that it began with, whatever this start asks for: its first input has them.
 * Where that was pruned, a snapshot has. */
static int find_bounds(struct recovery *recovery, struct state_bounds *ret_bounds, struct err *err)
{
        struct log_cursor *cursor;
        struct record record;
        int rc = log_read(recovery->core->view, 1, &cursor, err);

        *ret_bounds = recovery->core->setup.bounds;
        if (rc)
                return rc == -ERR_NOT_FOUND ? 0 : rc;
        while ((rc = log_next(cursor, &record, err)) > 0 && record.kind != RECORD_INPUT)
                ;                       /* notes may stand before it */
        if (rc > 0)
                rc = log_brought_see(&recovery->brought, record.body, record.size, true, err);
        log_cursor_free(cursor);
        if (rc < 0)
                return err_prefix(err, "the first input of the log");
        if (recovery->brought.has_bounds)
                *ret_bounds = recovery->brought.bounds;
        return 0;
}

static int begin_empty(struct recovery *recovery, struct err *err)
{
        struct core *core = recovery->core;
        struct state_bounds bounds;
        int rc = find_bounds(recovery, &bounds, err);

        if (rc)
                return rc;
        core->state = state_new(core->setup.models, &bounds);
        return core->state ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int recover(struct recovery *recovery, struct err *err)
{
        struct core *core = recovery->core;
        int rc;

        core->works = works_new(core->setup.bounds.workloads_max);
        core->memo = memo_new(core->setup.placement, MEMO_INDEXED);
        if (!core->works || !core->memo)
                return err_set(err, ERR_NOMEM, "out of memory");
        if ((rc = load_works(core, err)) < 0 || (rc = load_snapshot(recovery, err)) < 0)
                return rc;
        core->last_seq = recovery->told.snapshot_seq;
        if (!core->state && (rc = begin_empty(recovery, err)) < 0)
                return rc;
        for (unsigned w = 0; w < core->watches_count; w++)
                if (core->watches[w].begins)
                        core->watches[w].begins(core->watches[w].arg, core->state,
                                                recovery->told.had_snapshot ? core->now_ms : 0);
        rc = load_facts(recovery, err);
        if (rc)
                return rc;
        core->durable_seq = core->last_seq;
        recovery->told.workloads = works_count(core->works);
        rc = objects_last(core->view, OBJECT_WORKLOAD, &core->next_workload, err);
        core->next_workload++;
        if (core->next_workload < core->numbers.workload_min)
                core->next_workload = core->numbers.workload_min;
        return rc;
}

void core_drop_state(struct core *core)
{
        state_free(core->state);
        memo_free(core->memo);
        policy_doc_free(core->policy);
        works_free(core->works);
        core->state = NULL;
        core->memo = NULL;
        core->policy = NULL;
        core->works = NULL;
        core->policy_revision = 0;
}

/* Only what was made anew: the writer's thread reads of the rest meanwhile. */
static void take_over(struct core *core, const struct core *fresh)
{
        core_drop_state(core);
        core->state = fresh->state;
        core->memo = fresh->memo;
        core->policy = fresh->policy;
        core->policy_revision = fresh->policy_revision;
        core->works = fresh->works;
        core->words = fresh->words;
        core->last_seq = fresh->last_seq;
        core->durable_seq = fresh->durable_seq;
        core->now_ms = fresh->now_ms;
        core->has_begun = fresh->has_begun;
        core->next_workload = fresh->next_workload;
        core->numbers = fresh->numbers;
}

int core_recover(struct core *core, struct core_recovery *ret_recovery, struct err *err)
{
        struct core fresh = *core;
        struct recovery recovery = {.core = &fresh};
        int64_t begin = time_monotonic_ns();
        int rc;

        fresh.state = NULL;
        fresh.memo = NULL;
        fresh.policy = NULL;
        fresh.works = NULL;
        fresh.policy_revision = 0;
        fresh.has_begun = false;
        fresh.numbers = (struct numbers){0};
        fresh.words = (struct logged_words){.models = core->models_listed};
        rc = recover(&recovery, err);
        log_brought_done(&recovery.brought);
        text_done(&recovery.submitted);
        if (rc) {
                core_drop_state(&fresh);
                return rc;
        }
        take_over(core, &fresh);
        recovery.told.took_ms = (time_monotonic_ns() - begin) / 1000000;
        *ret_recovery = recovery.told;
        return 0;
}

/* ---- writing one ---- */

static int write_body(const struct core *core, struct text *out)
{
        struct pool_image image = {.policy_revision = core->policy_revision,
                                   .now_ms = core->now_ms,
                                   .models = core->words.models};
        struct pool_run *runs = mem_new(works_count(core->works), sizeof *runs);
        uint32_t cursor = 0, count = 0;
        struct work *work;

        _Static_assert(NUMBERS_WORDS_MAX <= POOL_IMAGE_NUMBERS_MAX, "they have room");
        if (!runs)
                return -ERR_NOMEM;
        image.numbers_count = (uint32_t)numbers_write(&core->numbers, image.numbers);
        while ((work = works_next(core->works, &cursor)))
                if (work->epoch || work->stops || work->wish)
                        runs[count++] = (struct pool_run){.id = work->id,
                                                          .epoch = work->epoch,
                                                          .started_ms = work->started_ms,
                                                          .stops = work->stops,
                                                          .wish = work->wish,
                                                          .members_count = work->members_count};
        pool_image_write(&image, core->setup.models, core->models_listed, runs, count, out);
        mem_free(runs);
        state_image_write(core->state, out);
        return out->failed ? -ERR_NOMEM : 0;
}

static int snapshot_step(void *self, struct store *store, struct err *err)
{
        return snapshot_put_step(self, store, err);
}

/* From the writer's thread. */
static void snapshot_done(void *self, int rc, const struct err *err)
{
        (void)rc;
        (void)err;                      /* the next one will do: nothing is lost */
        snapshot_put_free(self);
}

static struct snapshot about_now(const struct core *core)
{
        return (struct snapshot){.seq = core->last_seq, .version = SNAPSHOT_VERSION,
                                 .at_ms = core->now_ms};
}

static void ignore(void *arg, int rc, const struct err *err)
{
        (void)arg;
        (void)rc;
        (void)err;
}

/* Words that were read in vain stand in no record yet. The log alone must give the same numbers as
 * the snapshot does, so they are logged before it. */
static int log_words(struct core *core, struct err *err)
{
        struct act *act = core_begin(core, "berthd", "", core->now_ms, err);
        int rc;

        if (!act)
                return -ERR_IO;
        rc = core_words(act, err);
        core_commit(act, ignore, NULL);
        return rc ? rc : core_may_act(core, err);
}

int core_finish(struct core *core, struct err *err)
{
        struct text body = {0};
        int rc = log_words(core, err);
        const struct snapshot about = about_now(core);

        core_end_writer(core);
        core->store_failed = true;      /* nothing is taken from here on */
        if (rc == 0)
                rc = write_body(core, &body);
        if (rc == 0)
                rc = snapshot_write(core->setup.store, &about, body.bytes, body.size,
                                    SNAPSHOT_KEEP_USUAL, err);
        text_done(&body);
        return rc;
}

int core_snapshot(struct core *core, struct err *err)
{
        struct text body = {0};
        struct snapshot_put *put;
        int rc = log_words(core, err);
        const struct snapshot about = about_now(core);

        if (rc)
                return rc;
        rc = write_body(core, &body);
        if (rc)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        if (rc == 0)
                rc = snapshot_put_new(&about, body.bytes, body.size, SNAPSHOT_KEEP_USUAL, &put,
                                      err);
        if (rc) {
                text_done(&body);
                return rc;
        }
        const struct writer_chore chore = {.self = put, .step = snapshot_step,
                                           .done = snapshot_done};
        rc = writer_chore(core->writer, &chore, err);
        if (rc)
                snapshot_put_free(put);
        return rc;
}
