/* Queue, pool, nodes, tenants; and how the controller is. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "controller/live.h"
#include "controller/metrics.h"
#include "controller/nodes.h"
#include "controller/openapi_text.h"
#include "controller/view.h"
#include "controller/works.h"
#include "proto/protocol.h"
#include "proto/when.h"

static const char *or_null(const char *text)
{
        return text[0] ? text : NULL;
}

void get_pool(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct call call;

        if (api_begin(arg, exchange, match, &call))
                api_reply(&call, 200,
                          view_pool(call.live, access_may(&call.who, ACTION_SEE_ALL, NULL)));
}

void get_tenants(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char tenant[TENANT_PATH_MAX];
        struct call call;

        if (api_begin(arg, exchange, match, &call) && api_tenant(&call, tenant))
                api_reply(&call, 200, view_tenants(call.live, or_null(tenant)));
}

void get_notices(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char tenant[TENANT_PATH_MAX];
        struct call call;

        if (api_begin(arg, exchange, match, &call) && api_tenant(&call, tenant))
                api_reply(&call, 200, view_notices(call.live, or_null(tenant),
                                                   access_may(&call.who, ACTION_SEE_ALL, NULL)));
}

/* ---- nodes ---- */

void get_nodes(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        int64_t limit = API_LIMIT_DEFAULT, after = 0;
        struct node_entry *node;
        uint32_t cursor = 0, shown = 0, number = 0;
        struct view_node_wish wish = {0};
        struct call call;
        struct err err;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query(&call, "model", wish.model, sizeof wish.model) ||
            !api_query(&call, "plane", wish.plane, sizeof wish.plane) ||
            !api_query(&call, "state", wish.state, sizeof wish.state) ||
            !api_query_number(&call, "limit", 1, API_LIMIT_MAX, &limit) ||
            !api_query_number(&call, "after", 1, UINT32_MAX, &after))
                return;
        if (wish.state[0] && view_node_state_check(wish.state, &err) < 0) {
                api_fail(&call, &err);
                return;
        }
        bool who = access_may(&call.who, ACTION_SEE_ALL, NULL);
        json_t *json = json_object(), *rows = json_array();
        while ((node = nodes_next(call.live->nodes, &cursor))) {
                number++;
                if (number <= after || !node->described || !view_node_is(call.live, node, &wish))
                        continue;
                if (shown++ == limit) {
                        view_set(json, "next", json_integer(number - 1));
                        break;
                }
                (void)json_array_append_new(rows, view_node(call.live, node, who));
        }
        view_set(json, "nodes", rows);
        api_reply(&call, 200, json);
}

/* NULL: answered. */
static struct node_entry *asked_node(struct call *call)
{
        const char *name = route_param(call->match, "node");
        struct node_entry *node = nodes_find(call->live->nodes, name);
        struct err err;

        if (access_need(&call->who, ACTION_OPERATE, NULL, "nodes", &err) == 0) {
                if (node && node->described)
                        return node;
                (void)err_set(&err, ERR_NOT_FOUND, "the pool document has no node '%s'", name);
        }
        api_fail(call, &err);
        return NULL;
}

static void change_drain(struct call *call, struct node_entry *node, bool drained, int64_t by_ms)
{
        struct act *act = api_act(call);
        struct err err;

        if (!act)
                return;
        if (live_drain(call->live, act, node, drained, by_ms, &err) < 0) {
                core_commit(act, api_ignore, NULL);
                api_fail(call, &err);
                return;
        }
        api_commit(call, act, 200, view_node(call->live, node, true));
}

void post_drain(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct node_entry *node;
        struct call call;
        struct err err;
        json_t *body;
        int64_t by_ms = 0;

        if (!api_begin(arg, exchange, match, &call) || !(node = asked_node(&call)) ||
            !(body = api_body(&call)))
                return;
        const char *by = json_string_value(json_object_get(body, "by"));
        if (by && when_ahead(by, api_now_ms(), &by_ms, &err) < 0) {
                (void)err_prefix(&err, "field 'by'");
                api_fail(&call, &err);
        } else {
                change_drain(&call, node, true, by_ms);
        }
        json_decref(body);
}

void post_undrain(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct node_entry *node;
        struct call call;

        if (api_begin(arg, exchange, match, &call) && (node = asked_node(&call)))
                change_drain(&call, node, false, 0);
}

void post_lost(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct node_entry *node;
        struct call call;
        struct act *act;
        struct err err;

        if (!api_begin(arg, exchange, match, &call) || !(node = asked_node(&call)))
                return;
        if (!http_header(exchange, "Berth-Reason")) {
                (void)err_set(&err, ERR_INPUT,
                              "say in the header Berth-Reason how it is known that the node is "
                              "off: what continues on it starts elsewhere");
                api_fail(&call, &err);
                return;
        }
        if (!(act = api_act(&call)))
                return;
        if (live_lose(call.live, act, node, &err) < 0) {
                core_commit(act, api_ignore, NULL);
                api_fail(&call, &err);
                return;
        }
        api_commit(&call, act, 200, view_node(call.live, node, true));
}

void post_freeze(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct input input = {.kind = INPUT_FREEZE_SET};
        struct call call;
        struct err err = {0};
        json_t *body;

        if (!api_begin(arg, exchange, match, &call) || !(body = api_body(&call)))
                return;
        const char *plane = json_string_value(json_object_get(body, "plane"));
        const json_t *frozen = json_object_get(body, "frozen");
        int word = plane ? vocab_find(core_state(call.live->core)->vocab, plane) : 0;
        if (access_need(&call.who, ACTION_OPERATE, NULL, "the pool", &err) == 0 && !frozen)
                (void)err_set(&err, ERR_INPUT, "field 'frozen' is missing: write true or false");
        else if (err.code == ERR_OK && plane && word == 0)
                (void)err_set(&err, ERR_NOT_FOUND, "the pool has no plane '%s'", plane);
        input.freeze.plane = (uint16_t)word;
        input.freeze.frozen = json_is_true(frozen);
        json_decref(body);
        struct act *act = err.code == ERR_OK ? api_act(&call) : NULL;
        if (act && core_input(act, &input, NULL, &err) == 0) {
                api_commit(&call, act, 200, json_pack("{s:b}", "frozen", input.freeze.frozen));
                return;
        }
        if (act)
                core_commit(act, api_ignore, NULL);
        if (err.code != ERR_OK)
                api_fail(&call, &err);
}

/* ---- how the controller is ---- */

/* Healthy is who makes progress: commits go through, and the clock was ticked lately. */
static void answer_health(struct api *api, struct http_exchange *exchange)
{
        struct writer_stats stats;
        int64_t cycle_ms = api_now_ms() - core_state(api->live->core)->now_ms;
        char text[2048];

        core_stats(api->live->core, &stats);
        bool decides = !api->live->time_stands;
        bool good = stats.state == WRITER_WORKING && stats.busy_ms < 10000 && cycle_ms < 60000 &&
                    decides;
        json_t *json = json_pack("{s:s,s:I,s:I,s:I,s:I}", "status", good ? "ok" : "failing",
                                 "cycle_age_ms", (json_int_t)cycle_ms, "commit_busy_ms",
                                 (json_int_t)stats.busy_ms, "waiting_batches",
                                 (json_int_t)stats.waiting_batches, "durable_seq",
                                 (json_int_t)stats.durable_seq);
        if (stats.state == WRITER_FAILED)
                view_set(json, "store", json_string(stats.failure.text));
        view_set(json, "worker", view_worker(api->live));
        if (!decides)
                view_set(json, "quarantine",
                         json_string("time stands still for the engine: its tick has crashed it; "
                                     "see 'berth quarantine list'"));
        size_t size = json_dumpb(json, text, sizeof text, JSON_COMPACT);
        json_decref(json);
        http_answer(exchange, good ? 200 : 503, "application/json", text,
                    size < sizeof text ? size : 0);
}

void get_health(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        (void)match;
        answer_health(arg, exchange);
}

void get_ready(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        (void)match;
        answer_health(arg, exchange);
}

void get_version(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct api *api = arg;
        struct call call;

        if (api_begin(arg, exchange, match, &call))
                api_reply(&call, 200, json_pack("{s:s,s:i}", "version", api->version,
                                                "agent_protocol", PROTOCOL_MAX));
}

void get_openapi(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct call call;

        if (api_begin(arg, exchange, match, &call))
                http_answer(call.exchange, 200, "application/yaml", openapi_text,
                            openapi_text_size);
}

/* Of the whole pool, so for who may see it. */
void get_metrics(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct text text = {0};
        struct call call;
        struct err err;

        if (!api_begin(arg, exchange, match, &call))
                return;
        if (access_need(&call.who, ACTION_SEE_ALL, NULL, "the pool's metrics", &err) < 0) {
                api_fail(&call, &err);
                return;
        }
        metrics_write(call.api->metrics, api_now_ms(), &text);
        if (!text.failed)
                http_answer(call.exchange, 200, METRICS_TYPE, text.bytes, text.size);
        else
                api_fail(&call, &(struct err){ERR_NOMEM, "out of memory"});
        text_done(&text);
}
