#include "sim/log_replay.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/accounts.h"
#include "engine/decide.h"
#include "proto/log_group.h"
#include "proto/policy_doc.h"
#include "sim/log_pool.h"
#include "sim/replay.h"
#include "store/log.h"
#include "store/snapshot.h"

#define SNAPSHOTS_MAX  64u
#define PROGRESS_EVERY 4096u
#define SHOWN_MAX      4000u            /* bytes of one side of a difference */

struct replay {
        const struct log_replay_setup *setup;
        struct log_replay_result *result;
        struct log_pool pool;           /* as it is decided */
        struct memo *memo;
        struct logged_input input;      /* whose facts come next */
        bool has_input;
        struct text input_body, facts;  /* scratch */
        struct snapshot snapshots[SNAPSHOTS_MAX];       /* newest first */
        size_t snapshots_count;
        uint64_t until_seq;             /* the log's end, when it was begun to be read */
};

/* ---- where it begins ---- */

/* The oldest one that can be read; after pruning the log starts behind one. */
static int restore_oldest(const struct log_replay_setup *setup, uint64_t base_seq,
                          struct log_pool *ret_pool, struct err *err)
{
        struct snapshot list[SNAPSHOTS_MAX];
        size_t count;
        int rc = snapshot_list(setup->store, list, SNAPSHOTS_MAX, &count, err);

        while (rc == 0 && count-- > 0) {
                if (list[count].seq < base_seq ||
                    snapshot_check_place(setup->store, &list[count], NULL) < 0)
                        continue;
                struct log_pool pool;
                rc = log_pool_new(setup->models, &pool, err);
                if (rc)
                        return rc;
                rc = log_pool_restore(&pool, setup->store, &list[count], err);
                if (rc == 0) {
                        *ret_pool = pool;
                        return 0;
                }
                log_pool_done(&pool);
                if (rc == -ERR_INPUT)
                        rc = 0;         /* damaged: the next one */
        }
        return rc ? rc
                  : err_set(err, ERR_NOT_FOUND,
                            "the log was pruned up to record %" PRIu64 ", and no good snapshot "
                            "stands there or behind it", base_seq);
}

int log_replay_begin(const struct log_replay_setup *setup, struct log_pool *ret_pool,
                     struct err *err)
{
        struct log_head base;
        int rc = log_base(setup->store, &base, err);

        if (rc)
                return rc;
        return base.seq > 0 ? restore_oldest(setup, base.seq, ret_pool, err)
                            : log_pool_new(setup->models, ret_pool, err);
}

/* ---- what differs ---- */

/* NULL: out of memory. */
static char *copy_shown(const char *bytes, size_t size)
{
        bool is_cut = size > SHOWN_MAX;
        char *copy = mem_new((is_cut ? SHOWN_MAX : size) + 4, 1);

        if (!copy)
                return NULL;
        memcpy(copy, bytes, is_cut ? SHOWN_MAX : size);
        if (is_cut)
                memcpy(copy + SHOWN_MAX, "...", 3);
        return copy;
}

static int differ(struct replay *replay, const struct record *record, uint32_t fact,
                  const char *logged, const char *decided, struct err *err)
{
        struct log_difference *it = &replay->result->difference;

        it->seq = record->seq;
        it->at_ms = record->at_ms;
        it->fact = fact;
        it->logged = copy_shown(logged, strlen(logged));
        it->decided = copy_shown(decided, strlen(decided));
        if (replay->has_input)
                it->input = copy_shown(replay->input_body.bytes, replay->input_body.size);
        return it->logged && it->decided && (it->input || !replay->has_input)
                       ? 0
                       : err_set(err, ERR_NOMEM, "out of memory");
}

static json_t *facts_of(const char *body, size_t size, json_t **ret_object)
{
        *ret_object = json_loadb(body, size, 0, NULL);
        return json_object_get(*ret_object, "facts");
}

/* One of them in a line; "" where there is none. Freed with free(). */
static char *fact_text(json_t *list, size_t index)
{
        json_t *fact = json_array_get(list, index);

        return fact ? json_dumps(fact, JSON_COMPACT | JSON_ENSURE_ASCII) : strdup("");
}

/* The first fact that is another; where all are the same it is the words beside them. */
static int find_difference(struct replay *replay, const struct record *record, struct err *err)
{
        json_t *logged_body, *decided_body;
        json_t *logged = facts_of(record->body, record->size, &logged_body);
        json_t *decided = facts_of(replay->facts.bytes, replay->facts.size, &decided_body);
        size_t most = json_array_size(logged) > json_array_size(decided)
                              ? json_array_size(logged)
                              : json_array_size(decided);
        size_t at = 0;

        while (at < most && json_equal(json_array_get(logged, at), json_array_get(decided, at)))
                at++;
        replay->result->facts += at;
        char *a = at < most ? fact_text(logged, at)
                            : strndup(record->body, record->size);
        char *b = at < most ? fact_text(decided, at) : strdup(replay->facts.bytes);
        int rc = a && b ? differ(replay, record, at < most ? (uint32_t)at + 1 : 0, a, b, err)
                        : err_set(err, ERR_NOMEM, "out of memory");
        free(a);
        free(b);
        json_decref(logged_body);
        json_decref(decided_body);
        return rc;
}

static int differ_in_hash(struct replay *replay, const struct record *record, uint64_t logged,
                          struct err *err)
{
        char a[64], b[64];

        (void)snprintf(a, sizeof a, "state %016" PRIx64, logged);
        (void)snprintf(b, sizeof b, "state %016" PRIx64, state_hash(replay->pool.state));
        replay->has_input = false;
        return differ(replay, record, 0, a, b, err);
}

/* ---- one input and its facts ---- */

static int take_input(struct replay *replay, const struct record *record, struct err *err)
{
        int rc;

        if (replay->has_input)
                return err_set(err, ERR_INPUT, "an input without facts stands before it");
        rc = log_input_parse(record->body, record->size, &replay->input, err);
        if (rc)
                return rc;
        replay->has_input = true;
        replay->input_body.size = 0;
        text_add_bytes(&replay->input_body, record->body, record->size);
        return log_pool_take_input(&replay->pool, record, &replay->input, err);
}

/* Decides all of it. What the engine refuses is in *ret_refusal, and was never logged. */
static int decide(struct replay *replay, struct err *ret_refusal, struct err *err)
{
        struct input input = replay->input.input;
        struct log_pool *pool = &replay->pool;
        struct group group = {.more = true};
        uint32_t count = 0;
        int rc = log_brought_give_input(&pool->brought, pool->models, &input, err);

        if (rc)
                return rc;
        for (unsigned step = 0; group.more; step++) {
                rc = engine_decide(pool->state, replay->memo, &input, pool->now_ms, step, &group,
                                   ret_refusal);
                if (rc)
                        break;
                for (uint32_t i = 0; i < group.count; i++, count++) {
                        log_facts_add(&group.facts[i], &replay->facts);
                        log_pool_apply(pool, &group.facts[i]);
                }
        }
        log_facts_end(&replay->facts);
        if (input.kind == INPUT_POLICY_SET && pool->state->accounts != input.accounts)
                accounts_free(input.accounts);
        if (replay->facts.failed || rc == -ERR_NOMEM)
                return err_set(err, ERR_NOMEM, "out of memory");
        replay->result->inputs++;
        return 0;
}

static int compare(struct replay *replay, const struct record *record, uint64_t facts_before,
                   const struct err *refusal, struct err *err)
{
        bool is_same = replay->facts.size == record->size &&
                       memcmp(replay->facts.bytes, record->body, record->size) == 0;

        if (refusal->code != ERR_OK)
                return differ(replay, record, 0, "facts", refusal->text, err);
        if (!is_same)
                return find_difference(replay, record, err);
        replay->result->facts += replay->pool.facts - facts_before;
        return 0;
}

static int take_facts(struct replay *replay, const struct record *record, struct err *err)
{
        struct log_pool *pool = &replay->pool;
        struct logged_words before = pool->words;
        uint64_t facts_before = pool->facts;
        struct err refusal = {0};
        int rc;

        pool->seq = record->seq;
        rc = log_words_parse(record->body, record->size, pool->state->vocab, pool->models,
                             &pool->words, err);
        if (rc)
                return rc;
        replay->facts.size = 0;
        log_facts_begin(pool->state->vocab, pool->models, &before, &replay->facts);
        if (replay->has_input)
                rc = decide(replay, &refusal, err);
        else
                log_facts_end(&replay->facts);  /* words alone */
        if (rc == 0)
                rc = compare(replay, record, facts_before, &refusal, err);
        logged_input_done(&replay->input);
        replay->has_input = false;
        return rc;
}

/* ---- snapshots on the way ---- */

static const struct snapshot *snapshot_at(const struct replay *replay, uint64_t seq)
{
        for (size_t s = 0; s < replay->snapshots_count; s++)
                if (replay->snapshots[s].seq == seq)
                        return &replay->snapshots[s];
        return NULL;
}

/* A damaged one is for `berth store check` to tell; recovery passes it over. */
static int compare_snapshot(struct replay *replay, const struct record *record, struct err *err)
{
        const struct snapshot *about = snapshot_at(replay, record->seq);
        struct log_pool pool;
        int rc = about ? log_pool_new(replay->setup->models, &pool, err) : 0;

        if (!about || rc)
                return rc;
        rc = log_pool_restore(&pool, replay->setup->store, about, err);
        if (rc == 0) {
                uint64_t hash = state_hash(pool.state);
                if (hash != state_hash(replay->pool.state))
                        rc = differ_in_hash(replay, record, hash, err);
                else
                        replay->result->snapshots++;
        }
        log_pool_done(&pool);
        return rc == -ERR_INPUT ? 0 : rc;
}

/* ---- all of it ---- */

static bool is_cancelled(const struct log_replay_setup *setup)
{
        return setup->hooks && setup->hooks->cancel && *setup->hooks->cancel;
}

static void show_progress(const struct replay *replay, uint64_t seq)
{
        const struct replay_hooks *hooks = replay->setup->hooks;
        uint64_t from = replay->result->from_seq;

        if (hooks && hooks->progress && seq % PROGRESS_EVERY == 0)
                hooks->progress(hooks->progress_arg, "the log", seq - from,
                                replay->until_seq - from);
}

static int see_record(struct replay *replay, const struct record *record, struct err *err)
{
        struct log_replay_result *result = replay->result;
        int rc = 0;

        if (result->from_ms == 0)
                result->from_ms = record->at_ms;
        result->until_ms = record->at_ms;
        result->last_seq = record->seq;
        if (record->kind == RECORD_INPUT)
                rc = take_input(replay, record, err);
        else if (record->kind == RECORD_FACTS)
                rc = take_facts(replay, record, err);
        if (rc)
                return err_prefix(err, "record %" PRIu64 " of the log", record->seq);
        if (result->difference.seq == 0)
                rc = compare_snapshot(replay, record, err);
        show_progress(replay, record->seq);
        return rc ? rc : is_cancelled(replay->setup) ? -ERR_CANCELLED : 0;
}

static int read_records(struct replay *replay, struct err *err)
{
        struct log_cursor *cursor;
        struct record record;
        int rc = log_read(replay->setup->store, replay->pool.seq + 1, &cursor, err);

        if (rc)
                return rc;
        while (replay->result->difference.seq == 0 && (rc = log_next(cursor, &record, err)) > 0) {
                rc = see_record(replay, &record, err);
                if (rc)
                        break;
        }
        log_cursor_free(cursor);
        return rc;
}

/* The newest good snapshot up to the record, or an empty pool. */
static int restore_newest(const struct replay *replay, uint64_t end, struct log_pool *ret_pool,
                          struct err *err)
{
        for (size_t s = 0; s < replay->snapshots_count; s++) {
                struct log_pool pool;
                int rc = log_pool_new(replay->setup->models, &pool, err);
                if (rc)
                        return rc;
                rc = replay->snapshots[s].seq <= end
                             ? log_pool_restore(&pool, replay->setup->store,
                                                &replay->snapshots[s], err)
                             : -ERR_INPUT;
                if (rc == 0) {
                        *ret_pool = pool;
                        return 0;
                }
                log_pool_done(&pool);
                if (rc != -ERR_INPUT)
                        return rc;
        }
        return log_pool_new(replay->setup->models, ret_pool, err);
}

/* As a controller comes back, up to the record that the replay ended at. */
static int recover(struct replay *replay, struct log_pool *pool, struct record *ret_last,
                   struct err *err)
{
        const uint64_t end = replay->result->last_seq;
        struct log_cursor *cursor;
        int rc = log_read(replay->setup->store, pool->seq + 1, &cursor, err);

        if (rc)
                return rc;
        while (pool->seq < end && (rc = log_next(cursor, ret_last, err)) > 0) {
                rc = log_pool_follow(pool, ret_last, err);
                if (rc)
                        break;
        }
        log_cursor_free(cursor);
        return rc < 0 ? rc : 0;
}

static int compare_end(struct replay *replay, struct err *err)
{
        struct log_pool pool;
        struct record last = {.seq = replay->result->last_seq, .at_ms = replay->result->until_ms};
        int rc = restore_newest(replay, last.seq, &pool, err);

        if (rc)
                return rc;
        rc = recover(replay, &pool, &last, err);
        if (rc == 0 && state_hash(pool.state) != state_hash(replay->pool.state))
                rc = differ_in_hash(replay, &last, state_hash(pool.state), err);
        log_pool_done(&pool);
        return rc;
}

static int run(struct replay *replay, struct err *err)
{
        struct log_head head;
        int rc = log_replay_begin(replay->setup, &replay->pool, err);

        if (rc)
                return rc;
        replay->result->from_seq = replay->result->last_seq = replay->pool.seq;
        replay->memo = memo_new((struct policy){.kind = POLICY_AUTO}, MEMO_INDEXED);
        if (!replay->memo)
                return err_set(err, ERR_NOMEM, "out of memory");
        if ((rc = snapshot_list(replay->setup->store, replay->snapshots, SNAPSHOTS_MAX,
                                &replay->snapshots_count, err)) < 0 ||
            (rc = log_head(replay->setup->store, &head, err)) < 0)
                return rc;
        replay->until_seq = head.seq;
        rc = read_records(replay, err);
        if (rc == 0 && replay->has_input)
                rc = err_set(err, ERR_INPUT, "the log ends with an input without facts");
        if (rc == 0 && replay->result->difference.seq == 0)
                rc = compare_end(replay, err);
        replay->result->state_hash = state_hash(replay->pool.state);
        return rc;
}

int log_replay_check(const struct log_replay_setup *setup, struct log_replay_result *ret_result,
                     struct err *err)
{
        struct replay *replay = mem_new(1, sizeof *replay);
        int rc;

        assert(setup->store);
        if (!replay)
                return err_set(err, ERR_NOMEM, "out of memory");
        *ret_result = (struct log_replay_result){0};
        replay->setup = setup;
        replay->result = ret_result;
        rc = run(replay, err);
        if (replay->has_input)
                logged_input_done(&replay->input);
        memo_free(replay->memo);
        log_pool_done(&replay->pool);
        text_done(&replay->input_body);
        text_done(&replay->facts);
        mem_free(replay);
        return rc;
}

void log_replay_result_done(struct log_replay_result *result)
{
        mem_free(result->difference.input);
        mem_free(result->difference.logged);
        mem_free(result->difference.decided);
        *result = (struct log_replay_result){0};
}
