/* The state, from the newest good snapshot and the facts behind it. */
#include "controller/core_impl.h"

#include <assert.h>
#include <string.h>

#include "base/doc.h"
#include "base/mem.h"
#include "base/time.h"
#include "controller/wish.h"
#include "engine/accounts.h"
#include "engine/maintenance.h"
#include "proto/image.h"
#include "proto/kind.h"
#include "proto/policy_doc.h"
#include "proto/state_image.h"
#include "store/log.h"
#include "store/snapshot.h"

#define SNAPSHOT_VERSION 1              /* of the body; older ones are read as long as they can */

/* ---- the policy ---- */

int core_read_policy(struct core *core, const char *text, uint64_t revision,
                     struct policy_doc **ret_policy, struct err *err)
{
        const struct doc_node *root;
        struct policy_doc *policy;
        struct doc *doc;
        int rc = doc_read_yaml("policy", text, strlen(text), &doc, err);

        if (rc)
                return rc;
        rc = kind_need(doc, "Policy", &root, err);
        if (rc == 0)
                rc = policy_doc_decode(root, core->setup.models, NULL, &policy, err);
        doc_free(doc);
        if (rc)
                return rc;
        policy->tenancy->revision = revision;
        *ret_policy = policy;
        return 0;
}

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
        char *coming;                   /* the policy of the input before, as it came */
        uint64_t coming_revision;
        struct maintenance *windows;    /* the same for maintenance */
        struct core_recovery told;
        uint64_t seq;                   /* of the record under way */
        int64_t at_ms;
};

static const struct field run_list[] = {
        FIELD(work, id),     FIELD(work, epoch), FIELD(work, started_ms),
        FIELD(work, stops),  FIELD(work, wish),  FIELD(work, members_count)};
static const struct fields run_fields = FIELDS(run_list);

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

static int read_runs(struct image_in *in, struct core *core, struct err *err)
{
        uint32_t max = core->setup.bounds.workloads_max;
        struct work *rows = mem_new(max, sizeof *rows);
        size_t count = 0;
        int rc;

        if (!rows)
                return err_set(err, ERR_NOMEM, "out of memory");
        rc = image_read_rows(in, "runs", &run_fields, rows, max, sizeof *rows, &count, err);
        for (size_t r = 0; rc == 0 && r < count; r++) {
                struct work *work = works_find(core->works, rows[r].id);
                if (work && !works_restore(work, &rows[r]))
                        rc = err_set(err, ERR_NOMEM, "out of memory");
        }
        mem_free(rows);
        return rc;
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
        rc = core_read_policy(core, copy->object.body, revision, &policy, err);
        mem_free(copy);
        if (rc == 0)
                core_take_policy(core, policy, revision);
        return rc;
}

static int read_model_names(struct image_in *in, struct core *core, struct err *err)
{
        uint64_t count;
        int rc = image_read_strings(in, "unlisted models", &count, err);

        for (uint64_t m = 0; rc >= 0 && m < count; m++) {
                char name[MODEL_NAME_MAX] = {0};
                const void *bytes;
                size_t size;
                rc = image_read_string(in, &bytes, &size, err);
                if (rc == 0 && size >= sizeof name)
                        rc = err_set(err, ERR_INPUT, "snapshot: a device model's name is too long");
                if (rc == 0) {
                        memcpy(name, bytes, size);
                        rc = model_add_unlisted(core->setup.models, name, err);
                }
        }
        if (rc < 0)
                return rc;
        core->words.models = core->models_listed + (uint32_t)count;
        return 0;
}

static int read_body(struct core *core, const void *body, size_t size, struct err *err)
{
        struct image_in in = {.at = body, .end = (const unsigned char *)body + size};
        uint64_t head[2];
        size_t count = 0;
        int rc = image_read_numbers(&in, "core", FIELD_U64, head, 2, &count, err);

        if (rc == 0 && count != 2)
                rc = err_set(err, ERR_INPUT, "snapshot: its head is cut short");
        if (rc)
                return rc;
        core->now_ms = (int64_t)head[1];
        if ((rc = read_model_names(&in, core, err)) < 0 ||
            (rc = read_runs(&in, core, err)) < 0 ||
            (rc = load_policy(core, head[0], err)) < 0)
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
        recovery->told.had_snapshot = true;
        recovery->told.snapshot_seq = about.seq;
        return rc;
}

/* ---- the facts behind it ---- */

/* Read only now: it may name device models that came with the facts. */
static int take_accounts(struct recovery *recovery, struct fact *fact,
                         struct policy_doc **ret_policy, struct err *err)
{
        int rc;

        if (!recovery->coming)
                return err_set(err, ERR_INPUT, "a policy came into force that no input brought");
        rc = core_read_policy(recovery->core, recovery->coming, recovery->coming_revision,
                              ret_policy, err);
        mem_free(recovery->coming);
        recovery->coming = NULL;
        if (rc)
                return rc;
        fact->accounts = accounts_new((*ret_policy)->tenancy, err);
        if (fact->accounts)
                return 0;
        policy_doc_free(*ret_policy);
        *ret_policy = NULL;
        return -ERR_NOMEM;
}

static int see_fact(void *arg, struct fact *fact, struct err *err)
{
        struct recovery *recovery = arg;
        struct core *core = recovery->core;
        struct policy_doc *policy = NULL;
        int rc = 0;

        if (fact->kind == FACT_POLICY_IN)
                rc = take_accounts(recovery, fact, &policy, err);
        if (fact->kind == FACT_MAINTENANCE_IN) {
                fact->maintenance = recovery->windows;
                if (!fact->maintenance)
                        rc = err_set(err, ERR_INPUT, "windows came that no input brought");
        }
        for (unsigned w = 0; rc == 0 && w < core->watches_count; w++)
                if (core->watches[w].begins && core->watches[w].before)
                        core->watches[w].before(core->watches[w].arg, core->state, fact,
                                                recovery->seq, recovery->at_ms);
        if (rc == 0 && core_apply(core, fact, recovery->seq, recovery->at_ms) < 0)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        if (policy && fact->kind == FACT_POLICY_IN)
                core_take_policy(core, policy, recovery->coming_revision);
        recovery->told.facts++;
        return rc;
}

/* Most inputs were decided, and their facts say all; of two kinds the facts do not. */
static bool brings_something(const struct record *record)
{
        static const char *const begins[] = {"{\"input\":\"policy_set\"",
                                             "{\"input\":\"maintenance_set\""};

        for (unsigned b = 0; b < ARRAY_LEN(begins); b++)
                if (record->size > strlen(begins[b]) &&
                    memcmp(record->body, begins[b], strlen(begins[b])) == 0)
                        return true;
        return false;
}

static char *text_copy(const char *text)
{
        size_t size = strlen(text) + 1;
        char *copy = mem_new(size, 1);

        if (copy)
                memcpy(copy, text, size);
        return copy;
}

static int see_input(struct recovery *recovery, const struct record *record, struct err *err)
{
        struct logged_input logged;
        int rc;

        if (!brings_something(record))
                return 0;
        rc = log_input_parse(record->body, record->size, &logged, err);
        if (rc)
                return rc;
        if (logged.input.kind == INPUT_POLICY_SET) {
                mem_free(recovery->coming);
                recovery->coming = text_copy(logged.document ? logged.document : "");
                recovery->coming_revision = logged.revision;
                if (!recovery->coming)
                        rc = err_set(err, ERR_NOMEM, "out of memory");
        } else {
                mem_free(recovery->windows);
                recovery->windows = logged.maintenance;
                logged.maintenance = NULL;
        }
        logged_input_done(&logged);
        return rc;
}

static void see_note(struct core *core, const struct record *record)
{
        enum work_wish wish;
        uint64_t workload;
        struct work *work;

        for (unsigned w = 0; w < core->watches_count; w++)
                if (core->watches[w].noted)
                        core->watches[w].noted(core->watches[w].arg, core->state, record->body,
                                               record->size, record->at_ms);
        if (!wish_note_read(record->body, record->size, &workload, &wish))
                return;
        work = works_find(core->works, workload);
        if (work)
                work->wish = (uint8_t)wish;
}

static int see_record(struct recovery *recovery, const struct record *record, struct err *err)
{
        struct core *core = recovery->core;
        int rc = 0;

        recovery->seq = record->seq;
        recovery->at_ms = record->at_ms;
        recovery->told.records++;
        if (record->kind == RECORD_INPUT)
                rc = see_input(recovery, record, err);
        else if (record->kind == RECORD_FACTS)
                rc = log_facts_parse(record->body, record->size, core->state->vocab,
                                     core->setup.models, &core->words, see_fact, recovery, err);
        else if (record->kind == RECORD_NOTE)
                see_note(core, record);
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
        if (!core->state)
                core->state = state_new(core->setup.models, &core->setup.bounds);
        if (!core->state)
                return err_set(err, ERR_NOMEM, "out of memory");
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
        fresh.words = (struct logged_words){.models = core->models_listed};
        rc = recover(&recovery, err);
        mem_free(recovery.coming);
        mem_free(recovery.windows);
        if (rc) {
                core_drop_state(&fresh);
                return rc;
        }
        core_drop_state(core);
        *core = fresh;
        recovery.told.took_ms = (time_monotonic_ns() - begin) / 1000000;
        *ret_recovery = recovery.told;
        return 0;
}

/* ---- writing one ---- */

static void write_runs(const struct core *core, struct text *out)
{
        uint32_t cursor = 0, count = 0;
        struct work *rows = mem_new(works_count(core->works), sizeof *rows), *work;

        if (!rows) {
                out->failed = true;
                return;
        }
        while ((work = works_next(core->works, &cursor)))
                if (work->epoch || work->stops || work->wish)
                        rows[count++] = *work;
        image_write_rows(out, "runs", &run_fields, rows, count, sizeof *rows);
        mem_free(rows);
}

static int write_body(const struct core *core, struct text *out)
{
        const uint64_t head[] = {core->policy_revision, (uint64_t)core->now_ms};
        uint32_t listed = core->models_listed, models = core->words.models;

        image_write_numbers(out, "core", FIELD_U64, head, 2);
        image_begin_strings(out, "unlisted models", models - listed);
        for (uint32_t m = listed; m < models; m++) {
                const char *name = model_get(core->setup.models, m)->name;
                image_write_string(out, name, strlen(name));
        }
        write_runs(core, out);
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
                                    SNAPSHOT_KEEP, err);
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
                rc = snapshot_put_new(&about, body.bytes, body.size, SNAPSHOT_KEEP, &put, err);
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
