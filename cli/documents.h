/* documents.h - the documents of a file, each as it is to be sent.
 *
 * Not pure: opens files. Each document is sent as it stands in the file, behind as many empty lines
 * as stand before it there: the lines that the server's sentences name are those of the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

struct doc;
struct doc_node;
struct err;

struct document {
        const struct doc_node *root;
        const char *kind;       /* "Workload" */
        const char *type;       /* of the body: "application/yaml" or "application/json" */
        struct text body;
};

struct documents {
        const char *path;       /* as it was named; "-": standard input */
        struct doc *doc;
        size_t count;
        struct document *list;
};

/* "-" is standard input, as YAML (which JSON is too). Checks syntax, and that each document has a
 * kind; what is in it the server checks. Errors of doc.h. Freed with documents_free(). */
int documents_load(const char *path, struct documents **ret_documents, struct err *err);
void documents_free(struct documents *documents);       /* NULL is fine */

/* Adds `hold: true` to a document that does not say it. -ERR_INPUT: it cannot be added; the way
 * out says what to write. */
int document_hold(struct document *document, struct err *err);

/* Puts the file's name where the server's sentence names the document it got ("workload:12: ..."
 * becomes "job.yaml:12: ..."). NULL: no file; the place is taken away. */
void documents_blame(const char *path, struct err *err);
