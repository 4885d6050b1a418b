#include "tests/scratch.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <curl/curl.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "net/client.h"
#include "net/http.h"
#include "tests/unit/net/world.h"

/* Made once: an authority, two server certificates, clients, one of nobody's. */
static struct test_certificate authority, servers[2], ana, late, stranger, nobody;
static char folder[SCRATCH_MAX];
static char ca_file[64], ana_file[64], ana_key[64], late_file[64], late_key[64];
static char stranger_file[64], stranger_key[64];

static void put(char path[64], const char *name, const char *text)
{
        struct err err;

        snprintf(path, 64, "%s/%s.pem", folder, name);
        if (file_write(path, text, strlen(text), &err) < 0)
                fail_msg("%s", err.text);
}

static int make_all(void **state)
{
        (void)state;
        test_certificate_make("authority", NULL, 10, &authority);
        test_certificate_make("server-1", &authority, 10, &servers[0]);
        test_certificate_make("server-2", &authority, 10, &servers[1]);
        test_certificate_make("ana", &authority, 10, &ana);
        test_certificate_make("late", &authority, -1, &late);
        test_certificate_make("stranger's authority", NULL, 10, &nobody);
        test_certificate_make("stranger", &nobody, 10, &stranger);
        if (!scratch_folder(folder, sizeof folder, "net-tls"))
                return -1;
        put(ca_file, "ca", authority.certificate);
        put(ana_file, "ana", ana.certificate);
        put(ana_key, "ana-key", ana.key);
        put(late_file, "late", late.certificate);
        put(late_key, "late-key", late.key);
        put(stranger_file, "stranger", stranger.certificate);
        put(stranger_key, "stranger-key", stranger.key);
        return 0;
}

static int remove_all(void **state)
{
        const char *const paths[] = {ca_file,  ana_file,      ana_key,     late_file,
                                     late_key, stranger_file, stranger_key};

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(paths); i++)
                unlink(paths[i]);
        return rmdir(folder);
}

static struct world *start(const char *client_ca)
{
        struct world_setup setup = {
                .limits = http_limits_default, .certificates = servers, .client_ca = client_ca};

        return world_start(&setup);
}

/* One call to /peer as somebody; its result. */
static int call_peer(const struct world *world, struct client_setup setup,
                     struct client_answer *ret_answer, struct err *err)
{
        char url[64];
        struct client *client = NULL;
        struct client_request request = {.path = "/peer"};

        snprintf(url, sizeof url, "https://127.0.0.1:%u", world_tls_port(world));
        setup.url = url;
        int rc = client_new(&setup, &client, err);
        if (rc == 0)
                rc = client_call(client, &request, ret_answer, err);
        client_free(client);
        return rc;
}

static CURLcode hello_with(const struct world *world, long version)
{
        CURL *curl = curl_easy_init();
        char url[64];

        snprintf(url, sizeof url, "https://127.0.0.1:%u/hello", world_tls_port(world));
        curl_easy_setopt(curl, CURLOPT_URL, url);
        curl_easy_setopt(curl, CURLOPT_CAINFO, ca_file);
        curl_easy_setopt(curl, CURLOPT_SSLVERSION, version);
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
        CURLcode code = curl_easy_perform(curl);
        curl_easy_cleanup(curl);
        return code;
}

static void only_tls_1_3_is_spoken(void **state)
{
        (void)state;
        struct world *world = start(NULL);
        assert_int_equal(hello_with(world, CURL_SSLVERSION_TLSv1_3), CURLE_OK);
        assert_int_equal(hello_with(world, CURL_SSLVERSION_TLSv1_2 | CURL_SSLVERSION_MAX_TLSv1_2),
                         CURLE_SSL_CONNECT_ERROR);
        assert_true(world_stop(world));
}

static void the_server_is_believed_by_its_authority_or_its_key(void **state)
{
        (void)state;
        char right[CLIENT_PIN_MAX], wrong[CLIENT_PIN_MAX], none[CLIENT_PIN_MAX];
        struct err err;
        struct client_answer answer;
        struct world *world = start(NULL);
        assert_int_equal(client_pin_of(servers[0].certificate, right, &err), 0);
        assert_int_equal(client_pin_of(servers[1].certificate, wrong, &err), 0);
        assert_int_equal(strlen(right), 8 + 44);
        assert_int_equal(client_pin_of("no certificate", none, &err), -ERR_INPUT);
        const struct {
                struct client_setup setup;
                int rc;
        } rows[] = {
                {{.ca_file = ca_file}, 0},
                {{.pin = right}, 0},
                {{.ca_file = ca_file, .pin = right}, 0},
                {{.pin = wrong}, -ERR_INPUT},
                {{.ca_file = ca_file, .pin = wrong}, -ERR_INPUT},
                {{.ca_file = stranger_file, .pin = right}, -ERR_INPUT},
                {{.ca_file = stranger_file}, -ERR_INPUT},
                {{.timeout_ms = 5000}, -ERR_INPUT}, /* the system's authorities know it not */
                {{.ca_file = "/nowhere/ca.pem"}, -ERR_INPUT},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                err.text[0] = '\0';
                int rc = call_peer(world, rows[i].setup, &answer, &err);
                if (rc != rows[i].rc)
                        fail_msg("row %zu: %d %s", i, rc, err.text);
                if (rc == 0) {
                        assert_string_equal(answer.body, "tcp 127.0.0.1 tls=1 -");
                        client_answer_done(&answer);
                }
                if (i == 3)
                        check_has(err.text, "the server's key is not the pinned one");
                if (i == 6 || i == 7)
                        check_has(err.text, "whom to believe is said by its authority's");
                if (i == 8)
                        check_has(err.text, "/nowhere/ca.pem (ca-file)");
        }
        assert_true(world_stop(world));
}

static void a_client_certificate_is_who_it_says(void **state)
{
        (void)state;
        struct err err;
        struct client_answer answer;
        struct world *world = start(authority.certificate);
        const struct {
                const char *certificate, *key;
                unsigned status;
                const char *body;
        } rows[] = {
                {ana_file, ana_key, 200, "tcp 127.0.0.1 tls=1 CN=ana"},
                {NULL, NULL, 200, "tcp 127.0.0.1 tls=1 -"},
                {late_file, late_key, 401, "expired"},
                {stranger_file, stranger_key, 401, "the client certificate is refused"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct client_setup setup = {.ca_file = ca_file,
                                             .certificate_file = rows[i].certificate,
                                             .key_file = rows[i].key};
                if (call_peer(world, setup, &answer, &err) < 0)
                        fail_msg("row %zu: %s", i, err.text);
                if (answer.status != rows[i].status)
                        fail_msg("row %zu: %u %s", i, answer.status, answer.body);
                check_has(answer.body, rows[i].body);
                client_answer_done(&answer);
        }
        assert_true(world_stop(world));
}

/* Watches through the change; its stream must not break. */
static void a_new_certificate_disturbs_no_connection(void **state)
{
        (void)state;
        char first[CLIENT_PIN_MAX], second[CLIENT_PIN_MAX], url[64];
        struct err err;
        struct client_answer answer;
        struct client *old = NULL;
        struct world *world = start(NULL);
        int fd = dial_unix(world);
        assert_int_equal(client_pin_of(servers[0].certificate, first, &err), 0);
        assert_int_equal(client_pin_of(servers[1].certificate, second, &err), 0);
        snprintf(url, sizeof url, "https://127.0.0.1:%u", world_tls_port(world));
        struct client_setup setup = {.url = url, .pin = first};
        assert_int_equal(client_new(&setup, &old, &err), 0);

        /* A request that is with the handler while the certificate changes gets its answer. */
        struct client_request change = {.path = "/certificate?n=1"};
        assert_int_equal(client_call(old, &change, &answer, &err), 0);
        assert_string_equal(answer.body, "taken");
        client_answer_done(&answer);

        struct client_setup with_first = {.pin = first}, with_second = {.pin = second};
        assert_int_equal(call_peer(world, with_first, &answer, &err), -ERR_INPUT);
        assert_int_equal(call_peer(world, with_second, &answer, &err), 0);
        client_answer_done(&answer);
        /* The old one was told to come back: on a new connection, with the new key. */
        struct client_request hello = {.path = "/hello"};
        assert_int_equal(client_call(old, &hello, &answer, &err), -ERR_INPUT);
        check_has(err.text, "pinned");
        client_free(old);
        assert_true(counter_becomes(fd, "connections", 1));

        /* Many times over, with nothing left behind. */
        for (int i = 0; i < 20; i++) {
                char path[32];
                snprintf(path, sizeof path, "/certificate?n=%d", i % 2);
                assert_string_equal(ask(fd, path)->body, "taken");
        }
        assert_int_equal(call_peer(world, with_second, &answer, &err), 0);
        client_answer_done(&answer);
        close(fd);
        assert_true(world_stop(world));
}

static int on_event(const struct sse_event *event, void *arg)
{
        int fd = *(int *)arg;

        if (strcmp(event->name, "begin") == 0 && strcmp(event->data, "after 0") == 0) {
                assert_string_equal(ask(fd, "/certificate?n=1")->body, "taken");
                assert_string_equal(ask(fd, "/push?bytes=5")->body, "pushed 1 refused 0");
                return 0;
        }
        assert_string_equal(event->data, "ddddd");
        return -ERR_EXISTS;
}

static void a_stream_lives_on_under_the_old_certificate(void **state)
{
        (void)state;
        char url[64];
        struct err err;
        struct client *client = NULL;
        struct world *world = start(NULL);
        int fd = dial_unix(world);
        snprintf(url, sizeof url, "https://127.0.0.1:%u", world_tls_port(world));
        struct client_setup setup = {.url = url, .ca_file = ca_file};
        assert_int_equal(client_new(&setup, &client, &err), 0);
        assert_int_equal(client_watch(client, "/stream", "", 0, on_event, &fd, &err), -ERR_EXISTS);
        client_free(client);
        close(fd);
        assert_true(world_stop(world));
}

static void a_server_that_speaks_tls_sleeps_as_well(void **state)
{
        (void)state;
        struct world *world = start(authority.certificate);
        char url[64];
        struct client *client = NULL;
        struct client_answer answer;
        struct err err;
        int raw = dial_tls_raw(world);
        snprintf(url, sizeof url, "https://127.0.0.1:%u", world_tls_port(world));
        struct client_setup setup = {.url = url, .ca_file = ca_file};
        struct client_request request = {.path = "/big?bytes=300000"};
        assert_int_equal(client_new(&setup, &client, &err), 0);
        assert_int_equal(client_call(client, &request, &answer, &err), 0);
        assert_int_equal(answer.size, 300000);
        client_answer_done(&answer);
        assert_true(comes_to_rest());
        client_free(client);
        close(raw);
        assert_true(world_stop(world));
}

/* Neither plain HTTP nor silence nor rubbish holds anything for longer than a request may take. */
static void who_does_not_speak_tls_is_cut(void **state)
{
        (void)state;
        struct world_setup setup = {.limits = http_limits_default, .certificates = servers};
        setup.limits.request_ms_max = 300;
        struct world *world = world_start(&setup);
        int control = dial_unix(world);
        assert_int_equal(ask(control, "/hello")->status, 200);
        static const char *const rows[] = {"", "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
                                           "\x16\x03\x01\x02", "\x80\x80\x80\x80\x80\x80\x80\x80"};
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int fd = dial_tls_raw(world);
                say(fd, "%s", rows[i]);
                assert_true(is_closed_within(fd, PATIENCE_MS));
                close(fd);
        }
        assert_true(counter_becomes(control, "connections", 1));
        close(control);
        assert_true(world_stop(world));
}

static void a_certificate_that_cannot_be_used_changes_nothing(void **state)
{
        (void)state;
        struct test_certificate pair[2];
        struct client_answer answer;
        struct err err;
        memcpy(&pair[0], &servers[0], sizeof pair[0]);
        memcpy(&pair[1], &servers[1], sizeof pair[1]);
        memcpy(pair[1].key, servers[0].key, sizeof pair[1].key); /* not its key */
        struct world_setup setup = {.limits = http_limits_default, .certificates = pair};
        struct world *world = world_start(&setup);
        int fd = dial_unix(world);
        struct heard *heard = ask(fd, "/certificate?n=1");
        assert_int_equal(heard->status, 400);
        check_has(heard->body, "the certificate and its key cannot be used");
        struct client_setup with_ca = {.ca_file = ca_file};
        assert_int_equal(call_peer(world, with_ca, &answer, &err), 0);
        client_answer_done(&answer);
        close(fd);
        assert_true(world_stop(world));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(only_tls_1_3_is_spoken),
                cmocka_unit_test(the_server_is_believed_by_its_authority_or_its_key),
                cmocka_unit_test(a_client_certificate_is_who_it_says),
                cmocka_unit_test(a_new_certificate_disturbs_no_connection),
                cmocka_unit_test(a_stream_lives_on_under_the_old_certificate),
                cmocka_unit_test(a_server_that_speaks_tls_sleeps_as_well),
                cmocka_unit_test(who_does_not_speak_tls_is_cut),
                cmocka_unit_test(a_certificate_that_cannot_be_used_changes_nothing),
        };

        return cmocka_run_group_tests(tests, make_all, remove_all);
}
