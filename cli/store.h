/* store.h - the command `berth store`: look at a pool's store, copy it, move it, shrink it. */
#pragma once

#include "cli/command.h"

extern const struct command store_command;
