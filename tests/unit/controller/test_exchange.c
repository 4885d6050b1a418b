/* Agents: what they say of their runs, and what they are told. */
#include "tests/unit/check.h"

#include <stdarg.h>

#include "base/mem.h"
#include "controller/attach.h"
#include "controller/exchange.h"
#include "controller/nodes.h"
#include "controller/wants.h"
#include "proto/protocol.h"
#include "tests/unit/controller/world.h"

static struct world world;

static void report(const char *node, const char *runs)
{
        json_t *answer = world_report(&world, node, runs);
        if (!answer)
                fail_msg("%s: %s", node, world.err.text);
        json_decref(answer);
}

static int begin(void **state)
{
        (void)state;
        world_init(&world, "exchange");
        world_furnish(&world);
        report("n1", "[]");
        report("n2", "[]");
        report("n3", "[]");
        return 0;
}

static int end(void **state)
{
        (void)state;
        world_done(&world);
        return 0;
}

/* What an agent says of one member. */
static const char *run(uint64_t id, unsigned member, const char *rest)
{
        static char text[8][200];
        static unsigned count;
        const struct work *work = world_work(&world, id);
        char *room = text[count++ % 8];
        snprintf(room, sizeof text[0], "[{\"workload\":%u,\"member\":%u,\"epoch\":%u,%s}]",
                 (unsigned)id, member, work ? (unsigned)work->epoch : 0, rest);
        return room;
}

static const char *node_of(uint64_t id, unsigned member)
{
        const struct state *state = core_state(world.live.core);
        uint32_t slot = state_workload(state, id);
        assert_int_not_equal(slot, NONE);
        for (uint32_t at = state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next)
                if (state->members[at].number == member)
                        return live_node_of(&world.live, state->members[at].node)->name;
        return NULL;
}

/* The agent of the node where the member is says that, and the answer's run of it (NULL: none). */
static json_t *say(uint64_t id, unsigned member, const char *rest)
{
        static json_t *kept;
        json_t *answer = world_report(&world, node_of(id, member), run(id, member, rest)), *it;
        size_t i;
        if (!answer)
                fail_msg("%s", world.err.text);
        json_decref(kept);
        kept = answer;
        json_array_foreach(json_object_get(answer, "runs"), i, it)
                if ((uint64_t)json_integer_value(json_object_get(it, "workload")) == id &&
                    json_integer_value(json_object_get(it, "member")) == member)
                        return it;
        return NULL;
}

#define RUNNING "\"phase\":\"running\""
#define READY   "\"phase\":\"ready\""
#define WELL    "\"phase\":\"exited\",\"exit_code\":0"
#define BADLY   "\"phase\":\"exited\",\"exit_code\":3"
#define TERMED  "\"phase\":\"exited\",\"signal\":15"

static void expect_row(uint64_t id, const char *wanted)
{
        char is[32], detail[512];
        world_row(&world, id, is, detail);
        assert_string_equal(is, wanted);
}

static bool is_up(const char *name)
{
        const struct state *state = core_state(world.live.core);
        uint32_t node = state_node(state, nodes_find(world.live.nodes, name)->desc.name);
        return node != NONE && state->nodes[node].status == NODE_UP;
}

static void a_report_that_cannot_be_meant_is_refused(void **state)
{
        (void)state;
        static const struct {
                const char *report, *why;
        } rows[] = {
                {"{}", "fields 'protocol' and 'protocols'"},
                {"{\"protocol\":\"1\",\"agent\":\"1\",\"boot\":\"b\",\"runs\":[]}",
                 "write one version"},
                {"{\"protocol\":1,\"protocols\":1,\"agent\":\"1\",\"boot\":\"b\",\"runs\":[]}",
                 "write one version"},
                {"{\"protocol\":1,\"protocols\":[1,70000],\"agent\":\"1\",\"boot\":\"\"}",
                 "write one version"},
                {"{\"protocol\":0,\"agent\":\"1\",\"boot\":\"b\",\"runs\":[]}",
                 "the agent 0: upgrade the agent"},
                {"{\"protocol\":2,\"agent\":\"1\",\"boot\":\"b\",\"runs\":[]}",
                 "the agent 2: upgrade this controller"},
                {"{\"protocol\":2,\"protocols\":[2,3],\"agent\":\"1\",\"boot\":\"b\",\"runs\":[]}",
                 "the agent 2 to 3: upgrade this controller"},
                {"{\"protocol\":2,\"protocols\":[1,2],\"agent\":\"1\",\"boot\":\"b\",\"runs\":[]}",
                 "the report is written in 2"},
                {"{\"protocol\":1,\"agent\":\"1\",\"boot\":\"b\"}", "field 'runs'"},
                {"{\"protocol\":1,\"agent\":\"1\",\"boot\":\"b\",\"runs\":{}}", "field 'runs'"},
                {"{\"protocol\":1,\"boot\":\"b\",\"runs\":[]}", "field 'agent'"},
                {"{\"protocol\":1,\"agent\":\"1\",\"runs\":[]}", "field 'boot'"},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                assert_null(world_exchange(&world, "n1", json_loads(rows[r].report, 0, NULL)));
                assert_int_equal(world.err.code, ERR_INPUT);
                check_has(world.err.text, rows[r].why);
        }
        assert_null(world_report(&world, "n4", "[]"));
        report("n1", "[1, {}, {\"phase\":\"flying\"}, {\"workload\":1,\"phase\":\"running\"}]");
}

/* Made-up agents of the release before and the one after; what they say that is not known here is
 * skipped. */
static void agents_of_the_next_releases_are_answered_in_what_both_speak(void **state)
{
        (void)state;
        static const char *const reports[] = {
                "{\"protocol\":1,\"agent\":\"0\",\"boot\":\"b\",\"runs\":[]}",
                "{\"protocol\":1,\"protocols\":[0,1],\"agent\":\"0\",\"boot\":\"b\",\"runs\":[]}",
                ("{\"protocol\":1,\"protocols\":[1,2],\"agent\":\"2\",\"boot\":\"b\",\"runs\":[],"
                 "\"mood\":{\"good\":true},\"broken\":[]}"),
        };
        for (size_t r = 0; r < ARRAY_LEN(reports); r++) {
                json_t *it = world_exchange(&world, "n1", json_loads(reports[r], 0, NULL));
                assert_non_null(it);
                assert_int_equal(json_integer_value(json_object_get(it, "protocol")), 1);
                json_decref(it);
        }
        assert_int_equal(nodes_find(world.live.nodes, "n1")->protocol, 1);
}

static void a_run_says_all_that_an_agent_needs(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        json_t *it = say(id, 0, "\"phase\":\"starting\"");
        assert_non_null(it);
        assert_int_equal(json_integer_value(json_object_get(it, "epoch")),
                         world_work(&world, id)->epoch);
        assert_string_equal(json_string_value(json_object_get(it, "name")), "j");
        assert_string_equal(json_string_value(json_object_get(it, "tenant")), "web");
        assert_int_equal(json_array_size(json_object_get(it, "command")), 2);
        assert_int_equal(json_array_size(json_object_get(it, "devices")), 1);
        assert_true(json_is_true(json_object_get(it, "go")));
        assert_true(json_is_null(json_object_get(it, "stop")));
}

static void what_an_agent_may_start_is_durable(void **state)
{
        (void)state;
        struct submitted submitted;
        assert_int_equal(world_submit(&world,
                                      "{kind: Workload, name: j, tenant: web, each: {devices: 1},"
                                      " run: {command: [x]}}",
                                      NULL, &submitted),
                         0);
        const struct node_entry *node = nodes_find(world.live.nodes, node_of(submitted.first_id, 0));
        assert_false(core_is_durable(world.live.core, node->changed_seq));
        assert_int_equal(node->changed_seq, world_work(&world, submitted.first_id)->epoch);
        world_settle(&world);
        assert_true(core_is_durable(world.live.core, node->changed_seq));
}

static void work_ends_as_its_processes_did(void **state)
{
        (void)state;
        uint64_t well = world_job(&world, "web", "a", 1), badly = world_job(&world, "web", "b", 1),
                 refused = world_job(&world, "web", "c", 1);
        char is[32], detail[512];
        say(well, 0, RUNNING);
        assert_null(say(well, 0, WELL));
        assert_null(say(badly, 0, BADLY));
        assert_null(say(refused, 0, "\"phase\":\"refused\""));
        expect_row(well, "succeeded");
        expect_row(refused, "failed");
        world_row(&world, badly, is, detail);
        assert_string_equal(is, "failed");
        check_has(detail, "\"exit_code\":3");
        report("n1", run(well, 0, WELL));       /* late, and again */
        expect_row(well, "succeeded");
}

static void what_is_said_of_another_run_means_nothing(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        char text[200];
        const char *node = node_of(id, 0);
        snprintf(text, sizeof text,
                 "[{\"workload\":%u,\"member\":0,\"epoch\":%u,\"phase\":\"exited\"},"
                 "{\"workload\":%u,\"member\":7,\"epoch\":%u,\"phase\":\"exited\"},"
                 "{\"workload\":999,\"member\":0,\"epoch\":1,\"phase\":\"exited\"}]",
                 (unsigned)id, (unsigned)world_work(&world, id)->epoch - 1, (unsigned)id,
                 (unsigned)world_work(&world, id)->epoch);
        report(node, text);
        assert_int_equal(world_work(&world, id)->members[0].phase, PHASE_UNKNOWN);
        report(strcmp(node, "n1") ? "n1" : "n2", run(id, 0, BADLY));    /* not its node */
        assert_non_null(world_work(&world, id));
}

/* ---- gangs ---- */

static void a_gang_goes_when_all_of_it_is_ready(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "gang", 6);      /* on two nodes */
        for (unsigned m = 0; m < 6; m++)
                assert_true(json_is_false(json_object_get(say(id, m, READY), "go")) == (m < 5));
        json_t *it = say(id, 0, RUNNING);
        assert_true(json_is_true(json_object_get(it, "go")));
        assert_int_equal(json_integer_value(json_object_get(it, "world")), 6);
        json_t *addresses = json_object_get(it, "addresses");
        for (unsigned m = 0; m < 6; m++)
                assert_string_equal(json_string_value(json_array_get(addresses, m)),
                                    node_of(id, m));
}

static void a_gang_ends_as_a_whole(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "gang", 6);
        for (unsigned m = 0; m < 6; m++)
                say(id, m, RUNNING);
        const struct node_entry *other = nodes_find(world.live.nodes, node_of(id, 0));
        uint64_t generation = other->generation;
        say(id, 5, BADLY);
        assert_true(other->generation > generation);    /* it is told */
        for (unsigned m = 0; m < 5; m++) {
                json_t *stop = json_object_get(say(id, m, RUNNING), "stop");
                assert_string_equal(json_string_value(json_object_get(stop, "cause")),
                                    "a member ended");
                assert_int_equal(json_integer_value(json_object_get(stop, "until_ms")), 0);
        }
        for (unsigned m = 0; m < 5; m++) {
                expect_row(id, "live");
                say(id, m, TERMED);
        }
        expect_row(id, "failed");
        state_check(core_state(world.live.core));
}

static void a_member_that_ended_well_lets_the_others_go_on(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "gang", 2);
        say(id, 0, RUNNING);
        say(id, 1, RUNNING);
        assert_non_null(say(id, 0, WELL));              /* until all have */
        assert_true(json_is_null(json_object_get(say(id, 1, RUNNING), "stop")));
        assert_null(say(id, 1, WELL));
        expect_row(id, "succeeded");
}

/* ---- the end of running work ---- */

static void cancelled_work_is_told_and_gone_when_its_processes_are(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        struct ack ack = {0};
        say(id, 0, RUNNING);
        assert_int_equal(world_cancel(&world, id, &ack), 0);
        world_settle(&world);
        assert_int_equal(ack.calls, 1);
        json_t *stop = json_object_get(say(id, 0, RUNNING), "stop");
        assert_string_equal(json_string_value(json_object_get(stop, "cause")), "cancelled");
        expect_row(id, "live");
        say(id, 0, TERMED);
        expect_row(id, "cancelled");
}

static void a_cancel_outlives_the_controller_and_the_node(void **state)
{
        (void)state;
        for (unsigned with_snapshot = 0; with_snapshot < 2; with_snapshot++) {
                uint64_t id = world_job(&world, "web", "j", 1);
                say(id, 0, RUNNING);
                assert_int_equal(world_cancel(&world, id, NULL), 0);
                world_settle(&world);
                if (with_snapshot)
                        assert_int_equal(core_snapshot(world.live.core, NULL), 0);
                world_settle(&world);
                world_crash(&world, FAULT_LOSE_ALL, 1);
                world_start(&world);
                json_t *stop = json_object_get(say(id, 0, RUNNING), "stop");
                assert_string_equal(json_string_value(json_object_get(stop, "cause")),
                                    "cancelled");
                char node[8];
                snprintf(node, sizeof node, "%s", node_of(id, 0));
                for (unsigned t = 0; t < 25 && world_work(&world, id); t++) {
                        world_tick(&world, 2000);               /* its node is silent */
                        for (unsigned n = 1; n <= 3; n++) {
                                char name[4];
                                snprintf(name, sizeof name, "n%u", n);
                                if (strcmp(name, node) != 0)
                                        report(name, "[]");
                        }
                }
                assert_null(world_work(&world, id));
                expect_row(id, "cancelled");
                report(node, "[]");
                report(node, "[]");
        }
}

/* Two jobs of lab fill the pool; web asks for what it is promised. One of them is told. */
static uint64_t tell_one(void)
{
        uint64_t first = world_job(&world, "lab/a", "one", 4), second = world_job(&world, "lab/b",
                                                                                  "two", 4);
        (void)world_job(&world, "lab/b", "three", 4);
        (void)world_job(&world, "web", "due", 4);
        for (unsigned t = 0; t < 3; t++) {
                world_tick(&world, 1000);
                for (unsigned n = 1; n <= 3; n++) {
                        char name[4];
                        snprintf(name, sizeof name, "n%u", n);
                        report(name, "[]");
                }
        }
        const struct state *state = core_state(world.live.core);
        for (uint64_t id = first; id <= second + 1; id++)
                if (state->workloads[state_workload(state, id)].notice_until_ms)
                        return id;
        fail_msg("nobody was told");
        return 0;
}

static int64_t notice_of(uint64_t id)
{
        const struct state *state = core_state(world.live.core);
        return state->workloads[state_workload(state, id)].notice_until_ms;
}

static void notice_is_given_and_work_that_stopped_after_it_waits_again(void **state)
{
        (void)state;
        uint64_t id = tell_one();
        int64_t until = notice_of(id);
        assert_true(until > world.now_ms + 20000);
        json_t *stop = json_object_get(say(id, 0, RUNNING), "stop");
        assert_string_equal(json_string_value(json_object_get(stop, "cause")), "preemption");
        assert_int_equal(json_integer_value(json_object_get(stop, "until_ms")), until);
        world.now_ms = until;
        char node[4][8];
        for (unsigned m = 0; m < 4; m++)
                snprintf(node[m], sizeof node[m], "%s", node_of(id, m));
        for (unsigned m = 0; m < 4; m++)
                report(node[m], run(id, m, TERMED));
        assert_int_equal(world_work(&world, id)->epoch, 0);
        assert_int_equal(world_work(&world, id)->stops, 1);
        expect_row(id, "live");
}

/* What a report says that was sent then, on the machine's own clock. */
static void say_checkpoint(uint64_t id, int64_t sent_ms, int64_t at_ms)
{
        const struct node_entry *node = nodes_find(world.live.nodes, node_of(id, 0));
        json_t *it = json_pack("{s:i,s:s,s:s,s:I,s:I,s:[],s:[{s:I,s:i,s:I,s:I}]}", "protocol", 1,
                               "agent", "1", "boot", "b", "sent_ms", (json_int_t)sent_ms, "seen",
                               (json_int_t)node->generation, "runs", "checkpoints", "workload",
                               (json_int_t)id, "member", 0, "epoch",
                               (json_int_t)world_work(&world, id)->epoch, "at_ms",
                               (json_int_t)at_ms);
        json_decref(world_exchange(&world, node->name, it));
        assert_int_equal(world.err.code, ERR_OK);
}

static int64_t saved_of(uint64_t id)
{
        const struct state *state = core_state(world.live.core);
        return state->workloads[state_workload(state, id)].saved_ms;
}

/* The machine's clock stands at 7,000,000 when the work starts. */
static void a_checkpoint_counts_from_when_it_was_made(void **state)
{
        (void)state;
        enum { CLOCK = 7000000 };
        uint64_t id = world_job(&world, "web", "j", 1);
        const struct state *live = core_state(world.live.core);
        int64_t since_ms = live->workloads[state_workload(live, id)].since_ms;
        world_tick(&world, since_ms + 10000 - world.now_ms);
        say_checkpoint(id, CLOCK + 10000, CLOCK + 9000);
        assert_in_range(saved_of(id), 8990, 9010);
        int64_t saved_ms = saved_of(id);
        world_tick(&world, 5000);
        uint64_t records = core_last_seq(world.live.core);
        say_checkpoint(id, CLOCK + 15000, CLOCK + 9000);        /* the same again */
        say_checkpoint(id, CLOCK + 10000, CLOCK + 9000);        /* ... and doubled by the network */
        say_checkpoint(id, CLOCK + 8000, CLOCK + 7000);         /* an older one, late */
        assert_int_equal(saved_of(id), saved_ms);
        assert_int_equal(core_last_seq(world.live.core), records);
        world_tick(&world, 5000);
        say_checkpoint(id, CLOCK + 14000, CLOCK + 13500);       /* it took 6 s to come */
        assert_in_range(saved_of(id), 13490, 13520);
        say_checkpoint(id, CLOCK + 20000, CLOCK + 90000);       /* from the future: it is now */
        assert_in_range(saved_of(id), 19990, 20010);
        say_checkpoint(id, CLOCK + 20000, 1);                   /* from before the run */
        assert_in_range(saved_of(id), 19990, 20010);
}

/* The checkpoint signal ends many a program. */
static void work_that_leaves_before_its_notice_is_over_has_not_failed(void **state)
{
        (void)state;
        uint64_t id = tell_one();
        assert_true(notice_of(id) > world.now_ms);
        char node[4][8];
        for (unsigned m = 0; m < 4; m++)
                snprintf(node[m], sizeof node[m], "%s", node_of(id, m));
        for (unsigned m = 0; m < 4; m++)
                report(node[m], run(id, m, TERMED));
        assert_int_equal(world_work(&world, id)->epoch, 0);
        expect_row(id, "live");
        assert_int_equal(world_work(&world, id)->stops, 1);
}

/* Many a program that is told to end does so well, and is not done. */
static void what_exits_well_after_term_waits_again(void **state)
{
        static const char *const ends[] = {"", ",\"told_to_end\":true"};

        (void)state;
        for (unsigned told = 0; told < 2; told++) {
                char name[2] = {(char)('a' + told), '\0'}, end_of[100];
                uint64_t id = world_job(&world, "web", name, 1);
                const struct input asked = {.kind = INPUT_STOP_ASKED, .stop = {.workload = id}};
                say(id, 0, RUNNING);
                struct act *act = world_act(&world);
                assert_int_equal(core_input(act, &asked, NULL, &world.err), 0);
                world_commit(&world, act, NULL);
                world_settle(&world);
                snprintf(end_of, sizeof end_of, WELL "%s", ends[told]);
                say(id, 0, end_of);
                expect_row(id, told ? "live" : "succeeded");
        }
}

/* The members that are ended because of it say nothing of why it failed. */
static void a_gang_fails_as_its_first_member_did(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "gang", 6);
        char is[32], detail[512], node[6][8];
        for (unsigned m = 0; m < 6; m++)
                snprintf(node[m], sizeof node[m], "%s", node_of(id, m));
        report(node[4], run(id, 4, BADLY));
        for (unsigned m = 0; m < 6; m++)
                if (m != 4)
                        report(node[m], run(id, m, TERMED));
        world_row(&world, id, is, detail);
        assert_string_equal(is, "failed");
        check_has(detail, "\"exit_code\":3,\"signal\":0");
}

/* Once its first start is some seconds ago: what cannot run is not started again and again. */
static void a_replica_that_ended_comes_back(void **state)
{
        static const char *const ends[] = {BADLY, WELL, TERMED};
        struct submitted submitted;

        (void)state;
        assert_int_equal(world_submit(&world,
                                      "{kind: Workload, name: s, tenant: web, each: {devices: 1},"
                                      " service: {port: 80}, run: {command: [serve]}}",
                                      NULL, &submitted),
                         0);
        world_settle(&world);
        for (size_t e = 0; e < ARRAY_LEN(ends); e++) {
                uint64_t id = submitted.first_id, epoch = world_work(&world, id)->epoch;
                char node[8];
                snprintf(node, sizeof node, "%s", node_of(id, 0));
                report(node, run(id, 0, ends[e]));
                world_tick(&world, 1000);
                assert_int_equal(world_work(&world, id)->epoch, epoch);
                world_tick(&world, 9000);
                assert_true(world_work(&world, id)->epoch > epoch);
                expect_row(id, "live");
        }
        assert_int_equal(world_cancel(&world, submitted.first_id, NULL), 0);
        (void)say(submitted.first_id, 0, TERMED);
        expect_row(submitted.first_id, "cancelled");
}

/* Each has all of the notice, to save what it has to. */
static void a_member_that_leaves_in_a_notice_takes_nobody_with_it(void **state)
{
        (void)state;
        uint64_t id = tell_one();
        char node[4][8];
        for (unsigned m = 0; m < 4; m++)
                snprintf(node[m], sizeof node[m], "%s", node_of(id, m));
        report(node[0], run(id, 0, BADLY));
        world_tick(&world, 1000);
        for (unsigned m = 1; m < 4; m++) {
                json_t *stop = json_object_get(say(id, m, RUNNING), "stop");
                assert_string_equal(json_string_value(json_object_get(stop, "cause")), "preemption");
                assert_int_equal(json_integer_value(json_object_get(stop, "until_ms")),
                                 notice_of(id));
        }
        for (unsigned m = 1; m < 4; m++)
                report(node[m], run(id, m, TERMED));
        assert_int_equal(world_work(&world, id)->epoch, 0);
        assert_int_equal(world_work(&world, id)->stops, 1);
        expect_row(id, "live");
}

/* Then the gang is broken, by our doing: it waits again. */
static void a_notice_withdrawn_after_a_member_left_is_no_failure(void **state)
{
        (void)state;
        uint64_t id = tell_one(), epoch = world_work(&world, id)->epoch;
        char node[4][8];
        for (unsigned m = 0; m < 4; m++)
                snprintf(node[m], sizeof node[m], "%s", node_of(id, m));
        report(node[0], run(id, 0, BADLY));
        for (uint64_t other = 1; other <= 4; other++)
                if (other != id && world_work(&world, other) && !world_work(&world, other)->epoch)
                        assert_int_equal(world_cancel(&world, other, NULL), 0);
        world_settle(&world);
        assert_int_equal(notice_of(id), 0);
        world_tick(&world, 1000);
        for (unsigned m = 1; m < 4; m++)
                report(node[m], run(id, m, TERMED));
        expect_row(id, "live");
        assert_true(world_work(&world, id)->epoch != epoch);
}

/* ---- silence ---- */

static void others_report(const char *but)
{
        for (unsigned n = 1; n <= 3; n++) {
                char name[4];
                snprintf(name, sizeof name, "n%u", n);
                if (strcmp(name, but) != 0)
                        report(name, "[]");
        }
}

static void silence(const char *node)
{
        for (unsigned t = 0; t < 17 && is_up(node); t++) {
                world_tick(&world, 2000);
                others_report(node);
        }
        assert_false(is_up(node));
}

static void a_silent_node_is_lost_after_its_lease_and_not_before(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        char node[8];
        snprintf(node, sizeof node, "%s", node_of(id, 0));
        say(id, 0, RUNNING);
        int64_t heard_ms = world.now_ms;
        while (world.now_ms < heard_ms + WORLD_LEASE_MS) {
                assert_true(is_up(node));
                world_tick(&world, 2000);
                others_report(node);
        }
        assert_true(is_up(node));
        world_tick(&world, 2000);
        assert_false(is_up(node));
        assert_non_null(world_work(&world, id));        /* it waits again, or runs elsewhere */
        if (world_work(&world, id)->epoch)
                assert_string_not_equal(node_of(id, 0), node);
}

static void a_lost_node_is_fenced_until_it_runs_nothing_and_knows_it(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        char node[8], stale[200], left[200];
        snprintf(node, sizeof node, "%s", node_of(id, 0));
        say(id, 0, RUNNING);
        snprintf(left, sizeof left, "%s", run(id, 0, RUNNING));
        uint64_t seen = nodes_find(world.live.nodes, node)->generation;
        silence(node);
        report(node, left);                             /* it still runs it */
        assert_false(is_up(node));
        report(node, left);
        assert_false(is_up(node));
        snprintf(stale, sizeof stale,
                 "{\"protocol\":1,\"agent\":\"1\",\"boot\":\"b\",\"runs\":[],\"seen\":%u}",
                 (unsigned)0);
        json_t *late = json_loads(stale, 0, NULL);
        json_object_set_new(late, "seen", json_integer((json_int_t)seen));
        json_decref(world_exchange(&world, node, late));        /* from before it began to run */
        assert_false(is_up(node));
        report(node, "[]");
        assert_true(is_up(node));
}

static void a_lost_node_that_comes_clean_joins_at_its_second_report(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        char node[8];
        snprintf(node, sizeof node, "%s", node_of(id, 0));
        silence(node);
        world_crash(&world, FAULT_LOSE_ALL, 1); /* who it waits for does not know either */
        world_start(&world);
        assert_false(is_up(node));
        report(node, "[]");
        report(node, "[]");
        assert_true(is_up(node));
}

static bool is_drained(const char *name)
{
        const struct state *state = core_state(world.live.core);
        uint32_t node = state_node(state, nodes_find(world.live.nodes, name)->desc.name);
        return node != NONE && state->nodes[node].desc.drained;
}

static void a_drain_does_not_bring_a_lost_node_back(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        char node[8];
        snprintf(node, sizeof node, "%s", node_of(id, 0));
        silence(node);
        for (unsigned drained = 2; drained-- > 0;) {
                struct act *act = world_act(&world);
                int rc = live_drain(&world.live, act, nodes_find(world.live.nodes, node), drained, 0,
                                    &world.err);
                assert_int_equal(rc, 0);
                world_commit(&world, act, NULL);
                world_settle(&world);
                assert_false(is_up(node));
                assert_int_equal(is_drained(node), drained);
        }
        report(node, "[]");
        report(node, "[]");
        assert_true(is_up(node));
        assert_false(is_drained(node));
}

/* Work may be submitted before the machines are there. */
static void a_described_node_is_waited_for(void **state)
{
        (void)state;
        world_done(&world);
        world_init(&world, "described");
        world_furnish(&world);
        assert_false(is_up("n1"));
        uint64_t id = world_job(&world, "web", "j", 1);
        world_tick(&world, 1000);
        assert_int_equal(world_work(&world, id)->epoch, 0);
        expect_row(id, "live");                         /* not refused */
        report("n1", "[]");
        assert_true(is_up("n1"));                       /* it never ran anything: no fence */
        assert_true(world_work(&world, id)->epoch > 0);
        /* After a restart nobody knows that it never did. */
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        report("n2", "[]");
        assert_false(is_up("n2"));
        report("n2", "[]");
        assert_true(is_up("n2"));
}

static void a_controller_that_slept_calls_nobody_silent(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        say(id, 0, RUNNING);
        uint64_t epoch = world_work(&world, id)->epoch;
        world_tick(&world, 2000);
        world_tick(&world, 3600000);                    /* or its clock was set */
        assert_true(is_up("n1") && is_up("n2") && is_up("n3"));
        world_tick(&world, -3600000);
        assert_true(is_up("n1") && is_up("n2") && is_up("n3"));
        others_report("");
        assert_int_equal(world_work(&world, id)->epoch, epoch);
        silence(node_of(id, 0));                        /* but not for ever */
}

static void a_clock_that_is_set_ends_no_lease(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        say(id, 0, RUNNING);
        for (unsigned t = 0; t < 15; t++) {             /* the lease's 30 s, and many more by day */
                world.now_ms += 14000;
                world_tick(&world, 2000);
                assert_true(is_up(node_of(id, 0)));
        }
        silence(node_of(id, 0));
}

static void what_ended_for_want_of_contact_is_lost_and_has_not_failed(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 2);
        uint64_t epoch = world_work(&world, id)->epoch;
        json_t *told = say(id, 0, RUNNING);
        assert_string_equal(json_string_value(json_object_get(told, "lost_contact")),
                            "stop_at_lease");
        say(id, 1, RUNNING);
        say(id, 0, "\"phase\":\"exited\",\"signal\":15,\"lost_contact\":true");
        assert_int_equal(world_work(&world, id)->epoch, epoch); /* the other one ends first */
        say(id, 1, TERMED);
        expect_row(id, "live");
        assert_int_not_equal(world_work(&world, id)->epoch, epoch);
}

static uint64_t continuing_job(const char *name)
{
        struct submitted submitted = {0};
        char text[300];
        snprintf(text, sizeof text,
                 "{kind: Workload, name: %s, tenant: web, class: quiet,"
                 " each: {devices: 1, model: H100-80}, run: {command: [x]}}", name);
        assert_int_equal(world_submit(&world, text, NULL, &submitted), 0);
        world_settle(&world);
        return submitted.first_id;
}

/* Its class: on_lost_contact: continue. Beside it one that stops at its lease. */
static void what_continues_keeps_its_place_on_a_silent_node(void **state)
{
        (void)state;
        uint64_t stays = continuing_job("stays"), stops = 0;
        char node[8], left[200];
        snprintf(node, sizeof node, "%s", node_of(stays, 0));
        do
                stops = world_job(&world, "web", "stops", 1);
        while (strcmp(node_of(stops, 0), node) != 0);
        assert_string_equal(json_string_value(json_object_get(say(stays, 0, RUNNING),
                                                              "lost_contact")),
                            "continue");
        uint64_t epoch = world_work(&world, stays)->epoch;
        uint64_t stopped_epoch = world_work(&world, stops)->epoch;
        snprintf(left, sizeof left, "%s", run(stays, 0, RUNNING));
        silence(node);
        assert_int_equal(world_work(&world, stays)->epoch, epoch);
        assert_string_equal(node_of(stays, 0), node);
        assert_int_not_equal(world_work(&world, stops)->epoch, stopped_epoch);
        world_cancel(&world, stays, NULL);      /* it is not gone because somebody wants it gone */
        world_settle(&world);
        for (unsigned t = 0; t < 30; t++) {
                world_tick(&world, 2000);
                others_report(node);
        }
        assert_int_equal(world_work(&world, stays)->epoch, epoch);
        assert_false(is_up(node));
        /* It outlives a controller, too. */
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        assert_int_equal(world_work(&world, stays)->epoch, epoch);
        assert_false(is_up(node));
        /* The node is back, and the work on it is no stranger. */
        json_decref(world_report(&world, node, left));
        json_t *answer = world_report(&world, node, left);
        assert_true(is_up(node));
        assert_int_equal(json_array_size(json_object_get(answer, "runs")), 1);
        json_decref(answer);
        say(stays, 0, TERMED);
        expect_row(stays, "cancelled");
}

static void an_operator_gives_up_what_a_silent_node_keeps(void **state)
{
        (void)state;
        uint64_t id = continuing_job("stays"), gone = continuing_job("gone");
        struct err err = {0};
        char node[8];
        snprintf(node, sizeof node, "%s", node_of(id, 0));
        assert_string_equal(node_of(gone, 0), node);
        uint64_t epoch = world_work(&world, id)->epoch;
        struct node_entry *entry = nodes_find(world.live.nodes, node);
        struct act *act = world_act(&world);
        assert_int_equal(live_lose(&world.live, act, entry, &err), -ERR_EXISTS);
        check_has(err.text, "is not silent");
        world_commit(&world, act, NULL);
        world_settle(&world);
        world_cancel(&world, gone, NULL);
        silence(node);
        act = world_act(&world);
        assert_int_equal(live_lose(&world.live, act, entry, &err), 0);
        world_commit(&world, act, NULL);
        world_settle(&world);
        expect_row(gone, "cancelled");
        assert_int_not_equal(world_work(&world, id)->epoch, epoch);
        assert_string_not_equal(node_of(id, 0), node);
        assert_false(is_up(node));
}

static void generations_go_on_where_an_agent_stands(void **state)
{
        (void)state;
        struct node_entry *node = nodes_find(world.live.nodes, "n1");
        uint64_t seen = node->generation;
        world.now_ms -= 3600000;                /* the clock is set back, and */
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        node = nodes_find(world.live.nodes, "n1");
        for (unsigned round = 0; round < 2; round++) {
                json_t *it = json_pack("{s:i,s:s,s:s,s:I,s:[]}", "protocol", 1, "agent", "1",
                                       "boot", "b", "seen", (json_int_t)seen, "runs");
                json_t *answer = world_exchange(&world, "n1", it);
                assert_non_null(answer);
                assert_true((uint64_t)json_integer_value(json_object_get(answer, "generation")) >
                            seen);
                json_decref(answer);
                seen = round == 0 ? node->generation + 5 : seen;
        }
        json_t *odd = json_pack("{s:i,s:s,s:s,s:i,s:[]}", "protocol", 1, "agent", "1", "boot", "b",
                                "seen", -1, "runs");
        uint64_t generation = world.live.generation;
        json_decref(world_exchange(&world, "n1", odd));
        assert_true(world.live.generation == generation);
}

static void a_restarted_controller_waits_a_lease(void **state)
{
        (void)state;
        world.now_ms += 10 * WORLD_LEASE_MS;
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        world_tick(&world, 3600000);            /* its clock was set after it had started */
        world_tick(&world, 14000);
        world_tick(&world, 14000);
        assert_true(is_up("n1") && is_up("n2") && is_up("n3"));
        world_tick(&world, 4000);
        assert_false(is_up("n1") || is_up("n2") || is_up("n3"));
}

/* ---- devices ---- */

static json_t *report_broken(const char *node, const char *runs, int device)
{
        json_t *it = json_pack("{s:i,s:s,s:s,s:I,s:o,s:[i]}", "protocol", 1, "agent", "1",
                               "boot", "b", "seen",
                               (json_int_t)nodes_find(world.live.nodes, node)->generation, "runs",
                               json_loads(runs, 0, NULL), "broken", device);
        return world_exchange(&world, node, it);
}

static unsigned broken_on(const char *node)
{
        const struct state *state = core_state(world.live.core);
        return state->nodes[state_node(state, nodes_find(world.live.nodes, node)->desc.name)]
                .desc.broken;
}

static void restart_on_the_pool(void)
{
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        assert_int_equal(world_put_pool(&world, world_pool), 0);
}

/* Until its agent has ended it, all of it; even where the device is well again before. */
static void what_a_broken_device_has_keeps_its_place_until_it_has_ended(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 4);
        char node[8];
        snprintf(node, sizeof node, "%s", node_of(id, 0));
        uint64_t epoch = world_work(&world, id)->epoch;
        say(id, 0, RUNNING);
        json_decref(report_broken(node, run(id, 0, RUNNING), 2));
        assert_int_equal(broken_on(node), 1u << 2);
        restart_on_the_pool();
        for (unsigned m = 0; m < 4; m++) {
                json_t *told = json_object_get(say(id, m, RUNNING), "stop");
                assert_string_equal(json_string_value(json_object_get(told, "cause")),
                                    "a part of it is lost");
                assert_int_equal(json_integer_value(json_object_get(told, "until_ms")), 0);
        }
        assert_int_equal(world_work(&world, id)->epoch, epoch);
        assert_int_equal(broken_on(node), 1u << 2);
        for (unsigned m = 0; m < 4; m++)
                say(id, m, m == 1 ? BADLY : TERMED);    /* as it may, without its device */
        expect_row(id, "live");
        assert_int_not_equal(world_work(&world, id)->epoch, epoch);
}

static void a_device_stays_broken_until_its_agent_says_otherwise(void **state)
{
        (void)state;
        json_decref(report_broken("n1", "[]", 2));
        assert_int_equal(broken_on("n1"), 1u << 2);
        assert_int_equal(world_put_pool(&world, world_pool), 0);        /* says nothing of it */
        assert_int_equal(broken_on("n1"), 1u << 2);
        restart_on_the_pool();
        assert_int_equal(broken_on("n1"), 1u << 2);
        json_decref(report_broken("n1", "[]", 15));     /* it has no such device */
        assert_int_equal(broken_on("n1"), 0);
}

static void what_is_cancelled_on_a_broken_device_ends_as_such(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        char node[8];
        snprintf(node, sizeof node, "%s", node_of(id, 0));
        say(id, 0, RUNNING);
        world_cancel(&world, id, NULL);
        world_settle(&world);
        json_decref(report_broken(node, run(id, 0, RUNNING), 0));
        assert_non_null(world_work(&world, id));
        say(id, 0, TERMED);
        expect_row(id, "cancelled");
}

/* A gang of two nodes, one of which is lost: the rest of it still runs. */
static void a_gang_keeps_its_place_until_what_is_left_of_it_has_ended(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 6), epoch = world_work(&world, id)->epoch;
        char lost[8];
        snprintf(lost, sizeof lost, "%s", node_of(id, 0));
        for (unsigned m = 0; m < 6; m++)
                say(id, m, RUNNING);
        silence(lost);
        for (unsigned round = 0; round < 2; round++) {
                report(lost, "[]");             /* it comes clean, and takes nothing yet */
                report(lost, "[]");
                assert_false(is_up(lost));
                assert_int_equal(world_work(&world, id)->epoch, epoch);
                if (round == 0)
                        restart_on_the_pool();
        }
        for (unsigned m = 0; m < 6; m++)
                if (strcmp(node_of(id, m), lost) != 0)
                        assert_non_null(json_object_get(say(id, m, RUNNING), "stop"));
        assert_int_equal(world_work(&world, id)->epoch, epoch);
        bool ended[6];
        for (unsigned m = 0; m < 6; m++)
                ended[m] = strcmp(node_of(id, m), lost) == 0;
        for (unsigned m = 0; m < 6; m++)
                if (!ended[m])
                        say(id, m, TERMED);
        expect_row(id, "live");
        assert_int_not_equal(world_work(&world, id)->epoch, epoch);
        report(lost, "[]");
        assert_true(is_up(lost));
}

/* More would have the agent refuse the whole answer, until its lease is over. */
static void an_agent_is_asked_for_no_more_than_it_takes(void **state)
{
        (void)state;
        struct want want = {.node = nodes_find(world.live.nodes, "n1"), .bytes = 1}, taken;
        struct attachment wanted = {.node = nodes_find(world.live.nodes, "n1"), .workload = 1};
        struct attachment *session;
        assert_int_equal(attachments_open(world.live.attachments, &wanted, 1, &session, &world.err),
                         0);
        session->want = json_pack("{s:s}", "kind", "attach");
        for (unsigned w = 0; w < PROTOCOL_WANTS_MAX + 50; w++)
                assert_int_not_equal(wants_add(world.live.wants, &want), 0);
        json_t *answer = world_report(&world, "n1", "[]");
        const json_t *wants = json_object_get(answer, "wants");
        assert_int_equal(json_array_size(wants), PROTOCOL_WANTS_MAX);
        assert_string_equal(json_string_value(json_object_get(json_array_get(wants, 0), "kind")),
                            "attach");
        json_decref(answer);
        for (unsigned w = 0; w < 100; w++)
                assert_true(wants_take(world.live.wants, w + 1, want.node, &taken));
        answer = world_report(&world, "n1", "[]");
        assert_int_equal(json_array_size(json_object_get(answer, "wants")),
                         1 + PROTOCOL_WANTS_MAX + 50 - 100);
        json_decref(answer);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
        const struct CMUnitTest tests[] = {
                T(a_report_that_cannot_be_meant_is_refused),
                T(agents_of_the_next_releases_are_answered_in_what_both_speak),
                T(a_run_says_all_that_an_agent_needs),
                T(what_an_agent_may_start_is_durable),
                T(work_ends_as_its_processes_did),
                T(what_is_said_of_another_run_means_nothing),
                T(a_gang_goes_when_all_of_it_is_ready),
                T(a_gang_ends_as_a_whole),
                T(what_exits_well_after_term_waits_again),
                T(a_member_that_leaves_in_a_notice_takes_nobody_with_it),
                T(a_notice_withdrawn_after_a_member_left_is_no_failure),
                T(a_gang_fails_as_its_first_member_did),
                T(a_replica_that_ended_comes_back),
                T(a_member_that_ended_well_lets_the_others_go_on),
                T(cancelled_work_is_told_and_gone_when_its_processes_are),
                T(a_cancel_outlives_the_controller_and_the_node),
                T(notice_is_given_and_work_that_stopped_after_it_waits_again),
                T(work_that_leaves_before_its_notice_is_over_has_not_failed),
                T(a_silent_node_is_lost_after_its_lease_and_not_before),
                T(a_lost_node_is_fenced_until_it_runs_nothing_and_knows_it),
                T(a_lost_node_that_comes_clean_joins_at_its_second_report),
                T(a_drain_does_not_bring_a_lost_node_back),
                T(a_described_node_is_waited_for),
                T(a_controller_that_slept_calls_nobody_silent),
                T(generations_go_on_where_an_agent_stands),
                T(a_restarted_controller_waits_a_lease),
                T(a_checkpoint_counts_from_when_it_was_made),
                T(a_clock_that_is_set_ends_no_lease),
                T(what_continues_keeps_its_place_on_a_silent_node),
                T(an_operator_gives_up_what_a_silent_node_keeps),
                T(what_ended_for_want_of_contact_is_lost_and_has_not_failed),
                T(what_a_broken_device_has_keeps_its_place_until_it_has_ended),
                T(a_device_stays_broken_until_its_agent_says_otherwise),
                T(what_is_cancelled_on_a_broken_device_ends_as_such),
                T(a_gang_keeps_its_place_until_what_is_left_of_it_has_ended),
                T(an_agent_is_asked_for_no_more_than_it_takes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
