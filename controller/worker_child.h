/* worker_child.h - what every child process of berthd does first.
 *
 * Not pure.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Goes with its parent, gives way to it, and is the first to go where memory is short. `name`: as
 * lists of processes show it, at most 15 bytes. False: the parent went before it could be watched,
 * and no signal will come. */
bool worker_be_child(const char *name, pid_t parent);
