/* How running work ends: gangs, cancels, notices, what an agent says of it. */
#include "tests/unit/controller/agents.h"

#include "base/mem.h"

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

/* What a report says that was sent then, on the machine's own clock. `runs`: as of run(). */
static void say_checkpoint_and(uint64_t id, int64_t sent_ms, int64_t at_ms, const char *runs)
{
        const struct node_entry *node = nodes_find(world.live.nodes, node_of(id, 0));
        json_t *it = json_pack("{s:i,s:s,s:s,s:I,s:I,s:o,s:[{s:I,s:i,s:I,s:I}]}", "protocol", 1,
                               "agent", "1", "boot", "b", "sent_ms", (json_int_t)sent_ms, "seen",
                               (json_int_t)node->generation, "runs", json_loads(runs, 0, NULL),
                               "checkpoints", "workload", (json_int_t)id, "member", 0, "epoch",
                               (json_int_t)world_work(&world, id)->epoch, "at_ms",
                               (json_int_t)at_ms);
        json_decref(world_exchange(&world, node->name, it));
        assert_int_equal(world.err.code, ERR_OK);
}

static void say_checkpoint(uint64_t id, int64_t sent_ms, int64_t at_ms)
{
        say_checkpoint_and(id, sent_ms, at_ms, "[]");
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

/* In one report: it saved what it was told to save, and left. */
static void what_was_saved_right_before_the_end_is_not_lost(void **state)
{
        (void)state;
        enum { CLOCK = 7000000 };
        uint64_t id = world_job(&world, "web", "j", 1);
        const struct input asked = {.kind = INPUT_STOP_ASKED, .stop = {.workload = id}};
        const struct state *live = core_state(world.live.core);
        say(id, 0, RUNNING);
        struct act *act = world_act(&world);
        assert_int_equal(core_input(act, &asked, NULL, &world.err), 0);
        world_commit(&world, act, NULL);
        world_settle(&world);
        int64_t since_ms = live->workloads[state_workload(live, id)].since_ms;
        world_tick(&world, since_ms + 10000 - world.now_ms);
        uint64_t epoch = world_work(&world, id)->epoch;
        say_checkpoint_and(id, CLOCK + 10000, CLOCK + 9900, run(id, 0, TERMED));
        assert_int_not_equal(world_work(&world, id)->epoch, epoch);     /* it goes on from there */
        assert_in_range(live->workloads[state_workload(live, id)].attained_ms, 9890, 9910);
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

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, agents_begin, agents_end)
        const struct CMUnitTest tests[] = {
                T(a_gang_goes_when_all_of_it_is_ready),
                T(a_gang_ends_as_a_whole),
                T(a_member_that_ended_well_lets_the_others_go_on),
                T(cancelled_work_is_told_and_gone_when_its_processes_are),
                T(a_cancel_outlives_the_controller_and_the_node),
                T(notice_is_given_and_work_that_stopped_after_it_waits_again),
                T(a_checkpoint_counts_from_when_it_was_made),
                T(what_was_saved_right_before_the_end_is_not_lost),
                T(work_that_leaves_before_its_notice_is_over_has_not_failed),
                T(what_exits_well_after_term_waits_again),
                T(a_gang_fails_as_its_first_member_did),
                T(a_replica_that_ended_comes_back),
                T(a_member_that_leaves_in_a_notice_takes_nobody_with_it),
                T(a_notice_withdrawn_after_a_member_left_is_no_failure),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
