/* review.h - what happened by the day, kept long after the records it was made from.
 *
 * Not pure; threads as store.h says. The other half of usage by the hour (rollup.h), and as that:
 * rows come in batches (batch_add_review), in the same commit as a note that says up to when they
 * count, and add to what stands there; period.h reads and forgets them. Table `review_days` and the
 * views over it are documented in docs/store.md, and so is what each measure counts; to the store
 * they are words.
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
