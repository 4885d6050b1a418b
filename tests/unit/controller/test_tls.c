/* berthd on TCP: TLS, tokens, certificates of clients; and what SIGHUP has it read again. */
#include "tests/unit/controller/served.h"

#include "base/mem.h"
#include "tests/unit/net/certificate.h"

static const char pool[] = "kind: Pool\nname: small\nplanes: {training: {}}\nnodes:\n"
                           "  - {name: gpu-01, plane: training, devices: {model: H100-80, count: 8},"
                           " cpu: 96, ram: 1024Gi}\n";
#define POLICY "kind: Policy\npreset: equal\nclasses: {training: {rank: 1}}\n" \
               "default_class: training\ntenants: {alpha: {}}\n"
static const char policy[] = POLICY "principals: [{name: sam, tenants: {alpha: viewer}}]\n";
static const char without_sam[] = POLICY;

static struct served served;
static struct test_certificate authority, first, second, sam, ghost;

static const char *path_of(const char *name)
{
        static char paths[8][128];
        static unsigned at;
        char *path = paths[at++ % 8];
        snprintf(path, sizeof paths[0], "%s/%s", served.folder, name);
        return path;
}

static int start(void **state)
{
        (void)state;
        test_certificate_make("authority", NULL, 10, &authority);
        test_certificate_make("berthd", &authority, 10, &first);
        test_certificate_make("berthd", &authority, 10, &second);
        test_certificate_make("sam", &authority, 10, &sam);
        test_certificate_make("ghost", &authority, 10, &ghost);
        served_new(&served, pool, policy);
        served_write(&served, "cert.pem", first.certificate);
        served_write(&served, "key.pem", first.key);
        served_write(&served, "ca.pem", authority.certificate);
        served_write(&served, "sam.pem", sam.certificate);
        served_write(&served, "sam.key", sam.key);
        served_write(&served, "ghost.pem", ghost.certificate);
        served_write(&served, "ghost.key", ghost.key);
        const char *const more[] = {"--listen",    "tcp:127.0.0.1:0",  "--tls-cert",
                                    path_of("cert.pem"), "--tls-key", path_of("key.pem"),
                                    "--client-ca", path_of("ca.pem"),  NULL};
        served_start(&served, more);
        return 0;
}

static int stop(void **state)
{
        static const char *const names[] = {"ca.pem", "sam.pem", "sam.key", "ghost.pem",
                                            "ghost.key"};
        (void)state;
        served_end(&served, SIGTERM);
        for (size_t n = 0; n < ARRAY_LEN(names); n++)
                unlink(path_of(names[n]));
        served_done(&served);
        return 0;
}

/* As the daemon's log says. */
static unsigned port(void)
{
        char *log;
        size_t size;
        assert_int_equal(file_read(path_of("log"), 1 << 20, &log, &size, NULL), 0);
        const char *at = strstr(log, "port=");
        assert_non_null(at);
        unsigned number = (unsigned)strtoul(at + 5, NULL, 10);
        check_has(at, "tls=1");
        mem_free(log);
        return number;
}

/* The status; 0: no answer, for the server is not the one that was pinned. */
static unsigned ask(const char *token, const char *certificate, const char *key, const char *pin,
                    const char *path)
{
        char url[64];
        struct client *client;
        struct client_answer answer;
        struct err err;
        snprintf(url, sizeof url, "https://127.0.0.1:%u", port());
        const struct client_setup setup = {.url = url,
                                           .token = token,
                                           .ca_file = path_of("ca.pem"),
                                           .pin = pin,
                                           .certificate_file = certificate,
                                           .key_file = key};
        const struct client_request request = {.path = path};
        if (client_new(&setup, &client, &err) < 0)
                fail_msg("%s", err.text);
        unsigned status = 0;
        if (client_call(client, &request, &answer, &err) == 0) {
                status = answer.status;
                client_answer_done(&answer);
        }
        client_free(client);
        return status;
}

static void who_asks_over_tcp_shows_a_token_or_a_certificate(void **state)
{
        (void)state;
        json_t *made = served_json(&served, "POST", "/v1/tokens",
                                   "{\"principal\": \"x\", \"role\": \"auditor\"}", 201);
        const char *token = json_string_value(json_object_get(made, "token"));
        assert_int_equal(ask(NULL, NULL, NULL, NULL, "/v1/pool"), 401);
        assert_int_equal(ask(NULL, NULL, NULL, NULL, "/healthz"), 200);
        assert_int_equal(ask(token, NULL, NULL, NULL, "/metrics"), 200);
        assert_int_equal(ask(NULL, path_of("sam.pem"), path_of("sam.key"), NULL, "/v1/pool"), 200);
        assert_int_equal(ask(NULL, path_of("sam.pem"), path_of("sam.key"), NULL, "/metrics"), 403);
        assert_int_equal(ask(NULL, path_of("ghost.pem"), path_of("ghost.key"), NULL, "/v1/pool"),
                         401);
        /* A bad token is not made good by a certificate. */
        assert_int_equal(ask("berth_x", path_of("sam.pem"), path_of("sam.key"), NULL, "/v1/pool"),
                         401);
        json_decref(made);
}

static bool becomes(const char *pin, unsigned status)
{
        for (int waited = 0; waited < SERVED_PATIENCE_MS; waited += 20) {
                if (ask(NULL, path_of("sam.pem"), path_of("sam.key"), pin, "/v1/pool") == status)
                        return true;
                served_sleep_ms(20);
        }
        return false;
}

static void a_hangup_has_the_certificate_and_the_policy_read_again(void **state)
{
        (void)state;
        char old_pin[CLIENT_PIN_MAX], new_pin[CLIENT_PIN_MAX];
        assert_int_equal(client_pin_of(first.certificate, old_pin, NULL), 0);
        assert_int_equal(client_pin_of(second.certificate, new_pin, NULL), 0);
        assert_true(becomes(old_pin, 200));
        served_write(&served, "cert.pem", second.certificate);
        served_write(&served, "key.pem", second.key);
        kill(served.pid, SIGHUP);
        assert_true(becomes(new_pin, 200));
        assert_true(becomes(old_pin, 0));
        /* What is wrong changes nothing. */
        served_write(&served, "key.pem", first.key);
        served_write(&served, "policy.yaml", "kind: Nothing\n");
        kill(served.pid, SIGHUP);
        served_sleep_ms(200);
        assert_true(becomes(new_pin, 200));
        /* Who is no longer in the policy is nobody, with the same certificate. */
        served_write(&served, "policy.yaml", without_sam);
        kill(served.pid, SIGHUP);
        assert_true(becomes(new_pin, 401));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(who_asks_over_tcp_shows_a_token_or_a_certificate),
                cmocka_unit_test(a_hangup_has_the_certificate_and_the_policy_read_again),
        };
        return cmocka_run_group_tests(tests, start, stop);
}
