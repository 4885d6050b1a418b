/* routes.h - which handler answers which method and path.
 *
 * Pure but for routes_serve, which answers exchanges. The table is the API's list of operations;
 * the same table is held against the OpenAPI document.
 *
 * A pattern is segments divided by '/': a word, or "{name}", which takes exactly one segment, not
 * empty, decoded: "/v1/tenants/{tenant}/usage" takes "/v1/tenants/research%2Fnlp/usage". Where a
 * word and a parameter could both match, the word does.
 */
#pragma once

#include <stddef.h>

#include "net/http.h"

#define ROUTE_PARAMS_MAX      4
#define ROUTE_SEGMENTS_MAX    12
#define ROUTE_PARAM_BYTES_MAX 256 /* with the final NUL */
#define ROUTE_QUERIES_MAX     16
#define ROUTE_QUERY_BYTES_MAX 256 /* all names of one route, with the final NUL */

struct route_match;
typedef void route_handler(struct http_exchange *exchange, const struct route_match *match,
                           void *arg);

struct route {
        enum http_method method;
        const char *pattern;
        const char *operation; /* "getWorkload", unique */
        route_handler *handler;
        const char *queries; /* the names its query may have: "tenant limit"; "": none; NULL: any */
};

struct route_match {
        const struct route *route; /* NULL: none */
        unsigned allowed;          /* bit 1 << method, of all that the path has */
        unsigned params_count;
        char params[ROUTE_PARAMS_MAX][ROUTE_PARAM_BYTES_MAX]; /* in the order of the pattern */
};

/* Whether the table can be served: well-formed patterns, methods of the list, no two routes or
 * operations alike, names of queries within the bounds. 0 or -ERR_INPUT. Once, at start. */
int routes_check(const struct route *routes, size_t count, struct err *err);

/* Finds the route of a path as it came (still encoded). HEAD is answered by GET's.
 * 0; -ERR_NOT_FOUND: no such path, or no such method there (then `allowed` is not 0); -ERR_INPUT:
 * a parameter that cannot be decoded or is longer than ROUTE_PARAM_BYTES_MAX. */
int routes_match(const struct route *routes, size_t count, enum http_method method,
                 const char *path, struct route_match *ret_match, struct err *err);

/* Whether the query has only names that the route knows, each once, and is well formed: a name that
 * is misspelt (dryrun=true) would silently do something else. 0 or -ERR_INPUT with near names. */
int routes_query_check(const struct route *route, const char *query, struct err *err);

/* "GET, HEAD, POST", for the header Allow. */
#define ROUTE_ALLOW_MAX 64
const char *routes_allow(unsigned allowed, char buf[ROUTE_ALLOW_MAX]);

struct routes {
        const struct route *routes;
        size_t count;
        void *arg; /* given to the handlers */
};
/* A handler for http_new(), with a `struct routes` as its argument: calls the route's handler, or
 * answers 400 (also to a query that the route does not know), 404, or 405 with Allow. OPTIONS
 * without a route of its own: 204 with Allow. */
void routes_serve(struct http_exchange *exchange, void *routes);

/* The decoded parameter of that name. It is in the pattern, or this is a mistake of ours. */
const char *route_param(const struct route_match *match, const char *name);
