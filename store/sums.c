#include "store/sums.h"

#include <sqlite3.h>

#include "base/err.h"
#include "base/text.h"
#include "store/sql.h"

static int put(struct store *store, enum store_statement which, const struct sums_row *row,
               struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, which, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, row->start_ms);
        for (int i = 0; i < SUMS_NAMES; i++)
                sql_bind_text(statement, 2 + i, row->names[i]);
        sql_bind_i64(statement, 2 + SUMS_NAMES, row->amount);
        return sql_done(statement, err);
}

/* Not by ON CONFLICT: the table's CHECK would look at what is added instead of at the sum. Below 0
 * breaks that CHECK; above int64 the sum is a real, which STRICT refuses. */
int sums_add(struct store *store, enum store_statement raise, enum store_statement add,
             const struct sums_row *row, struct err *err)
{
        int rc = put(store, raise, row, err);

        if (rc == 0 && sqlite3_changes64(store->db) == 0)
                rc = put(store, add, row, err);
        return rc;
}

rollup_unit_ms sums_total(sqlite3_stmt *row, int column)
{
        return (rollup_unit_ms)sqlite3_column_int64(row, column) * 1000000 +
               (rollup_unit_ms)sqlite3_column_int64(row, column + 1);
}

int sums_ask(struct store *store, struct text *sql, const struct sums_question *question,
             sqlite3_stmt **ret_statement, struct err *err)
{
        int rc;

        *ret_statement = NULL;
        rc = sql->failed ? err_set(err, ERR_NOMEM, "out of memory")
                         : sql_prepare(store->db, sql->bytes, ret_statement, err);
        text_done(sql);
        if (rc < 0)
                return rc;
        sql_bind_i64(*ret_statement, 1, question->from_ms);
        sql_bind_i64(*ret_statement, 2, question->until_ms);
        if (question->tenant)
                sql_bind_text(*ret_statement, 3, question->tenant);
        if (question->word)
                sql_bind_text(*ret_statement, 4, question->word);
        return 0;
}
