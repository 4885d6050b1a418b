/* policy_ledger.h - the engine's ledger beside the book: what the pool has and work holds, counted
 * the plain way, against where the ledger says that it went. */
#pragma once

#include "engine/ledger.h"
#include "tests/property/policy_book.h"

struct trial_ledger {
        struct ledger *ledger;
        unit_ms capacity[MODELS_MAX], held[MODELS_MAX]; /* by the book */
        int64_t at_ms;
};

/* False: out of memory. */
bool trial_ledger_open(struct trial_ledger *ledger, const struct state *state, int64_t now_ms);
void trial_ledger_close(struct trial_ledger *ledger);

/* Up to the book's time, before the book changes. */
void trial_ledger_time(struct trial_ledger *ledger, const struct book *book);
/* All facts up to now are seen and applied. False: book->why says what does not add up. */
bool trial_ledger_holds(struct trial_ledger *ledger, const struct state *state,
                        struct book *book);
