/* spawn.h - another program as a child.
 *
 * Not pure; any thread. The child has the handles that it is given and no other, and its signals
 * are as a fresh program has them, whatever the caller blocks or ignores.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct err;

#define SPAWN_FDS_MAX 4
#define SPAWN_NO_FD   (-1)              /* in the place of a handle: /dev/null */

struct spawn {
        const char *program;            /* its path */
        const char *const *argv;        /* NULL at the end */
        char *const *envp;              /* the same; all of its environment */
        int fds[SPAWN_FDS_MAX];         /* its handles 0, 1, 2 ...; the caller's stay open. One */
        unsigned fds_count;             /* below this count stands in its own place only */
        bool new_session;
};

/* 0 or -ERR_IO (it cannot be started), -ERR_NOMEM. Who calls waits for the child. */
int spawn_program(const struct spawn *spawn, pid_t *ret_pid, struct err *err);
