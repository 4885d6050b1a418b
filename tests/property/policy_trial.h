/* policy_trial.h - one history under way: the same inputs, decided in several ways.
 *
 * A memo that is kept, and one that is dropped at random moments, must give the same facts; a state
 * that only gets the facts must come to the same hash. The book (policy_book.h) follows the facts.
 * At the end all inputs are run once more, with a look at every node each time.
 */
#pragma once

#include "engine/decide.h"
#include "tests/property/policy_book.h"
#include "tests/property/policy_draw.h"
#include "tests/property/policy_ledger.h"

enum { TRIAL_POLICIES = 3, TRIAL_WINDOWS = 5 };

enum trial_state { TRIAL_KEPT, TRIAL_DROPPED, TRIAL_REBUILT, TRIAL_STATES };

struct trial {
        uint64_t seed;
        struct case_words words;
        struct draw_pool pool;
        struct policy_doc *policies[TRIAL_POLICIES];
        unsigned policy;                /* that an INPUT_POLICY_SET brings */
        struct maintenance windows[TRIAL_WINDOWS];      /* that an INPUT_MAINTENANCE_SET brings */
        struct policy placement;
        struct state *states[TRIAL_STATES];
        struct memo *memos[TRIAL_REBUILT];
        struct rng drops;
        struct logged *log;
        uint32_t log_count, log_room;
        bool verbose;
        struct book *book;
        struct trial_ledger ledger;     /* of the kept state */
};

/* False: book->why says why (also where a policy could not be drawn). */
bool trial_open(struct trial *trial, const struct model_table *models, uint64_t seed);
void trial_close(struct trial *trial);

/* 1: done; 0: something is broken (book->why); else the error that the input is, and nothing
 * changed. The time is that of the book. */
int trial_run(struct trial *trial, const struct input *input);
/* 1: done, or an error that the input is; 0: something is broken. */
int trial_try(struct trial *trial, const struct input *input);
bool trial_replays(struct trial *trial);
/* After a tick: nodes that are held for a gang must be of use to it. */
bool trial_holds_well(const struct trial *trial);
