/* Agents: what they say of their runs, and what they are told. */
#include "tests/unit/controller/agents.h"

#include "base/mem.h"
#include "controller/attach.h"
#include "controller/wants.h"
#include "proto/protocol.h"

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
        world_row(&world, refused, is, detail);
        assert_null(strstr(detail, "exit_code"));       /* it never ran */
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

static uint64_t list_of(const char *node, uint64_t seen)
{
        json_t *answer = world_exchange(&world, node,
                                        json_pack("{s:i,s:s,s:s,s:I,s:[]}", "protocol",
                                                  PROTOCOL_MAX, "agent", "0.1", "boot", "b",
                                                  "seen", (json_int_t)seen, "runs"));
        assert_non_null(answer);
        uint64_t generation =
                (uint64_t)json_integer_value(json_object_get(answer, "generation"));
        json_decref(answer);
        return generation;
}

/* Others would be given lists that a later start of the controller has no number above. */
static void who_says_it_has_seen_too_much_is_the_only_one_with_such_numbers(void **state)
{
        (void)state;
        uint64_t clock = list_of("n2", 0);
        assert_true(list_of("n1", UINT64_MAX / 4) > UINT64_MAX / 4);
        (void)world_job(&world, "web", "gang", 12);     /* all of them have a new list */
        uint64_t later = list_of("n2", clock);
        assert_true(later > clock);
        assert_true(later < clock + 1000);
        assert_true(list_of("n1", 0) > UINT64_MAX / 4 + 1);     /* its own go on from there */
        world_stop(&world);
        world_start(&world);
        assert_true(list_of("n2", later + 1000000000) > later + 1000000000);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, agents_begin, agents_end)
        const struct CMUnitTest tests[] = {
                T(a_report_that_cannot_be_meant_is_refused),
                T(agents_of_the_next_releases_are_answered_in_what_both_speak),
                T(a_run_says_all_that_an_agent_needs),
                T(what_an_agent_may_start_is_durable),
                T(work_ends_as_its_processes_did),
                T(what_is_said_of_another_run_means_nothing),
                T(an_agent_is_asked_for_no_more_than_it_takes),
                T(who_says_it_has_seen_too_much_is_the_only_one_with_such_numbers),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
