/* retention.h - how long things are kept: the key `retention` of a policy.
 *
 * Pure. Nothing is decided from it, so the engine does not know it: the controller removes by it
 * (store/retain.h has the rules), and so does `berth store compact`. docs/policy.md describes the
 * keys for users.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct doc_node;
struct err;

/* X(name, word, unit) */
#define RETENTIONS(X)                                                           \
        X(RECORDS, "records", DAYS)     /* of the log, behind its newest good snapshot */ \
        X(ENDED,   "ended",   DAYS)     /* what has ended: workloads, alerts ... */       \
        X(REVIEW,  "review",  MONTHS)   /* usage and the review's days; beside the present month */

enum retention_kind {
#define X(name, word, unit) RETENTION_##name,
        RETENTIONS(X)
#undef X
        RETENTIONS_END
};

#define RETENTION_FOR_EVER   0u
#define RETENTION_UNSAID     UINT32_MAX         /* the policy says nothing of it */
#define RETENTION_DAYS_MAX   36500
#define RETENTION_MONTHS_MIN 13                 /* what a review a year later asks for */
#define RETENTION_MONTHS_MAX 1200

struct retention {
        uint32_t spans[RETENTIONS_END];         /* in the kind's unit, or one of the words above */
};

extern const char *const retention_words[RETENTIONS_END];

/* {records: 30d, ended: 90d, review: 13mo}; an absent map, or key, is RETENTION_UNSAID.
 * 0, -ERR_INPUT, -ERR_RANGE. */
int retention_read(const struct doc_node *map, struct retention *ret_retention, struct err *err);
/* Only this key of the text of a policy that was taken once. 0, what reading a document returns. */
int retention_of_policy(const char *text, size_t size, struct retention *ret_retention,
                        struct err *err);

/* What holds: `said`, and where that says nothing, `usual`. */
struct retention retention_over(const struct retention *said, const struct retention *usual);

/* "30d", "13mo", "unlimited", as a policy has it; "unsaid". In `buf` or for ever. */
#define RETENTION_TEXT_MAX 16
const char *retention_text(const struct retention *retention, enum retention_kind kind,
                           char buf[RETENTION_TEXT_MAX]);
