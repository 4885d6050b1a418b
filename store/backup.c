#include "store/backup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/log.h"
#include "store/sql.h"
#include "store/store_impl.h"

#define STEP_PAGES 1024                 /* 4 MiB between two calls of `progress` */

static int copy_pages(sqlite3 *from, sqlite3 *to, backup_progress *progress, void *self,
                      struct err *err)
{
        sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
        int code = SQLITE_OK;
        bool goes_on = true;

        if (!backup)
                return sql_fail(to, err);
        while (goes_on && (code = sqlite3_backup_step(backup, STEP_PAGES)) == SQLITE_OK) {
                int all = sqlite3_backup_pagecount(backup);
                if (progress)
                        goes_on = progress(self,
                                           (uint64_t)(all - sqlite3_backup_remaining(backup)),
                                           (uint64_t)all);
        }
        int end = sqlite3_backup_finish(backup);
        if (!goes_on)
                return err_set(err, ERR_CANCELLED, "the copy was ended");
        if (code != SQLITE_DONE || end != SQLITE_OK)
                return err_set(err, (code & 0xff) == SQLITE_NOMEM ? ERR_NOMEM : ERR_IO,
                               "%s: %s", sql_path(to), sqlite3_errstr(end ? end : code));
        return 0;
}

/* Copies within one read transaction of the view, so that the copy is of one moment however long it
 * takes and whatever is written meanwhile. */
static int copy(struct store *view, const char *to_path, backup_progress *progress, void *self,
                struct log_head *ret_head, struct err *err)
{
        sqlite3 *to = NULL;
        int fd = open(to_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        if (fd < 0)
                return err_set(err, ERR_IO, "%s: %s", to_path, strerror(errno));
        close(fd);
        int code = sqlite3_open_v2(to_path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                                   NULL);
        int rc = code == SQLITE_OK ? sql_run(view->db, "BEGIN", err) : -ERR_IO;
        if (code != SQLITE_OK)
                (void)err_set(err, ERR_IO, "%s: %s", to_path, sqlite3_errstr(code));
        if (rc == 0 && (rc = log_head(view, ret_head, err)) == 0)
                rc = copy_pages(view->db, to, progress, self, err);
        store_rollback(view);
        sqlite3_close(to);
        return rc;
}

int store_backup(struct store *view, const char *path, backup_progress *progress, void *self,
                 struct log_head *ret_head, struct err *err)
{
        struct log_head head = {0};

        assert(view);
        assert(path);
        if (access(path, F_OK) == 0)
                return err_set(err, ERR_EXISTS, "%s: is there already; name a new file", path);
        size_t size = strlen(path) + sizeof ".part";
        char *part = mem_new(size, 1);
        if (!part)
                return err_set(err, ERR_NOMEM, "out of memory");
        (void)snprintf(part, size, "%s.part", path);
        unlink(part);                   /* what an earlier try left */
        int rc = copy(view, part, progress, self, &head, err);
        if (rc == 0 && rename(part, path) < 0)
                rc = err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        else if (rc == 0 && (rc = store_sync_folder(path, err)) < 0)
                unlink(path);
        if (rc < 0)
                unlink(part);
        mem_free(part);
        if (rc == 0)
                *ret_head = head;
        return rc;
}
