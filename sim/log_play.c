#include "sim/log_play.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/accounts.h"
#include "engine/decide.h"
#include "proto/policy_doc.h"
#include "proto/scenario.h"
#include "sim/log_play_impl.h"
#include "sim/log_replay.h"
#include "sim/policy_load.h"
#include "sim/replay.h"
#include "store/log.h"

#define PROGRESS_EVERY 4096u

static void see(void *arg, const struct fact *fact)
{
        struct play *play = arg;

        log_runs_see(&play->played->runs, play->pool.state, fact, play->now_ms);
        play_jobs_see(play, fact);
}

int play_feed(struct play *play, const struct input *input, struct err *err)
{
        int rc = engine_run(play->pool.state, play->memo, input, play->now_ms, see, play, err);

        return rc == 0 && play->failed ? err_set(err, ERR_NOMEM, "out of memory") : rc;
}

/* ---- the log ---- */

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
                rc = play_jobs_until(play, record->at_ms, record->seq - 1, err);
        play->now_ms = play->pool.now_ms;
        if (rc == 0)
                rc = play_told(play, &play->input.input, err);
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

static int start(struct play *play, const char *policy, struct err *err)
{
        int rc = log_replay_begin(play->setup, &play->pool, err);

        if (rc)
                return rc;
        play->now_ms = play->pool.now_ms;
        play->memo = memo_new((struct policy){.kind = POLICY_AUTO}, MEMO_INDEXED);
        if (!play->memo)
                return err_set(err, ERR_NOMEM, "out of memory");
        if ((rc = load_policy(play, policy, err)) < 0 || (rc = play_jobs_start(play, err)) < 0)
                return rc;
        /* One that is in force is replaced at once; else the new one comes when the log's does. */
        rc = play->pool.policy ? play_set_policy(play, err) : 0;
        return rc ? rc : play_jobs_tear(play, play->story->from_seq, err);
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
                rc = play_jobs_until(&play, story->until_ms, UINT64_MAX, err);
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
