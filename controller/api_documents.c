/* The policy and the pool as documents. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/live.h"
#include "controller/view.h"

typedef int put_document(struct live *live, struct act *act, struct document_put *put,
                         struct err *err);

/* If-Match: "7". False: answered. */
static bool wanted_revision(struct call *call, uint64_t *ret_revision)
{
        const char *header = http_header(call->exchange, "If-Match");
        char *end;
        struct err err;

        *ret_revision = 0;
        if (!header || strcmp(header, "*") == 0)
                return true;
        *ret_revision = strtoull(header + (*header == '"'), &end, 10);
        if (*ret_revision > 0 && (*end == '"' || *end == '\0'))
                return true;
        (void)err_set(&err, ERR_INPUT, "If-Match: write the revision in quotes, as it was read");
        api_fail(call, &err);
        return false;
}

static void put(struct http_exchange *exchange, const struct route_match *match, void *arg,
                put_document *change)
{
        struct document_put document = {0};
        struct call call;
        struct err err;
        size_t size;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query_flag(&call, "dry_run", &document.dry_run) ||
            !wanted_revision(&call, &document.wanted))
                return;
        if (access_need(&call.who, ACTION_OPERATE, NULL, "the pool", &err) < 0) {
                api_fail(&call, &err);
                return;
        }
        document.text = http_body(exchange, &size);
        struct act *act = api_act(&call);
        if (!act)
                return;
        if (change(call.live, act, &document, &err) < 0) {
                json_decref(document.warnings);
                core_commit(act, api_ignore, NULL);
                api_fail(&call, &err);
                return;
        }
        json_t *json = json_object();
        view_set(json, "revision", json_integer((json_int_t)document.revision));
        view_set(json, "dry_run", json_boolean(document.dry_run));
        view_set(json, "warnings", document.warnings);
        api_commit(&call, act, 200, json);
}

void put_policy(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        put(exchange, match, arg, live_put_policy);
}

void put_pool_document(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        put(exchange, match, arg, live_put_pool);
}

static void get(struct call *call, enum object_kind kind, uint64_t revision, const char *what)
{
        struct object_copy *copy;
        struct err err;
        char tag[32];

        if (access_need(&call->who, ACTION_SEE_ALL, NULL, what, &err) < 0) {
                api_fail(call, &err);
                return;
        }
        if (revision == 0)
                (void)err_set(&err, ERR_NOT_FOUND, "no %s has been set yet", what);
        if (revision == 0 ||
            objects_get(core_view(call->live->core), kind, revision, &copy, &err) < 0) {
                api_fail(call, &err);
                return;
        }
        (void)snprintf(tag, sizeof tag, "\"%" PRIu64 "\"", revision);
        (void)http_answer_header(call->exchange, "ETag", tag);
        api_reply_text(call, "application/yaml", copy->object.body, copy->object.size);
        mem_free(copy);
}

void get_policy(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct call call;

        if (api_begin(arg, exchange, match, &call))
                get(&call, OBJECT_POLICY, core_policy_revision(call.live->core), "policy");
}

void get_pool_document(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct call call;

        if (api_begin(arg, exchange, match, &call))
                get(&call, OBJECT_POOL, call.live->pool_revision, "pool document");
}
