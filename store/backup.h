/* backup.h - a copy of a running store.
 *
 * Not pure; give it a view of the thread it runs in. The copy is the store as of the start; the
 * writer goes on meanwhile. Written beside `path` first, synced, then renamed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;
struct log_head;
struct store;

/* Called now and then with pages; false ends the copy. */
typedef bool backup_progress(void *self, uint64_t done_pages, uint64_t all_pages);

/* `progress` may be NULL. *ret_head: the head of the copy. `path` must not exist (-ERR_EXISTS).
 * -ERR_CANCELLED, -ERR_IO, -ERR_NOMEM; then there is no file. */
int store_backup(struct store *view, const char *path, backup_progress *progress, void *self,
                 struct log_head *ret_head, struct err *err);
