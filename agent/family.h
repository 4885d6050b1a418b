/* family.h - all processes of a run, found and signalled.
 *
 * Not pure: /proc. No state. A process is signalled through a handle that was checked to be the
 * same process as was found: a number that was taken by another meanwhile is never hit. Processes
 * that are dead but not yet waited for count as gone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* In ticks since boot; 0: there is no such process. */
uint64_t process_start(pid_t pid);

/* Signals one process if it is still the one that started then (pidfd). False: it is gone. */
bool process_signal(pid_t pid, uint64_t start, int signal);

/* Signals all descendants of the calling process; how many there are, or -ERR_IO, -ERR_NOMEM. With
 * a subreaper as the caller nothing leaves its family, whatever it forks and detaches. */
int family_signal(int signal);

/* Signals every process that has `variable` ("BERTH_RUN=17.0.1042@...") in its environment as it
 * was at its start; how many there are, or -ERR_IO. For what a supervisor left behind that was
 * killed itself. Signal 0 counts only. */
int family_signal_marked(const char *variable, int signal);
