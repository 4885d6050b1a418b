/* doc_build.h - the inside of a document tree, for base/doc*.c only.
 *
 * doc_yaml.c and doc_json.c build, doc.c and doc_read.c read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/doc.h"

struct arena;

struct doc_node {
        const struct doc *doc;
        struct doc_node *parent;
        struct doc_node *first;
        struct doc_node *last;
        struct doc_node *next;
        const char *key;                /* NULL outside a map */
        const char *text;               /* of a scalar */
        uint32_t line;
        uint32_t index;                 /* among its parent's children */
        uint32_t length;                /* children */
        uint8_t kind;                   /* enum doc_kind */
        uint8_t depth;                  /* containers around it */
        bool is_quoted;
};

struct doc {
        struct arena *arena;
        const char *name;               /* the end of it, if it is long */
        struct doc_node *first_root;
        struct doc_node *last_root;
        const struct doc_node **roots;
        size_t roots_count;
        size_t nodes_count;
};

/* Reads one syntax into the tree. */
typedef int doc_reader(struct doc *doc, const char *bytes, size_t size, struct err *err);

/* Checks what holds for every file (size, UTF-8, no NUL), skips a byte order mark, lets `read` fill
 * the tree, and refuses a file without any document. */
int doc_build(const char *name, const char *bytes, size_t size, doc_reader *read,
              struct doc **ret_doc, struct err *err);

/* A new node at the end of `parent` (a list, or a map and then `key` is its key) or, when `parent`
 * is NULL, a new root. `key` and `text` are copied. Refuses what goes beyond the bounds. */
int doc_add(struct doc *doc, struct doc_node *parent, const char *key, enum doc_kind kind,
            unsigned line, struct doc_node **ret_node, struct err *err);
int doc_add_scalar(struct doc *doc, struct doc_node *parent, const char *key, const char *text,
                   size_t length, bool is_quoted, unsigned line, struct err *err);

/* Refuses a map in which two keys are equal. */
int doc_check_unique(const struct doc_node *map, struct err *err);

/* "name:line: sentence" and -ERR_INPUT, for what has no node yet. */
int doc_fail_line(const struct doc *doc, unsigned line, struct err *err, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* The line of a byte, counted from 1. */
unsigned doc_line_of(const char *bytes, size_t offset);
