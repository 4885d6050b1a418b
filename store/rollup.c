#include "store/rollup.h"

#include <inttypes.h>
#include <sqlite3.h>

#include "base/err.h"
#include "base/text.h"
#include "store/period.h"
#include "store/sql.h"
#include "store/store_impl.h"
#include "store/sums.h"

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

int rollup_add(struct store *store, const struct usage_row *row, struct err *err)
{
        const struct period_row plain = {
                .start_ms = row->hour_ms,
                .names = {row->tenant, row->model, row->class, row->method, row->bucket},
                .amount = row->unit_ms};
        int rc = period_add(store, STATEMENT_USAGE_RAISE, STATEMENT_USAGE_ADD, &plain, err);

        if (rc < 0)
                return err_prefix(err, "usage of tenant '%s' in hour %" PRId64, row->tenant,
                                  row->hour_ms);
        return rc;
}

int rollup_forget(struct store *store, int64_t before_ms, uint32_t rows_max, struct err *err)
{
        return store_forget(store, STATEMENT_USAGE_FORGET, before_ms, rows_max, err);
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

/* ---- sums ---- */

/* Only constants of this program stand in the text; what comes from outside is bound. */
static void write_sums(const struct rollup_query *query, struct text *sql)
{
        text_add(sql, "SELECT %s, hour_ms, unit_ms, %s, %s, %s,"
                      " CASE tenant WHEN '' THEN '' ELSE 'held' END, bucket, %s"
                      " FROM usage_hours WHERE hour_ms >= ?1 AND hour_ms < ?2",
                 query->by_hour  ? "hour_ms"
                 : query->by_day ? "hour_ms - hour_ms % 86400000"
                                 : "0",
                 query->by_tenant ? "tenant" : "''", query->by_class ? "class" : "''",
                 query->by_method ? "method" : "''", query->by_model ? "model" : "''");
        if (query->tenant)
                text_add(sql,
                         " AND (tenant = ?3 OR substr(tenant, 1, length(?3) + 1) = ?3 || '/')");
}

struct seer {
        rollup_see *see;
        void *self;
};

static int see_sum(void *arg, const struct sum *sum, struct err *err)
{
        const struct seer *seer = arg;
        const struct rollup_sum it = {.start_ms = sum->start_ms,
                                      .tenant = sum->names[0],
                                      .class = sum->names[1],
                                      .method = sum->names[2],
                                      .is_held = sum->names[3][0] != '\0',
                                      .bucket = sum->names[4],
                                      .model = sum->names[5],
                                      .unit_ms = sum->amount};

        return seer->see(seer->self, &it, err);
}

int rollup_sums(struct store *store, const struct rollup_query *query, rollup_see *see, void *self,
                struct err *err)
{
        struct seer seer = {see, self};
        struct text sql = {0};
        sqlite3_stmt *statement;
        int rc;

        write_sums(query, &sql);
        rc = sql.failed ? err_set(err, ERR_NOMEM, "out of memory")
                        : sql_prepare(store->db, sql.bytes, &statement, err);
        text_done(&sql);
        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, query->from_ms);
        sql_bind_i64(statement, 2, query->until_ms);
        if (query->tenant)
                sql_bind_text(statement, 3, query->tenant);
        rc = sums_read(statement, 6, see_sum, &seer, err);
        sqlite3_finalize(statement);
        return rc;
}
