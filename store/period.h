/* period.h - rows that add up what belongs to a period and five names: usage by the hour
 * (rollup.h) and the review's days (review.h). What is done with both alike is done here.
 *
 * Not pure; threads as store.h says.
 */
#pragma once

#include <stdint.h>

#include "store/sums.h"

struct err;
struct review_row;
struct store;
struct text;
struct usage_row;

#define PERIOD_NAMES 5

enum period_kind { PERIOD_USAGE, PERIOD_REVIEW, PERIOD_KINDS_END };

struct period_row {
        enum period_kind kind;
        int64_t start_ms;
        const char *names[PERIOD_NAMES];        /* in the order of the table's key; tenant first */
        int64_t amount;
};

/* Names stay the caller's. */
struct period_row period_of_usage(const struct usage_row *row);
struct period_row period_of_review(const struct review_row *row);

const char *period_word(enum period_kind kind);         /* "usage", "the review" */

/* Names that are too long or no text, a start that is none: -ERR_INPUT. */
int period_check(const struct period_row *row, struct err *err);

/* To the row of this start and these names, or as a new one. In a transaction. 0, -ERR_IO,
 * -ERR_NOMEM. */
int period_add(struct store *store, const struct period_row *row, struct err *err);

/* Removes whole periods before `before_ms`, at most `rows_max` rows. 1: there may be more; 0: none
 * is left; -ERR_IO, -ERR_NOMEM. A chore (writer.h). */
int period_forget(struct store *store, enum period_kind kind, int64_t before_ms,
                  uint32_t rows_max, struct err *err);

/* Row by row, in order of the key. Names live for the call. A visit that returns non-zero ends it,
 * and that is returned. */
typedef int period_visit(void *self, const struct period_row *row, struct err *err);
int period_each(struct store *store, enum period_kind kind, period_visit *visit, void *self,
                struct err *err);

struct period_query {
        int64_t from_ms, until_ms;      /* ?1 and ?2 of the text */
        const char *tenant;             /* it and all below; NULL: any */
        const char *measure;            /* ?4; NULL: the text has none */
        unsigned names;                 /* that the statement gives (sums.h) */
};

/* For store/ only: sums (sums_read()) of what `sql` selects, which ends in its conditions; that of
 * the tenant is added here. `sql` is used up, also on failure. */
int period_sums(struct store *store, struct text *sql, const struct period_query *query,
                sums_see *see, void *self, struct err *err);
