#include "net/problem.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "net/http.h"

unsigned problem_status(int code)
{
        switch ((enum err_code)(code < 0 ? -code : code)) {
        case ERR_INPUT:
        case ERR_RANGE:
                return 400;
        case ERR_NOT_FOUND:
                return 404;
        case ERR_EXISTS:
                return 409;
        case ERR_NOMEM:
        case ERR_FULL:
        case ERR_CANCELLED:
                return 503;
        case ERR_DENIED:
                return 403;
        case ERR_QUARANTINED:
        case ERR_LIMIT:
                return 422;
        case ERR_IO:
        case ERR_OK:
        case ERR_CODES_END:
                break;
        }
        return 500;
}

const char *problem_status_title(unsigned status)
{
        static const struct {
                unsigned status;
                const char *title;
        } rows[] = {
                {400, "Bad Request"},
                {401, "Unauthorized"},
                {403, "Forbidden"},
                {404, "Not Found"},
                {405, "Method Not Allowed"},
                {406, "Not Acceptable"},
                {408, "Request Timeout"},
                {409, "Conflict"},
                {410, "Gone"},
                {412, "Precondition Failed"},
                {413, "Content Too Large"},
                {414, "URI Too Long"},
                {415, "Unsupported Media Type"},
                {422, "Unprocessable Content"},
                {428, "Precondition Required"},
                {429, "Too Many Requests"},
                {431, "Request Header Fields Too Large"},
                {500, "Internal Server Error"},
                {503, "Service Unavailable"},
                {504, "Gateway Timeout"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                if (rows[i].status == status)
                        return rows[i].title;
        }
        return "";
}

/* The code says most, where the status is the one that it stands for. */
static json_t *problem_object(unsigned status, const struct err *err)
{
        char type[64], title[64];

        if (status == problem_status((int)err->code)) {
                snprintf(type, sizeof type, "/problems/%s", err_code_name((int)err->code));
                snprintf(title, sizeof title, "%s", err_code_name((int)err->code));
                for (char *at = title; (at = strchr(at, '_'));)
                        *at = ' ';
        } else {
                snprintf(type, sizeof type, "/problems/http-%u", status);
                snprintf(title, sizeof title, "%s", problem_status_title(status));
        }
        const char *detail = str_is_utf8(err->text, strlen(err->text), NULL)
                                     ? err->text
                                     : "the sentence was no UTF-8";
        return json_pack("{s:s, s:s, s:i, s:s}", "type", type, "title", title, "status",
                         (int)status, "detail", detail);
}

static bool is_ours(const char *name)
{
        static const char *const names[] = {"type", "title", "status", "detail", "instance"};

        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                if (str_equal(name, names[i]))
                        return true;
        }
        return false;
}

static int add_extra(json_t *object, const json_t *extra)
{
        /* jansson reads through a pointer that is not const, and changes nothing but counts. */
        void *iterator = json_object_iter((json_t *)(uintptr_t)extra);

        for (; iterator; iterator = json_object_iter_next((json_t *)(uintptr_t)extra, iterator)) {
                const char *name = json_object_iter_key(iterator);
                assert(!is_ours(name));
                if (json_object_set(object, name, json_object_iter_value(iterator)) < 0)
                        return -ERR_NOMEM;
        }
        return 0;
}

static int add_dumped(const char *bytes, size_t size, void *arg)
{
        struct text *text = arg;

        text_add(text, "%.*s", (int)size, bytes);
        return text->failed ? -1 : 0;
}

void problem_write(struct text *text, unsigned status, const struct err *err, const json_t *extra)
{
        if (status == 0)
                status = problem_status((int)err->code);
        json_t *object = problem_object(status, err);
        if (!object || add_extra(object, extra) < 0 ||
            json_dump_callback(object, add_dumped, text, JSON_COMPACT) < 0)
                text->failed = true;
        json_decref(object);
}

void problem_answer(struct http_exchange *exchange, unsigned status, const struct err *err,
                    const json_t *extra)
{
        struct text text = {0};

        if (status == 0)
                status = problem_status((int)err->code);
        problem_write(&text, status, err, extra);
        if (text.failed)
                http_answer(exchange, status, NULL, NULL, 0);
        else
                http_answer(exchange, status, PROBLEM_TYPE, text.bytes, text.size);
        text_done(&text);
}
