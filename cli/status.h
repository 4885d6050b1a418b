/* status.h - `berth status`, and how a workload looks in tables and lines. */
#pragma once

#include "cli/talk.h"

extern const struct command status_command;

/* The table of {"workloads": [...]}, or a sentence where there are none. A talk_printer. */
int status_print_list(const json_t *answer, const struct talk *talk, FILE *file, struct err *err);
/* All that is known of one workload. A talk_printer. */
int status_print_one(const json_t *answer, const struct talk *talk, FILE *file, struct err *err);

/* "17 llama-sft: queued. It waits for 8 devices." One line, or of several workloads one each. A
 * talk_printer. */
int status_print_line(const json_t *answer, const struct talk *talk, FILE *file, struct err *err);
