/* berth-agent as an operator starts it. */
#include "tests/unit/check.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/options.h"
#include "base/err.h"
#include "base/mem.h"
#include "tests/unit/agent/world.h"

static const char pool[] = "kind: Pool\nplanes: {training: {}}\nnodes:\n"
                           "  - {name: \"n[1-3]\", plane: training, "
                           "devices: {model: H100-80, count: 2}, cpu: 8, ram: 64Gi}\n";

/* Runs it to its end; its exit code. Its output lies in the world's file `out`. */
static int run(struct world *world, const char *arguments)
{
        char command[1000];
        int status;

        snprintf(command, sizeof command, "exec \"$BERTH_AGENT\" %s >%s/out 2>&1 </dev/null",
                 arguments, world->folder);
        status = system(command);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static void write_pool(const struct world *world)
{
        char path[100];

        snprintf(path, sizeof path, "%s/pool.yaml", world->folder);
        FILE *file = fopen(path, "w");
        fputs(pool, file);
        fclose(file);
}

static void its_help_names_every_option(void **state)
{
        struct world *world = *state;
        static const char *const names[] = {
#define X(id, name, value, help) "--" name,
                AGENT_OPTIONS(X)
#undef X
        };

        assert_int_equal(run(world, "--help"), 0);
        check_has(file_text(world, "out"), "usage: berth-agent");
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                check_has(file_text(world, "out"), names[i]);
        for (const char *line = file_text(world, "out"); *line; line += strcspn(line, "\n") + 1)
                assert_true(strcspn(line, "\n") <= 100);
        assert_int_equal(run(world, "--version"), 0);
        check_has(file_text(world, "out"), "berth-agent ");
}

static void what_it_cannot_begin_with_is_said(void **state)
{
        struct world *world = *state;
        static const struct {
                const char *arguments, *says;
        } rows[] = {
                {"", "--pool FILE"},
                {"--pol x", "did you mean 'pool'"},
                {"--pool", "needs a value"},
                {"--pool a --pool b", "given twice"},
                {"there", "only options"},
                {"--pool /no/such/file --node n1", "/no/such/file"},
                {"--pool %s/pool.yaml --node n9", "the pool has no node 'n9'"},
                {"--pool %s/pool.yaml --node n1 --state /no/such/place", "/no/such/place"},
                {"--pool %s/pool.yaml --node n1 --state %s/state --url ftp://x",
                 "no server's address"},
                {"--pool %s/pool.yaml --node n1 --token-file /no/token", "/no/token"},
                {"--pool %s/pool.yaml --node n1 --state %s/state --cgroup /tmp", "control group"},
        };

        write_pool(world);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char arguments[500];
                const char *from = rows[i].arguments;
                size_t at = 0;
                for (; *from; from++) {
                        if (from[0] == '%' && from[1] == 's') {
                                at += (size_t)snprintf(arguments + at, sizeof arguments - at, "%s",
                                                       world->folder);
                                from++;
                        } else {
                                arguments[at++] = *from;
                        }
                }
                arguments[at] = '\0';
                int code = run(world, arguments);
                assert_true(code == 2 || code == 1);
                check_has(file_text(world, "out"), rows[i].says);
        }
}

static void it_has_what_the_pool_says_and_runs_what_it_is_told(void **state)
{
        struct world *world = *state;
        char command[600];
        int status;

        write_pool(world);
        list_runs(world, run_json(world, 1, 1, "echo $CUDA_VISIBLE_DEVICES >@/sees",
                                  "\"devices\": [{\"index\": 1, \"method\": \"whole\"}]"));
        /* Its unit names a control group of version 2, which not every machine has. */
        snprintf(command, sizeof command,
                 "BERTH_AGENT_CGROUP=/no/such/group exec \"$BERTH_AGENT\" --pool %s/pool.yaml "
                 "--node n1 --url %s --state %s/state --runs-as self",
                 world->folder, world->url, world->folder);
        pid_t pid = fork();
        if (pid == 0) {
                execl("/bin/sh", "sh", "-c", command, (char *)NULL);
                _exit(127);
        }
        assert_true(controller_waits(world->controller, (struct run_key){1, 0, 1}, "exited", NULL));
        assert_string_equal(file_text(world, "sees"), "SIM-n1-1\n");
        assert_int_equal(kill(pid, SIGTERM), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

int main(void)
{
#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)
        const struct CMUnitTest tests[] = {
                IN_A_WORLD(its_help_names_every_option),
                IN_A_WORLD(what_it_cannot_begin_with_is_said),
                IN_A_WORLD(it_has_what_the_pool_says_and_runs_what_it_is_told),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
