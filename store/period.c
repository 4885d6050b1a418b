#include "store/period.h"

#include <inttypes.h>
#include <sqlite3.h>

#include "base/err.h"
#include "base/text.h"
#include "store/review.h"
#include "store/sql.h"
#include "store/store_impl.h"

static const struct {
        const char *word;               /* in sentences */
        const char *period;
        int64_t length_ms;
        const char *names[PERIOD_NAMES];
        enum store_statement raise, add;        /* both take a row in its order */
        enum store_statement forget;
        const char *each;
} kinds[PERIOD_KINDS_END] = {
        [PERIOD_USAGE] = {"usage", "an hour", ROLLUP_HOUR_MS,
                          {"tenant", "model", "class", "method", "bucket"},
                          STATEMENT_USAGE_RAISE, STATEMENT_USAGE_ADD, STATEMENT_USAGE_FORGET,
                          "SELECT hour_ms, tenant, model, class, method, bucket, unit_ms"
                          " FROM usage_hours ORDER BY 1, 2, 3, 4, 5, 6"},
        [PERIOD_REVIEW] = {"the review", "a day", REVIEW_DAY_MS,
                           {"tenant", "class", "model", "measure", "detail"},
                           STATEMENT_REVIEW_RAISE, STATEMENT_REVIEW_ADD, STATEMENT_REVIEW_FORGET,
                           "SELECT day_ms, tenant, class, model, measure, detail, amount"
                           " FROM review_days ORDER BY 1, 2, 3, 4, 5, 6"},
};

struct period_row period_of_usage(const struct usage_row *row)
{
        return (struct period_row){
                .kind = PERIOD_USAGE,
                .start_ms = row->hour_ms,
                .names = {row->tenant, row->model, row->class, row->method, row->bucket},
                .amount = row->unit_ms};
}

struct period_row period_of_review(const struct review_row *row)
{
        return (struct period_row){
                .kind = PERIOD_REVIEW,
                .start_ms = row->day_ms,
                .names = {row->tenant, row->class, row->model, row->measure, row->detail},
                .amount = row->amount};
}

const char *period_word(enum period_kind kind)
{
        return kinds[kind].word;
}

int period_check(const struct period_row *row, struct err *err)
{
        const char *word = kinds[row->kind].word;

        for (unsigned n = 0; n < PERIOD_NAMES; n++)
                if (text_check(kinds[row->kind].names[n], row->names[n], ROLLUP_NAME_MAX, err) < 0)
                        return err_prefix(err, "%s", word);
        if (row->start_ms % kinds[row->kind].length_ms != 0)
                return err_set(err, ERR_INPUT, "%s: %" PRId64 " ms is not the start of %s", word,
                               row->start_ms, kinds[row->kind].period);
        return 0;
}

static int put(struct store *store, enum store_statement which, const struct period_row *row,
               struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, which, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, row->start_ms);
        for (int n = 0; n < PERIOD_NAMES; n++)
                sql_bind_text(statement, 2 + n, row->names[n]);
        sql_bind_i64(statement, 2 + PERIOD_NAMES, row->amount);
        return sql_done(statement, err);
}

/* Not by ON CONFLICT: the table's CHECK would look at what is added instead of at the sum. Below 0
 * breaks that CHECK; above int64 the sum is a real, which STRICT refuses. */
int period_add(struct store *store, const struct period_row *row, struct err *err)
{
        int rc = put(store, kinds[row->kind].raise, row, err);

        if (rc == 0 && sqlite3_changes64(store->db) == 0)
                rc = put(store, kinds[row->kind].add, row, err);
        if (rc < 0)
                return err_prefix(err, "%s of tenant '%s' at %" PRId64, kinds[row->kind].word,
                                  row->names[0], row->start_ms);
        return rc;
}

int period_forget(struct store *store, enum period_kind kind, int64_t before_ms,
                  uint32_t rows_max, struct err *err)
{
        return store_forget(store, kinds[kind].forget, before_ms, rows_max, err);
}

static int read_row(sqlite3_stmt *statement, struct period_row *row, struct err *err)
{
        row->start_ms = sqlite3_column_int64(statement, 0);
        row->amount = sqlite3_column_int64(statement, 1 + PERIOD_NAMES);
        for (int n = 0; n < PERIOD_NAMES; n++) {
                row->names[n] = (const char *)sqlite3_column_text(statement, 1 + n);
                if (!row->names[n])
                        return err_set(err, ERR_NOMEM, "out of memory");
        }
        return 0;
}

int period_each(struct store *store, enum period_kind kind, period_visit *visit, void *self,
                struct err *err)
{
        struct period_row row = {.kind = kind};
        sqlite3_stmt *statement;
        int rc = sql_prepare(store->db, kinds[kind].each, &statement, err);

        if (rc < 0)
                return rc;
        while ((rc = sql_step(statement, err)) > 0) {
                rc = read_row(statement, &row, err);
                if (rc == 0)
                        rc = visit(self, &row, err);
                if (rc != 0)
                        break;
        }
        sqlite3_finalize(statement);
        return rc;
}

/* Only constants of this program stand in the text; what comes from outside is bound. */
int period_sums(struct store *store, struct text *sql, const struct period_query *query,
                sums_see *see, void *self, struct err *err)
{
        sqlite3_stmt *statement;
        int rc;

        if (query->tenant)
                text_add(sql, " AND (tenant = ?3 OR"
                              " substr(tenant, 1, length(?3) + 1) = ?3 || '/')");
        rc = sql->failed ? err_set(err, ERR_NOMEM, "out of memory")
                         : sql_prepare(store->db, sql->bytes, &statement, err);
        text_done(sql);
        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, query->from_ms);
        sql_bind_i64(statement, 2, query->until_ms);
        if (query->tenant)
                sql_bind_text(statement, 3, query->tenant);
        if (query->measure)
                sql_bind_text(statement, 4, query->measure);
        rc = sums_read(statement, query->names, see, self, err);
        sqlite3_finalize(statement);
        return rc;
}
