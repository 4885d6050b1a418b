/* The runs of a workload: which there were, and which one somebody means. */
#include "tests/unit/controller/agents.h"

#include "base/mem.h"
#include "controller/run_list.h"
#include "controller/view.h"
#include "store/objects.h"

static struct object_copy *row_of(uint64_t id)
{
        struct object_copy *copy;
        assert_int_equal(objects_get(core_view(world.live.core), OBJECT_WORKLOAD, id, &copy, NULL),
                         0);
        return copy;
}

/* "1 stopped n1 n1; 2 - n3": what is still running has no cause. */
static const char *runs_of(uint64_t id)
{
        static char text[2048];
        struct object_copy *row = row_of(id);
        json_t *list = run_list(&world.live, &row->object), *run, *node;
        size_t used = 0, r, n;
        text[0] = '\0';
        json_array_foreach(list, r, run) {
                const char *cause = json_string_value(json_object_get(run, "cause"));
                bool has_ended = json_is_string(json_object_get(run, "ended"));
                assert_true(has_ended == (cause != NULL));
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%d %s", r ? "; " : "",
                                         (int)json_integer_value(json_object_get(run, "run")),
                                         cause ? cause : "-");
                json_array_foreach(json_object_get(run, "nodes"), n, node)
                        used += (size_t)snprintf(text + used, sizeof text - used, " %s",
                                                 json_string_value(node));
        }
        json_decref(list);
        mem_free(row);
        return text;
}

/* Its owner wants it to begin anew, and it does. */
static void begin_anew(uint64_t id)
{
        const struct input asked = {.kind = INPUT_STOP_ASKED, .stop = {.workload = id}};
        struct act *act = world_act(&world);
        char node[8];
        snprintf(node, sizeof node, "%s", node_of(id, 0));
        assert_int_equal(core_input(act, &asked, NULL, &world.err), 0);
        world_commit(&world, act, NULL);
        world_settle(&world);
        report(node, run(id, 0, TERMED));
        world_tick(&world, 1000);
        others_report("");
}

static void runs_are_counted_from_the_first_to_the_last(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "gang", 2);
        char node[2][8], wanted[100];
        for (unsigned m = 0; m < 2; m++)
                snprintf(node[m], sizeof node[m], "%s", node_of(id, m));
        snprintf(wanted, sizeof wanted, "1 - %s %s", node[0], node[1]);
        assert_string_equal(runs_of(id), wanted);
        assert_int_equal(world_cancel(&world, id, NULL), 0);
        for (unsigned m = 0; m < 2; m++)
                report(node[m], run(id, m, TERMED));
        snprintf(wanted, sizeof wanted, "1 cancelled %s %s", node[0], node[1]);
        assert_string_equal(runs_of(id), wanted);
}

static void what_was_stopped_keeps_its_run_and_waits(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        say(id, 0, RUNNING);
        begin_anew(id);
        assert_string_equal(runs_of(id), "1 asked n1; 2 - n1");
        begin_anew(id);
        assert_string_equal(runs_of(id), "1 asked n1; 2 asked n1; 3 - n1");
        struct object_copy *row = row_of(id);
        json_t *list = run_list(&world.live, &row->object);
        const json_t *last = json_array_get(list, 1), *now = json_array_get(list, 2);
        assert_int_equal(json_integer_value(json_object_get(last, "signal")), 15);
        assert_true(json_is_null(json_object_get(last, "exit_code")));
        assert_int_equal(json_integer_value(json_object_get(now, "epoch")),
                         world_work(&world, id)->epoch);
        check_has(row->object.detail, "run_as");        /* it still says whose processes they are */
        json_decref(list);
        mem_free(row);
        report("n1", run(id, 0, WELL));
        assert_string_equal(runs_of(id), "1 asked n1; 2 asked n1; 3 exited n1");
}

/* Of a run that waits again, and of the last one. */
static void why_a_run_ended_is_kept_where_its_node_says_it(void **state)
{
        (void)state;
        static const char *const whys[] = {"its node went down", "out of memory: it needed more"};
        uint64_t id = world_job(&world, "web", "j", 1);
        say(id, 0, RUNNING);
        say(id, 0, "\"phase\":\"exited\",\"signal\":9,\"lost_contact\":true,"
                   "\"reason\":\"its node went down\"");
        world_tick(&world, 1000);
        others_report("");
        say(id, 0, "\"phase\":\"exited\",\"signal\":9,"
                   "\"reason\":\"out of memory: it needed more\"");
        assert_string_equal(runs_of(id), "1 lost n1; 2 failed n1");
        struct object_copy *row = row_of(id);
        json_t *ended = view_workload(&world.live, &row->object, false);
        assert_int_equal(json_integer_value(json_object_get(ended, "signal")), 9);
        /* 0 would say that it went well */
        assert_true(json_is_null(json_object_get(ended, "exit_code")));
        json_decref(ended);
        json_t *list = run_list(&world.live, &row->object);
        for (size_t r = 0; r < ARRAY_LEN(whys); r++)
                assert_string_equal(json_string_value(json_object_get(json_array_get(list, r),
                                                                      "reason")), whys[r]);
        json_decref(list);
        mem_free(row);
}

/* However long it is, or its controls: its run ends, and the pool goes on. */
static void of_a_long_reason_is_kept_what_is_worth_a_sentence(void **state)
{
        (void)state;
        static const struct {
                const char *unit;
                bool again;                     /* the run is lost, and begins anew */
        } rows[] = {{"x", false}, {"\xc3\xa9", true}, {"\x01", false}, {"\"", true}};
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                char reason[9001] = "", name[8];
                for (size_t used = 0; used < 9000; used += strlen(rows[r].unit))
                        memcpy(reason + used, rows[r].unit, strlen(rows[r].unit) + 1);
                snprintf(name, sizeof name, "j%zu", r);
                uint64_t id = world_job(&world, "web", name, 1);
                uint64_t epoch = world_work(&world, id)->epoch;
                say(id, 0, RUNNING);
                json_t *list = json_pack(
                        "[{s:I,s:i,s:I,s:s,s:i,s:b,s:s}]", "workload", (json_int_t)id, "member", 0,
                        "epoch", (json_int_t)epoch, "phase", "exited", "signal", 9, "lost_contact",
                        rows[r].again, "reason", reason);
                assert_non_null(list);
                char *text = json_dumps(list, 0);
                report(node_of(id, 0), text);
                free(text);
                json_decref(list);
                if (core_may_act(world.live.core, &world.err) < 0)
                        fail_msg("%s", world.err.text);
                world_tick(&world, 1000);
                others_report("");
                struct object_copy *row = row_of(id);
                assert_int_equal(row->object.ended_ms == 0, rows[r].again);
                list = run_list(&world.live, &row->object);
                const char *kept = json_string_value(json_object_get(json_array_get(list, 0),
                                                                     "reason"));
                assert_non_null(kept);
                assert_memory_equal(kept, reason, strlen(kept));
                assert_in_range(strlen(kept), 200, 256);
                json_decref(list);
                mem_free(row);
        }
}

static void runs_outlive_the_controller(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        begin_anew(id);
        for (unsigned with_snapshot = 0; with_snapshot < 2; with_snapshot++) {
                if (with_snapshot)
                        assert_int_equal(core_snapshot(world.live.core, NULL), 0);
                world_settle(&world);
                world_crash(&world, FAULT_LOSE_ALL, 1);
                world_start(&world);
                assert_string_equal(runs_of(id), "1 asked n1; 2 - n1");
        }
        others_report("");
        begin_anew(id);
        assert_string_equal(runs_of(id), "1 asked n1; 2 asked n1; 3 - n1");
}

static void only_the_newest_are_known_by_their_numbers(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        for (unsigned r = 0; r < OBJECT_RUNS_MAX + 2; r++)
                begin_anew(id);
        check_has(runs_of(id), "; 18 asked n1; 19 - n1");
        assert_memory_equal(runs_of(id), "3 asked n1; 4 ", 14);
}

/* Until then nobody may take the next run for it. */
static void a_run_that_ended_just_now_makes_the_list_wait(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        const struct input asked = {.kind = INPUT_STOP_ASKED, .stop = {.workload = id}},
                           stopped = {.kind = INPUT_STOPPED, .workload = id};
        struct object_copy *row = row_of(id);
        struct act *act = world_act(&world);
        assert_true(run_list_is_whole(&world.live, &row->object));
        assert_int_equal(core_input(act, &asked, NULL, &world.err), 0);
        assert_int_equal(core_input(act, &stopped, NULL, &world.err), 0);
        assert_true(world_work(&world, id)->epoch > 0);         /* it runs again at once */
        world_commit(&world, act, NULL);
        assert_false(run_list_is_whole(&world.live, &row->object));
        assert_string_equal(runs_of(id), "");
        world_settle(&world);
        mem_free(row);
        row = row_of(id);
        assert_true(run_list_is_whole(&world.live, &row->object));
        assert_string_equal(runs_of(id), "1 asked n1; 2 - n1");
        act = world_act(&world);
        const struct input exited = {.kind = INPUT_EXITED, .workload = id};
        assert_int_equal(core_input(act, &exited, NULL, &world.err), 0);
        world_commit(&world, act, NULL);
        assert_false(run_list_is_whole(&world.live, &row->object));
        world_settle(&world);
        mem_free(row);
        assert_string_equal(runs_of(id), "1 asked n1; 2 exited n1");
}

/* ---- which one is meant ---- */

static void a_run_is_meant_by_its_number_or_from_the_newest_back(void **state)
{
        (void)state;
        static const struct {
                int64_t first, count, asked, found;
                const char *words;
        } rows[] = {
                {1, 0, RUN_NEWEST, 0, "w has not run yet"},
                {1, 0, 1, 0, "w has not run yet"},
                {1, 1, RUN_NEWEST, 1, NULL},
                {1, 1, 1, 1, NULL},
                {1, 1, -1, 0, "w has had 1 run: none is 1 before the newest"},
                {1, 3, 4, 0, "w has no run 4: its newest is run 3"},
                {1, 3, -2, 1, NULL},
                {1, 3, -3, 0, "w has had 3 runs: none is 3 before the newest"},
                {5, 17, RUN_NEWEST, 21, NULL},
                {5, 17, 5, 5, NULL},
                {5, 17, 4, 0, "the oldest that is kept is run 5"},
                {5, 17, -16, 5, NULL},
                {5, 17, -17, 0, "where run 4 of w was is not known any more"},
                {5, 17, INT32_MIN, 0, "not known any more"},
                {5, 17, INT32_MAX, 0, "w has no run 2147483647"},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                json_t *list = json_array();
                struct err err = {0};
                for (int64_t n = 0; n < rows[r].count; n++)
                        json_array_append_new(list, json_pack("{s:I}", "run",
                                                              (json_int_t)(rows[r].first + n)));
                const json_t *run = run_list_find(list, rows[r].asked, "w", &err);
                int64_t found = json_integer_value(json_object_get(run, "run"));
                if (found != rows[r].found)
                        fail_msg("row %zu: %d %s", r, (int)found, err.text);
                if (rows[r].words)
                        check_has(err.text, rows[r].words);
                json_decref(list);
        }
}

static void a_member_has_its_node_as_far_as_that_is_kept(void **state)
{
        (void)state;
        static const struct {
                int members, nodes;     /* there were, and are kept of */
                unsigned member;
                const char *words;
        } rows[] = {
                {1, 1, 0, NULL},
                {2, 2, 1, NULL},
                {2, 2, 2, "w had no member 2 in run 7: its members are numbered from 0 to 1"},
                {30, 24, 23, NULL},
                {30, 24, 24, "where member 24 of w was in run 7 is not known"},
                {30, 24, 30, "w had no member 30 in run 7: its members are numbered from 0 to 29"},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                json_t *nodes = json_array();
                struct err err = {0};
                for (int m = 0; m < rows[r].nodes; m++)
                        json_array_append_new(nodes, json_sprintf("n%d", m));
                json_t *it = json_pack("{s:i,s:i,s:o}", "run", 7, "members", rows[r].members,
                                       "nodes", nodes);
                const char *name = run_list_node(it, rows[r].member, "w", &err);
                if ((name == NULL) != (rows[r].words != NULL))
                        fail_msg("row %zu: %s", r, err.text);
                if (name)
                        assert_int_equal(atoi(name + 1), rows[r].member);
                else
                        check_has(err.text, rows[r].words);
                json_decref(it);
        }
}

/* As releases before this one wrote it, and as damage might. */
static void what_a_row_says_of_nodes_is_read_member_by_member(void **state)
{
        (void)state;
        static const struct {
                const char *detail, *runs;
                int members;
        } rows[] = {
                {"{\"cause\":\"failed\",\"epoch\":9,\"nodes\":[\"a\",\"b\"]}", "1 failed a b", 2},
                {"{\"cause\":\"lost\",\"epoch\":9,\"members\":9,\"nodes\":[\"a\",\"b\",\"a\"],"
                 "\"spans\":[2,1,3]}",
                 "1 lost a a b a a a", 9},
                {"{\"cause\":\"lost\",\"epoch\":9,\"members\":-1,\"nodes\":[\"a\",\"b\"],"
                 "\"spans\":[-7,\"x\"]}",
                 "1 lost", 0},
                {"{\"cause\":\"cancelled\",\"epoch\":0,\"nodes\":[]}", "", 0},
                {"{\"epoch\"", "", 0},
        };
        uint64_t id = world_job(&world, "web", "j", 1);
        assert_int_equal(world_cancel(&world, id, NULL), 0);
        report("n1", run(id, 0, TERMED));
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                const struct object_change change = {.kind = OBJECT_WORKLOAD, .id = id,
                                                     .detail = rows[r].detail};
                struct act *act = world_act(&world);
                assert_int_equal(core_set(act, &change, &world.err), 0);
                assert_int_equal(core_note(act, "x", &world.err), 0);
                world_commit(&world, act, NULL);
                world_settle(&world);
                assert_string_equal(runs_of(id), rows[r].runs);
                struct object_copy *row = row_of(id);
                json_t *list = run_list(&world.live, &row->object);
                const json_t *first = json_array_get(list, 0);
                assert_int_equal(json_integer_value(json_object_get(first, "members")),
                                 rows[r].members);
                json_decref(list);
                mem_free(row);
        }
}

/* More members than there are nodes to be kept: what counts is how often the node changes. */
static void members_beside_each_other_are_kept_as_one(void **state)
{
        (void)state;
        static const char document[] = "{kind: Workload, name: many, tenant: web, members: 40,"
                                       " each: {devices: 0, cpu: 0.1}, run: {command: [x]}}";
        struct submitted submitted;
        assert_int_equal(world_submit(&world, document, NULL, &submitted), 0);
        world_settle(&world);
        uint64_t id = submitted.first_id;
        char wanted[400];
        size_t used = (size_t)snprintf(wanted, sizeof wanted, "1 cancelled");
        for (unsigned m = 0; m < 40; m++)
                used += (size_t)snprintf(wanted + used, sizeof wanted - used, " %s",
                                         node_of(id, m));
        assert_int_equal(world_cancel(&world, id, NULL), 0);
        world_settle(&world);
        for (unsigned m = 0; m < 40 && world_work(&world, id); m++)
                report(node_of(id, m), run(id, m, TERMED));
        assert_string_equal(runs_of(id), wanted);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, agents_begin, agents_end)
        const struct CMUnitTest tests[] = {
                T(runs_are_counted_from_the_first_to_the_last),
                T(what_was_stopped_keeps_its_run_and_waits),
                T(why_a_run_ended_is_kept_where_its_node_says_it),
                T(of_a_long_reason_is_kept_what_is_worth_a_sentence),
                T(runs_outlive_the_controller),
                T(only_the_newest_are_known_by_their_numbers),
                T(a_run_that_ended_just_now_makes_the_list_wait),
                cmocka_unit_test(a_run_is_meant_by_its_number_or_from_the_newest_back),
                cmocka_unit_test(a_member_has_its_node_as_far_as_that_is_kept),
                T(what_a_row_says_of_nodes_is_read_member_by_member),
                T(members_beside_each_other_are_kept_as_one),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
