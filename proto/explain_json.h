/* explain_json.h - an explanation as JSON, version 1.
 *
 * Holds what the record holds and nothing else, in one order: equal records give equal bytes.
 */
#pragma once

#include "proto/explain_text.h"

struct err;

/* Text on one line, without a line end; freed by free(). 0 or -ERR_NOMEM. */
int explain_json(const struct explanation *explanation, const struct explain_names *names,
                 char **ret_text, struct err *err);
int explain_idle_json(const struct explained_idle *idle, const struct explain_names *names,
                      char **ret_text, struct err *err);
int explain_fits_json(const struct explained_fits *fits, const struct explain_names *names,
                      char **ret_text, struct err *err);
