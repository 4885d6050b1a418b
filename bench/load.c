#include "bench/load.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/time.h"
#include "tests/scratch.h"

static char folder[SCRATCH_MAX];
static char program[4096];

void load_fail(const char *what)
{
        fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
        exit(1);
}

const char *daemon_path(const char *name)
{
        static char paths[4][128];
        static unsigned next;
        char *path = paths[next++ % 4];

        (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
        return path;
}

/* ---- the daemon ---- */

void daemon_prepare(void)
{
        const char *other = getenv("BERTHD");

        (void)signal(SIGPIPE, SIG_IGN);
        if (!scratch_folder(folder, sizeof folder, "bench-berthd"))
                load_fail("folder");
        ssize_t length = readlink("/proc/self/exe", program, sizeof program - 64);
        program[length > 0 ? length : 0] = '\0';
        if (length > 0)
                (void)strcpy(strrchr(program, '/'), "/../berthd");
        if (other)
                (void)snprintf(program, sizeof program, "%s", other);
}

void daemon_documents(unsigned nodes)
{
        FILE *pool = fopen(daemon_path("pool.yaml"), "w");
        FILE *policy = fopen(daemon_path("policy.yaml"), "w");

        if (!pool || !policy)
                load_fail("documents");
        fprintf(pool, "kind: Pool\nnodes:\n  - {name: \"n[00001-%05u]\", devices: {model: H100-80, "
                      "count: 8}, cpu: 96, ram: 1024Gi}\n", nodes);
        fprintf(policy, "kind: Policy\npreset: equal\ntenants:\n");
        for (unsigned t = 0; t < LOAD_TENANTS; t++)
                fprintf(policy, "  t%02u: {}\n", t);
        fclose(pool);
        fclose(policy);
}

static pid_t spawn(int *ret_log)
{
        char listen[160], store[128], pool[128], policy[128];
        int ends[2];
        pid_t child = -1;

        (void)snprintf(listen, sizeof listen, "unix:%s", daemon_path("socket"));
        (void)snprintf(store, sizeof store, "%s", daemon_path("store"));
        (void)snprintf(pool, sizeof pool, "%s", daemon_path("pool.yaml"));
        (void)snprintf(policy, sizeof policy, "%s", daemon_path("policy.yaml"));
        if (pipe(ends) < 0 || (child = fork()) < 0)
                load_fail("fork");
        if (child == 0) {
                (void)dup2(ends[1], STDERR_FILENO);
                (void)execl(program, "berthd", "--store", store, "--listen", listen, "--simulate",
                            "--pool", pool, "--policy", policy, "--requests-per-s", "0",
                            "--snapshot-every", "100000000", (char *)NULL);
                _exit(127);
        }
        close(ends[1]);
        *ret_log = ends[0];
        return child;
}

/* Reads the daemon's lines until one says that it listens; milliseconds of its recovery. */
static double await_start(int log)
{
        char text[8192];
        size_t size = 0;

        while (size + 1 < sizeof text) {
                ssize_t got = read(log, text + size, sizeof text - 1 - size);
                if (got <= 0)
                        load_fail("the daemon did not start");
                size += (size_t)got;
                text[size] = '\0';
                if (strstr(text, "listening"))
                        break;
        }
        const char *ms = strstr(text, " ms=");
        return ms ? atof(ms + 4) : 0;
}

pid_t daemon_start(double *ret_ms)
{
        int log;
        pid_t child = spawn(&log);
        double ms = await_start(log);

        if (ret_ms)
                *ret_ms = ms;
        return child;
}

double daemon_resident_mib(pid_t child)
{
        char path[64];
        long pages = 0, ignored = 0;
        FILE *file;

        (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)child);
        file = fopen(path, "re");
        if (!file || fscanf(file, "%ld %ld", &ignored, &pages) != 2)
                pages = 0;
        if (file)
                fclose(file);
        return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

double daemon_cpu_ms(pid_t child)
{
        char path[64], line[1024] = "";
        unsigned long user = 0, kernel = 0;
        FILE *file;

        (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
        file = fopen(path, "re");
        if (!file || !fgets(line, sizeof line, file))
                load_fail(path);
        fclose(file);
        const char *at = strrchr(line, ')');
        if (!at || sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                          &kernel) != 2)
                load_fail(path);
        return (double)(user + kernel) * 1000 / (double)sysconf(_SC_CLK_TCK);
}

void daemon_stop(pid_t child, int signal_number)
{
        (void)kill(child, signal_number);
        (void)waitpid(child, NULL, 0);
}

int daemon_dial(void)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", daemon_path("socket"));
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
                load_fail("connect");
        return fd;
}

double daemon_count_facts(const char *fact)
{
        static char buf[1 << 18];
        static const char request[] = "GET /metrics HTTP/1.1\r\nHost: berth\r\n"
                                      "Connection: close\r\n\r\n";
        char key[80];
        size_t size = 0;
        ssize_t got;
        int fd = daemon_dial();

        if (write(fd, request, sizeof request - 1) != (ssize_t)sizeof request - 1)
                load_fail("write");
        while (size + 1 < sizeof buf && (got = read(fd, buf + size, sizeof buf - 1 - size)) > 0)
                size += (size_t)got;
        close(fd);
        buf[size] = '\0';
        (void)snprintf(key, sizeof key, "berth_facts_total{fact=\"%s\"} ", fact);
        const char *at = strstr(buf, key);
        return at ? atof(at + strlen(key)) : 0;
}

void daemon_remove_store(void)
{
        static const char *const names[] = {"store", "store-wal", "store-shm", "store.lock",
                                            "store.crash"};

        for (size_t n = 0; n < ARRAY_LEN(names); n++)
                (void)unlink(daemon_path(names[n]));
}

void daemon_clean(void)
{
        static const char *const names[] = {"bare", "bare-wal", "bare-shm", "pool.yaml",
                                            "policy.yaml", "socket"};

        daemon_remove_store();
        for (size_t n = 0; n < ARRAY_LEN(names); n++)
                (void)unlink(daemon_path(names[n]));
        (void)rmdir(folder);
}

/* ---- the load ---- */

void load_room(struct load *load, size_t latencies)
{
        load->latencies_room = latencies;
        load->latency_ms = mem_new(latencies, sizeof *load->latency_ms);
        if (!load->latency_ms)
                load_fail("memory");
}

void load_done(struct load *load)
{
        mem_free(load->latency_ms);
}

static size_t make_request(uint64_t number, unsigned life_s, char *buf, size_t size)
{
        unsigned shape = (unsigned)(number % LOAD_SHAPES);
        char body[512];
        int length = snprintf(body, sizeof body,
                              "{\"kind\":\"Workload\",\"name\":\"job-%llu\",\"tenant\":\"t%02u\","
                              "\"class\":\"training\",\"each\":{\"devices\":%u,\"cpu\":%u,"
                              "\"ram\":\"%uGi\"},\"run\":{\"command\":[\"sleep\",\"%u\"]}}",
                              (unsigned long long)number,
                              (unsigned)(number / LOAD_SHAPES % LOAD_TENANTS),
                              1 + shape % 2, 1 + shape / 2, 4 + shape, life_s);

        return (size_t)snprintf(buf, size,
                                "POST /v1/workloads HTTP/1.1\r\nHost: berth\r\nContent-Type: "
                                "application/json\r\nContent-Length: %d\r\n\r\n%s",
                                length, body);
}

static void send_next(struct load *load, struct lane *lane)
{
        char request[1024];
        size_t size = make_request(load->number++, load->life_s, request, sizeof request);

        load->sent++;
        lane->sent_ns = time_monotonic_ns();
        if (write(lane->fd, request, size) != (ssize_t)size)
                load_fail("write");
}

/* On lanes without a request, as long as that is due. Nanoseconds until the next one is. */
static int64_t send_due(struct load *load)
{
        while (load->free_count > 0) {
                int64_t due_ns = load->start_ns +
                                 (int64_t)(load->sent * 1000000000ull / load->pace);
                int64_t early_ns = due_ns - time_monotonic_ns();
                if (early_ns > 0)
                        return early_ns;
                if (early_ns < -50000000)       /* what was missed is not made up for */
                        load->start_ns -= early_ns;
                send_next(load, load->free[--load->free_count]);
        }
        return 1000000000;
}

static void take_answer(struct load *load, struct lane *lane, bool counts)
{
        char buf[8192];
        ssize_t size = read(lane->fd, buf, sizeof buf - 1);

        if (size <= 0)
                load_fail("read");
        buf[size] = '\0';
        if (strncmp(buf, "HTTP/1.1 201", 12) != 0) {
                fprintf(stderr, "bench: %s\n", buf);
                exit(1);
        }
        if (!counts)
                return;
        load->answers++;
        load->allocated += strstr(buf, "\"state\":\"running\"") != NULL;
        if (load->latencies < load->latencies_room)
                load->latency_ms[load->latencies++] =
                        (double)(time_monotonic_ns() - lane->sent_ns) / 1e6;
}

static void open_lanes(struct load *load, unsigned count)
{
        load->epoll = epoll_create1(EPOLL_CLOEXEC);
        load->count = load->free_count = count;
        load->start_ns = time_monotonic_ns();
        load->sent = 0;
        for (unsigned i = 0; i < count; i++) {
                struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
                load->lanes[i].fd = daemon_dial();
                if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, load->lanes[i].fd, &event) < 0)
                        load_fail("epoll");
                load->free[i] = &load->lanes[i];
        }
}

static void close_lanes(struct load *load)
{
        for (unsigned i = 0; i < load->count; i++)
                close(load->lanes[i].fd);
        close(load->epoll);
}

/* Of a turn: who is answered is free again. */
static unsigned take_answers(struct load *load, int64_t wait_ns, int64_t counts_from_ns)
{
        const struct timespec wait = {.tv_sec = wait_ns / 1000000000,
                                      .tv_nsec = wait_ns % 1000000000};
        struct epoll_event events[LOAD_CONNECTIONS];
        int count = epoll_pwait2(load->epoll, events, LOAD_CONNECTIONS, &wait, NULL);
        int64_t now_ns = time_monotonic_ns();

        for (int i = 0; i < count; i++) {
                struct lane *lane = &load->lanes[events[i].data.u32];
                take_answer(load, lane, now_ns >= counts_from_ns);
                load->free[load->free_count++] = lane;
        }
        return count > 0 ? (unsigned)count : 0;
}

void load_jobs(struct load *load, uint64_t jobs)
{
        open_lanes(load, LOAD_CONNECTIONS);
        for (uint64_t answered = 0; answered < jobs;) {
                while (load->free_count > 0 && load->sent < jobs)
                        send_next(load, load->free[--load->free_count]);
                answered += take_answers(load, 1000000000, INT64_MAX);
        }
        close_lanes(load);
}

double load_run(struct load *load, unsigned connections, int64_t warm_ns, int64_t load_ns)
{
        int64_t start_ns = time_monotonic_ns(), now_ns = start_ns;

        open_lanes(load, connections);
        for (; now_ns - start_ns < warm_ns + load_ns; now_ns = time_monotonic_ns())
                (void)take_answers(load, send_due(load), start_ns + warm_ns);
        while (load->free_count < load->count)
                (void)take_answers(load, 1000000000, INT64_MAX);
        close_lanes(load);
        return (double)(now_ns - start_ns - warm_ns) / 1e9;
}

static int by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

double load_percentile(struct load *load, double part)
{
        if (load->latencies == 0)
                return 0;
        qsort(load->latency_ms, load->latencies, sizeof *load->latency_ms, by_value);
        return load->latency_ms[(size_t)((double)(load->latencies - 1) * part)];
}

