/* pages.h - lists that a server gives page by page, as one.
 *
 * Not pure: the network.
 */
#pragma once

#include "cli/talk.h"

/* Asks for `path` (taken; freed), and while the answer says `next` for what comes after it. The
 * items under `key` of all pages stand in the one object that is printed, or with --json written as
 * a line. A whole command: the exit code.
 *
 * `first_only` (NULL: none): a flag of the query that is dear, and so asked for with the first page
 * only. A server that is too old to know it is asked without. */
int pages_show(const struct command_call *call, struct text *path, const char *key,
               const char *first_only, talk_printer *print);
