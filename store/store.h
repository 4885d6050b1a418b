/* store.h - one SQLite file that holds what must outlive the controller.
 *
 * Not pure. A `struct store` is one connection: one thread at a time. Another thread takes a view
 * of its own (store_view). Only the store itself writes; the writer (writer.h) owns it while it
 * runs, and everything that changes the file goes through that thread.
 *
 * The file is in WAL mode with synchronous=FULL: what a commit reported is on the disk. At open the
 * whole WAL is put into the file and synced, so that nothing depends on what an earlier process
 * wrote and could not sync. A lock on PATH.lock keeps a second controller out; it goes with the
 * process. `docs/store.md` has the schema, for readers with plain SQL.
 *
 * Errors of the disk are -ERR_IO with the path, what SQLite says and what the system says.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;
struct store;

#define STORE_APPLICATION_ID 0x62727468         /* "brth", in the file's header */
#define STORE_HASH_BYTES     32

struct store_options {
        const char *path;
        const char *vfs;                /* SQLite VFS; NULL is the default one */
        bool is_read_only;              /* takes no lock, changes nothing, migrates nothing */
        bool is_unlocked;               /* no PATH.lock: the caller knows there is no other */
        bool is_unsafe;                 /* synchronous=OFF: for tests and throw-away copies */
        bool must_exist;                /* a missing file is -ERR_NOT_FOUND, not made */
};

/* Opens the file, makes it when there is none (mode 0600), and brings an older schema forward.
 * 0, -ERR_NOT_FOUND, -ERR_EXISTS (another process holds it; the sentence has its pid), -ERR_INPUT
 * (not a store, or one of a newer version), -ERR_IO, -ERR_NOMEM. */
int store_open(const struct store_options *options, struct store **ret_store, struct err *err);
void store_close(struct store *store);                  /* NULL is fine; views first */

/* A further connection that only reads, for another thread. It sees what is committed. Closed with
 * store_close(), before `store` is. 0, -ERR_IO, -ERR_NOMEM. */
int store_view(const struct store *store, struct store **ret_view, struct err *err);

/* What a view reads from here on, until store_view_end() or its close, is of one moment: that of
 * its first read. Meanwhile the file cannot reuse its WAL: not for longer than need be. 0, -ERR_IO,
 * -ERR_NOMEM. */
int store_view_begin(struct store *view, struct err *err);
void store_view_end(struct store *view);                /* also when none began */

/* Asked every some thousand steps of what a view reads, by the thread that does: true, and the
 * reading ends with -ERR_CANCELLED. `stops` NULL: nobody asks any more. */
typedef bool store_stops(void *arg);
void store_view_stops(struct store *view, store_stops *stops, void *arg);

const char *store_path(const struct store *store);      /* lives as long as the store */

/* How often the system was asked to bring a file of this store to the disk. Any thread. */
uint64_t store_syncs(const struct store *store);
