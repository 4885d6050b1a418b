/* ask.h - commands that ask for one page and print it: queue, explain, idle, fits, tenants,
 * notices. */
#pragma once

#include "cli/talk.h"

extern const struct command queue_command, explain_command, idle_command, fits_command;
extern const struct command tenants_command, notices_command;

/* live_printers, for tests and `berth top`. */
int ask_print_queue(const json_t *answer, const struct talk *talk, FILE *file, struct err *err);
int ask_print_tenants(const json_t *answer, const struct talk *talk, FILE *file, struct err *err);
int ask_print_notices(const json_t *answer, const struct talk *talk, FILE *file, struct err *err);
