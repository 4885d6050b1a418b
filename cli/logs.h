/* logs.h - `berth logs`: what a workload wrote. */
#pragma once

#include "cli/command.h"

extern const struct command logs_command;
