/* policy_try.h - `berth policy try`: what a policy would have done to a recorded history. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"

struct err;
struct history_result;
struct model_table;
struct scenario;

/* Runs the history of --history under --against and under the file, prints and writes. 0 or a
 * negative code; *ret_code is what the program ends with in any case but -ERR_NOMEM. */
int policy_try(const struct command_call *call, const struct model_table *models, size_t width,
               enum exit_code *ret_code, struct err *err);

/* Rows 0 (before) and 1 (after) of the result, by tenant, and in a sentence. Not `is_whole`: the
 * run was stopped, and row 1 may hold fewer seeds. 0 or -ERR_NOMEM. */
int policy_try_print(const struct scenario *scenario, const struct history_result *result,
                     size_t width, bool is_whole, FILE *file, struct err *err);
/* One object; *ret_text is freed with mem_free(). 0 or -ERR_NOMEM. */
int policy_try_json(const struct scenario *scenario, const struct history_result *result,
                    bool is_whole, char **ret_text, size_t *ret_size, struct err *err);
