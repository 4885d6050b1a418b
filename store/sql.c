#include "store/sql.h"

#include <assert.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"

const char *sql_path(struct sqlite3 *db)
{
        const char *path = sqlite3_db_filename(db, "main");

        return path && path[0] ? path : "(memory)";
}

int sql_fail(struct sqlite3 *db, struct err *err)
{
        int code = sqlite3_extended_errcode(db);
        int system = sqlite3_system_errno(db);
        bool has_system = system != 0 && ((code & 0xff) == SQLITE_IOERR ||
                                          (code & 0xff) == SQLITE_CANTOPEN ||
                                          (code & 0xff) == SQLITE_FULL);

        if ((code & 0xff) == SQLITE_NOMEM)
                return err_set(err, ERR_NOMEM, "%s: out of memory", sql_path(db));
        if ((code & 0xff) == SQLITE_INTERRUPT)
                return err_set(err, ERR_CANCELLED, "%s: the reading was ended", sql_path(db));
        /* Not the disk's mistake but the user's: another file was named. */
        if ((code & 0xff) == SQLITE_NOTADB)
                return err_set(err, ERR_INPUT, "%s: is not a store", sql_path(db));
        return err_set(err, ERR_IO, "%s: %s (%d)%s%s", sql_path(db), sqlite3_errmsg(db), code,
                       has_system ? ": " : "", has_system ? strerror(system) : "");
}

int sql_run(struct sqlite3 *db, const char *sql, struct err *err)
{
        return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : sql_fail(db, err);
}

int sql_prepare(struct sqlite3 *db, const char *sql, struct sqlite3_stmt **ret_statement,
                struct err *err)
{
        if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret_statement, NULL) !=
            SQLITE_OK)
                return sql_fail(db, err);
        return 0;
}

int sql_number(struct sqlite3 *db, const char *sql, int64_t *ret_number, struct err *err)
{
        sqlite3_stmt *statement;
        int rc = sql_prepare(db, sql, &statement, err);

        if (rc < 0)
                return rc;
        rc = sql_step(statement, err);
        if (rc > 0)
                *ret_number = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
        if (rc == 0)
                return err_set(err, ERR_NOT_FOUND, "%s: no row for '%s'", sql_path(db), sql);
        return rc < 0 ? rc : 0;
}

void sql_bind_i64(struct sqlite3_stmt *statement, int index, int64_t value)
{
        int code = sqlite3_bind_int64(statement, index, value);
        assert(code == SQLITE_OK);
        (void)code;
}

void sql_bind_text(struct sqlite3_stmt *statement, int index, const char *text)
{
        int code = sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
        assert(code == SQLITE_OK);
        (void)code;
}

void sql_bind_blob(struct sqlite3_stmt *statement, int index, const void *bytes, size_t size)
{
        assert(size <= INT_MAX);
        assert(bytes || size == 0);
        /* A NULL pointer would bind NULL instead of an empty blob. */
        int code = sqlite3_bind_blob(statement, index, bytes ? bytes : "", (int)size,
                                     SQLITE_STATIC);
        assert(code == SQLITE_OK);
        (void)code;
}

int sql_step(struct sqlite3_stmt *statement, struct err *err)
{
        int code = sqlite3_step(statement);

        if (code == SQLITE_ROW)
                return 1;
        int rc = code == SQLITE_DONE ? 0 : sql_fail(sqlite3_db_handle(statement), err);
        sqlite3_reset(statement);
        return rc;
}

void sql_reset(struct sqlite3_stmt *statement)
{
        sqlite3_reset(statement);
}

int sql_done(struct sqlite3_stmt *statement, struct err *err)
{
        int rc = sql_step(statement, err);

        assert(rc <= 0);
        return rc;
}

int sql_blob(struct sqlite3_stmt *statement, int column, void *ret_bytes, size_t size,
             struct err *err)
{
        const void *bytes = sqlite3_column_blob(statement, column);
        int has = sqlite3_column_bytes(statement, column);

        if (!bytes || (size_t)has != size)
                return err_set(err, ERR_IO, "%s: column '%s' has %d bytes instead of %zu",
                               sql_path(sqlite3_db_handle(statement)),
                               sqlite3_column_name(statement, column), has, size);
        memcpy(ret_bytes, bytes, size);
        return 0;
}
