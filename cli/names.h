/* names.h - `berth __complete KIND -- PREFIX [WORD ...]`: the live names that a shell offers.
 *
 * What the scripts of completion.h call on TAB; nobody else does, so help leaves it out. A line for
 * each name that begins with PREFIX, "name", a tab, and a few words on it: at most NAMES_MAX of
 * them, and of work that has ended only where none that lives fits. The WORDs are the line so far:
 * its --context says which pool is asked, its --tenant whose work.
 *
 * Nobody waits for it: after NAMES_MS (or what BERTH_COMPLETE_MS says) it ends, and whatever goes
 * wrong, nothing is printed and the exit code is 0. Not pure: the network, SIGALRM.
 */
#pragma once

#include "cli/command.h"

#define NAMES_MAX    200
#define NAMES_MS     300
#define NAMES_MS_MAX 60000

#define NAMES_KINDS(X) \
        X(WORKLOADS, "workloads") \
        X(HISTORY, "history") \
        X(NODES, "nodes") \
        X(MODELS, "models") \
        X(PLANES, "planes") \
        X(TENANTS, "tenants") \
        X(CLASSES, "classes") \
        X(RESERVATIONS, "reservations") \
        X(MAINTENANCE, "maintenance") \
        X(CONTEXTS, "contexts")

enum names_kind {
#define X(kind, word) NAMES_##kind,
        NAMES_KINDS(X)
#undef X
        NAMES_KINDS_END
};

const char *names_word(enum names_kind kind);

extern const struct command names_command; /* not one of commands[] */
