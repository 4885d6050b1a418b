/* pool_show.h - `berth pool`: what there is, in sums or node by node. */
#pragma once

#include "cli/talk.h"

extern const struct command pool_command;

/* live_printers of GET /v1/pool and GET /v1/nodes. */
int pool_print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err);
int pool_print_nodes(const json_t *answer, const struct talk *talk, FILE *file, struct err *err);
