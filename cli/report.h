/* report.h - `berth report`: what happened in a live pool, on one page. */
#pragma once

#include "cli/talk.h"

extern const struct command report_command;

/* A talk_printer: {"from", "until", "rows": [...]}, of GET /v1/review. */
int report_print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err);
