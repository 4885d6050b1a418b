/* events_impl.h - the inside of the events, for events*.c only. */
#pragma once

#include "base/text.h"
#include "controller/events.h"
#include "store/store.h"

#define EVENTS_PIECE_BYTES (64u << 10)  /* what is put together at once */
#define VIEW_BUCKETS       4096u
#define NAME_CACHE         256u
#define BATCHES            16u          /* put together for those who are behind, kept */

struct core_watch;
struct http_stream;
struct piece;
struct watcher;

/* In one piece of memory: the tenant with its NUL, what operators see, what the tenant does. */
struct event {
        uint64_t id, workload;
        char *bytes;                    /* owned */
        uint32_t tenant_size, all_size;
        uint32_t own_size;              /* 0: no tenant sees it */
        bool own_is_all;                /* the same bytes */
};

struct view_link {
        struct view *view;
        struct view_link *next;         /* in its bucket */
        uint64_t hash;
};

/* What some watchers want alike. */
struct view {
        struct events *events;
        struct view *next, *previous;   /* of all views */
        struct view *next_dirty;
        enum event_view kind;
        unsigned tenants_count;
        char (*tenants)[TENANT_PATH_MAX];
        uint64_t workload;
        struct view_link *links;        /* one of each tenant, or of the workload, or of all */
        unsigned links_count;
        uint32_t watchers;              /* that hold it */
        struct watcher *live;           /* those that are up to date */
        struct text pending;            /* to be pushed to them */
        uint64_t pending_from;          /* id of the first event in it */
        uint64_t newest_id;             /* of the event it was given last */
        bool is_dirty;
};

enum watcher_state { WATCHER_LIVE, WATCHER_BEHIND, WATCHER_ENDED };

struct watcher {
        struct events *events;
        struct http_stream *stream;
        struct view *view;
        struct watcher *next, *previous;        /* in its view's list, or of those behind */
        struct watcher *next_of_all, *previous_of_all;
        enum watcher_state state;
        bool was_live;                  /* then the log is not read for it */
        uint64_t next_id;               /* all before it were given; BEHIND */
        uint64_t token;
        int64_t until_ms;
};

/* What a view wants of the events from one id to another. */
struct batch {
        const struct view *view;        /* NULL: a free slot */
        uint64_t from, until;
        struct piece *piece;            /* held; may be empty */
};

struct known_name {
        uint64_t workload;
        char name[256], tenant[TENANT_PATH_MAX], user[64];
};

struct events {
        struct core *core;
        bool is_filling;                /* from the first watcher on */
        struct event *ring;             /* EVENTS_RING; from the oldest */
        uint32_t first, count;
        uint64_t bytes;
        uint64_t ring_from;             /* all events from that id on are in it */
        uint64_t shown;                 /* all before that id were pushed to who is up to date */
        uint64_t durable_seq;
        uint64_t seq;                   /* of the record whose facts come now, ... */
        uint32_t place;                 /* ... and how many have come */
        struct text all, own;           /* scratch */
        struct text piece;
        struct batch batches[BATCHES];  /* by hash of view and `from` */
        struct view *views, *dirty;
        struct view_link **buckets;     /* by hash of what they want */
        struct watcher *watchers, *behind;
        struct watcher *turn;           /* of those behind: whose it is; NULL: the first one's */
        uint32_t behind_count, watchers_count;
        struct known_name *names;       /* of ended workloads, by number */
        uint64_t left_seq;              /* record by which a node last left */
        int64_t expiry_checked_ms, flushed_ns;
        uint64_t shown_count, cut_count;
        uint64_t policy_seq;            /* record by which a policy comes; 0: none is to */
};

/* ---- events_view.c ---- */

/* NULL: out of memory. Held until view_release(). */
struct view *view_take(struct events *events, const struct events_wish *wish);
void view_release(struct view *view);
bool view_wants(const struct view *view, const struct event *event);
/* Adds the event's lines. */
void view_write(enum event_view kind, const struct event *event, struct text *text);
/* To every view that wants it, and has who is up to date. */
void views_deliver(struct events *events, const struct event *event);
void views_flush(struct events *events);         /* what is pending, of all */

/* ---- events_ring.c ---- */

extern const struct core_watch events_core_watch;       /* without its argument */
/* The first id behind that record. */
uint64_t event_id_after(uint64_t seq);
/* From here on events are kept, if they were not before. */
void ring_begin(struct events *events);
/* The one at that place, from the oldest; the place of the first one of that id or a later one. */
struct event *ring_at(const struct events *events, uint32_t at);
uint32_t ring_find(const struct events *events, uint64_t id);
void ring_drop_oldest(struct events *events);

/* ---- events_watch.c ---- */

void watcher_move(struct watcher *watcher, enum watcher_state state);
void watcher_end(struct watcher *watcher);
/* What comes next for one who is behind, if its stream takes it. False: it did not get on. */
bool watcher_catch_up(struct watcher *watcher);
/* More came at once than the ring holds: everybody reads it from the log. */
void watchers_fall_behind(struct events *events);
void view_flush(struct view *view);             /* what is pending */
void events_flush_if_due(struct events *events);
/* Before the view goes; NULL: all. */
void batches_forget(struct events *events, const struct view *view);

/* ---- events_log.c ---- */

/* Writes the event of the fact. False: out of memory. The bytes of `ret_event` are owned. */
bool event_make(struct events *events, const struct fact *fact, const struct event_about *about,
                uint64_t id, struct event *ret_event);
/* The same of a note that tells of an alert, or of a terminal beside work: 1. 0: it is another
 * note; -ERR_NOMEM. */
int event_of_note(const void *body, size_t size, uint64_t id, struct event *ret_event);
/* What the state and the works say of the fact, as they stand. */
struct event_about event_about_now(const struct events *events, const struct fact *fact,
                                   int64_t at_ms);
/* Adds what the view wants from *next_id on to the piece, up to `until` or the end of the log, and
 * moves *next_id behind it. 0, -ERR_IO, -ERR_INPUT, -ERR_NOMEM. */
int events_read_log(struct events *events, const struct view *view, uint64_t until,
                    uint64_t *next_id, struct err *err);
