/* environment.h - the variables a run sees.
 *
 * Pure apart from the heap. Nothing of the agent's own environment is in it. The run's own
 * variables (env: of its document) win over what is set here, but not over BERTH_..., nor over
 * what confines it to its devices; docs/agent.md lists them all.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "device/device.h"

struct arena;
struct err;
struct run_spec;

struct environment_setup {
        const struct run_spec *spec;
        const char *node;
        const char *account, *home, *shell;     /* whose processes these are */
        const char *run_folder;                 /* absolute */
        const struct device_list *devices;
        const struct device_backend *backend;
};

/* "NAME=value" each, in `arena`, ending with NULL; at least BERTH_WORKLOAD is there. 0,
 * -ERR_NOT_FOUND: a device is not on this node; -ERR_NOMEM. */
int environment_make(const struct environment_setup *setup, struct arena *arena,
                     const char ***ret_variables, size_t *ret_count, struct err *err);

/* The one variable by which a run's processes are told from all others on the machine:
 * "BERTH_RUN=17.0.1042@/var/lib/berth-agent/runs/17.0.1042". NULL: out of memory. */
const char *environment_mark(const char *run_folder, struct arena *arena);
