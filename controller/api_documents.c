/* The policy and the pool as documents. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/live.h"
#include "controller/view.h"
#include "proto/beside.h"

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

void api_answer_put(struct call *call, struct act *act, const struct document_put *document, int rc,
                    const struct err *err)
{
        if (rc < 0) {
                json_decref(document->warnings);
                json_decref(document->stops);
                core_commit(act, api_ignore, NULL);
                api_fail(call, err);
                return;
        }
        json_t *json = json_object();
        view_set(json, "revision", json_integer((json_int_t)document->revision));
        view_set(json, "dry_run", json_boolean(document->dry_run));
        view_set(json, "warnings", document->warnings);
        if (document->stops)
                view_set(json, "stops", document->stops);
        api_commit(call, act, 200, json);
}

static void put_text(struct call *call, struct document_put *document, put_document *change)
{
        struct act *act = api_act(call);
        struct err err;

        if (!act)
                return;
        int rc = change(call->live, act, document, &err);
        api_answer_put(call, act, document, rc, &err);
}

bool api_may_put(struct call *call, struct document_put *document)
{
        struct err err;

        if (!api_query_flag(call, "dry_run", &document->dry_run) ||
            !wanted_revision(call, &document->wanted))
                return false;
        document->by = call->who.name;
        document->reason = http_header(call->exchange, "Berth-Reason");
        if (access_need(&call->who, ACTION_OPERATE, NULL, "the pool", &err) == 0)
                return true;
        api_fail(call, &err);
        return false;
}

static void put(struct http_exchange *exchange, const struct route_match *match, void *arg,
                put_document *change)
{
        struct document_put document = {0};
        struct call call;
        size_t size;

        if (!api_begin(arg, exchange, match, &call) || !api_may_put(&call, &document))
                return;
        document.text = http_body(exchange, &size);
        put_text(&call, &document, change);
}

void put_policy(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        put(exchange, match, arg, live_put_policy);
}

void put_pool_document(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        put(exchange, match, arg, live_put_pool);
}

/* How much of the text there is to show. False: answered. */
static bool shown_size(struct call *call, enum object_kind kind, const struct object *object,
                       size_t *ret_size)
{
        const char *beside = beside_kind(kind == OBJECT_POLICY ? BESIDE_RESERVATION
                                                               : BESIDE_MAINTENANCE);
        static const struct err no_memory = {ERR_NOMEM, "out of memory"};
        bool with_beside = true;
        char *text;

        *ret_size = object->size;
        if (!api_query_flag(call, "beside", &with_beside))
                return false;
        if (with_beside)
                return true;
        text = mem_new(object->size + 1, 1);
        if (!text) {
                api_fail(call, &no_memory);
                return false;
        }
        memcpy(text, object->body, object->size);
        *ret_size = beside_main(text, beside);
        mem_free(text);
        return true;
}

static void get(struct call *call, enum object_kind kind, uint64_t revision, const char *what)
{
        struct object_copy *copy;
        size_t size;
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
        if (shown_size(call, kind, &copy->object, &size))
                api_reply_text(call, "application/yaml", copy->object.body, size);
        mem_free(copy);
}

void get_policy(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        int64_t revision = 0;
        struct call call;

        if (api_begin(arg, exchange, match, &call) &&
            api_query_number(&call, "revision", 1, INT64_MAX, &revision))
                get(&call, OBJECT_POLICY,
                    revision ? (uint64_t)revision : core_policy_revision(call.live->core),
                    "policy");
}

/* ---- revisions ---- */

struct revisions {
        json_t *rows;
        uint64_t in_force, last;
        int64_t left;
        bool more;
};

/* Why it was put; null: nobody said. */
static json_t *reason_of(const struct object *object)
{
        json_t *detail = object->detail[0] ? json_loads(object->detail, 0, NULL) : NULL;
        json_t *reason = json_object_get(detail, "reason");

        reason = reason ? json_incref(reason) : json_null();
        json_decref(detail);
        return reason;
}

static int see_revision(void *arg, const struct object *object, struct err *err)
{
        struct revisions *revisions = arg;
        json_t *row;

        (void)err;
        if (revisions->left-- == 0) {
                revisions->more = true;
                return 1;
        }
        row = json_object();
        view_set(row, "revision", json_integer((json_int_t)object->id));
        view_set(row, "set", view_time(object->created_ms));
        view_set(row, "by", json_string(object->owner));
        view_set(row, "reason", reason_of(object));
        view_set(row, "in_force", json_boolean(object->id == revisions->in_force));
        (void)json_array_append_new(revisions->rows, row);
        revisions->last = object->id;
        return 0;
}

/* Newest first. */
void get_policy_revisions(struct http_exchange *exchange, const struct route_match *match,
                          void *arg)
{
        int64_t limit = API_LIMIT_DEFAULT, after = 0;
        struct call call;
        struct err err;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query_number(&call, "limit", 1, API_LIMIT_MAX, &limit) ||
            !api_query_number(&call, "after", 1, INT64_MAX, &after))
                return;
        if (access_need(&call.who, ACTION_SEE_ALL, NULL, "the policy", &err) < 0) {
                api_fail(&call, &err);
                return;
        }
        struct revisions revisions = {.rows = json_array(), .left = limit,
                                      .in_force = core_policy_revision(call.live->core)};
        const struct object_filter filter = {.kind = OBJECT_POLICY, .live = true, .ended = true,
                                             .after_id = (uint64_t)after};
        if (objects_list(core_view(call.live->core), &filter, see_revision, &revisions, &err) < 0) {
                json_decref(revisions.rows);
                api_fail(&call, &err);
                return;
        }
        json_t *json = json_object();
        view_set(json, "revisions", revisions.rows);
        if (revisions.more)
                view_set(json, "next", json_integer((json_int_t)revisions.last));
        api_reply(&call, 200, json);
}

/* An earlier one comes into force again, as a new revision. */
void post_rollback(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct document_put document = {0};
        struct object_copy *copy;
        struct call call;
        struct err err;
        json_t *body;

        if (!api_begin(arg, exchange, match, &call) || !api_may_put(&call, &document) ||
            !(body = api_body(&call)))
                return;
        json_int_t revision = json_integer_value(json_object_get(body, "revision"));
        json_decref(body);
        if (revision < 1) {
                (void)err_set(&err, ERR_INPUT, "field 'revision': which one shall come back?");
                api_fail(&call, &err);
        } else if (objects_get(core_view(call.live->core), OBJECT_POLICY, (uint64_t)revision, &copy,
                               &err) < 0) {
                api_fail(&call, &err);
        } else {
                char *text = mem_new(copy->object.size + 1, 1);
                if (text) {
                        memcpy(text, copy->object.body, copy->object.size);
                        document.text = text;
                        document.is_whole = true;
                        put_text(&call, &document, live_put_policy);
                } else {
                        (void)err_set(&err, ERR_NOMEM, "out of memory");
                        api_fail(&call, &err);
                }
                mem_free(text);
                mem_free(copy);
        }
}

void get_pool_document(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct call call;

        if (api_begin(arg, exchange, match, &call))
                get(&call, OBJECT_POOL, call.live->pool_revision, "pool document");
}
