/* What the controller can take: durable submit -> allocated over HTTP on a pool of 5,000 simulated
 * nodes of 8 devices. 64 connections that are kept alive, one job a request, no pipelining; 50
 * tenants, 30 shapes, jobs of two seconds whose ends are durable too; at most PACE a second, so that
 * the pool is not full (it would be at 13,300). The load comes from this
 * process, on the same cores; the daemon is the real one, as a child. Against it in the same run: as
 * many groups of rows as fast as bare SQLite commits them. Then the memory of a pool of 10,000 nodes
 * with 100,000 live workloads.
 *
 * bench-controller [SECONDS [PACE]]   seconds of load (default 10); with a pace only the load at so
 *                                     many jobs a second, which may be more than the pool can run
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
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
#include "bench/bench.h"

#define CONNECTIONS 64
#define NODES       5000
#define RSS_NODES   10000
#define RSS_WORKLOADS 100000
#define TENANTS     50
#define SHAPES      30
#define WARM_NS     3000000000ll
#define PACE        12000               /* jobs a second, at most */
#define WATCHERS    1000                /* of events, 20 of each tenant */
#define WATCHED     500                 /* jobs a second while they watch */

static char folder[] = "/tmp/bench-controller-XXXXXX";

static void fail(const char *what)
{
        fprintf(stderr, "bench-controller: %s: %s\n", what, strerror(errno));
        exit(1);
}

static const char *path_of(const char *name)
{
        static char paths[4][128];
        static unsigned next;
        char *path = paths[next++ % 4];

        (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
        return path;
}

/* ---- the daemon ---- */

static void write_documents(unsigned nodes)
{
        FILE *pool = fopen(path_of("pool.yaml"), "w"), *policy = fopen(path_of("policy.yaml"), "w");

        if (!pool || !policy)
                fail("documents");
        fprintf(pool, "kind: Pool\nnodes:\n  - {name: \"n[00001-%05u]\", devices: {model: H100-80, "
                      "count: 8}, cpu: 96, ram: 1024Gi}\n", nodes);
        fprintf(policy, "kind: Policy\npreset: equal\ntenants:\n");
        for (unsigned t = 0; t < TENANTS; t++)
                fprintf(policy, "  t%02u: {}\n", t);
        fclose(pool);
        fclose(policy);
}

static pid_t start_daemon(const char *program, int *ret_log)
{
        char listen[160], store[128], pool[128], policy[128];
        int ends[2];
        pid_t child = -1;

        (void)snprintf(listen, sizeof listen, "unix:%s", path_of("socket"));
        (void)snprintf(store, sizeof store, "%s", path_of("store"));
        (void)snprintf(pool, sizeof pool, "%s", path_of("pool.yaml"));
        (void)snprintf(policy, sizeof policy, "%s", path_of("policy.yaml"));
        if (pipe(ends) < 0 || (child = fork()) < 0)
                fail("fork");
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

static double resident_mib(pid_t child)
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

static void stop(pid_t child, int signal_number)
{
        (void)kill(child, signal_number);
        (void)waitpid(child, NULL, 0);
}

/* Reads the daemon's lines until one says that it listens; milliseconds of its recovery. */
static double await_start(int log)
{
        char text[8192];
        size_t size = 0;

        while (size + 1 < sizeof text) {
                ssize_t got = read(log, text + size, sizeof text - 1 - size);
                if (got <= 0)
                        fail("the daemon did not start");
                size += (size_t)got;
                text[size] = '\0';
                if (strstr(text, "listening"))
                        break;
        }
        const char *ms = strstr(text, " ms=");
        return ms ? atof(ms + 4) : 0;
}

static int dial(void)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path_of("socket"));
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
                fail("connect");
        return fd;
}

/* ---- the load ---- */

struct lane {
        int fd;
        int64_t sent_ns;
};

struct load {
        unsigned life_s;                /* of a job */
        struct lane lanes[CONNECTIONS];
        unsigned count;
        int epoll;
        uint64_t number;                /* of the next job */
        unsigned pace;                  /* jobs a second, at most */
        int64_t start_ns;               /* ... counted from here */
        uint64_t sent;
        uint64_t answers, allocated;
        double *latency_ms;
        size_t latencies, latencies_room;
};

static size_t make_request(uint64_t number, unsigned life_s, char *buf, size_t size)
{
        unsigned shape = (unsigned)(number % SHAPES);
        char body[512];
        int length = snprintf(body, sizeof body,
                              "{\"kind\":\"Workload\",\"name\":\"job-%llu\",\"tenant\":\"t%02u\","
                              "\"class\":\"training\",\"each\":{\"devices\":%u,\"cpu\":%u,"
                              "\"ram\":\"%uGi\"},\"run\":{\"command\":[\"sleep\",\"%u\"]}}",
                              (unsigned long long)number, (unsigned)(number / SHAPES % TENANTS),
                              1 + shape % 2, 1 + shape / 2, 4 + shape, life_s);

        return (size_t)snprintf(buf, size,
                                "POST /v1/workloads HTTP/1.1\r\nHost: berth\r\nContent-Type: "
                                "application/json\r\nContent-Length: %d\r\n\r\n%s",
                                length, body);
}

/* Whoever is ahead of the pace waits. */
static void keep_pace(struct load *load)
{
        int64_t due_ns = load->start_ns + (int64_t)(load->sent++ * 1000000000ull / load->pace);
        int64_t early_ns = due_ns - time_monotonic_ns();

        if (early_ns > 0)
                (void)usleep((useconds_t)(early_ns / 1000));
        else if (early_ns < -50000000)  /* what was missed is not made up for */
                load->start_ns -= early_ns;
}

static void send_next(struct load *load, struct lane *lane)
{
        char request[1024];
        size_t size = make_request(load->number++, load->life_s, request, sizeof request);

        keep_pace(load);
        lane->sent_ns = time_monotonic_ns();
        if (write(lane->fd, request, size) != (ssize_t)size)
                fail("write");
}

static void take_answer(struct load *load, struct lane *lane, bool counts)
{
        char buf[8192];
        ssize_t size = read(lane->fd, buf, sizeof buf - 1);

        if (size <= 0)
                fail("read");
        buf[size] = '\0';
        if (strncmp(buf, "HTTP/1.1 201", 12) != 0) {
                fprintf(stderr, "bench-controller: %s\n", buf);
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
        load->count = count;
        for (unsigned i = 0; i < count; i++) {
                struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
                load->lanes[i].fd = dial();
                if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, load->lanes[i].fd, &event) < 0)
                        fail("epoll");
        }
}

static void close_lanes(struct load *load)
{
        for (unsigned i = 0; i < load->count; i++)
                close(load->lanes[i].fd);
        close(load->epoll);
}

/* So many jobs. */
static void run_jobs(struct load *load, uint64_t jobs)
{
        struct epoll_event events[CONNECTIONS];
        uint64_t answered = 0;

        open_lanes(load, CONNECTIONS);
        load->start_ns = time_monotonic_ns();
        load->sent = 0;
        for (unsigned i = 0; i < CONNECTIONS; i++)
                send_next(load, &load->lanes[i]);
        while (answered < jobs) {
                int count = epoll_wait(load->epoll, events, CONNECTIONS, 1000);
                for (int i = 0; i < count; i++, answered++) {
                        struct lane *lane = &load->lanes[events[i].data.u32];
                        take_answer(load, lane, false);
                        if (answered + CONNECTIONS < jobs)
                                send_next(load, lane);
                }
        }
        close_lanes(load);
}

/* Seconds it really took; what is answered in the first `warm_ns` does not count. */
static double run_load(struct load *load, unsigned connections, int64_t warm_ns, int64_t load_ns)
{
        struct epoll_event events[CONNECTIONS];
        int64_t start_ns = time_monotonic_ns(), now_ns = start_ns;

        open_lanes(load, connections);
        load->start_ns = start_ns;
        for (unsigned i = 0; i < connections; i++)
                send_next(load, &load->lanes[i]);
        while (now_ns - start_ns < warm_ns + load_ns) {
                int count = epoll_wait(load->epoll, events, CONNECTIONS, 1000);
                now_ns = time_monotonic_ns();
                for (int i = 0; i < count; i++) {
                        struct lane *lane = &load->lanes[events[i].data.u32];
                        take_answer(load, lane, now_ns - start_ns >= warm_ns);
                        send_next(load, lane);
                }
        }
        close_lanes(load);
        return (double)(now_ns - start_ns - warm_ns) / 1e9;
}

static int by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static double percentile(struct load *load, double part)
{
        if (load->latencies == 0)
                return 0;
        qsort(load->latency_ms, load->latencies, sizeof *load->latency_ms, by_value);
        return load->latency_ms[(size_t)((double)(load->latencies - 1) * part)];
}

/* ---- who watches ---- */

struct watchers {
        pthread_t thread;
        int fds[WATCHERS], epoll;
        atomic_bool over;
        uint64_t bytes;
};

static void *watch(void *arg)
{
        struct watchers *watchers = arg;
        struct epoll_event events[64];
        char buf[16384];

        while (!watchers->over) {
                int count = epoll_wait(watchers->epoll, events, 64, 100);
                for (int i = 0; i < count; i++) {
                        ssize_t size = read(events[i].data.fd, buf, sizeof buf);
                        if (size <= 0)
                                fail("a watcher was cut");
                        watchers->bytes += (uint64_t)size;
                }
        }
        return NULL;
}

static void start_watchers(struct watchers *watchers)
{
        watchers->epoll = epoll_create1(EPOLL_CLOEXEC);
        for (unsigned w = 0; w < WATCHERS; w++) {
                struct epoll_event event = {.events = EPOLLIN};
                char request[160];
                int length = snprintf(request, sizeof request,
                                      "GET /v1/events?tenant=t%02u HTTP/1.1\r\nHost: berth\r\n\r\n",
                                      w % TENANTS);
                event.data.fd = watchers->fds[w] = dial();
                if (write(event.data.fd, request, (size_t)length) != length ||
                    epoll_ctl(watchers->epoll, EPOLL_CTL_ADD, event.data.fd, &event) < 0)
                        fail("a watcher");
        }
        if (pthread_create(&watchers->thread, NULL, watch, watchers) != 0)
                fail("thread");
}

static void stop_watchers(struct watchers *watchers)
{
        watchers->over = true;
        (void)pthread_join(watchers->thread, NULL);
        for (unsigned w = 0; w < WATCHERS; w++)
                close(watchers->fds[w]);
        close(watchers->epoll);
}

/* p99 of the same load, without and with them. */
static void bench_watchers(uint64_t *number)
{
        static struct watchers watchers;
        double p99[2];

        for (unsigned with = 0; with < 2; with++) {
                struct load load = {.life_s = 2, .pace = WATCHED, .latencies_room = 100000,
                                    .number = *number};
                load.latency_ms = mem_new(load.latencies_room, sizeof(double));
                if (with)
                        start_watchers(&watchers);
                (void)run_load(&load, 1, 1000000000ll, 4000000000ll);     /* it sleeps to keep the pace */
                if (with)
                        stop_watchers(&watchers);
                p99[with] = percentile(&load, 0.99);
                *number = load.number;
                mem_free(load.latency_ms);
        }
        printf("%d watchers, %d jobs/s: p99 %.2f ms, without them %.2f ms; %.1f MB were sent to them\n",
               WATCHERS, WATCHED, p99[1], p99[0], (double)watchers.bytes / 1e6);
        bench_figure("controller.watchers_p99_ratio", p99[1] / p99[0], "x", p99[1] / p99[0],
                     "the same load without watchers");
}

/* ---- bare SQLite: four records and two rows of a table for each job, 64 jobs a commit ---- */

static void run_sql(sqlite3 *db, const char *sql)
{
        if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
                fprintf(stderr, "bench-controller: %s\n", sqlite3_errmsg(db));
                exit(1);
        }
}

static double bare_sqlite(int64_t load_ns, double *ret_sync_ms)
{
        static const char body[700];
        sqlite3 *db;
        sqlite3_stmt *insert;
        uint64_t jobs = 0, commits = 0;
        int64_t start_ns, now_ns;

        if (sqlite3_open(path_of("bare"), &db) != SQLITE_OK)
                fail("sqlite");
        run_sql(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                    "CREATE TABLE records (seq INTEGER PRIMARY KEY, body BLOB)");
        (void)sqlite3_prepare_v2(db, "INSERT INTO records (body) VALUES (?1)", -1, &insert, NULL);
        start_ns = now_ns = time_monotonic_ns();
        for (; now_ns - start_ns < load_ns; now_ns = time_monotonic_ns(), commits++) {
                run_sql(db, "BEGIN IMMEDIATE");
                for (unsigned row = 0; row < CONNECTIONS * 6; row++) {
                        sqlite3_bind_blob(insert, 1, body, 300, SQLITE_STATIC);
                        (void)sqlite3_step(insert);
                        sqlite3_reset(insert);
                }
                run_sql(db, "COMMIT");
                jobs += CONNECTIONS;
        }
        double took_s = (double)(now_ns - start_ns) / 1e9;
        *ret_sync_ms = took_s * 1000 / (double)commits;
        sqlite3_finalize(insert);
        sqlite3_close(db);
        return (double)jobs / took_s;
}

/* ---- more than the pool can run ---- */

/* Facts of that kind so far. */
static double count_facts(const char *fact)
{
        static char buf[1 << 18];
        static const char request[] = "GET /metrics HTTP/1.1\r\nHost: berth\r\n"
                                      "Connection: close\r\n\r\n";
        char key[80];
        size_t size = 0;
        ssize_t got;
        int fd = dial();

        if (write(fd, request, sizeof request - 1) != (ssize_t)sizeof request - 1)
                fail("write");
        while (size + 1 < sizeof buf && (got = read(fd, buf + size, sizeof buf - 1 - size)) > 0)
                size += (size_t)got;
        close(fd);
        buf[size] = '\0';
        (void)snprintf(key, sizeof key, "berth_facts_total{fact=\"%s\"} ", fact);
        const char *at = strstr(buf, key);
        return at ? atof(at + strlen(key)) : 0;
}

/* Jobs of OVER_LIFE_S: so many a second can run at once on the pool's devices. */
#define OVER_LIFE_S   8
#define OVER_CAPACITY (NODES * 8 / 1.5 / OVER_LIFE_S)

/* The load in four parts, once the pool is full: who waits grow in number, and what one job costs
 * must not. */
static void bench_over(const char *program, unsigned pace, int64_t load_ns)
{
        static struct load load;
        int log;
        pid_t child = start_daemon(program, &log);

        (void)await_start(log);
        load.life_s = OVER_LIFE_S;
        load.pace = pace;
        load.latencies_room = 4000000;
        load.latency_ms = mem_new(load.latencies_room, sizeof(double));
        printf("%u jobs/s are submitted, the pool can run %.0f\n", pace, OVER_CAPACITY);
        (void)run_load(&load, CONNECTIONS, 0, OVER_LIFE_S * 1500000000ll);
        for (unsigned part = 0; part < 4; part++) {
                double started = count_facts("allocated"), queued = count_facts("queued");
                int64_t start_ns = time_monotonic_ns();
                load.latencies = 0;
                load.answers = 0;
                load.sent = 0;
                (void)run_load(&load, CONNECTIONS, 0, load_ns / 4);
                double s = (double)(time_monotonic_ns() - start_ns) / 1e9;
                double all_started = count_facts("allocated"), all = count_facts("queued");
                printf("part %u: %.0f submitted/s, %.0f started/s, %.0f wait; to the answer p50 "
                       "%.2f ms, p99 %.2f ms\n",
                       part + 1, (all - queued) / s, (all_started - started) / s,
                       all - all_started, percentile(&load, 0.5), percentile(&load, 0.99));
        }
        bench_figure("controller.over_rss_mib", resident_mib(child), "MiB", 0, NULL);
        stop(child, SIGKILL);
        mem_free(load.latency_ms);
}

/* ---- the run ---- */

static void clean(void)
{
        static const char *const names[] = {"store", "store-wal", "store-shm", "store.lock", "bare",
                                            "bare-wal", "bare-shm", "pool.yaml", "policy.yaml",
                                            "socket"};

        for (size_t n = 0; n < ARRAY_LEN(names); n++)
                (void)unlink(path_of(names[n]));
        (void)rmdir(folder);
}

static void remove_store(void)
{
        static const char *const names[] = {"store", "store-wal", "store-shm", "store.lock"};

        for (size_t n = 0; n < ARRAY_LEN(names); n++)
                (void)unlink(path_of(names[n]));
}

int main(int argc, char **argv)
{
        int64_t load_ns = (argc > 1 ? atoi(argv[1]) : 10) * 1000000000ll;
        static struct load load, alone;
        double bare, sync_ms, took_s;
        char program[4096];
        int log;

        (void)signal(SIGPIPE, SIG_IGN);
        if (!mkdtemp(folder))
                fail("folder");
        ssize_t length = readlink("/proc/self/exe", program, sizeof program - 64);
        program[length > 0 ? length : 0] = '\0';
        (void)strcpy(strrchr(program, '/'), "/../berthd");
        write_documents(NODES);
        if (argc > 2) {
                bench_over(program, (unsigned)atoi(argv[2]), load_ns);
                remove_store();
                clean();
                return 0;
        }
        load.life_s = alone.life_s = 2;
        load.pace = alone.pace = PACE;
        load.latencies_room = alone.latencies_room = 4000000;
        load.latency_ms = mem_new(load.latencies_room, sizeof(double));
        alone.latency_ms = mem_new(alone.latencies_room, sizeof(double));
        bare = bare_sqlite(2000000000ll, &sync_ms);
        printf("bare SQLite: a group of %d jobs is committed in %.2f ms\n", CONNECTIONS, sync_ms);
        pid_t child = start_daemon(program, &log);
        (void)await_start(log);
        took_s = run_load(&load, CONNECTIONS, WARM_NS, load_ns);
        bench_figure("controller.durable_allocations", (double)load.allocated / took_s, "/s",
                     (double)load.allocated / took_s / bare, "groups of bare SQLite rows");
        printf("answers %.0f/s, of them allocated at once %.1f %%\n",
               (double)load.answers / took_s,
               100.0 * (double)load.allocated / (double)load.answers);
        bench_figure("controller.allocate_p99_ms", percentile(&load, 0.99), "ms", 0, NULL);
        bench_figure("controller.allocate_p50_ms", percentile(&load, 0.5), "ms", 0, NULL);
        (void)sleep(3);
        alone.number = load.number;
        (void)run_load(&alone, 1, 200000000ll, 2000000000ll);
        bench_figure("controller.submit_p50_ms", percentile(&alone, 0.5), "ms", 0, NULL);
        bench_watchers(&alone.number);
        bench_figure("controller.loaded_rss_mib", resident_mib(child), "MiB", 0, NULL);
        stop(child, SIGKILL);
        child = start_daemon(program, &log);
        bench_figure("controller.recovery_log_ms", await_start(log), "ms", 0, NULL);
        stop(child, SIGTERM);           /* leaves a snapshot */
        child = start_daemon(program, &log);
        bench_figure("controller.recovery_snapshot_ms", await_start(log), "ms", 0, NULL);
        stop(child, SIGKILL);
        remove_store();
        write_documents(RSS_NODES);
        child = start_daemon(program, &log);
        (void)await_start(log);
        load.life_s = 86400;
        run_jobs(&load, RSS_WORKLOADS);
        bench_figure("controller.rss_mib", resident_mib(child), "MiB", 0, NULL);
        stop(child, SIGKILL);
        clean();
        return 0;
}
