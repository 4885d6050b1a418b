/* store_check.h - `berth store check`: whether stores and exports are whole. */
#pragma once

#include "cli/command.h"

struct err;

/* All files of the call, one after the other; prints and writes. *ret_code: EXIT_TROUBLE where
 * something was found. 0, or what opening one returns, -ERR_INPUT (an option), -ERR_IO,
 * -ERR_NOMEM. */
int store_check_files(const struct command_call *call, enum exit_code *ret_code, struct err *err);
