/* replay.h - the command `berth replay`.
 *
 * Reads a scenario, runs it, prints tables, writes JSON and SVG. Prints progress on
 * standard error when it is a terminal. SIGINT and SIGTERM end it cleanly.
 */
#pragma once

#include "cli/command.h"

extern const struct command_option replay_options[];
extern const char replay_details[];

int replay_command(const struct command_call *call);    /* an exit code */
