/* Answers that are made aside (asides.h): from a question to the exchange's answer. */
#include "controller/api_handlers.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/problem.h"

/* The answer came out, or did not: the question's end. */
void api_aside_done(void *self, int rc, const struct err *err)
{
        struct api_aside *it = self;

        if (rc == 0)
                http_answer(it->exchange, 200, it->type, it->bytes, it->size);
        else
                problem_answer(it->exchange, rc == -ERR_IO ? 503 : 0, err, NULL);
        free(it->bytes);
        mem_free(it);
}

bool api_aside_is_unwanted(void *self)
{
        const struct api_aside *it = self;

        return http_client_gone(it->exchange);
}

int api_aside_json(struct api_aside *it, json_t *json, struct err *err)
{
        it->bytes = json ? json_dumps(json, JSON_COMPACT) : NULL;
        it->size = it->bytes ? strlen(it->bytes) : 0;
        it->type = "application/json";
        json_decref(json);
        return it->bytes ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

void api_answer_aside(struct call *call, const struct aside_kind *kind, struct api_aside *it)
{
        struct err err = {ERR_NOMEM, "out of memory"};
        struct aside aside = {.kind = kind, .self = it};
        int rc;

        if (!it) {
                api_fail(call, &err);
                return;
        }
        it->exchange = call->exchange;
        guarded_head(call->exchange, it->head);
        (void)str_copy(it->by, sizeof it->by, call->who.name);
        aside.request.head = it->head;
        aside.request.by = it->by;
        aside.request.body = http_body(call->exchange, &aside.request.size);
        rc = asides_add(call->api->asides, &aside, &err);
        if (rc == -ERR_FULL)
                (void)http_answer_header(call->exchange, "Retry-After", ASIDE_RETRY_AFTER);
        if (rc)
                kind->done(it, rc, &err);
}
