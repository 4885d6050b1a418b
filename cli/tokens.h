/* tokens.h - `berth token`: bearer tokens of people and services, and of nodes that join. */
#pragma once

#include "cli/talk.h"

extern const struct command token_command;

/* A talk_printer of GET /v1/tokens. */
int tokens_print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err);
