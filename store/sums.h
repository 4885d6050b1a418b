/* sums.h - rows added up by the words that they have in common, for store/ only.
 *
 * Not pure: reads a statement. Memory is that of the sums, however many rows there are: SQL's own
 * GROUP BY sorts them all first, which for the hours of a year of a large pool is gigabytes.
 */
#pragma once

#include <stdint.h>

#include "store/rollup.h"

struct err;
struct sqlite3_stmt;

#define SUMS_NAMES_MAX 6
#define SUMS_MAX       200000u          /* that come of one question */

struct sum {
        int64_t start_ms;
        const char *names[SUMS_NAMES_MAX];
        rollup_unit_ms amount;
        int64_t first_ms, last_ms;      /* the first and the last time of its rows */
};

/* Of a statement that is bound, with these columns: what its row's sum starts at, the row's time,
 * the amount, and `names` texts. Each sum is seen in the order of start and texts; those live for
 * the call. A visit that returns non-zero ends it, and that is returned. 0, -ERR_RANGE (more than
 * SUMS_MAX), -ERR_IO, -ERR_NOMEM. */
typedef int sums_see(void *self, const struct sum *sum, struct err *err);
int sums_read(struct sqlite3_stmt *rows, unsigned names, sums_see *see, void *self,
              struct err *err);
