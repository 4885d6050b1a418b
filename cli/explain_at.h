/* explain_at.h - `berth replay SCENARIO --explain-at TIME`: why work waits then.
 *
 * The replay runs up to that time with the first policy and seed of the scenario, shows what was
 * asked for, and ends. docs/explain.md describes what it shows.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/replay.h"

struct command_call;
struct err;
struct scenario;

struct explain_at {
        bool is_wanted;
        uint64_t workload;              /* 0: none in particular */
        const char *tenant;             /* NULL: all */
        bool as_tenant;                 /* what the tenant may see */
        bool as_json;
        struct replay_look look;
};

/* What the call asks for. 0, or -ERR_INPUT: not this way, or not with this scenario. */
int explain_at_ask(const struct command_call *call, const struct scenario *scenario,
                   struct explain_at *ret_ask, struct err *err);

/* NULL: nothing is asked for. Of an ask that stays where it is until the replay has ended. */
struct replay_look *explain_at_look(struct explain_at *ask);

/* What a replay with a look ended with: 0 when it was shown, else an error with its sentence. */
int explain_at_end(const struct explain_at *ask, int rc, struct err *err);
