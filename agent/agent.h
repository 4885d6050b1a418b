/* agent.h - the agent of a node: has the runs that the controller wants, and reports them.
 *
 * Not pure: everything. agent_run() is the whole life of one; its loop is one thread, the line to
 * the controller has two more (link.h), the one that keeps its certificate another (keeper.h), each
 * run a process of its own (supervisor.h). What is to be
 * done is decided in runs.h, what must be remembered lies in folder.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"
#include "net/client.h"

struct err;

struct agent_setup {
        struct client_setup client;     /* where berthd is, and who we are to it */
        bool enrols;                    /* who we are is a certificate of our own (keeper.h) */
        const char *join_token_file;    /* for the first one; NULL: there is one already */
        const char *version;
        const char *node;               /* as the pool calls it */
        const char *state;              /* the state folder, absolute */
        const char *program;            /* of berth-agent, absolute */
        const char *runs_as;            /* an account, or "self"; NULL: each run as its own */
        const char *allowed;            /* accounts that runs may be of (allowed.h); NULL: people */
        const char *secrets;            /* the folder of secrets.h, absolute; NULL: none */
        const char *cgroup;             /* where runs get their groups; NULL: found; "none" */
        struct device_backend devices;
        bool stops_runs;                /* SIGTERM ends the runs too; else they go on */
        /* 0 means what stands behind. Shorter ones make tests quick. */
        int64_t kill_after_ms;          /* from TERM to KILL: 10 s */
        int64_t leftover_ms;            /* the same for what outlives a run's first process: 2 s */
        int64_t pause_ms_max;           /* between tries to reach the controller: 5 s */
        int64_t wait_ms_max;            /* that it may keep an answer: 20 s */
        int64_t keep_ms;                /* output of what has ended: 7 days */
        uint32_t keep_runs;             /* and so many at most: 1000 */
        uint64_t keep_bytes;            /* and so much: 10 GiB */
};

/* Runs until SIGTERM or SIGINT; blocks both, and ignores SIGPIPE. SIGHUP has the certificate
 * renewed at once, where it enrols, or the join token's file read; else it does nothing. 0;
 * -ERR_EXISTS: another agent has the state folder; -ERR_INPUT, -ERR_IO, -ERR_NOMEM: it cannot
 * start. */
int agent_run(const struct agent_setup *setup, struct err *err);
