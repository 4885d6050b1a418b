/* events.h - `berth events`: what the pool decided, as it happens. */
#pragma once

#include "cli/command.h"

extern const struct command events_command;
