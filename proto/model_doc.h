/* model_doc.h - device models from documents: the built-in ones and an operator's own.
 *
 * The form is described at the top of data/device-models.yaml. Reads files; no
 * globals. Unknown keys are errors, and every error names file, line and field.
 * Loading is all or nothing: on failure the table is as it was.
 */
#pragma once

struct doc;
struct err;
struct model_table;

/* Adds the models that are built into the program. 0, -ERR_EXISTS (they are there already),
 * -ERR_FULL, -ERR_NOMEM. */
int model_doc_builtin(struct model_table *table, struct err *err);

/* Adds the models of a file (every document in it is `kind: DeviceModels`). A name or alias that
 * the table knows already is -ERR_EXISTS; also -ERR_IO, -ERR_INPUT, -ERR_RANGE, -ERR_FULL,
 * -ERR_NOMEM. */
int model_doc_load(const char *path, struct model_table *table, struct err *err);

/* The same for a document that is already read. */
int model_doc_decode(const struct doc *doc, struct model_table *table, struct err *err);
