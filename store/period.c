#include "store/period.h"

#include <sqlite3.h>

#include "store/sql.h"

static int put(struct store *store, enum store_statement which, const struct period_row *row,
               struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, which, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, row->start_ms);
        for (int i = 0; i < PERIOD_NAMES; i++)
                sql_bind_text(statement, 2 + i, row->names[i]);
        sql_bind_i64(statement, 2 + PERIOD_NAMES, row->amount);
        return sql_done(statement, err);
}

/* Not by ON CONFLICT: the table's CHECK would look at what is added instead of at the sum. Below 0
 * breaks that CHECK; above int64 the sum is a real, which STRICT refuses. */
int period_add(struct store *store, enum store_statement raise, enum store_statement add,
               const struct period_row *row, struct err *err)
{
        int rc = put(store, raise, row, err);

        if (rc == 0 && sqlite3_changes64(store->db) == 0)
                rc = put(store, add, row, err);
        return rc;
}
