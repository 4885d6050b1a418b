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

/* A workload that is submitted again gets another number; so does what waits for it. */
static void drop_numbers(json_t *input)
{
        static const char *const own[] = {"pool", "revision"};
        static const char *const of_request[] = {"workload", "group", "array", "after"};
        json_t *request = json_object_get(input, "request");

        for (size_t i = 0; i < ARRAY_LEN(own); i++)
                (void)json_object_del(input, own[i]);
        for (size_t i = 0; request && i < ARRAY_LEN(of_request); i++)
                (void)json_object_del(request, of_request[i]);
        /* Where the document is there it says all; numbers of words depend on who came before. */
        if (request && json_object_get(input, "document")) {
                json_t *tenant = json_incref(json_object_get(request, "tenant"));
                (void)json_object_clear(request);
                if (tenant)
                        (void)json_object_set_new(request, "tenant", tenant);
        }
}

/* NULL: it is no input as it is logged, or there is no memory; then it is taken as it is. */
static char *plain_input(const char *body, size_t size)
{
        json_t *input = json_loadb(body, size, 0, NULL);
        char *text = NULL;

        if (json_is_object(input)) {
                drop_numbers(input);
                text = json_dumps(input, JSON_COMPACT | JSON_SORT_KEYS);
        }
        json_decref(input);
        return text;
}

uint64_t quarantine_mark(enum crash_of of, const char *head, size_t head_size, const char *body,
                         size_t size)
{
        uint64_t seed = XXH3_64bits_withSeed(head, head_size, (uint64_t)of);
        char *plain = of == CRASH_INPUT ? plain_input(body, size) : NULL;
        uint64_t mark = plain ? XXH3_64bits_withSeed(plain, strlen(plain), seed)
                              : XXH3_64bits_withSeed(size ? body : "", size, seed);

        free(plain);
        return mark;
}

/* ---- in words ---- */

static void scalar_of(const struct doc_node *root, const char *key, char buf[STR_SHOW_MAX])
{
        const struct doc_node *node = doc_get(root, key);
        const char *raw = node ? doc_raw(node) : NULL;

        (void)str_show(raw ? raw : "", buf);
}

static void of_document(const char *text, char *ret_what, size_t size)
{
        char name[STR_SHOW_MAX], tenant[STR_SHOW_MAX];
        struct doc *doc;

        if (doc_read_yaml("document", text, strlen(text), &doc, NULL) < 0)
                return;
        scalar_of(doc_root(doc, 0), "name", name);
        scalar_of(doc_root(doc, 0), "tenant", tenant);
        (void)snprintf(ret_what, size, "'%s'%s%s", name, tenant[0] ? " of " : "", tenant);
        doc_free(doc);
}

void quarantine_what(enum crash_of of, const char *body, size_t size, char *ret_what,
                     size_t what_size)
{
        json_t *input = of == CRASH_INPUT ? json_loadb(body, size, 0, NULL) : NULL;
        const char *document = json_string_value(json_object_get(input, "document"));
        json_int_t workload = json_integer_value(json_object_get(input, "workload"));

        ret_what[0] = '\0';
        if (document)
                of_document(document, ret_what, what_size);
        else if (workload > 0)
                (void)snprintf(ret_what, what_size, "workload %" JSON_INTEGER_FORMAT, workload);
        json_decref(input);
}
