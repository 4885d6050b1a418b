/* period.h - rows that add up what belongs to a period and five names, for store/ only: usage by
 * the hour (rollup.h) and the review's days (review.h).
 *
 * Not pure; threads as store.h says.
 */
#pragma once

#include <stdint.h>

#include "store/store_impl.h"

#define PERIOD_NAMES 5

struct period_row {
        int64_t start_ms;
        const char *names[PERIOD_NAMES];        /* in the order of the table's key */
        int64_t amount;
};

/* To the row of this start and these names by the statement `raise`, or as a new one by `add`; both
 * take all of it in this order. In a transaction. 0, -ERR_IO, -ERR_NOMEM. */
int period_add(struct store *store, enum store_statement raise, enum store_statement add,
               const struct period_row *row, struct err *err);
