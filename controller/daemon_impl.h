/* daemon_impl.h - shared by the files of the daemon: daemon.c opens, serves and closes. */
#pragma once

#include <uv.h>

#include "controller/api_handlers.h"
#include "controller/daemon.h"
#include "controller/forecaster.h"
#include "controller/guarded.h"
#include "controller/live.h"
#include "net/routes.h"
#include "net/share.h"

#define DAEMON_DAY_MS  INT64_C(86400000)
#define DAEMON_PLAY_MS 20               /* simulated nodes, and whoever waits */

struct daemon {
        const struct daemon_options *options;
        uv_loop_t loop;
        uv_async_t committed;
        uv_timer_t tick, play, look, behind;
        uv_signal_t term, interrupt, hangup;
        struct model_table *models;
        struct live live;
        struct api api;
        struct routes routes;
        struct events *events;
        struct share behind_share;      /* for watchers who are behind */
        struct metrics *metrics;
        struct http_server *http;
        struct worker *worker;          /* NULL: none */
        struct forecaster forecaster;
        uint64_t snapshot_seq;          /* when the newest one was begun; */
        int64_t snapshot_day;           /* ... in days since 1970 */
        int64_t retried_ms, retain_at_ms;
        bool policy_due;                /* its file is to be read again */
        int64_t end_by_ms;              /* 0: nobody has asked it to end */
        char crash_file[4096];
        struct guarded guarded;
};

/* The log of the daemon itself: one event, one line. */
void daemon_say(const char *event, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* daemon_files.c: each is put where another one is in force. What is in quarantine is said, and
 * left out. 0, or what reading and putting it returns. */
int daemon_put_policy_file(struct daemon *daemon, struct err *err);
int daemon_put_documents(struct daemon *daemon, struct err *err);

/* The policy's file, when it is to be read again. What is wrong with it is said, and what was there
 * stays. A store that takes nothing now, or a revision that is not on the disk yet, is waited
 * for. */
void daemon_read_policy_if_due(struct daemon *daemon);

/* daemon_clock.c */
void daemon_start_clock(struct daemon *daemon);
/* Beside the loop: nothing waits for it. 0, -ERR_NOMEM. */
int daemon_start_worker(struct daemon *daemon, struct err *err);

/* daemon_signals.c: SIGTERM and SIGINT end it, SIGHUP has files read anew. */
void daemon_hear_signals(struct daemon *daemon);

/* daemon_crashes.c: before anything is decided; a child, such as the worker, is no concern of
 * it. */
int daemon_watch_crashes(struct daemon *daemon, struct err *err);

/* daemon_listen.c: the server, on sockets that are inherited and those that the options name. */
int daemon_listen(struct daemon *daemon, struct err *err);
