/* daemon.h - berthd: the pool behind its sockets, in one event loop.
 *
 * Not pure. The main thread runs the loop; the store's writer, long questions, and the webhook have
 * threads of their own; the worker and a forecast have processes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;

#define DAEMON_LISTENS_MAX 8
#define DAEMON_LISTEN_DEFAULT "unix:/run/berth/berthd.sock"

struct daemon_options {
        const char *store;              /* path of the store's file */
        const char *listens[DAEMON_LISTENS_MAX];        /* "unix:PATH", "tcp:ADDRESS:PORT" */
        unsigned listens_count;         /* 0: what the service manager hands over, or else */
                                        /* DAEMON_LISTEN_DEFAULT */
        const char *tls_certificate, *tls_key;  /* files, for tcp; NULL: none. Read again at */
                                        /* SIGHUP, as is the policy's */
        const char *client_ca;          /* signs certificates of principals; NULL: tokens only */
        int64_t certificate_ms;         /* how long a node's certificate is good */
        const char *pool, *policy;      /* documents set at start, where they differ; NULL: none */
        bool store_unsafe;              /* commits are not synced: only so that a test can show that
                                           it would find the loss */
        bool no_worker;                 /* no price plans, no estimates */
        uint64_t worker_memory_mib;     /* most that the worker process may hold, and one that */
                                        /* makes a forecast */
        int64_t worker_silence_ms;      /* a worker that is silent for longer is started anew */
        const char *worker_program;     /* NULL: this program; another one for tests */
        const char *forecast_program;   /* the same of the process that makes a forecast */
        int64_t forecast_ms_max;        /* ... and how long it may take */
        bool simulate;                  /* nodes have no agents: they are played */
        int64_t tick_ms, lease_ms;
        int64_t decide_ms_max;          /* of CPU time: then it hangs, and is a crash; 0: any */
        uint32_t requests_per_s;        /* of one peer; 0: any number */
        uint32_t keep_records_days, keep_ended_days;    /* where the policy does not say; */
                                        /* 0: for ever */
        int64_t prune_every_ms;         /* what is older goes so often; for the first time 10 */
                                        /* minutes after the start, or earlier */
        uint64_t snapshot_records;      /* one every so many records */
        uint32_t nodes_max, workloads_max;      /* of a new store */
        const char *version;
};

/* Runs until SIGTERM or SIGINT. 0, or what kept it from starting. */
int daemon_run(const struct daemon_options *options, struct err *err);
