/* link.h - the agent's line to the controller: says how things are, hears what shall be.
 *
 * Not pure: network and two threads of its own. One of them asks and waits for news; the other says
 * at once what has changed here, for the first may be waiting just then. Both get the same answer.
 * The controller lets only the newest call of a node wait and gives the one before up, with 503:
 * that is no failure. A call that fails is made again after a pause that grows to `pause_ms_max`.
 * All functions but link_identify() are called from one thread, the agent's.
 *
 * Answers to what the controller wants to see of a run's output are given by the thread that heard
 * of it, straight from the state folder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/exchange.h"
#include "net/client.h"

struct err;
struct attaches;
struct folder;
struct link;

struct link_setup {
        struct client_setup client;
        const char *node;               /* encoded for a path; borrowed, as is the folder */
        const struct folder *folder;
        const char *log;                /* the node works for the controller of this log: answers
                                           of another one are failures. "": for the first one that
                                           says its name. Copied */
        struct attaches *attaches;      /* of whom terminals are wanted; borrowed */
        int64_t wait_ms_max;            /* how long the controller may keep an answer; 0: 20 s, and
                                           never more than a sixth of its lease */
        int64_t pause_ms_max;           /* 0: 5 s */
        bool is_held;                   /* says nothing before link_identify() */
};

/* 0, or what client_new() says; -ERR_IO: no thread. Says nothing until link_report(). */
int link_start(const struct link_setup *setup, struct link **ret_link, struct err *err);
/* Ends the threads, within about a second. NULL is fine. */
void link_stop(struct link *link);

/* There is another certificate in the client's files: it is shown from the next call on, over a new
 * connection; the call that waits is not disturbed. From any thread. */
void link_identify(struct link *link);

/* Readable when link_take() has something. */
int link_fd(const struct link *link);

/* What is to be said from now on (copied): an object, to which "sent_ms" is added at each call,
 * time_lease_ms() then. Returns its number, 1 and up: an answer to it or to a
 * later one confirms it. `is_news`: at once, not when the waiting call comes back. 0: out of
 * memory, and the one before stands. */
uint64_t link_report(struct link *link, const char *body, size_t size, bool is_news);

struct link_news {
        struct exchange_answer *answer; /* the newest, owned by the caller; NULL: none since */
        int64_t asked_ms;               /* when the newest call was begun that was answered well,
                                           by time_lease_ms(); 0: none was. The lease counts from
                                           here: the controller has not heard of us since earlier */
        uint64_t confirmed;             /* the newest report that was answered; 0: none */
        bool is_failing;                /* the newest call failed, for the reason in `failure` */
        bool is_refused;                /* ... which was that we are not known, or no longer */
        bool is_foreign;                /* ... which was that we do not work for it */
        char failure[480];
};
/* After an answer was taken, the waiting call is made only when a new report was given: it says
 * how much of the answer was understood. */
void link_take(struct link *link, struct link_news *ret_news);
