/* Bearer tokens of a real berthd: made, kept as hashes, narrowed by the policy, refused alike. */
#include "tests/unit/controller/served.h"

#include <inttypes.h>

#include "base/mem.h"

static const char pool[] = "kind: Pool\nname: small\nplanes: {training: {}}\nnodes:\n"
                           "  - {name: \"gpu-[01-03]\", plane: training, cpu: 96,"
                           " devices: {model: H100-80, count: 8}, ram: 1024Gi}\n";
#define CLASSES "kind: Policy\npreset: equal\nclasses: {training: {rank: 1}}\n" \
                "default_class: training\n" \
                "tenants: {alpha: {tenants: {one: {}, two: {}}}, zebra: {}}\n"
static const char policy[] = CLASSES "principals:\n"
                                     "  - {name: sam, tenants: {alpha: submitter}}\n"
                                     "  - {name: both, tenants: {alpha: viewer, zebra: tenant-admin}}\n"
                                     "  - {name: mona, tenants: {alpha: tenant-admin}}\n";
static const char without_sam[] = CLASSES "principals:\n"
                                          "  - {name: mona, tenants: {alpha: tenant-admin}}\n";

static struct served served;
static char told_once[80];             /* to who brought an Idempotency-Key */

static int start(void **state)
{
        (void)state;
        served_new(&served, pool, policy);
        served_start(&served, NULL);
        return 0;
}

static int stop(void **state)
{
        (void)state;
        served_done(&served);
        return 0;
}

/* Its text; the number too. */
static uint64_t make(const char *body, char text[80])
{
        json_t *made = served_json(&served, "POST", "/v1/tokens", body, 201);
        uint64_t id = (uint64_t)json_integer_value(json_object_get(made, "id"));
        snprintf(text, 80, "%s", json_string_value(json_object_get(made, "token")));
        json_decref(made);
        return id;
}

static struct asked *get_with(const char *token, const char *path)
{
        char header[128];
        snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", token);
        return served_ask(&served, "GET", path, header, NULL);
}

static unsigned submit_with(const char *token, const char *tenant)
{
        char header[128], body[256];
        snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", token);
        snprintf(body, sizeof body, "kind: Workload\nname: a\ntenant: %s\neach: {devices: 1}\n"
                                    "run: {command: [sleep, \"1000\"]}\n", tenant);
        return served_ask(&served, "POST", "/v1/workloads", header, body)->status;
}

#define SAM "{\"principal\": \"sam\", \"role\": \"submitter\", \"tenant\": \"alpha/one\"}"

static void what_is_wrong_with_a_token_is_not_told(void **state)
{
        (void)state;
        char good[80], revoked[80], expired[80], mistyped[80], path[64], body[256], when[40];
        time_t soon = time(NULL) + 5;
        struct tm tm;
        make(SAM, good);
        uint64_t id = make(SAM, revoked);
        gmtime_r(&soon, &tm);
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
        snprintf(body, sizeof body, "{\"principal\": \"sam\", \"role\": \"viewer\", \"tenant\": "
                                    "\"alpha\", \"expires\": \"%s\"}", when);
        make(body, expired);
        assert_int_equal(get_with(expired, "/v1/pool")->status, 200);
        assert_int_equal(get_with(revoked, "/v1/pool")->status, 200);
        snprintf(path, sizeof path, "/v1/tokens/%" PRIu64, id);
        json_decref(served_json(&served, "DELETE", path, NULL, 200));
        json_decref(served_json(&served, "DELETE", path, NULL, 404));
        snprintf(mistyped, sizeof mistyped, "%s", good);
        mistyped[20] = mistyped[20] == 'A' ? 'B' : 'A';
        while (time(NULL) <= soon)
                served_sleep_ms(50);
        char words[1024];
        struct asked *asked = get_with("berth_unknown", "/v1/pool");
        assert_int_equal(asked->status, 401);
        snprintf(words, sizeof words, "%s", asked->body);
        const char *const bad[] = {revoked, expired, mistyped, "", "berth_"};
        for (size_t b = 0; b < ARRAY_LEN(bad); b++) {
                asked = get_with(bad[b], "/v1/pool");
                assert_int_equal(asked->status, 401);
                assert_string_equal(asked->body, words);
        }
        /* The uid of the socket does not help who shows a bad one. */
        asked = served_ask(&served, "GET", "/v1/pool", "Authorization: Basic cm9vdDpyb290\r\n",
                           NULL);
        assert_int_equal(asked->status, 401);
        assert_string_equal(asked->body, words);
        assert_int_equal(get_with(good, "/v1/pool")->status, 200);
}

static void it_never_gives_more_than_the_policy_gives_its_principal(void **state)
{
        (void)state;
        static const struct { const char *role, *tenant; unsigned one, two, zebra; } rows[] = {
                {"submitter", "alpha/one", 201, 404, 404},
                {"submitter", "alpha", 201, 201, 404},
                {"tenant-admin", "alpha", 201, 201, 404},
                {"manager", "alpha", 201, 201, 404},    /* as it was called before */
                {"viewer", "alpha", 403, 403, 404},
        };
        char token[80], body[256];
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                snprintf(body, sizeof body, "{\"principal\": \"sam\", \"role\": \"%s\", \"tenant\": "
                                            "\"%s\"}", rows[r].role, rows[r].tenant);
                make(body, token);
                assert_int_equal(submit_with(token, "alpha/one"), rows[r].one);
                assert_int_equal(submit_with(token, "alpha/two"), rows[r].two);
                assert_int_equal(submit_with(token, "zebra"), rows[r].zebra);
        }
        /* A submitter's token called a tenant-admin's does not manage. */
        make("{\"principal\": \"sam\", \"role\": \"tenant-admin\", \"tenant\": \"alpha\"}", token);
        char header[128];
        snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", token);
        assert_int_equal(served_ask(&served, "POST", "/v1/tokens", header, SAM)->status, 403);
}

static void what_cannot_be_made_is_refused(void **state)
{
        (void)state;
        static const struct { const char *body, *says; unsigned status; } rows[] = {
                {"{\"principal\": \"sam\", \"role\": \"king\", \"tenant\": \"alpha\"}",
                 "field 'role'", 400},
                {"{\"principal\": \"sam\", \"role\": \"gateway\"}", "reserved", 400},
                {"{\"principal\": \"sam\", \"role\": \"viewer\"}", "field 'tenant'", 400},
                {"{\"principal\": \"sam\", \"role\": \"operator\", \"tenant\": \"alpha\"}",
                 "field 'tenant'", 400},
                {"{\"role\": \"agent\"}", "field 'node'", 400},
                {"{\"role\": \"agent\", \"node\": \"gpu-01\", \"nodes\": \"gpu-01\"}",
                 "write one of them", 400},
                {"{\"role\": \"viewer\", \"tenant\": \"alpha\", \"nodes\": \"gpu-01\"}",
                 "field 'nodes': role 'viewer' is of no node", 400},
                {"{\"role\": \"agent\", \"node\": \"gpu-99\"}", "no node 'gpu-99'", 404},
                {"{\"role\": \"viewer\", \"tenant\": \"alpha\"}", "field 'principal'", 400},
                {"{\"principal\": \"ghost\", \"role\": \"viewer\", \"tenant\": \"alpha\"}",
                 "no principal", 404},
                {"{\"principal\": \"sam\", \"role\": \"viewer\", \"tenant\": \"ghost\"}",
                 "no tenant 'ghost'", 404},
                {"{\"principal\": \"sam\", \"role\": \"viewer\", \"tenant\": \"alpha\", "
                 "\"expires\": \"2001-01-01T00:00Z\"}", "within the next 366 days", 400},
                {"{\"principle\": \"sam\"}", "did you mean 'principal'", 400},
                {"[]", "no JSON object", 400},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct asked *asked = served_ask(&served, "POST", "/v1/tokens", "", rows[r].body);
                check_has(asked->body, rows[r].says);
                assert_int_equal(asked->status, rows[r].status);
        }
}

/* By its key: it is made once, and its text is kept nowhere. */
static void a_repeated_request_makes_one_and_tells_it_once(void **state)
{
        (void)state;
        static const char key[] = "Idempotency-Key: token\r\n";
        struct asked *asked = served_ask(&served, "POST", "/v1/tokens", key, SAM);
        json_t *first = json_loads(asked->body, 0, NULL);
        assert_non_null(json_string_value(json_object_get(first, "token")));
        snprintf(told_once, sizeof told_once, "%s",
                 json_string_value(json_object_get(first, "token")));
        asked = served_ask(&served, "POST", "/v1/tokens", key, SAM);
        json_t *second = json_loads(asked->body, 0, NULL);
        assert_true(json_is_null(json_object_get(second, "token")));
        assert_true(json_equal(json_object_get(first, "id"), json_object_get(second, "id")));
        json_decref(first);
        json_decref(second);
}

/* Numbers of the tokens that there are. */
static size_t tokens_there(void)
{
        json_t *list = served_json(&served, "GET", "/v1/tokens", NULL, 200);
        size_t count = json_array_size(json_object_get(list, "tokens"));
        json_decref(list);
        return count;
}

static void for_several_nodes_all_are_made_or_none(void **state)
{
        (void)state;
        static const struct { const char *nodes, *says; unsigned status; } rows[] = {
                {"gpu-[01-04]", "no node 'gpu-04'; no token was made", 404},
                {"x[1-3],gpu-01,y", "no node 'x1', 'x2', 'x3', 'y'; no token", 404},
                {"x[01-99],gpu-01", "'x44' and 55 more; no token was made", 404},
                {"gpu-01,gpu-[01-02]", "field 'nodes': node 'gpu-01' is named twice", 400},
                {"gpu-[2-1]", "field 'nodes'", 400},
                {"gpu-[0001-2049]", "field 'nodes'", 400},
        };
        size_t before = tokens_there();
        char body[256], token[80];
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                snprintf(body, sizeof body, "{\"role\": \"agent\", \"nodes\": \"%s\"}",
                         rows[r].nodes);
                struct asked *asked = served_ask(&served, "POST", "/v1/tokens", "", body);
                check_has(asked->body, rows[r].says);
                assert_int_equal(asked->status, rows[r].status);
        }
        assert_int_equal(tokens_there(), before);
        static const char key[] = "Idempotency-Key: three\r\n";
        static const char three[] = "{\"role\": \"agent\", \"nodes\": \"gpu-[01-03]\"}";
        json_t *first = json_loads(served_ask(&served, "POST", "/v1/tokens", key, three)->body, 0,
                                   NULL);
        json_t *again = json_loads(served_ask(&served, "POST", "/v1/tokens", key, three)->body, 0,
                                   NULL);
        assert_int_equal(tokens_there(), before + 3);
        for (size_t t = 0; t < 3; t++) {
                json_t *one = json_array_get(json_object_get(first, "tokens"), t);
                json_t *other = json_array_get(json_object_get(again, "tokens"), t);
                char name[16], path[64];
                snprintf(name, sizeof name, "gpu-%02zu", t + 1);
                assert_string_equal(json_string_value(json_object_get(one, "node")), name);
                assert_true(json_equal(json_object_get(one, "id"), json_object_get(other, "id")));
                assert_true(json_is_null(json_object_get(other, "token")));
                snprintf(token, sizeof token, "%s",
                         json_string_value(json_object_get(one, "token")));
                snprintf(path, sizeof path, "/v1/nodes/%s/exchange", name);
                char header[160];
                snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", token);
                static const char hello[] = "{\"agent\": \"0.1.0\", \"protocol\": 1, "
                                            "\"protocols\": [1, 1], \"boot\": \"b\", \"seen\": 0, "
                                            "\"runs\": []}";
                /* Nodes here are simulated; it is let through to be told so. */
                assert_int_equal(served_ask(&served, "POST", path, header, hello)->status, 404);
                snprintf(path, sizeof path, "/v1/nodes/gpu-0%zu/exchange", t == 0 ? t + 2 : t);
                assert_int_equal(served_ask(&served, "POST", path, header, hello)->status, 403);
        }
        json_decref(first);
        json_decref(again);
}

/* Whoever acts for other tenants too would lend their user to the tenant-admin. */
static void a_tenant_admin_makes_tokens_for_its_own_people_only(void **state)
{
        (void)state;
        static const struct { const char *body; unsigned status; } rows[] = {
                {SAM, 201},
                {"{\"principal\": \"mona\", \"role\": \"tenant-admin\", \"tenant\": \"alpha/two\"}", 201},
                {"{\"principal\": \"both\", \"role\": \"viewer\", \"tenant\": \"alpha\"}", 404},
                {"{\"principal\": \"sam\", \"role\": \"viewer\", \"tenant\": \"zebra\"}", 404},
                {"{\"principal\": \"sam\", \"role\": \"operator\"}", 403},
                {"{\"principal\": \"x\", \"role\": \"auditor\"}", 403},
                {"{\"role\": \"agent\", \"node\": \"gpu-01\"}", 403},
        };
        char mona[80], header[128], both[80];
        make("{\"principal\": \"mona\", \"role\": \"tenant-admin\", \"tenant\": \"alpha\"}", mona);
        make("{\"principal\": \"both\", \"role\": \"tenant-admin\", \"tenant\": \"zebra\"}", both);
        snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", mona);
        for (size_t r = 0; r < ARRAY_LEN(rows); r++)
                assert_int_equal(served_ask(&served, "POST", "/v1/tokens", header,
                                            rows[r].body)->status, rows[r].status);
        struct asked *asked = served_ask(&served, "GET", "/v1/tokens", header, NULL);
        assert_null(strstr(asked->body, "zebra"));
        assert_non_null(strstr(asked->body, "\"sam\""));
}

static void only_its_hash_is_kept_and_it_outlives_a_kill(void **state)
{
        (void)state;
        static const char *const ends[] = {"", "-wal"};
        char token[80], path[128];
        make(SAM, token);
        served_end(&served, SIGKILL);
        for (size_t e = 0; e < ARRAY_LEN(ends); e++) {
                char *bytes;
                size_t size;
                snprintf(path, sizeof path, "%s%s", served.store, ends[e]);
                if (file_read(path, 1u << 30, &bytes, &size, NULL) < 0)
                        continue;
                assert_null(memmem(bytes, size, token, strlen(token)));
                assert_null(memmem(bytes, size, token + 6, 40));
                assert_null(memmem(bytes, size, told_once + 6, 40));
                mem_free(bytes);
        }
        served_start(&served, NULL);
        assert_int_equal(get_with(token, "/v1/pool")->status, 200);
        assert_null(strstr(served_ask(&served, "GET", "/v1/tokens", "", NULL)->body, token));
}

static void a_stream_ends_with_its_token(void **state)
{
        (void)state;
        char token[80], header[128], path[64];
        struct text text = {0};
        uint64_t id = make(SAM, token);
        snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", token);
        int fd = served_follow(&served, "/v1/events", header);
        assert_true(served_hear(fd, &text, "retry:", SERVED_PATIENCE_MS));
        snprintf(path, sizeof path, "/v1/tokens/%" PRIu64, id);
        json_decref(served_json(&served, "DELETE", path, NULL, 200));
        assert_true(served_hear(fd, &text, NULL, SERVED_PATIENCE_MS));
        close(fd);
        text_done(&text);
}

static void who_leaves_the_policy_leaves_with_every_token(void **state)
{
        (void)state;
        char token[80];
        make(SAM, token);
        assert_int_equal(get_with(token, "/v1/pool")->status, 200);
        json_decref(served_json(&served, "PUT", "/v1/policy", without_sam, 200));
        assert_int_equal(get_with(token, "/v1/pool")->status, 403);
        json_t *revisions = served_json(&served, "GET", "/v1/policy/revisions", NULL, 200);
        assert_int_equal(json_array_size(json_object_get(revisions, "revisions")), 2);
        json_decref(revisions);
        json_decref(served_json(&served, "POST", "/v1/policy/rollback", "{\"revision\": 9}", 404));
        struct asked *back = served_ask(&served, "POST", "/v1/policy/rollback",
                                        "Berth-Reason: sam is \"back\"\r\n", "{\"revision\": 1}");
        check_has(back->body, "\"revision\":3");
        back = served_ask(&served, "GET", "/v1/policy/revisions?limit=2", "", NULL);
        check_has(back->body, "\"reason\":\"sam is \\\"back\\\"\",\"in_force\":true");
        check_has(back->body, "\"reason\":null,\"in_force\":false");
        assert_int_equal(get_with(token, "/v1/pool")->status, 200);
        struct asked *asked = served_ask(&served, "GET", "/v1/policy", "", NULL);
        assert_string_equal(asked->body, policy);
        asked = served_ask(&served, "GET", "/v1/policy?revision=2", "", NULL);
        assert_string_equal(asked->body, without_sam);
}

/* ---- idempotency keys, on every call that changes something ---- */

static void a_repeated_change_is_made_once(void **state)
{
        (void)state;
        char path[64], first[4096];
        uint64_t id = served_submit(&served, "k", "alpha", 1, "1000");
        snprintf(path, sizeof path, "/v1/workloads/%" PRIu64, id);
        const struct { const char *method, *path, *body, *other; } rows[] = {
                {"POST", "/v1/nodes/gpu-01/drain", "{}", "{\"by\": \"2099-01-01T00:00Z\"}"},
                {"POST", "/v1/freeze", "{\"frozen\": true}", "{\"frozen\": false}"},
                {"PUT", "/v1/policy", policy, without_sam},
                {"POST", "/v1/workloads", "kind: Workload\nname: a\ntenant: alpha\n"
                                          "each: {devices: 1}\nrun: {command: [sleep, \"1\"]}\n",
                 "kind: Workload\nname: b\ntenant: alpha\neach: {devices: 1}\n"
                 "run: {command: [sleep, \"1\"]}\n"},
                {"DELETE", path, "", "{}"},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                char header[64];
                snprintf(header, sizeof header, "Idempotency-Key: key-%zu\r\n", r);
                struct asked *asked = served_ask(&served, rows[r].method, rows[r].path, header,
                                                 rows[r].body);
                assert_in_range(asked->status, 200, 201);
                snprintf(first, sizeof first, "%u %s", asked->status, asked->body);
                for (int again = 0; again < 2; again++) {
                        char repeated[4096];
                        if (again == 1 && r == 2) {     /* also after a crash */
                                served_end(&served, SIGKILL);
                                served_start(&served, NULL);
                        }
                        asked = served_ask(&served, rows[r].method, rows[r].path, header,
                                           rows[r].body);
                        snprintf(repeated, sizeof repeated, "%u %s", asked->status, asked->body);
                        assert_string_equal(repeated, first);
                }
                asked = served_ask(&served, rows[r].method, rows[r].path, header, rows[r].other);
                assert_int_equal(asked->status, 409);
        }
}

static void one_person_asks_only_so_often(void **state)
{
        (void)state;
        static const char *const slow[] = {"--requests-per-s", "50", NULL};
        char token[80];
        make("{\"principal\": \"audrey\", \"role\": \"auditor\"}", token);
        served_end(&served, SIGTERM);
        served_start(&served, slow);
        unsigned refused = 0;
        for (int i = 0; i < 200; i++)
                refused += get_with(token, "/v1/version")->status == 429;
        assert_true(refused > 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_wrong_with_a_token_is_not_told),
                cmocka_unit_test(it_never_gives_more_than_the_policy_gives_its_principal),
                cmocka_unit_test(what_cannot_be_made_is_refused),
                cmocka_unit_test(a_repeated_request_makes_one_and_tells_it_once),
                cmocka_unit_test(for_several_nodes_all_are_made_or_none),
                cmocka_unit_test(a_tenant_admin_makes_tokens_for_its_own_people_only),
                cmocka_unit_test(only_its_hash_is_kept_and_it_outlives_a_kill),
                cmocka_unit_test(a_stream_ends_with_its_token),
                cmocka_unit_test(who_leaves_the_policy_leaves_with_every_token),
                cmocka_unit_test(a_repeated_change_is_made_once),
                cmocka_unit_test(one_person_asks_only_so_often),
        };
        return cmocka_run_group_tests(tests, start, stop);
}
