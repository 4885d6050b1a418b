/* change.h - `berth change`: work that is there gets another document. */
#pragma once

#include "cli/command.h"

extern const struct command change_command;
