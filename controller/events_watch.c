/* Watchers: those who are up to date get what comes, with all others of their view; those who are
 * behind are served in turn, from the ring or from the log. */
#include "controller/events_impl.h"

#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/time.h"
#include "net/http.h"
#include "net/piece.h"

#define FALLS_BEHIND_BYTES (512u << 10) /* waiting in its stream */
#define EXPIRY_EVERY_MS    1000

/* ---- they move between lists ---- */

static struct watcher **list_of(struct watcher *watcher)
{
        if (watcher->state == WATCHER_LIVE)
                return &watcher->view->live;
        return watcher->state == WATCHER_BEHIND ? &watcher->events->behind : NULL;
}

void watcher_move(struct watcher *watcher, enum watcher_state state)
{
        struct watcher **list = list_of(watcher);

        if (watcher->events->turn == watcher)
                watcher->events->turn = watcher->next;
        if (list) {
                if (watcher->next)
                        watcher->next->previous = watcher->previous;
                if (watcher->previous)
                        watcher->previous->next = watcher->next;
                else
                        *list = watcher->next;
        }
        watcher->events->behind_count -= watcher->state == WATCHER_BEHIND;
        watcher->events->behind_count += state == WATCHER_BEHIND;
        watcher->state = state;
        watcher->next = watcher->previous = NULL;
        list = list_of(watcher);
        if (!list)
                return;
        watcher->next = *list;
        if (watcher->next)
                watcher->next->previous = watcher;
        *list = watcher;
}

void watcher_end(struct watcher *watcher)
{
        if (watcher->state == WATCHER_ENDED)
                return;
        watcher_move(watcher, WATCHER_ENDED);
        http_stream_end(watcher->stream);
}

static void fall_behind(struct watcher *watcher, uint64_t next_id)
{
        watcher->next_id = next_id;
        watcher->was_live = true;
        watcher_move(watcher, WATCHER_BEHIND);
}

/* ---- those who are up to date ---- */

/* A piece to all of them; who does not keep up no longer is one. */
void view_flush(struct view *view)
{
        struct piece *piece;
        struct watcher *next;

        if (view->pending.size == 0 && !view->pending.failed)
                return;
        piece = view->pending.failed || !view->live
                        ? NULL
                        : piece_new(view->pending.bytes, view->pending.size);
        for (struct watcher *at = view->live; at; at = next) {
                next = at->next;
                if (!piece || http_stream_waiting(at->stream) > FALLS_BEHIND_BYTES)
                        fall_behind(at, view->pending_from);
                else
                        (void)http_stream_push_piece(at->stream, piece);
        }
        piece_release(piece);
        view->pending.size = 0;
        view->pending.failed = false;
}

/* Sending is what costs: a thousand small writes for each commit would hold the loop. */
void events_flush_if_due(struct events *events)
{
        int64_t now_ns = time_monotonic_ns();

        if (events->watchers_count > EVENTS_FEW &&
            now_ns - events->flushed_ns < EVENTS_GATHER_MS * INT64_C(1000000))
                return;
        events->flushed_ns = now_ns;
        views_flush(events);
}

void watchers_fall_behind(struct events *events)
{
        views_flush(events);
        for (struct watcher *at = events->watchers; at; at = at->next_of_all)
                if (at->state == WATCHER_LIVE) {
                        fall_behind(at, events->shown);
                        at->was_live = false;
                }
}

/* ---- what is put together for those who are behind ---- */

/* Who falls behind together goes on together: what one was given is kept for the others. */
static struct batch *batch_of(const struct watcher *watcher)
{
        uint64_t hash = (uint64_t)(uintptr_t)watcher->view;

        map_chain(&hash, watcher->next_id);
        return &watcher->events->batches[map_mix(hash) % BATCHES];
}

void batches_forget(struct events *events, const struct view *view)
{
        for (unsigned b = 0; b < BATCHES; b++)
                if (!view || events->batches[b].view == view) {
                        piece_release(events->batches[b].piece);
                        events->batches[b] = (struct batch){0};
                }
}

static void read_ring(struct watcher *watcher)
{
        struct events *events = watcher->events;
        uint32_t at = ring_find(events, watcher->next_id);

        for (; at < events->count && ring_at(events, at)->id < events->shown &&
               events->piece.size < EVENTS_PIECE_BYTES; at++) {
                const struct event *event = ring_at(events, at);
                if (view_wants(watcher->view, event))
                        view_write(watcher->view->kind, event, &events->piece);
                watcher->next_id = event->id + 1;
        }
        if (at == events->count || ring_at(events, at)->id >= events->shown)
                watcher->next_id = events->shown;
}

/* The log may already hold what is not shown yet: that comes to all at once. */
static int read_more(struct watcher *watcher, struct err *err)
{
        struct events *events = watcher->events;
        uint64_t until = events->ring_from < events->shown ? events->ring_from : events->shown;

        if (watcher->next_id < events->ring_from)
                return events_read_log(events, watcher->view, until, &watcher->next_id, err);
        read_ring(watcher);
        return 0;
}

/* What follows for that watcher. NULL: it cannot be read, or there is no memory. */
static const struct batch *next_batch(struct watcher *watcher)
{
        struct batch *batch = batch_of(watcher);
        struct text *piece = &watcher->events->piece;
        uint64_t from = watcher->next_id;
        struct err err;

        if (batch->view == watcher->view && batch->from == from)
                return batch;
        piece->size = 0;
        piece->failed = false;
        int rc = read_more(watcher, &err);
        const struct batch made = {.view = watcher->view,
                                   .from = from,
                                   .until = watcher->next_id,
                                   .piece = rc == 0 && !piece->failed
                                                    ? piece_new(piece->bytes, piece->size)
                                                    : NULL};
        if (!made.piece)
                return NULL;
        piece_release(batch->piece);
        *batch = made;
        return batch;
}

/* ---- those who are behind ---- */

static bool cannot_go_on(struct watcher *watcher)
{
        struct events *events = watcher->events;

        if (!watcher->was_live || watcher->next_id >= events->ring_from)
                return false;
        events->cut_count++;
        return true;
}

bool watcher_catch_up(struct watcher *watcher)
{
        struct events *events = watcher->events;
        const struct batch *batch = NULL;

        if (http_stream_waiting(watcher->stream) > EVENTS_PIECE_BYTES)
                return false;
        uint64_t from = watcher->next_id;
        if (cannot_go_on(watcher) || (from < events->shown && !(batch = next_batch(watcher)))) {
                watcher_end(watcher);
                return true;
        }
        if (batch) {
                watcher->next_id = batch->until;
                (void)http_stream_push_piece(watcher->stream, batch->piece);
        }
        if (watcher->next_id == events->shown) {
                view_flush(watcher->view);      /* that it has already */
                watcher_move(watcher, WATCHER_LIVE);
        }
        return watcher->next_id != from || watcher->state == WATCHER_LIVE;
}

static void end_expired(struct events *events, int64_t now_ms)
{
        if (now_ms - events->expiry_checked_ms < EXPIRY_EVERY_MS)
                return;
        events->expiry_checked_ms = now_ms;
        for (struct watcher *at = events->watchers; at; at = at->next_of_all)
                if (at->until_ms && at->until_ms <= now_ms)
                        watcher_end(at);
}

void events_step(struct events *events, int64_t now_ms, int64_t time_ns)
{
        int64_t until_ns = time_monotonic_ns() + time_ns;
        uint32_t in_vain = 0;

        events_flush_if_due(events);
        end_expired(events, now_ms);
        while (in_vain < events->behind_count && time_monotonic_ns() < until_ns) {
                struct watcher *watcher = events->turn ? events->turn : events->behind;
                events->turn = watcher->next;
                in_vain = watcher_catch_up(watcher) ? 0 : in_vain + 1;
        }
}
