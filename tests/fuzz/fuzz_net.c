/* fuzz_net.c - what comes from outside as text and is read by code of ours: addresses, queries,
 * routes, tokens, event streams. The first byte says which. What is accepted must come back the
 * same when it is written again, or read in other pieces. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "net/routes.h"
#include "net/sse.h"
#include "net/token.h"
#include "net/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_uri(const char *text, size_t size)
{
        char decoded[URI_VALUE_MAX], encoded[3 * URI_VALUE_MAX], again[URI_VALUE_MAX];
        struct err err = {0};

        int rc = uri_decode(text, size, false, decoded, sizeof decoded, &err);
        assert((rc < 0) == (err.text[0] != '\0'));
        assert(rc == 0 || decoded[0] == '\0');
        assert(str_is_utf8(decoded, strlen(decoded), NULL));
        if (!uri_encode(decoded, encoded, sizeof encoded))
                abort();
        assert(strlen(encoded) <= 3 * size);
        assert(uri_decode(encoded, strlen(encoded), true, again, sizeof again, NULL) == 0);
        assert(strcmp(decoded, again) == 0);
}

/* The model: a field's value is what stands behind its name, and only query_check() sees all. */
static void check_query(const char *query)
{
        static const char *const names[] = {"a", "limit", "x y"};
        char value[64], checked[64];
        struct err err = {0};
        bool is_good = query_check(query, names, ARRAY_LEN(names), &err) == 0;

        assert(is_good == (err.text[0] == '\0'));
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                str_copy(value, sizeof value, "untouched");
                int rc = query_get(query, names[i], value, sizeof value, NULL);
                assert(rc == 1 || strcmp(value, "untouched") == 0);
                if (rc != 1)
                        continue;
                char encoded[256], alone[320];
                assert(uri_encode(value, encoded, sizeof encoded));
                char name[16];
                assert(uri_encode(names[i], name, sizeof name));
                snprintf(alone, sizeof alone, "%s=%s", name, encoded);
                assert(query_check(alone, names, ARRAY_LEN(names), NULL) == 0);
                assert(query_get(alone, names[i], checked, sizeof checked, NULL) == 1);
                assert(strcmp(value, checked) == 0);
        }
}

static void never(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        (void)exchange;
        (void)match;
        (void)arg;
}

static const struct route table[] = {
        {HTTP_GET, "/a", "a", never, NULL},
        {HTTP_GET, "/a/{x}", "ax", never, NULL},
        {HTTP_POST, "/a/{x}", "postAx", never, NULL},
        {HTTP_GET, "/a/b", "ab", never, NULL},
        {HTTP_GET, "/a/{x}/c/{y}", "axcy", never, NULL},
        {HTTP_GET, "/{x}/b/{y}", "xby", never, NULL},
};

/* The path of the pattern with the parameters found must lead to the same place. */
static void check_routes(const char *path)
{
        struct route_match match, again;
        struct err err = {0};
        char built[8 * ROUTE_PARAM_BYTES_MAX] = "", encoded[3 * ROUTE_PARAM_BYTES_MAX];
        size_t used = 0, param = 0;

        int rc = routes_match(table, ARRAY_LEN(table), HTTP_GET, path, &match, &err);
        assert((rc < 0) == (err.text[0] != '\0'));
        if (rc < 0)
                return;
        for (const char *at = match.route->pattern; *at; at++) {
                if (*at != '{') {
                        built[used++] = *at;
                        continue;
                }
                assert(match.params[param][0] != '\0');
                assert(uri_encode(match.params[param++], encoded, sizeof encoded));
                memcpy(built + used, encoded, strlen(encoded));
                used += strlen(encoded);
                at = strchr(at, '}');
        }
        built[used] = '\0';
        assert(param == match.params_count);
        assert(routes_match(table, ARRAY_LEN(table), HTTP_GET, built, &again, NULL) == 0);
        /* "%62" is a parameter, "b" the word: then the better match. */
        if (again.route != match.route)
                return;
        for (size_t i = 0; i < param; i++)
                assert(strcmp(match.params[i], again.params[i]) == 0);
}

static void check_token(const char *text)
{
        struct token token;
        char again[TOKEN_TEXT_MAX];
        struct err err = {0};

        if (token_from_header(text, &token, &err) < 0)
                assert(err.text[0] != '\0');
        if (token_parse(text, &token, NULL) == 0) {
                token_text(&token, again);
                assert(strcmp(text, again) == 0);
        }
}

static int note(const struct sse_event *event, void *arg)
{
        assert(!strpbrk(event->id, "\r\n"));
        assert(!strpbrk(event->name, "\r\n"));
        assert(!strchr(event->data, '\r'));
        text_add(arg, "%s|%s|%s;", event->id, event->name, event->data);
        return 0;
}

static void read_in_pieces(const char *bytes, size_t size, size_t piece, struct text *seen)
{
        struct sse_reader *reader = sse_reader_new();

        if (!reader)
                abort();
        for (size_t at = 0; at < size; at += piece) {
                size_t part = size - at < piece ? size - at : piece;
                int rc = sse_read(reader, bytes + at, part, note, seen, NULL);
                assert(rc == 0); /* no input here is as long as an event may be */
        }
        text_add(seen, "%s %lld", sse_reader_id(reader), (long long)sse_reader_retry_ms(reader));
        sse_reader_free(reader);
}

static void check_sse(const char *bytes, size_t size)
{
        struct text whole = {0}, pieces = {0};
        uint64_t id = 0;

        sse_last_id(bytes, &id, NULL);
        read_in_pieces(bytes, size, size ? size : 1, &whole);
        for (size_t piece = 1; piece <= 3; piece++) {
                pieces.size = 0;
                read_in_pieces(bytes, size, piece, &pieces);
                assert(!whole.failed);
                assert(!pieces.failed);
                assert(strcmp(whole.bytes, pieces.bytes) == 0);
        }
        text_done(&whole);
        text_done(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size == 0 || size > 4096)
                return 0;
        char *text = malloc(size);
        if (!text)
                abort();
        memcpy(text, data + 1, size - 1);
        text[size - 1] = '\0';
        switch (data[0]) {
        case 'u':
                check_uri(text, size - 1);
                break;
        case 'q':
                check_query(text);
                break;
        case 'r':
                check_routes(text);
                break;
        case 't':
                check_token(text);
                break;
        case 's':
                check_sse(text, size - 1);
                break;
        default:
                break;
        }
        free(text);
        return 0;
}
