/* completion.h - `berth completion`: what a shell offers, from the table of commands. */
#pragma once

#include "cli/command.h"

extern const struct command completion_command;

/* "bash", "zsh" or "fish". False: no such shell, nothing is written. */
bool completion_write(const char *shell, FILE *file);
