#include "agent/family.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"

#define PROCESSES_MAX (1u << 22) /* the kernel's own bound */
#define ENVIRON_MAX   (4u << 20)

struct process {
        pid_t pid, parent;
        uint64_t start;
        bool is_ours, is_dead;
};

static bool read_process(pid_t pid, struct process *ret_process)
{
        char path[64], line[1024];
        char state;
        uint64_t start;
        int parent;

        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        ssize_t got = read(fd, line, sizeof line - 1);
        close(fd);
        if (got <= 0)
                return false;
        line[got] = '\0';
        /* The name stands in brackets and may hold anything, brackets too. */
        const char *at = strrchr(line, ')');
        if (!at || sscanf(at + 1,
                          " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                          "%*d %" SCNu64,
                          &state, &parent, &start) != 3)
                return false;
        *ret_process = (struct process){pid, parent, start, false, state == 'Z' || state == 'X'};
        return true;
}

uint64_t process_start(pid_t pid)
{
        struct process process;
        return pid > 0 && read_process(pid, &process) ? process.start : 0;
}

bool process_signal(pid_t pid, uint64_t start, int signal)
{
        struct process process;
        int fd = pidfd_open(pid, 0);

        if (fd < 0)
                return false;
        /* From here on the handle means one process; is it the one we found? */
        bool is_there = read_process(pid, &process) && process.start == start && !process.is_dead;
        if (is_there && signal)
                (void)pidfd_send_signal(fd, signal, NULL, 0);
        close(fd);
        return is_there;
}

typedef int process_visit(void *arg, const struct process *process);

static int each_process(process_visit *visit, void *arg)
{
        DIR *dir = opendir("/proc");
        struct process process;
        uint64_t pid;
        int rc = 0;

        if (!dir)
                return -ERR_IO;
        for (struct dirent *entry; rc == 0 && (entry = readdir(dir));)
                if (num_u64(entry->d_name, 1, INT32_MAX, &pid, NULL) == 0 &&
                    read_process((pid_t)pid, &process))
                        rc = visit(arg, &process);
        closedir(dir);
        return rc;
}

/* ---- descendants ---- */

struct processes {
        struct process *list;
        size_t count, room;
};

static int add_process(void *arg, const struct process *process)
{
        struct processes *all = arg;

        if (all->count == all->room) {
                size_t room = all->room ? 2 * all->room : 256;
                struct process *grown = room > PROCESSES_MAX ? NULL
                                                             : mem_resize(all->list, all->room,
                                                                          room, sizeof *all->list);
                if (!grown)
                        return -ERR_NOMEM;
                all->list = grown;
                all->room = room;
        }
        all->list[all->count++] = *process;
        return 0;
}

static int compare_pids(const void *a, const void *b)
{
        pid_t x = ((const struct process *)a)->pid, y = ((const struct process *)b)->pid;
        return x < y ? -1 : x > y;
}

/* Whether the parent is one of ours, as far as is known by now. */
static bool has_parent(const struct processes *all, const struct process *process, pid_t self)
{
        struct process wanted = {.pid = process->parent};

        if (process->parent == self)
                return true;
        const struct process *parent =
                bsearch(&wanted, all->list, all->count, sizeof *all->list, compare_pids);
        return parent && parent->is_ours;
}

static void mark_family(struct processes *all, pid_t self)
{
        bool is_news = true;

        qsort(all->list, all->count, sizeof *all->list, compare_pids);
        /* Children mostly have the higher numbers: one round, or a few. */
        while (is_news) {
                is_news = false;
                for (size_t i = 0; i < all->count; i++) {
                        struct process *process = &all->list[i];
                        if (process->is_ours || !has_parent(all, process, self))
                                continue;
                        process->is_ours = is_news = true;
                }
        }
}

int family_signal(int signal)
{
        struct processes all = {0};
        int rc = each_process(add_process, &all), count = 0;

        if (rc == 0 && all.count > 0) {
                mark_family(&all, getpid());
                for (size_t i = 0; i < all.count; i++)
                        if (all.list[i].is_ours && !all.list[i].is_dead)
                                count += process_signal(all.list[i].pid, all.list[i].start, signal);
        }
        mem_free(all.list);
        return rc < 0 ? rc : count;
}

/* ---- by a mark ---- */

struct marked {
        const char *variable;
        int signal, count;
};

static int signal_marked(void *arg, const struct process *process)
{
        struct marked *marked = arg;
        char path[64];
        char *bytes;
        size_t size;

        if (process->is_dead || process->pid == getpid())
                return 0;
        snprintf(path, sizeof path, "/proc/%d/environ", process->pid);
        if (file_read(path, ENVIRON_MAX, &bytes, &size, NULL) < 0)
                return 0;
        for (const char *at = bytes; at < bytes + size; at += strlen(at) + 1) {
                if (strcmp(at, marked->variable) != 0)
                        continue;
                marked->count += process_signal(process->pid, process->start, marked->signal);
                break;
        }
        mem_free(bytes);
        return 0;
}

int family_signal_marked(const char *variable, int signal)
{
        struct marked marked = {variable, signal, 0};
        int rc = each_process(signal_marked, &marked);
        return rc < 0 ? rc : marked.count;
}
