#include "tests/unit/check.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "net/http.h"
#include "tests/unit/net/world.h"

static struct world *start(struct http_limits limits)
{
        struct world_setup setup = {.limits = limits};

        return world_start(&setup);
}

static void begin_stream(int fd, const char *last_id)
{
        if (last_id)
                say(fd, "GET /stream HTTP/1.1\r\nHost: a\r\nLast-Event-ID: %s\r\n\r\n", last_id);
        else
                say(fd, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
}

/* Reads until the part has come; the test fails if it does not within PATIENCE_MS. */
static void hear_until(int fd, const char *part, char *buf, size_t size)
{
        size_t used = 0;

        for (int waited = 0; waited < PATIENCE_MS && used + 1 < size; waited += 50) {
                int got = hear_raw(fd, buf + used, size - used, 50);
                if (got < 0)
                        break;
                used += (size_t)got;
                if (strstr(buf, part))
                        return;
        }
        fail_msg("'%s' holds no '%s'", buf, part);
}

static void events_reach_every_watcher_in_order(void **state)
{
        (void)state;
        enum { WATCHERS = 20, EVENTS = 30 };
        struct world *world = start(http_limits_default);
        int fds[WATCHERS], control = dial_unix(world);
        char buf[32768];
        for (int i = 0; i < WATCHERS; i++) {
                fds[i] = i % 2 ? dial_tcp(world) : dial_unix(world);
                begin_stream(fds[i], NULL);
        }
        assert_true(counter_becomes(control, "streams", WATCHERS));
        for (int i = 0; i < EVENTS; i++)
                assert_string_equal(ask(control, "/push?bytes=10")->body, "pushed 20 refused 0");
        for (int i = 0; i < WATCHERS; i++) {
                hear_until(fds[i], "id:130\ndata:dddddddddd\n\n", buf, sizeof buf);
                check_has(buf, "Content-Type: text/event-stream");
                check_has(buf, "event:begin\ndata:after 0\n");
                const char *at = buf;
                for (int event = 1; event <= EVENTS; event++) {
                        char id[16];
                        snprintf(id, sizeof id, "id:%d\n", 100 + event);
                        at = strstr(at, id);
                        assert_non_null(at);
                }
        }
        /* Ended, a stream leaves a connection that goes on. */
        assert_string_equal(ask(control, "/end")->body, "ended");
        hear_until(fds[0], "0\r\n\r\n", buf, sizeof buf);
        assert_string_equal(ask(fds[0], "/hello")->body, "hello");
        assert_true(counter_becomes(control, "streams", 0));
        for (int i = 0; i < WATCHERS; i++)
                close(fds[i]);
        close(control);
        assert_true(world_stop(world));
}

static void a_watcher_that_comes_back_says_where_it_was(void **state)
{
        (void)state;
        struct world *world = start(http_limits_default);
        int fd = dial_tcp(world), wrong = dial_tcp(world);
        char buf[2048];
        begin_stream(fd, "4711");
        hear_until(fd, "id:4712\nevent:begin\ndata:after 4711\n\n", buf, sizeof buf);
        begin_stream(wrong, "47x");
        struct heard *heard = hear(wrong);
        assert_int_equal(heard->status, 400);
        check_has(heard->body, "Last-Event-ID: '47x' is no id of this stream");
        close(fd);
        close(wrong);
        assert_true(world_stop(world));
}

static void who_does_not_read_is_cut_and_delays_nobody(void **state)
{
        (void)state;
        struct http_limits limits = http_limits_default;
        limits.stream_bytes_max = 50000;
        struct world *world = start(limits);
        int deaf = dial_tcp(world), fd = dial_tcp(world), control = dial_unix(world), small = 4096;
        char buf[65536];
        setsockopt(deaf, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        begin_stream(deaf, NULL);
        begin_stream(fd, NULL);
        assert_true(counter_becomes(control, "streams", 2));
        hear_until(fd, "after 0\n\n", buf, sizeof buf);
        unsigned pushes = 0;
        while (counter(control, "stream_overflow") == 0 && pushes++ < 2000) {
                struct heard *heard = ask(control, "/push?bytes=20000");
                check_has(heard->body, "pushed ");
                hear_until(fd, "d\n\n", buf, sizeof buf);      /* it keeps up, at any pace */
        }
        assert_in_range(pushes, 2, 1999);
        assert_true(counter_becomes(control, "streams", 1));
        assert_true(counter_becomes(control, "connections", 2));
        assert_string_equal(ask(control, "/push?bytes=3")->body, "pushed 1 refused 0");
        hear_until(fd, "data:ddd\n\n", buf, sizeof buf);
        close(deaf);
        close(fd);
        close(control);
        assert_true(world_stop(world));
}

static void one_piece_may_fill_the_buffer_and_not_more(void **state)
{
        (void)state;
        struct http_limits limits = http_limits_default;
        limits.stream_bytes_max = 1000;
        struct world *world = start(limits);
        int fd = dial_unix(world), control = dial_unix(world);
        char buf[8192];
        begin_stream(fd, NULL);
        hear_until(fd, "after 0\n\n", buf, sizeof buf);
        assert_string_equal(ask(control, "/push?bytes=986")->body, "pushed 1 refused 0");
        hear_until(fd, "\n\n", buf, sizeof buf);
        assert_string_equal(ask(control, "/push?bytes=987")->body, "pushed 0 refused 1");
        assert_true(is_closed_within(fd, PATIENCE_MS));
        assert_true(counter_becomes(control, "streams", 0));
        close(fd);
        close(control);
        assert_true(world_stop(world));
}

static void silence_is_filled_with_comments(void **state)
{
        (void)state;
        struct http_limits limits = http_limits_default;
        limits.heartbeat_ms = 100;
        struct world *world = start(limits);
        int fd = dial_tcp(world), control = dial_unix(world);
        char buf[2048];
        begin_stream(fd, NULL);
        hear_until(fd, "after 0\n\n", buf, sizeof buf);
        hear_until(fd, ":\n\n", buf, sizeof buf);
        hear_until(fd, ":\n\n", buf, sizeof buf);
        /* That is also how a watcher is found to be gone. */
        close(fd);
        assert_true(counter_becomes(control, "streams", 0));
        assert_true(counter_becomes(control, "connections", 1));
        close(control);
        assert_true(world_stop(world));
}

/* Reads chunks until the last one; what they hold. Freed with mem_free(). */
static char *read_chunks(int fd, size_t room, size_t *ret_size)
{
        char *raw = mem_new(room, 1), *body = mem_new(room, 1), *at, *next;
        size_t used = 0, size = 0, chunk;

        for (int waited = 0; waited < PATIENCE_MS && !strstr(raw + (used > 9 ? used - 9 : 0),
                                                       "\r\n0\r\n\r\n"); waited += 50) {
                int got = hear_raw(fd, raw + used, used + 16384 < room ? 16384 : room - used, 50);
                if (got < 0)
                        break;
                used += (size_t)got;
        }
        at = strstr(raw, "\r\n\r\n");
        assert_non_null(at);
        for (at += 4; (chunk = strtoul(at, &next, 16)) > 0; at = next + 2 + chunk + 2) {
                assert_memory_equal(next, "\r\n", 2);
                assert_true(next + 2 + chunk + 2 < raw + used);
                assert_memory_equal(next + 2 + chunk, "\r\n", 2);
                memcpy(body + size, next + 2, chunk);
                size += chunk;
        }
        assert_memory_equal(next, "\r\n\r\n", 4);
        mem_free(raw);
        *ret_size = size;
        return body;
}

/* More than its socket takes, in more pieces than go into one chunk, and its end behind them. */
static void who_reads_late_gets_every_byte_and_the_end(void **state)
{
        (void)state;
        enum { PUSHES = 300, ROOM = 2 << 20 };
        struct http_limits limits = http_limits_default;
        limits.stream_bytes_max = 4 << 20;
        struct world *world = start(limits);
        int fd = dial_unix(world), control = dial_unix(world);
        struct text wanted = {0};
        size_t size;
        begin_stream(fd, NULL);
        assert_true(counter_becomes(control, "streams", 1));
        text_add(&wanted, "retry:10\n\nid:1\nevent:begin\ndata:after 0\n\n");
        for (unsigned p = 0; p < PUSHES; p++) {
                unsigned bytes = p % 10 == 0 ? 20000 : 1 + p % 7;
                char path[40];
                snprintf(path, sizeof path, "/push?bytes=%u", bytes);
                assert_string_equal(ask(control, path)->body, "pushed 1 refused 0");
                text_add(&wanted, "id:%u\ndata:", 101 + p);
                for (unsigned b = 0; b < bytes; b++)
                        text_add_bytes(&wanted, "d", 1);
                text_add(&wanted, "\n\n");
        }
        ask(control, "/end");
        char *body = read_chunks(fd, ROOM, &size);
        assert_int_equal(size, wanted.size);
        assert_memory_equal(body, wanted.bytes, size);
        assert_string_equal(ask(fd, "/hello")->body, "hello");  /* the connection goes on */
        mem_free(body);
        text_done(&wanted);
        close(fd);
        close(control);
        assert_true(world_stop(world));
}

static void a_stuck_watcher_is_cut_by_time_as_well(void **state)
{
        (void)state;
        struct http_limits limits = http_limits_default;
        limits.answer_ms_max = 300;
        limits.stream_bytes_max = 64 << 20;
        struct world *world = start(limits);
        int fd = dial_tcp(world), control = dial_unix(world);
        begin_stream(fd, NULL);
        assert_true(counter_becomes(control, "streams", 1));
        assert_string_equal(ask(control, "/push?bytes=20000000")->body, "pushed 1 refused 0");
        assert_true(counter_becomes(control, "streams", 0));
        assert_int_equal(counter(control, "answer_timeout"), 1);
        close(fd);
        close(control);
        assert_true(world_stop(world));
}

static void there_are_only_so_many_streams(void **state)
{
        (void)state;
        struct http_limits limits = http_limits_default;
        limits.streams_max = 2;
        struct world *world = start(limits);
        int fds[3], control = dial_unix(world);
        char buf[2048];
        for (int i = 0; i < 2; i++) {
                fds[i] = dial_unix(world);
                begin_stream(fds[i], NULL);
                hear_until(fds[i], "after 0\n\n", buf, sizeof buf);
        }
        fds[2] = dial_unix(world);
        begin_stream(fds[2], NULL);
        struct heard *heard = hear(fds[2]);
        assert_int_equal(heard->status, 503);
        check_has(heard->body, "as many streams are open as there may be");
        assert_string_equal(ask(fds[2], "/hello")->body, "hello");
        ask(control, "/end");
        assert_true(counter_becomes(control, "streams", 0));
        begin_stream(fds[2], NULL);
        hear_until(fds[2], "after 0\n\n", buf, sizeof buf);
        for (int i = 0; i < 3; i++)
                close(fds[i]);
        close(control);
        assert_true(world_stop(world));
}

static void an_old_client_gets_the_stream_without_chunks(void **state)
{
        (void)state;
        struct world *world = start(http_limits_default);
        int fd = dial_tcp(world), control = dial_unix(world);
        char buf[4096];
        say(fd, "GET /stream HTTP/1.0\r\n\r\n");
        hear_until(fd, "\r\n\r\nretry:10\n\nid:1\nevent:begin\ndata:after 0\n\n", buf, sizeof buf);
        assert_string_equal(ask(control, "/push?bytes=2")->body, "pushed 1 refused 0");
        hear_until(fd, "id:101\ndata:dd\n\n", buf, sizeof buf);
        ask(control, "/end");
        assert_true(is_closed_within(fd, PATIENCE_MS));
        close(fd);
        close(control);
        assert_true(world_stop(world));
}

static void a_thousand_watchers_all_get_the_event(void **state)
{
        (void)state;
        enum { WATCHERS = 1000 };
        struct rlimit files, raised;
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
        if (files.rlim_max < 2 * WATCHERS + 200)
                skip();
        raised = (struct rlimit){2 * WATCHERS + 200, files.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &raised), 0);
        struct world *world = start(http_limits_default);
        int *fds = mem_new(WATCHERS, sizeof *fds), control = dial_unix(world);
        char buf[4096];
        assert_non_null(fds);
        for (int i = 0; i < WATCHERS; i++) {
                fds[i] = dial_unix(world);
                begin_stream(fds[i], NULL);
        }
        assert_true(counter_becomes(control, "streams", WATCHERS));
        assert_string_equal(ask(control, "/push?bytes=200")->body, "pushed 1000 refused 0");
        for (int i = 0; i < WATCHERS; i++) {
                hear_until(fds[i], "id:101\ndata:dddd", buf, sizeof buf);
                close(fds[i]);
        }
        /* Gone watchers that are pushed to: closed once each, and the books are right. */
        ask(control, "/push?bytes=1");
        assert_true(counter_becomes(control, "streams", 0));
        close(control);
        mem_free(fds);
        assert_true(world_stop(world));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(events_reach_every_watcher_in_order),
                cmocka_unit_test(a_watcher_that_comes_back_says_where_it_was),
                cmocka_unit_test(who_does_not_read_is_cut_and_delays_nobody),
                cmocka_unit_test(one_piece_may_fill_the_buffer_and_not_more),
                cmocka_unit_test(silence_is_filled_with_comments),
                cmocka_unit_test(who_reads_late_gets_every_byte_and_the_end),
                cmocka_unit_test(a_stuck_watcher_is_cut_by_time_as_well),
                cmocka_unit_test(there_are_only_so_many_streams),
                cmocka_unit_test(an_old_client_gets_the_stream_without_chunks),
                cmocka_unit_test(a_thousand_watchers_all_get_the_event),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
