/* completion_impl.h - what the shells' scripts say alike; of completion*.c alone. Pure. */
#pragma once

#include "cli/completion.h"
#include "cli/names.h"

/* The value that an option needs: NULL where it has none, or may stand alone. */
const char *completion_needed(const struct command_option *option);
/* What a value may be: a file, or words that the shell cannot know. NULL is no file. */
bool completion_is_file(const char *value);
bool completion_takes_file(const struct command *command);
/* Those whose argument is a command. */
bool completion_takes_command(const struct command *command);

/* What an option's value is the name of; NAMES_KINDS_END: nothing that a pool knows. */
enum names_kind completion_of_option(const struct command *command,
                                     const struct command_option *option);
/* The same of its arguments, or with an action of that action's. */
enum names_kind completion_of_argument(const struct command *command,
                                       const struct command_action *action);
/* How many of its arguments are such names: all, or the first. */
size_t completion_names_most(const struct command *command);

void completion_put_bash(FILE *file);
