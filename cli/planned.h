/* planned.h - `berth reservation`, `berth maintenance`: what is planned by the calendar. */
#pragma once

#include <stdbool.h>

#include "cli/command.h"
#include "cli/talk.h"

extern const struct command reservation_command, maintenance_command;

/* Prints what came of putting one ("reservation") or taking it away. A talk_printer, but for the
 * words. */
int planned_print(const char *what, const char *name, const json_t *answer,
                  const struct talk *talk, FILE *file, struct err *err);
