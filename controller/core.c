#include "controller/core_impl.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "controller/crash.h"
#include "controller/ending.h"
#include "controller/wish.h"
#include "engine/decide.h"
#include "proto/policy_doc.h"
#include "store/batch.h"
#include "store/keys.h"

/* ---- looking ---- */

void core_policy_set(struct core *core, struct policy_doc *policy, uint64_t revision)
{
        core_take_policy(core, policy, revision);
}

const struct state *core_state(const struct core *core)
{
        return core->state;
}

struct memo *core_memo(struct core *core)
{
        return core->memo;
}

const struct model_table *core_models(const struct core *core)
{
        return core->setup.models;
}

const struct policy_doc *core_policy(const struct core *core)
{
        return core->policy;
}

const struct tenancy *core_tenancy(const struct core *core)
{
        return core->policy ? core->policy->tenancy : NULL;
}

uint64_t core_policy_revision(const struct core *core)
{
        return core->policy_revision;
}

struct works *core_works(const struct core *core)
{
        return core->works;
}

struct store *core_view(const struct core *core)
{
        return core->view;
}

int64_t core_now_ms(const struct core *core)
{
        return core->now_ms;
}

void core_watch(struct core *core, const struct core_watch *watch)
{
        assert(core->watches_count < CORE_WATCHES_MAX);
        core->watches[core->watches_count++] = *watch;
}

void core_guard_set(struct core *core, const struct core_guard *guard)
{
        core->guard = *guard;
}

/* ---- acts ---- */

int core_may_act(struct core *core, struct err *err)
{
        struct writer_stats stats;

        if (!core->store_failed && !core->stale)
                return 0;
        if (!core->writer)
                return err_set(err, ERR_IO, "the controller is ending");
        writer_stats(core->writer, &stats);
        return err_set(err, ERR_IO, "nothing is taken now: %s",
                       stats.state == WRITER_FAILED ? stats.failure.text
                                                    : "the state is being made anew");
}

struct act *core_begin(struct core *core, const char *actor, const char *reason, int64_t now_ms,
                       struct err *err)
{
        const struct record any = {
                .kind = RECORD_NOTE, .actor = actor, .reason = reason, .body = ""};
        struct act *act = &core->act;

        assert(!act->open);
        /* Once something is decided, a record that cannot be kept costs the whole state. */
        if (core_may_act(core, err) < 0 || record_check(&any, err) < 0)
                return NULL;
        *act = (struct act){.core = core, .actor = actor, .reason = reason, .open = true};
        act->batch = batch_new(core);
        if (!act->batch) {
                act->open = false;
                (void)err_set(err, ERR_NOMEM, "out of memory");
                return NULL;
        }
        if (now_ms > core->now_ms)
                core->now_ms = now_ms;
        core->facts_count = 0;
        return act;
}

const struct fact *core_facts(const struct act *act, uint32_t *ret_count)
{
        *ret_count = act->core->facts_count;
        return act->core->facts;
}

bool core_facts_any(const struct act *act)
{
        return act->core->facts_count > 0;
}

static bool keep_fact(struct core *core, const struct fact *fact)
{
        if (core->facts_count == core->facts_room) {
                uint32_t room = core->facts_room ? core->facts_room * 2 : 64;
                struct fact *grown = mem_resize(core->facts, core->facts_room, room,
                                                sizeof *grown);
                if (!grown)
                        return false;
                core->facts = grown;
                core->facts_room = room;
        }
        core->facts[core->facts_count++] = *fact;
        return true;
}

static int add_record(struct act *act, enum record_kind kind, const struct text *body,
                      struct err *err)
{
        const struct record record = {.kind = kind,
                                      .at_ms = act->core->now_ms,
                                      .actor = act->actor,
                                      .reason = act->reason,
                                      .body = body->bytes,
                                      .size = body->size};

        if (body->failed)
                return err_set(err, ERR_NOMEM, "out of memory");
        return batch_add_record(act->batch, &record, err);
}

uint64_t core_next_seq(const struct core *core)
{
        uint64_t in_act = core->act.open ? batch_records(core->act.batch) : 0;

        return core->last_seq + in_act + 1;
}

/* Members of the workload that a fact allocates; 0: it allocates nothing. */
static uint32_t members_of(const struct state *state, const struct fact *fact)
{
        uint32_t slot = fact->kind == FACT_ALLOCATED
                                ? state_workload(state, fact->allocated.workload)
                                : NONE;

        return slot == NONE ? 0 : state->buckets[state->workloads[slot].bucket].form.members;
}

static void show(const struct core *core, const struct fact *fact, uint64_t seq)
{
        for (unsigned w = 0; w < core->watches_count; w++)
                if (core->watches[w].before)
                        core->watches[w].before(core->watches[w].arg, core->state, fact, seq,
                                                core->now_ms);
}

void core_tell_refused(struct core *core, const struct request *request, const struct fact *fact,
                       int64_t at_ms)
{
        if (fact->kind != FACT_REFUSED || state_workload(core->state, request->workload) != NONE)
                return;
        for (unsigned w = 0; w < core->watches_count; w++)
                if (core->watches[w].refused)
                        core->watches[w].refused(core->watches[w].arg, core->state, request,
                                                 fact->refused.gate, at_ms);
}

int core_apply(struct core *core, const struct fact *fact, uint64_t seq, int64_t at_ms)
{
        const struct works_at at = {seq, numbers_epoch(&core->numbers, seq), at_ms};
        int rc = works_follow(core->works, fact, members_of(core->state, fact), at);
        state_apply(core->state, fact, at_ms);
        return rc;
}

/* Decides and applies the whole input; its facts go into the body of record `seq`. */
static int decide_all(struct core *core, const struct input *input, uint64_t seq,
                      bool *ret_began, struct err *err)
{
        struct group group = {.more = true};

        for (unsigned step = 0; group.more; step++) {
                int rc = engine_decide(core->state, core->memo, input, core->now_ms, step, &group,
                                       err);
                if (rc)
                        return rc;
                *ret_began |= group.count > 0;
                for (uint32_t i = 0; i < group.count; i++) {
                        log_facts_add(&group.facts[i], &core->facts_body);
                        rc = ending_keep(core->act.batch, core->state, core->works,
                                         &group.facts[i], core->now_ms, err);
                        if (rc == 0)
                                rc = ending_keep_node(core->act.batch, core->state,
                                                      &group.facts[i], seq, core->now_ms, err);
                        if (rc)
                                return rc;
                        show(core, &group.facts[i], seq);
                        if (input->kind == INPUT_SUBMITTED)
                                core_tell_refused(core, &input->request, &group.facts[i],
                                                  core->now_ms);
                        if (!keep_fact(core, &group.facts[i]) ||
                            core_apply(core, &group.facts[i], seq, core->now_ms) < 0)
                                return err_set(err, ERR_NOMEM, "out of memory");
                }
        }
        return 0;
}

/* What was decided cannot be logged: the state is ahead, and is to be made anew. */
static int fail(struct core *core, int rc)
{
        core->stale = true;
        return rc;
}

static int take_input(struct act *act, const struct input *input,
                      const struct core_document *document, struct err *err)
{
        static const struct core_document none = {0};
        const struct core_document *beside = document ? document : &none;
        struct core *core = act->core;
        struct logged_words words = core->words;
        bool began = false;
        int rc = core_may_act(core, err);

        assert(act->open);
        if (rc == 0 && batch_records(act->batch) + 3 > BATCH_RECORDS_MAX)
                rc = err_set(err, ERR_FULL, "one request asks for too much at once");
        if (rc || (rc = core_number(act, err)) < 0)
                return rc;
        core->input_body.size = core->facts_body.size = 0;
        log_input_record(input,
                         &(struct log_beside){
                                 .document = beside->text,
                                 .revision = beside->revision,
                                 .bounds = core->has_begun ? NULL : &core->state->bounds},
                         &core->input_body);
        if (core->guard.may && !core->input_body.failed)
                rc = core->guard.may(core->guard.arg, input->kind, core->input_body.bytes,
                                     core->input_body.size, err);
        if (rc)
                return rc;
        log_facts_begin(core->state->vocab, core->setup.models, &core->words, &core->facts_body);
        crash_enter(CRASH_INPUT, input_name(input->kind), core->input_body.bytes,
                    core->input_body.size);
        rc = decide_all(core, input, core_next_seq(core) + 1, &began, err);
        crash_leave(CRASH_INPUT);
        log_facts_end(&core->facts_body);
        if (rc < 0 && !began) {
                core->words = words;
                return rc;
        }
        if (rc < 0)
                return fail(core, rc);
        int logged = add_record(act, RECORD_INPUT, &core->input_body, err);
        if (logged == 0)
                logged = add_record(act, RECORD_FACTS, &core->facts_body, err);
        core->has_begun = true;
        if (core->guard.decided)
                core->guard.decided(core->guard.arg, act, input->kind);
        return logged < 0 ? fail(core, logged) : 0;
}

int core_words(struct act *act, struct err *err)
{
        struct core *core = act->core;
        struct logged_words words = core->words;
        int rc;

        core->facts_body.size = 0;
        log_facts_begin(core->state->vocab, core->setup.models, &core->words, &core->facts_body);
        log_facts_end(&core->facts_body);
        if (memcmp(&words, &core->words, sizeof words) == 0)
                return 0;
        rc = add_record(act, RECORD_FACTS, &core->facts_body, err);
        return rc < 0 ? fail(core, rc) : 0;
}

static void measure(struct core_figures *figures, enum input_kind kind, int64_t took_ns)
{
        uint64_t us = took_ns > 0 ? (uint64_t)(took_ns - 1) / 1000 : 0;
        unsigned bucket = us == 0 ? 0 : 64 - (unsigned)__builtin_clzll(us);

        figures->inputs[kind]++;
        figures->latency[bucket < CORE_LATENCY_BUCKETS ? bucket : CORE_LATENCY_BUCKETS - 1]++;
        figures->latency_ns_sum += (uint64_t)took_ns;
}

int core_input(struct act *act, const struct input *input, const struct core_document *document,
               struct err *err)
{
        int64_t begin_ns = time_monotonic_ns();
        int rc = take_input(act, input, document, err);

        measure(&act->core->figures, input->kind, time_monotonic_ns() - begin_ns);
        return rc;
}

const struct core_figures *core_figures(const struct core *core)
{
        return &core->figures;
}

int core_put(struct act *act, const struct object *object, struct err *err)
{
        return batch_put_object(act->batch, object, err);
}

int core_set(struct act *act, const struct object_change *change, struct err *err)
{
        return batch_set_object(act->batch, change, err);
}

int core_key(struct act *act, const struct key_entry *entry, struct err *err)
{
        return batch_set_key(act->batch, entry, err);
}

int core_usage(struct act *act, const struct usage_row *row, struct err *err)
{
        int rc = batch_add_usage(act->batch, row, err);

        return rc < 0 ? fail(act->core, rc) : 0;
}

int core_review(struct act *act, const struct review_row *row, struct err *err)
{
        int rc = batch_add_review(act->batch, row, err);

        return rc < 0 ? fail(act->core, rc) : 0;
}

bool core_holds_key(struct core *core, const char *actor, const char *key)
{
        return core->writer && writer_holds_key(core->writer, actor, key);
}

int core_note(struct act *act, const char *text, struct err *err)
{
        const struct record record = {.kind = RECORD_NOTE,
                                      .at_ms = act->core->now_ms,
                                      .actor = act->actor,
                                      .reason = act->reason,
                                      .body = text,
                                      .size = strlen(text)};
        const struct core *core = act->core;
        uint64_t seq = core_next_seq(core);
        int rc = batch_add_record(act->batch, &record, err);

        for (unsigned w = 0; rc == 0 && w < core->watches_count; w++)
                if (core->watches[w].note)
                        core->watches[w].note(core->watches[w].arg, text, seq);
        return rc;
}

int core_wish(struct act *act, struct work *work, enum work_wish wish, struct err *err)
{
        struct text text = {0};
        int rc;

        wish_note_write(work->id, wish, &text);
        rc = text.failed ? err_set(err, ERR_NOMEM, "out of memory")
                         : core_note(act, text.bytes, err);
        text_done(&text);
        if (rc == 0)
                work->wish = (uint8_t)wish;
        return rc;
}

void core_abandon(struct act *act)
{
        assert(act->open);
        assert(batch_records(act->batch) == act->has_numbers);
        if (act->has_numbers)
                act->core->numbers = act->numbers_before;
        batch_free(act->batch);
        act->open = false;
}

void core_undo(struct act *act)
{
        assert(act->open);
        act->core->stale = true;
}

void core_commit(struct act *act, core_done *done, void *arg)
{
        struct core *core = act->core;
        struct err err = {0};
        uint64_t seq = core->last_seq;
        int rc = 0;

        assert(act->open);
        act->open = false;
        if (batch_records(act->batch) == 0 && !core->stale) {
                batch_free(act->batch);
                core_when_durable(core, done, arg);
                return;
        }
        rc = core_may_act(core, &err);
        if (rc == 0)
                rc = writer_push(core->writer, act->batch, &seq, &err);
        if (rc < 0) {
                batch_free(act->batch);
                core->stale = true;
                if (core->setup.event)
                        core->setup.event(core->setup.arg, NULL);
                done(arg, -ERR_IO, &err);
                return;
        }
        core->last_seq = seq;
        if (!core_wait_for(&core->waiting, seq, done, arg))
                done(arg, -ERR_FULL, &core_full);       /* committed all the same */
}

/* ---- life ---- */

int core_open(const struct core_setup *setup, struct core **ret_core,
              struct core_recovery *ret_recovery, struct err *err)
{
        struct core *core = mem_new(1, sizeof *core);
        int rc;

        if (!core)
                return err_set(err, ERR_NOMEM, "out of memory");
        core->mail = mem_new(1, sizeof *core->mail);
        if (!core->mail) {
                mem_free(core);
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        core->setup = *setup;
        core->wish = setup->numbers;
        if (setup->early)
                core_watch(core, setup->early);
        core->setup.early = NULL;       /* the caller's */
        core->models_listed = (uint32_t)model_count(setup->models);
        pthread_mutex_init(&core->mail->lock, NULL);
        const struct writer_options options = {
                .callback = core_take_event, .self = core, .is_stepped = setup->is_stepped};
        rc = store_view(setup->store, &core->view, err);
        if (rc == 0)
                rc = core_recover(core, ret_recovery, err);
        if (rc == 0)
                numbers_wish_above(&core->wish, &core->numbers, core->last_seq);
        core->first_workload = core->next_workload;
        if (rc == 0)
                rc = writer_new(setup->store, &options, &core->writer, err);
        if (rc) {
                core->setup.store = NULL;       /* the caller's again */
                core_free(core);
                return rc;
        }
        *ret_core = core;
        return 0;
}

void core_free(struct core *core)
{
        if (!core)
                return;
        core_end_writer(core);
        core_drop_state(core);
        store_close(core->view);
        store_close(core->setup.store);
        text_done(&core->input_body);
        text_done(&core->facts_body);
        mem_free(core->facts);
        mem_free(core->waiting.them);
        mem_free(core->looking.them);
        pthread_mutex_destroy(&core->mail->lock);
        mem_free(core->mail);
        mem_free(core);
}
