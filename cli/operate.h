/* operate.h - what operators do to nodes and planes: drain, undrain, freeze, unfreeze. */
#pragma once

#include "cli/command.h"

extern const struct command drain_command, undrain_command, lost_command, freeze_command,
        unfreeze_command;
