/* durable.h - small files that are there after a crash, whole or not at all.
 *
 * Not pure. No state of its own.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct err;

/* Writes beside the file, syncs, renames, and syncs the folder. `mode` is exact, whatever the
 * umask. 0, -ERR_IO, -ERR_NOMEM. */
int durable_write(const char *path, const char *bytes, size_t size, mode_t mode, struct err *err);

/* The names in the folder are on the disk. 0, -ERR_IO. */
int durable_sync_folder(const char *path, struct err *err);

/* Removes a folder with the files in it, and nothing below a folder in it. 0, -ERR_IO. */
int durable_remove_folder(const char *path, struct err *err);
