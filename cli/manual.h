/* manual.h - `berth man`: manual pages from the table of commands.
 *
 * roff with the man macros, which every man(1) reads: no tool and no second source is needed.
 */
#pragma once

#include "cli/command.h"

extern const struct command man_command;

/* berth-NAME(1), or berth(1) for NULL. 0 or -ERR_NOMEM. */
int manual_write(const struct command *command, FILE *file, struct err *err);

/* All of them, as berth.1, berth-NAME.1 ... of a folder that is there. 0, -ERR_INPUT, -ERR_IO,
 * -ERR_NOMEM. */
int manual_write_all(const char *folder, struct err *err);
