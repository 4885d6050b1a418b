/* submit.h - `berth submit`: one workload, from a file or from options. */
#pragma once

#include "cli/talk.h"

extern const struct command submit_command;

/* Whether a dry run says that it would not be taken. */
bool submit_would_be_refused(const json_t *answer);
/* What a dry run answered. A talk_printer. */
int submit_print_dry(const json_t *answer, const struct talk *talk, FILE *file, struct err *err);
