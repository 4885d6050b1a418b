#include "store/review.h"

#include <inttypes.h>
#include <sqlite3.h>

#include "base/err.h"
#include "base/text.h"
#include "store/period.h"
#include "store/sql.h"
#include "store/store_impl.h"
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
        const struct period_row plain = {
                .start_ms = row->day_ms,
                .names = {row->tenant, row->class, row->model, row->measure, row->detail},
                .amount = row->amount};
        int rc = period_add(store, STATEMENT_REVIEW_RAISE, STATEMENT_REVIEW_ADD, &plain, err);

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

/* Only constants of this program stand in the text; what comes from outside is bound. */
static void write_sums(const struct review_query *query, struct text *sql)
{
        text_add(sql, "SELECT %s, day_ms, amount, %s, %s, %s, measure, detail"
                      " FROM review_days WHERE day_ms >= ?1 AND day_ms < ?2",
                 query->by_day ? "day_ms" : "0", query->by_tenant ? "tenant" : "''",
                 query->by_class ? "class" : "''", query->by_model ? "model" : "''");
        if (query->tenant)
                text_add(sql,
                         " AND (tenant = ?3 OR substr(tenant, 1, length(?3) + 1) = ?3 || '/')");
        if (query->measure)
                text_add(sql, " AND measure = ?4");
}

struct seer {
        review_see *see;
        void *self;
};

static int see_sum(void *arg, const struct sum *sum, struct err *err)
{
        const struct seer *seer = arg;
        const struct review_sum it = {.day_ms = sum->start_ms,
                                      .tenant = sum->names[0],
                                      .class = sum->names[1],
                                      .model = sum->names[2],
                                      .measure = sum->names[3],
                                      .detail = sum->names[4],
                                      .amount = sum->amount,
                                      .first_ms = sum->first_ms,
                                      .last_ms = sum->last_ms};

        return seer->see(seer->self, &it, err);
}

int review_sums(struct store *store, const struct review_query *query, review_see *see, void *self,
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
        if (query->measure)
                sql_bind_text(statement, 4, query->measure);
        rc = sums_read(statement, 5, see_sum, &seer, err);
        sqlite3_finalize(statement);
        return rc;
}
