/* store_compact.h - `berth store compact`: forgets what is old, and gives the room back. */
#pragma once

#include "cli/command.h"

struct err;
struct store;

/* By the options of the call, else the policy in the store, else what is usual; says what is gone.
 * 0 or a negative code; what was removed until then stays removed. */
int store_compact(const struct command_call *call, struct store *store, struct err *err);
