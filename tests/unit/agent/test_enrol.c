/* A real agent and the real berthd with TLS between them: a node enrols, keeps its certificate, and
 * is shut out; and what tokens and certificates are not good for. */
#include "tests/scratch.h"
#include "tests/unit/check.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <jansson.h>

#include "agent/keeper.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/authority.h"
#include "net/client.h"
#include "tests/unit/net/certificate.h"

#define PATIENCE_MS 60000
#define DAY_MS      INT64_C(86400000)

static const char pool_yaml[] =
        "kind: Pool\nplanes: {training: {}}\nnodes:\n"
        "  - {name: \"n[1-3]\", plane: training, devices: {model: H100-80, count: 4}, cpu: 32, "
        "ram: 256Gi}\n";
static const char pool_without_n3[] =
        "kind: Pool\nplanes: {training: {}}\nnodes:\n"
        "  - {name: \"n[1-2]\", plane: training, devices: {model: H100-80, count: 4}, cpu: 32, "
        "ram: 256Gi}\n";
static const char policy_yaml[] =
        "kind: Policy\npreset: equal\nclasses: {training: {rank: 1, methods: [whole]}}\n"
        "default_class: training\ntenants: {a: {}}\n"
        "principals: [{name: sam, tenants: {a: viewer}}]\n";

static struct {
        char folder[64], ca_file[96], unix_url[112], tls_url[64];
        pid_t berthd, agent;
        struct test_certificate authority, server;
} pool;

/* ---- files and processes ---- */

static const char *path_of(const char *name)
{
        static char paths[8][160];
        static unsigned at;
        char *path = paths[at++ % 8];
        snprintf(path, sizeof paths[0], "%s/%s", pool.folder, name);
        return path;
}

static void write_file(const char *name, const char *text)
{
        assert_int_equal(file_write(path_of(name), text, strlen(text), NULL), 0);
}

/* Cut; "" where there is none. */
static const char *text_of(const char *name)
{
        static char text[65536];
        char *bytes;
        size_t size;
        text[0] = '\0';
        if (file_read(path_of(name), 1 << 20, &bytes, &size, NULL) == 0) {
                str_copy(text, sizeof text, size < sizeof text ? bytes : bytes + size - 60000);
                mem_free(bytes);
        }
        return text;
}

static unsigned times(const char *text, const char *part)
{
        unsigned count = 0;
        for (; (text = strstr(text, part)); text++)
                count++;
        return count;
}

static void waits_for_text(const char *name, const char *part, unsigned count)
{
        for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 20) {
                if (times(text_of(name), part) >= count)
                        return;
                usleep(20000);
        }
        fail_msg("'%s' is not %u times in %s:\n%s", part, count, name, text_of(name));
}

static pid_t spawn(const char *command)
{
        char text[1200];
        pid_t pid = fork();
        snprintf(text, sizeof text, "cd %s && exec %s", pool.folder, command);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves none behind */
                execl("/bin/sh", "sh", "-c", text, (char *)NULL);
                _exit(127);
        }
        return pid;
}

static void end(pid_t *pid, int signal)
{
        if (*pid <= 0)
                return;
        assert_int_equal(kill(*pid, signal), 0);
        assert_int_equal(waitpid(*pid, NULL, 0), *pid);
        *pid = 0;
}

static void start_berthd(void)
{
        write_file("berthd.log", "");
        pool.berthd = spawn("\"$BERTHD\" --store store.db --listen unix:$PWD/sock --tick 100ms "
                            "--lease 30s --listen tcp:127.0.0.1:0 --tls-cert cert.pem --tls-key "
                            "key.pem --client-ca ca.pem --node-certificates 10m --pool pool.yaml "
                            "--policy policy.yaml 2>>berthd.log");
        waits_for_text("berthd.log", "tls=1", 1);
        const char *at = strstr(text_of("berthd.log"), "port=");
        assert_non_null(at);
        snprintf(pool.tls_url, sizeof pool.tls_url, "https://127.0.0.1:%lu",
                 strtoul(at + 5, NULL, 10));
}

/* `more`: "--join-token-file n1.token", or what else is to be tried. */
static void start_program(const char *program, const char *node, const char *more)
{
        char command[1000];
        snprintf(command, sizeof command,
                 "%s --pool pool.yaml --node %s --url %s --ca-file ca.pem --state "
                 "%s/%s --runs-as self --cgroup none %s 2>>%s.log",
                 program, node, pool.tls_url, pool.folder, node, more, node);
        pool.agent = spawn(command);
}

static void start_agent(const char *node, const char *more)
{
        start_program("\"$BERTH_AGENT\"", node, more);
}

/* ---- asking ---- */

struct asked {
        unsigned status;                /* 0: there was no answer */
        char body[32768];
};

/* As the local user who operates, or over TLS as whoever has that token or certificate. */
static const struct asked *ask(bool over_tls, const char *token, const char *identity,
                               const char *method, const char *path, const char *body)
{
        static struct asked asked;
        struct client_answer answer = {0};
        struct client *client;
        struct err err = {0};
        const struct client_setup setup = {.url = over_tls ? pool.tls_url : pool.unix_url,
                                           .token = token,
                                           .ca_file = pool.ca_file,
                                           .certificate_file = identity,
                                           .key_file = identity};
        const struct client_request request = {
                .method = method,
                .path = path,
                .type = body && body[0] == '{' ? "application/json" : "application/yaml",
                .body = body,
                .body_size = body ? strlen(body) : 0};
        assert_int_equal(client_new(&setup, &client, &err), 0);
        asked.status = 0;
        if (client_call(client, &request, &answer, &err) == 0) {
                asked.status = answer.status;
                snprintf(asked.body, sizeof asked.body, "%s", answer.body);
        } else {
                snprintf(asked.body, sizeof asked.body, "%s", err.text);
        }
        client_answer_done(&answer);
        client_free(client);
        return &asked;
}

static const struct asked *operate(const char *method, const char *path, const char *body)
{
        return ask(false, NULL, NULL, method, path, body);
}

static void waits_for(const char *path, const char *part)
{
        for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 20) {
                if (strstr(operate("GET", path, NULL)->body, part))
                        return;
                usleep(20000);
        }
        check_has(operate("GET", path, NULL)->body, part);
}

static const char *make_token(const char *role, const char *node)
{
        static char texts[4][64];
        static unsigned at;
        char body[128], *text = texts[at++ % 4];
        snprintf(body, sizeof body, "{\"role\": \"%s\", \"node\": \"%s\"}", role, node);
        const struct asked *asked = operate("POST", "/v1/tokens", body);
        json_t *json = json_loads(asked->body, 0, NULL);
        if (asked->status != 201)
                fail_msg("%u %s", asked->status, asked->body);
        assert_true(str_copy(text, 64, json_string_value(json_object_get(json, "token"))));
        json_decref(json);
        return text;
}

/* The body for a key. */
static const char *request_of(const char *key)
{
        static char text[2 * IDENTITY_PEM_MAX];
        char request[IDENTITY_PEM_MAX];
        assert_int_equal(identity_request(key, request, NULL), 0);
        json_t *json = json_pack("{s:s}", "request", request);
        char *body = json_dumps(json, 0);
        assert_true(str_copy(text, sizeof text, body));
        free(body);
        json_decref(json);
        return text;
}

/* Key and certificate in one file, as an agent has them. */
static void write_identity(const char *name, const char *key, const char *answer)
{
        char both[3 * IDENTITY_PEM_MAX];
        json_t *json = json_loads(answer, 0, NULL);
        const char *certificate = json_string_value(json_object_get(json, "certificate"));
        assert_non_null(certificate);
        snprintf(both, sizeof both, "%s%s", key, certificate);
        write_file(name, both);
        json_decref(json);
}

static const char *certificate_path(const char *node)
{
        static char paths[4][64];
        static unsigned at;
        char *path = paths[at++ % 4];
        snprintf(path, sizeof paths[0], "/v1/nodes/%s/certificate", node);
        return path;
}

/* The node's own identity, made without an agent. */
static void enrol(const char *node, const char *identity_file)
{
        char key[IDENTITY_PEM_MAX];
        assert_int_equal(identity_key_make(key, NULL), 0);
        const struct asked *asked = ask(true, make_token("join", node), NULL, "POST",
                                        certificate_path(node), request_of(key));
        if (asked->status != 200)
                fail_msg("%u %s", asked->status, asked->body);
        write_identity(identity_file, key, asked->body);
}

static const char report[] = "{\"protocol\": 1, \"agent\": \"0\", \"boot\": \"b\", \"runs\": []}";

/* ---- the pool ---- */

static int set_up(void **state)
{
        (void)state;
        if (!getenv("BERTH_AGENT") || !getenv("BERTHD"))
                fail_msg("BERTH_AGENT and BERTHD must name the two programs");
        assert_non_null(scratch_folder(pool.folder, sizeof pool.folder, "enrol"));
        assert_int_equal(chmod(pool.folder, 0755), 0);
        test_certificate_make("authority", NULL, 10, &pool.authority);
        test_certificate_make("berthd", &pool.authority, 10, &pool.server);
        write_file("ca.pem", pool.authority.certificate);
        write_file("cert.pem", pool.server.certificate);
        write_file("key.pem", pool.server.key);
        write_file("pool.yaml", pool_yaml);
        write_file("policy.yaml", policy_yaml);
        str_copy(pool.ca_file, sizeof pool.ca_file, path_of("ca.pem"));
        snprintf(pool.unix_url, sizeof pool.unix_url, "unix:%s/sock", pool.folder);
        start_berthd();
        return 0;
}

static int tear_down(void **state)
{
        static const char *const logs[] = {"berthd.log", "n1.log", "n2.log", "n3.log", "odd.log"};
        char command[100];
        (void)state;
        end(&pool.agent, SIGTERM);
        end(&pool.berthd, SIGTERM);
        for (size_t l = 0; l < ARRAY_LEN(logs); l++)
                if (strstr(text_of(logs[l]), "Sanitizer"))
                        fail_msg("%s: %s", logs[l], text_of(logs[l]));
        snprintf(command, sizeof command, "rm -rf %s", pool.folder);
        return system(command);
}

/* ---- an agent ---- */

static void a_node_enrols_with_a_token_and_runs_work(void **state)
{
        (void)state;
        struct stat status;
        write_file("n1.token", make_token("join", "n1"));
        start_agent("n1", "--join-token-file n1.token");
        waits_for("/v1/pool", "\"nodes_up\":1");
        assert_int_equal(stat(path_of("n1/identity.pem"), &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
        assert_int_not_equal(stat(path_of("n1/identity.new"), &status), 0);
        check_has(operate("GET", "/v1/nodes", NULL)->body, "\"certificate_expires\":\"2");
        check_has(operate("GET", "/v1/nodes", NULL)->body, "\"version_differs\":false");
        char work[300];                 /* until the folder goes */
        snprintf(work, sizeof work,
                 "kind: Workload\nname: long\ntenant: a\neach: {devices: 1}\nrun: {command: "
                 "[sh, -c, 'echo $$; while [ -e %s ]; do sleep 0.1; done'], workdir: /}\n",
                 pool.ca_file);
        check_has(operate("POST", "/v1/workloads", work)->body, "\"id\":");
        waits_for("/v1/workloads/long", "\"state\":\"running\"");
}

static void a_renewal_disturbs_nothing(void **state)
{
        (void)state;
        char before[8192];
        str_copy(before, sizeof before, text_of("n1/identity.pem"));
        for (unsigned times_renewed = 1; times_renewed <= 2; times_renewed++) {
                unsigned reports = times(text_of("n1.log"), "certificate renewed");
                assert_int_equal(kill(pool.agent, SIGHUP), 0);
                waits_for_text("n1.log", "certificate renewed", reports + 1);
                /* What is told from now on comes over the new certificate. */
                check_has(operate("POST", "/v1/workloads",
                                  "kind: Workload\nname: short\ntenant: a\neach: {devices: 1}\n"
                                  "run: {command: [\"true\"], workdir: /}\n")
                                  ->body,
                          "\"id\":");
                waits_for("/v1/workloads/short", "\"state\":\"succeeded\"");
        }
        assert_string_not_equal(text_of("n1/identity.pem"), before);
        assert_int_equal(times(text_of("n1.log"), "does not answer"), 0);
        check_has(operate("GET", "/v1/workloads/long", NULL)->body, "\"state\":\"running\"");
}

/* Authority and enrolments outlive the controller, however it ends; the certificate its agent. */
static void agent_and_controller_may_end_and_come_back(void **state)
{
        (void)state;
        char authority[8192];
        str_copy(authority, sizeof authority, text_of("store.db.authority"));
        end(&pool.berthd, SIGKILL);
        end(&pool.agent, SIGKILL);
        unlink(path_of("sock"));
        start_berthd();
        assert_string_equal(text_of("store.db.authority"), authority);
        /* The token's file is needed no more. */
        start_agent("n1", "");
        waits_for("/v1/nodes", "\"connected\":true");
        check_has(operate("GET", "/v1/workloads/long", NULL)->body, "\"state\":\"running\"");
        assert_int_equal(times(text_of("n1.log"), "enrolled node="), 1);
}

static void a_node_that_is_shut_out_says_so_and_comes_back_with_a_token(void **state)
{
        (void)state;
        end(&pool.agent, SIGTERM);
        write_file("n1.token", "");
        start_agent("n1", "--join-token-file n1.token");
        waits_for("/v1/nodes", "\"connected\":true");
        assert_int_equal(operate("DELETE", certificate_path("n1"), NULL)->status, 200);
        waits_for_text("n1.log", "was revoked", 1);
        waits_for_text("n1.log", "not enrolled; runs go on", 1);
        check_has(text_of("n1.log"), "berth token make --join --node n1");
        write_file("n1.token", make_token("join", "n1"));
        assert_int_equal(kill(pool.agent, SIGHUP), 0);
        waits_for_text("n1.log", "enrolled node=n1 enrolment=2", 1);
        waits_for_text("n1.log", "controller answers", 1);
        check_has(operate("GET", "/v1/workloads/long", NULL)->body, "\"state\":\"running\"");
}

/* ---- what is not good for what ---- */

static void a_join_token_is_good_for_one_key(void **state)
{
        (void)state;
        char first[IDENTITY_PEM_MAX], second[IDENTITY_PEM_MAX];
        const char *token = make_token("join", "n2"), *path = certificate_path("n2");
        assert_int_equal(identity_key_make(first, NULL), 0);
        assert_int_equal(identity_key_make(second, NULL), 0);
        /* What cannot be meant uses nothing up. */
        assert_int_equal(ask(true, token, NULL, "POST", path, "{}")->status, 400);
        assert_int_equal(ask(true, token, NULL, "POST", path, "{\"request\": \"x\"}")->status, 400);
        const struct asked *asked = ask(true, token, NULL, "POST", path, request_of(first));
        assert_int_equal(asked->status, 200);
        check_has(asked->body, "\"enrolment\":3");
        /* Its answer was lost, and the controller with it. */
        end(&pool.berthd, SIGKILL);
        unlink(path_of("sock"));
        start_berthd();
        asked = ask(true, token, NULL, "POST", path, request_of(first));
        assert_int_equal(asked->status, 200);
        check_has(asked->body, "\"enrolment\":3");
        write_identity("first.pem", first, asked->body);
        asked = ask(true, token, NULL, "POST", path, request_of(second));
        assert_int_equal(asked->status, 409);
        check_has(asked->body, "this join token was used at ");
        check_has(asked->body, "berth token make --join --node n2");
        assert_int_equal(ask(true, NULL, path_of("first.pem"), "POST", "/v1/nodes/n2/exchange",
                             report)->status, 200);
        /* Who enrols it anew ends that. */
        enrol("n2", "second.pem");
        assert_int_equal(ask(true, NULL, path_of("first.pem"), "POST", "/v1/nodes/n2/exchange",
                             report)->status, 401);
        assert_int_equal(ask(true, token, NULL, "POST", path, request_of(first))->status, 401);
        assert_int_equal(ask(true, NULL, path_of("second.pem"), "POST", "/v1/nodes/n2/exchange",
                             report)->status, 200);
}

/* Signed by the authority of principals, but with the name of a node in it. */
static void forge(const char *subject, const char *name)
{
        char both[3 * IDENTITY_PEM_MAX], certificate[IDENTITY_PEM_MAX];
        static const char uri[] = "berth:node:n2:4";
        const unsigned char serial = 99;
        size_t size = sizeof certificate;
        struct test_certificate made;
        gnutls_datum_t ca = {(unsigned char *)pool.authority.certificate,
                             (unsigned)strlen(pool.authority.certificate)},
                       ca_key = {(unsigned char *)pool.authority.key,
                                 (unsigned)strlen(pool.authority.key)};
        gnutls_x509_crt_t crt, issuer;
        gnutls_x509_privkey_t key, issuer_key;
        test_certificate_make(subject, &pool.authority, 10, &made);
        gnutls_datum_t own_key = {(unsigned char *)made.key, (unsigned)strlen(made.key)};
        gnutls_x509_crt_init(&crt);
        gnutls_x509_crt_init(&issuer);
        gnutls_x509_privkey_init(&key);
        gnutls_x509_privkey_init(&issuer_key);
        assert_int_equal(gnutls_x509_crt_import(issuer, &ca, GNUTLS_X509_FMT_PEM), 0);
        assert_int_equal(gnutls_x509_privkey_import(issuer_key, &ca_key, GNUTLS_X509_FMT_PEM), 0);
        assert_int_equal(gnutls_x509_privkey_import(key, &own_key, GNUTLS_X509_FMT_PEM), 0);
        gnutls_x509_crt_set_version(crt, 3);
        gnutls_x509_crt_set_serial(crt, &serial, 1);
        gnutls_x509_crt_set_activation_time(crt, time(NULL) - 100);
        gnutls_x509_crt_set_expiration_time(crt, time(NULL) + 1000);
        gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, subject,
                                      (unsigned)strlen(subject));
        gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_URI, uri, sizeof uri - 1,
                                             GNUTLS_FSAN_SET);
        gnutls_x509_crt_set_key(crt, key);
        assert_int_equal(gnutls_x509_crt_sign2(crt, issuer, issuer_key, GNUTLS_DIG_SHA256, 0), 0);
        assert_int_equal(gnutls_x509_crt_export(crt, GNUTLS_X509_FMT_PEM, certificate, &size), 0);
        snprintf(both, sizeof both, "%s%s", made.key, certificate);
        write_file(name, both);
        gnutls_x509_crt_deinit(crt);
        gnutls_x509_crt_deinit(issuer);
        gnutls_x509_privkey_deinit(key);
        gnutls_x509_privkey_deinit(issuer_key);
}

static void tokens_and_certificates_are_good_for_their_node_and_nothing_else(void **state)
{
        (void)state;
        char key[IDENTITY_PEM_MAX], wish[2 * IDENTITY_PEM_MAX];
        const char *join = make_token("join", "n3"), *agent = make_token("agent", "n2");
        forge("n2", "forged.pem");
        forge("sam", "sam.pem");
        assert_int_equal(identity_key_make(key, NULL), 0);
        str_copy(wish, sizeof wish, request_of(key));
        const struct {
                const char *token, *identity, *method, *path, *body;
                unsigned status;
        } rows[] = {
                /* A join token: for its own node's certificate. */
                {join, NULL, "POST", "/v1/nodes/n2/certificate", wish, 403},
                {join, NULL, "POST", "/v1/nodes/n3/exchange", report, 403},
                {join, NULL, "GET", "/v1/pool", NULL, 403},
                {join, NULL, "POST", "/v1/tokens", "{\"role\": \"operator\"}", 403},
                {join, NULL, "DELETE", "/v1/nodes/n3/certificate", NULL, 403},
                /* An agent's token: no certificate. */
                {agent, NULL, "POST", "/v1/nodes/n2/certificate", wish, 403},
                {agent, NULL, "POST", "/v1/nodes/n2/exchange", report, 200},
                /* A certificate of n2. */
                {NULL, "second.pem", "POST", "/v1/nodes/n2/exchange", report, 200},
                {NULL, "second.pem", "POST", "/v1/nodes/n1/exchange", report, 403},
                {NULL, "second.pem", "POST", "/v1/nodes/n1/certificate", wish, 403},
                {NULL, "second.pem", "GET", "/v1/nodes", NULL, 403},
                {NULL, "second.pem", "GET", "/metrics", NULL, 403},
                {NULL, "second.pem", "POST", "/v1/nodes/n2/answers/1", "x", 404},
                /* A bad token is not made good by it. */
                {"berth_x", "second.pem", "POST", "/v1/nodes/n2/exchange", report, 401},
                /* The authority of principals makes no nodes, and a principal stays one. */
                {NULL, "forged.pem", "POST", "/v1/nodes/n2/exchange", report, 401},
                {NULL, "sam.pem", "POST", "/v1/nodes/n2/exchange", report, 403},
                {NULL, "sam.pem", "GET", "/v1/pool", NULL, 200},
                {NULL, NULL, "POST", "/v1/nodes/n3/certificate", wish, 401},
                /* And none of that has used it up. */
                {join, NULL, "POST", "/v1/nodes/n3/certificate", wish, 200},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                const struct asked *asked =
                        ask(true, rows[r].token,
                            rows[r].identity ? path_of(rows[r].identity) : NULL, rows[r].method, rows[r].path, rows[r].body);
                if (asked->status != rows[r].status)
                        fail_msg("row %zu, %s %s: %u %s", r, rows[r].method, rows[r].path,
                                 asked->status, asked->body);
                if (r == ARRAY_LEN(rows) - 1)
                        write_identity("third.pem", key, asked->body);
        }
}

static void a_node_that_left_the_pool_is_enrolled_no_longer(void **state)
{
        (void)state;
        const char *path = "/v1/nodes/n3/exchange";
        assert_int_equal(ask(true, NULL, path_of("third.pem"), "POST", path, report)->status, 200);
        assert_int_equal(operate("PUT", "/v1/pool/document", pool_without_n3)->status, 200);
        assert_int_equal(ask(true, NULL, path_of("third.pem"), "POST", path, report)->status, 401);
        assert_int_equal(operate("PUT", "/v1/pool/document", pool_yaml)->status, 200);
        const struct asked *asked = ask(true, NULL, path_of("third.pem"), "POST", path, report);
        assert_int_equal(asked->status, 401);
        check_has(asked->body, "the node left the pool, was enrolled anew");
}

/* As the authority itself would sign it. */
static void write_signed(const char *name, const char *node, uint64_t enrolment, int64_t from_ms,
                         int64_t until_ms)
{
        char key[IDENTITY_PEM_MAX], request[IDENTITY_PEM_MAX], certificate[IDENTITY_PEM_MAX];
        char both[3 * IDENTITY_PEM_MAX];
        int64_t now_ms = (int64_t)time(NULL) * 1000;
        struct identity identity = {.enrolment = enrolment, .from_ms = now_ms + from_ms,
                                    .until_ms = now_ms + until_ms};
        struct authority *authority;
        str_copy(identity.node, sizeof identity.node, node);
        assert_int_equal(authority_load(path_of("store.db.authority"), &authority, NULL), 0);
        assert_int_equal(identity_key_make(key, NULL), 0);
        assert_int_equal(identity_request(key, request, NULL), 0);
        assert_int_equal(authority_sign(authority, request, strlen(request), &identity,
                                        certificate, NULL), 0);
        authority_free(authority);
        snprintf(both, sizeof both, "%s%s", key, certificate);
        write_file(name, both);
}

static void a_certificate_out_of_its_time_is_refused(void **state)
{
        (void)state;
        const char *path = "/v1/nodes/n2/exchange";
        write_signed("good.pem", "n2", 4, -1000, 60000);
        write_signed("late.pem", "n2", 4, -60000, -1000);
        write_signed("early.pem", "n2", 4, 60000, 120000);
        write_signed("other.pem", "n2", 3, -1000, 60000);
        assert_int_equal(ask(true, NULL, path_of("good.pem"), "POST", path, report)->status, 200);
        const struct asked *asked = ask(true, NULL, path_of("late.pem"), "POST", path, report);
        assert_int_equal(asked->status, 401);
        check_has(asked->body, "expired");
        asked = ask(true, NULL, path_of("early.pem"), "POST", path, report);
        assert_int_equal(asked->status, 401);
        check_has(asked->body, "not yet");
        assert_int_equal(ask(true, NULL, path_of("other.pem"), "POST", path, report)->status, 401);
}

/* A connection that is kept goes no further than the certificate that began it. */
static void a_connection_does_not_outlive_its_certificate(void **state)
{
        (void)state;
        struct client_answer answer = {0};
        struct client *client;
        write_signed("brief.pem", "n2", 4, -1000, 8000);
        const struct client_setup setup = {.url = pool.tls_url,
                                           .ca_file = pool.ca_file,
                                           .certificate_file = path_of("brief.pem"),
                                           .key_file = path_of("brief.pem")};
        const struct client_request request = {.method = "POST",
                                               .path = "/v1/nodes/n2/exchange",
                                               .body = report,
                                               .body_size = sizeof report - 1};
        assert_int_equal(client_new(&setup, &client, NULL), 0);
        unsigned good = 0, status = 200;
        for (int waited_ms = 0; status == 200 && waited_ms < PATIENCE_MS; waited_ms += 100) {
                assert_int_equal(client_call(client, &request, &answer, NULL), 0);
                status = answer.status;
                good += status == 200;
                if (status == 401)
                        check_has(answer.body, "has expired");
                client_answer_done(&answer);
                usleep(100000);
        }
        assert_int_equal(status, 401);
        assert_true(good > 0);
        client_free(client);
}

/* ---- what an agent cannot begin with ---- */

static void an_agent_says_why_it_has_no_certificate(void **state)
{
        (void)state;
        char command[900];
        int status;
        static const struct {
                const char *more, *says;
        } rows[] = {
                {"--join-token-file t --token-file t --url %s", "go without it"},
                {"--join-token-file t --url unix:/x", "over https only"},
                {"--node n3 --url %s", "of node 'n2', and this is 'n3'"},
        };
        mkdir(path_of("odd"), 0711);
        write_signed("odd/identity.pem", "n2", 4, -60000, 60000);
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                char more[300];
                snprintf(more, sizeof more, "%s%s",
                         strstr(rows[r].more, "--node") ? "" : "--node n2 ", rows[r].more);
                char *at = strstr(more, "%s");
                if (at)
                        snprintf(at, sizeof more - (size_t)(at - more), "%s", pool.tls_url);
                snprintf(command, sizeof command,
                         "\"$BERTH_AGENT\" --pool pool.yaml --state %s/odd "
                         "--cgroup none %s 2>odd.log", pool.folder, more);
                pid_t pid = spawn(command);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
                check_has(text_of("odd.log"), rows[r].says);
        }
}

/* It is answered, with a refusal: that is not taken for a controller that does not answer. */
static void an_agent_that_shows_nothing_is_told_to_join(void **state)
{
        (void)state;
        end(&pool.agent, SIGTERM);
        write_file("n3.log", "");
        start_agent("n3", "");
        waits_for_text("n3.log", "controller does not know this node; runs go on error=", 1);
        check_has(text_of("n3.log"), "berth token make --join --node n3");
        assert_int_equal(times(text_of("n3.log"), "does not answer"), 0);
}

/* What is wrong with the pool and not with the token is tried again. */
static void a_node_that_the_pool_does_not_know_yet_joins_when_it_does(void **state)
{
        (void)state;
        end(&pool.agent, SIGTERM);
        write_file("n3.token", make_token("join", "n3"));
        assert_int_equal(operate("PUT", "/v1/pool/document", pool_without_n3)->status, 200);
        start_agent("n3", "--join-token-file n3.token");
        waits_for_text("n3.log", "the pool document has no node 'n3'", 1);
        assert_int_equal(operate("PUT", "/v1/pool/document", pool_yaml)->status, 200);
        waits_for_text("n3.log", "enrolled node=n3", 1);
        write_file("n3.log", "");
        end(&pool.agent, SIGTERM);
        unlink(path_of("n3/identity.pem"));
}

static void an_agent_whose_certificate_ran_out_waits_for_a_token(void **state)
{
        (void)state;
        end(&pool.agent, SIGTERM);
        mkdir(path_of("n2"), 0711);
        write_signed("n2/identity.pem", "n2", 4, -DAY_MS, -1000);
        write_file("n2.token", "berth_none\n");
        start_agent("n2", "--join-token-file n2.token");
        waits_for_text("n2.log", "this token is not valid here", 1);
        write_file("n2.token", make_token("join", "n2"));
        assert_int_equal(kill(pool.agent, SIGHUP), 0);
        waits_for_text("n2.log", "enrolled node=n2 enrolment=7", 1);
        waits_for("/v1/nodes", "\"connected\":true");
}

/* Nothing is lost by it: set right, it gets the same certificate for the same token. */
static void a_node_whose_clock_is_wrong_is_told_so(void **state)
{
        (void)state;
        char preload[400];
        if (!getenv("BERTH_CLOCK_SHIM"))
                skip();
        end(&pool.agent, SIGTERM);
        write_file("n3.token", make_token("join", "n3"));
        /* A list, split at blanks: its own path has none. */
        assert_int_equal(symlink(getenv("BERTH_CLOCK_SHIM"), path_of("shim.so")), 0);
        snprintf(preload, sizeof preload, "env LD_PRELOAD=%s CLOCK_AHEAD_S=90000 \"$BERTH_AGENT\"",
                 path_of("shim.so"));
        start_program(preload, "n3", "--join-token-file n3.token");
        waits_for_text("n3.log", "set the clock", 1);
        check_has(text_of("n3.log"), "this node's clock says ");
        assert_int_equal(access(path_of("n3/identity.pem"), F_OK), -1);
        end(&pool.agent, SIGTERM);
        start_agent("n3", "--join-token-file n3.token");
        waits_for_text("n3.log", "enrolled node=n3", 1);
        waits_for_text("n3.log", "enrolment=8", 1);
}

/* By itself, as two thirds of its life are over: nobody tells it to. */
static void a_certificate_is_renewed_in_time(void **state)
{
        (void)state;
        char early[8192];
        end(&pool.agent, SIGTERM);
        str_copy(early, sizeof early, text_of("n2/identity.pem"));
        write_file("n2.log", "");
        start_agent("n2", "");
        waits_for_text("n2.log", "agent started", 1);
        waits_for("/v1/nodes", "\"connected\":true");
        assert_string_equal(text_of("n2/identity.pem"), early);
        end(&pool.agent, SIGTERM);
        write_signed("n2/identity.pem", "n2", 7, -140000, 60000);
        start_agent("n2", "");
        waits_for_text("n2.log", "certificate renewed", 1);
        assert_int_equal(times(text_of("n2.log"), "certificate refused"), 0);
}

static void renewals_are_spread_over_the_last_part_of_the_life(void **state)
{
        (void)state;
        const int64_t life_ms = 7 * DAY_MS;
        int64_t least = INT64_MAX, most = 0;
        for (uint32_t chance = 0; chance < 5000; chance += 7) {
                int64_t at_ms = keeper_renew_at_ms(1000, 1000 + life_ms, chance) - 1000;
                least = at_ms < least ? at_ms : least;
                most = at_ms > most ? at_ms : most;
        }
        assert_true(most <= life_ms * 2 / 3 + 1);
        assert_true(least >= life_ms * 7 / 12 - 1);
        assert_true(most - least > life_ms / 13);
}

int main(void)
{
        /* In this order: each begins where the one before it ends. */
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_node_enrols_with_a_token_and_runs_work),
                cmocka_unit_test(a_renewal_disturbs_nothing),
                cmocka_unit_test(agent_and_controller_may_end_and_come_back),
                cmocka_unit_test(a_node_that_is_shut_out_says_so_and_comes_back_with_a_token),
                cmocka_unit_test(a_join_token_is_good_for_one_key),
                cmocka_unit_test(tokens_and_certificates_are_good_for_their_node_and_nothing_else),
                cmocka_unit_test(a_node_that_left_the_pool_is_enrolled_no_longer),
                cmocka_unit_test(a_certificate_out_of_its_time_is_refused),
                cmocka_unit_test(a_connection_does_not_outlive_its_certificate),
                cmocka_unit_test(an_agent_says_why_it_has_no_certificate),
                cmocka_unit_test(an_agent_that_shows_nothing_is_told_to_join),
                cmocka_unit_test(a_node_that_the_pool_does_not_know_yet_joins_when_it_does),
                cmocka_unit_test(an_agent_whose_certificate_ran_out_waits_for_a_token),
                cmocka_unit_test(a_certificate_is_renewed_in_time),
                cmocka_unit_test(a_node_whose_clock_is_wrong_is_told_so),
                cmocka_unit_test(renewals_are_spread_over_the_last_part_of_the_life),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
