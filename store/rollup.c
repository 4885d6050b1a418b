#include "store/rollup.h"

#include <inttypes.h>
#include <sqlite3.h>

#include "base/err.h"
#include "base/text.h"
#include "store/sql.h"
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
        const struct sums_row plain = {
                .start_ms = row->hour_ms,
                .names = {row->tenant, row->model, row->class, row->method, row->bucket},
                .amount = row->unit_ms};
        int rc = sums_add(store, STATEMENT_USAGE_RAISE, STATEMENT_USAGE_ADD, &plain, err);

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

static void write_sums(const struct rollup_query *query, struct text *sql)
{
        text_add(sql, "SELECT %s, %s, %s, %s, tenant <> '', bucket, %s, %s FROM usage_hours"
                      " WHERE hour_ms >= ?1 AND hour_ms < ?2",
                 query->by_hour  ? "hour_ms"
                 : query->by_day ? "hour_ms - hour_ms % 86400000"
                                 : "0",
                 query->by_tenant ? "tenant" : "''", query->by_class ? "class" : "''",
                 query->by_method ? "method" : "''", query->by_model ? "model" : "''",
                 SUMS_OF("unit_ms"));
        if (query->tenant)
                text_add(sql, "%s", SUMS_OF_TENANT);
        text_add(sql, " GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7");
}

static int read_sum(sqlite3_stmt *row, struct rollup_sum *ret_sum, struct err *err)
{
        *ret_sum = (struct rollup_sum){
                .start_ms = sqlite3_column_int64(row, 0),
                .tenant = (const char *)sqlite3_column_text(row, 1),
                .class = (const char *)sqlite3_column_text(row, 2),
                .method = (const char *)sqlite3_column_text(row, 3),
                .is_held = sqlite3_column_int(row, 4) != 0,
                .bucket = (const char *)sqlite3_column_text(row, 5),
                .model = (const char *)sqlite3_column_text(row, 6),
                .unit_ms = sums_total(row, 7)};
        if (ret_sum->tenant && ret_sum->class && ret_sum->method && ret_sum->bucket &&
            ret_sum->model)
                return 0;
        return err_set(err, ERR_NOMEM, "out of memory");
}

int rollup_sums(struct store *store, const struct rollup_query *query, rollup_see *see, void *self,
                struct err *err)
{
        const struct sums_question question = {
                .from_ms = query->from_ms, .until_ms = query->until_ms, .tenant = query->tenant};
        struct text sql = {0};
        struct rollup_sum sum;
        sqlite3_stmt *row;

        write_sums(query, &sql);
        int rc = sums_ask(store, &sql, &question, &row, err);
        while (rc == 0 && (rc = sql_step(row, err)) > 0)
                if ((rc = read_sum(row, &sum, err)) == 0)
                        rc = see(self, &sum, err);
        sqlite3_finalize(row);
        return rc;
}
