/* Agents are replaced under running work: by one of another release (BERTH_AGENT_NEXT: the same
 * code with another version), over a state folder of the format before, and back again. The
 * controller is the real berthd. */
#include "tests/scratch.h"
#include "tests/unit/check.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/client.h"

#define PATIENCE_MS 60000

static const char pool_yaml[] =
        "kind: Pool\nplanes: {training: {}}\nnodes:\n"
        "  - {name: n1, plane: training, devices: {model: H100-80, count: 4}, cpu: 32, "
        "ram: 256Gi}\n";
static const char policy_yaml[] =
        "kind: Policy\npreset: equal\nclasses: {training: {rank: 1, methods: [whole]}}\n"
        "default_class: training\ntenants: {a: {}}\n";

static char folder[64];
static pid_t berthd, agent;
static struct client *client;

static pid_t spawn(const char *command)
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

static void start_agent(const char *program)
{
        char command[500];
        snprintf(command, sizeof command,
                 "%s --pool pool.yaml --node n1 --url unix:%s/sock --state %s/n1 --runs-as self "
                 "--cgroup none 2>>n1.log",
                 program, folder, folder);
        agent = spawn(command);
}

static void end(pid_t *pid, int signal)
{
        if (*pid <= 0)
                return;
        assert_int_equal(kill(*pid, signal), 0);
        assert_int_equal(waitpid(*pid, NULL, 0), *pid);
        *pid = 0;
}

static void write_file(const char *name, const char *text)
{
        char path[128];
        snprintf(path, sizeof path, "%s/%s", folder, name);
        FILE *file = fopen(path, "w");
        fputs(text, file);
        fclose(file);
}

static const char *ask(const char *method, const char *path, const char *body)
{
        static char text[65536];
        const struct client_request request = {.method = method,
                                               .path = path,
                                               .type = "application/yaml",
                                               .body = body,
                                               .body_size = body ? strlen(body) : 0};
        struct client_answer answer = {0};
        text[0] = '\0';
        if (client_call(client, &request, &answer, NULL) == 0)
                snprintf(text, sizeof text, "%s", answer.body);
        client_answer_done(&answer);
        return text;
}

/* The answer that has it, from there on. */
static const char *waits_for(const char *path, const char *part)
{
        const char *text = "", *at = NULL;
        for (int waited_ms = 0; !at && waited_ms < PATIENCE_MS; waited_ms += 20) {
                if (waited_ms > 0)
                        usleep(20000);
                text = ask("GET", path, NULL);
                at = strstr(text, part);
        }
        check_has(text, part);
        return at;
}

static int set_up(void **state)
{
        char url[100];
        (void)state;
        if (!getenv("BERTH_AGENT") || !getenv("BERTH_AGENT_NEXT") || !getenv("BERTHD"))
                fail_msg("BERTH_AGENT, BERTH_AGENT_NEXT and BERTHD must name the programs");
        assert_non_null(scratch_folder(folder, sizeof folder, "upgrade"));
        assert_int_equal(chmod(folder, 0755), 0);
        write_file("pool.yaml", pool_yaml);
        write_file("policy.yaml", policy_yaml);
        snprintf(url, sizeof url, "unix:%s/sock", folder);
        assert_int_equal(client_new(&(struct client_setup){.url = url}, &client, NULL), 0);
        berthd = spawn("\"$BERTHD\" --store store.db --listen unix:$PWD/sock --tick 100ms --pool "
                       "pool.yaml --policy policy.yaml 2>berthd.log");
        start_agent("\"$BERTH_AGENT\"");
        waits_for("/v1/pool", "\"nodes_up\":1");
        return 0;
}

static int tear_down(void **state)
{
        char command[100];
        (void)state;
        end(&agent, SIGTERM);
        end(&berthd, SIGTERM);
        client_free(client);
        snprintf(command, sizeof command, "rm -rf %s", folder);
        return system(command);
}

/* It says who it is when it begins, and again each time it is asked. */
static void submit(const char *name)
{
        char document[500];
        snprintf(document, sizeof document,
                 "kind: Workload\nname: %s\ntenant: a\neach: {devices: 1}\n"
                 "run: {command: [sh, -c, 'trap \"echo again $$\" USR1; trap \"exit 7\" TERM; "
                 "echo first $$; while :; do sleep 0.05; done'], workdir: /}\n",
                 name);
        check_has(ask("POST", "/v1/workloads", document), "\"id\":");
}

static pid_t process_of(const char *name)
{
        char path[100];
        snprintf(path, sizeof path, "/v1/workloads/%s/logs?member=0", name);
        return (pid_t)strtol(waits_for(path, "first ") + 6, NULL, 10);
}

static void is_taken_over(const char *name, pid_t process)
{
        char path[100], part[50];
        snprintf(path, sizeof path, "/v1/workloads/%s", name);
        waits_for(path, "\"state\":\"running\"");
        assert_int_equal(kill(process, SIGUSR1), 0);
        snprintf(path, sizeof path, "/v1/workloads/%s/logs?member=0", name);
        snprintf(part, sizeof part, "again %d", (int)process);
        waits_for(path, part);
}

static void an_agent_of_another_release_takes_over_what_runs(void **state)
{
        (void)state;
        char path[100];
        submit("old");
        pid_t old = process_of("old");
        waits_for("/v1/nodes", "\"version_differs\":false");
        end(&agent, SIGTERM);
        /* As the release before this one left it. */
        snprintf(path, sizeof path, "%s/n1/format", folder);
        assert_int_equal(unlink(path), 0);
        start_agent("\"$BERTH_AGENT_NEXT\"");
        waits_for("/v1/nodes", "\"version\":\"99.0.0\",\"version_differs\":true");
        is_taken_over("old", old);
        assert_int_equal(access(path, F_OK), 0);
        submit("new");
        pid_t new = process_of("new");
        /* It was not what was hoped for. */
        end(&agent, SIGKILL);
        start_agent("\"$BERTH_AGENT\"");
        waits_for("/v1/nodes", "\"version_differs\":false");
        is_taken_over("old", old);
        is_taken_over("new", new);
        check_has(ask("DELETE", "/v1/workloads/new", NULL), "\"id\":");
        waits_for("/v1/workloads/new", "\"state\":\"cancelled\"");
        check_has(ask("DELETE", "/v1/workloads/old", NULL), "\"id\":");
        waits_for("/v1/workloads/old", "\"state\":\"cancelled\"");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_agent_of_another_release_takes_over_what_runs),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
