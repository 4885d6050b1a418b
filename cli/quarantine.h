/* quarantine.h - `berth quarantine`: what has crashed the controller, and is not tried again. */
#pragma once

#include "cli/talk.h"

extern const struct command quarantine_command;

/* A talk_printer of GET /v1/quarantine. */
int quarantine_print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err);
