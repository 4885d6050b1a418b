#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/schema.h"
#include "store/sql.h"
#include "store/store_impl.h"
#include "store/vfs_count.h"
#include "store/wal.h"

/* How long somebody else's short write (an operator with plain SQL) is waited for. */
#define BUSY_MS 5000

#define STEPS_BETWEEN_LOOKS 4096        /* of SQLite's machine: well below a millisecond */

static int fail(struct err *err, const char *path)
{
        int system = errno;

        return err_set(err, ERR_IO, "%s: %s", path, strerror(system));
}

static char *copy_text(const char *text, const char *tail)
{
        size_t size = strlen(text) + strlen(tail) + 1;
        char *copy = mem_new(size, 1);

        if (copy)
                (void)snprintf(copy, size, "%s%s", text, tail);
        return copy;
}

/* The owner's pid stands in the file, for the other's sentence; the lock itself is the system's and
 * goes with the process. An open-file lock: two stores in one process are told apart too. */
static int take_lock(struct store *store, const char *lock_path, struct err *err)
{
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        char pid[32] = {0};

        store->lock_fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (store->lock_fd < 0)
                return fail(err, lock_path);
        if (fcntl(store->lock_fd, F_OFD_SETLK, &whole) < 0) {
                if (errno != EAGAIN && errno != EACCES)
                        return fail(err, lock_path);
                ssize_t got = pread(store->lock_fd, pid, sizeof pid - 1, 0);
                pid[got > 0 ? strspn(pid, "0123456789") : 0] = '\0';
                return err_set(err, ERR_EXISTS,
                               "%s: is held by process %s; one controller at a time",
                               store->path, pid[0] ? pid : "(unknown)");
        }
        int length = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
        if (ftruncate(store->lock_fd, 0) < 0 || pwrite(store->lock_fd, pid, (size_t)length, 0) < 0)
                return fail(err, lock_path);
        return 0;
}

static int lock(struct store *store, struct err *err)
{
        char *lock_path = copy_text(store->path, ".lock");

        if (!lock_path)
                return err_set(err, ERR_NOMEM, "out of memory");
        int rc = take_lock(store, lock_path, err);
        mem_free(lock_path);
        return rc;
}

int store_sync_folder(const char *path, struct err *err)
{
        char folder[PATH_MAX];

        if (!str_copy(folder, sizeof folder, path))
                return err_set(err, ERR_IO, "%s: %s", path, strerror(ENAMETOOLONG));
        char *slash = strrchr(folder, '/');
        if (slash)
                slash[slash == folder] = '\0';
        const char *name = slash ? folder : ".";
        int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int rc = fd < 0 || fsync(fd) < 0 ? fail(err, name) : 0;
        if (fd >= 0)
                close(fd);
        return rc;
}

/* SQLite gives the WAL the mode of the file: nobody else reads either. */
static int make_private(const char *path, struct err *err)
{
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        if (fd < 0)
                return fail(err, path);
        close(fd);
        return store_sync_folder(path, err);
}

static int open_db(struct store *store, bool may_create, struct err *err)
{
        int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (store->is_read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                    (may_create ? SQLITE_OPEN_CREATE : 0);
        int code = sqlite3_open_v2(store->path, &store->db, flags, vfs_count_name(store->vfs));

        if (code != SQLITE_OK && !store->db)
                return err_set(err, ERR_NOMEM, "out of memory");
        if (code == SQLITE_CANTOPEN && sqlite3_system_errno(store->db) == ENOENT)
                return err_set(err, ERR_NOT_FOUND, "%s: there is no store", store->path);
        if (code != SQLITE_OK)
                return sql_fail(store->db, err);
        (void)sqlite3_busy_timeout(store->db, BUSY_MS);
        return sql_run(store->db, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                                  "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384",
                       err);
}

static int check_version(struct store *store, unsigned *ret_version, struct err *err)
{
        size_t count;

        (void)schema_steps(&count);
        return schema_version(store->db, count, ret_version, err);
}

static int note_wal_pages(void *self, sqlite3 *db, const char *name, int pages)
{
        (void)db;
        (void)name;
        ((struct store *)self)->wal_pages = pages;
        return SQLITE_OK;
}

static int set_up_writing(struct store *store, bool is_unsafe, struct err *err)
{
        size_t count;
        unsigned version;
        const struct schema_step *steps = schema_steps(&count);
        int rc = check_version(store, &version, err);

        /* auto_vacuum takes effect before the first table is made, or not at all. The writer says
         * when to checkpoint: after the answers. */
        if (rc < 0 ||
            (version == 0 &&
             (rc = sql_run(store->db, "PRAGMA auto_vacuum = INCREMENTAL", err)) < 0) ||
            (rc = sql_run(store->db, "PRAGMA journal_mode = WAL;"
                                     "PRAGMA wal_autocheckpoint = 0;"
                                     "PRAGMA journal_size_limit = 67108864", err)) < 0 ||
            (rc = sql_run(store->db, is_unsafe ? "PRAGMA synchronous = OFF"
                                               : "PRAGMA synchronous = FULL", err)) < 0 ||
            (rc = schema_bring_forward(store->db, steps, count, err)) < 0)
                return rc;
        (void)sqlite3_wal_hook(store->db, note_wal_pages, store);
        return store_checkpoint(store, true, err);
}

static int set_up_reading(struct store *store, struct err *err)
{
        size_t count;
        unsigned version;
        int rc = check_version(store, &version, err);

        (void)schema_steps(&count);
        if (rc == 0 && version != count)
                return err_set(err, ERR_INPUT,
                               "%s: has schema version %u; this program reads %zu: open it for "
                               "writing once to bring it forward", store->path, version, count);
        return rc;
}

static int open_all(struct store *store, const struct store_options *options, struct err *err)
{
        int rc = vfs_count_new(options->vfs, &store->vfs, err);
        bool is_there = !store->is_system_vfs || access(store->path, F_OK) == 0;

        if (rc < 0)
                return rc;
        if (!is_there && (options->must_exist || options->is_read_only))
                return err_set(err, ERR_NOT_FOUND, "%s: there is no store", store->path);
        if (!options->is_read_only && !options->is_unlocked && (rc = lock(store, err)) < 0)
                return rc;
        if (!options->is_read_only && store->is_system_vfs &&
            (rc = make_private(store->path, err)) < 0)
                return rc;
        if (!options->is_read_only &&
            (rc = wal_make_durable(store->path, vfs_count_name(store->vfs), err)) < 0)
                return rc;
        if ((rc = open_db(store, !options->is_read_only && !options->must_exist, err)) < 0)
                return rc;
        return options->is_read_only ? set_up_reading(store, err)
                                     : set_up_writing(store, options->is_unsafe, err);
}

int store_open(const struct store_options *options, struct store **ret_store, struct err *err)
{
        assert(options);
        assert(options->path);
        assert(ret_store);

        if (sodium_init() < 0)
                return err_set(err, ERR_IO, "the library of hashes could not be started");
        struct store *store = mem_new(1, sizeof *store);
        if (!store)
                return err_set(err, ERR_NOMEM, "out of memory");
        store->lock_fd = -1;
        store->is_read_only = options->is_read_only;
        store->is_system_vfs = !options->vfs;
        store->path = copy_text(options->path, "");
        int rc = store->path ? open_all(store, options, err)
                             : err_set(err, ERR_NOMEM, "out of memory");
        if (rc < 0) {
                store_close(store);
                return rc;
        }
        *ret_store = store;
        return 0;
}

int store_view(const struct store *store, struct store **ret_view, struct err *err)
{
        struct store *view = mem_new(1, sizeof *view);

        assert(store);
        if (!view)
                return err_set(err, ERR_NOMEM, "out of memory");
        view->lock_fd = -1;
        view->is_view = true;
        view->is_read_only = true;
        view->is_system_vfs = store->is_system_vfs;
        view->vfs = store->vfs;
        view->path = copy_text(store->path, "");
        int rc = view->path ? open_db(view, false, err) : err_set(err, ERR_NOMEM, "out of memory");
        if (rc < 0) {
                store_close(view);
                return rc;
        }
        *ret_view = view;
        return 0;
}

int store_view_begin(struct store *view, struct err *err)
{
        assert(view->is_read_only);
        return sql_run(view->db, "BEGIN DEFERRED", err);
}

void store_view_end(struct store *view)
{
        store_rollback(view);
}

static int look_whether_to_stop(void *self)
{
        const struct store *view = self;

        return view->stops(view->stops_arg);
}

void store_view_stops(struct store *view, store_stops *stops, void *arg)
{
        view->stops = stops;
        view->stops_arg = arg;
        sqlite3_progress_handler(view->db, STEPS_BETWEEN_LOOKS,
                                 stops ? look_whether_to_stop : NULL, view);
}

void store_close(struct store *store)
{
        if (!store)
                return;
        for (size_t i = 0; i < STORE_STATEMENTS_END; i++)
                sqlite3_finalize(store->statements[i]);
        int code = sqlite3_close(store->db);
        assert(code == SQLITE_OK);      /* else a cursor is still open */
        (void)code;
        if (!store->is_view)
                vfs_count_free(store->vfs);
        if (store->lock_fd >= 0)
                close(store->lock_fd);
        mem_free(store->path);
        mem_free(store);
}

const char *store_path(const struct store *store)
{
        return store->path;
}

uint64_t store_syncs(const struct store *store)
{
        return vfs_count_syncs(store->vfs);
}

int store_statement(struct store *store, enum store_statement which,
                    struct sqlite3_stmt **ret_statement, struct err *err)
{
        static const char *const texts[] = {
#define X(name, sql) [STATEMENT_##name] = sql,
                STORE_STATEMENTS(X)
#undef X
        };
        _Static_assert(ARRAY_LEN(texts) == STORE_STATEMENTS_END, "one text per statement");

        struct sqlite3_stmt **statement = &store->statements[which];
        int rc = *statement ? 0 : sql_prepare(store->db, texts[which], statement, err);
        if (rc < 0)
                return rc;
        sql_reset(*statement);
        *ret_statement = *statement;
        return 0;
}

int store_forget(struct store *store, enum store_statement which, int64_t before,
                 uint32_t rows_max, struct err *err)
{
        struct sqlite3_stmt *statement;

        assert(rows_max > 0);
        int rc = store_statement(store, which, &statement, err);
        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, before);
        sql_bind_i64(statement, 2, rows_max);
        if ((rc = sql_done(statement, err)) < 0)
                return rc;
        return sqlite3_changes64(store->db) == rows_max;
}

static int run_statement(struct store *store, enum store_statement which, struct err *err)
{
        struct sqlite3_stmt *statement;
        int rc = store_statement(store, which, &statement, err);

        return rc < 0 ? rc : sql_done(statement, err);
}

int store_begin(struct store *store, struct err *err)
{
        return run_statement(store, STATEMENT_BEGIN, err);
}

int store_end(struct store *store, struct err *err)
{
        int rc = run_statement(store, STATEMENT_COMMIT, err);

        if (rc < 0)
                store_rollback(store);
        return rc;
}

void store_rollback(struct store *store)
{
        /* SQLite rolls back by itself after some errors. */
        if (!sqlite3_get_autocommit(store->db))
                (void)run_statement(store, STATEMENT_ROLLBACK, NULL);
}

int store_checkpoint(struct store *store, bool truncate, struct err *err)
{
        int mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
        int code = sqlite3_wal_checkpoint_v2(store->db, NULL, mode, NULL, NULL);

        store->wal_pages = 0;
        /* Busy: a reader still needs the WAL. What could be moved was. */
        if (code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY || code == SQLITE_LOCKED)
                return 0;
        return sql_fail(store->db, err);
}

uint32_t store_wal_pages(const struct store *store)
{
        return (uint32_t)store->wal_pages;
}

int store_probe(struct store *store, struct err *err)
{
        struct log_head head;

        /* A page that was read badly may still lie in the cache. */
        (void)sqlite3_db_release_memory(store->db);
        int rc = store_begin(store, err);
        if (rc < 0)
                return rc;
        if ((rc = log_head(store, &head, err)) < 0 ||
            (rc = run_statement(store, STATEMENT_PROBE, err)) < 0) {
                store_rollback(store);
                return rc;
        }
        return store_end(store, err);
}
