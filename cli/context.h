/* context.h - `berth context`: the pools one speaks to, by name. */
#pragma once

#include "cli/command.h"

extern const struct command context_command;
