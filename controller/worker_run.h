/* worker_run.h - the worker process: `berthd worker`, a child of berthd.
 *
 * Not pure; one thread, and a timer's signal. It opens the store for reading, follows the log
 * (worker_follow.h) and works at its tasks (worker_task.h) in what is left of WORKER_SHARE_PCT of
 * one core; what it finds it tells on a socket (worker_line.h). It ends when the socket does, and
 * with its parent.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define WORKER_SHARE_PCT 25             /* of one core, over time */
#define WORKER_TASK_MS   15000          /* of CPU; a task that takes longer is given up */

struct worker_run_options {
        const char *store;
        int fd;                         /* the socket */
        int64_t tick_ms;                /* of the pool */
        pid_t parent;                   /* whose end is its own */
};

/* The process's exit status: 0 (the socket has ended), 1 (it said why, or its parent was gone
 * already). */
int worker_run(const struct worker_run_options *options);

/* The same from the command line of `berthd worker`: --store FILE --fd N --tick-ms N
 * --parent PID. */
int worker_main(int argc, char **argv);
