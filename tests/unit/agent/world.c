#include "tests/scratch.h"
#include "tests/unit/check.h"

#include "tests/unit/agent/world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/family.h"
#include "agent/folder.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "device/sim.h"

/* ---- the agent ---- */

bool world_is_agent(int argc, char **argv, int *ret_code)
{
        struct err err = {0};

        /* agent FOLDER URL RUNS_AS STOPS CAGES ALLOWED */
        if (argc != 8 || !str_equal(argv[1], "agent"))
                return false;
        char state[100], broken[120], secrets[120];
        snprintf(state, sizeof state, "%s/state", argv[2]);
        snprintf(broken, sizeof broken, "%s/broken", argv[2]);
        snprintf(secrets, sizeof secrets, "%s/secrets", argv[2]);
        struct device_sim_setup sim = {"n1", "H100-80", 81920, WORLD_DEVICES, 0, broken};
        struct agent_setup setup = {
                .client.url = argv[3],
                .version = "test",
                .node = "n1",
                .state = state,
                .program = getenv("BERTH_AGENT"),
                .runs_as = argv[4][0] ? argv[4] : NULL,
                .allowed = argv[7][0] ? argv[7] : NULL,
                .secrets = secrets,
                .stops_runs = argv[5][0] == '1',
                .cgroup = argv[6][0] == '1' ? NULL : "none",
                .kill_after_ms = WORLD_KILL_MS,
                .leftover_ms = 200,
                .pause_ms_max = 100,
        };
        int rc = device_sim_new(&sim, &setup.devices, &err);
        if (rc == 0)
                rc = agent_run(&setup, &err);
        if (rc < 0)
                fprintf(stderr, "agent: %s\n", err.text);
        setup.devices.ops->free(setup.devices.self);
        *ret_code = rc < 0 ? 1 : 0;
        return true;
}

void agent_begin(struct world *world)
{
        char program[4096];
        ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

        assert_true(length > 0);
        program[length] = '\0';
        char word[] = "agent", none[] = "", yes[] = "1", no[] = "0", runs_as[64] = "", allowed[200] = "";
        if (world->runs_as)
                str_copy(runs_as, sizeof runs_as, world->runs_as);
        if (world->allowed)
                str_copy(allowed, sizeof allowed, world->allowed);
        char *argv[] = {program,
                        word,
                        world->folder,
                        world->url,
                        world->runs_as ? runs_as : none,
                        world->stops_runs ? yes : no,
                        world->has_cages ? yes : no,
                        allowed,
                        NULL};
        assert_int_equal(world->agent, 0);
        controller_forget(world->controller);
        assert_int_equal(posix_spawn(&world->agent, program, NULL, NULL, argv, environ), 0);
}

int agent_end(struct world *world, int signal)
{
        int status;

        assert_true(world->agent > 0);
        assert_int_equal(kill(world->agent, signal), 0);
        assert_int_equal(waitpid(world->agent, &status, 0), world->agent);
        world->agent = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* ---- the world ---- */

int world_set_up(void **state)
{
        struct world *world = calloc(1, sizeof *world);
        char path[100];

        if (!getenv("BERTH_AGENT"))
                fail_msg("BERTH_AGENT must name berth-agent");
        signal(SIGPIPE, SIG_IGN);
        assert_non_null(scratch_folder(world->folder, sizeof world->folder, "agent"));
        /* Other accounts write their results here. */
        assert_int_equal(chmod(world->folder, 0777), 0);
        snprintf(path, sizeof path, "%s/sock", world->folder);
        snprintf(world->url, sizeof world->url, "unix:%s", path);
        world->controller = controller_start(path);
        world->runs_as = "self";
        *state = world;
        return 0;
}

/* A test that failed leaves runs behind. */
static void end_what_is_left(const struct world *world)
{
        char path[100], mark[700], file[300];
        struct folder *folder = NULL;
        struct run_pids pids;

        snprintf(path, sizeof path, "%s/state/runs", world->folder);
        DIR *dir = opendir(path);
        for (struct dirent *entry; dir && (entry = readdir(dir));) {
                struct run_key key;
                if (!run_key_parse(entry->d_name, &key))
                        continue;
                snprintf(file, sizeof file, "%s/%.64s", path, entry->d_name);
                snprintf(mark, sizeof mark, "BERTH_RUN=%.64s@%s", entry->d_name, file);
                snprintf(path, sizeof path, "%s/state", world->folder);
                if (folder_open(path, &folder, NULL) == 0 &&
                    pids_read(file, folder_boot(folder), &pids))
                        (void)process_signal(pids.supervisor, pids.supervisor_start, SIGKILL);
                folder_close(folder);
                folder = NULL;
                snprintf(path, sizeof path, "%s/state/runs", world->folder);
                (void)family_signal_marked(mark, SIGKILL);
        }
        if (dir)
                closedir(dir);
}

int world_tear_down(void **state)
{
        struct world *world = *state;
        char command[100];

        if (world->agent > 0)
                (void)agent_end(world, SIGKILL);
        end_what_is_left(world);
        controller_stop(world->controller);
        snprintf(command, sizeof command, "rm -rf %s", world->folder);
        int rc = system(command);
        free(world);
        return rc;
}

/* ---- lists ---- */

char *run_json(const struct world *world, uint64_t workload, uint64_t epoch, const char *script,
               const char *extra)
{
        char *json = NULL;
        char text[4096];
        size_t at = 0;

        for (; *script; script++) {
                if (*script == '@')
                        at += (size_t)snprintf(text + at, sizeof text - at, "%s", world->folder);
                else if (*script == '"' || *script == '\\')
                        at += (size_t)snprintf(text + at, sizeof text - at, "\\%c", *script);
                else
                        text[at++] = *script;
                assert_true(at < sizeof text - 100);
        }
        text[at] = '\0';
        assert_true(asprintf(&json,
                             "{\"workload\": %" PRIu64 ", \"member\": 0, \"epoch\": %" PRIu64
                             ", \"name\": \"w\", \"tenant\": \"t\", \"user\": \"ana\", "
                             "\"workdir\": \"/\", "
                             "\"command\": [\"sh\", \"-c\", \"%s\"]%s%s%s}",
                             workload, epoch, text, strstr(extra, "\"go\"") ? "" : ", \"go\": true",
                             extra[0] ? ", " : "", extra) > 0);
        return json;
}

char *both_runs(char *one, char *other)
{
        char *both = NULL;

        assert_true(asprintf(&both, "%s, %s", one, other) > 0);
        free(one);
        free(other);
        return both;
}

void list_runs(struct world *world, char *runs)
{
        controller_list(world->controller, runs);
        free(runs);
}

/* ---- looking ---- */

static const char *path_of(const struct world *world, const char *name)
{
        static char path[512];

        snprintf(path, sizeof path, "%s/%s", world->folder, name);
        return path;
}

bool has_file(const struct world *world, const char *name)
{
        return access(path_of(world, name), F_OK) == 0;
}

const char *file_text(const struct world *world, const char *name)
{
        static char text[65536];
        char *bytes;
        size_t size;

        text[0] = '\0';
        if (file_read(path_of(world, name), sizeof text - 1, &bytes, &size, NULL) == 0) {
                memcpy(text, bytes, size + 1);
                mem_free(bytes);
        }
        return text;
}

void make_file(const struct world *world, const char *name)
{
        assert_int_equal(file_write(path_of(world, name), "", 0, NULL), 0);
}

bool waits_for_file(const struct world *world, const char *name)
{
        for (int i = 0; i < CONTROLLER_PATIENCE_MS / 5 && !has_file(world, name); i++)
                usleep(5000);
        return has_file(world, name);
}

bool is_alive(int64_t pid)
{
        char path[64], line[512] = "";

        snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        ssize_t got = read(fd, line, sizeof line - 1);
        close(fd);
        const char *end = got > 0 ? strrchr(line, ')') : NULL;
        return end && end[2] != 'Z' && end[2] != 'X';
}

bool waits_for_death(int64_t pid)
{
        for (int i = 0; i < CONTROLLER_PATIENCE_MS / 5 && is_alive(pid); i++)
                usleep(5000);
        return !is_alive(pid);
}

pid_t supervisor_of(const struct world *world, const char *run)
{
        char name[200], boot[FOLDER_BOOT_MAX];
        int pid = 0;

        snprintf(name, sizeof name, "state/runs/%s/pid", run);
        assert_int_equal(sscanf(file_text(world, name), "%63s %d", boot, &pid), 2);
        assert_true(pid > 0);
        return pid;
}

void kill_supervisor(const struct world *world, const char *run)
{
        pid_t supervisor = supervisor_of(world, run);

        assert_int_equal(kill(supervisor, SIGKILL), 0);
        assert_true(waits_for_death(supervisor));
}

int64_t wall_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

const char *time_in(int64_t ms, char buf[40], int64_t *ret_wall_ms)
{
        struct tm tm;

        *ret_wall_ms = wall_ms() + ms;
        time_t seconds = (time_t)(*ret_wall_ms / 1000);
        gmtime_r(&seconds, &tm);
        size_t length = strftime(buf, 40, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(buf + length, 40 - length, ".%03dZ", (int)(*ret_wall_ms % 1000));
        return buf;
}
