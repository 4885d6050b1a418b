/* rollup.h - usage by the hour, kept long after the records it was made from.
 *
 * Not pure; threads as store.h says. Rows come in batches (batch_add_usage), in the same commit as
 * the facts they follow from, and add to what stands there: each counts once; period.h reads and
 * forgets them. Table `usage_hours` and the views over it are documented in docs/store.md.
 *
 * Amounts are whole unit-milliseconds. One row of one hour stays far below int64 (100,000 devices:
 * 4.5e16); a sum over months of a large pool may not, and SQL then says "integer overflow": sum
 * device_hours of the views instead.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

#define ROLLUP_UNITS_PER_DEVICE 126000          /* what engine/units.h calls a device */
#define ROLLUP_HOUR_MS          3600000ll
#define ROLLUP_NAME_MAX         255             /* bytes, the final NUL not counted */
#define ROLLUP_MONTHS           13              /* kept, unless the operator says otherwise */

struct usage_row {
        int64_t hour_ms;                /* Unix time at which the hour starts */
        const char *model;              /* of the device; names are "" where they have no meaning */
        const char *tenant;
        const char *class;
        const char *method;
        const char *bucket;
        int64_t unit_ms;                /* to add; the sum may not fall below 0 */
};

/* Sums of rows that are alike in what is asked for. */
struct rollup_query {
        int64_t from_ms, until_ms;      /* hours that start in [from, until) */
        const char *tenant;             /* NULL: any, and what is nobody's; else it and all below */
        bool by_tenant, by_class, by_model, by_method, by_hour, by_day;         /* hour or day */
};

__extension__ typedef unsigned __int128 rollup_unit_ms;

struct rollup_sum {
        int64_t start_ms;               /* of the hour or day; 0 where neither was asked for */
        const char *tenant, *class, *method, *bucket, *model;   /* "" where not asked for */
        bool is_held;                   /* by a tenant; else it is the pool's */
        rollup_unit_ms unit_ms;
};

/* One by one, in the order of start, tenant, class, method, held, bucket, model. Names live for the
 * call. A visit that returns non-zero ends it, and that is returned. 0, -ERR_RANGE (more than
 * SUMS_MAX of them: sums.h), -ERR_CANCELLED (store_view_stops()), -ERR_IO, -ERR_NOMEM. */
typedef int rollup_see(void *self, const struct rollup_sum *sum, struct err *err);
int rollup_sums(struct store *store, const struct rollup_query *query, rollup_see *see, void *self,
                struct err *err);
