#include "tests/unit/check.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/command.h"

/* One node of eight devices: what is tenant a's by promise is held by b when a comes. */
static const char jobs[] = "at,ran,gpus,team\n"
                           "2026-01-05 08:00:00,7200,8,b\n"
                           "2026-01-05 08:01:00,600,8,a\n"
                           "2026-01-05 08:02:00,600,1,b\n";

static const char history[] =
        "kind: Replay\n"
        "name: small\n"
        "pool: {nodes: 1, devices_per_node: 8, model: V100}\n"
        "workload:\n"
        "  jobs_csv: jobs.csv\n"
        "  columns: {submit: at, duration: ran, devices: gpus, tenant: team}\n"
        "  checkpoint: {every: 5m, restart: 60s}\n";

static const char ours[] = "kind: Policy\n"
                           "preset: protected\n"
                           "rules: {stop_rate: {pct: 100, per: 10m}}\n"
                           "tenants: {a: {protect: {V100: 8}}, b: {}}\n";

static char folder[] = "/tmp/berth-try-XXXXXX";

static const char *path_of(const char *name)
{
        static char paths[4][80];
        static unsigned at;
        char *path = paths[at++ % 4];

        snprintf(path, sizeof paths[0], "%s/%s", folder, name);
        return path;
}

static void put(const char *name, const char *text)
{
        struct err err = {0};

        if (file_write(path_of(name), text, strlen(text), &err) < 0)
                fail_msg("%s", err.text);
}

static int open_folder(void **state)
{
        (void)state;
        if (!mkdtemp(folder))
                return -1;
        put("jobs.csv", jobs);
        put("history.yaml", history);
        put("ours.yaml", ours);
        return 0;
}

static int close_folder(void **state)
{
        static const char *const names[] = {"jobs.csv", "history.yaml", "ours.yaml", "out", "json"};

        (void)state;
        for (size_t n = 0; n < ARRAY_LEN(names); n++)
                unlink(path_of(names[n]));
        return rmdir(folder);
}

static char *text_of(const char *name)
{
        struct err err = {0};
        char *text = NULL;
        size_t size = 0;

        if (file_read(path_of(name), 1 << 20, &text, &size, &err) < 0)
                fail_msg("%s", err.text);
        return text;
}

/* `berth policy try ...` in a process of its own; its exit code, its output in the file `out`. */
static int try(const char *against, const char *json)
{
        const char *argv[12] = {"berth", "policy", "try", path_of("ours.yaml"), "--history",
                                path_of("history.yaml")};
        int argc = 6, status;
        pid_t child = fork();

        if (child > 0) {
                assert_true(waitpid(child, &status, 0) == child);
                assert_true(WIFEXITED(status));
                return WEXITSTATUS(status);
        }
        assert_true(child == 0);
        if (against) {
                argv[argc++] = "--against";
                argv[argc++] = against;
        }
        if (json) {
                argv[argc++] = "--json";
                argv[argc++] = json;
        }
        if (!freopen(path_of("out"), "w", stdout) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
                _exit(99);
        int rc = command_main(argc, (char **)argv);
        fflush(NULL);
        _exit(rc);
}

static void before_and_after_stand_side_by_side(void **state)
{
        (void)state;
        assert_int_equal(try("fifo-skip", NULL), EXIT_FINE);
        char *text = text_of("out");

        check_has(text, "small: 3 jobs of 2 tenants, 1 seed\n");
        check_has(text, "fifo-skip -> ");
        check_has(text, "tenant  jobs");
        check_has(text, "promises broken");
        check_has(text, "\nb          2");
        check_has(text, "\na          1");
        check_has(text, "\nall        3");
        check_has(text, "the mean wait of a job is ");
        check_has(text, "Work is stopped 1 times instead of 0");
        check_has(text, "promised devices");
        check_has(text, "before, none was promised");
        mem_free(text);
}

/* It waits for the exempt time and the notice, not for the end of what is in its place. */
static void a_promise_shortens_its_tenants_wait(void **state)
{
        (void)state;
        assert_int_equal(try("fifo-skip", path_of("json")), EXIT_FINE);
        char *text = text_of("json");

        check_has(text, "\"history\": \"small\"");
        check_has(text, "\"before\": \"fifo-skip\"");
        check_has(text, "\"tenant\": \"a\",\n      \"before\": {\n        \"jobs\": 1,\n"
                        "        \"wait_s\": {\n          \"mean\": 7140,");
        check_has(text, "\"promises_broken\": null");
        check_has(text, "\"stops\": 1,");
        mem_free(text);
}

static void what_cannot_be_tried_is_said(void **state)
{
        (void)state;
        assert_int_equal(try("fifoskip", NULL), EXIT_BAD_INPUT);
        char *text = text_of("out");
        check_has(text, "did you mean 'fifo-skip'");
        mem_free(text);
        assert_int_equal(try(path_of("ours.yaml"), NULL), EXIT_BAD_INPUT);
        text = text_of("out");
        check_has(text, "tried against itself");
        mem_free(text);
        assert_int_equal(try("none.yaml", NULL), EXIT_BAD_INPUT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(before_and_after_stand_side_by_side),
                cmocka_unit_test(a_promise_shortens_its_tenants_wait),
                cmocka_unit_test(what_cannot_be_tried_is_said),
        };
        return cmocka_run_group_tests(tests, open_folder, close_folder);
}
