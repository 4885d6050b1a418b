/* retain.h - what is kept for how long, in one place.
 *
 * Not pure; threads as store.h says. A chore (writer.h), in short steps; whatever was left undone
 * by a crash is done by the next one, and a second one after it changes nothing.
 *
 * Records go up to the last one that is older than `record_days` before the newest good snapshot,
 * by the log's own time: what recovery needs stays, however old, and behind it so many days for who
 * asks why. Without a good snapshot, or a key to sign with, none goes. Objects go `object_days`
 * after their end, the newest of a kind never. Usage, and what the review needs by the day, go by
 * whole months of the calendar (UTC).
 */
#pragma once

#include <stdint.h>

struct err;
struct retain;
struct seal_key;
struct store;

#define RETAIN_RECORD_DAYS  30
#define RETAIN_OBJECT_DAYS  90
#define RETAIN_DAYS_MAX     36500
#define RETAIN_MONTHS_MAX   1200

struct retain_rules {
        uint32_t record_days, object_days;      /* 0: for ever; at most RETAIN_DAYS_MAX */
        uint32_t usage_months;          /* and of the review. 0: for ever; beside the present one.
                                         * ROLLUP_MONTHS */
        int64_t now_ms;                 /* Unix time; the log's own is a good one */
        const struct seal_key *key;     /* borrowed until the end; NULL: records stay */
        uint32_t rows_per_step;         /* 0: PRUNE_ROWS_PER_STEP */
};

struct retain_report {
        uint64_t upto_seq;              /* the last record that is gone; 0: none */
        uint64_t objects, usage_rows, review_rows;      /* that are gone */
};

/* 0, -ERR_RANGE (a bound above), -ERR_NOMEM. */
int retain_new(const struct retain_rules *rules, struct retain **ret_retain, struct err *err);
void retain_free(struct retain *retain);                /* NULL is fine */

/* 1: more to do; 0: done; -ERR_IO, -ERR_NOMEM. After an error it may be tried again. */
int retain_step(struct retain *retain, struct store *store, struct err *err);

/* What was removed so far. */
void retain_told(const struct retain *retain, struct retain_report *ret_report);

/* The start of the oldest hour of usage that is kept. */
int64_t retain_usage_from_ms(int64_t now_ms, uint32_t months);
