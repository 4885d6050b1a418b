/* launch.h - starting one run, and giving orders to its supervisor.
 *
 * Not pure: processes and files. One thread. Each run gets a supervisor, a small process of its own
 * that outlives the agent (supervisor.h); the agent speaks to it through the pipe `control` in the
 * run's folder and hears from it through status.json. The pipe has a reader exactly while the
 * supervisor lives. SIGPIPE must be ignored.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/exchange.h"
#include "device/device.h"

struct err;
struct folder;

struct launch_setup {
        struct folder *folder;
        const char *program;            /* berth-agent itself, which is its own supervisor */
        const char *node;
        const char *runs_as;            /* account_find()'s `told`; NULL: each as its own */
        const char *allowed;            /* allowed_check()'s list: asked where `runs_as` is NULL */
        const char *cages;              /* cage_open()'s root; NULL: none */
        const char *secrets;            /* secrets.h's folder; NULL: none */
        const struct device_backend *backend;
        int64_t leftover_ms;            /* TERM to KILL for what outlives a run's first process */
};

/* Starts it, once its folder is on the disk. *ret_control is the writing end of its pipe, the
 * caller's to close. 0; otherwise it cannot be started here and `err` says why, and:
 * -ERR_EXISTS: it was started before. */
int launch_start(const struct launch_setup *setup, const struct run_spec *spec,
                 const struct device_list *devices, int *ret_control, struct err *err);

/* The pipe of a run that was there before. 0; -ERR_NOT_FOUND: its supervisor is gone; -ERR_IO. */
int launch_adopt(const struct folder *folder, struct run_key key, int *ret_control,
                 struct err *err);

/* Orders; each may be repeated. False: the supervisor is gone. `signal` is a name without SIG. */
bool launch_go(int control);
bool launch_signal(int control, const char *signal);
bool launch_term(int control);
bool launch_kill(int control);
/* Unless it hears of a later time before, it asks the run to end then, and kills it, by itself: the
 * agent may not be there any more. time_lease_ms(); 0 and 0: it does not. */
bool launch_lease(int control, int64_t term_ms, int64_t kill_ms);

/* For a run whose supervisor is gone without saying how the run ended: ends what is left of it.
 * True: nothing is; then its status was written as EXITED by signal 9, which is no failure where
 * the node `went_down`. Ask again until then. */
bool launch_clean_up(const struct launch_setup *setup, struct run_key key, bool went_down);

/* The number of a signal by its name ("USR1"), or 0. */
int launch_signal_number(const char *name);

/* The account a run's files belong to: what launch_start() takes, allowed or not: a run that is
 * there stays when the list changes. 0 or a negative code. */
int launch_owner(const struct launch_setup *setup, const struct run_spec *spec, uid_t *ret_owner,
                 struct err *err);
