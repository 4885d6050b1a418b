/* policy.h - the command `berth policy`: check one, say in words what another one changes, or try
 * it on a recorded history. */
#pragma once

#include "cli/command.h"

extern const struct command_option policy_options[];
extern const char policy_details[];

int policy_command(const struct command_call *call);    /* an exit code */
