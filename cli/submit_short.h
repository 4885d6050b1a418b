/* submit_short.h - a Workload document from options: the short way of `berth submit`.
 *
 * Not pure: looks at the folder we are in and, for --env NAME, at the environment.
 */
#pragma once

#include <jansson.h>

struct command_call;
struct err;

/* What the options and the command behind "--" ask for. `tenant` is whose work it is where no
 * option says so ("": the server knows the tenant of who asks). *ret_document is freed with
 * json_decref().
 * -ERR_INPUT with the way out, -ERR_NOMEM. */
int submit_short(const struct command_call *call, const char *tenant, json_t **ret_document,
                 struct err *err);

/* "train" of `python train.py`, `/opt/x/train --fast`: a name for work that got none. At most
 * `size` bytes with the NUL. Returns `buf`. */
const char *submit_short_name(char *const *command, size_t count, char *buf, size_t size);
