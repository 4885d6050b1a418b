/* usage.h - `berth usage`: who used what, by the ledger. */
#pragma once

#include "cli/talk.h"

extern const struct command usage_command;

/* ", counted until 2027-01-09T08:05Z", where the span of the answer goes on. */
void usage_put_counted(const json_t *answer, FILE *file);
/* A talk_printer: {"from", "until", "rows": [...], "currency"}, columns as --by says. */
int usage_print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err);
