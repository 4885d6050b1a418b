#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "base/time.h"
#include "controller/live.h"
#include "controller/persons.h"
#include "controller/works.h"
#include "net/problem.h"
#include "net/uri.h"

#define JSON_TYPE "application/json"

int64_t api_now_ms(void)
{
        return time_wall_ms();
}

/* ---- answering ---- */

void api_fail(struct call *call, const struct err *err)
{
        problem_answer(call->exchange, 0, err, NULL);
}

static void ask_again(void *arg, int rc, const struct err *err)
{
        struct http_exchange *exchange = arg;

        if (rc < 0)
                problem_answer(exchange, 503, err, NULL);
        else
                http_again(exchange);
}

void api_undone(struct core *core, struct http_exchange *exchange, const struct err *err)
{
        bool only_reads = http_method(exchange) == HTTP_GET || http_method(exchange) == HTTP_HEAD;

        /* Who found no room to wait would find none again, at once and without an end. */
        if (only_reads && err->code != ERR_FULL)
                core_when_anew(core, ask_again, exchange);
        else
                problem_answer(exchange, 503, err, NULL);
}

/* An answer that waits for the disk. */
struct reply {
        struct core *core;
        struct http_exchange *exchange;
        unsigned status;
        const char *type;               /* a constant of ours */
        size_t size;
        char text[];                    /* with a NUL behind it */
};

static void reply_done(void *arg, int rc, const struct err *err)
{
        struct reply *reply = arg;

        if (rc < 0)
                api_undone(reply->core, reply->exchange, err);
        else
                http_answer(reply->exchange, reply->status, reply->type, reply->text,
                            reply->size);
        mem_free(reply);
}

/* Of a copy of the bytes (NULL: there was no memory for them). NULL: answered. */
static struct reply *reply_of(struct call *call, unsigned status, const char *type,
                              const char *bytes, size_t size)
{
        static const struct err no_memory = {ERR_NOMEM, "out of memory"};
        struct reply *reply = bytes ? mem_new(1, sizeof *reply + size + 1) : NULL;

        if (!reply) {
                api_fail(call, &no_memory);
                return NULL;
        }
        reply->core = call->live->core;
        reply->exchange = call->exchange;
        reply->status = status;
        reply->type = type;
        reply->size = size;
        memcpy(reply->text, bytes, size);
        return reply;
}

static struct reply *new_reply(struct call *call, unsigned status, json_t *json)
{
        char *text = json ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

        struct reply *reply = reply_of(call, status, JSON_TYPE, text, text ? strlen(text) : 0);

        json_decref(json);
        free(text);
        return reply;
}

void api_reply(struct call *call, unsigned status, json_t *json)
{
        struct reply *reply = new_reply(call, status, json);

        if (reply)
                core_when_durable(call->live->core, reply_done, reply);
}

void api_reply_text(struct call *call, const char *type, const char *bytes, size_t size)
{
        struct reply *reply = reply_of(call, 200, type, bytes, size);

        if (reply)
                core_when_durable(call->live->core, reply_done, reply);
}

void api_ignore(void *arg, int rc, const struct err *err)
{
        (void)arg;
        (void)rc;
        (void)err;
}

void api_commit(struct call *call, struct act *act, unsigned status, json_t *json)
{
        api_commit_apart(call, act, status, json, NULL);
}

void api_commit_apart(struct call *call, struct act *act, unsigned status, json_t *json,
                      const char *kept)
{
        struct reply *reply = new_reply(call, status, json);
        struct err err;

        if (!reply) {
                core_commit(act, api_ignore, NULL);
                return;
        }
        if (api_keep_key(call, act, status, kept ? kept : reply->text, &err) == 0) {
                core_commit(act, reply_done, reply);
                return;
        }
        core_undo(act);                 /* else a repetition would do it twice */
        core_commit(act, api_ignore, NULL);
        mem_free(reply);
        api_fail(call, &err);
}

/* Bytes that are only handed on, of terminals and of what work wrote: each call is one, whatever
 * its size. They take nothing of what else their person may ask; a node would fall silent. */
static bool is_handed_on(const struct call *call)
{
        static const char *const operations[] = {"getAttachOutput", "postAttachInput",
                                                 "getAttachInput", "postAttachOutput",
                                                 "postAnswer"};

        for (size_t o = 0; o < ARRAY_LEN(operations); o++)
                if (str_equal(call->match->route->operation, operations[o]))
                        return true;
        return false;
}

bool api_not_too_often(struct call *call)
{
        bool is_apart = is_handed_on(call);
        char after[24], name[WHO_NAME_MAX + 8];
        struct err err;
        size_t size;

        (void)http_body(call->exchange, &size);
        (void)snprintf(name, sizeof name, "%s%s", call->who.name, is_apart ? "/bytes" : "");
        int64_t wait_ms = persons_take(call->api->persons, name, is_apart ? 0 : size,
                                       call->api->person_per_s, time_monotonic_ms() + 1);

        if (wait_ms == 0)
                return true;
        (void)snprintf(after, sizeof after, "%" PRId64, (wait_ms + 999) / 1000);
        (void)http_answer_header(call->exchange, "Retry-After", after);
        (void)err_set(&err, ERR_FULL,
                      "%s asks more than %" PRIu32 " times a second (each KiB of a body counts as "
                      "one more)",
                      call->who.name, call->api->person_per_s);
        problem_answer(call->exchange, 429, &err, NULL);
        return false;
}

struct act *api_act(struct call *call)
{
        const char *reason = http_header(call->exchange, "Berth-Reason");
        struct err err;
        struct act *act = core_begin(call->live->core, call->who.name, reason ? reason : "",
                                     api_now_ms(), &err);

        if (!act && err.code == ERR_INPUT)
                (void)err_prefix(&err, "who asks, or the header Berth-Reason");
        if (!act)
                problem_answer(call->exchange, err.code == ERR_INPUT ? 0 : 503, &err, NULL);
        return act;
}

/* ---- what was asked ---- */

bool api_query(struct call *call, const char *name, char *ret_value, size_t size)
{
        struct err err;

        if (query_get(http_query(call->exchange), name, ret_value, size, &err) >= 0)
                return true;
        api_fail(call, &err);
        return false;
}

bool api_query_number(struct call *call, const char *name, int64_t min, int64_t max,
                      int64_t *ret_value)
{
        char text[32] = "";
        struct err err;

        if (!api_query(call, name, text, sizeof text))
                return false;
        if (text[0] == '\0' || num_i64(text, min, max, ret_value, &err) == 0)
                return true;
        (void)err_prefix(&err, "query '%s'", name);
        api_fail(call, &err);
        return false;
}

bool api_query_flag(struct call *call, const char *name, bool *ret_flag)
{
        char text[8] = "";
        struct err err;

        if (!api_query(call, name, text, sizeof text))
                return false;
        if (str_equal(text, "true") || str_equal(text, "1"))
                *ret_flag = true;
        else if (str_equal(text, "false") || str_equal(text, "0"))
                *ret_flag = false;
        else if (text[0]) {
                (void)err_set(&err, ERR_INPUT, "query '%s': write true or false", name);
                api_fail(call, &err);
                return false;
        }
        return true;
}

static int no_such_word(const char *name, const char *at, size_t length,
                        const struct api_word *words, size_t count, struct err *err)
{
        char known[128] = "";

        for (size_t w = 0; w < count; w++) {
                size_t used = strlen(known);
                (void)snprintf(known + used, sizeof known - used, "%s%s", w ? ", " : "",
                               words[w].word);
        }
        return err_set(err, ERR_INPUT, "query '%s': '%.*s' is none of %s", name,
                       (int)(length < 32 ? length : 32), at, known);
}

int api_check_span(int64_t from_ms, int64_t until_ms, struct err *err)
{
        if (from_ms < until_ms)
                return 0;
        return err_set(err, ERR_INPUT, "query 'from' is not before 'until': nothing lies between");
}

int api_take_words(const char *name, const char *list, const struct api_word *words, size_t count,
                   struct err *err)
{
        for (const char *at = list; *at;) {
                size_t length = strcspn(at, ","), w = 0;
                while (w < count && !(strlen(words[w].word) == length &&
                                      strncmp(words[w].word, at, length) == 0))
                        w++;
                if (w == count)
                        return no_such_word(name, at, length, words, count, err);
                *words[w].flag = true;
                at += length + (at[length] == ',');
        }
        return 0;
}

bool api_body_is_json(const struct call *call)
{
        const char *type = http_header(call->exchange, "Content-Type");

        return type && strncmp(type, JSON_TYPE, strlen(JSON_TYPE)) == 0;
}

json_t *api_body(struct call *call)
{
        size_t size;
        const char *body = http_body(call->exchange, &size);
        json_error_t why;
        struct err err;
        json_t *json = size == 0 ? json_object()
                                 : json_loadb(body, size, JSON_REJECT_DUPLICATES, &why);

        if (json && json_is_object(json))
                return json;
        (void)err_set(&err, ERR_INPUT, "the body is no JSON object%s%s", json ? "" : ": ",
                      json ? "" : why.text);
        json_decref(json);
        api_fail(call, &err);
        return NULL;
}

bool api_tenant(struct call *call, char ret_tenant[TENANT_PATH_MAX])
{
        struct err err;

        ret_tenant[0] = '\0';
        if (!api_query(call, "tenant", ret_tenant, TENANT_PATH_MAX))
                return false;
        if (ret_tenant[0] == '\0' && !access_may(&call->who, ACTION_SEE_ALL, NULL) &&
            call->who.grants_count > 0)
                (void)str_copy(ret_tenant, TENANT_PATH_MAX, call->who.grants[0].tenant);
        if (ret_tenant[0] == '\0') {
                if (access_need(&call->who, ACTION_SEE_ALL, NULL, "the pool", &err) == 0)
                        return true;
        } else if (access_need(&call->who, ACTION_SEE, ret_tenant, ret_tenant, &err) == 0) {
                return true;
        }
        api_fail(call, &err);
        return false;
}

/* ---- the path's workload ---- */

struct named {
        const struct who *who;
        uint64_t id;
};

static int see_named(void *arg, const struct object *object, struct err *err)
{
        struct named *named = arg;

        (void)err;
        if (!access_may(named->who, ACTION_SEE, object->tenant))
                return 0;
        named->id = object->id;
        return 1;
}

static uint64_t find_named(struct call *call, const char *name, struct err *err)
{
        char tenant[TENANT_PATH_MAX] = "";
        struct named named = {.who = &call->who};
        struct object_filter filter = {.kind = OBJECT_WORKLOAD, .name = name, .live = true};

        if (query_get(http_query(call->exchange), "tenant", tenant, sizeof tenant, err) < 0)
                return 0;
        if (tenant[0])
                filter.tenant = tenant;
        if (objects_list(core_view(call->live->core), &filter, see_named, &named, err) == 0) {
                filter.live = false;
                filter.ended = true;
                (void)objects_list(core_view(call->live->core), &filter, see_named, &named, err);
        }
        return named.id;
}

uint64_t api_workload(struct call *call)
{
        const char *id = route_param(call->match, "id");
        uint64_t number = 0;
        struct err err = {0};

        if (num_u64(id, 1, INT64_MAX, &number, NULL) == 0)
                return number;
        number = find_named(call, id, &err);
        if (number == 0) {
                if (err.code == ERR_OK)
                        (void)err_set(&err, ERR_NOT_FOUND,
                                      "there is no workload '%s' here, or it is not for %s to see",
                                      id, call->who.name);
                api_fail(call, &err);
        }
        return number;
}

int api_need_work(struct call *call, const struct work *work, enum action action, struct err *err)
{
        char what[48];
        bool own = str_equal(work->user, call->who.name) &&
                   access_may(&call->who, ACTION_SUBMIT, work->tenant);

        (void)snprintf(what, sizeof what, "workload %" PRIu64, work->id);
        return action == ACTION_MANAGE && own
                       ? 0
                       : access_need(&call->who, action, work->tenant, what, err);
}

/* In the words of something that may not be seen, unless it is known to who asks. */
static void fail_not_live(struct call *call, uint64_t id, const char *what)
{
        struct object_copy *copy;
        struct err err;
        bool seen = false;

        if (objects_get(core_view(call->live->core), OBJECT_WORKLOAD, id, &copy, NULL) == 0) {
                seen = access_may(&call->who, ACTION_SEE, copy->object.tenant);
                mem_free(copy);
        }
        if (seen)
                (void)err_set(&err, ERR_NOT_FOUND, "%s has ended: 'berth status %" PRIu64
                              "' says how", what, id);
        else
                (void)err_set(&err, ERR_NOT_FOUND, "%s is not here, or not for %s to see", what,
                              call->who.name);
        api_fail(call, &err);
}

struct work *api_live_work(struct call *call, enum action action)
{
        uint64_t id = api_workload(call);
        struct work *work = id ? works_find(core_works(call->live->core), id) : NULL;
        char what[48];
        struct err err;

        if (id == 0)
                return NULL;
        (void)snprintf(what, sizeof what, "workload %" PRIu64, id);
        if (!work) {
                fail_not_live(call, id, what);
                return NULL;
        }
        if (api_need_work(call, work, action, &err) < 0) {
                api_fail(call, &err);
                return NULL;
        }
        return work;
}
