/* fault_vfs.h - a disk in memory that fails as disks do: a SQLite VFS for tests.
 *
 * One thread. Every write, truncation, sync and removal is an operation; what was not synced is
 * remembered apart, so that at any operation one can ask: what would stand on the disk, had the
 * power gone now? fault_vfs_after_crash() puts that onto another disk.
 *
 * Removal of a file is durable at once; a file that was never synced is gone after a crash.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fault_vfs;

#define FAULT_LOSSES(X)                                                                \
        X(ALL,  "all that was not synced is lost")                                     \
        X(SOME, "any part of it is lost, write by write")                              \
        X(TORN, "all is there, the newest write only up to some sector")               \
        X(NONE, "all is there")

enum fault_loss {
#define X(name, words) FAULT_LOSE_##name,
        FAULT_LOSSES(X)
#undef X
        FAULT_LOSSES_END
};

enum fault_kind {
        FAULT_EIO,
        FAULT_ENOSPC,           /* only writes fail */
};

/* Registered with SQLite under `name`, which is borrowed. Ends the program without memory. */
struct fault_vfs *fault_vfs_new(const char *name);
void fault_vfs_free(struct fault_vfs *vfs);             /* no connection is open any more */
const char *fault_vfs_name(const struct fault_vfs *vfs);

uint64_t fault_vfs_operations(const struct fault_vfs *vfs);     /* so far */

/* Called after each operation, whether it failed or not. */
void fault_vfs_on_operation(struct fault_vfs *vfs, void (*call)(void *self), void *self);

/* Operation number `first` (counted as fault_vfs_operations() does, from 1) and the `count - 1`
 * behind it fail, if the kind allows; 0: none does. A failed write leaves half of itself. */
void fault_vfs_fail(struct fault_vfs *vfs, enum fault_kind kind, uint64_t first, uint64_t count);
uint64_t fault_vfs_failed(const struct fault_vfs *vfs);         /* operations that did fail */

/* From now on reads of the main file beyond its first page come back with flipped bits, or no
 * longer. Nothing on the disk changes. */
void fault_vfs_corrupt_reads(struct fault_vfs *vfs, bool is_on);

/* The disk `to` (emptied first; no connection open) becomes this one after a loss of power. */
void fault_vfs_after_crash(const struct fault_vfs *vfs, struct fault_vfs *to, enum fault_loss loss,
                           uint64_t seed);

/* The bytes of a file, to look at or to change; NULL: there is none. */
uint8_t *fault_vfs_bytes(struct fault_vfs *vfs, const char *name, size_t *ret_size);
