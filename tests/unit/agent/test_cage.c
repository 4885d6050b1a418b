/* Control groups, as far as plain files stand for them: what the kernel does is seen in a virtual
 * machine (make vm-check), and where there are some in test_outlive.c. */
#include "tests/unit/check.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cage.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

static int set_up(void **state)
{
        char *path = strdup("/tmp/berth-cage-XXXXXX");

        assert_non_null(mkdtemp(path));
        *state = path;
        return 0;
}

static int tear_down(void **state)
{
        char text[100];

        snprintf(text, sizeof text, "rm -rf %s", (char *)*state);
        free(*state);
        return system(text);
}

static void put(const char *folder, const char *name, const char *text)
{
        char path[300];

        snprintf(path, sizeof path, "%s/%s", folder, name);
        assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
}

static bool is_written(const char *folder, const char *name)
{
        char path[300];
        struct stat info;

        snprintf(path, sizeof path, "%s/%s", folder, name);
        assert_int_equal(stat(path, &info), 0);
        return info.st_size > 0;
}

static void limits_are_handed_down_only_by_a_group_without_processes(void **state)
{
        static const struct {
                const char *type, *processes;   /* type NULL: the root of all groups */
                bool hands_down;
        } rows[] = {
                {"domain\n", "", true},
                {"domain\n", "4711\n", false},  /* every group below would become invalid */
                {NULL, "1\n4711\n", true},
        };
        const char *folder = *state;
        char base[100], root[CAGE_PATH_MAX], path[200];
        struct err err;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                snprintf(base, sizeof base, "%s/%zu", folder, i);
                assert_int_equal(mkdir(base, 0755), 0);
                put(base, "cgroup.procs", rows[i].processes);
                put(base, "cgroup.subtree_control", "");
                if (rows[i].type)
                        put(base, "cgroup.type", rows[i].type);
                assert_int_equal(cage_open(base, folder, root, &err), 0);
                assert_int_equal(is_written(base, "cgroup.subtree_control"), rows[i].hands_down);
                /* Where the supervisors lie. */
                snprintf(path, sizeof path, "%s/supervisors", root);
                assert_int_equal(access(path, F_OK), 0);
                cage_close(root);
                assert_int_not_equal(access(root, F_OK), 0);
        }
        assert_int_equal(cage_open("/no/such/group", folder, root, &err), -ERR_NOT_FOUND);
}

static void it_is_said_which_limits_hold(void **state)
{
        char limits[CAGE_LIMITS_MAX];

        assert_string_equal(cage_limits(*state, limits), "");
        put(*state, "cgroup.subtree_control", "cpu memory pids\n");
        assert_string_equal(cage_limits(*state, limits), "cpu memory pids");
}

static void whose_want_of_memory_it_was_is_told(void **state)
{
        static const struct {
                const char *events;
                enum cage_memory memory;
        } rows[] = {
                {"", CAGE_MEMORY_FINE},
                {"low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n", CAGE_MEMORY_FINE},
                /* Near its limit, and once over it without being killed. */
                {"low 0\nhigh 0\nmax 70\noom 1\noom_kill 0\n", CAGE_MEMORY_FINE},
                {"low 0\nhigh 0\nmax 70\noom 1\noom_kill 3\noom_group_kill 1\n", CAGE_MEMORY_LIMIT},
                {"low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\n", CAGE_MEMORY_NODE},
                {"oom_kill 1\noom 2", CAGE_MEMORY_LIMIT},
                {"oom_kill\noom_killed 4\n", CAGE_MEMORY_FINE},
        };

        assert_int_equal(cage_memory(*state), CAGE_MEMORY_FINE);        /* nobody counts */
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                put(*state, "memory.events", rows[i].events);
                assert_int_equal(cage_memory(*state), rows[i].memory);
        }
}

int main(void)
{
#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                IN_A_FOLDER(limits_are_handed_down_only_by_a_group_without_processes),
                IN_A_FOLDER(it_is_said_which_limits_hold),
                IN_A_FOLDER(whose_want_of_memory_it_was_is_told),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
