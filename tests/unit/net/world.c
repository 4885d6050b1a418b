#include "tests/unit/net/world.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <uv.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "base/time.h"
#include "net/problem.h"
#include "net/routes.h"
#include "net/sse.h"
#include "net/uri.h"
#include "tests/unit/check.h"

#define HELD_MAX    64
#define STREAMS_MAX 2048

struct world {
        uv_loop_t loop;
        uv_async_t stop;
        pthread_t thread;
        struct http_server *server;
        struct world_setup setup;
        char socket_path[64];
        uint16_t port, tls_port;
        struct {
                char id[16];
                struct http_exchange *exchange;
        } held[HELD_MAX];
        unsigned tries; /* of /twice */
        atomic_uint holds; /* so many were held */
        struct http_stream *streams[STREAMS_MAX];
        uint64_t events;
};

/* ---- what the server does ---- */

static void answer_text(struct http_exchange *exchange, const char *text)
{
        http_answer(exchange, 200, "text/plain", text, strlen(text));
}

static uint64_t query_number(struct http_exchange *exchange, const char *name)
{
        char text[32] = "0";
        uint64_t number = 0;

        query_get(http_query(exchange), name, text, sizeof text, NULL);
        num_u64(text, 0, 1u << 30, &number, NULL);
        return number;
}

static void on_hello(struct world *world, struct http_exchange *exchange)
{
        (void)world;
        http_answer_header(exchange, "X-Method", http_method_name(http_method(exchange)));
        answer_text(exchange, "hello");
}

static void on_echo(struct world *world, struct http_exchange *exchange)
{
        size_t size;
        const char *body = http_body(exchange, &size);

        (void)world;
        http_answer(exchange, 200, "application/octet-stream", body, size);
}

static void on_peer(struct world *world, struct http_exchange *exchange)
{
        const struct http_peer *peer = http_peer(exchange);
        char text[512];

        (void)world;
        if (peer->kind == HTTP_PEER_UNIX)
                snprintf(text, sizeof text, "unix uid=%u gid=%u pid=%d", peer->uid, peer->gid,
                         peer->pid);
        else
                snprintf(text, sizeof text, "tcp %s tls=%d %s", peer->address, peer->is_tls,
                         peer->certificate ? peer->certificate->subject : "-");
        answer_text(exchange, text);
}

static void on_header(struct world *world, struct http_exchange *exchange)
{
        char name[64] = "";

        (void)world;
        query_get(http_query(exchange), "name", name, sizeof name, NULL);
        const char *value = http_header(exchange, name);
        answer_text(exchange, value ? value : "(absent)");
}

static void timer_closed(uv_handle_t *handle)
{
        mem_free(handle);
}

static void answer_later(uv_timer_t *timer)
{
        struct http_exchange *exchange = timer->data;
        char text[64];

        snprintf(text, sizeof text, "later %" PRIu64, query_number(exchange, "ms"));
        answer_text(exchange, text);
        uv_close((uv_handle_t *)timer, timer_closed);
}

static void on_later(struct world *world, struct http_exchange *exchange)
{
        uv_timer_t *timer = mem_new(1, sizeof *timer);

        uv_timer_init(&world->loop, timer);
        timer->data = exchange;
        uv_timer_start(timer, answer_later, query_number(exchange, "ms"), 0);
}

static void on_hold(struct world *world, struct http_exchange *exchange)
{
        for (size_t i = 0; i < HELD_MAX; i++) {
                if (world->held[i].exchange)
                        continue;
                query_get(http_query(exchange), "id", world->held[i].id, sizeof world->held[i].id,
                          NULL);
                world->held[i].exchange = exchange;
                http_data_set(exchange, &world->held[i]);
                atomic_fetch_add(&world->holds, 1);
                return;
        }
        answer_text(exchange, "too many");
}

/* The one whose id the exchange's query has, held no longer; NULL: nobody. */
static struct http_exchange *take_held(struct world *world, struct http_exchange *exchange,
                                       char id[16])
{
        id[0] = '\0';
        query_get(http_query(exchange), "id", id, 16, NULL);
        for (size_t i = 0; i < HELD_MAX; i++) {
                struct http_exchange *held = world->held[i].exchange;
                if (!held || strcmp(world->held[i].id, id) != 0)
                        continue;
                assert(http_data(held) == &world->held[i]);
                world->held[i].exchange = NULL;
                return held;
        }
        return NULL;
}

static void on_release(struct world *world, struct http_exchange *exchange)
{
        char id[16], text[64];
        struct http_exchange *held = take_held(world, exchange, id);

        if (held) {
                snprintf(text, sizeof text, "released %s", id);
                answer_text(held, text);
        }
        answer_text(exchange, held ? "released" : "nobody");
}

static void on_twice(struct world *world, struct http_exchange *exchange)
{
        char text[16];

        snprintf(text, sizeof text, "%u", ++world->tries);
        assert(!http_data(exchange));
        assert(http_answer_header(exchange, "X-Try", text));
        if (world->tries % 2)
                on_hold(world, exchange);
        else
                on_echo(world, exchange);
}

static void on_again(struct world *world, struct http_exchange *exchange)
{
        char id[16];
        struct http_exchange *held = take_held(world, exchange, id);

        if (held)
                http_again(held);
        answer_text(exchange, held ? "again" : "nobody");
}

static void on_big(struct world *world, struct http_exchange *exchange)
{
        size_t size = query_number(exchange, "bytes");
        char *bytes = mem_new(size, 1);

        (void)world;
        memset(bytes, 'b', size);
        http_answer(exchange, 200, "text/plain", bytes, size);
        mem_free(bytes);
}

static void stream_closed(struct http_stream *stream, void *arg)
{
        struct world *world = arg;

        for (size_t i = 0; i < STREAMS_MAX; i++) {
                if (world->streams[i] == stream)
                        world->streams[i] = NULL;
        }
}

static void on_stream(struct world *world, struct http_exchange *exchange)
{
        struct text text = {0};
        struct err err;
        uint64_t last = 0;
        size_t at = 0;

        if (sse_last_id(http_header(exchange, "Last-Event-ID"), &last, &err) < 0) {
                problem_answer(exchange, 0, &err, NULL);
                return;
        }
        while (at < STREAMS_MAX && world->streams[at])
                at++;
        struct http_stream *stream = http_stream_open(exchange, SSE_TYPE, stream_closed, world);
        if (!stream)
                return;
        world->streams[at] = stream;
        char said[64];
        snprintf(said, sizeof said, "after %" PRIu64, last);
        sse_write_retry(&text, 10);
        sse_write(&text, last + 1, "begin", said);
        http_stream_push(stream, text.bytes, text.size);
        text_done(&text);
}

static void on_push(struct world *world, struct http_exchange *exchange)
{
        size_t size = query_number(exchange, "bytes");
        char *data = mem_new(size + 1, 1), said[64];
        struct text text = {0};
        unsigned pushed = 0, refused = 0;

        memset(data, 'd', size);
        sse_write(&text, 100 + ++world->events, NULL, data);
        for (size_t i = 0; i < STREAMS_MAX; i++) {
                if (!world->streams[i])
                        continue;
                bool taken = http_stream_push(world->streams[i], text.bytes, text.size) == 0;
                pushed += taken;
                refused += !taken;
        }
        snprintf(said, sizeof said, "pushed %u refused %u", pushed, refused);
        answer_text(exchange, said);
        text_done(&text);
        mem_free(data);
}

static void on_end(struct world *world, struct http_exchange *exchange)
{
        for (size_t i = 0; i < STREAMS_MAX; i++) {
                if (world->streams[i])
                        http_stream_end(world->streams[i]);
        }
        answer_text(exchange, "ended");
}

static void on_counters(struct world *world, struct http_exchange *exchange)
{
        struct http_counters counters = http_counters(world->server);
        struct text text = {0};
        unsigned gone = 0;

        for (size_t i = 0; i < HELD_MAX; i++)
                gone += world->held[i].exchange && http_client_gone(world->held[i].exchange);
        text_add(&text, "gone=%u ", gone);      /* of those that are held */
        text_add(&text,
                 "accepted=%" PRIu64 " requests=%" PRIu64 " refused=%" PRIu64 " dropped=%" PRIu64
                 " connections=%u exchanges=%u streams=%u ",
                 counters.accepted, counters.requests, counters.refused, counters.answers_dropped,
                 counters.connections, counters.exchanges, counters.streams);
        for (enum http_cut cut = 0; cut < HTTP_CUTS_END; cut++)
                text_add(&text, "%s=%" PRIu64 " ", http_cut_name(cut), counters.cuts[cut]);
        answer_text(exchange, text.bytes);
        text_done(&text);
}

static void on_drain(struct world *world, struct http_exchange *exchange)
{
        http_drain(world->server);
        answer_text(exchange, "draining");
}

static int take_certificate(struct world *world, size_t n, struct err *err)
{
        const struct test_certificate *certificate = &world->setup.certificates[n];
        struct http_tls tls = {.certificate_pem = certificate->certificate,
                               .key_pem = certificate->key,
                               .client_ca_pem = world->setup.client_ca};

        return http_tls_set(world->server, &tls, err);
}

static void on_certificate(struct world *world, struct http_exchange *exchange)
{
        struct err err = {0};

        if (take_certificate(world, query_number(exchange, "n"), &err) == 0)
                answer_text(exchange, "taken");
        else
                problem_answer(exchange, 0, &err, NULL);
}

static void on_fail(struct world *world, struct http_exchange *exchange)
{
        (void)world;
        answer_text(exchange, "as you like");
        mem_fail_at(query_number(exchange, "n"));
}

static void on_failed(struct world *world, struct http_exchange *exchange)
{
        bool happened = mem_fail_happened();

        (void)world;
        mem_fail_at(0);
        answer_text(exchange, happened ? "yes" : "no");
}

/* ---- by way of routes ---- */

static void on_workload(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        (void)arg;
        http_answer_header(exchange, "X-Operation", match->route->operation);
        answer_text(exchange, route_param(match, "name"));
}

static const struct route routes_table[] = {
        {HTTP_GET, "/v1/workloads/{name}", "getWorkload", on_workload, NULL},
        {HTTP_DELETE, "/v1/workloads/{name}", "cancelWorkload", on_workload, NULL},
};

static void on_request(struct http_exchange *exchange, void *arg)
{
        struct routes routes = {routes_table, ARRAY_LEN(routes_table), arg};

        static const struct {
                const char *path;
                void (*handler)(struct world *world, struct http_exchange *exchange);
        } rows[] = {
                {"/hello", on_hello},     {"/echo", on_echo},
                {"/peer", on_peer},       {"/header", on_header},
                {"/later", on_later},     {"/hold", on_hold},
                {"/release", on_release}, {"/big", on_big},
                {"/twice", on_twice},     {"/again", on_again},
                {"/stream", on_stream},   {"/push", on_push},
                {"/end", on_end},         {"/counters", on_counters},
                {"/fail", on_fail},       {"/failed", on_failed},
                {"/drain", on_drain},     {"/certificate", on_certificate},
        };
        struct err err;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                if (strcmp(rows[i].path, http_path(exchange)) == 0) {
                        rows[i].handler(arg, exchange);
                        return;
                }
        }
        if (strncmp(http_path(exchange), "/v1/", 4) == 0) {
                routes_serve(exchange, &routes);
                return;
        }
        err_set(&err, ERR_NOT_FOUND, "there is no '%s'", http_path(exchange));
        problem_answer(exchange, 0, &err, NULL);
}

/* ---- its life ---- */

static void must(int rc, const struct err *err)
{
        if (rc < 0)
                fail_msg("%s", err->text);
}

static void on_stop(uv_async_t *async)
{
        struct world *world = async->data;

        http_free(world->server);
        /* Held exchanges are the handler's still. */
        for (size_t i = 0; i < HELD_MAX; i++) {
                if (world->held[i].exchange)
                        answer_text(world->held[i].exchange, "too late");
        }
        uv_close((uv_handle_t *)&world->stop, NULL);
}

static void *run(void *arg)
{
        struct world *world = arg;

        uv_run(&world->loop, UV_RUN_DEFAULT);
        return NULL;
}

struct world *world_start(const struct world_setup *setup)
{
        static unsigned number;
        struct world *world = mem_new(1, sizeof *world);
        struct err err = {0};

        assert_non_null(world);
        world->setup = *setup;
        snprintf(world->socket_path, sizeof world->socket_path, "/tmp/berth-net-%d-%u.sock",
                 (int)getpid(), ++number);
        uv_loop_init(&world->loop);
        uv_async_init(&world->loop, &world->stop, on_stop);
        world->stop.data = world;
        struct http_setup http = {.limits = setup->limits, .handler = on_request, .arg = world};
        must(http_new(&world->loop, &http, &world->server, &err), &err);
        must(http_listen_unix(world->server, world->socket_path, 0600, &err), &err);
        must(http_listen_tcp(world->server, "127.0.0.1", 0, 0, &world->port, &err), &err);
        if (setup->certificates) {
                must(take_certificate(world, 0, &err), &err);
                must(http_listen_tcp(world->server, "127.0.0.1", 0, HTTP_LISTEN_TLS,
                                     &world->tls_port, &err),
                     &err);
        }
        assert_int_equal(pthread_create(&world->thread, NULL, run, world), 0);
        return world;
}

bool world_stop(struct world *world)
{
        uv_async_send(&world->stop);
        pthread_join(world->thread, NULL);
        bool is_clean = uv_loop_close(&world->loop) == 0;
        for (size_t i = 0; i < STREAMS_MAX; i++)
                is_clean &= !world->streams[i];
        is_clean &= access(world->socket_path, F_OK) < 0;
        mem_free(world);
        return is_clean;
}

const char *world_socket(const struct world *world)
{
        return world->socket_path;
}

uint16_t world_port(const struct world *world)
{
        return world->port;
}

uint16_t world_tls_port(const struct world *world)
{
        return world->tls_port;
}

/* ---- clients ---- */

int dial_unix(const struct world *world)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        memcpy(address.sun_path, world->socket_path, sizeof world->socket_path);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
                fail_msg("connect: %s", strerror(errno));
        return fd;
}

static int dial_port(uint16_t port)
{
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
                fail_msg("connect: %s", strerror(errno));
        return fd;
}

int dial_tcp(const struct world *world)
{
        return dial_port(world->port);
}

int dial_tls_raw(const struct world *world)
{
        return dial_port(world->tls_port);
}

/* A server may have closed already; then what is heard says so. */
void say(int fd, const char *format, ...)
{
        char text[16384];
        va_list arguments;

        va_start(arguments, format);
        int size = vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        assert_in_range(size, 0, sizeof text - 1);
        ssize_t sent = send(fd, text, (size_t)size, MSG_NOSIGNAL);
        (void)sent;
}

int hear_raw(int fd, char *buf, size_t size, int ms)
{
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

        buf[0] = '\0';
        if (poll(&poll_fd, 1, ms) <= 0)
                return 0;
        ssize_t got = recv(fd, buf, size - 1, 0);
        if (got <= 0)
                return -1;
        buf[got] = '\0';
        return (int)got;
}

bool is_closed_within(int fd, int ms)
{
        char buf[4096];

        for (int waited = 0; waited <= ms; waited += 50) {
                int got = hear_raw(fd, buf, sizeof buf, 50);
                if (got < 0)
                        return true;
        }
        return false;
}

/* One byte at a time until the empty line: nothing of the next answer is taken. */
static bool hear_head(int fd, struct heard *heard)
{
        size_t size = 0;

        while (size + 1 < sizeof heard->head) {
                if (hear_raw(fd, heard->head + size, 2, PATIENCE_MS) <= 0)
                        return false;
                size++;
                if (size >= 4 && memcmp(heard->head + size - 4, "\r\n\r\n", 4) == 0)
                        return true;
        }
        return false;
}

struct heard *hear(int fd)
{
        static struct heard heard;
        static char rest[65536];

        memset(&heard, 0, offsetof(struct heard, body));
        heard.body[0] = '\0';
        heard.body_size = 0;
        if (!hear_head(fd, &heard))
                return &heard;
        const char *length = strstr(heard.head, "Content-Length: ");
        size_t wanted = length ? (size_t)strtoull(length + 16, NULL, 10) : 0;
        while (heard.body_size < wanted) {
                size_t room = wanted - heard.body_size;
                int got = hear_raw(fd, rest, room < sizeof rest ? room + 1 : sizeof rest,
                                   PATIENCE_MS);
                if (got <= 0)
                        return &heard;
                for (int i = 0; i < got; i++, heard.body_size++) {
                        if (heard.body_size + 1 < sizeof heard.body)
                                heard.body[heard.body_size] = rest[i];
                }
        }
        heard.body[wanted < sizeof heard.body ? wanted : sizeof heard.body - 1] = '\0';
        heard.status = (unsigned)strtoul(heard.head + strlen("HTTP/1.1 "), NULL, 10);
        return &heard;
}

struct heard *ask(int fd, const char *path)
{
        say(fd, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
        return hear(fd);
}

bool comes_to_rest(void)
{
        struct timespec pause = {.tv_nsec = 400000000};

        for (int waited = 0; waited < PATIENCE_MS; waited += 400) {
                int64_t before_ns = time_cpu_ns();
                nanosleep(&pause, NULL);
                if (time_cpu_ns() - before_ns < pause.tv_nsec / 5)
                        return true;
        }
        return false;
}

void waits_for_holds(const struct world *world, unsigned count)
{
        struct timespec pause = {.tv_nsec = 5000000};

        for (int waited = 0; atomic_load(&world->holds) < count; waited += 5) {
                assert_in_range(waited, 0, PATIENCE_MS);
                nanosleep(&pause, NULL);
        }
}

uint64_t counter(int fd, const char *name)
{
        struct heard *heard = ask(fd, "/counters");
        char start[64];

        snprintf(start, sizeof start, "%s=", name);
        const char *at = strstr(heard->body, start);
        if (!at)
                fail_msg("no '%s' in '%s' (status %u)", name, heard->body, heard->status);
        return strtoull(at + strlen(start), NULL, 10);
}

bool counter_becomes(int fd, const char *name, uint64_t value)
{
        struct timespec pause = {.tv_nsec = 10000000};

        for (int waited = 0; waited < PATIENCE_MS; waited += 10) {
                if (counter(fd, name) == value)
                        return true;
                nanosleep(&pause, NULL);
        }
        return false;
}
