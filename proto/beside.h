/* beside.h - small documents that stand behind a large one, in one text.
 *
 * Pure apart from the heap. Behind a Policy stand Reservation documents, behind a Pool Maintenance
 * ones: each is put and taken away by its name, while the large one stays byte for byte as somebody
 * wrote it. What is cut at is YAML's own line between documents, "---".
 */
#pragma once

#include <stddef.h>

struct err;
struct text;

/* How many bytes of the text the large document takes: without what stands behind it. `kind` is
 * that of the small ones. All of it, where it does not read. */
size_t beside_main(const char *text, const char *kind);

/* The text with the small document of that name set to `document` (one document of that kind and
 * name; NULL: taken away). 0, -ERR_NOT_FOUND (to be taken away, and not there), -ERR_INPUT (what is
 * set is another one), -ERR_NOMEM. `ret_text` must be empty; freed with text_done(). */
int beside_set(const char *text, const char *kind, const char *name, const char *document,
               struct text *ret_text, struct err *err);

/* `text`, and behind it those small documents of `before` whose names it has not. 0, -ERR_INPUT,
 * -ERR_NOMEM. */
int beside_carry(const char *text, const char *before, const char *kind, struct text *ret_text,
                 struct err *err);
