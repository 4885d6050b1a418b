/* review.h - what happened by the day, kept long after the records it was made from.
 *
 * Not pure; threads as store.h says. The other half of usage by the hour (rollup.h), and as that:
 * rows come in batches (batch_add_review), in the same commit as a note that says up to when they
 * count, and add to what stands there. Table `review_days` and the views over it are documented in
 * docs/store.md, and so is what each measure counts; to the store they are words.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/rollup.h"

#define REVIEW_DAY_MS INT64_C(86400000)

struct review_row {
        int64_t day_ms;                 /* Unix time at which the day (UTC) starts */
        const char *tenant, *class, *model;     /* "" where they have no meaning */
        const char *measure;            /* "starts", "refused" ... */
        const char *detail;             /* a gate, a cause ...; "" where there is one sum only */
        int64_t amount;                 /* to add; the sum may not fall below 0 */
};

/* Removes whole days before `before_ms`, at most `rows_max` rows. 1: there may be more; 0: none is
 * left; -ERR_IO, -ERR_NOMEM. A chore (writer.h). */
int review_forget(struct store *store, int64_t before_ms, uint32_t rows_max, struct err *err);

/* Row by row, in order of the key. Names live for the call. A visit that returns non-zero ends it,
 * and that is returned. */
typedef int review_visit(void *self, const struct review_row *row, struct err *err);
int review_each(struct store *store, review_visit *visit, void *self, struct err *err);

/* Sums of rows that are alike in what is asked for. */
struct review_query {
        int64_t from_ms, until_ms;      /* days that start in [from, until) */
        const char *tenant;             /* NULL: any; else it and all below */
        const char *measure;            /* NULL: any */
        bool by_tenant, by_class, by_model, by_day;
};

struct review_sum {
        int64_t day_ms;                 /* 0 where days were not asked for */
        const char *tenant, *class, *model;     /* "" where not asked for */
        const char *measure, *detail;
        rollup_unit_ms amount;
        int64_t first_ms, last_ms;      /* the first and the last day with such a row */
};

/* One by one, in the order of day, tenant, class, model, measure, detail. Names live for the call.
 * A visit that returns non-zero ends it, and that is returned. As rollup_sums(). */
typedef int review_see(void *self, const struct review_sum *sum, struct err *err);
int review_sums(struct store *store, const struct review_query *query, review_see *see, void *self,
                struct err *err);
