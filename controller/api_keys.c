/* Idempotency-Key: a request that is sent again gets the answer of the first one. */
#include "controller/api_handlers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "controller/live.h"
#include "net/problem.h"
#include "store/keys.h"

/* A request whose key is on its way to the disk with the first one. */
struct repeated {
        struct call call;
        char key[KEY_MAX + 1];
};

static bool find(struct call *call);

static void repeat_done(void *arg, int rc, const struct err *err)
{
        static const struct err gone = {ERR_IO, "the first request with this key came to nothing: "
                                                "try again"};
        struct repeated *repeated = arg;

        repeated->call.key = repeated->key;
        if (rc < 0)
                problem_answer(repeated->call.exchange, 503, err, NULL);
        else if (!find(&repeated->call))
                problem_answer(repeated->call.exchange, 503, &gone, NULL);
        mem_free(repeated);
}

/* It waits for the first one, and gets its answer. */
static void wait_for_first(struct call *call)
{
        struct repeated *repeated = mem_new(1, sizeof *repeated);
        struct err err;

        if (!repeated || !str_copy(repeated->key, sizeof repeated->key, call->key)) {
                mem_free(repeated);
                (void)err_set(&err, ERR_NOMEM, "out of memory");
                api_fail(call, &err);
                return;
        }
        repeated->call = *call;
        repeated->call.match = NULL;    /* it is gone by then */
        core_when_durable(call->live->core, repeat_done, repeated);
}

/* True: answered, or it will be. */
static bool find(struct call *call)
{
        struct core *core = call->live->core;
        struct key_entry entry;
        struct err err;

        if (core_holds_key(core, call->who.name, call->key)) {
                wait_for_first(call);
                return true;
        }
        int rc = keys_find(core_view(core), call->who.name, call->key, call->request, api_now_ms(),
                           &entry, &err);
        if (rc == -ERR_NOT_FOUND)
                return false;
        if (rc == 0) {
                http_answer(call->exchange, entry.status, "application/json", entry.body,
                            entry.size);
                mem_free((void *)(uintptr_t)entry.body);
                return true;
        }
        problem_answer(call->exchange, rc == -ERR_EXISTS ? 409 : 503, &err, NULL);
        return true;
}

/* What makes two requests the same: operation, path and query, body. */
static bool hash_request(struct call *call)
{
        struct text what = {0};
        size_t size;
        const char *body = http_body(call->exchange, &size);

        text_add(&what, "%s %s?%s", call->match->route->operation, http_path(call->exchange),
                 http_query(call->exchange));
        if (!what.failed)
                key_request_hash(what.bytes, body, size, call->request);
        bool ok = !what.failed;
        text_done(&what);
        return ok;
}

bool api_answered_before(struct call *call)
{
        enum http_method method = http_method(call->exchange);
        const char *key = http_header(call->exchange, "Idempotency-Key");
        struct err err;

        if (!key || method == HTTP_GET || method == HTTP_HEAD)
                return false;
        if (key[0] == '\0' || strlen(key) > KEY_MAX || !str_is_utf8(key, strlen(key), NULL)) {
                (void)err_set(&err, ERR_INPUT, "Idempotency-Key: write 1 to %d bytes of UTF-8",
                              KEY_MAX);
                api_fail(call, &err);
                return true;
        }
        if (!hash_request(call)) {
                (void)err_set(&err, ERR_NOMEM, "out of memory");
                api_fail(call, &err);
                return true;
        }
        call->key = key;
        return find(call);
}

int api_keep_key(struct call *call, struct act *act, unsigned status, const char *answer,
                 struct err *err)
{
        struct key_entry entry = {.actor = call->who.name,
                                  .key = call->key,
                                  .until_ms = api_now_ms() + KEY_LIFE_MS,
                                  .status = status,
                                  .body = answer,
                                  .size = strlen(answer)};

        if (!call->key)
                return 0;
        memcpy(entry.request, call->request, sizeof entry.request);
        return core_key(act, &entry, err);
}
