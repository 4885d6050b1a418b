/* declared.h - putting a Workload by its name, and how what came of it reads.
 *
 * Not pure: the network.
 */
#pragma once

#include <stddef.h>

#include "cli/talk.h"

/* A document as it is put. */
struct declared_put {
        const char *name;               /* or the number of one that is there */
        const char *tenant;             /* NULL: the document's, or one's own */
        const char *type, *body;
        size_t body_size;
        const char *if_match;           /* NULL: whatever is there */
        bool replaces;                  /* running work, too */
};

/* Puts it, with the call's --dry-run and --reason, and prints what came of it. */
int declared_put(struct talk *talk, const struct declared_put *put, struct err *err);
