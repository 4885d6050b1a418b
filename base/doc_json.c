#include <assert.h>
#include <jansson.h>
#include <string.h>

#include "base/doc_build.h"
#include "base/err.h"

/* jansson checks the text and decodes it, but keeps neither lines nor the digits of a number as
 * written. Both come from a second walk over the text, in step with jansson's tree: an object
 * without duplicate keys is iterated in the order of the text, so each value in turn is the next
 * one there. The text is known to be JSON by then. */
struct cursor {
        const char *at;
        const char *end;
        unsigned line;
};

/* To the next key or value. */
static void skip_to_value(struct cursor *cursor)
{
        for (; cursor->at < cursor->end && strchr(" \t\r\n,:}]", *cursor->at); cursor->at++)
                cursor->line += *cursor->at == '\n';
        assert(cursor->at < cursor->end);
}

static void skip_string(struct cursor *cursor)
{
        assert(*cursor->at == '"');
        for (cursor->at++; *cursor->at != '"'; cursor->at++) {
                if (*cursor->at == '\\')
                        cursor->at++;
                assert(cursor->at + 1 < cursor->end);
        }
        cursor->at++;
}

/* Past a number or a word; returns its length. */
static size_t skip_word(struct cursor *cursor)
{
        const char *start = cursor->at;
        while (cursor->at < cursor->end && !strchr(" \t\r\n,:}]", *cursor->at))
                cursor->at++;
        return (size_t)(cursor->at - start);
}

static int add_value(struct doc *doc, struct doc_node *parent, const char *key,
                     const json_t *value, unsigned line, struct cursor *cursor, struct err *err);

/* At most DOC_DEPTH_MAX deep: doc_add refuses more. */
static int add_container(struct doc *doc, struct doc_node *parent, const char *key,
                         const json_t *value, unsigned line, struct cursor *cursor,
                         struct err *err)
{
        struct doc_node *node;
        bool is_map = json_is_object(value);
        int rc = doc_add(doc, parent, key, is_map ? DOC_MAP : DOC_LIST, line, &node, err);
        if (rc < 0)
                return rc;
        assert(*cursor->at == (is_map ? '{' : '['));
        cursor->at++;
        if (!is_map) {
                for (size_t i = 0; rc == 0 && i < json_array_size(value); i++) {
                        skip_to_value(cursor);
                        rc = add_value(doc, node, NULL, json_array_get(value, i), cursor->line,
                                       cursor, err);
                }
                return rc;
        }
        /* json_object_foreach takes no const object, and changes none. */
        for (void *step = json_object_iter((json_t *)(uintptr_t)value); rc == 0 && step;
             step = json_object_iter_next((json_t *)(uintptr_t)value, step)) {
                skip_to_value(cursor);
                unsigned key_line = cursor->line;
                skip_string(cursor);
                skip_to_value(cursor);
                const char *child_key = json_object_iter_key(step);
                if (child_key[0] == '\0')
                        return doc_fail_line(doc, key_line, err,
                                             "a key is empty; write '\"key\": value'");
                rc = add_value(doc, node, child_key, json_object_iter_value(step), key_line,
                               cursor, err);
        }
        return rc;
}

static int add_value(struct doc *doc, struct doc_node *parent, const char *key,
                     const json_t *value, unsigned line, struct cursor *cursor, struct err *err)
{
        if (json_is_object(value) || json_is_array(value))
                return add_container(doc, parent, key, value, line, cursor, err);
        if (json_is_string(value)) {
                skip_string(cursor);
                return doc_add_scalar(doc, parent, key, json_string_value(value),
                                      json_string_length(value), true, line, err);
        }
        const char *word = cursor->at;
        size_t length = skip_word(cursor);
        return doc_add_scalar(doc, parent, key, word, length, false, line, err);
}

/* Refuses, before jansson builds anything, what would only be refused after it: far too many
 * values, or nesting that would make it recurse. Says nothing about the syntax. */
static int check_bounds(const struct doc *doc, const char *bytes, size_t size, struct err *err)
{
        size_t commas = 0;
        size_t depth = 0;
        unsigned line = 1;
        bool in_string = false;
        for (size_t i = 0; i < size; i++) {
                char c = bytes[i];
                line += c == '\n';
                if (in_string && c == '\\')
                        i++;
                else if (c == '"')
                        in_string = !in_string;
                else if (in_string)
                        continue;
                else if (c == ',')
                        commas++;
                else if (c == '[' || c == '{')
                        depth++;
                else if ((c == ']' || c == '}') && depth > 0)
                        depth--;
                if (depth > DOC_DEPTH_MAX)
                        return doc_fail_line(doc, line, err, "is nested deeper than %d",
                                             DOC_DEPTH_MAX);
                if (commas > DOC_NODES_MAX)
                        return doc_fail_line(doc, line, err, "holds more than %d values",
                                             DOC_NODES_MAX);
        }
        return 0;
}

static int read_tree(struct doc *doc, const char *bytes, size_t size, struct err *err)
{
        int rc = check_bounds(doc, bytes, size, err);
        if (rc < 0)
                return rc;
        json_error_t problem;
        json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &problem);
        if (!root) {
                unsigned line = problem.line > 0 ? (unsigned)problem.line : 1;
                if (json_error_code(&problem) == json_error_out_of_memory)
                        return err_set(err, ERR_NOMEM, "%s: out of memory", doc->name);
                return doc_fail_line(doc, line, err, "is not JSON: %s", problem.text);
        }
        struct cursor cursor = {.at = bytes, .end = bytes + size, .line = 1};
        skip_to_value(&cursor);
        rc = add_value(doc, NULL, NULL, root, cursor.line, &cursor, err);
        json_decref(root);
        return rc;
}

int doc_read_json(const char *name, const char *bytes, size_t size, struct doc **ret_doc,
                  struct err *err)
{
        return doc_build(name, bytes, size, read_tree, ret_doc, err);
}
