/* activation.h - what systemd and a service say to each other.
 *
 * Not pure: the environment and its sockets. One thread; before others start, since it removes the
 * variables it has read, so that no child takes them for its own.
 *
 * Without systemd every call works and says nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;

#define ACTIVATION_SOCKETS_MAX    16
#define ACTIVATION_NAME_BYTES_MAX 64

struct activation {
        unsigned count;
        struct {
                int fd;                               /* the caller's, closed on exec */
                char name[ACTIVATION_NAME_BYTES_MAX]; /* FileDescriptorName=; "unknown" without */
        } sockets[ACTIVATION_SOCKETS_MAX];
};

/* The sockets that were handed to this process; none is fine. -ERR_FULL, -ERR_IO. */
int activation_take(struct activation *ret_sockets, struct err *err);

/* Each tells the service manager; `status` (may be NULL) is the line that `systemctl status` shows.
 * False: nobody listens (no service manager), or it failed; there is nothing to do about it. */
bool activation_ready(const char *status);
bool activation_reloading(void); /* end it with activation_ready() */
bool activation_stopping(const char *status);
bool activation_alive(void); /* WATCHDOG=1 */

/* How often to call activation_alive(), half of what the manager allows. 0: it does not ask. */
int64_t activation_watchdog_ms(void);
