/* The agent as a whole: real processes, real sockets, a controller that says what is wanted. */
#include "tests/unit/check.h"

#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/unit/agent/world.h"

#define KEY(workload, epoch) ((struct run_key){workload, 0, epoch})

/* ---- starting and ending ---- */

static void how_a_run_ended_is_reported(void **state)
{
        struct world *world = *state;
        static const struct {
                const char *script;
                int exit_code, signal;
        } rows[] = {
                {"exit 0", 0, 0},         {"exit 7", 7, 0},     {"kill -9 $$", 0, 9},
                {"kill -TERM $$", 0, 15}, {"exit 255", 255, 0},
        };
        char *runs = run_json(world, 1, 1, rows[0].script, "");

        for (size_t i = 1; i < ARRAY_LEN(rows); i++)
                runs = both_runs(runs, run_json(world, i + 1, 1, rows[i].script, ""));
        agent_begin(world);
        list_runs(world, runs);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct seen_run seen;
                assert_true(controller_waits(world->controller, KEY(i + 1, 1), "exited", &seen));
                assert_int_equal(seen.exit_code, rows[i].exit_code);
                assert_int_equal(seen.signal, rows[i].signal);
        }
        /* Nobody wants to know any more: it is no longer told. */
        controller_list(world->controller, "");
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_true(controller_waits(world->controller, KEY(i + 1, 1), NULL, NULL));
        assert_true(has_file(world, "state/ended/2.0.1/status.json"));
        assert_int_equal(agent_end(world, SIGTERM), 0);
}

static void what_cannot_be_started_is_refused_with_the_reason(void **state)
{
        struct world *world = *state;
        static const struct {
                const char *run, *reason;
        } rows[] = {
                {"\"command\": [\"/no/such/program\"], \"workdir\": \"/\"",
                 "program '/no/such/program': No such file"},
                {"\"command\": [\"true\"], \"workdir\": \"/no/such/folder\"", "workdir '/no/such"},
                {"\"command\": [\"true\"], \"workdir\": \"relative\"", "is not absolute"},
                {"\"command\": [\"true\"], \"secrets\": [\"hf-token\"]", "node n1 has no secret 'hf-token'"},
                {"\"command\": [\"true\"], \"devices\": [{\"index\": 9}]", "no device 9"},
                {"\"command\": [\"true\"], \"devices\": [{\"index\": 2}]", "device 2 is broken"},
                {"\"command\": [\"true\"], \"stop\": {\"cause\": \"x\", \"until\": "
                 "\"2027-01-01T00:00:00Z\"}",
                 "told to stop before"},
        };
        char runs[4096] = "";

        for (size_t i = 0, at = 0; i < ARRAY_LEN(rows); i++)
                at += (size_t)snprintf(runs + at, sizeof runs - at,
                                       "%s{\"workload\": %zu, \"member\": 0, \"epoch\": 1, "
                                       "\"go\": true, %s}",
                                       i ? ", " : "", i + 1, rows[i].run);
        char path[128];
        snprintf(path, sizeof path, "%s/broken", world->folder);
        FILE *broken = fopen(path, "w");
        fprintf(broken, "2\n");
        fclose(broken);
        agent_begin(world);
        controller_list(world->controller, runs);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct seen_run seen;
                assert_true(controller_waits(world->controller, KEY(i + 1, 1), "refused", &seen));
                check_has(seen.reason, rows[i].reason);
        }
        assert_int_equal(controller_broken(world->controller), 1 << 2);
}

static void output_is_sent_piece_by_piece_while_the_run_goes_on(void **state)
{
        struct world *world = *state;
        static struct seen_output output;

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1,
                                  "echo first; echo wrong >&2; touch @/said; "
                                  "until [ -e @/on ]; do sleep 0.02; done; echo second",
                                  ""));
        assert_true(waits_for_file(world, "said"));
#define WANT(stream, offset, bytes) \
        "\"kind\": \"logs\", \"workload\": 1, \"member\": 0, \"epoch\": 1, \"stream\": \"" stream \
        "\", \"offset\": " offset ", \"bytes\": " bytes
        static const struct {
                const char *want, *bytes;
                uint64_t offset, total;
        } rows[] = {
                {WANT("stdout", "0", "65536"), "first\n", 0, 6},
                {WANT("stdout", "2", "3"), "rst", 2, 6},
                {WANT("stdout", "-2", "100"), "t\n", 4, 6},
                {WANT("stdout", "-99", "100"), "first\n", 0, 6},
                {WANT("stdout", "6", "100"), "", 6, 6},
                {WANT("stdout", "99", "100"), "", 6, 6},
                {WANT("stderr", "0", "100"), "wrong\n", 0, 6},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                assert_true(controller_output(world->controller, rows[i].want, &output));
                assert_int_equal(output.size, strlen(rows[i].bytes));
                assert_memory_equal(output.bytes, rows[i].bytes, output.size);
                assert_int_equal(output.offset, rows[i].offset);
                assert_int_equal(output.total, rows[i].total);
        }
        make_file(world, "on");
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", NULL));
        controller_list(world->controller, "");
        assert_true(controller_waits(world->controller, KEY(1, 1), NULL, NULL));
        /* Also when it has ended and was forgotten. */
        assert_true(controller_output(world->controller, WANT("stdout", "6", "100"), &output));
        assert_int_equal(output.size, 7);
        assert_memory_equal(output.bytes, "second\n", 7);
        /* Where there is none, that is said at once. */
        assert_true(controller_output(world->controller,
                                      "\"kind\": \"logs\", \"workload\": 9, \"member\": 0, "
                                      "\"epoch\": 1, \"stream\": \"stdout\", \"offset\": 0",
                                      &output));
        assert_int_equal(output.size, 0);
        assert_int_equal(output.total, 0);
#undef WANT
}

static void a_gang_waits_at_the_barrier(void **state)
{
        struct world *world = *state;

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, "touch @/passed", "\"go\": false"));
        assert_true(controller_waits(world->controller, KEY(1, 1), "ready", NULL));
        usleep(100000);
        assert_false(has_file(world, "passed"));
        list_runs(world, run_json(world, 1, 1, "touch @/passed", "\"go\": true"));
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", NULL));
        assert_true(has_file(world, "passed"));
        assert_int_equal(controller_times_started(world->controller, KEY(1, 1)), 1);
}

static void a_gang_that_is_ended_at_the_barrier_never_runs(void **state)
{
        struct world *world = *state;
        struct seen_run seen;

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, "touch @/passed", "\"go\": false"));
        assert_true(controller_waits(world->controller, KEY(1, 1), "ready", &seen));
        controller_list(world->controller, "");
        assert_true(waits_for_death(seen.pid));
        assert_true(controller_waits(world->controller, KEY(1, 1), NULL, NULL));
        assert_false(has_file(world, "passed"));
}

/* ---- told to stop ---- */

/* Says in files when it was signalled; ends at the second TERM, or not at all. */
#define PATIENT \
        "trap 'date +%s%3N >@/usr1; cp $BERTH_NOTICE_FILE @/notice.new; " \
        "mv @/notice.new @/notice' USR1; " \
        "trap 'date +%s%3N >@/term; exit 3' TERM; touch @/up; while :; do sleep 0.02; done"
#define STUBBORN "trap '' TERM; touch @/up2; while :; do sleep 0.02; done"

static void a_notice_comes_at_once_and_the_end_not_before_it_is_over(void **state)
{
        struct world *world = *state;
        char until[40], stop[200];
        int64_t until_ms;
        struct seen_run seen;

        agent_begin(world);
        list_runs(world, both_runs(run_json(world, 1, 1, PATIENT, ""),
                                   run_json(world, 2, 1, STUBBORN, "")));
        assert_true(waits_for_file(world, "up"));
        assert_true(waits_for_file(world, "up2"));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &seen));
        /* The stubborn one gets no signal: it would die of it. */
        static const char form[] = "\"stop\": {\"cause\": \"preemption\", \"until\": \"%s\"%s}";
        char quiet[200];
        /* Long before its end; then the end is moved to where it can be waited for. */
        for (unsigned s = 0; s < 2; s++) {
                time_in(s == 0 ? 10 * CONTROLLER_PATIENCE_MS : 1200, until, &until_ms);
                snprintf(stop, sizeof stop, form, until, ", \"signal\": \"USR1\"");
                snprintf(quiet, sizeof quiet, form, until, "");
                list_runs(world, both_runs(run_json(world, 1, 1, PATIENT, stop),
                                           run_json(world, 2, 1, STUBBORN, quiet)));
                assert_true(waits_for_file(world, "notice"));
                assert_true(s > 0 || controller_sees(world->controller, KEY(1, 1), &seen));
                assert_true(s > 0 || strcmp(seen.phase, "running") == 0);
        }
        check_has(file_text(world, "notice"), "\"cause\": \"preemption\"");
        /* TERM at its end, which it answers; KILL later to who does not. */
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &seen));
        assert_int_equal(seen.exit_code, 3);
        assert_true(atoll(file_text(world, "term")) >= until_ms);
        assert_true(controller_waits(world->controller, KEY(2, 1), "exited", &seen));
        assert_int_equal(seen.signal, SIGKILL);
        assert_true(wall_ms() >= until_ms + WORLD_KILL_MS);
}

static void a_notice_that_is_withdrawn_ends_nothing(void **state)
{
        struct world *world = *state;
        char until[40], stop[200];
        int64_t until_ms;
        struct seen_run seen;

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, PATIENT, ""));
        assert_true(waits_for_file(world, "up"));
        snprintf(stop, sizeof stop,
                 "\"stop\": {\"cause\": \"preemption\", \"until\": \"%s\", \"signal\": \"USR1\"}",
                 time_in(4000, until, &until_ms));
        list_runs(world, run_json(world, 1, 1, PATIENT, stop));
        assert_true(waits_for_file(world, "usr1"));
        list_runs(world, run_json(world, 1, 1, PATIENT, ""));
        while (wall_ms() < until_ms + 300)
                usleep(20000);
        assert_true(controller_sees(world->controller, KEY(1, 1), &seen));
        assert_string_equal(seen.phase, "running");
        assert_false(has_file(world, "term"));
        assert_false(has_file(world, "state/runs/1.0.1/notice.json"));
}

static void what_the_list_no_longer_names_is_ended(void **state)
{
        struct world *world = *state;
        struct seen_run seen;

        agent_begin(world);
        list_runs(world, run_json(world, 2, 1, STUBBORN, ""));
        assert_true(waits_for_file(world, "up2"));
        assert_true(controller_waits(world->controller, KEY(2, 1), "running", &seen));
        controller_list(world->controller, "");
        assert_true(waits_for_death(seen.pid));
        assert_true(controller_waits(world->controller, KEY(2, 1), NULL, NULL));
}

static void nothing_starts_on_a_device_that_is_not_free_yet(void **state)
{
        struct world *world = *state;
        struct seen_run old;
        const char *device = "\"devices\": [{\"index\": 1, \"method\": \"whole\"}]";

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, STUBBORN, device));
        assert_true(waits_for_file(world, "up2"));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &old));
        /* What comes next must find the one before gone: it looks for it itself. */
        char script[200];
        snprintf(script, sizeof script, "[ ! -d /proc/%" PRId64 " ]; echo $? >@/result", old.pid);
        list_runs(world, run_json(world, 2, 1, script, device));
        assert_true(controller_waits(world->controller, KEY(2, 1), "exited", NULL));
        assert_string_equal(file_text(world, "result"), "0\n");
        assert_false(is_alive(old.pid));
}

static void an_epoch_that_has_run_or_is_older_is_never_started(void **state)
{
        struct world *world = *state;
        struct seen_run seen;
        char kept[300];

        agent_begin(world);
        list_runs(world, run_json(world, 1, 5, "echo run >>@/count", ""));
        assert_true(controller_waits(world->controller, KEY(1, 5), "exited", NULL));
        controller_list(world->controller, "");
        assert_true(controller_waits(world->controller, KEY(1, 5), NULL, NULL));
        list_runs(world, both_runs(run_json(world, 1, 5, "echo run >>@/count", ""),
                                   run_json(world, 1, 4, "echo run >>@/count", "")));
        /* A controller that has forgotten how it ended is told again. */
        assert_true(controller_waits(world->controller, KEY(1, 5), "exited", NULL));
        assert_true(controller_waits(world->controller, KEY(1, 4), "refused", &seen));
        check_has(seen.reason, "it has run here since");
        controller_list(world->controller, "");
        assert_true(controller_waits(world->controller, KEY(1, 5), NULL, NULL));
        snprintf(kept, sizeof kept, "rm -r %s/state/ended/1.0.5", world->folder);
        assert_int_equal(system(kept), 0);
        list_runs(world, run_json(world, 1, 5, "echo run >>@/count", ""));
        assert_true(controller_waits(world->controller, KEY(1, 5), "refused", &seen));
        check_has(seen.reason, "how it ended is not kept");
        /* Nor by an agent that has seen nothing of it. */
        assert_int_equal(agent_end(world, SIGKILL), -SIGKILL);
        agent_begin(world);
        list_runs(world, run_json(world, 1, 5, "echo run >>@/count", ""));
        assert_true(controller_waits(world->controller, KEY(1, 5), "refused", NULL));
        assert_string_equal(file_text(world, "count"), "run\n");
}

static bool reports(struct world *world, const char *log, json_int_t epoch, json_int_t workload)
{
        for (int i = 0; i < 6000; i++) {
                json_t *report = controller_report(world->controller);
                const json_t *given = json_object_get(report, "given");
                const char *said = json_string_value(json_object_get(given, "log"));
                bool is_so = given && strcmp(said ? said : "", log) == 0 &&
                             json_integer_value(json_object_get(given, "epoch")) == epoch &&
                             json_integer_value(json_object_get(given, "workload")) == workload;
                json_decref(report);
                if (is_so)
                        return true;
                usleep(10000);
        }
        return false;
}

static void a_list_of_another_log_changes_nothing(void **state)
{
        struct world *world = *state;

        agent_begin(world);
        assert_true(reports(world, "", 0, 0));
        list_runs(world, run_json(world, 1, 9, "sleep 1000", ""));
        assert_true(controller_waits(world->controller, KEY(1, 9), "running", NULL));
        controller_head(world->controller, "\"log\": \"aa\", ");
        list_runs(world, both_runs(run_json(world, 1, 9, "sleep 1000", ""),
                                   run_json(world, 7, 5, "sleep 1000", "")));
        assert_true(controller_waits(world->controller, KEY(7, 5), "running", NULL));
        assert_true(reports(world, "aa", 9, 7));
        /* Neither by this agent, nor by the next one. */
        for (int round = 0; round < 2; round++) {
                controller_head(world->controller, "\"log\": \"ab\", ");
                list_runs(world, run_json(world, 8, 8, "echo 8 >@/foreign", ""));
                assert_int_equal(agent_end(world, SIGKILL), -SIGKILL);
                agent_begin(world);
                usleep(500000);
                assert_true(reports(world, "aa", 9, 7));
                assert_true(controller_waits(world->controller, KEY(1, 9), "running", NULL));
                assert_true(controller_waits(world->controller, KEY(8, 8), NULL, NULL));
        }
        assert_string_equal(file_text(world, "state/log"), "aa\n");
        controller_head(world->controller, "\"log\": \"aa\", ");
        list_runs(world, run_json(world, 8, 10, "sleep 1000", ""));
        assert_true(controller_waits(world->controller, KEY(8, 10), "running", NULL));
        assert_true(controller_waits(world->controller, KEY(1, 9), NULL, NULL));
        assert_true(reports(world, "aa", 10, 8));
}

static bool waits_for_checkpoint(struct world *world)
{
        for (int ms = 0; ms < CONTROLLER_PATIENCE_MS; ms += 10) {
                if (controller_checkpoints(world->controller, 1) > 0)
                        return true;
                usleep(10000);
        }
        return false;
}

static void an_older_list_changes_nothing(void **state)
{
        struct world *world = *state;
        struct seen_run seen;

        agent_begin(world);
        controller_list(world->controller, "");
        list_runs(world, run_json(world, 1, 1,
                                  "until [ -e @/on ]; do sleep 0.02; done; "
                                  "touch $BERTH_CHECKPOINT_FILE; sleep 1000",
                                  ""));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &seen));
        controller_list_old(world->controller, "", 1);
        /* What is reported is answered with that list. */
        make_file(world, "on");
        assert_true(waits_for_checkpoint(world));
        usleep(300000);
        assert_true(is_alive(seen.pid));
}

/* ---- what else is reported ---- */

static void a_checkpoint_is_reported(void **state)
{
        struct world *world = *state;

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1,
                                  "sleep 0.1; touch $BERTH_CHECKPOINT_FILE; "
                                  "until [ -e @/on ]; do sleep 0.02; done",
                                  ""));
        assert_true(waits_for_checkpoint(world));
        /* When it was, on the clock that the report itself names. */
        int64_t age_ms = controller_checkpoint_age_ms(world->controller);
        assert_in_range(age_ms, 0, 10000);
        /* The next agent says it again, as of then. */
        usleep(300000);
        assert_int_equal(agent_end(world, SIGKILL), -SIGKILL);
        controller_forget(world->controller);
        agent_begin(world);
        for (int ms = 0; ms < CONTROLLER_PATIENCE_MS; ms += 10) {
                if (controller_checkpoint_age_ms(world->controller) >= 0)
                        break;
                usleep(10000);
        }
        assert_true(controller_checkpoint_age_ms(world->controller) >= 300);
        make_file(world, "on");
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", NULL));
}

/* Whoever is told to stop saves and leaves; with an agent, and while there is none. */
static void what_was_saved_at_the_very_end_is_reported_with_it(void **state)
{
        struct world *world = *state;
        struct seen_run seen;
        static const char saves[] = "until [ -e @/on%u ]; do sleep 0.02; done; "
                                    "touch $BERTH_CHECKPOINT_FILE; exit 5";
        char first[200], second[200];

        snprintf(first, sizeof first, saves, 1);
        snprintf(second, sizeof second, saves, 2);
        agent_begin(world);
        list_runs(world, both_runs(run_json(world, 1, 1, first, ""),
                                   run_json(world, 2, 1, second, "")));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", NULL));
        assert_true(controller_waits(world->controller, KEY(2, 1), "running", &seen));
        make_file(world, "on1");
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", NULL));
        assert_true(controller_checkpoints(world->controller, 1) > 0);
        assert_int_equal(agent_end(world, SIGKILL), -SIGKILL);
        make_file(world, "on2");
        assert_true(waits_for_death(seen.pid));
        agent_begin(world);
        assert_true(controller_waits(world->controller, KEY(2, 1), "exited", NULL));
        assert_true(controller_checkpoints(world->controller, 2) > 0);
}

static void a_broken_device_is_reported(void **state)
{
        struct world *world = *state;
        char path[128];

        agent_begin(world);
        assert_true(controller_waits(world->controller, KEY(1, 1), NULL, NULL));
        assert_int_equal(controller_broken(world->controller), 0);
        snprintf(path, sizeof path, "%s/broken", world->folder);
        FILE *file = fopen(path, "w");
        fprintf(file, "0, 3 nonsense 77\n");
        fclose(file);
        for (int ms = 0; ms < CONTROLLER_PATIENCE_MS; ms += 10) {
                if (controller_broken(world->controller))
                        break;
                usleep(10000);
        }
        assert_int_equal(controller_broken(world->controller), 1 | 1 << 3);
}

static void lost_contact_ends_those_that_want_it(void **state)
{
        struct world *world = *state;
        struct seen_run stops, stays;

        controller_lease(world->controller, 5000);      /* a busy machine is late */
        agent_begin(world);
        list_runs(world,
                  both_runs(run_json(world, 1, 1, PATIENT, "\"lost_contact\": \"stop_at_lease\""),
                            run_json(world, 2, 1, STUBBORN, "\"lost_contact\": \"continue\"")));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &stops));
        assert_true(controller_waits(world->controller, KEY(2, 1), "running", &stays));
        usleep(5500000);
        assert_true(is_alive(stops.pid)); /* contact is kept up */
        controller_fall_silent(world->controller, true);
        int64_t silent_ms = wall_ms();
        assert_true(waits_for_death(stops.pid));
        assert_true(wall_ms() - silent_ms > 100);
        assert_true(is_alive(stays.pid));
        controller_fall_silent(world->controller, false);
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &stops));
        assert_int_equal(stops.exit_code, 3);
        assert_true(stops.lost_contact);
        assert_true(is_alive(stays.pid));
        assert_int_equal(agent_end(world, SIGTERM), 0);
}

int main(int argc, char **argv)
{
#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)
        const struct CMUnitTest tests[] = {
                IN_A_WORLD(how_a_run_ended_is_reported),
                IN_A_WORLD(what_cannot_be_started_is_refused_with_the_reason),
                IN_A_WORLD(output_is_sent_piece_by_piece_while_the_run_goes_on),
                IN_A_WORLD(a_gang_waits_at_the_barrier),
                IN_A_WORLD(a_gang_that_is_ended_at_the_barrier_never_runs),
                IN_A_WORLD(a_notice_comes_at_once_and_the_end_not_before_it_is_over),
                IN_A_WORLD(a_notice_that_is_withdrawn_ends_nothing),
                IN_A_WORLD(what_the_list_no_longer_names_is_ended),
                IN_A_WORLD(nothing_starts_on_a_device_that_is_not_free_yet),
                IN_A_WORLD(an_epoch_that_has_run_or_is_older_is_never_started),
                IN_A_WORLD(a_list_of_another_log_changes_nothing),
                IN_A_WORLD(an_older_list_changes_nothing),
                IN_A_WORLD(a_checkpoint_is_reported),
                IN_A_WORLD(what_was_saved_at_the_very_end_is_reported_with_it),
                IN_A_WORLD(a_broken_device_is_reported),
                IN_A_WORLD(lost_contact_ends_those_that_want_it),
        };
        int code;

        if (world_is_agent(argc, argv, &code))
                return code;
        return cmocka_run_group_tests(tests, NULL, NULL);
}
