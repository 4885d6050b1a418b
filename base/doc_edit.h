/* doc_edit.h - documents that are compared, changed, and written again.
 *
 * Not pure apart from the heap. What is written is YAML that reads as the same tree: comments and
 * the way it was laid out are lost.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/doc.h"

struct err;
struct text;

/* Whether two values mean the same: maps in any order, texts with or
 * without quotes. */
bool doc_equal(const struct doc_node *a, const struct doc_node *b);

/* Carries out one assignment on the document that `root` is of:
 *
 *     each.devices=4                   a plain value, as it would stand behind the key
 *     near={prefer: rack}              a map or a list, as YAML writes it in a line
 *     spread=                          nothing: the key is taken away
 *
 * Maps on the way to a key are made where they lack. What was found by pointers below that key is
 * gone. 0, -ERR_INPUT (the sentence says what to write), -ERR_NOMEM; unchanged on failure, but for
 * maps that were made. */
int doc_assign(struct doc *doc, const struct doc_node *root, const char *assignment,
               struct err *err);

/* Adds the document to `out`, which is failed where memory runs out. */
void doc_write(const struct doc_node *root, struct text *out);
