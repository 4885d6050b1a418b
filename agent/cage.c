#include "agent/cage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/family.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"

#define CPU_PERIOD_US 100000
#define DEPTH_MAX     8
#define PROCS_MAX     (4u << 20)
#define EVENTS_MAX    4096
#define SUPERVISORS   "supervisors"
#define LEAVE_MS      1000
#define LEAVE_ALL_MS  5000
#define LOOK_AGAIN_MS 10
/* What bounds a run that forks without end; work with many threads stays far below it. */
#define PIDS          "32768"

static bool write_file(const char *folder, const char *name, const char *text)
{
        char path[CAGE_PATH_MAX + 64];

        snprintf(path, sizeof path, "%s/%s", folder, name);
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        ssize_t put = write(fd, text, strlen(text));
        close(fd);
        return put == (ssize_t)strlen(text);
}

static bool has_file(const char *folder, const char *name)
{
        char path[CAGE_PATH_MAX + 64];

        snprintf(path, sizeof path, "%s/%s", folder, name);
        return access(path, F_OK) == 0;
}

/* ---- where ---- */

static const char *find_mount(void)
{
        static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

        for (size_t i = 0; i < ARRAY_LEN(mounts); i++)
                if (has_file(mounts[i], "cgroup.controllers"))
                        return mounts[i];
        return NULL;
}

/* The group of this process: the line "0::/system.slice/berth-agent.service". */
static int own_group(char ret_group[CAGE_PATH_MAX], struct err *err)
{
        char *bytes, *line, *rest;
        size_t size;
        int rc = file_read("/proc/self/cgroup", 65536, &bytes, &size, err);

        if (rc < 0)
                return rc;
        rc = err_set(err, ERR_NOT_FOUND, "this process is in no control group of version 2");
        for (line = strtok_r(bytes, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
                if (strncmp(line, "0::", 3) == 0 && str_copy(ret_group, CAGE_PATH_MAX, line + 3))
                        rc = 0;
        mem_free(bytes);
        return rc;
}

static int default_base(char ret_base[CAGE_PATH_MAX], struct err *err)
{
        char group[CAGE_PATH_MAX];
        const char *mount = find_mount();

        if (!mount)
                return err_set(err, ERR_NOT_FOUND,
                               "this machine has no control groups (version 2)");
        int rc = own_group(group, err);
        if (rc < 0)
                return rc;
        int length = snprintf(ret_base, CAGE_PATH_MAX, "%s%s", mount,
                              str_equal(group, "/") ? "" : group);
        if (length >= CAGE_PATH_MAX)
                return err_set(err, ERR_RANGE, "the control group's path is too long");
        return 0;
}

/* A state folder has one agent at a time, and its number on the machine to itself. */
static int name_root(const char *base, const char *state, char ret_root[CAGE_PATH_MAX],
                     struct err *err)
{
        struct stat info;

        if (stat(state, &info) < 0)
                return err_set(err, ERR_IO, "%s: %s", state, strerror(errno));
        if (snprintf(ret_root, CAGE_PATH_MAX, "%s/berth-runs-%" PRIxMAX "-%" PRIxMAX, base,
                     (uintmax_t)info.st_dev, (uintmax_t)info.st_ino) >= CAGE_PATH_MAX)
                return err_set(err, ERR_RANGE, "the control group's path is too long");
        return 0;
}

/* The kernel hands limits down only from a group without processes of its own; where there are
 * some, asking for "cpu" alone succeeds and makes every group below one that nothing can enter. The
 * root of all groups ("cgroup.type" is missing there) may do both. */
static bool may_hand_down(const char *group)
{
        char path[CAGE_PATH_MAX + 64];
        char *bytes;
        size_t size = 0;

        if (!has_file(group, "cgroup.type"))
                return true;
        snprintf(path, sizeof path, "%s/cgroup.procs", group);
        if (file_read(path, PROCS_MAX, &bytes, &size, NULL) < 0)
                return false;
        mem_free(bytes);
        return size == 0;
}

static void hand_down(const char *group)
{
        static const char *const limits[] = {"+cpu", "+memory", "+pids"};

        /* One by one: what the owner does not have leaves the others. */
        for (size_t i = 0; i < ARRAY_LEN(limits) && may_hand_down(group); i++)
                (void)write_file(group, "cgroup.subtree_control", limits[i]);
}

/* Who has ended is still in it for a moment: while it is torn down, and after nobody lists it any
 * more. */
static void remove_group(const char *group, int64_t until_ms)
{
        const struct timespec pause = {.tv_nsec = LOOK_AGAIN_MS * 1000000};

        while (rmdir(group) < 0 && errno == EBUSY && time_monotonic_ms() < until_ms)
                (void)nanosleep(&pause, NULL);
}

int cage_open(const char *base, const char *state, char ret_root[CAGE_PATH_MAX], struct err *err)
{
        char own[CAGE_PATH_MAX], root[CAGE_PATH_MAX], beside[CAGE_PATH_MAX + 64];
        int rc = base ? 0 : default_base(own, err);

        if (rc < 0)
                return rc;
        base = base ? base : own;
        if ((rc = name_root(base, state, root, err)) < 0)
                return rc;
        if (!has_file(base, "cgroup.procs"))
                return err_set(err, ERR_NOT_FOUND, "%s is no control group of version 2", base);
        if (mkdir(root, 0755) < 0 && errno != EEXIST)
                return err_set(err, ERR_IO, "%s: %s", root, strerror(errno));
        hand_down(base);
        hand_down(root);
        snprintf(beside, sizeof beside, "%s/" SUPERVISORS, root);
        (void)mkdir(beside, 0755);
        str_copy(ret_root, CAGE_PATH_MAX, root);
        return 0;
}

static bool has_cages(const char *root)
{
        DIR *dir = opendir(root);
        bool has = false;

        for (struct dirent *entry; dir && !has && (entry = readdir(dir));)
                has = entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
                      !str_equal(entry->d_name, SUPERVISORS);
        if (dir)
                closedir(dir);
        return has;
}

void cage_close(const char *root)
{
        char beside[CAGE_PATH_MAX + 64];

        if (has_cages(root))
                return;
        snprintf(beside, sizeof beside, "%s/" SUPERVISORS, root);
        int64_t until_ms = time_monotonic_ms() + LEAVE_ALL_MS;
        remove_group(beside, until_ms);
        remove_group(root, until_ms);
}

const char *cage_limits(const char *root, char ret_limits[CAGE_LIMITS_MAX])
{
        char path[CAGE_PATH_MAX + 64];
        char *bytes;
        size_t size;

        ret_limits[0] = '\0';
        snprintf(path, sizeof path, "%s/cgroup.subtree_control", root);
        if (file_read(path, CAGE_LIMITS_MAX - 1, &bytes, &size, NULL) < 0)
                return ret_limits;
        bytes[strcspn(bytes, "\n")] = '\0';
        str_copy(ret_limits, CAGE_LIMITS_MAX, bytes);
        mem_free(bytes);
        return ret_limits;
}

void cage_enter_beside(const char *root)
{
        char beside[CAGE_PATH_MAX];

        if (snprintf(beside, sizeof beside, "%s/" SUPERVISORS, root) < CAGE_PATH_MAX)
                (void)cage_enter(beside);
}

/* ---- one cage ---- */

static void set_limits(const char *cage, uint64_t cpu_milli, uint64_t ram_mib)
{
        char text[64];

        if (cpu_milli > 0) {
                snprintf(text, sizeof text, "%" PRIu64 " %d", cpu_milli * CPU_PERIOD_US / 1000,
                         CPU_PERIOD_US);
                (void)write_file(cage, "cpu.max", text);
        }
        if (ram_mib > 0) {
                snprintf(text, sizeof text, "%" PRIu64, ram_mib << 20);
                (void)write_file(cage, "memory.max", text);
                /* One member that is out of memory ends as a whole, not by halves. */
                (void)write_file(cage, "memory.oom.group", "1");
        }
        (void)write_file(cage, "pids.max", PIDS);
}

int cage_make(const char *root, const char *name, uint64_t cpu_milli, uint64_t ram_mib,
              char ret_cage[CAGE_PATH_MAX], struct err *err)
{
        char cage[CAGE_PATH_MAX];

        if (snprintf(cage, sizeof cage, "%s/%s", root, name) >= CAGE_PATH_MAX)
                return err_set(err, ERR_RANGE, "the control group's path is too long");
        if (mkdir(cage, 0755) < 0 && errno != EEXIST)
                return err_set(err, ERR_IO, "%s: %s", cage, strerror(errno));
        /* Whatever the umask: runtimes look up their limits there. */
        (void)chmod(cage, 0755);
        set_limits(cage, cpu_milli, ram_mib);
        str_copy(ret_cage, CAGE_PATH_MAX, cage);
        return 0;
}

bool cage_enter(const char *cage)
{
        return write_file(cage, "cgroup.procs", "0");
}

/* ---- what it ran out of ---- */

/* The line "oom_kill 1". */
static uint64_t count_of(const char *events, const char *name)
{
        size_t length = strlen(name);

        for (const char *line = events; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (strncmp(line, name, length) == 0 && line[length] == ' ')
                        return strtoull(line + length, NULL, 10);
        }
        return 0;
}

enum cage_memory cage_memory(const char *cage)
{
        char path[CAGE_PATH_MAX + 64];
        char *bytes;
        size_t size;
        enum cage_memory memory = CAGE_MEMORY_FINE;

        snprintf(path, sizeof path, "%s/memory.events", cage);
        if (file_read(path, EVENTS_MAX, &bytes, &size, NULL) < 0)
                return memory;
        if (count_of(bytes, "oom_kill") > 0)
                memory = count_of(bytes, "oom") > 0 ? CAGE_MEMORY_LIMIT : CAGE_MEMORY_NODE;
        mem_free(bytes);
        return memory;
}

/* ---- what is in it, groups below it too ---- */

typedef void pid_visit(void *arg, pid_t pid);

static void each_pid(const char *cage, unsigned depth, pid_visit *visit, void *arg)
{
        char path[CAGE_PATH_MAX + 64];
        char *bytes, *line, *rest;
        size_t size;

        snprintf(path, sizeof path, "%s/cgroup.procs", cage);
        if (file_read(path, PROCS_MAX, &bytes, &size, NULL) == 0) {
                for (line = strtok_r(bytes, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
                        if (atoi(line) > 0)
                                visit(arg, atoi(line));
                mem_free(bytes);
        }
        DIR *dir = depth < DEPTH_MAX ? opendir(cage) : NULL;
        for (struct dirent *entry; dir && (entry = readdir(dir));) {
                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                if (snprintf(path, sizeof path, "%s/%s", cage, entry->d_name) < CAGE_PATH_MAX)
                        each_pid(path, depth + 1, visit, arg);
        }
        if (dir)
                closedir(dir);
}

static void signal_pid(void *arg, pid_t pid)
{
        uint64_t start = process_start(pid);

        if (start)
                (void)process_signal(pid, start, *(int *)arg);
}

void cage_signal(const char *cage, int signal)
{
        if (signal == SIGKILL && write_file(cage, "cgroup.kill", "1"))
                return;
        each_pid(cage, 0, signal_pid, &signal);
}

static void count_pid(void *arg, pid_t pid)
{
        (void)pid;
        (*(unsigned *)arg)++;
}

bool cage_is_empty(const char *cage)
{
        unsigned count = 0;

        each_pid(cage, 0, count_pid, &count);
        return count == 0;
}

static void remove_below(const char *cage, unsigned depth, int64_t until_ms)
{
        char path[CAGE_PATH_MAX + 256];
        DIR *dir = depth < DEPTH_MAX ? opendir(cage) : NULL;

        for (struct dirent *entry; dir && (entry = readdir(dir));) {
                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                if (snprintf(path, sizeof path, "%s/%s", cage, entry->d_name) < CAGE_PATH_MAX)
                        remove_below(path, depth + 1, until_ms);
        }
        if (dir)
                closedir(dir);
        remove_group(cage, until_ms);
}

void cage_remove(const char *cage)
{
        remove_below(cage, 0, time_monotonic_ms() + LEAVE_MS);
}
