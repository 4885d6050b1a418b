/* usage.h - the ledger of the live pool, rolled up into the store's hours.
 *
 * Not pure: rows go into acts. One thread: that of the loop. Amounts are unit-milliseconds.
 *
 * The ledger (engine/ledger.h) sees every fact. Every USAGE_ROLL_MS (at first more often), at each
 * hour and before each snapshot its sums become rows of usage_hours, committed with a note in the
 * log that says up to when they count: {"usage_until_ms": T}. That note is the rule for coming back
 * after a crash:
 *
 *   - a snapshot is written right behind such a note, with nothing decided between them, so that
 *     what is not rolled up yet happened after the snapshot;
 *   - recovery gives the ledger the state of the snapshot and then every fact behind it, as they
 *     came; at a note all sums up to its T are dropped, for the rows that came with it are in the
 *     store. What is left is what happened since the newest note.
 *
 * So each unit-millisecond is counted once, however often the controller dies, and the time while
 * it was down counts for whoever held the devices meanwhile. What the ledger only remembers (which
 * shapes stand, for `stranded`) begins anew; the sums do not depend on it.
 *
 * What happened (tally.h) takes the same way, into the store's days.
 *
 * Rows that no work holds have no tenant, class and method. Rows beside the sum, which are no part
 * of the capacity: lost_* (ledger_loss_name()), caused_loss, lent; and `stops`, which is no time:
 * how often runs were ended for plans of others.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct act;
struct core;
struct core_watch;
struct err;
struct ledger;
struct usage;

#define USAGE_ROLL_MS       INT64_C(300000)
#define USAGE_ROLL_FIRST_MS INT64_C(5000)

/* NULL: out of memory. */
struct usage *usage_new(void);
void usage_free(struct usage *usage);                   /* NULL is fine; after the core */

/* To be watched with from the start: core_setup.early. */
struct core_watch usage_watch(struct usage *usage);

/* Whether it is time for a roll-up. Soon after counting began (with the pool, or with the start of
 * the controller) it is so more often, so that a new pool's usage can be asked for: at a second,
 * then whenever the counted time doubles, by USAGE_ROLL_FIRST_MS at least. */
bool usage_is_due(const struct usage *usage, int64_t now_ms);
/* Puts all that is counted until now into the act, or as many hours as fit in it. 0, -ERR_FULL (not
 * even one does: nothing was added), -ERR_NOMEM (then the act is not committed, and the core
 * recovers). */
int usage_roll(struct usage *usage, struct core *core, struct act *act, struct err *err);

/* For figures; NULL: nothing is counted yet. */
const struct ledger *usage_ledger(const struct usage *usage);

/* Up to when it is rolled up; 0: nothing is. */
int64_t usage_until_ms(const struct usage *usage);

/* Whether a row of that bucket is part of the capacity; of what is lost, whether it is refunded. */
bool usage_is_capacity(const char *bucket);
bool usage_is_refund(const char *bucket);
/* What was lost because of plans of others. */
bool usage_is_stop(const char *bucket);
#define USAGE_STOPS "stops"
