#include "store/rollup.h"

#include <assert.h>
#include <inttypes.h>
#include <sqlite3.h>

#include "base/err.h"
#include "store/sql.h"
#include "store/store_impl.h"

int usage_check(const struct usage_row *row, struct err *err)
{
        int rc;

        if ((rc = text_check("usage: model", row->model, ROLLUP_NAME_MAX, err)) < 0 ||
            (rc = text_check("usage: tenant", row->tenant, ROLLUP_NAME_MAX, err)) < 0 ||
            (rc = text_check("usage: class", row->class, ROLLUP_NAME_MAX, err)) < 0 ||
            (rc = text_check("usage: method", row->method, ROLLUP_NAME_MAX, err)) < 0 ||
            (rc = text_check("usage: bucket", row->bucket, ROLLUP_NAME_MAX, err)) < 0)
                return rc;
        if (row->hour_ms % ROLLUP_HOUR_MS != 0)
                return err_set(err, ERR_INPUT, "usage: %" PRId64 " ms is not the start of an hour",
                               row->hour_ms);
        return 0;
}

/* The row's names and amount to one of the two statements. */
static int put(struct store *store, enum store_statement which, const struct usage_row *row,
               struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, which, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, row->hour_ms);
        sql_bind_text(statement, 2, row->tenant);
        sql_bind_text(statement, 3, row->model);
        sql_bind_text(statement, 4, row->class);
        sql_bind_text(statement, 5, row->method);
        sql_bind_text(statement, 6, row->bucket);
        sql_bind_i64(statement, 7, row->unit_ms);
        return sql_done(statement, err);
}

/* Not by ON CONFLICT: the table's CHECK would look at what is added instead of at the sum. Below 0
 * breaks that CHECK; above int64 the sum is a real, which STRICT refuses. */
int rollup_add(struct store *store, const struct usage_row *row, struct err *err)
{
        int rc = put(store, STATEMENT_USAGE_RAISE, row, err);

        if (rc == 0 && sqlite3_changes64(store->db) == 0)
                rc = put(store, STATEMENT_USAGE_ADD, row, err);
        if (rc < 0)
                return err_prefix(err, "usage of tenant '%s' in hour %" PRId64, row->tenant,
                                  row->hour_ms);
        return rc;
}

int rollup_forget(struct store *store, int64_t before_ms, uint32_t rows_max, struct err *err)
{
        sqlite3_stmt *statement;

        assert(rows_max > 0);
        int rc = store_statement(store, STATEMENT_USAGE_FORGET, &statement, err);
        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, before_ms);
        sql_bind_i64(statement, 2, rows_max);
        if ((rc = sql_done(statement, err)) < 0)
                return rc;
        return sqlite3_changes64(store->db) == rows_max;
}

int rollup_each(struct store *store, rollup_visit *visit, void *self, struct err *err)
{
        static const char text[] = "SELECT hour_ms, tenant, model, class, method, bucket, unit_ms"
                                   " FROM usage_hours ORDER BY 1, 2, 3, 4, 5, 6";
        sqlite3_stmt *statement;
        int rc = sql_prepare(store->db, text, &statement, err);

        if (rc < 0)
                return rc;
        while ((rc = sql_step(statement, err)) > 0) {
                struct usage_row row = {
                        .hour_ms = sqlite3_column_int64(statement, 0),
                        .tenant = (const char *)sqlite3_column_text(statement, 1),
                        .model = (const char *)sqlite3_column_text(statement, 2),
                        .class = (const char *)sqlite3_column_text(statement, 3),
                        .method = (const char *)sqlite3_column_text(statement, 4),
                        .bucket = (const char *)sqlite3_column_text(statement, 5),
                        .unit_ms = sqlite3_column_int64(statement, 6),
                };
                if (!row.tenant || !row.model || !row.class || !row.method || !row.bucket)
                        rc = err_set(err, ERR_NOMEM, "out of memory");
                else
                        rc = visit(self, &row, err);
                if (rc != 0)
                        break;
        }
        sqlite3_finalize(statement);
        return rc;
}
