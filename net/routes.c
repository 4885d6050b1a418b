#include "net/routes.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "net/problem.h"
#include "net/uri.h"

/* One segment: from behind a '/' to the next one. */
struct segment {
        const char *text;
        size_t length;
};

/* False: there is none left. `*at` stands on a '/'. */
static bool next_segment(const char **at, struct segment *ret_segment)
{
        if (**at != '/')
                return false;
        *ret_segment = (struct segment){*at + 1, strcspn(*at + 1, "/")};
        *at += 1 + ret_segment->length;
        return true;
}

static bool is_param(struct segment segment)
{
        return segment.length > 2 && segment.text[0] == '{' &&
               segment.text[segment.length - 1] == '}';
}

static bool same(struct segment a, struct segment b)
{
        return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

/* ---- patterns ---- */

static int check_pattern(const char *pattern, struct err *err)
{
        const char *at = pattern;
        struct segment segment;
        unsigned segments = 0, params = 0;

        while (next_segment(&at, &segment)) {
                bool is_name = is_param(segment);
                params += is_name;
                const char *word = segment.text + is_name;
                size_t length = segment.length - (is_name ? 2 : 0);
                if (strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789-_.") < length)
                        return err_set(err, ERR_INPUT, "route '%s': a segment is a word or {name}",
                                       pattern);
                segments++;
        }
        if (*at || segments == 0 || segments > ROUTE_SEGMENTS_MAX || params > ROUTE_PARAMS_MAX)
                return err_set(err, ERR_INPUT,
                               "route '%s': 1 to %d segments, at most %d of them parameters, each "
                               "behind a '/'",
                               pattern, ROUTE_SEGMENTS_MAX, ROUTE_PARAMS_MAX);
        return 0;
}

/* Whether two patterns have parameters in the same places and the same words between. */
static bool same_shape(const char *a, const char *b)
{
        struct segment left, right;

        while (next_segment(&a, &left)) {
                if (!next_segment(&b, &right) || is_param(left) != is_param(right) ||
                    (!is_param(left) && !same(left, right)))
                        return false;
        }
        return *b == '\0';
}

/* ---- queries ---- */

struct names {
        char text[ROUTE_QUERY_BYTES_MAX]; /* what the names stand in */
        const char *names[ROUTE_QUERIES_MAX];
        size_t count;
};

/* False: too many, or too long. */
static bool split(const char *list, struct names *ret_names)
{
        char *rest = NULL;

        ret_names->count = 0;
        if (strlen(list) >= sizeof ret_names->text)
                return false;
        strcpy(ret_names->text, list);
        for (char *name = strtok_r(ret_names->text, " ", &rest); name;
             name = strtok_r(NULL, " ", &rest)) {
                if (ret_names->count == ROUTE_QUERIES_MAX)
                        return false;
                ret_names->names[ret_names->count++] = name;
        }
        return true;
}

int routes_query_check(const struct route *route, const char *query, struct err *err)
{
        struct names names;

        if (!route->queries)
                return 0;
        bool fits = split(route->queries, &names);
        assert(fits); /* routes_check() */
        return query_check(query, names.names, names.count, err);
}

/* ---- checking the table ---- */

int routes_check(const struct route *routes, size_t count, struct err *err)
{
        struct names names;

        for (size_t i = 0; i < count; i++) {
                int rc = check_pattern(routes[i].pattern, err);
                if (rc < 0)
                        return rc;
                if (routes[i].queries && !split(routes[i].queries, &names))
                        return err_set(err, ERR_INPUT,
                                       "route '%s': at most %d queries in %d bytes",
                                       routes[i].pattern, ROUTE_QUERIES_MAX,
                                       ROUTE_QUERY_BYTES_MAX - 1);
                if ((unsigned)routes[i].method >= HTTP_OTHER || !routes[i].handler)
                        return err_set(err, ERR_INPUT, "route '%s' has no method or no handler",
                                       routes[i].pattern);
                for (size_t j = 0; j < i; j++) {
                        if (str_equal(routes[i].operation, routes[j].operation))
                                return err_set(err, ERR_INPUT, "two routes are operation '%s'",
                                               routes[i].operation);
                        if (routes[i].method == routes[j].method &&
                            same_shape(routes[i].pattern, routes[j].pattern))
                                return err_set(err, ERR_INPUT, "routes '%s' and '%s' are alike",
                                               routes[j].pattern, routes[i].pattern);
                }
        }
        return 0;
}

/* ---- matching ---- */

/* Bit n (from the top) says that segment n matched as a word: the larger number is the more exact
 * match. 0: no match, so a bit above all segments is always set. */
static unsigned match_pattern(const char *pattern, const char *path)
{
        struct segment wanted, given;
        unsigned exact = 1u << ROUTE_SEGMENTS_MAX;

        for (unsigned n = 1; next_segment(&pattern, &wanted); n++) {
                if (!next_segment(&path, &given))
                        return 0;
                if (same(wanted, given))
                        exact |= 1u << (ROUTE_SEGMENTS_MAX - n);
                else if (!is_param(wanted) || given.length == 0)
                        return 0;
        }
        return *path == '\0' ? exact : 0;
}

static int decode_params(const char *path, struct route_match *match, struct err *err)
{
        const char *pattern = match->route->pattern;
        struct segment wanted, given;

        while (next_segment(&pattern, &wanted) && next_segment(&path, &given)) {
                if (!is_param(wanted))
                        continue;
                assert(match->params_count < ROUTE_PARAMS_MAX);
                int rc = uri_decode(given.text, given.length, false,
                                    match->params[match->params_count++], ROUTE_PARAM_BYTES_MAX,
                                    err);
                if (rc < 0)
                        return err_prefix(err, "%.*s in the path", (int)wanted.length, wanted.text);
        }
        return 0;
}

static bool answers(const struct route *route, enum http_method method)
{
        return route->method == method || (method == HTTP_HEAD && route->method == HTTP_GET);
}

int routes_match(const struct route *routes, size_t count, enum http_method method,
                 const char *path, struct route_match *ret_match, struct err *err)
{
        unsigned best = 0;
        char shown[STR_SHOW_MAX];

        ret_match->route = NULL;
        ret_match->allowed = 0;
        ret_match->params_count = 0;
        for (size_t i = 0; i < count; i++) {
                unsigned exact = match_pattern(routes[i].pattern, path);
                if (exact == 0)
                        continue;
                ret_match->allowed |= 1u << routes[i].method;
                if (routes[i].method == HTTP_GET)
                        ret_match->allowed |= 1u << HTTP_HEAD;
                /* HEAD has a route of its own, or GET's: the own one is the better match. */
                unsigned rank = 2 * exact + (routes[i].method == method);
                if (answers(&routes[i], method) && rank > best) {
                        best = rank;
                        ret_match->route = &routes[i];
                }
        }
        if (ret_match->route)
                return decode_params(path, ret_match, err);
        if (ret_match->allowed)
                return err_set(err, ERR_NOT_FOUND, "there is no %s of '%s'",
                               http_method_name(method), str_show(path, shown));
        return err_set(err, ERR_NOT_FOUND, "there is nothing at '%s'", str_show(path, shown));
}

const char *routes_allow(unsigned allowed, char buf[ROUTE_ALLOW_MAX])
{
        size_t used = 0;

        buf[0] = '\0';
        for (unsigned method = 0; method < HTTP_OTHER; method++) {
                if (allowed & 1u << method)
                        used += (size_t)snprintf(buf + used, ROUTE_ALLOW_MAX - used, "%s%s",
                                                 used ? ", " : "",
                                                 http_method_name((enum http_method)method));
        }
        assert(used < ROUTE_ALLOW_MAX);
        return buf;
}

void routes_serve(struct http_exchange *exchange, void *arg)
{
        const struct routes *table = arg;
        enum http_method method = http_method(exchange);
        struct route_match match;
        struct err err;
        char allow[ROUTE_ALLOW_MAX];

        int rc = routes_match(table->routes, table->count, method, http_path(exchange), &match,
                              &err);
        if (rc == 0) {
                assert(match.route);
                http_operation_set(exchange, match.route->operation);
                if (routes_query_check(match.route, http_query(exchange), &err) < 0)
                        problem_answer(exchange, 0, &err, NULL);
                else
                        match.route->handler(exchange, &match, table->arg);
                return;
        }
        if (!match.allowed || match.route) {
                problem_answer(exchange, 0, &err, NULL);
                return;
        }
        http_answer_header(exchange, "Allow", routes_allow(match.allowed, allow));
        if (method == HTTP_OPTIONS)
                http_answer(exchange, 204, NULL, NULL, 0);
        else
                problem_answer(exchange, 405, &err, NULL);
}

const char *route_param(const struct route_match *match, const char *name)
{
        const char *at = match->route->pattern;
        struct segment segment;
        unsigned index = 0;

        while (next_segment(&at, &segment)) {
                if (!is_param(segment))
                        continue;
                if (strlen(name) == segment.length - 2 &&
                    memcmp(name, segment.text + 1, segment.length - 2) == 0)
                        break;
                index++;
        }
        assert(index < match->params_count);
        return match->params[index];
}
