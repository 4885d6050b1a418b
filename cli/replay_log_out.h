/* replay_log_out.h - what `berth replay --log` prints. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct err;
struct log_replay_result;
struct log_what_if;

/* Not `is_whole`: the run was stopped. *ret_text is freed with mem_free(). 0 or -ERR_NOMEM. */
void log_check_print(const struct log_replay_result *result, const char *log, bool is_whole,
                     FILE *file);
int log_check_json(const struct log_replay_result *result, bool is_whole, char **ret_text,
                   size_t *ret_size, struct err *err);

/* `policy`: the file's name. */
int log_what_if_print(const struct log_what_if *what_if, const char *policy, size_t width,
                      FILE *file, struct err *err);
int log_what_if_json(const struct log_what_if *what_if, char **ret_text, size_t *ret_size,
                     struct err *err);
