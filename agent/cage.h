/* cage.h - a control group (version 2) around a run: it ends as one, and its limits hold.
 *
 * Not pure. No state: a cage is a folder of the kernel's. Where the machine has none that we may
 * write, runs go without: family.h finds their processes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define CAGE_PATH_MAX   1024
#define CAGE_LIMITS_MAX 256

/* Finds or makes the folder in which the runs of the agent with this state folder get their cages:
 * "berth-runs-..." below `base`, or, with base NULL, below the group this process is in. Agents of
 * several pools may share a machine, and number their runs alike. Turns on what limits the kernel
 * and its owner allow: none below a group that has processes of its own. 0, -ERR_NOT_FOUND (the
 * machine has no such hierarchy), -ERR_IO (not allowed), -ERR_RANGE. */
int cage_open(const char *base, const char *state, char ret_root[CAGE_PATH_MAX], struct err *err);
/* Removes it, unless runs go on in it; waits a few seconds for supervisors that are ending. */
void cage_close(const char *root);

/* Which limits runs in it are held to, as the kernel calls them: "cpu memory pids"; "" = none.
 * Returns `ret_limits`. */
const char *cage_limits(const char *root, char ret_limits[CAGE_LIMITS_MAX]);

/* Puts the calling process, a supervisor, beside the cages: the agent's own group is then empty
 * when that ends. Where it cannot be, it stays where it is. */
void cage_enter_beside(const char *root);

/* Makes the cage `root`/`name`. Limits of 0, and those that cannot be set there, are not set; nor
 * has any more than 32,768 processes and threads. 0, -ERR_IO, -ERR_RANGE. */
int cage_make(const char *root, const char *name, uint64_t cpu_milli, uint64_t ram_mib,
              char ret_cage[CAGE_PATH_MAX], struct err *err);

/* Puts the calling process into it. Safe between fork and exec. False, with errno. */
bool cage_enter(const char *cage);

/* Whether the kernel has killed in it for want of memory, and whose want that was. */
enum cage_memory {
        CAGE_MEMORY_FINE,               /* it has not, or nobody counts */
        CAGE_MEMORY_LIMIT,              /* its own: it reached its limit */
        CAGE_MEMORY_NODE,               /* that of a group above it, or of the whole machine */
};
enum cage_memory cage_memory(const char *cage);

/* Sends a signal to each process in it; KILL goes to all at once and leaves none. */
void cage_signal(const char *cage, int signal);

/* Whether no process is in it, or it is gone. */
bool cage_is_empty(const char *cage);

/* Removes an empty one, and empty ones in it that the run made; waits up to a second for who is
 * ending. */
void cage_remove(const char *cage);
