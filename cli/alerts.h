/* alerts.h - `berth alerts`: what fires, and who looks after it. */
#pragma once

#include "cli/talk.h"

extern const struct command alerts_command;

/* A talk_printer: {"alerts": [...]}. */
int alerts_print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err);
/* One line of the pool's {"firing", "critical", "unacknowledged"}; nothing where none fires. */
void alerts_print_line(const json_t *counts, const struct talk *talk, FILE *file);
