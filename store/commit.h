/* commit.h - several batches as one transaction, for store/ only.
 *
 * Not pure; the thread that owns the store.
 */
#pragma once

#include <stddef.h>

struct batch;
struct err;
struct log_head;
struct store;

/* Commits the first `count` of the list, all or none; *ret_head is then the log's and is durable.
 * Each batch with a last_seq must get that one: else the log was moved by somebody else, -ERR_IO.
 * 0, -ERR_IO, -ERR_FULL, -ERR_NOMEM; rolled back on failure. */
int commit_batches(struct store *store, struct batch *first, size_t count,
                   struct log_head *ret_head, struct err *err);
