/* Two agents and the real berthd (BERTHD): what a user asks for runs as processes. */
#include "tests/scratch.h"
#include "tests/unit/check.h"

#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "net/client.h"

#define PATIENCE_MS 60000

static const char pool_yaml[] =
        "kind: Pool\nplanes: {training: {}}\nnodes:\n"
        "  - {name: \"n[1-2]\", plane: training, devices: {model: H100-80, count: 4}, cpu: 32, "
        "ram: 256Gi}\n";
static const char policy_yaml[] =
        "kind: Policy\npreset: equal\n"
        "classes: {training: {rank: 1, methods: [whole], stop: always, notice: 1s}}\n"
        "default_class: training\ntenants: {a: {}}\n";

struct pool {
        char folder[64];
        pid_t berthd, agents[2];
        struct client *client;
};

static pid_t spawn(const char *command, const char *folder)
{
        char text[1000];
        pid_t pid = fork();

        snprintf(text, sizeof text, "cd %s && exec %s", folder, command);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves none behind */
                execl("/bin/sh", "sh", "-c", text, (char *)NULL);
                _exit(127);
        }
        return pid;
}

static pid_t start_agent(const struct pool *pool, unsigned number)
{
        char command[500];

        snprintf(command, sizeof command,
                 "\"$BERTH_AGENT\" --pool pool.yaml --node n%u --url unix:%s/sock --state %s/n%u "
                 "--runs-as self --cgroup none 2>>n%u.log",
                 number, pool->folder, pool->folder, number, number);
        return spawn(command, pool->folder);
}

static void write_file(const struct pool *pool, const char *name, const char *text)
{
        char path[128];

        snprintf(path, sizeof path, "%s/%s", pool->folder, name);
        FILE *file = fopen(path, "w");
        fputs(text, file);
        fclose(file);
}

/* The body of an answer, cut; "" where there was none. */
static const char *ask(struct pool *pool, const char *method, const char *path, const char *body)
{
        static char text[65536];
        const struct client_request request = {
                .method = method,
                .path = path,
                .type = "application/yaml",
                .body = body,
                .body_size = body ? strlen(body) : 0,
        };
        struct client_answer answer = {0};

        text[0] = '\0';
        if (client_call(pool->client, &request, &answer, NULL) == 0)
                snprintf(text, sizeof text, "%s", answer.body);
        client_answer_done(&answer);
        return text;
}

static void waits_for(struct pool *pool, const char *path, const char *part)
{
        for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 20) {
                if (strstr(ask(pool, "GET", path, NULL), part))
                        return;
                usleep(20000);
        }
        check_has(ask(pool, "GET", path, NULL), part);
}

static int set_up(void **state)
{
        struct pool *pool = calloc(1, sizeof *pool);
        char url[100];
        struct err err;

        if (!getenv("BERTH_AGENT") || !getenv("BERTHD"))
                fail_msg("BERTH_AGENT and BERTHD must name the two programs");
        assert_non_null(scratch_folder(pool->folder, sizeof pool->folder, "pool"));
        assert_int_equal(chmod(pool->folder, 0755), 0);
        write_file(pool, "pool.yaml", pool_yaml);
        write_file(pool, "policy.yaml", policy_yaml);
        snprintf(url, sizeof url, "unix:%s/sock", pool->folder);
        assert_int_equal(client_new(&(struct client_setup){.url = url}, &pool->client, &err), 0);
        pool->berthd = spawn("\"$BERTHD\" --store store.db --listen unix:$PWD/sock --tick 100ms "
                             "--pool pool.yaml --policy policy.yaml 2>berthd.log",
                             pool->folder);
        for (unsigned i = 0; i < 2; i++)
                pool->agents[i] = start_agent(pool, i + 1);
        waits_for(pool, "/v1/pool", "\"nodes_up\":2");
        *state = pool;
        return 0;
}

static void end(pid_t pid, int signal)
{
        assert_int_equal(kill(pid, signal), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int tear_down(void **state)
{
        struct pool *pool = *state;
        char command[100];

        for (unsigned i = 0; i < 2; i++)
                end(pool->agents[i], SIGTERM);
        end(pool->berthd, SIGTERM);
        client_free(pool->client);
        snprintf(command, sizeof command, "rm -rf %s", pool->folder);
        int rc = system(command);
        free(pool);
        return rc;
}

static void submit(struct pool *pool, const char *name, const char *script)
{
        char document[1000];

        snprintf(document, sizeof document,
                 "kind: Workload\nname: %s\ntenant: a\nmembers: 2\n"
                 "each: {devices: 4, cpu: 2, ram: 4Gi}\ntime_limit: 1h\n"
                 "checkpoint: {every: 1h, within: 1s, signal: USR1}\n"
                 "run: {command: [sh, -c, '%s'], workdir: /}\n",
                 name, script);
        check_has(ask(pool, "POST", "/v1/workloads", document), "\"id\":");
}

static void a_gang_runs_on_two_nodes_and_its_output_is_there(void **state)
{
        struct pool *pool = *state;

        submit(pool, "hello", "echo rank $RANK of $WORLD_SIZE sees $CUDA_VISIBLE_DEVICES");
        waits_for(pool, "/v1/workloads/hello", "\"state\":\"succeeded\"");
        for (unsigned member = 0; member < 2; member++) {
                char path[100], line[100];
                snprintf(path, sizeof path, "/v1/workloads/hello/logs?member=%u", member);
                snprintf(line, sizeof line, "rank %u of 2 sees SIM-n", member);
                waits_for(pool, path, line);
        }
        submit(pool, "wrong", "exit 3");
        waits_for(pool, "/v1/workloads/wrong", "\"state\":\"failed\"");
        check_has(ask(pool, "GET", "/v1/workloads/wrong", NULL), "\"exit_code\":3");
}

static void work_outlives_its_agent_and_is_cancelled_by_the_next(void **state)
{
        struct pool *pool = *state;

        submit(pool, "long", "trap \"exit 7\" TERM; while :; do sleep 0.05; done");
        waits_for(pool, "/v1/workloads/long", "\"state\":\"running\"");
        end(pool->agents[0], SIGKILL);
        pool->agents[0] = start_agent(pool, 1);
        usleep(500000);
        check_has(ask(pool, "GET", "/v1/workloads/long", NULL), "\"state\":\"running\"");
        check_has(ask(pool, "DELETE", "/v1/workloads/long", NULL), "\"id\":");
        waits_for(pool, "/v1/workloads/long", "\"state\":\"cancelled\"");
        waits_for(pool, "/v1/pool", "\"free\":\"8\"");
}

static void preempted_work_gets_its_notice_and_runs_again(void **state)
{
        struct pool *pool = *state;

        submit(pool, "kind",
               "trap \"echo told; cat $BERTH_NOTICE_FILE\" USR1; echo begins; "
               "while :; do sleep 0.05; done");
        waits_for(pool, "/v1/workloads/kind", "\"state\":\"running\"");
        waits_for(pool, "/v1/workloads/kind/logs?member=0", "begins");
        const struct client_request request = {
                .method = "POST",
                .path = "/v1/workloads/kind/preempt",
                .reason = "a test",
        };
        struct client_answer answer = {0};
        assert_int_equal(client_call(pool->client, &request, &answer, NULL), 0);
        assert_int_equal(answer.status / 100, 2);
        client_answer_done(&answer);
        waits_for(pool, "/v1/workloads/kind/logs?member=0&run=1", "told\n{\"cause\": ");
        /* It runs again: what it writes is new. */
        for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 20) {
                if (str_equal(ask(pool, "GET", "/v1/workloads/kind/logs?member=0", NULL),
                              "begins\n"))
                        break;
                usleep(20000);
        }
        assert_string_equal(ask(pool, "GET", "/v1/workloads/kind/logs?member=0", NULL), "begins\n");
        check_has(ask(pool, "DELETE", "/v1/workloads/kind", NULL), "\"id\":");
        waits_for(pool, "/v1/workloads/kind", "\"state\":\"cancelled\"");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_gang_runs_on_two_nodes_and_its_output_is_there),
                cmocka_unit_test(work_outlives_its_agent_and_is_cancelled_by_the_next),
                cmocka_unit_test(preempted_work_gets_its_notice_and_runs_again),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
