/* supervisor.h - the process beside each run: it starts it, ends it, and says how it ended.
 *
 * Not pure, and the only thing its process does. It outlives the agent: it leads a session of its
 * own and holds nothing of the agent's. It is the subreaper of the run: every process the run
 * makes, however detached, is below it, and it reports the end only when none is left.
 *
 * Orders come as lines through the pipe `control`: "go", "signal USR1", "term", "kill", and "lease
 * TERM KILL": the times (ms on the clock since the machine's start) at which it is to end by itself
 * unless later ones are said before. An order that is not known is skipped.
 *
 * The run's first process is killed by the kernel when the supervisor dies; who finds the pipe
 * without a reader and status.json without an end cleans up the rest (launch.h).
 */
#pragma once

#define SUPERVISOR_WORD       "run-supervisor"  /* argv[1] of berth-agent */
#define SUPERVISOR_CONTROL_FD 3                 /* inherited: the pipe, for reading and writing */

/* Runs the run of this folder to its end. The exit code of the process; how the run ended stands in
 * its folder. */
int supervisor_main(const char *run_folder);
