#include "store/export.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/export_put.h"
#include "store/keys.h"
#include "store/objects.h"
#include "store/prune.h"
#include "store/snapshot.h"
#include "store/sql.h"
#include "store/store_impl.h"

#define SNAPSHOTS_MAX 64u

static int put_heads(struct store *view, struct export_out *out, struct err *err)
{
        struct sealed_head *heads;
        size_t count;
        int rc = prune_heads(view, &heads, &count, err);

        if (rc < 0)
                return rc;
        for (size_t i = 0; i < count && rc == 0; i++)
                rc = export_put_head(out, &heads[i], err);
        mem_free(heads);
        return rc;
}

static int put_records(struct store *view, struct export_out *out, struct log_head *ret_head,
                       struct err *err)
{
        struct log_cursor *cursor;
        struct record record;
        int rc = log_base(view, ret_head, err);

        if (rc < 0 || (rc = log_read(view, ret_head->seq + 1, &cursor, err)) < 0)
                return rc;
        while ((rc = log_next(cursor, &record, err)) > 0) {
                ret_head->seq = record.seq;
                memcpy(ret_head->hash, record.hash, sizeof ret_head->hash);
                if ((rc = export_put_record(out, &record, err)) < 0)
                        break;
        }
        log_cursor_free(cursor);
        return rc;
}

static int put_snapshot(struct store *view, struct export_out *out,
                        const struct snapshot *snapshot, struct err *err)
{
        void *body;
        int rc = snapshot_read(view, snapshot, &body, err);

        if (rc < 0)
                return rc;
        rc = export_put_snapshot(out, snapshot, err);
        for (size_t at = 0; at < snapshot->size && rc == 0; at += SNAPSHOT_CHUNK_BYTES) {
                size_t left = snapshot->size - at;
                rc = export_put_chunk(out, (const uint8_t *)body + at,
                                      left < SNAPSHOT_CHUNK_BYTES ? left : SNAPSHOT_CHUNK_BYTES,
                                      err);
        }
        mem_free(body);
        return rc;
}

/* Those the log can be continued from, oldest first. */
static int put_snapshots(struct store *view, struct export_out *out, struct err *err)
{
        struct snapshot list[SNAPSHOTS_MAX];
        struct log_head base;
        size_t count;
        int rc = snapshot_list(view, list, SNAPSHOTS_MAX, &count, err);

        if (rc == 0)
                rc = log_base(view, &base, err);
        for (size_t i = count; rc == 0 && i-- > 0;)
                if (list[i].seq >= base.seq)
                        rc = put_snapshot(view, out, &list[i], err);
        return rc;
}

static int put_object(void *self, const struct object *object, struct err *err)
{
        return export_put_object(self, object, err);
}

static int put_row(void *self, const struct period_row *row, struct err *err)
{
        return export_put_row(self, row, err);
}

static int put_keys(struct store *view, struct export_out *out, struct err *err)
{
        sqlite3_stmt *row;
        int rc = sql_prepare(view->db, "SELECT request, until_ms, status, actor, key, body"
                                       " FROM keys ORDER BY actor, key", &row, err);

        if (rc < 0)
                return rc;
        while ((rc = sql_step(row, err)) > 0) {
                struct key_entry entry = {
                        .until_ms = sqlite3_column_int64(row, 1),
                        .status = (uint32_t)sqlite3_column_int64(row, 2),
                        .actor = (const char *)sqlite3_column_text(row, 3),
                        .key = (const char *)sqlite3_column_text(row, 4),
                        .body = sqlite3_column_blob(row, 5),
                        .size = (size_t)sqlite3_column_bytes(row, 5),
                };
                if (!entry.actor || !entry.key)
                        rc = err_set(err, ERR_NOMEM, "out of memory");
                else if ((rc = sql_blob(row, 0, entry.request, sizeof entry.request, err)) == 0)
                        rc = export_put_key(out, &entry, err);
                if (rc < 0)
                        break;
        }
        sqlite3_finalize(row);
        return rc;
}

/* All of one moment: one read transaction. */
static int put_store(struct store *view, struct export_out *out, struct log_head *ret_head,
                     struct err *err)
{
        int rc = sql_run(view->db, "BEGIN", err);

        if (rc < 0)
                return rc;
        if ((rc = export_put_start(out, err)) == 0 && (rc = put_heads(view, out, err)) == 0 &&
            (rc = put_records(view, out, ret_head, err)) == 0 &&
            (rc = put_snapshots(view, out, err)) == 0 &&
            (rc = objects_each(view, put_object, out, err)) == 0 &&
            (rc = period_each(view, PERIOD_USAGE, put_row, out, err)) == 0 &&
            (rc = period_each(view, PERIOD_REVIEW, put_row, out, err)) == 0 &&
            (rc = put_keys(view, out, err)) == 0)
                rc = export_put_done(out, ret_head, err);
        store_rollback(view);
        return rc;
}

struct to_file {
        FILE *file;
        const char *path;
};

static int write_bytes(void *self, const void *bytes, size_t size, struct err *err)
{
        struct to_file *to = self;

        if (fwrite(bytes, 1, size, to->file) != size)
                return err_set(err, ERR_IO, "%s: %s", to->path, strerror(errno));
        return 0;
}

static int export_to(struct store *view, struct to_file *to, struct log_head *ret_head,
                     struct err *err)
{
        struct export_out out = {.write = write_bytes, .self = to};
        int rc = put_store(view, &out, ret_head, err);

        if (rc == 0 && fflush(to->file) != 0)
                rc = err_set(err, ERR_IO, "%s: %s", to->path, strerror(errno));
        return rc;
}

static int export_to_part(struct store *view, const char *part, const char *path,
                          struct log_head *ret_head, struct err *err)
{
        int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        struct to_file to = {fd >= 0 ? fdopen(fd, "w") : NULL, path};

        if (!to.file) {
                int rc = err_set(err, ERR_IO, "%s: %s", part, strerror(errno));
                if (fd >= 0)
                        close(fd);
                return rc;
        }
        int rc = export_to(view, &to, ret_head, err);
        if (rc == 0 && fsync(fd) < 0)
                rc = err_set(err, ERR_IO, "%s: %s", part, strerror(errno));
        if (fclose(to.file) != 0 && rc == 0)
                rc = err_set(err, ERR_IO, "%s: %s", part, strerror(errno));
        if (rc == 0 && rename(part, path) < 0)
                rc = err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        if (rc < 0)
                unlink(part);
        return rc < 0 ? rc : store_sync_folder(path, err);
}

int store_export(struct store *view, const char *path, struct log_head *ret_head,
                 struct err *err)
{
        struct log_head head = {0};
        int rc;

        assert(view);
        assert(path);
        if (strcmp(path, "-") == 0) {
                rc = export_to(view, &(struct to_file){stdout, "standard output"}, &head, err);
        } else {
                size_t size = strlen(path) + sizeof ".part";
                char *part = mem_new(size, 1);
                if (!part)
                        return err_set(err, ERR_NOMEM, "out of memory");
                (void)snprintf(part, size, "%s.part", path);
                rc = export_to_part(view, part, path, &head, err);
                mem_free(part);
        }
        if (rc == 0)
                *ret_head = head;
        return rc;
}
