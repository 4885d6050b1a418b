/* live.h - the pool as the controller runs it: the core, its nodes, its documents, in one struct.
 *
 * Not pure. One thread: that of the event loop. What the API and the clock call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/core.h"
#include "proto/retention.h"

struct alerts;
struct attachments;
struct forecaster;
struct node_entry;
struct nodes;
struct pool_doc;
struct simulated;
struct usage;
struct wants;
struct work;
struct worker;

#define LEASE_MS_DEFAULT INT64_C(120000)

struct live {
        struct core *core;              /* owned */
        struct nodes *nodes;            /* owned */
        struct pool_doc *pool;          /* owned; NULL: none was set */
        uint64_t pool_revision;
        struct simulated *simulated;    /* owned; NULL: nodes have agents */
        struct usage *usage;            /* owned */
        struct wants *wants;            /* owned: what is asked of agents */
        struct attachments *attachments; /* owned: terminals beside work */
        struct alerts *alerts;          /* owned */
        const char *version;            /* of this program; its owner sets it. NULL: not known */
        const struct worker *worker;    /* borrowed; NULL: there is none */
        struct forecaster *forecaster;  /* borrowed; NULL: no forecasts are made */
        struct retention keeps;         /* what is kept where the policy does not say; its owner */
                                        /* sets it. Zero: for ever */
        int64_t lease_ms;
        int64_t (*steady_ms)(void *arg); /* a clock that nobody sets; NULL: the machine's */
        void *steady_arg;
        int64_t leased_ms;              /* steady: nobody is silent before a lease from then */
        int64_t ticked_ms;              /* steady: the newest tick */
        bool pool_lost;                 /* it could not be read: again at the next tick */
        bool unsettled;                 /* work waits for a tick: see live_settle_all() */
        bool time_stands;               /* ticks are in quarantine */
        uint64_t generation;            /* of the newest list; grows. A node whose agent had seen a
                                           later one goes on from there by itself */
        uint64_t last_enrolment;        /* number of the newest (enrolment.h) */
        /* Called for a node whose exchange may be answered now. */
        void (*changed)(void *arg, struct node_entry *node);
        /* A line for the program's own log; NULL: it has none. */
        void (*said)(const char *event, const char *text);
        void *arg;
};

/* `live` is zeroed but for what its owner sets; then the documents are brought back. 0, or what
 * core_open() returns. */
int live_open(struct live *live, const struct core_setup *setup, bool simulate, int64_t now_ms,
              struct core_recovery *ret_recovery, struct err *err);
void live_close(struct live *live);                     /* a zeroed one is fine */

/* ---- documents: live_documents.c ---- */

/* A document that is to be in force, with the act. `wanted`: the revision that it replaces; 0:
 * whichever. With `dry_run` it is only checked. 0, or what reading it returns, -ERR_EXISTS (another
 * revision is in force), -ERR_IO. */
struct document_put {
        const char *text;               /* the document */
        const char *by, *reason;        /* who puts it, and why; NULL: not told */
        uint64_t wanted;
        bool dry_run;
        bool is_whole;                  /* what stands beside goes, unless the text has it */
        uint64_t revision;              /* out: that it has */
        struct json_t *warnings;        /* out: a list of texts; the caller's to drop */
        struct json_t *stops;           /* out, of a pool with dry_run: view_stops() */
};
int live_put_policy(struct live *live, struct act *act, struct document_put *put, struct err *err);
int live_put_pool(struct live *live, struct act *act, struct document_put *put, struct err *err);

/* Small documents that stand beside the policy or the pool, and are put by name: as a new revision
 * of the text that they are in. `put->text` is the document; NULL: it goes. -ERR_NOT_FOUND (it is
 * not there), and what live_put_policy() and live_put_pool() return. */
enum beside { BESIDE_RESERVATION, BESIDE_MAINTENANCE };
const char *beside_kind(enum beside beside);            /* "Reservation" */
int live_put_beside(struct live *live, struct act *act, enum beside beside, const char *name,
                    struct document_put *put, struct err *err);

/* ---- what is kept: live_retain.c ---- */

/* What holds now: the policy in force, and where it says nothing `live->keeps`. */
struct retention live_retention(const struct live *live);
/* Begins to remove what is older. What core_retain() returns. */
int live_retain(struct live *live, struct err *err);

/* ---- nodes: live_nodes.c ---- */

/* The node takes part: it joined, or joins again. Nothing where it does already. */
int live_join(struct live *live, struct act *act, struct node_entry *node, struct err *err);
/* The pool has it, but nobody speaks for it yet: work that needs it waits. Not for one that is
 * up. */
int live_describe(struct live *live, struct act *act, struct node_entry *node, struct err *err);
/* Also of one that is down. 0, -ERR_NOT_FOUND (the pool does not know it), -ERR_IO. */
int live_drain(struct live *live, struct act *act, struct node_entry *node, bool drained,
               int64_t by_ms, struct err *err);
/* An operator says that a silent node is off, and all that ran there gone: it is given up. 0,
 * -ERR_NOT_FOUND (it has not joined), -ERR_EXISTS (it is not silent), -ERR_IO. */
int live_lose(struct live *live, struct act *act, struct node_entry *node, struct err *err);
/* What it should run has changed, as of record `seq` (0: at once). */
void live_touch(struct live *live, struct node_entry *node, uint64_t seq);
struct node_entry *live_node_of(const struct live *live, uint32_t node);   /* number in the state */

/* ---- devices: live_devices.c ---- */

/* Which count as broken (bit d: device d): those the document calls so, and those its agent named.
 * One that broke stays so while anything has a part of it: that is being ended. */
uint16_t live_broken(const struct live *live, const struct node_entry *node);
/* Tells the engine, of a node it knows. What runs on a device that breaks keeps its place until its
 * agent has ended it. */
int live_health(struct live *live, struct act *act, const struct node_entry *node,
                struct err *err);
/* ... only of those that are newly broken; before a node is told of that may run something. Nothing
 * where nodes are simulated, or the engine does not know it. */
int live_fail_devices(struct live *live, struct act *act, const struct node_entry *node,
                      struct err *err);
/* After a node was given up: what keeps its place there, as it may run elsewhere, too, ends. */
void live_end_torn(struct live *live, uint32_t node);

/* ---- runs: live_runs.c ---- */

/* Its owner, or somebody who may, wants it gone. */
int live_cancel(struct live *live, struct act *act, struct work *work, struct err *err);
/* It ends, on its class's notice (`now`: at once), and waits again. */
int live_restart(struct live *live, struct act *act, const struct work *work, bool now,
                 struct err *err);
/* It ends on its class's notice, and goes on elsewhere (engine/move.h): on the node of that name in
 * the vocabulary, or any other than its own (0). With `dry_run` nothing is decided. What was, or
 * would be: `ret_facts`, good until anything else is decided. */
struct fact;
int live_move(struct live *live, struct act *act, const struct work *work, uint32_t to,
              bool dry_run, const struct fact **ret_facts, uint32_t *ret_count, struct err *err);
/* Everything that has members of it is told, as of record `seq` (0: at once). */
void live_touch_work(struct live *live, uint64_t id, uint64_t seq);
/* After its members' phases changed: lets the barrier go, ends a gang as a whole, and tells the
 * engine when all are gone. */
int live_settle(struct live *live, struct act *act, struct work *work, struct err *err);

/* What the engine is told of a work. One in quarantine is left out: the work is as it was, marked,
 * and told again at each tick, until it may. 0, or what core_input() returns. */
int live_tell(struct live *live, struct act *act, const struct input *input, struct err *err);

/* Before a node is given up: what was cancelled while it ran there, and runs nowhere else, ends
 * now, instead of starting again. `is_silent`: not what may continue there. */
int live_cancel_lost(struct live *live, struct act *act, uint32_t node, bool is_silent,
                     struct err *err);
/* What waits for time: work that left before its notice was over, and work that was cancelled while
 * it ran and lost its place. */
int live_settle_all(struct live *live, struct act *act, struct err *err);

/* ---- time: live_time.c ---- */

/* What leases are counted on: time of day may be set, and a lease would end too early. */
int64_t live_steady_ms(const struct live *live);
/* The engine's tick, leases, simulated nodes. */
int live_tick(struct live *live, int64_t now_ms, struct err *err);
/* What was used since the last time goes into the store (usage.h): now and then, and right before
 * each snapshot, which is left out where this fails. 0, -ERR_IO, -ERR_FULL, -ERR_NOMEM. */
int live_count_usage(struct live *live, int64_t now_ms, struct err *err);
