/* policy.h - the command `berth policy`: check one, or say in words what another one changes. */
#pragma once

#include "cli/command.h"

extern const struct command_option policy_options[];
extern const char policy_details[];

int policy_command(const struct command_call *call);    /* an exit code */
