/* maintenance.h - windows of time in which nodes are to be empty.
 *
 * Pure data. A window is of one node, of a plane, or of the whole pool. What it means for work that
 * waits and runs: drain.h.
 */
#pragma once

#include "engine/calendar.h"
#include "engine/fact.h"

#define MAINTENANCE_MAX      64         /* windows of a pool */
#define MAINTENANCE_NAME_MAX 32

struct maintenance_window {
        char name[MAINTENANCE_NAME_MAX];
        uint32_t node;                  /* vocab_name(); 0: all nodes of the plane */
        uint16_t plane;                 /* word; 0: the whole pool */
        struct calendar_window when;
};

struct maintenance {
        uint32_t count;
        struct maintenance_window windows[MAINTENANCE_MAX];
};

/* 0, or -ERR_RANGE: a window that cannot be meant. Nodes and planes need not be there (yet). */
int maintenance_check(const struct maintenance *maintenance, struct err *err);

/* The window over the node that is open at `now_ms`, or else the next one; NULL: none comes. Of
 * several the one that begins first, then the one that ends last. */
const struct maintenance_window *maintenance_next(const struct maintenance *maintenance,
                                                  const struct node_desc *desc, int64_t now_ms,
                                                  int64_t *ret_from_ms, int64_t *ret_until_ms);

/* When a window of any node next begins or ends, after `now_ms`; INT64_MAX: never. */
int64_t maintenance_due_ms(const struct maintenance *maintenance, int64_t now_ms);
