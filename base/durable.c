#include "base/durable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
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

int durable_write(const char *path, const char *bytes, size_t size, mode_t mode, struct err *err)
{
        int rc = file_replace(path, bytes, size, mode, true, err);
        char *folder = rc == 0 ? mem_new(strlen(path) + 1, 1) : NULL;

        if (folder) {
                memcpy(folder, path, strlen(path) + 1);
                rc = durable_sync_folder(dirname(folder), err);
        } else if (rc == 0) {
                rc = err_set(err, ERR_NOMEM, "out of memory");
        } else if (rc == -ERR_NOT_FOUND) {
                rc = -ERR_IO;           /* its folder: nothing that a caller could go without */
                if (err)
                        err->code = ERR_IO;
        }
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
