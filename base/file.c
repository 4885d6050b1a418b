#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

#define READ_STEP 65536u

static int fail(struct err *err, const char *path)
{
        int system = errno;
        return err_set(err, system == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path,
                       strerror(system));
}

/* Reads to the end; *ret_bytes may be half-built memory on failure and is the caller's. */
static int read_all(int fd, const char *path, size_t size_max, size_t first_room,
                    char **ret_bytes, size_t *ret_size, struct err *err)
{
        size_t room = 0;
        size_t size = 0;
        size_t want = first_room;
        for (;;) {
                if (size + 1 >= room) {
                        char *grown = mem_resize(*ret_bytes, room, want, 1);
                        if (!grown)
                                return err_set(err, ERR_NOMEM, "%s: out of memory", path);
                        *ret_bytes = grown;
                        room = want;
                        want = room + (room > READ_STEP ? room : READ_STEP);
                }
                ssize_t got = read(fd, *ret_bytes + size, room - 1 - size);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return fail(err, path);
                if (got == 0)
                        break;
                size += (size_t)got;
                if (size > size_max)
                        return err_set(err, ERR_RANGE,
                                       "%s: is larger than the %zu bytes that are read at most",
                                       path, size_max);
        }
        (*ret_bytes)[size] = '\0';
        *ret_size = size;
        return 0;
}

int file_read(const char *path, size_t size_max, char **ret_bytes, size_t *ret_size,
              struct err *err)
{
        assert(path);

        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return fail(err, path);

        char *bytes = NULL;
        size_t size = 0;
        int rc;
        struct stat stat;
        if (fstat(fd, &stat) < 0)
                rc = fail(err, path);
        else if (S_ISDIR(stat.st_mode))
                rc = err_set(err, ERR_IO, "%s: is a directory; name a file in it", path);
        else if (S_ISREG(stat.st_mode) && (uint64_t)stat.st_size > size_max)
                rc = err_set(err, ERR_RANGE,
                             "%s: has %lld bytes; at most %zu are read", path,
                             (long long)stat.st_size, size_max);
        else
                /* One more than the file and its NUL, so that its end is seen without growing. */
                rc = read_all(fd, path, size_max,
                              S_ISREG(stat.st_mode) ? (size_t)stat.st_size + 2 : READ_STEP,
                              &bytes, &size, err);
        close(fd);
        if (rc < 0) {
                mem_free(bytes);
                return rc;
        }
        *ret_bytes = bytes;
        *ret_size = size;
        return 0;
}

static int write_all(int fd, const char *path, const char *bytes, size_t size, struct err *err)
{
        while (size > 0) {
                ssize_t put = write(fd, bytes, size);
                if (put < 0 && errno == EINTR)
                        continue;
                if (put < 0)
                        return fail(err, path);
                bytes += put;
                size -= (size_t)put;
        }
        return 0;
}

/* `temporary` ends with XXXXXX and is removed on failure. */
static int write_beside(const char *path, char *temporary, const char *bytes, size_t size,
                        mode_t mode, bool syncs, struct err *err)
{
        int fd = mkostemp(temporary, O_CLOEXEC);

        if (fd < 0)
                return fail(err, path);
        int rc = write_all(fd, path, bytes, size, err);
        if (rc == 0 && (fchmod(fd, mode) < 0 || (syncs && fsync(fd) < 0)))
                rc = fail(err, path);
        if (close(fd) < 0 && rc == 0)
                rc = fail(err, path);
        if (rc == 0 && rename(temporary, path) < 0)
                rc = fail(err, path);
        if (rc < 0)
                unlink(temporary);
        return rc;
}

int file_replace(const char *path, const char *bytes, size_t size, mode_t mode, bool syncs,
                 struct err *err)
{
        size_t room = strlen(path) + sizeof ".XXXXXX";
        char *temporary = mem_new(room, 1);

        if (!temporary)
                return err_set(err, ERR_NOMEM, "%s: out of memory", path);
        snprintf(temporary, room, "%s.XXXXXX", path);
        int rc = write_beside(path, temporary, bytes, size, mode, syncs, err);
        mem_free(temporary);
        return rc;
}

int file_write(const char *path, const char *bytes, size_t size, struct err *err)
{
        assert(path);
        assert(bytes || size == 0);

        if (strcmp(path, "-") == 0)
                return write_all(STDOUT_FILENO, "standard output", bytes, size, err);

        struct stat stat_of;
        if (stat(path, &stat_of) == 0 && !S_ISREG(stat_of.st_mode)) {
                /* A device or a pipe cannot be replaced: write into it. */
                int fd = open(path, O_WRONLY | O_CLOEXEC);
                if (fd < 0)
                        return fail(err, path);
                int rc = write_all(fd, path, bytes, size, err);
                if (close(fd) < 0 && rc == 0)
                        rc = fail(err, path);
                return rc;
        }
        mode_t mask = umask(0);
        umask(mask);
        return file_replace(path, bytes, size, 0666 & ~mask, false, err);
}

char *file_beside(const char *beside, const char *path)
{
        const char *slash = strrchr(beside, '/');
        size_t folder = path[0] == '/' || !slash ? 0 : (size_t)(slash - beside) + 1;
        size_t length = strlen(path);
        char *joined = mem_new(folder + length + 1, 1);
        if (joined) {
                memcpy(joined, beside, folder);
                memcpy(joined + folder, path, length + 1);
        }
        return joined;
}
