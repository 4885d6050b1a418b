/* events.h - every durable fact, told to whoever watches: GET /v1/events.
 *
 * Not pure: streams of the HTTP server, and the log. One thread: that of the loop.
 *
 * An event's id is the number of its record x 2^20 + its place in it: it only grows, the same fact
 * has the same id for ever, and who says the last one it saw gets what followed, exactly. Events
 * are shown when they are durable, in order.
 *
 * What is decided hardly costs more when many watch, whatever they watch. Each event is written
 * once (and a second time where a tenant sees less of it than an operator); watchers who want the
 * same share a *view*, whose bytes are put together once for all of them (net/piece.h). With more
 * than EVENTS_FEW watchers, views are sent on every EVENTS_GATHER_MS only. Streams have a share of
 * the loop's time for sending (net/share.h), and who is behind is served in turn within another
 * one, which the caller of events_step() keeps.
 *
 * From the first watcher on, the newest events are kept in a ring (EVENTS_RING of them,
 * EVENTS_RING_BYTES in all). Who comes back with an id that is still there is served from it, and
 * who asks for older ones from the log, in pieces; what one got is kept for a while for others who
 * want the same. A watcher that falls behind is served from the ring too, and its stream ends when
 * the ring has passed it; it may come back with the last id it saw.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/event_text.h"
#include "engine/tenancy.h"

struct core;
struct http_exchange;

#define EVENT_ID_SHIFT    20            /* facts of one record: far below 2^20 */
#define EVENTS_RING       65536u
#define EVENTS_RING_BYTES (32u << 20)
#define EVENTS_FEW        32
#define EVENTS_GATHER_MS  100
#define EVENTS_RETRY_MS   2000          /* a client that lost the stream waits so long */

struct events;

/* From here on facts are watched; `core` is borrowed. NULL: out of memory. */
struct events *events_new(struct core *core);
/* The server's streams are closed before. NULL is fine. */
void events_free(struct events *events);

struct events_wish {
        enum event_view view;
        unsigned tenants_count;         /* 0: all (with EVENT_ALL only, or with a workload) */
        char tenants[GRANTS_MAX][TENANT_PATH_MAX];      /* these, and all below them */
        uint64_t workload;              /* 0: any */
        bool has_after;                 /* else: from now on */
        uint64_t after;                 /* id of the last event that was seen; 0: none ever */
        uint64_t token;                 /* that it was asked with; 0: none. events_end_token() */
        int64_t until_ms;               /* when that expires; 0: never */
};

/* No event of that record has a greater id: who has seen this one has seen all of it. */
uint64_t events_last_id(uint64_t seq);

/* Answers the exchange: with a stream, or with what keeps it from one (an id that is yet to come:
 * 400; too many streams: 503). May be called at once, before anything is durable. */
void events_follow(struct events *events, struct http_exchange *exchange,
                   const struct events_wish *wish);

/* Now and then, for those who are behind, and those whose token has expired. It takes hardly longer
 * than `time_ns`; 0 or less: nobody who is behind is served. */
void events_step(struct events *events, int64_t now_ms, int64_t time_ns);
/* Whether somebody is: then it is to be called soon again. */
bool events_any_behind(const struct events *events);

/* Streams end: whoever is still allowed to comes back. */
void events_end_all(struct events *events);
void events_end_token(struct events *events, uint64_t token);

struct events_figures {
        uint32_t watchers, behind;      /* now */
        uint64_t shown;                 /* pushed to a view, ever */
        uint64_t cut;                   /* watchers whom the ring has passed, ever */
};
struct events_figures events_figures(const struct events *events);
