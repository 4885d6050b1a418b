/* act.h - what is done to workloads that are there: cancel, hold, release, restart, preempt. */
#pragma once

#include "cli/command.h"

extern const struct command cancel_command, hold_command, release_command, restart_command,
        preempt_command;
