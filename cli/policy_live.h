/* policy_live.h - the policy of a pool that runs: `berth policy show | revisions | rollback`. */
#pragma once

#include "cli/command.h"

int policy_show(const struct command_call *call);
int policy_revisions(const struct command_call *call);
int policy_rollback(const struct command_call *call);
