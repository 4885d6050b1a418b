/* wal.h - makes what an earlier process left in the WAL durable before anything relies on it.
 *
 * Not pure. Before SQLite opens the file, with the lock held.
 *
 * After a sync that failed, the system may call pages clean that are not on the disk: they can be
 * read, a further sync has nothing to do, and the power takes them. A process that goes on writes
 * them again; one that starts anew would take them for durable. If the power went while their
 * contents, but not they, were on the disk, a shorter WAL would be laid over a newer file. So every
 * byte of the WAL is written once more, the same as it was, and synced.
 */
#pragma once

struct err;

/* Nothing to do when there is no WAL. 0, -ERR_IO, -ERR_NOMEM. */
int wal_make_durable(const char *path, const char *vfs_name, struct err *err);
