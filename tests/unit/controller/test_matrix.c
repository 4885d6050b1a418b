/* Every route, asked by every role, about its own tenant and about another one: who may what, and
 * nobody hears of others. A route that is not in the table fails. */
#include "tests/unit/controller/served.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/api.h"
#include "tests/unit/net/certificate.h"

/* What belongs to the other tenant is told by its names. */
static const char pool[] = "kind: Pool\nname: small\nplanes: {training: {}}\nnodes:\n"
                           "  - {name: \"gpu-[01-02]\", plane: training,"
                           " devices: {model: H100-80, count: 8}, cpu: 96, ram: 1024Gi}\n";
static const char policy[] =
        "kind: Policy\npreset: equal\nclasses: {training: {rank: 1}}\ndefault_class: training\n"
        "tenants: {alpha: {tenants: {one: {}}}, zebra: {}}\n"
        "principals:\n"
        "  - {name: vera, tenants: {alpha: viewer}}\n"
        "  - {name: sam, tenants: {alpha: submitter}}\n"
        "  - {name: mona, tenants: {alpha: tenant-admin}}\n"
        "  - {name: zoe, tenants: {zebra: tenant-admin}}\n";

enum role { VIEWER, SUBMITTER, TENANT_ADMIN, AUDITOR, OPERATOR, AGENT, JOIN, ROLES };

static const struct { const char *principal, *role, *tenant; } holders[ROLES] = {
        [VIEWER] = {"vera", "viewer", "alpha"},      [SUBMITTER] = {"sam", "submitter", "alpha"},
        [TENANT_ADMIN] = {"mona", "tenant-admin", "alpha"},    [AUDITOR] = {"audrey", "auditor", NULL},
        [OPERATOR] = {"oscar", "operator", NULL},    [AGENT] = {NULL, "agent", NULL},
        [JOIN] = {NULL, "join", NULL},
};

static struct served served;
static char headers[ROLES][128], foreign_header[128];

/* What a route asks of who calls it. */
enum right {
        PUBLIC,         /* nothing at all */
        ANYONE,         /* some role, of a tenant or the pool */
        SEE,            /* to see the workload */
        OWN,            /* that it is one's own, or to manage its tenant */
        SUBMIT, SEE_ALL, OPERATE, NODE,
        ENROL,          /* that it is the node itself */
        MAKE_TOKEN, REVOKE,
        SESSION,        /* that it is one's own: here it is nobody's (test_attach.c) */
};

/* What comes of it. */
enum { GOES, DENIED, HIDDEN };

/* The rows are ROLES in order; own first, then of the other tenant. */
static const unsigned char wanted[][2][ROLES] = {
        [PUBLIC] = {{GOES, GOES, GOES, GOES, GOES, GOES, GOES},
                    {GOES, GOES, GOES, GOES, GOES, GOES, GOES}},
        [ANYONE] = {{GOES, GOES, GOES, GOES, GOES, DENIED, DENIED},
                    {GOES, GOES, GOES, GOES, GOES, DENIED, DENIED}},
        [SEE] = {{GOES, GOES, GOES, GOES, GOES, DENIED, DENIED},
                 {HIDDEN, HIDDEN, HIDDEN, GOES, GOES, DENIED, DENIED}},
        [OWN] = {{DENIED, GOES, GOES, DENIED, GOES, DENIED, DENIED},
                 {HIDDEN, HIDDEN, HIDDEN, DENIED, GOES, DENIED, DENIED}},
        [SUBMIT] = {{DENIED, GOES, GOES, DENIED, GOES, DENIED, DENIED},
                    {HIDDEN, HIDDEN, HIDDEN, DENIED, GOES, DENIED, DENIED}},
        [SEE_ALL] = {{DENIED, DENIED, DENIED, GOES, GOES, DENIED, DENIED},
                     {DENIED, DENIED, DENIED, GOES, GOES, DENIED, DENIED}},
        [OPERATE] = {{DENIED, DENIED, DENIED, DENIED, GOES, DENIED, DENIED},
                     {DENIED, DENIED, DENIED, DENIED, GOES, DENIED, DENIED}},
        /* "Other" is another node's. */
        [NODE] = {{DENIED, DENIED, DENIED, DENIED, GOES, GOES, DENIED},
                  {DENIED, DENIED, DENIED, DENIED, GOES, DENIED, DENIED}},
        [ENROL] = {{DENIED, DENIED, DENIED, DENIED, DENIED, DENIED, GOES},
                   {DENIED, DENIED, DENIED, DENIED, DENIED, DENIED, DENIED}},
        [MAKE_TOKEN] = {{DENIED, DENIED, GOES, DENIED, GOES, DENIED, DENIED},
                        {HIDDEN, HIDDEN, HIDDEN, DENIED, GOES, DENIED, DENIED}},
        [SESSION] = {{HIDDEN, HIDDEN, HIDDEN, HIDDEN, HIDDEN, DENIED, DENIED},
                     {HIDDEN, HIDDEN, HIDDEN, HIDDEN, HIDDEN, DENIED, DENIED}},
        [REVOKE] = {{HIDDEN, HIDDEN, GOES, HIDDEN, GOES, DENIED, DENIED},
                    {HIDDEN, HIDDEN, HIDDEN, HIDDEN, GOES, DENIED, DENIED}},
};

static const struct row {
        const char *operation;
        enum right right;
        const char *query, *body;
        bool waits;                     /* its answer is a stream, or an agent's to give */
} rows[] = {
        {"postWorkload", SUBMIT, "", "", false},
        {"getWorkloads", ANYONE, "?state=all&why=true", NULL, false},
        {"getWorkload", SEE, "", NULL, false},
        {"putWorkload", SUBMIT, "", "", false},
        {"deleteWorkload", OWN, "", NULL, false},
        {"getExplanation", SEE, "", NULL, false},
        {"getLogs", SEE, "", NULL, true},
        {"postAttach", OWN, "", "{}", false},
        {"getAttachOutput", SESSION, "", NULL, false},
        {"postAttachInput", SESSION, "", "x", false},
        {"deleteAttach", SESSION, "", NULL, false},
        {"getAttachInput", NODE, "", NULL, false},
        {"postAttachOutput", NODE, "", "x", false},
        {"postHold", OWN, "", "", false},
        {"postRelease", OWN, "", "", false},
        {"postRestart", OWN, "", "", false},
        {"postPreempt", OPERATE, "", "", false},
        {"postMove", OWN, "?dry_run=true", "{}", false},
        {"getQueue", ANYONE, "", NULL, false},
        {"getPool", ANYONE, "", NULL, false},
        {"getPoolDocument", SEE_ALL, "", NULL, false},
        {"putPoolDocument", OPERATE, "?dry_run=true", "kind: Nothing\n", false},
        {"getPolicy", SEE_ALL, "", NULL, false},
        {"putPolicy", OPERATE, "?dry_run=true", "kind: Nothing\n", false},
        {"getPolicyRevisions", SEE_ALL, "", NULL, false},
        {"postRollback", OPERATE, "?dry_run=true", "{\"revision\": 1}", false},
        {"getReservations", ANYONE, "", NULL, false},
        {"putReservation", OPERATE, "?dry_run=true", "kind: Nothing\n", false},
        {"deleteReservation", OPERATE, "?dry_run=true", NULL, false},
        {"getMaintenance", ANYONE, "", NULL, false},
        {"putMaintenance", OPERATE, "?dry_run=true", "kind: Nothing\n", false},
        {"deleteMaintenance", OPERATE, "?dry_run=true", NULL, false},
        {"getNodes", ANYONE, "", NULL, false},
        {"postDrain", OPERATE, "", "{}", false},
        {"postUndrain", OPERATE, "", "{}", false},
        {"postLost", OPERATE, "", "{}", false},
        {"postExchange", NODE, "", "{}", false},
        {"postAnswer", NODE, "", "x", false},
        {"postCertificate", ENROL, "", "{}", false},
        {"deleteCertificate", OPERATE, "", NULL, false},
        {"postFreeze", OPERATE, "", "{\"frozen\": false}", false},
        {"getIdle", SEE_ALL, "", NULL, false},
        {"getFits", ANYONE, "", NULL, false},
        {"getTenants", ANYONE, "", NULL, false},
        {"getNotices", ANYONE, "", NULL, false},
        {"getAlerts", ANYONE, "?state=all", NULL, false},
        {"postAcknowledge", OPERATE, "", "", false},
        {"getUsage", ANYONE, "?by=tenant,class", NULL, false},
        {"getReview", ANYONE, "?by=tenant,class", NULL, false},
        {"getEvents", ANYONE, "?after=0", NULL, true},
        {"postToken", MAKE_TOKEN, "", "", false},
        {"getTokens", ANYONE, "", NULL, false},
        {"deleteToken", REVOKE, "", NULL, false},
        {"getQuarantine", SEE_ALL, "", NULL, false},
        {"deleteQuarantine", OPERATE, "", NULL, false},
        {"getVersion", ANYONE, "", NULL, false},
        {"getOpenapi", ANYONE, "", NULL, false},
        {"getMetrics", SEE_ALL, "", NULL, false},
        {"getHealth", PUBLIC, "", NULL, false},
        {"getReady", PUBLIC, "", NULL, false},
};

/* ---- the world ---- */

/* A token's text as a header; made by the local user, who operates. */
static void make_token(const char *principal, const char *role, const char *tenant,
                       const char *node, char header[128], uint64_t *ret_id)
{
        json_t *wish = json_object();
        json_object_set_new(wish, "role", json_string(role));
        if (principal)
                json_object_set_new(wish, "principal", json_string(principal));
        if (tenant)
                json_object_set_new(wish, "tenant", json_string(tenant));
        if (node)
                json_object_set_new(wish, "node", json_string(node));
        char *body = json_dumps(wish, 0);
        json_t *made = served_json(&served, "POST", "/v1/tokens", body, 201);
        if (header)
                snprintf(header, 128, "Authorization: Bearer %s\r\n",
                         json_string_value(json_object_get(made, "token")));
        if (ret_id)
                *ret_id = (uint64_t)json_integer_value(json_object_get(made, "id"));
        free(body);
        json_decref(wish);
        json_decref(made);
}

static uint64_t submit_as(const char *header, const char *name, const char *tenant)
{
        char body[256];
        snprintf(body, sizeof body, "kind: Workload\nname: %s\ntenant: %s\neach: {devices: 1}\n"
                                    "run: {command: [sleep, \"1000\"]}\n", name, tenant);
        struct asked *asked = served_ask(&served, "POST", "/v1/workloads", header, body);
        if (asked->status != 201)
                fail_msg("%u %s", asked->status, asked->body);
        json_t *json = json_loads(asked->body, 0, NULL);
        uint64_t id = (uint64_t)json_integer_value(json_object_get(json, "id"));
        json_decref(json);
        return id;
}

static int start(void **state)
{
        static struct test_certificate certificate;
        char cert[96], key[96];
        (void)state;
        served_new(&served, pool, policy);
        test_certificate_make("berthd", NULL, 10, &certificate);
        served_write(&served, "cert.pem", certificate.certificate);
        served_write(&served, "key.pem", certificate.key);
        snprintf(cert, sizeof cert, "%s/cert.pem", served.folder);
        snprintf(key, sizeof key, "%s/key.pem", served.folder);
        const char *const more[] = {"--listen", "tcp:127.0.0.1:0", "--tls-cert", cert, "--tls-key",
                                    key, NULL};
        served_start(&served, more);    /* nodes enrol only where there is TLS */
        for (unsigned r = 0; r < ROLES; r++)
                make_token(holders[r].principal, holders[r].role, holders[r].tenant,
                           r >= AGENT ? "gpu-01" : NULL, headers[r], NULL);
        make_token("zoe", "tenant-admin", "zebra", NULL, foreign_header, NULL);
        return 0;
}

static int stop(void **state)
{
        (void)state;
        served_done(&served);
        return 0;
}

/* ---- asking ---- */

/* The pattern with what it is about: a workload, node, request or token. */
static void fill(const struct route *route, const struct row *row, bool foreign, char path[256])
{
        char id[24] = "", *at = path;
        if (strstr(route->pattern, "/tokens/{id}")) {
                uint64_t token;
                make_token(foreign ? "zoe" : "vera", "viewer", foreign ? "zebra" : "alpha", NULL,
                           NULL, &token);
                snprintf(id, sizeof id, "%" PRIu64, token);
        } else if (strstr(route->pattern, "/quarantine/{id}")) {
                sprintf(id, "1");               /* there is none; nobody but operators hears so */
        } else if (str_equal(row->operation, "putWorkload")) {
                snprintf(id, sizeof id, "put");
        } else if (strstr(route->pattern, "{id}")) {
                uint64_t work = foreign ? submit_as(foreign_header, "zebra-secret", "zebra")
                                        : submit_as(headers[SUBMITTER], "ours", "alpha/one");
                snprintf(id, sizeof id, "%" PRIu64, work);
        }
        for (const char *from = route->pattern; *from;) {
                const char *node = foreign ? "gpu-02" : "gpu-01";
                const char *value = strncmp(from, "{id}", 4) == 0        ? id
                                    : strncmp(from, "{node}", 6) == 0    ? node
                                    : strncmp(from, "{name}", 6) == 0    ? "planned"
                                    : strncmp(from, "{request}", 9) == 0 ? "1"
                                    : strncmp(from, "{session}", 9) == 0 ? "0a1b"
                                                                         : NULL;
                if (!value) {
                        *at++ = *from++;
                        continue;
                }
                at += sprintf(at, "%s", value);
                from = strchr(from, '}') + 1;
        }
        sprintf(at, "%s", row->query);
}

/* What does not end is read for a while. */
static struct asked *ask_a_while(const char *path, const char *header)
{
        static struct asked asked;
        struct text text = {0};
        int fd = served_follow(&served, path, header);
        for (int n = 0; n < 2; n++)     /* who comes later is answered: it has been looked at */
                served_ask(&served, "GET", "/v1/version", "", NULL);
        for (int pieces = 0; pieces < 3 && served_hear_once(fd, &text, 60); pieces++)
                ;
        close(fd);
        asked = (struct asked){0};
        if (text.bytes) {
                assert_int_equal(sscanf(text.bytes, "HTTP/1.%*d %u", &asked.status), 1);
                snprintf(asked.body, sizeof asked.body, "%s", text.bytes);
        } else {
                asked.status = 200;     /* it was let in, and waits */
        }
        text_done(&text);
        return &asked;
}

static struct asked *ask(const struct route *route, const struct row *row, bool foreign,
                         const char *header)
{
        char path[256], body[512];
        const char *tenant = foreign ? "zebra" : "alpha";
        fill(route, row, foreign, path);
        if (row->waits)
                return ask_a_while(path, header);
        if (!row->body)
                return served_ask(&served, http_method_name(route->method), path, header, NULL);
        if (str_equal(row->operation, "postToken"))
                snprintf(body, sizeof body,
                         "{\"principal\": \"%s\", \"role\": \"viewer\", \"tenant\": \"%s\"}",
                         foreign ? "zoe" : "vera", tenant);
        else if (str_equal(row->operation, "postWorkload") ||
                 str_equal(row->operation, "putWorkload"))
                snprintf(body, sizeof body,
                         "kind: Workload\nname: %s\ntenant: %s\neach: {devices: 1}\n"
                         "run: {command: [sleep, \"1000\"]}\n",
                         route->method == HTTP_PUT ? "put" : "made", tenant);
        else
                snprintf(body, sizeof body, "%s", row->body);
        return served_ask(&served, http_method_name(route->method), path, header, body);
}

static const struct row *row_of(const char *operation)
{
        for (size_t r = 0; r < ARRAY_LEN(rows); r++)
                if (str_equal(rows[r].operation, operation))
                        return &rows[r];
        fail_msg("who may '%s'? add it to the table", operation);
        return NULL;
}

static void check(const struct row *row, unsigned role, bool foreign, const struct asked *asked)
{
        unsigned want = wanted[row->right][foreign][role];
        unsigned status = asked->status;
        bool hidden = status == 404 && strstr(asked->body, "not for");
        unsigned got = status == 403 ? DENIED : hidden ? HIDDEN : GOES;

        /* Who may not even see it, is told so first. */
        if (row->right == OPERATE && strstr(row->operation, "postPreempt") && foreign &&
            role <= TENANT_ADMIN)
                want = HIDDEN;
        if (status == 401 || status >= 500 || got != want)
                fail_msg("%s by %s, %s: %u %s", row->operation, holders[role].role,
                         foreign ? "another's" : "its own", status, asked->body);
        if (role > TENANT_ADMIN)
                return;
        /* The refusal says back what was asked for, and no more. */
        bool echoes = foreign && (row->right == SUBMIT || row->right == MAKE_TOKEN);
        if (!echoes && (strstr(asked->body, "zebra") || strstr(asked->body, "zoe")))
                fail_msg("%s by %s tells of others: %s", row->operation, holders[role].role,
                         asked->body);
}

static void every_route_by_every_role(void **state)
{
        (void)state;
        unsigned asked = 0;
        submit_as(foreign_header, "zebra-secret", "zebra");
        for (size_t r = 0; r < api_routes_count; r++) {
                const struct row *row = row_of(api_routes[r].operation);
                for (unsigned role = 0; role < ROLES; role++)
                        for (unsigned foreign = 0; foreign < 2; foreign++, asked++)
                                check(row, role, foreign,
                                      ask(&api_routes[r], row, foreign, headers[role]));
        }
        assert_int_equal(ARRAY_LEN(rows), api_routes_count);
        assert_int_equal(asked, api_routes_count * ROLES * 2);
}

/* Who may hear of the past is who may hear of now. */
static void the_past_is_for_the_same_roles(void **state)
{
        (void)state;
        for (size_t r = 0; r < api_routes_count; r++) {
                const char *operation = api_routes[r].operation;
                struct row row = *row_of(operation);
                if (!str_equal(operation, "getExplanation") && !str_equal(operation, "getIdle"))
                        continue;
                row.query = "?at=-0s";
                for (unsigned role = 0; role < ROLES; role++)
                        for (unsigned foreign = 0; foreign < 2; foreign++) {
                                struct asked *it = ask(&api_routes[r], &row, foreign,
                                                       headers[role]);
                                check(&row, role, foreign, it);
                                if (wanted[row.right][foreign][role] == GOES)
                                        assert_int_equal(it->status, 200);
                        }
        }
}

/* As docs/api.md writes it: in backquotes, without /v1, queries behind it. */
static void the_page_names_every_route(void **state)
{
        (void)state;
        char path[512], *page;
        size_t size;
        snprintf(path, sizeof path, "%s/docs/api.md", getenv("BERTH_SOURCE"));
        assert_int_equal(file_read(path, 1 << 20, &page, &size, NULL), 0);
        for (size_t r = 0; r < api_routes_count; r++) {
                char call[256];
                const char *pattern = api_routes[r].pattern;
                snprintf(call, sizeof call, "`%s %s", http_method_name(api_routes[r].method),
                         strncmp(pattern, "/v1", 3) == 0 ? pattern + 3 : pattern);
                const char *at = page;
                while ((at = strstr(at, call)) && !strchr("`?", at[strlen(call)]))
                        at++;
                if (!at)
                        fail_msg("docs/api.md does not have %s`", call);
        }
        mem_free(page);
}

/* The foreign tenant in a query: as if it were not there. */
static void a_tenant_that_is_asked_for_is_seen_only_by_its_own(void **state)
{
        (void)state;
        static const char *const paths[] = {
                "/v1/queue?tenant=zebra", "/v1/tenants?tenant=zebra", "/v1/notices?tenant=zebra",
                "/v1/usage?tenant=zebra", "/v1/fits?tenant=zebra",    "/v1/events?tenant=zebra",
                "/v1/reservations?tenant=zebra",
                "/v1/review?tenant=zebra",
        };
        for (size_t p = 0; p < ARRAY_LEN(paths); p++)
                for (unsigned role = 0; role <= TENANT_ADMIN; role++) {
                        char other[64], words[1024];
                        struct asked *it = served_ask(&served, "GET", paths[p], headers[role], NULL);
                        assert_int_equal(it->status, 404);
                        snprintf(words, sizeof words, "%s", it->body);
                        /* One that does not exist is answered in the same words. */
                        snprintf(other, sizeof other, "%.*sghost", (int)(strlen(paths[p]) - 5),
                                 paths[p]);
                        it = served_ask(&served, "GET", other, headers[role], NULL);
                        assert_int_equal(it->status, 404);
                        for (char *at; (at = strstr(words, "zebra"));)
                                memcpy(at, "ghost", 5);
                        assert_string_equal(it->body, words);
                }
        struct asked *it = served_ask(&served, "GET", "/v1/workloads?tenant=zebra&state=all&why=true",
                                      headers[TENANT_ADMIN], NULL);
        assert_string_equal(it->body, "{\"workloads\":[]}");
}

/* A document of a tenant that is another's, and of one that is none. */
static void a_tenant_that_a_document_names_is_hidden_alike(void **state)
{
        (void)state;
        static const struct {
                const char *method, *path;
        } calls[] = {{"POST", "/v1/workloads"},
                     {"POST", "/v1/workloads?dry_run=true&forecast=false"},
                     {"PUT", "/v1/workloads/any"}};
        static const char *const tenants[] = {"zebra", "ghost", "alpha/ghost"};
        for (size_t c = 0; c < ARRAY_LEN(calls); c++)
                for (unsigned role = 0; role <= TENANT_ADMIN; role++)
                        for (size_t t = 0; t < ARRAY_LEN(tenants); t++) {
                                char body[256], hidden[96];
                                snprintf(body, sizeof body,
                                         "kind: Workload\nname: any\ntenant: %s\nclass: none\n"
                                         "each: {cpu: 1}\nrun: {command: [sleep]}\n",
                                         tenants[t]);
                                struct asked *it = served_ask(&served, calls[c].method,
                                                              calls[c].path, headers[role], body);
                                snprintf(hidden, sizeof hidden,
                                         "\"detail\":\"%s is not here, or not for ", tenants[t]);
                                assert_int_equal(it->status, 404);
                                check_has(it->body, hidden);
                        }
}

static void work_of_others_and_work_that_is_not_are_the_same(void **state)
{
        (void)state;
        char path[64], words[1024], want[1024];
        uint64_t id = submit_as(foreign_header, "zebra-secret", "zebra");
        snprintf(path, sizeof path, "/v1/workloads/%" PRIu64, id);
        snprintf(words, sizeof words, "%s",
                 served_ask(&served, "GET", path, headers[TENANT_ADMIN], NULL)->body);
        struct asked *none = served_ask(&served, "GET", "/v1/workloads/987654321",
                                        headers[TENANT_ADMIN], NULL);
        char *at = strstr(words, path + strlen("/v1/workloads/"));
        assert_non_null(at);
        snprintf(want, sizeof want, "%.*s987654321%s", (int)(at - words), words,
                 at + strlen(path + strlen("/v1/workloads/")));
        assert_string_equal(none->body, want);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_route_by_every_role),
                cmocka_unit_test(the_past_is_for_the_same_roles),
                cmocka_unit_test(the_page_names_every_route),
                cmocka_unit_test(a_tenant_that_is_asked_for_is_seen_only_by_its_own),
                cmocka_unit_test(a_tenant_that_a_document_names_is_hidden_alike),
                cmocka_unit_test(work_of_others_and_work_that_is_not_are_the_same),
        };
        return cmocka_run_group_tests(tests, start, stop);
}
