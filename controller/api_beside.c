/* Reservations and maintenance windows: documents of their own beside the policy and the pool. */
#include "controller/api_handlers.h"

#include <string.h>

#include "controller/live.h"
#include "controller/view.h"

static void change(struct call *call, enum beside beside, struct document_put *document)
{
        struct act *act = api_act(call);
        struct err err;

        if (!act)
                return;
        int rc = live_put_beside(call->live, act, beside, route_param(call->match, "name"),
                                 document, &err);
        api_answer_put(call, act, document, rc, &err);
}

static void put(struct http_exchange *exchange, const struct route_match *match, void *arg,
                enum beside beside)
{
        struct document_put document = {0};
        struct call call;
        size_t size;

        if (!api_begin(arg, exchange, match, &call) || !api_may_put(&call, &document))
                return;
        const char *body = http_body(exchange, &size);
        document.text = body ? body : "";       /* NULL would take it away */
        change(&call, beside, &document);
}

static void take_away(struct http_exchange *exchange, const struct route_match *match, void *arg,
                      enum beside beside)
{
        struct document_put document = {0};
        struct call call;

        if (api_begin(arg, exchange, match, &call) && api_may_put(&call, &document))
                change(&call, beside, &document);
}

void get_reservations(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char tenant[TENANT_PATH_MAX];
        struct call call;

        if (api_begin(arg, exchange, match, &call) && api_tenant(&call, tenant))
                api_reply(&call, 200, view_reservations(call.live, tenant[0] ? tenant : NULL));
}

void put_reservation(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        put(exchange, match, arg, BESIDE_RESERVATION);
}

void delete_reservation(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        take_away(exchange, match, arg, BESIDE_RESERVATION);
}

/* Everybody plans by it. */
void get_maintenance(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct call call;

        if (api_begin(arg, exchange, match, &call))
                api_reply(&call, 200, view_maintenance(call.live));
}

void put_maintenance(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        put(exchange, match, arg, BESIDE_MAINTENANCE);
}

void delete_maintenance(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        take_away(exchange, match, arg, BESIDE_MAINTENANCE);
}
