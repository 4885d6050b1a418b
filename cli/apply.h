/* apply.h - `berth apply`: documents of files, put in force. */
#pragma once

#include "cli/command.h"

extern const struct command apply_command;
