/* sums.h - tables that add up amounts by a period and five names, for store/ only: what usage by
 * the hour (rollup.h) and the review's days (review.h) have in common.
 *
 * Not pure; threads as store.h says. 0, or -ERR_IO, -ERR_NOMEM.
 */
#pragma once

#include <stdint.h>

#include "store/rollup.h"
#include "store/store_impl.h"

struct sqlite3_stmt;
struct text;

#define SUMS_NAMES 5

struct sums_row {
        int64_t start_ms;
        const char *names[SUMS_NAMES];  /* in the order of the table's key */
        int64_t amount;
};

/* To the row of these names, or as a new one. The statements take the start, the names and the
 * amount. In a transaction. */
int sums_add(struct store *store, enum store_statement raise, enum store_statement add,
             const struct sums_row *row, struct err *err);

/* An amount is summed in SQL as two columns, of its millions and of the rest, so that no sum is
 * above int64. */
#define SUMS_OF(column) "sum(" column " / 1000000), sum(" column " % 1000000)"
rollup_unit_ms sums_total(struct sqlite3_stmt *row, int column);        /* the first of the two */

#define SUMS_OF_TENANT " AND (tenant = ?3 OR substr(tenant, 1, length(?3) + 1) = ?3 || '/')"

struct sums_question {
        int64_t from_ms, until_ms;      /* ?1, ?2 */
        const char *tenant;             /* ?3; NULL: not in the text */
        const char *word;               /* ?4; NULL: not in the text */
};

/* Prepares `sql` (taken; freed), made of constants of this program only. *ret_statement is stepped
 * and finalized by the caller, and NULL on failure. */
int sums_ask(struct store *store, struct text *sql, const struct sums_question *question,
             struct sqlite3_stmt **ret_statement, struct err *err);
