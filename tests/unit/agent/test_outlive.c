/* What outlives what: runs their agent, nothing a run, no run its supervisor unnoticed. */
#include "tests/unit/check.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/account.h"
#include "agent/allowed.h"
#include "agent/cage.h"
#include "agent/family.h"
#include "agent/folder.h"
#include "agent/runs.h"
#include "base/err.h"
#include "base/mem.h"
#include "tests/unit/agent/world.h"

#define KEY(workload, epoch) ((struct run_key){workload, 0, epoch})
#define WAITS                "until [ -e @/on ]; do sleep 0.02; done; exit 5"
/* Two processes that do all they can to be nobody's: one of them twice detached. */
#define DAEMONS \
        "(setsid sh -c 'echo $$ >@/one; exec sleep 1000' &) ; " \
        "setsid sh -c 'setsid sh -c \"trap : TERM; echo \\$\\$ >@/two; " \
        "while :; do sleep 1000; done\" & exit 0' & " \
        "until [ -s @/one ] && [ -s @/two ]; do sleep 0.02; done; "

/* ---- the agent goes ---- */

static void a_run_goes_on_without_its_agent_and_is_taken_over(void **state)
{
        struct world *world = *state;
        struct seen_run before, after;

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, WAITS, ""));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &before));
        assert_int_equal(agent_end(world, SIGKILL), -SIGKILL);
        assert_true(is_alive(before.pid));
        agent_begin(world);
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &after));
        assert_int_equal(after.pid, before.pid);
        /* It takes orders as before. */
        make_file(world, "on");
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &after));
        assert_int_equal(after.exit_code, 5);
        assert_int_equal(controller_times_started(world->controller, KEY(1, 1)), 1);
}

static void a_run_that_ended_without_its_agent_is_reported_by_the_next(void **state)
{
        struct world *world = *state;
        struct seen_run seen;

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, WAITS, ""));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &seen));
        assert_int_equal(agent_end(world, SIGTERM), 0);
        make_file(world, "on");
        assert_true(waits_for_death(seen.pid));
        agent_begin(world);
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &seen));
        assert_int_equal(seen.exit_code, 5);
        assert_int_equal(controller_times_started(world->controller, KEY(1, 1)), 1);
}

/* What an agent 0.1.0 left (tests/fixtures/agent-state-1): a run that ended without it, and one that
 * the controller had forgotten. */
static void the_folder_of_the_first_release_is_read(void **state)
{
        struct world *world = *state;
        static struct seen_output output;
        struct seen_run seen;
        char command[300];

        snprintf(command, sizeof command,
                 "cp -r \"$BERTH_SOURCE\"/tests/fixtures/agent-state-1 %s/state", world->folder);
        assert_int_equal(system(command), 0);
        list_runs(world, run_json(world, 2, 20, "exit 9", ""));
        agent_begin(world);
        assert_true(controller_waits(world->controller, KEY(2, 20), "exited", &seen));
        assert_int_equal(seen.exit_code, 5);
        assert_true(controller_output(world->controller,
                                      "\"kind\": \"logs\", \"workload\": 2, \"member\": 0, "
                                      "\"epoch\": 20, \"stream\": \"stderr\", \"offset\": 0",
                                      &output));
        assert_int_equal(output.size, 5);
        assert_memory_equal(output.bytes, "ends\n", 5);
        assert_true(controller_output(world->controller,
                                      "\"kind\": \"logs\", \"workload\": 1, \"member\": 0, "
                                      "\"epoch\": 14, \"stream\": \"stdout\", \"offset\": 0",
                                      &output));
        assert_int_equal(output.size, 7);
        assert_memory_equal(output.bytes, "before\n", 7);
        /* An epoch as old as one that was started then starts nothing. */
        list_runs(world, run_json(world, 1, 13, "exit 9", ""));
        assert_true(controller_waits(world->controller, KEY(1, 13), "refused", &seen));
        list_runs(world, run_json(world, 1, 14, "exit 9", ""));
        assert_true(controller_waits(world->controller, KEY(1, 14), "exited", &seen));
        assert_int_not_equal(seen.exit_code, 9);
        assert_string_equal(file_text(world, "state/format"), "2\n");
}

static void a_run_at_the_barrier_is_let_go_by_the_next_agent(void **state)
{
        struct world *world = *state;
        struct seen_run seen;

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, "exit 6", "\"go\": false"));
        assert_true(controller_waits(world->controller, KEY(1, 1), "ready", NULL));
        assert_int_equal(agent_end(world, SIGKILL), -SIGKILL);
        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, "exit 6", "\"go\": true"));
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &seen));
        assert_int_equal(seen.exit_code, 6);
}

static void a_notice_is_kept_by_the_next_agent_without_a_controller(void **state)
{
        struct world *world = *state;
        struct seen_run seen;
        char until[40], stop[200];
        int64_t until_ms;

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, WAITS, ""));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &seen));
        snprintf(stop, sizeof stop, "\"stop\": {\"cause\": \"preemption\", \"until\": \"%s\"}",
                 time_in(1500, until, &until_ms));
        list_runs(world, run_json(world, 1, 1, WAITS, stop));
        assert_true(waits_for_file(world, "state/runs/1.0.1/notice.json"));
        assert_int_equal(agent_end(world, SIGKILL), -SIGKILL);
        controller_fall_silent(world->controller, true);
        agent_begin(world);
        assert_true(waits_for_death(seen.pid));
        assert_true(wall_ms() >= until_ms);
}

static void the_lease_is_counted_across_a_restart(void **state)
{
        struct world *world = *state;
        struct seen_run seen;

        controller_lease(world->controller, 10000);
        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, WAITS, "\"lost_contact\": \"stop_at_lease\""));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &seen));
        controller_fall_silent(world->controller, true);
        usleep(4000000);
        assert_int_equal(agent_end(world, SIGKILL), -SIGKILL);
        assert_true(is_alive(seen.pid));
        int64_t again_ms = wall_ms();
        agent_begin(world);
        assert_true(waits_for_death(seen.pid));
        /* Not as if its lease had begun with it. */
        assert_true(wall_ms() - again_ms < runs_lease_term_ms(10000, WORLD_KILL_MS) - 500);
}

static void without_an_agent_the_lease_ends_all_the_same(void **state)
{
        struct world *world = *state;
        struct seen_run stops, stays;

        controller_lease(world->controller, 4000);
        agent_begin(world);
        list_runs(world,
                  both_runs(run_json(world, 1, 1, "trap '' TERM; " WAITS,
                                     "\"lost_contact\": \"stop_at_lease\""),
                            run_json(world, 2, 1, WAITS, "\"lost_contact\": \"continue\"")));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &stops));
        assert_true(controller_waits(world->controller, KEY(2, 1), "running", &stays));
        assert_int_equal(agent_end(world, SIGKILL), -SIGKILL);
        int64_t silent_ms = wall_ms();
        assert_true(waits_for_death(stops.pid));
        assert_true(wall_ms() - silent_ms < 8000); /* 3.6 s, on a machine that is not busy */
        assert_true(is_alive(stays.pid));
        agent_begin(world);
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &stops));
        assert_int_equal(stops.signal, SIGKILL);
        assert_true(stops.lost_contact);
        assert_true(is_alive(stays.pid));
}

static void a_second_agent_is_refused_the_folder(void **state)
{
        struct world *world = *state;
        char path[100];
        struct folder *folder;
        struct err err;

        agent_begin(world);
        assert_true(controller_waits(world->controller, KEY(1, 1), NULL, NULL));
        snprintf(path, sizeof path, "%s/state", world->folder);
        assert_int_equal(folder_open(path, &folder, &err), -ERR_EXISTS);
        check_has(err.text, "another agent");
        assert_int_equal(agent_end(world, SIGTERM), 0);
        assert_int_equal(folder_open(path, &folder, &err), 0);
        folder_close(folder);
}

static void with_stop_runs_an_agent_leaves_nothing_behind(void **state)
{
        struct world *world = *state;
        struct seen_run seen;

        world->stops_runs = true;
        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, "trap '' TERM; touch @/up; " WAITS, ""));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &seen));
        assert_true(waits_for_file(world, "up"));
        assert_int_equal(agent_end(world, SIGTERM), 0);
        assert_false(is_alive(seen.pid));
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &seen));
        assert_int_equal(seen.signal, SIGKILL);
}

/* ---- the run goes ---- */

static void nothing_that_a_run_detaches_outlives_it(void **state)
{
        struct world *world = *state;
        struct seen_run seen;

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, DAEMONS "exit 9", ""));
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &seen));
        assert_int_equal(seen.exit_code, 9);
        int64_t one = atoll(file_text(world, "one")), two = atoll(file_text(world, "two"));
        assert_true(one > 1);
        assert_true(two > 1);
        assert_false(is_alive(one));
        assert_false(is_alive(two));
}

static void in_a_control_group_it_is_the_same(void **state)
{
        struct world *world = *state;
        struct seen_run seen;
        char root[CAGE_PATH_MAX], cage[CAGE_PATH_MAX + 32], line[CAGE_PATH_MAX] = "";
        char state_folder[96];
        struct err err;

        snprintf(state_folder, sizeof state_folder, "%s/state", world->folder);
        assert_true(mkdir(state_folder, 0700) == 0 || errno == EEXIST);
        if (cage_open(NULL, state_folder, root, &err) < 0) {
                print_message("no control groups here: %s\n", err.text);
                skip();
        }
        world->has_cages = true;
        agent_begin(world);
        list_runs(world, run_json(world, 91, 1,
                                  DAEMONS "grep ^0:: /proc/self/cgroup >@/cage; "
                                          "exit 9",
                                  "\"ram_mib\": 512, \"cpu_milli\": 1000"));
        assert_true(controller_waits(world->controller, KEY(91, 1), "exited", &seen));
        assert_int_equal(seen.exit_code, 9);
        assert_false(is_alive(atoll(file_text(world, "one"))));
        assert_false(is_alive(atoll(file_text(world, "two"))));
        assert_int_equal(sscanf(file_text(world, "cage"), "0::%1023s", line), 1);
        snprintf(cage, sizeof cage, "%s/91.0.1", strrchr(root, '/'));
        check_has(line, cage);
        snprintf(cage, sizeof cage, "%s/91.0.1", root);
        assert_int_not_equal(access(cage, F_OK), 0);
        assert_int_equal(agent_end(world, SIGTERM), 0);
        assert_int_not_equal(access(root, F_OK), 0);
}

/* A newer agent's runs lie elsewhere, and this one has lost all else by which it is found. */
static void it_is_found_in_the_control_group_that_it_was_started_in(void **state)
{
        struct world *world = *state;
        struct seen_run seen;
        char state_folder[96], root[CAGE_PATH_MAX], cage[CAGE_PATH_MAX + 32];
        struct err err;

        snprintf(state_folder, sizeof state_folder, "%s/state", world->folder);
        assert_true(mkdir(state_folder, 0700) == 0 || errno == EEXIST);
        if (cage_open(NULL, state_folder, root, &err) < 0) {
                print_message("no control groups here: %s\n", err.text);
                skip();
        }
        world->has_cages = true;
        agent_begin(world);
        list_runs(world, run_json(world, 92, 1,
                                  "env -i setsid sh -c 'echo $$ >@/one; exec sleep 1000' & "
                                  "until [ -s @/one ]; do sleep 0.02; done; touch @/up; " WAITS,
                                  ""));
        assert_true(waits_for_file(world, "up"));
        assert_true(controller_waits(world->controller, KEY(92, 1), "running", &seen));
        assert_int_equal(agent_end(world, SIGTERM), 0);
        kill_supervisor(world, "92.0.1");
        world->has_cages = false;
        agent_begin(world);
        assert_true(controller_waits(world->controller, KEY(92, 1), "exited", &seen));
        assert_false(is_alive(atoll(file_text(world, "one"))));
        snprintf(cage, sizeof cage, "%s/92.0.1", root);
        assert_int_not_equal(access(cage, F_OK), 0);
        cage_close(root);
}

/* Two pools may have nodes on one machine, and number their runs alike. */
static void agents_of_two_pools_have_cages_of_their_own(void **state)
{
        struct world *world = *state;
        char folders[2][96], roots[2][CAGE_PATH_MAX];
        struct err err;

        for (unsigned a = 0; a < 2; a++) {
                snprintf(folders[a], sizeof folders[a], "%s/%u", world->folder, a);
                assert_int_equal(mkdir(folders[a], 0700), 0);
                if (cage_open(NULL, folders[a], roots[a], &err) < 0) {
                        print_message("no control groups here: %s\n", err.text);
                        skip();
                }
        }
        assert_string_not_equal(roots[0], roots[1]);
        for (unsigned a = 0; a < 2; a++)
                cage_close(roots[a]);
}

/* A supervisor that has said that its run ended is still on its way out. */
static void the_groups_go_when_the_last_supervisor_has_left(void **state)
{
        struct world *world = *state;
        char root[CAGE_PATH_MAX], beside[CAGE_PATH_MAX + 32];
        int status = 0, entered[2];
        struct err err;

        if (cage_open(NULL, world->folder, root, &err) < 0) {
                print_message("no control groups here: %s\n", err.text);
                skip();
        }
        assert_int_equal(pipe(entered), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                cage_enter_beside(root);
                close(entered[1]);
                usleep(1500000); /* a slow machine */
                _exit(0);
        }
        close(entered[1]);
        assert_int_equal(read(entered[0], &status, 1), 0);
        close(entered[0]);
        snprintf(beside, sizeof beside, "%s/supervisors", root);
        if (cage_is_empty(beside)) {
                print_message("no process may be put into a control group here\n");
                cage_close(root);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                skip();
        }
        cage_close(root);
        assert_int_not_equal(access(root, F_OK), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* ---- the supervisor goes ---- */

static void a_killed_supervisor_ends_its_run_which_is_reported(void **state)
{
        struct world *world = *state;
        struct seen_run seen;

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, DAEMONS "touch @/up; " WAITS, ""));
        assert_true(waits_for_file(world, "up"));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &seen));
        int64_t first = seen.pid;
        kill_supervisor(world, "1.0.1");
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &seen));
        assert_int_equal(seen.signal, SIGKILL);
        assert_false(is_alive(first));
        assert_false(is_alive(atoll(file_text(world, "one"))));
        assert_false(is_alive(atoll(file_text(world, "two"))));
}

static void a_supervisor_that_was_killed_without_an_agent_is_found_by_the_next(void **state)
{
        struct world *world = *state;
        struct seen_run seen;

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, DAEMONS "touch @/up; " WAITS, ""));
        assert_true(waits_for_file(world, "up"));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &seen));
        assert_int_equal(agent_end(world, SIGKILL), -SIGKILL);
        kill_supervisor(world, "1.0.1");
        agent_begin(world);
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &seen));
        assert_int_equal(seen.signal, SIGKILL);
        assert_false(is_alive(atoll(file_text(world, "one"))));
        assert_false(is_alive(atoll(file_text(world, "two"))));
}

static void a_supervisor_whose_folder_was_removed_goes_with_its_run(void **state)
{
        struct world *world = *state;
        char command[200];

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, WAITS, ""));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", NULL));
        pid_t supervisor = supervisor_of(world, "1.0.1");
        assert_int_equal(agent_end(world, SIGKILL), -SIGKILL);
        snprintf(command, sizeof command, "rm -rf %s/state", world->folder);
        assert_int_equal(system(command), 0);
        assert_true(is_alive(supervisor));
        make_file(world, "on");
        assert_true(waits_for_death(supervisor));
}

/* ---- the machine goes ---- */

static void what_its_machine_took_along_has_not_failed(void **state)
{
        struct world *world = *state;
        struct seen_run seen;
        char text[300];

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, "touch @/up; " WAITS, ""));
        assert_true(waits_for_file(world, "up"));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &seen));
        assert_int_equal(agent_end(world, SIGKILL), -SIGKILL);
        kill_supervisor(world, "1.0.1");
        /* As it is found after a start. */
        snprintf(text, sizeof text,
                 "sed -i 's/\"boot\": \"[^\"]*\"/\"boot\": \"before\"/' "
                 "%s/state/runs/1.0.1/run.json",
                 world->folder);
        assert_int_equal(system(text), 0);
        agent_begin(world);
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &seen));
        assert_int_equal(seen.signal, SIGKILL);
        assert_true(seen.lost_contact);
        assert_string_equal(seen.reason, "its node went down");
}

/* As when the machine is shut down: berth-runs@ says so before it ends what runs. */
static void what_ends_while_its_node_goes_down_has_not_failed(void **state)
{
        struct world *world = *state;
        struct seen_run one, two;

        agent_begin(world);
        list_runs(world, both_runs(run_json(world, 1, 1, WAITS, ""),
                                   run_json(world, 2, 1, "until [ -f @/on ]; do sleep 0.02; done",
                                            "")));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &one));
        assert_true(controller_waits(world->controller, KEY(2, 1), "running", &two));
        make_file(world, "state/going-down");
        assert_int_equal(kill((pid_t)one.pid, SIGTERM), 0);
        make_file(world, "on");
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &one));
        assert_true(controller_waits(world->controller, KEY(2, 1), "exited", &two));
        assert_true(one.lost_contact);
        assert_string_equal(one.reason, "its node went down");
        assert_true(two.lost_contact); /* after TERM, 0 does not mean that it was done */
        assert_string_equal(two.reason, "its node went down");
}

/* As when berth-runs@ is stopped, and what does not heed TERM is killed in the end, with its
 * supervisor; the machine was up all the time. */
static void what_was_killed_with_its_node_has_not_failed(void **state)
{
        struct world *world = *state;
        struct seen_run seen;

        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, WAITS, ""));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &seen));
        assert_int_equal(agent_end(world, SIGTERM), 0);
        make_file(world, "state/going-down");
        kill_supervisor(world, "1.0.1");
        agent_begin(world);
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &seen));
        assert_int_equal(seen.signal, SIGKILL);
        assert_true(seen.lost_contact);
        assert_string_equal(seen.reason, "its node went down");
        /* It is up again. */
        list_runs(world, run_json(world, 2, 2, "exit 5", ""));
        assert_true(controller_waits(world->controller, KEY(2, 2), "exited", &seen));
        assert_false(seen.lost_contact);
        assert_string_equal(seen.reason, "");
}

/* ---- whose it is ---- */

static void a_run_is_its_accounts_and_sees_nothing_of_the_agents(void **state)
{
        struct world *world = *state;
        struct seen_run seen;

        if (geteuid() != 0) {
                print_message("only root can become others\n");
                skip();
        }
        world->runs_as = NULL;
        assert_int_equal(setenv("AGENTS_OWN_SECRET", "x", 1), 0);
        agent_begin(world);
        unsetenv("AGENTS_OWN_SECRET");
        list_runs(world, run_json(world, 1, 1,
                                  "id -un >@/who; id -Gn >@/groups; env >@/env; umask >@/umask; "
                                  "ls -l /proc/self/fd | grep -c /state/ >@/fds; "
                                  "cat $BERTH_NOTICE_FILE; touch $BERTH_CHECKPOINT_FILE; "
                                  "ls $BERTH_CHECKPOINT_FILE/.. || echo closed >@/closed",
                                  "\"run_as\": \"nobody\", \"devices\": [{\"index\": 1}]"));
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &seen));
        assert_string_equal(file_text(world, "who"), "nobody\n");
        assert_null(strstr(file_text(world, "groups"), "root"));
        assert_string_equal(file_text(world, "umask"), "0022\n");
        assert_string_equal(file_text(world, "fds"), "1\n"); /* stderr, and nothing else */
        assert_string_equal(file_text(world, "closed"), "closed\n");
        assert_null(strstr(file_text(world, "env"), "AGENTS_OWN_SECRET"));
        check_has(file_text(world, "env"), "CUDA_VISIBLE_DEVICES=SIM-n1-1\n");
        check_has(file_text(world, "env"), "USER=nobody\n");
}

static void nothing_is_run_as_root_unless_the_operator_says_so(void **state)
{
        struct world *world = *state;
        struct seen_run seen;

        world->runs_as = NULL;
        agent_begin(world);
        list_runs(world, both_runs(run_json(world, 1, 1, "true", "\"run_as\": \"root\""),
                                   run_json(world, 2, 1, "true", "\"run_as\": \"no such one\"")));
        assert_true(controller_waits(world->controller, KEY(1, 1), "refused", &seen));
        check_has(seen.reason, "root");
        assert_true(controller_waits(world->controller, KEY(2, 1), "refused", &seen));
        check_has(seen.reason, "there is no account 'no such one'");
}

/* Real accounts of the system: daemon has a uid below 1000, nobody one above. */
static void the_node_says_which_accounts_runs_may_be_of(void **state)
{
        struct world *world = *state;
        struct seen_run seen;
        char list[100], path[100];

        if (geteuid() != 0) {
                print_message("only root can become others\n");
                skip();
        }
        world->runs_as = NULL;
        agent_begin(world);
        list_runs(world, both_runs(run_json(world, 1, 1, "true", "\"run_as\": \"daemon\""),
                                   run_json(world, 2, 1, "id -un >@/two; sleep 60",
                                            "\"run_as\": \"nobody\"")));
        assert_true(controller_waits(world->controller, KEY(1, 1), "refused", &seen));
        check_has(seen.reason, "account 'daemon' (uid 1) is one of the system");
        assert_true(waits_for_file(world, "two"));
        assert_int_equal(agent_end(world, SIGTERM), 0);

        /* Now it is the other way round; what runs already goes on. */
        snprintf(path, sizeof path, "%s/accounts", world->folder);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs("# of the node\n\n  daemon # the one\n", file);
        fclose(file);
        snprintf(list, sizeof list, "no-such-account,%s", path);
        world->allowed = list;
        agent_begin(world);
        assert_true(controller_waits(world->controller, KEY(2, 1), "running", &seen));
        list_runs(world, both_runs(run_json(world, 3, 1, "id -un >@/three",
                                            "\"run_as\": \"daemon\""),
                                   run_json(world, 4, 1, "true", "\"run_as\": \"nobody\"")));
        assert_true(controller_waits(world->controller, KEY(3, 1), "exited", &seen));
        assert_string_equal(file_text(world, "three"), "daemon\n");
        assert_true(controller_waits(world->controller, KEY(4, 1), "refused", &seen));
        check_has(seen.reason, "this node does not run anything as account 'nobody'");
        check_has(seen.reason, "--allow-accounts");
        /* A list that is gone allows nothing. */
        assert_int_equal(unlink(path), 0);
        list_runs(world, run_json(world, 5, 1, "true", "\"run_as\": \"daemon\""));
        assert_true(controller_waits(world->controller, KEY(5, 1), "refused", &seen));
        check_has(seen.reason, "cannot tell which accounts it allows");
}

static int ask(const char *list, const char *name)
{
        struct account account;
        struct err err;

        assert_int_equal(account_find(NULL, name, &account, &err), 0);
        return allowed_check(list, &account, &err);
}

static void accounts_are_allowed_by_name_and_group(void **state)
{
        (void)state;
        struct passwd *nobody = getpwnam("nobody");
        struct err err;
        char group[100];

        if (geteuid() != 0) {
                print_message("only root can become others\n");
                skip();
        }
        assert_non_null(nobody);
        snprintf(group, sizeof group, "@%s", getgrgid(nobody->pw_gid)->gr_name);
        assert_int_equal(ask(NULL, "nobody"), 0);
        assert_int_equal(ask(NULL, "daemon"), -ERR_DENIED);
        assert_int_equal(ask("daemon", "daemon"), 0);
        assert_int_equal(ask("daemon", "nobody"), -ERR_DENIED);
        assert_int_equal(ask("bin,nobody", "nobody"), 0);
        assert_int_equal(ask("nobod", "nobody"), -ERR_DENIED);
        assert_int_equal(ask(group, "nobody"), 0);
        assert_int_equal(ask(group, "daemon"), -ERR_DENIED);
        assert_int_equal(ask("@no-such-group,nobody", "nobody"), 0);
        assert_int_equal(ask("/no/such/file,nobody", "nobody"), -ERR_NOT_FOUND);

        assert_int_equal(allowed_check_list("nobody,@daemon,no-such", &err), 0);
        static const struct {
                const char *list, *sentence;
        } rows[] = {
                {"", "empty entry"},
                {"a,,b", "empty entry"},
                {"a,", "empty entry"},
                {"root", "'root' cannot be allowed"},
                {"@no-such-group", "there is no group 'no-such-group'"},
                {"@", "there is no group ''"},
                {"a b", "no name of an account"},
                {"./file", "write its whole path"},
                {"/no/such/file", "/no/such/file: No such file"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                assert_true(allowed_check_list(rows[i].list, &err) < 0);
                check_has(err.text, rows[i].sentence);
        }
}

static void who_is_not_root_becomes_nobody_else(void **state)
{
        (void)state;
        struct account account;
        struct err err;
        int status;
        pid_t child = fork();

        if (child == 0) {
                if (geteuid() == 0 && setuid(65534) < 0)
                        _exit(1);
                if (account_find("root", "", &account, &err) != -ERR_INPUT ||
                    !strstr(err.text, "not root"))
                        _exit(2);
                if (account_find(NULL, "daemon", &account, &err) != -ERR_INPUT)
                        _exit(3);
                if (account_find(ACCOUNT_SELF, "", &account, &err) != 0 || account.uid != geteuid())
                        _exit(4);
                _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_int_equal(account_find(NULL, "", &account, &err), -ERR_INPUT);
        check_has(err.text, "no account is named");
}

int main(int argc, char **argv)
{
#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)
        const struct CMUnitTest tests[] = {
                IN_A_WORLD(a_run_goes_on_without_its_agent_and_is_taken_over),
                IN_A_WORLD(a_run_that_ended_without_its_agent_is_reported_by_the_next),
                IN_A_WORLD(the_folder_of_the_first_release_is_read),
                IN_A_WORLD(a_run_at_the_barrier_is_let_go_by_the_next_agent),
                IN_A_WORLD(a_notice_is_kept_by_the_next_agent_without_a_controller),
                IN_A_WORLD(the_lease_is_counted_across_a_restart),
                IN_A_WORLD(without_an_agent_the_lease_ends_all_the_same),
                IN_A_WORLD(a_second_agent_is_refused_the_folder),
                IN_A_WORLD(with_stop_runs_an_agent_leaves_nothing_behind),
                IN_A_WORLD(nothing_that_a_run_detaches_outlives_it),
                IN_A_WORLD(in_a_control_group_it_is_the_same),
                IN_A_WORLD(it_is_found_in_the_control_group_that_it_was_started_in),
                IN_A_WORLD(agents_of_two_pools_have_cages_of_their_own),
                IN_A_WORLD(the_groups_go_when_the_last_supervisor_has_left),
                IN_A_WORLD(what_its_machine_took_along_has_not_failed),
                IN_A_WORLD(what_ends_while_its_node_goes_down_has_not_failed),
                IN_A_WORLD(what_was_killed_with_its_node_has_not_failed),
                IN_A_WORLD(a_killed_supervisor_ends_its_run_which_is_reported),
                IN_A_WORLD(a_supervisor_that_was_killed_without_an_agent_is_found_by_the_next),
                IN_A_WORLD(a_supervisor_whose_folder_was_removed_goes_with_its_run),
                IN_A_WORLD(a_run_is_its_accounts_and_sees_nothing_of_the_agents),
                IN_A_WORLD(nothing_is_run_as_root_unless_the_operator_says_so),
                IN_A_WORLD(the_node_says_which_accounts_runs_may_be_of),
                cmocka_unit_test(accounts_are_allowed_by_name_and_group),
                cmocka_unit_test(who_is_not_root_becomes_nobody_else),
        };
        int code;

        if (world_is_agent(argc, argv, &code))
                return code;
        return cmocka_run_group_tests(tests, NULL, NULL);
}
