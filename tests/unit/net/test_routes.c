#include "tests/unit/check.h"

#include "base/err.h"
#include "base/mem.h"
#include "net/routes.h"

static void never(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        (void)exchange;
        (void)match;
        (void)arg;
}

static const struct route table[] = {
        {HTTP_GET, "/v1/workloads", "listWorkloads", never, NULL},
        {HTTP_POST, "/v1/workloads", "submitWorkload", never, NULL},
        {HTTP_GET, "/v1/workloads/{name}", "getWorkload", never, NULL},
        {HTTP_DELETE, "/v1/workloads/{name}", "cancelWorkload", never, NULL},
        {HTTP_GET, "/v1/workloads/waiting", "listWaiting", never, NULL},
        {HTTP_GET, "/v1/tenants/{tenant}/members/{member}", "getMember", never, NULL},
        {HTTP_HEAD, "/v1/health", "pingHealth", never, NULL},
        {HTTP_GET, "/v1/health", "getHealth", never, NULL},
        {HTTP_GET, "/", "getRoot", never, NULL},
};

static void a_query_is_the_routes(void **state)
{
        (void)state;
        static const struct route any = {.pattern = "/a"};
        static const struct route none = {.pattern = "/a", .queries = ""};
        static const struct route two = {.pattern = "/a", .queries = "dry_run tenant"};
        struct err err;

        assert_int_equal(routes_query_check(&any, "dryrun=true", &err), 0);
        assert_int_equal(routes_query_check(&none, "", &err), 0);
        assert_int_equal(routes_query_check(&none, "dryrun=true", &err), -ERR_INPUT);
        assert_int_equal(routes_query_check(&two, "tenant=a&dry_run=true", &err), 0);
        assert_int_equal(routes_query_check(&two, "dryrun=true", &err), -ERR_INPUT);
        check_has(err.text, "unknown field 'dryrun' in the query; did you mean 'dry_run'?");
        assert_int_equal(routes_query_check(&two, "tenant=a&tenant=b", &err), -ERR_INPUT);
}

static void queries_of_a_table_have_bounds(void **state)
{
        (void)state;
        char most[ROUTE_QUERIES_MAX * 2 + 3] = "";
        struct route route = {HTTP_GET, "/a", "getA", never, most};
        struct err err;

        for (int i = 0; i < ROUTE_QUERIES_MAX; i++)
                memcpy(most + i * 2, "a ", 3);
        assert_int_equal(routes_check(&route, 1, &err), 0);
        memcpy(most + (ptrdiff_t)ROUTE_QUERIES_MAX * 2, "a", 2);
        assert_int_equal(routes_check(&route, 1, &err), -ERR_INPUT);
}


static void paths_find_their_operation(void **state)
{
        (void)state;
        static const struct {
                enum http_method method;
                const char *path;
                const char *operation; /* NULL: none */
                const char *allow;
        } rows[] = {
                {HTTP_GET, "/v1/workloads", "listWorkloads", "GET, HEAD, POST"},
                {HTTP_POST, "/v1/workloads", "submitWorkload", "GET, HEAD, POST"},
                {HTTP_HEAD, "/v1/workloads", "listWorkloads", "GET, HEAD, POST"},
                {HTTP_PUT, "/v1/workloads", NULL, "GET, HEAD, POST"},
                {HTTP_OTHER, "/v1/workloads", NULL, "GET, HEAD, POST"},
                {HTTP_GET, "/v1/workloads/llama", "getWorkload", "GET, HEAD, DELETE"},
                {HTTP_DELETE, "/v1/workloads/llama", "cancelWorkload", "GET, HEAD, DELETE"},
                {HTTP_GET, "/v1/workloads/waiting", "listWaiting", "GET, HEAD, DELETE"},
                {HTTP_DELETE, "/v1/workloads/waiting", "cancelWorkload", "GET, HEAD, DELETE"},
                {HTTP_GET, "/v1/workloads/", NULL, ""},
                {HTTP_GET, "/v1/workloads/a/b", NULL, ""},
                {HTTP_GET, "/v1/workloads/a%2Fb", "getWorkload", "GET, HEAD, DELETE"},
                {HTTP_GET, "/v1/WORKLOADS", NULL, ""},
                {HTTP_GET, "/v1/tenants/a/members/b", "getMember", "GET, HEAD"},
                {HTTP_GET, "/v1/tenants//members/b", NULL, ""},
                {HTTP_HEAD, "/v1/health", "pingHealth", "GET, HEAD"},
                {HTTP_GET, "/v1/health", "getHealth", "GET, HEAD"},
                {HTTP_GET, "/", "getRoot", "GET, HEAD"},
                {HTTP_GET, "//", NULL, ""},
                {HTTP_GET, "", NULL, ""},
                {HTTP_GET, "*", NULL, ""},
                {HTTP_GET, "v1/workloads", NULL, ""},
                {HTTP_GET, "/v1/workloads/{name}", "getWorkload", "GET, HEAD, DELETE"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct route_match match;
                struct err err = {0};
                char allow[ROUTE_ALLOW_MAX];
                int rc = routes_match(table, ARRAY_LEN(table), rows[i].method, rows[i].path, &match,
                                      &err);
                if (rc != (rows[i].operation ? 0 : -ERR_NOT_FOUND))
                        fail_msg("row %zu: %d %s", i, rc, err.text);
                if (rows[i].operation)
                        assert_string_equal(match.route->operation, rows[i].operation);
                else
                        assert_null(match.route);
                assert_string_equal(routes_allow(match.allowed, allow), rows[i].allow);
        }
}

static void parameters_are_decoded(void **state)
{
        (void)state;
        struct route_match match;
        struct err err;
        char path[ROUTE_PARAM_BYTES_MAX + 64] = "/v1/workloads/";
        assert_int_equal(routes_match(table, ARRAY_LEN(table), HTTP_GET,
                                      "/v1/tenants/research%2Fnlp/members/ana%20b", &match, &err),
                         0);
        assert_int_equal(match.params_count, 2);
        assert_string_equal(route_param(&match, "tenant"), "research/nlp");
        assert_string_equal(route_param(&match, "member"), "ana b");

        assert_int_equal(
                routes_match(table, ARRAY_LEN(table), HTTP_GET, "/v1/workloads/a%0a", &match, &err),
                -ERR_INPUT);
        check_has(err.text, "{name} in the path: control byte 0x0a");

        size_t length = strlen(path);
        memset(path + length, 'n', ROUTE_PARAM_BYTES_MAX);
        path[length + ROUTE_PARAM_BYTES_MAX - 1] = '\0';
        assert_int_equal(routes_match(table, ARRAY_LEN(table), HTTP_GET, path, &match, &err), 0);
        path[length + ROUTE_PARAM_BYTES_MAX - 1] = 'n';
        assert_int_equal(routes_match(table, ARRAY_LEN(table), HTTP_GET, path, &match, &err),
                         -ERR_INPUT);
}

#define GET(pattern, operation) {HTTP_GET, pattern, operation, never, NULL}

static void a_table_that_cannot_be_served_is_refused(void **state)
{
        (void)state;
        static const struct {
                struct route routes[2];
                const char *part; /* NULL: fine */
        } rows[] = {
                {{GET("/a", "x"), {HTTP_POST, "/a", "y", never, NULL}}, NULL},
                {{GET("/{a}", "x"), GET("/b", "y")}, NULL},
                {{GET("/{a}", "x"), GET("/{b}", "y")}, "are alike"},
                {{GET("/a", "x"), GET("/b", "x")}, "operation 'x'"},
                {{GET("a", "x"), GET("/b", "y")}, "1 to 12 segments"},
                {{GET("", "x"), GET("/b", "y")}, "1 to 12 segments"},
                {{GET("/a{b}", "x"), GET("/b", "y")}, "a word or"},
                {{GET("/{}", "x"), GET("/b", "y")}, "a word or"},
                {{{HTTP_OTHER, "/a", "x", never, NULL}, GET("/b", "y")}, "no method"},
                {{{HTTP_GET, "/a", "x", NULL, NULL}, GET("/b", "y")}, "no handler"},
                {{GET("/{a}/{b}/{c}/{d}/{e}", "x"), GET("/b", "y")},
                 "at most 4"},
                {{GET("/1/2/3/4/5/6/7/8/9/10/11/12/13", "x"), GET("/b", "y")},
                 "1 to 12 segments"},
                {{GET("/1/2/3/4/5/6/7/8/9/10/11/12", "x"),
                  GET("/{a}/{b}/{c}/{d}", "y")},
                 NULL},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                int rc = routes_check(rows[i].routes, 2, &err);
                if (rc != (rows[i].part ? -ERR_INPUT : 0))
                        fail_msg("row %zu: %d %s", i, rc, err.text);
                if (rows[i].part)
                        check_has(err.text, rows[i].part);
        }
        assert_int_equal(routes_check(table, ARRAY_LEN(table), NULL), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_query_is_the_routes),
                cmocka_unit_test(queries_of_a_table_have_bounds),
                cmocka_unit_test(paths_find_their_operation),
                cmocka_unit_test(parameters_are_decoded),
                cmocka_unit_test(a_table_that_cannot_be_served_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
