/* What the HTTP server costs: requests with a body over 64 connections that are kept alive, each
 * answered later by way of another thread, as a commit does it; against the least a program can do
 * (an epoll loop that knows one request by heart), by the same load in the same run. The load is
 * one more thread on the same machine. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <uv.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/time.h"
#include "bench/bench.h"
#include "net/http.h"
#include "net/sse.h"

#define CONNECTIONS 64
#define ROUNDS      5
#define ROUND_NS    1000000000ll
#define BODY_BYTES  400
#define ANSWER      "{\"id\":123456,\"state\":\"queued\"}"

static void must(int rc, const char *what)
{
        if (rc >= 0)
                return;
        fprintf(stderr, "bench-net: %s: %s\n", what, strerror(errno));
        exit(1);
}

static int64_t thread_cpu_ns(void)
{
        struct timespec spent;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
        return spent.tv_sec * 1000000000ll + spent.tv_nsec;
}

/* ---- the load ---- */

static size_t make_request(char *buf, size_t size)
{
        char body[BODY_BYTES + 1];

        memset(body, 'x', BODY_BYTES);
        body[BODY_BYTES] = '\0';
        return (size_t)snprintf(buf, size,
                                "POST /v1/workloads HTTP/1.1\r\nHost: localhost\r\n"
                                "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                                BODY_BYTES, body);
}

static int dial(uint16_t port)
{
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        must(fd, "socket");
        must(connect(fd, (struct sockaddr *)&address, sizeof address), "connect");
        return fd;
}

/* An answer fits one read here: both servers send it with one call. */
static bool take_answer(int fd)
{
        char buf[4096];
        ssize_t size = read(fd, buf, sizeof buf);

        if (size <= 0 || memcmp(buf, "HTTP/1.1 202", 12) != 0) {
                fprintf(stderr, "bench-net: '%.*s' is no answer\n", size > 0 ? (int)size : 0, buf);
                exit(1);
        }
        return true;
}

/* Requests answered per second. */
static double load(uint16_t port, int64_t duration_ns)
{
        char request[1024];
        size_t size = make_request(request, sizeof request);
        struct epoll_event events[CONNECTIONS];
        int epoll = epoll_create1(EPOLL_CLOEXEC), fds[CONNECTIONS];
        uint64_t answers = 0;

        for (int i = 0; i < CONNECTIONS; i++) {
                struct epoll_event event = {.events = EPOLLIN, .data.fd = dial(port)};
                fds[i] = event.data.fd;
                must(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event), "epoll");
                must((int)write(fds[i], request, size), "write");
        }
        int64_t start_ns = time_monotonic_ns();
        while (time_monotonic_ns() - start_ns < duration_ns) {
                int count = epoll_wait(epoll, events, CONNECTIONS, 100);
                for (int i = 0; i < count; i++) {
                        answers += take_answer(events[i].data.fd);
                        must((int)write(events[i].data.fd, request, size), "write");
                }
        }
        double seconds = (double)(time_monotonic_ns() - start_ns) / 1e9;
        for (int i = 0; i < CONNECTIONS; i++)
                close(fds[i]);
        close(epoll);
        return (double)answers / seconds;
}

/* ---- the server, and a thread that answers later ---- */

#define OPEN_MAX 256
#define IDLE     5000
#define WATCHERS 1000
#define EVENTS   50

struct open_list {
        struct http_exchange *exchanges[OPEN_MAX];
        size_t count;
};

struct deferred {
        uv_loop_t loop;
        uv_async_t answered, event, stop;
        struct http_server *server;
        pthread_mutex_t mutex;
        pthread_cond_t more;
        struct open_list waiting, done;
        struct http_stream *watchers[WATCHERS];
        size_t watchers_count;
        bool is_over;
        uint16_t port;
        int64_t cpu_ns;
        uint64_t requests;
};

static void watcher_gone(struct http_stream *stream, void *arg)
{
        (void)stream;
        (void)arg;
}

static void add_watcher(struct deferred *deferred, struct http_exchange *exchange)
{
        struct http_stream *stream = http_stream_open(exchange, SSE_TYPE, watcher_gone, NULL);

        if (stream && deferred->watchers_count < WATCHERS)
                deferred->watchers[deferred->watchers_count++] = stream;
        http_stream_push(stream, ":\n\n", 3);
}

static void send_event(uv_async_t *async)
{
        struct deferred *deferred = async->data;
        static const char event[] = "id:1\nevent:allocated\ndata:{\"workload\":123456,"
                                    "\"node\":\"gpu-0001\",\"devices\":[0,1,2,3]}\n\n";

        for (size_t i = 0; i < deferred->watchers_count; i++)
                http_stream_push(deferred->watchers[i], event, sizeof event - 1);
}

static void on_request(struct http_exchange *exchange, void *arg)
{
        struct deferred *deferred = arg;

        if (http_method(exchange) == HTTP_GET) {
                add_watcher(deferred, exchange);
                return;
        }

        pthread_mutex_lock(&deferred->mutex);
        deferred->waiting.exchanges[deferred->waiting.count++] = exchange;
        if (deferred->waiting.count == 1)
                pthread_cond_signal(&deferred->more);
        pthread_mutex_unlock(&deferred->mutex);
}

/* Takes all that waits at once, as a group commit does. */
static void *commit(void *arg)
{
        struct deferred *deferred = arg;

        pthread_mutex_lock(&deferred->mutex);
        for (;;) {
                while (deferred->waiting.count == 0 && !deferred->is_over)
                        pthread_cond_wait(&deferred->more, &deferred->mutex);
                if (deferred->is_over)
                        break;
                for (size_t i = 0; i < deferred->waiting.count; i++)
                        deferred->done.exchanges[deferred->done.count++] =
                                deferred->waiting.exchanges[i];
                deferred->waiting.count = 0;
                pthread_mutex_unlock(&deferred->mutex);
                uv_async_send(&deferred->answered);
                pthread_mutex_lock(&deferred->mutex);
        }
        pthread_mutex_unlock(&deferred->mutex);
        return NULL;
}

static void answer_done(uv_async_t *async)
{
        struct deferred *deferred = async->data;
        struct open_list done;

        pthread_mutex_lock(&deferred->mutex);
        done = deferred->done;
        deferred->done.count = 0;
        pthread_mutex_unlock(&deferred->mutex);
        for (size_t i = 0; i < done.count; i++)
                http_answer(done.exchanges[i], 202, "application/json", ANSWER, sizeof ANSWER - 1);
        deferred->requests += done.count;
}

static void stop_loop(uv_async_t *async)
{
        struct deferred *deferred = async->data;

        deferred->cpu_ns = thread_cpu_ns();
        http_free(deferred->server);
        uv_close((uv_handle_t *)&deferred->answered, NULL);
        uv_close((uv_handle_t *)&deferred->event, NULL);
        uv_close((uv_handle_t *)&deferred->stop, NULL);
}

static void *serve(void *arg)
{
        struct deferred *deferred = arg;

        uv_run(&deferred->loop, UV_RUN_DEFAULT);
        return NULL;
}

static void start_deferred(struct deferred *deferred, pthread_t threads[2])
{
        struct http_setup setup = {
                .limits = http_limits_default, .handler = on_request, .arg = deferred};
        struct err err;

        setup.limits.rate_per_s = 0;
        setup.limits.stream_parts = 1;
        setup.limits.peer_connections_max = setup.limits.connections_max;
        pthread_mutex_init(&deferred->mutex, NULL);
        pthread_cond_init(&deferred->more, NULL);
        uv_loop_init(&deferred->loop);
        uv_async_init(&deferred->loop, &deferred->answered, answer_done);
        uv_async_init(&deferred->loop, &deferred->event, send_event);
        uv_async_init(&deferred->loop, &deferred->stop, stop_loop);
        deferred->event.data = deferred->answered.data = deferred->stop.data = deferred;
        if (http_new(&deferred->loop, &setup, &deferred->server, &err) < 0 ||
            http_listen_tcp(deferred->server, "127.0.0.1", 0, 0, &deferred->port, &err) < 0) {
                fprintf(stderr, "bench-net: %s\n", err.text);
                exit(1);
        }
        must(-pthread_create(&threads[0], NULL, serve, deferred), "thread");
        must(-pthread_create(&threads[1], NULL, commit, deferred), "thread");
}

static void stop_deferred(struct deferred *deferred, pthread_t threads[2])
{
        pthread_mutex_lock(&deferred->mutex);
        deferred->is_over = true;
        pthread_cond_signal(&deferred->more);
        pthread_mutex_unlock(&deferred->mutex);
        pthread_join(threads[1], NULL);
        uv_async_send(&deferred->stop);
        pthread_join(threads[0], NULL);
        uv_loop_close(&deferred->loop);
        pthread_mutex_destroy(&deferred->mutex);
        pthread_cond_destroy(&deferred->more);
}

/* ---- many that do little ---- */

static double resident_kib(void)
{
        long pages = 0, ignored = 0;
        FILE *file = fopen("/proc/self/statm", "re");

        if (!file || fscanf(file, "%ld %ld", &ignored, &pages) != 2)
                pages = 0;
        if (file)
                fclose(file);
        return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

/* Room for `connections` with both their ends in this process; false: there is none. */
static bool raise_files(unsigned connections)
{
        struct rlimit files;

        if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max < 2 * connections + 100)
                return false;
        files.rlim_cur = files.rlim_max;
        return setrlimit(RLIMIT_NOFILE, &files) == 0;
}

/* Connections that have asked once and are kept alive. */
static void bench_idle(struct deferred *deferred)
{
        static int fds[IDLE];
        char request[1024];
        size_t size = make_request(request, sizeof request);
        double before = resident_kib();

        for (int i = 0; i < IDLE; i++) {
                fds[i] = dial(deferred->port);
                must((int)write(fds[i], request, size), "write");
                take_answer(fds[i]);
        }
        bench_figure("net.memory_per_idle_connection", (resident_kib() - before) / IDLE, "KiB", 0,
                     NULL);
        for (int i = 0; i < IDLE; i++)
                close(fds[i]);
}

/* One event to all watchers, again and again; each reads what it gets. */
static void bench_watchers(struct deferred *deferred)
{
        static int fds[WATCHERS];
        static const char watch[] = "GET /watch HTTP/1.1\r\nHost: localhost\r\n\r\n";
        char buf[4096];

        for (int i = 0; i < WATCHERS; i++) {
                fds[i] = dial(deferred->port);
                must((int)write(fds[i], watch, sizeof watch - 1), "write");
                must((int)read(fds[i], buf, sizeof buf), "read");
        }
        int64_t start_ns = time_monotonic_ns();
        for (int event = 0; event < EVENTS; event++) {
                uv_async_send(&deferred->event);
                for (int i = 0; i < WATCHERS; i++)
                        must((int)read(fds[i], buf, sizeof buf), "read");
        }
        double seconds = (double)(time_monotonic_ns() - start_ns) / 1e9;
        bench_figure("net.events_to_1000_watchers", EVENTS * WATCHERS / seconds, "/s", 0, NULL);
        for (int i = 0; i < WATCHERS; i++)
                close(fds[i]);
}

/* ---- the least there can be ---- */

struct echo {
        int listener, epoll;
        uint16_t port;
        atomic_bool is_over;
        int64_t cpu_ns;
        uint64_t requests;
};

static bool echo_once(int fd)
{
        static const char answer[] = "HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\n"
                                     "Content-Length: 30\r\n\r\n" ANSWER;
        char buf[4096];
        ssize_t size = read(fd, buf, sizeof buf);

        if (size <= 0) {
                close(fd);
                return false;
        }
        return write(fd, answer, sizeof answer - 1) > 0;
}

static void *echo_serve(void *arg)
{
        struct echo *echo = arg;
        struct epoll_event events[CONNECTIONS], event = {.events = EPOLLIN};

        while (!atomic_load(&echo->is_over)) {
                int count = epoll_wait(echo->epoll, events, CONNECTIONS, 20);
                for (int i = 0; i < count; i++) {
                        if (events[i].data.fd != echo->listener) {
                                echo->requests += echo_once(events[i].data.fd);
                                continue;
                        }
                        event.data.fd = accept4(echo->listener, NULL, NULL, SOCK_CLOEXEC);
                        must(epoll_ctl(echo->epoll, EPOLL_CTL_ADD, event.data.fd, &event), "epoll");
                }
        }
        echo->cpu_ns = thread_cpu_ns();
        return NULL;
}

static void start_echo(struct echo *echo, pthread_t *thread)
{
        struct sockaddr_in address = {.sin_family = AF_INET};
        socklen_t size = sizeof address;
        struct epoll_event event = {.events = EPOLLIN};

        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        must(echo->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
        must(bind(echo->listener, (struct sockaddr *)&address, size), "bind");
        must(listen(echo->listener, CONNECTIONS), "listen");
        must(getsockname(echo->listener, (struct sockaddr *)&address, &size), "getsockname");
        echo->port = ntohs(address.sin_port);
        must(echo->epoll = epoll_create1(EPOLL_CLOEXEC), "epoll");
        event.data.fd = echo->listener;
        must(epoll_ctl(echo->epoll, EPOLL_CTL_ADD, echo->listener, &event), "epoll");
        must(-pthread_create(thread, NULL, echo_serve, echo), "thread");
}

static void stop_echo(struct echo *echo, pthread_t thread)
{
        atomic_store(&echo->is_over, true);
        pthread_join(thread, NULL);
        close(echo->listener);
        close(echo->epoll);
}

static void bench_many(void)
{
        static struct deferred deferred;
        pthread_t threads[2];

        if (!raise_files(IDLE)) {
                printf("skipped: %d connections need %d open files\n", IDLE, 2 * IDLE + 100);
                return;
        }
        start_deferred(&deferred, threads);
        bench_watchers(&deferred);
        bench_idle(&deferred);
        stop_deferred(&deferred, threads);
}

int main(void)
{
        static struct deferred deferred;
        static struct echo echo;
        pthread_t threads[2], echo_thread;
        double ours[ROUNDS], least[ROUNDS];

        start_deferred(&deferred, threads);
        start_echo(&echo, &echo_thread);
        load(deferred.port, ROUND_NS / 5);
        load(echo.port, ROUND_NS / 5);
        for (int i = 0; i < ROUNDS; i++) {
                ours[i] = load(deferred.port, ROUND_NS);
                least[i] = load(echo.port, ROUND_NS);
        }
        stop_deferred(&deferred, threads);
        stop_echo(&echo, echo_thread);

        double our_rate = bench_median(ours, ROUNDS), least_rate = bench_median(least, ROUNDS);
        double our_core = (double)deferred.requests / ((double)deferred.cpu_ns / 1e9);
        double least_core = (double)echo.requests / ((double)echo.cpu_ns / 1e9);
        bench_figure("net.deferred_requests", our_rate, "/s", our_rate / least_rate,
                     "an epoll loop that answers at once");
        bench_figure("net.deferred_requests_per_core", our_core, "/s", our_core / least_core,
                     "an epoll loop that answers at once");
        bench_figure("net.epoll_requests", least_rate, "/s", 0, NULL);
        bench_many();
        return 0;
}
