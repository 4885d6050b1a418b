#include "store/wal.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define STEP_BYTES 65536

/* All bytes of the open file once more, and then to the disk. A code of SQLite. */
static int write_again(sqlite3_file *file, void *buffer)
{
        sqlite3_int64 size;
        int code = file->pMethods->xFileSize(file, &size);

        for (sqlite3_int64 at = 0; at < size && code == SQLITE_OK; at += STEP_BYTES) {
                int part = size - at < STEP_BYTES ? (int)(size - at) : STEP_BYTES;
                code = file->pMethods->xRead(file, buffer, part, at);
                if (code == SQLITE_OK)
                        code = file->pMethods->xWrite(file, buffer, part, at);
        }
        return code == SQLITE_OK ? file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) : code;
}

static int open_and_write_again(sqlite3_vfs *vfs, const char *wal_path, struct err *err)
{
        sqlite3_file *file = mem_new(1, (size_t)vfs->szOsFile);
        void *buffer = mem_new(1, STEP_BYTES);
        int code = SQLITE_NOMEM;

        if (file && buffer)
                code = vfs->xOpen(vfs, wal_path, file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL,
                                  NULL);
        if (code == SQLITE_OK)
                code = write_again(file, buffer);
        if (file && file->pMethods)
                (void)file->pMethods->xClose(file);
        mem_free(buffer);
        mem_free(file);
        if (code == SQLITE_NOMEM)
                return err_set(err, ERR_NOMEM, "out of memory");
        if (code != SQLITE_OK)
                return err_set(err, ERR_IO, "%s: %s (%d)", wal_path, sqlite3_errstr(code), code);
        return 0;
}

int wal_make_durable(const char *path, const char *vfs_name, struct err *err)
{
        sqlite3_vfs *vfs = sqlite3_vfs_find(vfs_name);
        size_t size = strlen(path) + sizeof "-wal";
        int is_there = 0;

        assert(vfs);
        /* SQLite's names end with two NULs. */
        char *wal_path = mem_new(size + 1, 1);
        if (!wal_path)
                return err_set(err, ERR_NOMEM, "out of memory");
        (void)snprintf(wal_path, size, "%s-wal", path);
        int rc = 0;
        if (vfs->xAccess(vfs, wal_path, SQLITE_ACCESS_EXISTS, &is_there) != SQLITE_OK)
                rc = err_set(err, ERR_IO, "%s: cannot be looked at", wal_path);
        else if (is_there)
                rc = open_and_write_again(vfs, wal_path, err);
        mem_free(wal_path);
        return rc;
}
