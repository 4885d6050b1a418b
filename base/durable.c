#include "base/durable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

static int fail(struct err *err, const char *path)
{
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
}

int durable_sync_folder(const char *path, struct err *err)
{
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int rc = 0;

        if (fd < 0)
                return fail(err, path);
        if (fsync(fd) < 0)
                rc = fail(err, path);
        close(fd);
        return rc;
}

static int write_all(int fd, const char *bytes, size_t size)
{
        while (size > 0) {
                ssize_t put = write(fd, bytes, size);
                if (put < 0 && errno == EINTR)
                        continue;
                if (put < 0)
                        return -1;
                bytes += put;
                size -= (size_t)put;
        }
        return 0;
}

/* `temporary` ends with XXXXXX and is removed on failure. */
static int write_beside(const char *path, char *temporary, const char *bytes, size_t size,
                        mode_t mode, struct err *err)
{
        int fd = mkostemp(temporary, O_CLOEXEC);
        int rc = 0;

        if (fd < 0)
                return fail(err, path);
        if (fchmod(fd, mode) < 0 || write_all(fd, bytes, size) < 0 || fsync(fd) < 0)
                rc = fail(err, path);
        if (close(fd) < 0 && rc == 0)
                rc = fail(err, path);
        if (rc == 0 && rename(temporary, path) < 0)
                rc = fail(err, path);
        if (rc < 0)
                unlink(temporary);
        return rc;
}

int durable_write(const char *path, const char *bytes, size_t size, mode_t mode, struct err *err)
{
        size_t room = strlen(path) + sizeof ".XXXXXX";
        char *temporary = mem_new(room, 1), *folder = mem_new(room, 1);
        int rc;

        if (temporary && folder) {
                snprintf(temporary, room, "%s.XXXXXX", path);
                snprintf(folder, room, "%s", path);
                rc = write_beside(path, temporary, bytes, size, mode, err);
                if (rc == 0)
                        rc = durable_sync_folder(dirname(folder), err);
        } else {
                rc = err_set(err, ERR_NOMEM, "out of memory");
        }
        mem_free(temporary);
        mem_free(folder);
        return rc;
}

int durable_remove_folder(const char *path, struct err *err)
{
        int rc = 0;
        DIR *dir = opendir(path);

        if (!dir)
                return errno == ENOENT ? 0 : fail(err, path);
        for (struct dirent *entry; rc == 0 && (entry = readdir(dir));) {
                if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, ".."))
                        continue;
                if (unlinkat(dirfd(dir), entry->d_name, 0) < 0)
                        rc = fail(err, path);
        }
        closedir(dir);
        if (rc == 0 && rmdir(path) < 0)
                rc = fail(err, path);
        return rc;
}
