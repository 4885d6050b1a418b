/* The exchange with agents: reports in, desired state out, when it is new and durable. */
#include "controller/api_handlers.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/exchange.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "net/problem.h"

#define WAIT_MS_MAX 60000

static void answer(struct live *live, struct node_entry *node, struct http_exchange *exchange)
{
        json_t *json = exchange_answer(live, node);
        char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

        if (text)
                http_answer(exchange, 200, "application/json", text, strlen(text));
        else
                http_answer(exchange, 503, NULL, NULL, 0);
        free(text);
        json_decref(json);
}

void api_node_changed(void *arg, struct node_entry *node)
{
        struct api *api = arg;
        struct http_exchange *exchange = node->waiting;

        if (!exchange || node->generation <= node->waiting_seen)
                return;
        node->waiting = NULL;
        answer(api->live, node, exchange);
}

void api_end_wait(struct node_entry *node)
{
        struct http_exchange *exchange = node->waiting;

        static const struct err revoked = {ERR_DENIED, "the node's certificate was revoked"};

        node->waiting = NULL;
        if (exchange)
                problem_answer(exchange, 401, &revoked, NULL);
}

void api_end_waits(struct api *api, int64_t now_ms)
{
        struct node_entry *node;
        uint32_t cursor = 0;

        while ((node = nodes_next(api->live->nodes, &cursor))) {
                struct http_exchange *exchange = node->waiting;
                if (!exchange || node->waiting_until_ms > now_ms ||
                    !core_is_durable(api->live->core, node->changed_seq))
                        continue;
                node->waiting = NULL;
                answer(api->live, node, exchange);
        }
}

/* An exchange that only reports. */
struct report_reply {
        struct live *live;
        struct node_entry *node;
        struct http_exchange *exchange;
};

static void report_done(void *arg, int rc, const struct err *err)
{
        struct report_reply *reply = arg;

        /* The node may have been given more meanwhile, which is not durable yet. */
        if (rc == 0 && !core_is_durable(reply->live->core, reply->node->changed_seq)) {
                core_when_durable(reply->live->core, report_done, reply);
                return;
        }
        if (rc < 0)
                problem_answer(reply->exchange, 503, err, NULL);
        else
                answer(reply->live, reply->node, reply->exchange);
        mem_free(reply);
}

/* It waits for the disk, and not for a change; the one that does goes on waiting. */
static void answer_when_durable(struct call *call, struct node_entry *node)
{
        static const struct err no_memory = {ERR_NOMEM, "out of memory"};
        struct report_reply *reply = mem_new(1, sizeof *reply);

        if (!reply) {
                api_fail(call, &no_memory);
                return;
        }
        *reply = (struct report_reply){call->live, node, call->exchange};
        core_when_durable(call->live->core, report_done, reply);
}

/* Only the newest one of a node waits: an older one was given up, or is late. */
static void wait_for_change(struct call *call, struct node_entry *node, uint64_t seen,
                            int64_t wait_ms)
{
        struct http_exchange *older = node->waiting;

        if (wait_ms == 0) {
                answer_when_durable(call, node);
                return;
        }
        node->waiting = call->exchange;
        node->waiting_seen = seen;
        node->waiting_until_ms = api_now_ms() + wait_ms;
        /* Nobody listens to that one, or its caller asks again: it is told nothing that is not
         * durable. */
        if (older)
                http_answer(older, 503, NULL, NULL, 0);
        if (core_is_durable(call->live->core, node->changed_seq))
                api_node_changed(call->api, node);
}

static int take_report(struct call *call, struct node_entry *node, const json_t *report,
                       struct err *err)
{
        struct act *act;
        int rc;

        if (!exchange_has_news(call->live, node, report))
                return 0;
        act = core_begin(call->live->core, call->who.name, "", api_now_ms(), err);
        if (!act)
                return -ERR_IO;
        rc = exchange_apply(call->live, act, node, report, err);
        core_commit(act, api_ignore, NULL);
        return rc;
}

void post_exchange(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        int64_t wait_ms = 0;
        struct node_entry *node;
        struct call call;
        struct err err;
        uint64_t seen;
        json_t *report;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query_number(&call, "wait_ms", 0, WAIT_MS_MAX, &wait_ms) ||
            !(report = api_body(&call)))
                return;
        const char *name = route_param(match, "node");
        node = nodes_find(call.live->nodes, name);
        int rc = api_need_node(&call, &err);
        if (rc == 0 && (!node || !node->described || call.live->simulated))
                rc = err_set(&err, ERR_NOT_FOUND,
                             "the pool document has no node '%s' that has an agent", name);
        if (rc == 0)
                rc = exchange_given(call.live, node, report, api_now_ms(), &err);
        if (rc == 0)
                rc = exchange_read(node, report, api_now_ms(), live_steady_ms(call.live), &seen,
                                   &err);
        if (rc == 0)
                rc = take_report(&call, node, report, &err);
        json_decref(report);
        if (rc == 0)
                exchange_fence(call.live, node);
        if (rc < 0)
                api_fail(&call, &err);
        else
                wait_for_change(&call, node, seen, wait_ms);
}
