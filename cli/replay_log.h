/* replay_log.h - `berth replay --log`: a pool's own log decided again, or under another policy. */
#pragma once

#include "cli/command.h"

/* The command has no scenario. Returns an exit code. */
int replay_log_command(const struct command_call *call);
