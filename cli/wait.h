/* wait.h - following workloads until they have ended.
 *
 * Not pure: the network, standard error. Ctrl-C ends the waiting, never the work.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct talk;

/* `answer` is what the submission got: one workload, or {"workloads": [...]}. Says on standard
 * error what changes, in one line that is rewritten where that is a terminal. A pool that does not
 * answer for a while is waited for, up to ten minutes. Sets the exit code in `talk`: that of the
 * work, of several the first that is not 0. */
int wait_for(struct talk *talk, const json_t *answer, struct err *err);

/* Since when the pool does not answer; begins zeroed, and is zeroed again by an answer. */
struct wait_patience {
        int64_t silent_since_ns;
};

/* After a request that failed by `err`: whether to try again, because nobody answered and that has
 * not been so for ten minutes yet. Says once on standard error that it does. */
bool wait_is_patient(struct talk *talk, struct wait_patience *patience, const struct err *err);

/* Whether a workload of that state has ended. */
bool wait_has_ended(const char *state);
