/* window.h - a window of time in documents: {from, until, every, last}, as reservations and
 * maintenance have it.
 *
 * Pure. Up to 366 days long; `every` repeats it at equal distances, for ever or up to `last`.
 */
#pragma once

#include "engine/calendar.h"

struct doc_node;
struct err;

/* Reads these four keys of a map; others are the caller's. `for_good` says what to write for a
 * window without end. 0, -ERR_INPUT or -ERR_RANGE with file:line. */
int window_read(const struct doc_node *map, const char *for_good,
                struct calendar_window *ret_window, struct err *err);
