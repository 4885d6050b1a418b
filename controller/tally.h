/* tally.h - what happens in the pool, counted by the day, for whoever reviews it months later.
 *
 * Pure apart from the heap. One owner at a time. It watches facts, as the ledger does, and its sums
 * go into the store's days (store/review.h) together with those of the ledger: usage.h says why
 * each counts once. docs/review.md says what each measure means.
 *
 * Bounded: beyond TALLY_ROWS_MAX different rows, what comes is counted as of tenant "(others)".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/fact.h"
#include "engine/tenancy.h"

struct act;
struct core;
struct err;
struct ledger;
struct state;
struct tally;

#define TALLY_ROWS_MAX 16384u
#define TALLY_OTHERS   "(others)"

/* X(name, word, what its details are) */
#define TALLY_MEASURES(X)                                                                       \
        X(STARTS,      "starts",       "")      /* runs */                                      \
        X(WAIT_MS,     "wait_ms",      "")      /* that they waited, in all */                  \
        X(WAITS_BELOW, "waits_below",  "seconds, a power of two: waits below it, and not below" \
                                       " the one before")                                       \
        X(REFUSED,     "refused",      "gate")                                                  \
        X(ENDED,       "ended",        "cause")                                                 \
        X(STOPPED,     "stopped",      "cause") /* runs that ended, and wait again */           \
        X(CHECKPOINTS, "checkpoints",  "")                                                      \
        X(RESTORES,    "restores",     "")      /* runs that went on from a checkpoint */       \
        X(RESERVED,    "reserved",     "promised, used, lent, unused; unit-milliseconds")

enum tally_measure {
#define X(name, word, details) TALLY_##name,
        TALLY_MEASURES(X)
#undef X
        TALLY_MEASURES_END
};
const char *tally_measure_name(enum tally_measure measure);

struct tally *tally_new(void);                          /* NULL: out of memory */
void tally_free(struct tally *tally);                   /* NULL is fine */
void tally_forget(struct tally *tally);                 /* all that was counted */

/* Every fact, before it is applied, and before `ledger` sees it. False: out of memory. */
bool tally_see(struct tally *tally, const struct state *state, const struct ledger *ledger,
               const struct fact *fact, int64_t at_ms);
/* A request that was never taken: its fact does not say whose it is. */
bool tally_refused(struct tally *tally, const struct state *state, const struct request *request,
                   enum gate gate, int64_t at_ms);

/* What was counted until now, taken out of it. */
struct tally_part;
struct tally_part *tally_take(struct tally *tally);     /* NULL: out of memory; nothing is taken */
void tally_part_free(struct tally_part *part);          /* NULL is fine */
uint32_t tally_part_rows(const struct tally_part *part);
/* Its rows, with the act. On failure the act is not committed, and the core recovers. */
int tally_part_put(const struct tally_part *part, struct core *core, struct act *act,
                   struct err *err);
