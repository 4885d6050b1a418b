#include "tests/unit/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/client.h"
#include "net/http.h"
#include "net/sse.h"
#include "tests/unit/net/world.h"

static struct world *start(void)
{
        struct world_setup setup = {.limits = http_limits_default};

        return world_start(&setup);
}

static struct client *client_of(const struct world *world, bool is_unix, int64_t timeout_ms)
{
        char url[128];
        struct client *client = NULL;
        struct err err;

        if (is_unix)
                snprintf(url, sizeof url, "unix:%s", world_socket(world));
        else
                snprintf(url, sizeof url, "http://127.0.0.1:%u/", world_port(world));
        struct client_setup setup = {.url = url,
                                     .token = "berth_secret",
                                     .timeout_ms = timeout_ms,
                                     .answer_bytes_max = 100000};
        if (client_new(&setup, &client, &err) < 0)
                fail_msg("%s", err.text);
        return client;
}

static void get(struct client *client, const char *path, struct client_answer *ret_answer)
{
        struct client_request request = {.path = path};
        struct err err = {0};

        if (client_call(client, &request, ret_answer, &err) < 0)
                fail_msg("%s", err.text);
}

static void calls_share_one_connection(void **state)
{
        (void)state;
        struct world *world = start();
        for (int is_unix = 0; is_unix < 2; is_unix++) {
                struct client *client = client_of(world, is_unix, 0);
                struct client_answer answer;
                for (int i = 0; i < 20; i++) {
                        get(client, "/hello", &answer);
                        assert_int_equal(answer.status, 200);
                        assert_string_equal(answer.body, "hello");
                        assert_string_equal(answer.type, "text/plain");
                        assert_int_equal(answer.retry_after_s, -1);
                        client_answer_done(&answer);
                }
                client_free(client);
        }
        int fd = dial_unix(world);
        assert_int_equal(counter(fd, "accepted"), 3);
        close(fd);
        assert_true(world_stop(world));
}

static void what_is_sent_arrives(void **state)
{
        (void)state;
        static const struct {
                const char *name, *value;
        } headers[] = {
                {"authorization", "Bearer berth_secret"},
                {"idempotency-key", "k-1"},
                {"if-match", "\"7\""},
                {"content-type", "application/json"},
                {"user-agent", "berth"},
                {"last-event-id", "(absent)"},
        };
        struct world *world = start();
        struct client *client = client_of(world, true, 0);
        struct client_answer answer;
        struct err err;
        char path[64];
        for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
                snprintf(path, sizeof path, "/header?name=%s", headers[i].name);
                struct client_request request = {.method = "POST",
                                                 .path = path,
                                                 .body = "{}",
                                                 .body_size = 2,
                                                 .idempotency_key = "k-1",
                                                 .if_match = "\"7\""};
                assert_int_equal(client_call(client, &request, &answer, &err), 0);
                assert_string_equal(answer.body, headers[i].value);
                client_answer_done(&answer);
        }
        char body[2000];
        memset(body, 'p', sizeof body);
        body[77] = '\0'; /* bytes, not text */
        struct client_request put = {
                .method = "PUT", .path = "/echo", .body = body, .body_size = sizeof body};
        assert_int_equal(client_call(client, &put, &answer, &err), 0);
        assert_int_equal(answer.size, sizeof body);
        assert_memory_equal(answer.body, body, sizeof body);
        client_answer_done(&answer);
        struct client_request empty = {.method = "POST", .path = "/echo"};
        assert_int_equal(client_call(client, &empty, &answer, &err), 0);
        assert_int_equal(answer.status, 200);
        assert_int_equal(answer.size, 0);
        assert_string_equal(answer.body, "");
        client_answer_done(&answer);
        client_free(client);
        assert_true(world_stop(world));
}

static void a_problem_s_sentence_becomes_the_error(void **state)
{
        (void)state;
        struct world *world = start();
        struct client *client = client_of(world, true, 0);
        struct client_answer answer;
        struct err err;
        get(client, "/nowhere", &answer);
        assert_int_equal(answer.status, 404);
        assert_int_equal(client_check(&answer, &err), -ERR_NOT_FOUND);
        assert_string_equal(err.text, "there is no '/nowhere'");
        client_answer_done(&answer);
        get(client, "/hello", &answer);
        assert_int_equal(client_check(&answer, &err), 0);
        client_answer_done(&answer);
        char html[] = "<html>";
        struct client_answer other = {.status = 502, .body = html, .size = 6};
        assert_int_equal(client_check(&other, &err), -ERR_IO);
        assert_string_equal(err.text, "the server answered 502");
        /* A sentence that quotes somebody's text, and is too long: fit for a terminal, not torn. */
        char odd[2 * sizeof err.text] = "{\"detail\": \"\\u001b[2J\\u009b\\n\u202e";
        while (strlen(odd) < sizeof err.text + 20)
                strcat(odd, "\u20ac");
        strcat(odd, "\"}");
        other.body = odd;
        other.size = strlen(odd);
        assert_int_equal(client_check(&other, &err), -ERR_IO);
        assert_memory_equal(err.text, "?[2J???\u20ac", 7 + 3);
        assert_string_equal(err.text + strlen(err.text) - 3, "\u20ac");
        assert_int_equal(client_check(&other, NULL), -ERR_IO);
        client_free(client);
        assert_true(world_stop(world));
}

static void failures_say_what_they_are(void **state)
{
        (void)state;
        struct world *world = start();
        struct client *client = client_of(world, false, 300);
        struct client_answer answer = {.status = 7};
        struct err err;
        struct client_request slow = {.path = "/hold?id=never"},
                              large = {.path = "/big?bytes=100001"},
                              fits = {.path = "/big?bytes=100000"}, wrong = {.path = "hello"};
        assert_int_equal(client_call(client, &slow, &answer, &err), -ERR_CANCELLED);
        client_free(client);
        client = client_of(world, false, 0);
        assert_int_equal(client_call(client, &large, &answer, &err), -ERR_RANGE);
        check_has(err.text, "an answer of more than 100000 bytes");
        assert_int_equal(client_call(client, &wrong, &answer, &err), -ERR_INPUT);
        assert_int_equal(answer.status, 7);
        assert_int_equal(client_call(client, &fits, &answer, &err), 0);
        assert_int_equal(answer.size, 100000);
        client_answer_done(&answer);
        client_free(client);
        client = client_of(world, true, 0);
        assert_true(world_stop(world));
        struct client_request hello = {.path = "/hello"};
        assert_int_equal(client_call(client, &hello, &answer, &err), -ERR_IO);
        check_has(err.text, "/tmp/berth-net-");
        client_free(client);
}

static void a_client_whose_setup_cannot_be_is_refused(void **state)
{
        (void)state;
        static const struct {
                struct client_setup setup;
                int rc;
        } rows[] = {
                {{.url = "http://127.0.0.1:80"}, 0},
                {{.url = "http://localhost"}, 0},
                {{.url = "http://[::1]:8080/"}, 0},
                {{.url = "https://berth.example:7070"}, 0},
                {{.url = "unix:/run/berth/api.sock"}, 0},
                {{.url = "http://berth.example"}, -ERR_INPUT},
                {{.url = "http://127.0.0.1.example.org"}, -ERR_INPUT},
                {{.url = "http://localhost@example.org"}, -ERR_INPUT},
                {{.url = "unix:berth.sock"}, -ERR_INPUT},
                {{.url = "berth.example"}, -ERR_INPUT},
                {{.url = ""}, -ERR_INPUT},
                {{.url = "https://a", .pin = "abc"}, -ERR_INPUT},
                {{.url = "https://a", .key_file = "k"}, -ERR_INPUT},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct client *client = NULL;
                struct err err = {0};
                int rc = client_new(&rows[i].setup, &client, &err);
                if (rc != rows[i].rc)
                        fail_msg("row %zu: %d %s", i, rc, err.text);
                client_free(client);
        }
}

/* ---- watching ---- */

struct seen {
        unsigned count, stop_at;
        char last_id[SSE_ID_MAX], last_data[256];
        atomic_uint shared; /* what another thread may look at */
};

static int on_event(const struct sse_event *event, void *arg)
{
        struct seen *seen = arg;

        snprintf(seen->last_id, sizeof seen->last_id, "%s", event->id);
        snprintf(seen->last_data, sizeof seen->last_data, "%.200s", event->data);
        atomic_fetch_add(&seen->shared, 1);
        return ++seen->count == seen->stop_at ? -ERR_EXISTS : 0;
}

static void a_watch_ends_when_the_caller_says_so(void **state)
{
        (void)state;
        struct world *world = start();
        struct client *client = client_of(world, true, 0);
        struct seen seen = {.stop_at = 1};
        struct err err;
        assert_int_equal(client_watch(client, "/stream", "41", 0, on_event, &seen, &err),
                         -ERR_EXISTS);
        assert_string_equal(seen.last_id, "42");
        assert_string_equal(seen.last_data, "after 41");
        struct client_answer answer;
        get(client, "/hello", &answer); /* and the client is as good as new */
        client_answer_done(&answer);
        client_free(client);
        assert_true(world_stop(world));
}

/* Each stream when its event has come: the next one may be there before this one is seen to go. */
static void *end_streams(void *arg)
{
        void **both = arg;
        struct seen *seen = both[1];
        int fd = dial_unix(both[0]);
        struct timespec pause = {.tv_nsec = 5000000};

        for (unsigned i = 1; i <= 3; i++) {
                while (atomic_load(&seen->shared) < i)
                        nanosleep(&pause, NULL);
                ask(fd, "/end");
        }
        close(fd);
        return NULL;
}

/* The server says "after N" with the id N + 1, so each return must say one more. */
static void a_watch_that_broke_off_goes_on_where_it_was(void **state)
{
        (void)state;
        struct world *world = start();
        struct client *client = client_of(world, false, 0);
        struct seen seen = {.stop_at = 4};
        struct err err;
        void *both[] = {world, &seen};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, end_streams, both), 0);
        assert_int_equal(client_watch(client, "/stream", "", 0, on_event, &seen, &err),
                         -ERR_EXISTS);
        pthread_join(thread, NULL);
        assert_int_equal(seen.count, 4);
        assert_string_equal(seen.last_id, "4");
        assert_string_equal(seen.last_data, "after 3");
        client_free(client);
        assert_true(world_stop(world));
}

static void a_watch_ends_with_a_refusal_or_after_so_many_tries(void **state)
{
        (void)state;
        struct world *world = start();
        struct client *client = client_of(world, true, 0);
        struct seen seen = {0};
        struct err err;
        assert_int_equal(client_watch(client, "/nowhere", "", 0, on_event, &seen, &err),
                         -ERR_NOT_FOUND);
        assert_string_equal(err.text, "there is no '/nowhere'");
        assert_int_equal(client_watch(client, "/stream", "x", 0, on_event, &seen, &err),
                         -ERR_INPUT);
        char longer[SSE_ID_MAX + 1];
        memset(longer, '1', SSE_ID_MAX);
        longer[SSE_ID_MAX] = '\0';
        assert_int_equal(client_watch(client, "/stream", longer, 0, on_event, &seen, &err),
                         -ERR_INPUT);
        assert_true(world_stop(world));
        assert_int_equal(client_watch(client, "/stream", "", 2, on_event, &seen, &err), -ERR_IO);
        check_has(err.text, "given up after 2 tries");
        client_free(client);
}

static void *stop_after_event(void *arg)
{
        void **both = arg;
        struct seen *seen = both[1];
        struct timespec pause = {.tv_nsec = 5000000};

        while (atomic_load(&seen->shared) == 0)
                nanosleep(&pause, NULL);
        client_stop(both[0]);
        return NULL;
}

static void a_watch_is_stopped_from_outside(void **state)
{
        (void)state;
        struct world *world = start();
        struct client *client = client_of(world, true, 0);
        struct seen seen = {0};
        struct err err;
        void *both[] = {client, &seen};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, stop_after_event, both), 0);
        assert_int_equal(client_watch(client, "/stream", "", 0, on_event, &seen, &err),
                         -ERR_CANCELLED);
        pthread_join(thread, NULL);
        client_free(client);
        assert_true(world_stop(world));
}

/* A server that keeps the connection and says nothing: the watch breaks off by itself. */
static void silence_ends_a_connection(void **state)
{
        (void)state;
        struct world *world = start();
        char url[128];
        snprintf(url, sizeof url, "unix:%s", world_socket(world));
        struct client_setup setup = {.url = url, .silence_ms_max = 1000};
        struct client *client = NULL;
        struct seen seen = {.stop_at = 2};
        struct err err;
        assert_int_equal(client_new(&setup, &client, &err), 0);
        assert_int_equal(client_watch(client, "/stream", "", 0, on_event, &seen, &err),
                         -ERR_EXISTS);
        assert_string_equal(seen.last_data, "after 1"); /* it came back */
        client_free(client);
        assert_true(world_stop(world));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(calls_share_one_connection),
                cmocka_unit_test(what_is_sent_arrives),
                cmocka_unit_test(a_problem_s_sentence_becomes_the_error),
                cmocka_unit_test(failures_say_what_they_are),
                cmocka_unit_test(a_client_whose_setup_cannot_be_is_refused),
                cmocka_unit_test(a_watch_ends_when_the_caller_says_so),
                cmocka_unit_test(a_watch_that_broke_off_goes_on_where_it_was),
                cmocka_unit_test(a_watch_ends_with_a_refusal_or_after_so_many_tries),
                cmocka_unit_test(a_watch_is_stopped_from_outside),
                cmocka_unit_test(silence_ends_a_connection),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
