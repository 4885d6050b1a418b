/* log_source.h - a pool's log to be read: its store, or an export of it.
 *
 * Not pure. One thread. A store is opened for reading only, beside a running controller if there is
 * one. An export is checked whole and becomes a store of its own in a folder below TMPDIR (else
 * /tmp), which goes when the source is closed.
 */
#pragma once

#include <stdbool.h>

struct err;
struct log_source;
struct store;

/* Whether the file begins as an export does. 0, -ERR_NOT_FOUND, -ERR_IO. */
int log_source_is_export(const char *path, bool *ret_is_export, struct err *err);

/* 0, -ERR_NOT_FOUND, -ERR_INPUT (neither, or damaged), -ERR_IO, -ERR_NOMEM. */
int log_source_open(const char *path, struct log_source **ret_source, struct err *err);
void log_source_close(struct log_source *source);       /* NULL is fine; cursors first */

struct store *log_source_store(struct log_source *source);      /* lives as long as the source */
