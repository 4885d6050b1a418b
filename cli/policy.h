/* policy.h - the command `berth policy`: check one, say in words what another one changes, try it
 * on a recorded history, or see and change which one is in force. */
#pragma once

#include "cli/command.h"

extern const struct command policy_command;
