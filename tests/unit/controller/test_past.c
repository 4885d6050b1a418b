/* The past is explained as it was: every answer is the one that was given then. */
#include "tests/unit/check.h"

#include <sodium.h>
#include <stdlib.h>

#include "base/mem.h"
#include "controller/explained.h"
#include "controller/past.h"
#include "engine/explain.h"
#include "engine/memo.h"
#include "proto/explain_text.h"
#include "proto/when.h"
#include "sim/log_pool.h"
#include "store/log.h"
#include "store/prune.h"
#include "store/snapshot.h"
#include "tests/unit/controller/world.h"

#define MOMENTS     8
#define MOMENTS_OF  3                   /* to the operator, to the tenant, of idle devices */

/* What was answered live. */
struct moment {
        int64_t at_ms;
        uint64_t seq;
        char *given[MOMENTS_OF];
};

static struct world world;
static struct moment moments[MOMENTS];
static unsigned moments_count;
static uint64_t brief, last_job;        /* the brief one waits, and is cancelled on the way */
static int64_t brief_ended_ms, last_came_ms;

static const struct past_limits usual = {.records_max = PAST_RECORDS_MAX};

/* ---- live ---- */

static const char *name_of(void *arg, uint64_t id)
{
        (void)arg;
        const struct work *work = world_work(&world, id);
        return work ? work->name : NULL;
}

static char *give(const struct explained *it)
{
        const struct explain_names names = {.state = core_state(world.live.core), .clock = true,
                                            .workload = name_of};
        char *bytes;
        size_t size;
        assert_int_equal(explained_write(it, &names, false, &bytes, &size, &world.err), 0);
        return bytes;
}

static char *explain_live(uint64_t id, bool is_operator)
{
        static struct explanation record;
        const struct state *state = core_state(world.live.core);
        int tenant = tenancy_find(core_tenancy(world.live.core), world_work(&world, id)->tenant);
        const struct viewer viewer = {.is_operator = is_operator, .tenant = (uint16_t)tenant};
        assert_int_equal(explain(core_memo(world.live.core), state, id, world.now_ms, &record,
                                 &world.err), 0);
        assert_int_equal(explain_view(&record, state, viewer, &world.err), 0);
        record.snapshot = core_last_seq(world.live.core);
        return give(&(struct explained){.record = &record});
}

static void keep_moment(uint64_t id)
{
        static struct explained_idle idle;
        struct moment *moment = &moments[moments_count++];
        assert_true(moments_count <= MOMENTS);
        moment->at_ms = world.now_ms;
        moment->seq = core_last_seq(world.live.core);
        moment->given[0] = explain_live(id, true);
        moment->given[1] = explain_live(id, false);
        assert_int_equal(explain_idle(core_memo(world.live.core), core_state(world.live.core),
                                      world.now_ms, &idle, &world.err), 0);
        idle.snapshot = moment->seq;
        moment->given[2] = give(&(struct explained){.idle = &idle});
}

static void snapshot(void)
{
        assert_int_equal(core_snapshot(world.live.core, &world.err), 0);
        world_settle(&world);
}

/* ---- a history ---- */

/* One job waits all the time, and why and before whom changes; with a policy on the way. */
static uint64_t watched;

static int begin(void **state)
{
        (void)state;
        world_init(&world, "past");
        world.simulate = true;
        world_furnish(&world);
        world_tick(&world, 1000);
        world_job(&world, "web", "first", 8);
        world_job(&world, "lab/b", "second", 4);
        world_tick(&world, 1000);
        brief = world_job(&world, "web", "brief", 9);
        watched = world_job(&world, "lab/a", "waits", 4);
        for (unsigned m = 0; m < MOMENTS; m++) {
                char name[16];
                snprintf(name, sizeof name, "more-%u", m);
                last_came_ms = world.now_ms;
                last_job = world_job(&world, m % 2 ? "lab/a" : "web", name, 3 + m);
                if (m == 4)
                        assert_int_equal(world_put_policy(&world, world_policy), 0);
                if (m == 6) {
                        brief_ended_ms = world.now_ms;
                        assert_int_equal(world_cancel(&world, brief, NULL), 0);
                }
                world_tick(&world, 1000);
                keep_moment(watched);
                world_tick(&world, 1000);
                if (m % 2)
                        snapshot();
        }
        return 0;
}

static int end(void **state)
{
        (void)state;
        for (unsigned m = 0; m < moments_count; m++)
                for (unsigned g = 0; g < MOMENTS_OF; g++)
                        free(moments[m].given[g]);
        world_done(&world);
        return 0;
}

/* ---- the past ---- */

static struct store *view_of_world(void)
{
        struct store *view;
        assert_int_equal(store_view(core_view(world.live.core), &view, &world.err), 0);
        return view;
}

static struct past_question question_of(int64_t at_ms, unsigned which)
{
        struct past_question question = {.at_ms = at_ms, .is_operator = which != 1,
                                         .submitted_ms = 1};
        if (which < 2)
                question.workload = watched;
        snprintf(question.tenant, sizeof question.tenant, "lab/a");
        return question;
}

static int ask(struct store *view, const struct past_question *question,
               const struct past_limits *limits, char **ret_bytes)
{
        size_t size;
        return past_answer(view, question, limits, ret_bytes, &size, &world.err);
}

static void expect_as_it_was(struct store *view, const struct moment *moment)
{
        for (unsigned g = 0; g < MOMENTS_OF; g++) {
                struct past_question question = question_of(moment->at_ms, g);
                char *bytes = NULL;
                if (ask(view, &question, &usual, &bytes) < 0)
                        fail_msg("at %lld: %s", (long long)moment->at_ms, world.err.text);
                assert_string_equal(bytes, moment->given[g]);
                free(bytes);
        }
}

static void every_answer_is_the_one_that_was_given_then(void **state)
{
        (void)state;
        struct store *view = view_of_world();
        struct snapshot list[8];
        size_t count;
        /* Some lie before all snapshots that are kept, some between, some behind. */
        assert_int_equal(snapshot_list(view, list, 8, &count, &world.err), 0);
        assert_int_equal(count, SNAPSHOT_KEEP_USUAL.newest + 1);        /* and the day's first */
        assert_true(moments[0].seq < list[count - 1].seq);
        assert_true(moments[MOMENTS - 2].seq > list[count - 1].seq);
        for (unsigned m = 0; m < MOMENTS; m++)
                expect_as_it_was(view, &moments[m]);
        check_has(moments[0].given[0], "\"policy_revision\":1");
        check_has(moments[MOMENTS - 1].given[0], "\"policy_revision\":2");
        assert_string_not_equal(moments[0].given[0], moments[0].given[1]);
        store_close(view);
}

static void expect_refused(struct store *view, const struct past_question *question,
                           const struct past_limits *limits, int rc, const char *why)
{
        char *bytes = NULL;
        assert_int_equal(ask(view, question, limits, &bytes), rc);
        assert_null(bytes);
        check_has(world.err.text, why);
}

static void work_that_had_not_come_or_had_ended_is_told_so(void **state)
{
        (void)state;
        struct store *view = view_of_world();
        struct past_question question = {.at_ms = last_came_ms - 5000, .workload = last_job,
                                         .submitted_ms = last_came_ms, .is_operator = true,
                                         .tenant = "lab/a"};
        expect_refused(view, &question, &usual, -ERR_NOT_FOUND, "had not been submitted");
        question = (struct past_question){.at_ms = brief_ended_ms + 5000, .workload = brief,
                                          .submitted_ms = 1, .ended_ms = brief_ended_ms,
                                          .is_operator = true, .tenant = "web"};
        expect_refused(view, &question, &usual, -ERR_NOT_FOUND, "had ended");
        char *bytes;
        question.at_ms = brief_ended_ms - 1000;
        assert_int_equal(ask(view, &question, &usual, &bytes), 0);
        check_has(bytes, "\"verdict\":\"WAIT_");
        free(bytes);
        store_close(view);
}

static void another_tenants_work_is_hidden_by_the_policy_of_then(void **state)
{
        (void)state;
        struct store *view = view_of_world();
        struct past_question question = question_of(moments[5].at_ms, 1);
        snprintf(question.tenant, sizeof question.tenant, "web");
        expect_refused(view, &question, &usual, -ERR_NOT_FOUND, "");
        snprintf(question.tenant, sizeof question.tenant, "gone");
        expect_refused(view, &question, &usual, -ERR_NOT_FOUND, "no tenant 'gone'");
        store_close(view);
}

static bool stop_at_once(void *arg)
{
        (void)arg;
        return true;
}

static void it_is_bounded_and_ends_when_nobody_waits(void **state)
{
        (void)state;
        struct store *view = view_of_world();
        struct past_limits limits = usual;
        limits.records_max = 5;
        struct past_question question = question_of(moments[0].at_ms, 0);
        expect_refused(view, &question, &limits, -ERR_RANGE, "at most 5");
        limits = usual;
        limits.stops = stop_at_once;
        expect_refused(view, &question, &limits, -ERR_CANCELLED, "given up");
        store_close(view);
}

/* The time that a refusal names can be asked for. */
static void expect_oldest(struct store *view, int64_t at_ms, const char *why)
{
        struct past_question question = {.at_ms = at_ms};
        char *bytes = NULL;
        expect_refused(view, &question, &usual, -ERR_NOT_FOUND, why);
        const char *when = strstr(world.err.text, "asked for is ");
        assert_non_null(when);
        assert_int_equal(when_parse(when + strlen("asked for is "), &question.at_ms, NULL), 0);
        assert_int_equal(ask(view, &question, &usual, &bytes), 0);
        free(bytes);
}

static void before_the_log_there_is_nothing(void **state)
{
        (void)state;
        struct store *view = view_of_world();
        expect_oldest(view, WORLD_START_MS - 1, "began later");
        store_close(view);
}

static struct store *stopped_store(void)
{
        const struct store_options options = {.path = "s", .is_unlocked = true,
                                              .vfs = fault_vfs_name(world.disks[world.disk])};
        struct store *store;
        assert_int_equal(store_open(&options, &store, &world.err), 0);
        return store;
}

/* As a chore does while a question is worked at. */
static bool prune_meanwhile(void *arg)
{
        const struct prune *prune = arg;
        struct store *store = stopped_store();
        while (prune_step(prune, store, &world.err) > 0)
                ;
        store_close(store);
        return false;
}

static void what_was_pruned_cannot_be_asked_for(void **state)
{
        (void)state;
        struct seal_key key;
        struct snapshot list[8];
        struct store *store;
        size_t count;
        world_stop(&world);
        store = stopped_store();
        assert_int_equal(snapshot_list(store, list, 8, &count, &world.err), 0);
        crypto_sign_keypair(key.public_key, key.secret_key);
        struct prune prune = {.upto_seq = list[1].seq, .at_ms = world.now_ms, .key = &key};
        struct past_question question = {.at_ms = moments[0].at_ms};
        const struct past_limits limits = {.records_max = PAST_RECORDS_MAX,
                                           .stops = prune_meanwhile, .stops_arg = &prune};
        expect_refused(store, &question, &limits, -ERR_NOT_FOUND, "is pruned before that");
        expect_oldest(store, moments[0].at_ms, "is pruned before that");
        expect_oldest(store, list[1].at_ms - 1, "is pruned before that");
        for (unsigned m = 0; m < MOMENTS; m++)
                if (moments[m].at_ms >= list[1].at_ms)
                        expect_as_it_was(store, &moments[m]);
        store_close(store);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_answer_is_the_one_that_was_given_then),
                cmocka_unit_test(work_that_had_not_come_or_had_ended_is_told_so),
                cmocka_unit_test(another_tenants_work_is_hidden_by_the_policy_of_then),
                cmocka_unit_test(it_is_bounded_and_ends_when_nobody_waits),
                cmocka_unit_test(before_the_log_there_is_nothing),
                cmocka_unit_test(what_was_pruned_cannot_be_asked_for),  /* the last: it stops */
        };
        return cmocka_run_group_tests(tests, begin, end);
}
