#include "base/doc_build.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define NAME_SHOWN_MAX 120              /* leaves room for the sentence */

static int fail_nomem(const struct doc *doc, struct err *err)
{
        return err_set(err, ERR_NOMEM, "%s: out of memory", doc->name);
}

unsigned doc_line_of(const char *bytes, size_t offset)
{
        unsigned line = 1;
        for (size_t i = 0; i < offset; i++)
                line += bytes[i] == '\n';
        return line;
}

int doc_fail_line(const struct doc *doc, unsigned line, struct err *err, const char *format, ...)
{
        char sentence[sizeof ((struct err *)0)->text];
        va_list args;
        va_start(args, format);
        vsnprintf(sentence, sizeof sentence, format, args);
        va_end(args);
        return err_set(err, ERR_INPUT, "%s:%u: %s", doc->name, line, sentence);
}

static const char *keep_name(struct arena *arena, const char *name)
{
        size_t length = strlen(name);
        if (length <= NAME_SHOWN_MAX)
                return arena_text(arena, name, length);
        char *kept = arena_text(arena, name + length - NAME_SHOWN_MAX, NAME_SHOWN_MAX);
        if (kept)
                memcpy(kept, "...", 3);
        return kept;
}

static int begin(const char *name, const char **bytes, size_t *size, struct doc **ret_doc,
                 struct err *err)
{
        struct arena *arena = arena_new(0, 0);
        struct doc *doc = arena ? arena_array(arena, 1, sizeof *doc) : NULL;
        const char *kept = doc ? keep_name(arena, name) : NULL;
        if (!kept) {
                arena_free(arena);
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        doc->arena = arena;
        doc->name = kept;

        int rc = 0;
        size_t offset;
        const char *nul = *size > 0 ? memchr(*bytes, 0, *size) : NULL;
        if (*size > DOC_BYTES_MAX)
                rc = doc_fail_line(doc, 1, err, "%zu bytes are too many; at most %u are read",
                                   *size, DOC_BYTES_MAX);
        else if (!str_is_utf8(*bytes, *size, &offset))
                rc = doc_fail_line(doc, doc_line_of(*bytes, offset), err,
                                   "byte 0x%02x is not UTF-8; save the file as UTF-8",
                                   (unsigned char)(*bytes)[offset]);
        else if (nul)
                rc = doc_fail_line(doc, doc_line_of(*bytes, (size_t)(nul - *bytes)), err,
                                   "holds a NUL byte; is this a text file?");
        if (rc < 0) {
                doc_free(doc);
                return rc;
        }
        if (*size >= 3 && memcmp(*bytes, "\xef\xbb\xbf", 3) == 0) {
                *bytes += 3;
                *size -= 3;
        }
        *ret_doc = doc;
        return 0;
}

static int finish(struct doc *doc, struct err *err)
{
        if (doc->roots_count == 0)
                return doc_fail_line(doc, 1, err, "holds no document; write one, for example "
                                     "starting with 'kind: ...'");
        doc->roots = arena_array(doc->arena, doc->roots_count, sizeof *doc->roots);
        if (!doc->roots)
                return fail_nomem(doc, err);
        size_t i = 0;
        for (const struct doc_node *root = doc->first_root; root; root = root->next)
                doc->roots[i++] = root;
        assert(i == doc->roots_count);
        return 0;
}

int doc_build(const char *name, const char *bytes, size_t size, doc_reader *read,
              struct doc **ret_doc, struct err *err)
{
        assert(name);
        assert(bytes || size == 0);

        struct doc *doc = NULL;
        int rc = begin(name, &bytes, &size, &doc, err);
        if (rc < 0)
                return rc;
        rc = read(doc, bytes, size, err);
        if (rc == 0)
                rc = finish(doc, err);
        if (rc < 0) {
                doc_free(doc);
                return rc;
        }
        *ret_doc = doc;
        return 0;
}

void doc_free(struct doc *doc)
{
        if (doc)
                arena_free(doc->arena); /* the doc itself lies in it */
}

static void append(struct doc *doc, struct doc_node *parent, struct doc_node *node)
{
        struct doc_node **first = parent ? &parent->first : &doc->first_root;
        struct doc_node **last = parent ? &parent->last : &doc->last_root;
        if (*last)
                (*last)->next = node;
        else
                *first = node;
        *last = node;
        if (parent)
                node->index = parent->length++;
        else
                node->index = (uint32_t)doc->roots_count++;
}

int doc_add(struct doc *doc, struct doc_node *parent, const char *key, enum doc_kind kind,
            unsigned line, struct doc_node **ret_node, struct err *err)
{
        assert(!parent || parent->kind == DOC_LIST || parent->kind == DOC_MAP);
        assert((key != NULL) == (parent && parent->kind == DOC_MAP));

        unsigned depth = parent ? parent->depth + 1u : 0;
        if (depth >= DOC_DEPTH_MAX && (kind == DOC_LIST || kind == DOC_MAP))
                return doc_fail_line(doc, line, err, "is nested deeper than %d", DOC_DEPTH_MAX);
        if (key && strlen(key) > DOC_TEXT_MAX)
                return doc_fail_line(doc, line, err, "a key is longer than %u bytes",
                                     DOC_TEXT_MAX);
        if (doc->nodes_count >= DOC_NODES_MAX)
                return doc_fail_line(doc, line, err, "holds more than %d values", DOC_NODES_MAX);

        struct doc_node *node = arena_array(doc->arena, 1, sizeof *node);
        if (!node)
                return fail_nomem(doc, err);
        if (key) {
                node->key = arena_text(doc->arena, key, strlen(key));
                if (!node->key)
                        return fail_nomem(doc, err);
        }
        node->doc = doc;
        node->parent = parent;
        node->kind = (uint8_t)kind;
        node->depth = (uint8_t)depth;
        node->line = line;
        append(doc, parent, node);
        doc->nodes_count++;
        *ret_node = node;
        return 0;
}

int doc_add_scalar(struct doc *doc, struct doc_node *parent, const char *key, const char *text,
                   size_t length, bool is_quoted, unsigned line, struct err *err)
{
        if (memchr(text, 0, length))
                return doc_fail_line(doc, line, err, "holds a NUL character; leave it out");
        if (length > DOC_TEXT_MAX)
                return doc_fail_line(doc, line, err, "a value is %zu bytes long; at most %u are "
                                     "read", length, DOC_TEXT_MAX);
        char *kept = arena_text(doc->arena, text, length);
        if (!kept)
                return fail_nomem(doc, err);
        bool is_null = !is_quoted && (length == 0 || str_equal(kept, "null") ||
                                      str_equal(kept, "~"));
        struct doc_node *node;
        int rc = doc_add(doc, parent, key, is_null ? DOC_NULL : DOC_SCALAR, line, &node, err);
        if (rc < 0)
                return rc;
        node->text = is_null ? NULL : kept;
        node->is_quoted = is_quoted;
        return 0;
}

/* By key, then by place, so that the second of two equal keys is the one reported. */
static int compare_keys(const void *a, const void *b)
{
        const struct doc_node *x = *(const struct doc_node *const *)a;
        const struct doc_node *y = *(const struct doc_node *const *)b;
        int order = strcmp(x->key, y->key);
        if (order != 0)
                return order;
        return (x->index > y->index) - (x->index < y->index);
}

int doc_check_unique(const struct doc_node *map, struct err *err)
{
        assert(map->kind == DOC_MAP);

        if (map->length < 2)
                return 0;
        const struct doc_node **sorted = mem_new(map->length, sizeof *sorted);
        if (!sorted)
                return fail_nomem(map->doc, err);
        size_t count = 0;
        DOC_EACH (child, map)
                sorted[count++] = child;
        assert(count == map->length);
        qsort(sorted, count, sizeof *sorted, compare_keys);
        const struct doc_node *again = NULL;
        const struct doc_node *before = NULL;
        for (size_t i = 1; i < count; i++)
                if (str_equal(sorted[i - 1]->key, sorted[i]->key) &&
                    (!again || sorted[i]->index < again->index)) {
                        before = sorted[i - 1];
                        again = sorted[i];
                }
        mem_free(sorted);
        if (again)
                return doc_fail(again, err, "stands here a second time (first in line %u); "
                                "keep one", before->line);
        return 0;
}
