/* top.h - `berth top`: the pool on one screen, renewed. */
#pragma once

#include "cli/command.h"

extern const struct command top_command;
