/* vfs_count.h - a SQLite VFS that counts syncs and is another one otherwise.
 *
 * Not pure. Any thread may read the count. Freed after the last connection that uses it.
 */
#pragma once

#include <stdint.h>

struct err;
struct vfs_count;

/* Over the VFS `base_name`, NULL for the default one. 0, -ERR_NOT_FOUND (there is none),
 * -ERR_NOMEM. */
int vfs_count_new(const char *base_name, struct vfs_count **ret_vfs, struct err *err);
void vfs_count_free(struct vfs_count *vfs);             /* NULL is fine */

const char *vfs_count_name(const struct vfs_count *vfs);
uint64_t vfs_count_syncs(const struct vfs_count *vfs);
