#include "net/activation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include "base/err.h"
#include "base/str.h"

static void free_names(char **names)
{
        for (char **at = names; at && *at; at++)
                free(*at); /* libsystemd's own */
        free(names);
}

int activation_take(struct activation *ret_sockets, struct err *err)
{
        char **names = NULL;

        ret_sockets->count = 0;
        int count = sd_listen_fds_with_names(1, &names);
        if (count < 0)
                return err_set(err, ERR_IO, "sockets of the service manager: %s", strerror(-count));
        if (count > ACTIVATION_SOCKETS_MAX) {
                free_names(names);
                return err_set(err, ERR_FULL,
                               "the service manager hands over %d sockets; at most "
                               "%d are taken",
                               count, ACTIVATION_SOCKETS_MAX);
        }
        for (int i = 0; i < count; i++) {
                ret_sockets->sockets[i].fd = SD_LISTEN_FDS_START + i;
                if (!names ||
                    !str_copy(ret_sockets->sockets[i].name, ACTIVATION_NAME_BYTES_MAX, names[i]))
                        str_copy(ret_sockets->sockets[i].name, ACTIVATION_NAME_BYTES_MAX,
                                 "unknown");
        }
        ret_sockets->count = (unsigned)count;
        free_names(names);
        return 0;
}

/* A line break would begin a variable of its own. */
static bool tell(const char *what, const char *status)
{
        size_t length = status ? strcspn(status, "\n") : 0;

        if (!status)
                return sd_notify(0, what) > 0;
        return sd_notifyf(0, "%s\nSTATUS=%.*s", what, (int)length, status) > 0;
}

bool activation_ready(const char *status)
{
        return tell("READY=1", status);
}

/* Managers of today want to know when, to tell this reload from the one before. */
bool activation_reloading(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld%06ld", (long long)now.tv_sec,
                          now.tv_nsec / 1000) > 0;
}

bool activation_stopping(const char *status)
{
        return tell("STOPPING=1", status);
}

bool activation_alive(void)
{
        return tell("WATCHDOG=1", NULL);
}

int64_t activation_watchdog_ms(void)
{
        uint64_t limit_us = 0;

        if (sd_watchdog_enabled(0, &limit_us) <= 0)
                return 0;
        int64_t half_ms = (int64_t)(limit_us / 2000);
        return half_ms > 0 ? half_ms : 1;
}
