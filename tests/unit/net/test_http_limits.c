#include "tests/unit/check.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/time.h"
#include "net/http.h"
#include "tests/unit/net/world.h"

static struct world *start(struct http_limits limits)
{
        struct world_setup setup = {.limits = limits};

        return world_start(&setup);
}

static void wait_ms(int ms)
{
        struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l};

        nanosleep(&pause, NULL);
}

static void is_problem(const struct heard *heard, unsigned status)
{
        char said[32];

        if (heard->status != status)
                fail_msg("%u instead of %u: %s", heard->status, status, heard->body);
        check_has(heard->head, "application/problem+json");
        snprintf(said, sizeof said, "\"status\":%u", status);
        check_has(heard->body, said);
}

/* ---- sizes: at the bound and one above ---- */

static void a_body_above_the_limit_is_refused_before_it_comes(void **state)
{
        (void)state;
        static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE"};
        struct http_limits limits = http_limits_default;
        limits.body_bytes_max = 100;
        struct world *world = start(limits);
        char body[101];
        memset(body, 'x', 100);
        body[100] = '\0';
        for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
                int fd = dial_tcp(world);
                say(fd, "%s /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n%s", methods[i],
                    body);
                assert_string_equal(hear(fd)->body, body);
                say(fd, "%s /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n", methods[i]);
                struct heard *heard = hear(fd); /* no byte of it was sent */
                is_problem(heard, 413);
                check_has(heard->body, "a body of 101 bytes; at most 100 are taken");
                assert_true(is_closed_within(fd, PATIENCE_MS));
                close(fd);
        }
        int fd = dial_tcp(world);
        say(fd, "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                "Content-Length: 99999999999999999\r\n\r\n");
        is_problem(hear(fd), 413);
        close(fd);
        assert_true(world_stop(world));
}

static void a_body_of_unknown_length_is_cut_at_the_limit(void **state)
{
        (void)state;
        struct http_limits limits = http_limits_default;
        limits.body_bytes_max = 100;
        struct world *world = start(limits);
        int fd = dial_unix(world);
        say(fd, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                "32\r\n01234567890123456789012345678901234567890123456789\r\n"
                "32\r\n01234567890123456789012345678901234567890123456789\r\n0\r\n\r\n");
        assert_int_equal(hear(fd)->body_size, 100);
        say(fd, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                "64\r\n0123456789012345678901234567890123456789012345678901234567890123456789"
                "012345678901234567890123456789\r\n1\r\nx\r\n");
        is_problem(hear(fd), 413);
        assert_true(is_closed_within(fd, PATIENCE_MS));
        close(fd);
        assert_true(world_stop(world));
}

static void headers_above_the_limit_are_refused(void **state)
{
        (void)state;
        static const int sizes[] = {900, 1200, 3000, 12000};
        struct http_limits limits = http_limits_default;
        limits.header_bytes_max = 1024;
        struct world *world = start(limits);
        int control = dial_unix(world);
        char filler[12001];
        memset(filler, 'h', 12000);
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
                int fd = dial_tcp(world);
                say(fd, "GET /hello HTTP/1.1\r\nHost: a\r\nX-Filler: %.*s\r\n\r\n", sizes[i],
                    filler);
                unsigned status = hear(fd)->status;
                assert_int_equal(status, i == 0 ? 200 : 431);
                close(fd);
        }
        assert_string_equal(ask(control, "/hello")->body, "hello");
        close(control);
        assert_true(world_stop(world));
}

static void an_address_above_the_limit_is_refused(void **state)
{
        (void)state;
        struct world *world = start(http_limits_default);
        char path[HTTP_TARGET_MAX + 2];
        int fd = dial_unix(world);
        memset(path, 'p', sizeof path);
        memcpy(path, "/hello?", 7);
        path[HTTP_TARGET_MAX] = '\0';
        assert_int_equal(ask(fd, path)->status, 200);
        path[HTTP_TARGET_MAX] = 'p';
        path[HTTP_TARGET_MAX + 1] = '\0';
        is_problem(ask(fd, path), 414);
        assert_string_equal(ask(fd, "/hello")->body, "hello"); /* nothing was left unread */
        close(fd);
        assert_true(world_stop(world));
}

/* ---- how often ---- */

static void who_asks_too_often_is_told_when_to_come_back(void **state)
{
        (void)state;
        struct http_limits limits = http_limits_default;
        limits.rate_per_s = 1;
        limits.rate_burst = 20;
        struct world *world = start(limits);
        int fds[2] = {dial_tcp(world), dial_tcp(world)}, other = dial_unix(world);
        unsigned good = 0, refused = 0;
        int64_t begin_ns = time_monotonic_ns();
        for (int i = 0; i < 40; i++) {
                struct heard *heard = ask(fds[i % 2], "/hello"); /* one peer, two connections */
                good += heard->status == 200;
                refused += heard->status == 429;
                if (heard->status == 429) {
                        check_has(heard->head, "Retry-After: 1\r\n");
                        is_problem(heard, 429);
                }
        }
        uint64_t refilled = (uint64_t)((time_monotonic_ns() - begin_ns) / 1000000000);
        assert_in_range(good, 20, 21 + refilled);
        assert_int_equal(good + refused, 40);
        assert_int_equal(ask(other, "/hello")->status, 200); /* another peer */
        assert_int_equal(counter(other, "refused"), refused);
        close(fds[0]);
        close(fds[1]);
        /* A new connection does not make one a new peer. */
        int again = dial_tcp(world);
        unsigned status = 200;
        for (int i = 0; i < 40 && status == 200; i++)
                status = ask(again, "/hello")->status;
        assert_int_equal(status, 429);
        close(again);
        close(other);
        assert_true(world_stop(world));
}

static int dial_from(const struct world *world, uint32_t source)
{
        struct sockaddr_in from = {.sin_family = AF_INET};
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(world_port(world))};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        from.sin_addr.s_addr = htonl(source);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
        return fd;
}

static unsigned ask_from(const struct world *world, uint32_t source)
{
        int fd = dial_from(world, source);
        unsigned status = ask(fd, "/hello")->status;

        close(fd);
        return status;
}

/* 4,096 peers are remembered beyond those connected; who is forgotten starts with a full bucket. */
static void the_peer_longest_gone_is_forgotten_first(void **state)
{
        (void)state;
        enum { PEERS = 4096 + 20 };
        const uint32_t base = (127u << 24) + (7u << 16);
        struct http_limits limits = http_limits_default;
        limits.connections_max = 4;
        limits.rate_per_s = 1;
        limits.rate_burst = 1;
        struct world *world = start(limits);
        for (uint32_t i = 0; i < PEERS; i++)
                assert_int_equal(ask_from(world, base + i), 200);
        unsigned status = 200; /* well remembered; but slowly asked, one more is granted */
        for (int i = 0; i < 40 && status == 200; i++)
                status = ask_from(world, base + PEERS - 1);
        assert_int_equal(status, 429);
        assert_int_equal(ask_from(world, base), 200); /* refilled or forgotten: not told apart */
        assert_true(world_stop(world));
}

/* ---- how slowly ---- */

static void who_sends_byte_by_byte_is_cut_while_others_are_served(void **state)
{
        (void)state;
        enum { SLOW = 40 };
        struct http_limits limits = http_limits_default;
        limits.request_ms_max = 2000;
        struct world *world = start(limits);
        int slow[SLOW], fd = dial_unix(world);
        unsigned served = 0, timed_out = 0, cut = 0;
        static const char *const starts[] = {
                "",                                           /* says nothing */
                "GET /hel",                                   /* half a line */
                "GET /hello HTTP/1.1\r\nHost: a\r\nX-Slow: ", /* endless headers */
                "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n",
        };
        for (int i = 0; i < SLOW; i++) {
                slow[i] = dial_tcp(world);
                say(slow[i], "%s", starts[i % 4]);
        }
        for (int round = 0; round < 30; round++) {
                for (int i = 0; i < SLOW; i++) {
                        if (i % 4 != 0)
                                say(slow[i], "a");
                }
                served += ask(fd, "/hello")->status == 200;
                wait_ms(90);
        }
        assert_int_equal(served, 30);
        for (int i = 0; i < SLOW; i++) {
                char answer[1024] = "";
                int got = hear_raw(slow[i], answer, sizeof answer, PATIENCE_MS);
                bool has_answer = got > 0 && strncmp(answer, "HTTP/1.1 408", 12) == 0;
                timed_out += has_answer;
                cut += got < 0 || (has_answer && is_closed_within(slow[i], PATIENCE_MS));
                close(slow[i]);
        }
        assert_int_equal(cut, SLOW);
        assert_int_equal(timed_out, SLOW / 2); /* those whose first line had come */
        assert_int_equal(counter(fd, "request_timeout"), SLOW);
        assert_true(counter_becomes(fd, "connections", 1));
        close(fd);
        assert_true(world_stop(world));
}

static void an_idle_connection_is_closed_after_its_time(void **state)
{
        (void)state;
        struct http_limits limits = http_limits_default;
        limits.idle_ms_max = 1500;
        struct world *world = start(limits);
        int idle = dial_tcp(world), busy = dial_tcp(world), held = dial_unix(world);
        assert_int_equal(ask(idle, "/hello")->status, 200);
        say(held, "GET /later?ms=4000 HTTP/1.1\r\nHost: a\r\n\r\n");
        for (int waited = 0; waited < PATIENCE_MS && counter(busy, "idle_timeout") == 0; waited += 60)
                wait_ms(60);
        assert_true(is_closed_within(idle, PATIENCE_MS));
        wait_ms(200);
        assert_int_equal(counter(busy, "idle_timeout"), 1);
        assert_string_equal(hear(held)->body, "later 4000"); /* waiting for us is not idle */
        close(idle);
        close(busy);
        close(held);
        assert_true(world_stop(world));
}

static void who_does_not_take_the_answer_is_cut(void **state)
{
        (void)state;
        struct http_limits limits = http_limits_default;
        limits.answer_ms_max = 400;
        struct world *world = start(limits);
        int fd = dial_tcp(world), control = dial_unix(world);
        say(fd, "GET /big?bytes=60000000 HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_true(counter_becomes(control, "answer_timeout", 1));
        assert_true(counter_becomes(control, "connections", 1));
        close(fd);
        close(control);
        assert_true(world_stop(world));
}

/* ---- how many ---- */

static void one_peer_gets_so_many_connections(void **state)
{
        (void)state;
        struct http_limits limits = http_limits_default;
        limits.peer_connections_max = 5;
        struct world *world = start(limits);
        int fds[6], control = dial_unix(world);
        for (int i = 0; i < 6; i++) {
                fds[i] = dial_tcp(world);
                unsigned status = ask(fds[i], "/hello")->status;
                assert_int_equal(status, i < 5 ? 200 : 0);
        }
        assert_int_equal(counter(control, "connection_refused"), 1);
        close(fds[0]);
        assert_true(counter_becomes(control, "connections", 5));
        int again = dial_tcp(world);
        assert_int_equal(ask(again, "/hello")->status, 200);
        for (int i = 1; i < 6; i++)
                close(fds[i]);
        close(again);
        close(control);
        assert_true(world_stop(world));
}

/* The bound is reached by connections without a request: a newcomer takes the oldest one's place.
 * Those with a request in the handler's hands are never cut for it. */
static void when_all_are_taken_the_longest_idle_one_goes(void **state)
{
        (void)state;
        struct http_limits limits = http_limits_default;
        limits.connections_max = 8;
        struct world *world = start(limits);
        int held = dial_unix(world), first = dial_tcp(world);
        int fds[20];
        say(held, "GET /hold?id=h HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_int_equal(ask(first, "/hello")->status, 200);
        assert_int_equal(counter(first, "exchanges"), 2);
        for (int i = 0; i < 20; i++) {
                fds[i] = dial_tcp(world);
                assert_int_equal(ask(fds[i], "/hello")->status, 200);
        }
        assert_true(is_closed_within(first, PATIENCE_MS));
        assert_true(is_closed_within(fds[0], PATIENCE_MS));
        assert_int_equal(counter(fds[19], "crowded_out"), 14);
        assert_int_equal(counter(fds[19], "connections"), 8);
        assert_string_equal(ask(fds[19], "/release?id=h")->body, "released");
        assert_string_equal(hear(held)->body, "released h");
        for (int i = 0; i < 20; i++)
                close(fds[i]);
        close(first);
        close(held);
        assert_true(world_stop(world));
}

static void with_every_place_held_by_requests_a_newcomer_is_refused(void **state)
{
        (void)state;
        struct http_limits limits = http_limits_default;
        limits.connections_max = 3;
        struct world *world = start(limits);
        int fds[3], control = dial_unix(world);
        for (int i = 0; i < 2; i++) {
                fds[i] = dial_unix(world);
                say(fds[i], "GET /hold?id=%d HTTP/1.1\r\nHost: a\r\n\r\n", i);
        }
        assert_true(counter_becomes(control, "exchanges", 3));
        say(control, "GET /hold?id=c HTTP/1.1\r\nHost: a\r\n\r\n");
        waits_for_holds(world, 3);
        fds[2] = dial_unix(world);
        assert_int_equal(ask(fds[2], "/hello")->status, 0);
        for (int i = 0; i < 3; i++)
                close(fds[i]);
        close(control);
        assert_true(world_stop(world));
}

/* ---- ten thousand, from a process of their own ---- */

#define IDLE 10000

/* Told the port by `from`, opens them all, says so to `to`, and holds them until `from` is closed.
 */
static void hold_idle(int from, int to)
{
        static const char request[] = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";
        struct sockaddr_in address = {.sin_family = AF_INET};
        char answer[1024];

        if (read(from, &address.sin_port, sizeof address.sin_port) <= 0)
                _exit(1);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        for (int i = 0; i < IDLE; i++) {
                int fd = socket(AF_INET, SOCK_STREAM, 0);
                if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
                        _exit(2);
                /* One in four has asked, the others never did. */
                if (i % 4 == 0 && (write(fd, request, sizeof request - 1) < 0 ||
                                   read(fd, answer, sizeof answer) <= 0))
                        _exit(3);
        }
        if (write(to, "k", 1) < 0 || read(from, answer, 1) != 0)
                _exit(4);
        _exit(0);
}

static bool raise_files(rlim_t wanted)
{
        struct rlimit files;

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
        if (files.rlim_max < wanted)
                return false;
        files.rlim_cur = wanted;
        return setrlimit(RLIMIT_NOFILE, &files) == 0;
}

static void ten_thousand_idle_connections_keep_nobody_out(void **state)
{
        (void)state;
        enum { REQUESTS = 1000 };
        if (!raise_files(IDLE + 300)) {
                print_message("skipped: this process may not open %d files\n", IDLE + 300);
                skip();
        }
        int down[2], up[2], status;
        char ready = 0;
        assert_int_equal(pipe(down) | pipe(up), 0);
        pid_t pid = fork();
        if (pid == 0) {
                close(down[1]);
                close(up[0]);
                hold_idle(down[0], up[1]);
        }
        close(down[0]);
        close(up[1]);
        struct http_limits limits = http_limits_default;
        limits.peer_connections_max = IDLE;
        limits.request_ms_max = limits.idle_ms_max = 600000; /* opening them may take long */
        struct world *world = start(limits);
        uint16_t port = htons(world_port(world));
        assert_int_equal(write(down[1], &port, sizeof port), sizeof port);
        assert_int_equal(read(up[0], &ready, 1), 1);

        int fd = dial_unix(world);
        assert_true(counter_becomes(fd, "connections", IDLE + 1));
        unsigned served = 0;
        for (int i = 0; i < REQUESTS; i++)
                served += ask(fd, i % 10 ? "/hello" : "/later?ms=1")->status == 200;
        assert_int_equal(served, REQUESTS);
        int fresh = dial_unix(world);
        assert_int_equal(ask(fresh, "/hello")->status, 200);
        assert_int_equal(counter(fd, "crowded_out") + counter(fd, "connection_refused"), 0);

        close(down[1]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_true(counter_becomes(fd, "connections", 2));
        close(up[0]);
        close(fresh);
        close(fd);
        assert_true(world_stop(world));
}

/* More than the process may open: it goes on as soon as there is room again. */
static void out_of_descriptors_is_no_end(void **state)
{
        (void)state;
        struct rlimit files, few;
        struct world *world = start(http_limits_default);
        int fd = dial_unix(world), fds[40], count = 0;
        assert_int_equal(ask(fd, "/hello")->status, 200);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
        few = files;
        few.rlim_cur = (rlim_t)fd + 30;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        while (count < 40 && (fds[count] = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0)
                count++;
        assert_in_range(count, 10, 39);
        close(fds[--count]);
        int late = dial_unix(world); /* the kernel takes it; the server has no descriptor for it */
        say(late, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
        char nothing[64];
        assert_int_equal(hear_raw(late, nothing, sizeof nothing, 200), 0);
        assert_int_equal(ask(fd, "/hello")->status, 200);
        while (count > 0)
                close(fds[--count]);
        assert_string_equal(hear(late)->body, "hello");
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
        close(late);
        close(fd);
        assert_true(world_stop(world));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_body_above_the_limit_is_refused_before_it_comes),
                cmocka_unit_test(a_body_of_unknown_length_is_cut_at_the_limit),
                cmocka_unit_test(headers_above_the_limit_are_refused),
                cmocka_unit_test(an_address_above_the_limit_is_refused),
                cmocka_unit_test(who_asks_too_often_is_told_when_to_come_back),
                cmocka_unit_test(the_peer_longest_gone_is_forgotten_first),
                cmocka_unit_test(who_sends_byte_by_byte_is_cut_while_others_are_served),
                cmocka_unit_test(an_idle_connection_is_closed_after_its_time),
                cmocka_unit_test(who_does_not_take_the_answer_is_cut),
                cmocka_unit_test(one_peer_gets_so_many_connections),
                cmocka_unit_test(when_all_are_taken_the_longest_idle_one_goes),
                cmocka_unit_test(with_every_place_held_by_requests_a_newcomer_is_refused),
                cmocka_unit_test(ten_thousand_idle_connections_keep_nobody_out),
                cmocka_unit_test(out_of_descriptors_is_no_end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
