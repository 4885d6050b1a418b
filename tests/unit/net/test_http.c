#include "tests/unit/check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <uv.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/http.h"
#include "net/problem.h"
#include "tests/unit/net/world.h"

static struct world *start(void)
{
        struct world_setup setup = {.limits = http_limits_default};

        return world_start(&setup);
}

static void a_connection_is_kept_for_many_requests(void **state)
{
        (void)state;
        struct world *world = start();
        int fd = dial_tcp(world);
        for (int i = 0; i < 50; i++) {
                struct heard *heard = ask(fd, "/hello");
                assert_int_equal(heard->status, 200);
                assert_string_equal(heard->body, "hello");
        }
        assert_int_equal(counter(fd, "accepted"), 1);
        assert_int_equal(counter(fd, "requests"), 52);
        close(fd);
        assert_true(world_stop(world));
}

static void requests_sent_at_once_are_answered_in_order(void **state)
{
        (void)state;
        struct world *world = start();
        int fd = dial_unix(world);
        say(fd, "GET /later?ms=60 HTTP/1.1\r\nHost: a\r\n\r\n"
                "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
                "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
        assert_string_equal(hear(fd)->body, "later 60");
        assert_string_equal(hear(fd)->body, "hello");
        assert_string_equal(hear(fd)->body, "abc");
        close(fd);
        assert_true(world_stop(world));
}

static void every_method_reaches_the_handler(void **state)
{
        (void)state;
        static const char *const methods[] = {"GET",   "HEAD",   "POST",    "PUT",
                                              "PATCH", "DELETE", "OPTIONS", "OTHER"};
        struct world *world = start();
        int fd = dial_unix(world);
        for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
                const char *word = strcmp(methods[i], "OTHER") == 0 ? "BREW" : methods[i];
                char wanted[32];
                snprintf(wanted, sizeof wanted, "X-Method: %s\r\n", methods[i]);
                say(fd, "%s /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", word);
                char answer[2048]; /* one packet; HEAD has a length and no body */
                assert_true(hear_raw(fd, answer, sizeof answer, PATIENCE_MS) > 0);
                check_has(answer, wanted);
                close(fd);
                fd = dial_unix(world);
        }
        close(fd);
        assert_true(world_stop(world));
}

/* Bodies in one piece, in chunks, and byte by byte. */
static void a_body_comes_whole_however_it_is_sent(void **state)
{
        (void)state;
        static const char *const rows[] = {
                "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789",
                "PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                "4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n",
        };
        struct world *world = start();
        int fd = dial_tcp(world);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                say(fd, "%s", rows[i]);
                assert_string_equal(hear(fd)->body, "0123456789");
                for (const char *at = rows[i]; *at; at++)
                        say(fd, "%c", *at);
                assert_string_equal(hear(fd)->body, "0123456789");
        }
        say(fd, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        struct heard *heard = hear(fd);
        assert_int_equal(heard->status, 200);
        assert_int_equal(heard->body_size, 0);
        close(fd);
        assert_true(world_stop(world));
}

static void answers_come_in_the_order_they_are_given(void **state)
{
        (void)state;
        enum { CLIENTS = 40 };
        struct world *world = start();
        int fds[CLIENTS], control = dial_unix(world);
        for (int i = 0; i < CLIENTS; i++) {
                fds[i] = i % 2 ? dial_unix(world) : dial_tcp(world);
                say(fds[i], "GET /hold?id=%d HTTP/1.1\r\nHost: a\r\n\r\n", i);
        }
        assert_true(counter_becomes(control, "exchanges", CLIENTS + 1));
        for (int i = CLIENTS - 1; i >= 0; i--) {
                char path[32], wanted[32], nothing[16];
                int other = (i + 7) % CLIENTS;
                if (other < i)
                        assert_int_equal(hear_raw(fds[other], nothing, sizeof nothing, 0), 0);
                snprintf(path, sizeof path, "/release?id=%d", i);
                snprintf(wanted, sizeof wanted, "released %d", i);
                assert_string_equal(ask(control, path)->body, "released");
                assert_string_equal(hear(fds[i])->body, wanted);
                assert_string_equal(ask(fds[i], "/hello")->body, "hello");
        }
        for (int i = 0; i < CLIENTS; i++)
                close(fds[i]);
        close(control);
        assert_true(world_stop(world));
}

static void who_went_before_the_answer_disturbs_nobody(void **state)
{
        (void)state;
        struct world *world = start();
        int control = dial_unix(world);
        int fds[2] = {dial_unix(world), dial_tcp(world)};
        for (int i = 0; i < 2; i++)
                say(fds[i], "GET /hold?id=%d HTTP/1.1\r\nHost: a\r\n\r\n", i);
        assert_true(counter_becomes(control, "exchanges", 3));
        for (int i = 0; i < 2; i++)
                close(fds[i]);
        /* Theirs is still there, and can be answered. */
        assert_int_equal(counter(control, "exchanges"), 3);
        assert_string_equal(ask(control, "/release?id=0")->body, "released");
        assert_string_equal(ask(control, "/release?id=1")->body, "released");
        assert_true(counter_becomes(control, "connections", 1));
        assert_int_equal(counter(control, "exchanges"), 1);
        close(control);
        assert_true(world_stop(world));
}

static void an_exchange_may_come_to_its_handler_again(void **state)
{
        (void)state;
        struct world *world = start();
        int control = dial_unix(world), fd = dial_tcp(world);
        for (int round = 0; round < 2; round++) {
                say(fd, "POST /twice?id=x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab");
                assert_true(counter_becomes(control, "exchanges", 2));
                assert_string_equal(ask(control, "/again?id=x")->body, "again");
                struct heard *heard = hear(fd);
                assert_string_equal(heard->body, "ab");
                check_has(heard->head, round ? "X-Try: 4\r\n" : "X-Try: 2\r\n");
                assert_null(strstr(heard->head, round ? "X-Try: 3" : "X-Try: 1"));
        }
        /* And whose client has gone meanwhile. */
        say(fd, "POST /twice?id=x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab");
        assert_true(counter_becomes(control, "exchanges", 2));
        close(fd);
        assert_string_equal(ask(control, "/again?id=x")->body, "again");
        assert_true(counter_becomes(control, "connections", 1));
        assert_int_equal(counter(control, "exchanges"), 1);
        close(control);
        assert_true(world_stop(world));
}

/* world_stop() answers what is held after http_free(). */
static void an_exchange_may_be_answered_after_the_server_is_gone(void **state)
{
        (void)state;
        struct world *world = start();
        int control = dial_unix(world), fd = dial_unix(world), other = dial_unix(world);
        say(fd, "POST /hold?id=x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab");
        say(other, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf");
        assert_true(counter_becomes(control, "exchanges", 2));
        assert_true(world_stop(world));
        assert_true(is_closed_within(fd, PATIENCE_MS));
        assert_true(is_closed_within(other, PATIENCE_MS));
        close(fd);
        close(other);
        close(control);
}

static void a_client_that_leaves_while_it_waits_is_seen_to_be_gone(void **state)
{
        (void)state;
        struct world *world = start();
        int control = dial_unix(world), fds[2] = {dial_unix(world), dial_tcp(world)};
        for (unsigned f = 0; f < 2; f++)
                say(fds[f], "GET /hold?id=x%u HTTP/1.1\r\nHost: a\r\n\r\n", f);
        assert_true(counter_becomes(control, "exchanges", 3));  /* and the one that asks */
        assert_int_equal(counter(control, "gone"), 0);
        close(fds[0]);
        assert_true(counter_becomes(control, "gone", 1));
        close(fds[1]);
        assert_true(counter_becomes(control, "gone", 2));
        close(control);
        assert_true(world_stop(world));
}

static void large_answers_come_whole_and_half_open_ones_are_dropped(void **state)
{
        (void)state;
        struct world *world = start();
        int fd = dial_tcp(world), gone = dial_tcp(world), control = dial_unix(world);
        struct heard *heard = ask(fd, "/big?bytes=5000000");
        assert_int_equal(heard->status, 200);
        assert_int_equal(heard->body_size, 5000000);
        say(gone, "GET /big?bytes=50000000 HTTP/1.1\r\nHost: a\r\n\r\n");
        char begun[2];
        assert_true(hear_raw(gone, begun, sizeof begun, PATIENCE_MS) > 0);
        close(gone);
        assert_true(counter_becomes(control, "dropped", 1));
        close(fd);
        close(control);
        assert_true(world_stop(world));
}

static void a_unix_peer_is_who_the_kernel_says(void **state)
{
        (void)state;
        struct world *world = start();
        int fd = dial_unix(world), tcp = dial_tcp(world);
        char wanted[96];
        snprintf(wanted, sizeof wanted, "unix uid=%u gid=%u pid=%d", (unsigned)getuid(),
                 (unsigned)getgid(), (int)getpid());
        assert_string_equal(ask(fd, "/peer")->body, wanted);
        assert_string_equal(ask(tcp, "/peer")->body, "tcp 127.0.0.1 tls=0 -");
        close(fd);
        close(tcp);
        assert_true(world_stop(world));
}

static void headers_are_found_in_any_case(void **state)
{
        (void)state;
        struct world *world = start();
        int fd = dial_unix(world);
        say(fd,
            "GET /header?name=idempotency-key HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k1\r\n\r\n");
        assert_string_equal(hear(fd)->body, "k1");
        assert_string_equal(ask(fd, "/header?name=idempotency-key")->body, "(absent)");
        close(fd);
        assert_true(world_stop(world));
}

static void what_is_no_http_gets_an_error_and_the_server_goes_on(void **state)
{
        (void)state;
        static const char *const rows[] = {
                "\r\n\r\n\r\n\r\n",
                "GET\r\n\r\n",
                "\x16\x03\x01\x02\x01\x01",
                "GET /hello HTTP/1.1\r\n\r\n", /* no Host */
                "GET /hello HTTP/9.9\r\nHost: a\r\n\r\n",
                "GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
                "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
                "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"),
                "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
                "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
                "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx",
                "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx",
                "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\nx",
                "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n",
        };
        struct world_setup setup = {.limits = http_limits_default};
        setup.limits.request_ms_max = 1000;
        struct world *world = world_start(&setup);
        int control = dial_unix(world);
        assert_int_equal(ask(control, "/hello")->status, 200);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int fd = dial_tcp(world);
                say(fd, "%s", rows[i]);
                shutdown(fd, SHUT_WR);
                struct heard *heard = hear(fd);
                if (heard->status == 200)
                        fail_msg("row %zu was answered with 200", i);
                close(fd);
                assert_string_equal(ask(control, "/hello")->body, "hello");
        }
        /* It is not the closed half that was refused. */
        int fd = dial_tcp(world);
        say(fd, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
        shutdown(fd, SHUT_WR);
        assert_int_equal(hear(fd)->status, 200);
        close(fd);
        close(control);
        assert_true(world_stop(world));
}

static void routes_answer_what_they_have_and_refuse_the_rest(void **state)
{
        (void)state;
        static const struct {
                const char *method, *path;
                unsigned status;
                const char *head, *body;
        } rows[] = {
                {"GET", "/v1/workloads/a%20b", 200, "X-Operation: getWorkload", "a b"},
                {"DELETE", "/v1/workloads/a?force=1", 200, "X-Operation: cancelWorkload", "a"},
                {"PUT", "/v1/workloads/a", 405, "Allow: GET, HEAD, DELETE", "there is no PUT of"},
                {"BREW", "/v1/workloads/a", 405, "Allow: GET, HEAD, DELETE", "no OTHER of"},
                {"OPTIONS", "/v1/workloads/a", 204, "Allow: GET, HEAD, DELETE", ""},
                {"GET", "/v1/workloads/%zz", 400, PROBLEM_TYPE, "{name} in the path: "},
                {"GET", "/v1/nothing", 404, PROBLEM_TYPE, "there is nothing at '/v1/nothing'"},
                {"OPTIONS", "/v1/nothing", 404, PROBLEM_TYPE, "there is nothing at"},
        };
        struct world *world = start();
        int fd = dial_unix(world);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                say(fd, "%s %s HTTP/1.1\r\nHost: a\r\n\r\n", rows[i].method, rows[i].path);
                struct heard *heard = hear(fd);
                if (heard->status != rows[i].status)
                        fail_msg("row %zu: %u", i, heard->status);
                check_has(heard->head, rows[i].head);
                check_has(heard->body, rows[i].body);
        }
        assert_int_equal(counter(fd, "accepted"), 1);
        close(fd);
        assert_true(world_stop(world));
}

/* Every allocation on the way of a request, and of a stream, fails once: some get 503 or are cut,
 * and the server goes on. */
static void a_server_without_memory_refuses_and_goes_on(void **state)
{
        (void)state;
        struct world *world = start();
        int control = dial_unix(world);
        char body[3001], path[32];
        unsigned refused = 0;
        memset(body, 'm', 3000);
        body[3000] = '\0';
        assert_int_equal(ask(control, "/hello")->status, 200);
        for (unsigned n = 1; n < 100; n++) {
                snprintf(path, sizeof path, "/fail?n=%u", n);
                assert_int_equal(ask(control, path)->status, 200);
                int fd = dial_tcp(world), watcher = dial_tcp(world);
                say(fd, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n\r\n%s", body);
                struct heard *heard = hear(fd);
                bool is_good = heard->status == 200 && strcmp(heard->body, body) == 0;
                char begun[1024] = "";
                say(watcher, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
                bool is_open = hear_raw(watcher, begun, sizeof begun, PATIENCE_MS) > 0 &&
                               strncmp(begun, "HTTP/1.1 200", 12) == 0;
                refused += !is_good || !is_open;
                close(fd);
                close(watcher);
                if (strcmp(ask(control, "/failed")->body, "no") == 0) {
                        assert_true(is_good);
                        assert_true(is_open);
                        assert_in_range(refused, 4, n);
                        break;
                }
                assert_in_range(n, 1, 98);
        }
        assert_string_equal(ask(control, "/hello")->body, "hello");
        close(control);
        assert_true(world_stop(world));
}

/* Every kind of connection that waits, and nothing turns meanwhile. */
static void a_server_with_nothing_to_do_sleeps(void **state)
{
        (void)state;
        static const char *const rows[] = {
                "", /* nothing said */
                "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET /hel",
                "GET /hello HTTP/1.1\r\nHost: a\r\nX-Half: ",
                "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf",
                "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf",
                "GET /hold?id=x HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET /hold?id=x HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\n",
                "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET /big?bytes=60000000 HTTP/1.1\r\nHost: a\r\n\r\n", /* not read */
        };
        struct world *world = start();
        int fds[ARRAY_LEN(rows)], control = dial_unix(world);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                fds[i] = dial_tcp(world);
                say(fds[i], "%s", rows[i]);
        }
        assert_true(counter_becomes(control, "exchanges", 3));
        assert_true(counter_becomes(control, "streams", 1));
        assert_true(comes_to_rest());
        /* And the same with the far end shut, as far as the server may see it. */
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                shutdown(fds[i], SHUT_WR);
        assert_int_equal(ask(control, "/hello")->status, 200);
        assert_true(comes_to_rest());
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                close(fds[i]);
        close(control);
        assert_true(world_stop(world));
}

static void draining_lets_open_requests_end(void **state)
{
        (void)state;
        struct world *world = start();
        int control = dial_unix(world), held = dial_unix(world), idle = dial_unix(world);
        assert_int_equal(ask(idle, "/hello")->status, 200);
        say(held, "GET /later?ms=1500 HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_true(counter_becomes(control, "exchanges", 2));
        struct heard *heard = ask(control, "/drain");
        assert_string_equal(heard->body, "draining");
        check_has(heard->head, "Connection: close");
        assert_true(is_closed_within(control, PATIENCE_MS));
        assert_true(is_closed_within(idle, PATIENCE_MS));
        assert_string_equal(hear(held)->body, "later 1500");
        assert_true(is_closed_within(held, PATIENCE_MS));
        assert_int_equal(access(world_socket(world), F_OK), -1);
        close(control);
        close(held);
        close(idle);
        assert_true(world_stop(world));
}

/* ---- listening ---- */

struct bare {
        uv_loop_t loop;
        struct http_server *server;
        struct err err;
};

static void never(struct http_exchange *exchange, void *arg)
{
        (void)arg;
        http_answer(exchange, 500, NULL, NULL, 0);
}

static void bare_start(struct bare *bare)
{
        struct http_setup setup = {.limits = http_limits_default, .handler = never};

        uv_loop_init(&bare->loop);
        assert_int_equal(http_new(&bare->loop, &setup, &bare->server, &bare->err), 0);
}

static void bare_stop(struct bare *bare)
{
        http_free(bare->server);
        uv_run(&bare->loop, UV_RUN_DEFAULT);
        assert_int_equal(uv_loop_close(&bare->loop), 0);
}

static void leave_stale_socket(const char *path)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        memcpy(address.sun_path, path, strlen(path) + 1);
        assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
        close(fd);
}

static void a_dead_owner_s_socket_is_replaced_and_a_live_one_s_not(void **state)
{
        (void)state;
        struct bare first, second;
        struct stat status;
        char path[64];
        snprintf(path, sizeof path, "/tmp/berth-net-stale-%d.sock", (int)getpid());
        leave_stale_socket(path);
        bare_start(&first);
        bare_start(&second);
        assert_int_equal(http_listen_unix(first.server, path, 0640, &first.err), 0);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0640);
        assert_int_equal(http_listen_unix(second.server, path, 0600, &second.err), -ERR_EXISTS);
        check_has(second.err.text, path);
        bare_stop(&second);
        assert_int_equal(access(path, F_OK), 0);
        bare_stop(&first);
        assert_int_equal(access(path, F_OK), -1);
}

static void a_file_that_is_no_socket_stays(void **state)
{
        (void)state;
        struct bare bare;
        char path[64];
        snprintf(path, sizeof path, "/tmp/berth-net-file-%d", (int)getpid());
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        close(fd);
        bare_start(&bare);
        assert_int_equal(http_listen_unix(bare.server, path, 0600, &bare.err), -ERR_EXISTS);
        assert_int_equal(http_listen_unix(bare.server, "", 0600, &bare.err), -ERR_INPUT);
        char longer[200];
        memset(longer, 'a', sizeof longer);
        longer[199] = '\0';
        assert_int_equal(http_listen_unix(bare.server, longer, 0600, &bare.err), -ERR_INPUT);
        assert_int_equal(access(path, F_OK), 0);
        unlink(path);
        bare_stop(&bare);
}

static void without_tls_only_this_machine_is_listened_to(void **state)
{
        (void)state;
        static const struct {
                const char *address;
                unsigned flags;
                int rc;
        } rows[] = {
                {"127.0.0.1", 0, 0},
                {"127.9.9.9", 0, 0},
                {"0.0.0.0", 0, -ERR_INPUT},
                {"::", 0, -ERR_INPUT},
                {"0.0.0.0", HTTP_LISTEN_PLAIN_ANYWHERE, 0},
                {"0.0.0.0", HTTP_LISTEN_TLS, -ERR_INPUT}, /* no certificate */
                {"localhost", 0, -ERR_INPUT},
                {"", 0, -ERR_INPUT},
        };
        struct bare bare;
        bare_start(&bare);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                uint16_t port = 0;
                int rc = http_listen_tcp(bare.server, rows[i].address, 0, rows[i].flags, &port,
                                         &bare.err);
                if (rc != rows[i].rc)
                        fail_msg("row %zu: %d", i, rc);
                assert_int_equal(port != 0, rc == 0);
                if (rc == 0)
                        assert_int_equal(http_listen_tcp(bare.server, rows[i].address, port,
                                                         rows[i].flags, NULL, &bare.err),
                                         -ERR_EXISTS);
        }
        bare_stop(&bare);
}

static void an_inherited_descriptor_must_be_listening(void **state)
{
        (void)state;
        struct bare bare;
        bare_start(&bare);
        int pair[2], fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        assert_int_equal(http_listen_fd(bare.server, pair[0], 0, &bare.err), -ERR_INPUT);
        assert_int_equal(http_listen_fd(bare.server, fd, 0, &bare.err), -ERR_INPUT);
        assert_int_equal(http_listen_fd(bare.server, 9999, 0, &bare.err), -ERR_INPUT);
        assert_int_equal(listen(fd, 8), 0); /* bound to any address: not without TLS */
        assert_int_equal(http_listen_fd(bare.server, fd, 0, &bare.err), -ERR_INPUT);
        assert_int_equal(http_listen_fd(bare.server, fd, HTTP_LISTEN_PLAIN_ANYWHERE, &bare.err), 0);
        close(pair[0]);
        close(pair[1]);
        bare_stop(&bare);
        assert_int_equal(fcntl(fd, F_GETFD), -1); /* the server closed it */
}

static void limits_that_cannot_be_are_refused(void **state)
{
        (void)state;
        struct http_setup setup = {.limits = http_limits_default, .handler = never};
        struct http_server *server = NULL;
        uv_loop_t loop;
        struct err err;
        uv_loop_init(&loop);
        setup.limits.connections_max = 0;
        assert_int_equal(http_new(&loop, &setup, &server, &err), -ERR_INPUT);
        setup.limits = http_limits_default;
        setup.limits.idle_ms_max = 0;
        assert_int_equal(http_new(&loop, &setup, &server, &err), -ERR_INPUT);
        setup.limits = http_limits_default;
        setup.limits.rate_burst = 0;
        assert_int_equal(http_new(&loop, &setup, &server, &err), -ERR_INPUT);
        assert_null(server);
        http_free(NULL);
        assert_int_equal(uv_loop_close(&loop), 0);
}

/* Each allocation of ours fails once. */
static void out_of_memory_at_start_leaves_nothing(void **state)
{
        (void)state;
        struct http_setup setup = {.limits = http_limits_default, .handler = never};
        setup.limits.connections_max = 10;
        for (unsigned long n = 1;; n++) {
                struct http_server *server = NULL;
                uv_loop_t loop;
                struct err err;
                uv_loop_init(&loop);
                mem_fail_at(n);
                int rc = http_new(&loop, &setup, &server, &err);
                if (rc == 0)
                        rc = http_listen_tcp(server, "127.0.0.1", 0, 0, NULL, &err);
                bool happened = mem_fail_happened();
                mem_fail_at(0);
                assert_int_equal(rc, happened ? -ERR_NOMEM : 0);
                http_free(server);
                uv_run(&loop, UV_RUN_DEFAULT);
                assert_int_equal(uv_loop_close(&loop), 0);
                if (!happened)
                        break;
                assert_in_range(n, 1, 100);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_connection_is_kept_for_many_requests),
                cmocka_unit_test(requests_sent_at_once_are_answered_in_order),
                cmocka_unit_test(every_method_reaches_the_handler),
                cmocka_unit_test(a_body_comes_whole_however_it_is_sent),
                cmocka_unit_test(answers_come_in_the_order_they_are_given),
                cmocka_unit_test(who_went_before_the_answer_disturbs_nobody),
                cmocka_unit_test(an_exchange_may_come_to_its_handler_again),
                cmocka_unit_test(an_exchange_may_be_answered_after_the_server_is_gone),
                cmocka_unit_test(a_client_that_leaves_while_it_waits_is_seen_to_be_gone),
                cmocka_unit_test(large_answers_come_whole_and_half_open_ones_are_dropped),
                cmocka_unit_test(a_unix_peer_is_who_the_kernel_says),
                cmocka_unit_test(headers_are_found_in_any_case),
                cmocka_unit_test(what_is_no_http_gets_an_error_and_the_server_goes_on),
                cmocka_unit_test(routes_answer_what_they_have_and_refuse_the_rest),
                cmocka_unit_test(a_server_without_memory_refuses_and_goes_on),
                cmocka_unit_test(a_server_with_nothing_to_do_sleeps),
                cmocka_unit_test(draining_lets_open_requests_end),
                cmocka_unit_test(a_dead_owner_s_socket_is_replaced_and_a_live_one_s_not),
                cmocka_unit_test(a_file_that_is_no_socket_stays),
                cmocka_unit_test(without_tls_only_this_machine_is_listened_to),
                cmocka_unit_test(an_inherited_descriptor_must_be_listening),
                cmocka_unit_test(limits_that_cannot_be_are_refused),
                cmocka_unit_test(out_of_memory_at_start_leaves_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
