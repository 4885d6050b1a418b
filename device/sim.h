/* sim.h - devices that are only said to be there.
 *
 * For a pool on machines without accelerators, for tests and for trying things out: everything
 * around the device is real. Device n of a node is called "SIM-<node>-<n>", a slice of it
 * "SIM-<node>-<n>-<profile>-<start>".
 *
 * Not pure: reads a file. One owner at a time.
 */
#pragma once

#include <stdint.h>

#include "device/device.h"

struct err;

struct device_sim_setup {
        const char *node;               /* borrowed for the call, as all here */
        const char *model;              /* "H100-80"; "" where there are no devices */
        uint32_t memory_mib;            /* of each device; 0 = not known */
        uint32_t count;                 /* up to DEVICES_MAX */
        uint64_t broken;                /* bit d: device d is broken from the start */
        /* A file with the numbers of devices that are broken now, divided by blanks: to try out
         * what happens. Read anew at each list; absent means none, what is no number of a device
         * is skipped. NULL: no such file. */
        const char *broken_file;
};

/* 0, -ERR_RANGE (too many devices, a name that does not fit) or -ERR_NOMEM. Freed with
 * ret_backend->ops->free(ret_backend->self). */
int device_sim_new(const struct device_sim_setup *setup, struct device_backend *ret_backend,
                   struct err *err);
