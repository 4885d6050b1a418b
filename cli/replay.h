/* replay.h - the command `berth replay`.
 *
 * Reads a scenario, runs it, prints tables, writes JSON and SVG. Prints progress on
 * standard error when it is a terminal. SIGINT and SIGTERM end it cleanly.
 */
#pragma once

#include "cli/command.h"

extern const struct command replay_command;
