/* What an input, or a request, is known by when it comes again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/doc.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/quarantine.h"
#include "net/uri.h"

/* A workload that is submitted again gets another number; so does what waits for it, and a start
 * that was said as "in an hour" is another one. */
static void drop_numbers(json_t *input)
{
        static const char *const own[] = {"pool", "revision"};
        static const char *const of_request[] = {"workload", "group", "array", "after", "start_ms"};
        json_t *request = json_object_get(input, "request");

        for (size_t i = 0; i < ARRAY_LEN(own); i++)
                (void)json_object_del(input, own[i]);
        for (size_t i = 0; request && i < ARRAY_LEN(of_request); i++)
                (void)json_object_del(request, of_request[i]);
}

/* The document says all but whose it is: numbers of words depend on who came before. */
static void keep_tenant(json_t *request)
{
        json_t *tenant = json_incref(json_object_get(request, "tenant"));

        (void)json_object_clear(request);
        if (tenant)
                (void)json_object_set_new(request, "tenant", tenant);
}

static uint64_t hash_json(const json_t *json, uint64_t seed)
{
        char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
        uint64_t hash = text ? XXH3_64bits_withSeed(text, strlen(text), seed) : seed;

        free(text);
        return hash;
}

static struct quarantine_marks marks_of_input(json_t *input, uint64_t seed)
{
        struct quarantine_marks marks;
        json_t *document = json_object_get(input, "document");

        drop_numbers(input);
        if (!json_object_get(input, "request") || !document) {
                marks.meaning = marks.sight = hash_json(input, seed);
                return marks;
        }
        (void)json_incref(document);
        (void)json_object_del(input, "document");
        marks.sight = hash_json(input, seed);
        keep_tenant(json_object_get(input, "request"));
        (void)json_object_set_new(input, "document", document);
        marks.meaning = hash_json(input, seed);
        return marks;
}

/* What is no input as it is logged is taken as it is. */
struct quarantine_marks quarantine_mark(enum crash_of of, const char *head, size_t head_size,
                                        const char *body, size_t size)
{
        uint64_t seed = XXH3_64bits_withSeed(head, head_size, (uint64_t)of);
        json_t *input = of == CRASH_INPUT ? json_loadb(body, size, 0, NULL) : NULL;
        struct quarantine_marks marks;

        if (json_is_object(input))
                marks = marks_of_input(input, seed);
        else
                marks.meaning = marks.sight = XXH3_64bits_withSeed(size ? body : "", size, seed);
        json_decref(input);
        return marks;
}

bool quarantine_is_same(const struct quarantine_marks *a, const struct quarantine_marks *b)
{
        return a->meaning == b->meaning || a->sight == b->sight;
}

/* ---- in words ---- */

static void scalar_of(const struct doc_node *root, const char *key, char buf[STR_SHOW_MAX])
{
        const struct doc_node *node = doc_get(root, key);
        const char *raw = node ? doc_raw(node) : NULL;

        (void)str_show(raw ? raw : "", buf);
}

static void of_document(const char *text, size_t size, char *ret_what, size_t what_size)
{
        char name[STR_SHOW_MAX], tenant[STR_SHOW_MAX];
        struct doc *doc;

        if (doc_read_yaml("document", text, size, &doc, NULL) < 0)
                return;
        scalar_of(doc_root(doc, 0), "name", name);
        scalar_of(doc_root(doc, 0), "tenant", tenant);
        if (name[0])
                (void)snprintf(ret_what, what_size, "'%s'%s%s", name, tenant[0] ? " of " : "",
                               tenant);
        doc_free(doc);
}

static void of_input(const struct crash_record *record, char *ret_what, size_t what_size)
{
        json_t *input = json_loadb(record->body, record->body_size, 0, NULL);
        const char *document = json_string_value(json_object_get(input, "document"));
        json_int_t workload = json_integer_value(json_object_get(input, "workload"));

        if (document)
                of_document(document, strlen(document), ret_what, what_size);
        else if (workload > 0)
                (void)snprintf(ret_what, what_size, "workload %" JSON_INTEGER_FORMAT, workload);
        json_decref(input);
}

/* What its document is called, or what it asks for behind its path. */
static void of_request(const struct crash_record *record, char *ret_what, size_t what_size)
{
        const char *query = memchr(record->head, '?', record->head_size);
        char text[QUARANTINE_WHAT_MAX], shown[STR_SHOW_MAX];

        if (record->body_size > 0)
                of_document(record->body, record->body_size, ret_what, what_size);
        if (ret_what[0] || !query)
                return;
        size_t size = record->head_size - (size_t)(query - record->head);
        if (uri_decode(query, size, true, text, sizeof text, NULL) < 0)
                (void)snprintf(text, sizeof text, "%.*s", (int)size, query);
        (void)snprintf(ret_what, what_size, "%s", str_show(text, shown));
}

void quarantine_what(const struct crash_record *record, char *ret_what, size_t what_size)
{
        ret_what[0] = '\0';
        if (record->of == CRASH_INPUT)
                of_input(record, ret_what, what_size);
        else if (record->of == CRASH_REQUEST)
                of_request(record, ret_what, what_size);
}
