/* explain_try.h - the line to copy at an explanation's end, held against the command that it names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct explanation;
struct state;

/* Whether the line is what `berth change` or `berth release` take: its assignments, carried out on
 * a document that asks for the same, give the request that would start. *ret_changes counts them.
 * False: `why` says what is wrong. */
bool explain_try_holds(const struct explanation *it, const struct state *state,
                       unsigned *ret_changes, char *why, size_t why_size);
