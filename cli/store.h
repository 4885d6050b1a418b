/* store.h - the command `berth store`: look at a pool's store, copy it, move it, shrink it. */
#pragma once

#include "cli/command.h"

extern const struct command_option store_options[];
extern const char store_details[];

int store_command(const struct command_call *call);     /* an exit code */
