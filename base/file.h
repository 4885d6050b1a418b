/* file.h - a whole file in memory.
 *
 * Not pure. Error sentences name the path and what the system said.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;

/* Reads the file, or a pipe to its end, whole and unchanged. *ret_bytes is freed with mem_free();
 * one NUL stands behind the last byte and is not counted in *ret_size.
 * 0, -ERR_NOT_FOUND (no such file), -ERR_IO (cannot be read, a directory), -ERR_RANGE (more than
 * `size_max` bytes) or -ERR_NOMEM. */
int file_read(const char *path, size_t size_max, char **ret_bytes, size_t *ret_size,
              struct err *err);

/* Writes the file whole or not at all, as file_replace() does; into a device or a pipe as it is.
 * "-" is standard output. 0, -ERR_NOT_FOUND (its folder), -ERR_IO, -ERR_NOMEM. */
int file_write(const char *path, const char *bytes, size_t size, struct err *err);

/* Writes a temporary file beside it, then renames: a reader sees the old file or the new one, never
 * half of it. `mode` is exact, whatever the umask; `syncs`: its bytes are on the disk before its
 * name (durable.h). Returns as file_write() does. */
int file_replace(const char *path, const char *bytes, size_t size, mode_t mode, bool syncs,
                 struct err *err);

/* `path` as seen from the folder of the file `beside`: "a/b.yaml" and "c.csv" make "a/c.csv"; an
 * absolute path stays. Freed with mem_free(); NULL: out of memory. */
char *file_beside(const char *beside, const char *path);
