/* usage.h - `berth usage`: who used what, by the ledger. */
#pragma once

#include "cli/talk.h"

extern const struct command usage_command;

/* A talk_printer: {"from", "until", "rows": [...], "currency"}, columns as --by says. */
int usage_print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err);
