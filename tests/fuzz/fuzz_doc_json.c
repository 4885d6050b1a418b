/* fuzz_doc_json.c - the tree against jansson's own: same shape, same values, same order. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/doc_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const struct doc_node *node, json_t *value)
{
        const char *raw = doc_raw(node);
        switch (json_typeof(value)) {
        case JSON_OBJECT: {
                const char *key;
                json_t *member;
                const struct doc_node *child = doc_first(node);
                assert(doc_kind(node) == DOC_MAP);
                json_object_foreach(value, key, member) {
                        assert(child);
                        assert(strcmp(doc_key(child), key) == 0);
                        compare(child, member);
                        child = doc_next(child);
                }
                assert(!child);
                return;
        }
        case JSON_ARRAY: {
                const struct doc_node *child = doc_first(node);
                assert(doc_kind(node) == DOC_LIST);
                for (size_t i = 0; i < json_array_size(value); i++) {
                        assert(child);
                        compare(child, json_array_get(value, i));
                        child = doc_next(child);
                }
                assert(!child);
                return;
        }
        case JSON_STRING:
                assert(doc_is_quoted(node));
                assert(strcmp(raw, json_string_value(value)) == 0);
                return;
        case JSON_INTEGER:
                assert(!doc_is_quoted(node));
                assert(strtoll(raw, NULL, 10) == json_integer_value(value));
                return;
        case JSON_REAL: {
                double is = strtod(raw, NULL);
                double wanted = json_real_value(value);
                assert(memcmp(&is, &wanted, sizeof is) == 0);
                return;
        }
        case JSON_TRUE:
                assert(strcmp(raw, "true") == 0);
                return;
        case JSON_FALSE:
                assert(strcmp(raw, "false") == 0);
                return;
        case JSON_NULL:
                assert(doc_kind(node) == DOC_NULL);
                return;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct doc *doc = NULL;
        struct err err = {0};
        const char *bytes = (const char *)data;
        unsigned lines = 1;
        if (doc_read_json("f", bytes, size, &doc, &err) < 0) {
                assert(!doc);
                assert(strncmp(err.text, "f:", 2) == 0);
                return 0;
        }
        if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
                bytes += 3;
                size -= 3;
        }
        for (size_t i = 0; i < size; i++)
                lines += bytes[i] == '\n';
        assert(doc_count(doc) == 1);
        doc_walk(doc_root(doc, 0), 0, lines);
        json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
        assert(root);
        compare(doc_root(doc, 0), root);
        json_decref(root);
        doc_free(doc);
        return 0;
}
