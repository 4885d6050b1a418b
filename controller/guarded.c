#include "controller/guarded.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "controller/quarantine.h"
#include "net/problem.h"
#include "net/routes.h"

void guarded_head(const struct http_exchange *exchange, char ret_head[GUARDED_HEAD_MAX])
{
        const char *query = http_query(exchange);

        (void)snprintf(ret_head, GUARDED_HEAD_MAX, "%s %s%s%s",
                       http_method_name(http_method(exchange)), http_path(exchange),
                       query[0] ? "?" : "", query);
}

/* True: it has been answered. What lets others go is never held. */
static bool is_held(struct guarded *guarded, struct http_exchange *exchange, const char *body,
                    size_t size)
{
        static const char way_out[] = "/v1/quarantine";
        struct err err;

        if (!quarantine_holds_any(guarded->quarantine, CRASH_REQUEST) ||
            strncmp(http_path(exchange), way_out, strlen(way_out)) == 0 ||
            quarantine_check(guarded->quarantine, CRASH_REQUEST, guarded->head, body, size,
                             &err) == 0)
                return false;
        problem_answer(exchange, 0, &err, NULL);
        return true;
}

void guarded_serve(struct http_exchange *exchange, void *arg)
{
        struct guarded *guarded = arg;
        size_t size;
        const char *body = http_body(exchange, &size);

        guarded_head(exchange, guarded->head);
        if (is_held(guarded, exchange, body, size))
                return;
        crash_enter(CRASH_REQUEST, guarded->head, body, size);
        routes_serve(exchange, guarded->routes);
        crash_leave(CRASH_REQUEST);
}
