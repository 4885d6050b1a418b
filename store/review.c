#include "store/review.h"

#include <inttypes.h>
#include <sqlite3.h>

#include "base/err.h"
#include "base/text.h"
#include "store/sql.h"
#include "store/sums.h"

int review_check(const struct review_row *row, struct err *err)
{
        int rc;

        if ((rc = text_check("review: tenant", row->tenant, ROLLUP_NAME_MAX, err)) < 0 ||
            (rc = text_check("review: class", row->class, ROLLUP_NAME_MAX, err)) < 0 ||
            (rc = text_check("review: model", row->model, ROLLUP_NAME_MAX, err)) < 0 ||
            (rc = text_check("review: measure", row->measure, ROLLUP_NAME_MAX, err)) < 0 ||
            (rc = text_check("review: detail", row->detail, ROLLUP_NAME_MAX, err)) < 0)
                return rc;
        if (row->day_ms % REVIEW_DAY_MS != 0)
                return err_set(err, ERR_INPUT, "review: %" PRId64 " ms is not the start of a day",
                               row->day_ms);
        return 0;
}

int review_add(struct store *store, const struct review_row *row, struct err *err)
{
        const struct sums_row plain = {
                .start_ms = row->day_ms,
                .names = {row->tenant, row->class, row->model, row->measure, row->detail},
                .amount = row->amount};
        int rc = sums_add(store, STATEMENT_REVIEW_RAISE, STATEMENT_REVIEW_ADD, &plain, err);

        if (rc < 0)
                return err_prefix(err, "review of tenant '%s', day %" PRId64, row->tenant,
                                  row->day_ms);
        return rc;
}

int review_forget(struct store *store, int64_t before_ms, uint32_t rows_max, struct err *err)
{
        return store_forget(store, STATEMENT_REVIEW_FORGET, before_ms, rows_max, err);
}

int review_each(struct store *store, review_visit *visit, void *self, struct err *err)
{
        static const char text[] = "SELECT day_ms, tenant, class, model, measure, detail, amount"
                                   " FROM review_days ORDER BY 1, 2, 3, 4, 5, 6";
        sqlite3_stmt *statement;
        int rc = sql_prepare(store->db, text, &statement, err);

        if (rc < 0)
                return rc;
        while ((rc = sql_step(statement, err)) > 0) {
                struct review_row row = {
                        .day_ms = sqlite3_column_int64(statement, 0),
                        .tenant = (const char *)sqlite3_column_text(statement, 1),
                        .class = (const char *)sqlite3_column_text(statement, 2),
                        .model = (const char *)sqlite3_column_text(statement, 3),
                        .measure = (const char *)sqlite3_column_text(statement, 4),
                        .detail = (const char *)sqlite3_column_text(statement, 5),
                        .amount = sqlite3_column_int64(statement, 6),
                };
                if (!row.tenant || !row.class || !row.model || !row.measure || !row.detail)
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

static void write_sums(const struct review_query *query, struct text *sql)
{
        text_add(sql, "SELECT %s, %s, %s, %s, measure, detail, %s, min(day_ms), max(day_ms)"
                      " FROM review_days WHERE day_ms >= ?1 AND day_ms < ?2",
                 query->by_day ? "day_ms" : "0", query->by_tenant ? "tenant" : "''",
                 query->by_class ? "class" : "''", query->by_model ? "model" : "''",
                 SUMS_OF("amount"));
        if (query->tenant)
                text_add(sql, "%s", SUMS_OF_TENANT);
        if (query->measure)
                text_add(sql, " AND measure = ?4");
        text_add(sql, " GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6");
}

static int read_sum(sqlite3_stmt *row, struct review_sum *ret_sum, struct err *err)
{
        *ret_sum = (struct review_sum){
                .day_ms = sqlite3_column_int64(row, 0),
                .tenant = (const char *)sqlite3_column_text(row, 1),
                .class = (const char *)sqlite3_column_text(row, 2),
                .model = (const char *)sqlite3_column_text(row, 3),
                .measure = (const char *)sqlite3_column_text(row, 4),
                .detail = (const char *)sqlite3_column_text(row, 5),
                .amount = sums_total(row, 6),
                .first_ms = sqlite3_column_int64(row, 8),
                .last_ms = sqlite3_column_int64(row, 9)};
        if (ret_sum->tenant && ret_sum->class && ret_sum->model && ret_sum->measure &&
            ret_sum->detail)
                return 0;
        return err_set(err, ERR_NOMEM, "out of memory");
}

int review_sums(struct store *store, const struct review_query *query, review_see *see, void *self,
                struct err *err)
{
        const struct sums_question question = {.from_ms = query->from_ms,
                                               .until_ms = query->until_ms,
                                               .tenant = query->tenant,
                                               .word = query->measure};
        struct text sql = {0};
        struct review_sum sum;
        sqlite3_stmt *row;

        write_sums(query, &sql);
        int rc = sums_ask(store, &sql, &question, &row, err);
        while (rc == 0 && (rc = sql_step(row, err)) > 0)
                if ((rc = read_sum(row, &sum, err)) == 0)
                        rc = see(self, &sum, err);
        sqlite3_finalize(row);
        return rc;
}
