#include "bench/watchers.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "bench/bench.h"
#include "bench/load.h"

#define WATCHERS   1000                 /* of events, 20 of each tenant */
#define FEW_PACE   500                  /* jobs a second, of one connection */
#define FULL_PACE  10000
#define ROUNDS     5
#define ROUNDS_MAX 50
#define READ_BYTES (256u << 10)
#define RETRY_NS   2000000000ll         /* what the stream says */
#define ID_REACH   8192                 /* the newest id is looked for in so many bytes */
#define WARM_NS    1000000000ll
#define LOAD_NS    3000000000ll

/* ---- who watches: a child ---- */

/* Shared with it. */
struct seen {
        uint64_t bytes, ended;          /* in all; streams */
        uint32_t up;                    /* that have been opened first */
};

struct watcher {
        int fd;                         /* -1: between two streams */
        uint64_t id;                    /* newest one seen; 0: none */
        int64_t again_ns;
        bool was_up;
};

static void ask(struct watcher *watcher, unsigned number, bool all, int epoll)
{
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = number};
        char request[200], query[32] = "", after[48] = "";

        if (!all)
                (void)snprintf(query, sizeof query, "?tenant=t%02u", number % LOAD_TENANTS);
        if (watcher->id)
                (void)snprintf(after, sizeof after, "Last-Event-ID: %llu\r\n",
                               (unsigned long long)watcher->id);
        int length = snprintf(request, sizeof request,
                              "GET /v1/events%s HTTP/1.1\r\nHost: berth\r\n%s\r\n", query, after);
        watcher->fd = daemon_dial();
        if (write(watcher->fd, request, (size_t)length) != length ||
            epoll_ctl(epoll, EPOLL_CTL_ADD, watcher->fd, &event) < 0)
                load_fail("a watcher");
}

/* Of what was read last, only the tail is looked at. */
static void take_id(struct watcher *watcher, char *bytes, size_t size)
{
        const char *from = size > ID_REACH ? bytes + size - ID_REACH : bytes;
        char *end = bytes + size;

        for (char *at; (at = memrchr(from, '\n', (size_t)(end - from))); end = at)
                if (bytes + size - at > 24 && memcmp(at, "\nid:", 4) == 0) {
                        watcher->id = strtoull(at + 4, NULL, 10);
                        return;
                }
}

static void take(struct watcher *watcher, struct seen *seen)
{
        static char buf[READ_BYTES];
        ssize_t size = read(watcher->fd, buf, sizeof buf - 1);

        if (size > 0) {
                buf[size] = '\0';
                seen->bytes += (uint64_t)size;
                seen->up += !watcher->was_up;
                watcher->was_up = true;
                take_id(watcher, buf, (size_t)size);
                return;
        }
        close(watcher->fd);
        watcher->fd = -1;
        watcher->again_ns = time_monotonic_ns() + RETRY_NS;
        seen->ended++;
}

static void watch(bool all, struct seen *seen)
{
        static struct watcher watchers[WATCHERS];
        struct epoll_event events[64];
        int epoll = epoll_create1(EPOLL_CLOEXEC);

        for (unsigned w = 0; w < WATCHERS; w++)
                ask(&watchers[w], w, all, epoll);
        for (int64_t looked_ns = 0;;) {
                int count = epoll_wait(epoll, events, 64, 100);
                for (int i = 0; i < count; i++)
                        take(&watchers[events[i].data.u32], seen);
                int64_t now_ns = time_monotonic_ns();
                if (now_ns - looked_ns < 100000000)
                        continue;
                looked_ns = now_ns;
                for (unsigned w = 0; w < WATCHERS; w++)
                        if (watchers[w].fd < 0 && watchers[w].again_ns <= now_ns)
                                ask(&watchers[w], w, all, epoll);
        }
}

static pid_t start_watchers(bool all, struct seen *seen)
{
        pid_t parent = getpid(), child;

        *seen = (struct seen){0};
        (void)fflush(stdout);
        child = fork();
        if (child < 0)
                load_fail("fork");
        if (child == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (getppid() == parent)
                        watch(all, seen);
                _exit(1);
        }
        for (volatile uint32_t *up = &seen->up; *up < WATCHERS;)
                (void)usleep(10000);
        return child;
}

/* ---- with and without ---- */

struct part {
        double p50_ms, p99_ms, per_s;
        double cpu_us;                  /* of the daemon, a job */
};

static struct part run_part(pid_t daemon, unsigned pace, unsigned connections, uint64_t *number)
{
        struct load load = {.life_s = 2, .pace = pace, .number = *number};
        struct part part;

        load_room(&load, 1000000);
        double cpu_ms = daemon_cpu_ms(daemon);
        double took_s = load_run(&load, connections, WARM_NS, LOAD_NS);
        part.cpu_us = (daemon_cpu_ms(daemon) - cpu_ms) * 1000 / (double)(load.number - *number);
        *number = load.number;
        part.p99_ms = load_percentile(&load, 0.99);
        part.p50_ms = load_percentile(&load, 0.5);
        part.per_s = (double)load.answers / took_s;
        load_done(&load);
        return part;
}

struct ratios {
        double p99, cpu;                /* medians */
};

static struct ratios compare(pid_t daemon, bool all, unsigned pace, unsigned connections,
                             unsigned rounds, uint64_t *number)
{
        struct seen *seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        double p99[ROUNDS_MAX], cpu[ROUNDS_MAX];

        if (seen == MAP_FAILED)
                load_fail("memory");
        for (unsigned r = 0; r < rounds; r++) {
                struct part without = run_part(daemon, pace, connections, number);
                pid_t child = start_watchers(all, seen);
                struct part with = run_part(daemon, pace, connections, number);
                daemon_stop(child, SIGKILL);
                p99[r] = with.p99_ms / without.p99_ms;
                cpu[r] = with.cpu_us / without.cpu_us;
                printf("%d watchers of %s: %.0f jobs/s, p50 %.2f ms, p99 %.2f ms, %.0f us of "
                       "processor a job; without them %.0f jobs/s, p50 %.2f ms, p99 %.2f ms, %.0f "
                       "us; %.1f MB were sent to them, %llu streams ended\n",
                       WATCHERS, all ? "everything" : "a tenant each", with.per_s, with.p50_ms,
                       with.p99_ms, with.cpu_us, without.per_s, without.p50_ms, without.p99_ms,
                       without.cpu_us, (double)seen->bytes / 1e6,
                       (unsigned long long)seen->ended);
                (void)fflush(stdout);
        }
        (void)munmap(seen, sizeof *seen);
        return (struct ratios){bench_median(p99, rounds), bench_median(cpu, rounds)};
}

void bench_watchers(pid_t daemon, uint64_t *number)
{
        double ratio = compare(daemon, false, FEW_PACE, 1, 3, number).p99;

        bench_figure("controller.watchers_p99_ratio", ratio, "x", ratio,
                     "the same load without watchers");
}

void bench_watchers_apart(int argc, char **argv)
{
        bool all = argc > 0 && strcmp(argv[0], "all") == 0;
        int pace = argc > 1 ? atoi(argv[1]) : FULL_PACE, rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
        uint64_t number = 0;

        if ((!all && (argc < 1 || strcmp(argv[0], "tenant") != 0)) || pace < 1 || rounds < 1 ||
            rounds > ROUNDS_MAX) {
                errno = EINVAL;
                load_fail("--watchers all|tenant [JOBS-A-SECOND [ROUNDS]]");
        }
        pid_t child = daemon_start(NULL);
        (void)run_part(child, (unsigned)pace, LOAD_CONNECTIONS, &number);
        struct ratios it = compare(child, all, (unsigned)pace, LOAD_CONNECTIONS, (unsigned)rounds,
                                   &number);
        bench_figure(all ? "controller.watchers_all_p99_ratio"
                         : "controller.watchers_tenant_p99_ratio",
                     it.p99, "x", it.p99, "the same load without watchers");
        bench_figure(all ? "controller.watchers_all_cpu_ratio"
                         : "controller.watchers_tenant_cpu_ratio",
                     it.cpu, "x", it.cpu, "the same load without watchers");
        daemon_stop(child, SIGKILL);
}
