/* move.h - `berth move`: running work goes on somewhere else. */
#pragma once

#include "cli/command.h"

extern const struct command move_command;
