#include "controller/events_impl.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/time.h"
#include "controller/core.h"
#include "net/http.h"
#include "net/problem.h"
#include "net/sse.h"
#include "store/objects.h"

#define FALLS_BEHIND_BYTES (512u << 10) /* waiting in its stream */
#define EXPIRY_EVERY_MS    1000

static uint64_t id_after(uint64_t seq)
{
        return (seq + 1) << EVENT_ID_SHIFT;
}

/* ---- the ring ---- */

static struct event *ring_at(const struct events *events, uint32_t at)
{
        return &events->ring[(events->first + at) % EVENTS_RING];
}

static size_t event_bytes(const struct event *event)
{
        return event->tenant_size + event->all_size + (event->own_is_all ? 0 : event->own_size);
}

static void drop_oldest(struct events *events)
{
        struct event *event = ring_at(events, 0);

        events->bytes -= event_bytes(event);
        events->ring_from = event->id + 1;
        mem_free(event->bytes);
        events->first = (events->first + 1) % EVENTS_RING;
        events->count--;
}

/* The first one of that id or a later one. */
static uint32_t ring_find(const struct events *events, uint64_t id)
{
        uint32_t low = 0, high = events->count;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;
                if (ring_at(events, middle)->id < id)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static void begin_filling(struct events *events)
{
        if (events->is_filling)
                return;
        events->is_filling = true;
        events->ring_from = id_after(core_last_seq(events->core));
        events->shown = id_after(events->durable_seq);
}

/* ---- watchers move between lists ---- */

static struct watcher **list_of(struct watcher *watcher)
{
        if (watcher->state == WATCHER_LIVE)
                return &watcher->view->live;
        return watcher->state == WATCHER_BEHIND ? &watcher->events->behind : NULL;
}

static void move_to(struct watcher *watcher, enum watcher_state state)
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
        watcher->view->live_count -= watcher->state == WATCHER_LIVE;
        watcher->view->live_count += state == WATCHER_LIVE;
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

static void end_watcher(struct watcher *watcher)
{
        if (watcher->state == WATCHER_ENDED)
                return;
        move_to(watcher, WATCHER_ENDED);
        http_stream_end(watcher->stream);
}

static void fall_behind(struct watcher *watcher, uint64_t next_id)
{
        watcher->next_id = next_id;
        watcher->was_live = true;
        move_to(watcher, WATCHER_BEHIND);
}

/* A piece to all who are up to date; who does not keep up no longer is. Many are not served here at
 * one go, but by and by, as those who are behind are. */
void view_flush(struct view *view)
{
        bool many = view->live_count > EVENTS_FEW;
        struct watcher *next;

        if (view->pending.size == 0 && !view->pending.failed)
                return;
        for (struct watcher *at = view->live; at; at = next) {
                next = at->next;
                if (many || view->pending.failed ||
                    http_stream_waiting(at->stream) > FALLS_BEHIND_BYTES)
                        fall_behind(at, view->pending_from);
                else
                        (void)http_stream_push(at->stream, view->pending.bytes,
                                               view->pending.size);
        }
        view->pending.size = 0;
        view->pending.failed = false;
}

/* ---- the core's facts ---- */

/* This one is only there. */
static void leave_to_log(struct events *events, uint64_t id)
{
        while (events->count > 0)
                drop_oldest(events);
        events->ring_from = id + 1;
}

static void keep_event(struct events *events, const struct event *event)
{
        while (events->count == EVENTS_RING ||
               (events->count > 0 && events->bytes + event_bytes(event) > EVENTS_RING_BYTES))
                drop_oldest(events);
        *ring_at(events, events->count++) = *event;
        events->bytes += event_bytes(event);
}

static void on_fact(void *arg, const struct state *state, const struct fact *fact, uint64_t seq,
                    int64_t at_ms)
{
        struct events *events = arg;
        struct event event;

        (void)state;
        events->place = seq == events->seq ? events->place + 1 : 0;
        events->seq = seq;
        if (fact->kind == FACT_NODE_GONE)
                events->left_seq = seq;
        if (!events->is_filling)
                return;
        if (fact->kind == FACT_POLICY_IN)
                events->policy_seq = seq;
        assert(events->place < 1u << EVENT_ID_SHIFT);
        uint64_t id = (seq << EVENT_ID_SHIFT) + events->place;
        const struct event_about about = event_about_now(events, fact, at_ms);
        if (!event_make(events, fact, &about, id, &event)) {
                leave_to_log(events, id);
                return;
        }
        keep_event(events, &event);
}

/* Alerts and terminals are no facts, but somebody is told of them all the same. */
static void on_note(void *arg, const char *text, uint64_t seq)
{
        struct events *events = arg;
        uint64_t id = seq << EVENT_ID_SHIFT;
        struct event event;
        int rc = events->is_filling ? event_of_note(text, strlen(text), id, &event) : 0;

        if (rc < 0)
                leave_to_log(events, id);
        else if (rc > 0)
                keep_event(events, &event);
}

/* Sending is what costs: a thousand small writes for each commit would hold the loop. */
static void flush_if_due(struct events *events)
{
        int64_t now_ns = time_monotonic_ns();

        if (events->watchers_count > EVENTS_FEW &&
            now_ns - events->flushed_ns < EVENTS_GATHER_MS * INT64_C(1000000))
                return;
        events->flushed_ns = now_ns;
        views_flush(events);
}

/* More came at once than the ring holds: everybody reads it from the log. */
static void all_fall_behind(struct events *events)
{
        views_flush(events);
        for (struct watcher *at = events->watchers; at; at = at->next_of_all)
                if (at->state == WATCHER_LIVE) {
                        fall_behind(at, events->shown);
                        at->was_live = false;
                }
}

static void on_durable(void *arg, uint64_t seq)
{
        struct events *events = arg;
        uint64_t until = id_after(seq);

        events->durable_seq = seq;
        if (!events->is_filling || until <= events->shown)
                return;
        if (events->ring_from > events->shown)
                all_fall_behind(events);
        for (uint32_t at = ring_find(events, events->shown);
             at < events->count && ring_at(events, at)->id < until; at++)
                views_deliver(events, ring_at(events, at));
        flush_if_due(events);
        events->shown = until;
        if (events->policy_seq == 0 || events->policy_seq > seq)
                return;
        events->policy_seq = 0;
        events_end_all(events);         /* who may see what is asked anew */
}

/* What was decided is undone: the ring holds what never was. */
static void on_renewed(void *arg)
{
        struct events *events = arg;

        while (events->count > 0)
                drop_oldest(events);
        events->durable_seq = core_last_seq(events->core);
        events->ring_from = events->shown = id_after(events->durable_seq);
        events->seq = 0;
        events_end_all(events);
}

/* ---- those who are behind ---- */

static void push_piece(struct watcher *watcher)
{
        struct text *piece = &watcher->events->piece;

        if (piece->failed)
                end_watcher(watcher);
        else if (piece->size > 0)
                (void)http_stream_push(watcher->stream, piece->bytes, piece->size);
        piece->failed = false;
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

static void catch_up(struct watcher *watcher)
{
        struct events *events = watcher->events;
        struct err err;

        if (http_stream_waiting(watcher->stream) > EVENTS_PIECE_BYTES)
                return;
        events->piece.size = 0;
        if (watcher->was_live && watcher->next_id < events->ring_from) {
                events->cut_count++;
                end_watcher(watcher);
                return;
        }
        if (watcher->next_id < events->shown && read_more(watcher, &err) < 0) {
                end_watcher(watcher);
                return;
        }
        push_piece(watcher);
        if (watcher->state == WATCHER_BEHIND && watcher->next_id == events->shown) {
                view_flush(watcher->view);      /* that it has already */
                move_to(watcher, WATCHER_LIVE);
        }
}

static void end_expired(struct events *events, int64_t now_ms)
{
        if (now_ms - events->expiry_checked_ms < EXPIRY_EVERY_MS)
                return;
        events->expiry_checked_ms = now_ms;
        for (struct watcher *at = events->watchers; at; at = at->next_of_all)
                if (at->until_ms && at->until_ms <= now_ms)
                        end_watcher(at);
}

void events_step(struct events *events, int64_t now_ms)
{
        int64_t until_ns = time_monotonic_ns() + EVENTS_STEP_MS * INT64_C(1000000);

        flush_if_due(events);
        end_expired(events, now_ms);
        for (uint32_t turns = events->behind_count; turns > 0 && events->behind; turns--) {
                struct watcher *watcher = events->turn ? events->turn : events->behind;
                events->turn = watcher->next;
                catch_up(watcher);
                if (time_monotonic_ns() > until_ns)
                        return;
        }
}

/* ---- following ---- */

static void on_closed(struct http_stream *stream, void *arg)
{
        struct watcher *watcher = arg;
        struct events *events = watcher->events;

        (void)stream;
        move_to(watcher, WATCHER_ENDED);
        if (watcher->next_of_all)
                watcher->next_of_all->previous_of_all = watcher->previous_of_all;
        if (watcher->previous_of_all)
                watcher->previous_of_all->next_of_all = watcher->next_of_all;
        else
                events->watchers = watcher->next_of_all;
        events->watchers_count--;
        view_release(watcher->view);
        mem_free(watcher);
}

static struct watcher *new_watcher(struct events *events, const struct events_wish *wish)
{
        struct watcher *watcher = mem_new(1, sizeof *watcher);

        if (!watcher)
                return NULL;
        *watcher = (struct watcher){.events = events,
                                    .view = view_take(events, wish),
                                    .state = WATCHER_ENDED,
                                    .next_id = wish->has_after ? wish->after + 1 : events->shown,
                                    .token = wish->token,
                                    .until_ms = wish->until_ms};
        if (watcher->view)
                return watcher;
        mem_free(watcher);
        return NULL;
}

static void link_watcher(struct watcher *watcher)
{
        struct events *events = watcher->events;

        watcher->next_of_all = events->watchers;
        if (watcher->next_of_all)
                watcher->next_of_all->previous_of_all = watcher;
        events->watchers = watcher;
        events->watchers_count++;
        move_to(watcher, WATCHER_BEHIND);       /* until it has what it missed */
}

static int check_after(const struct events *events, const struct events_wish *wish,
                       struct err *err)
{
        uint64_t end = id_after(core_last_seq(events->core));

        if (!wish->has_after || wish->after < end)
                return 0;
        return err_set(err, ERR_RANGE,
                       "event %" PRIu64 " is yet to come: the next record begins with %" PRIu64
                       "; leave 'after' out to hear what comes from now on",
                       wish->after, end);
}

void events_follow(struct events *events, struct http_exchange *exchange,
                   const struct events_wish *wish)
{
        struct err err = {ERR_NOMEM, "out of memory"};
        struct text first = {0};
        struct watcher *watcher = NULL;

        if (check_after(events, wish, &err) == 0) {
                begin_filling(events);
                watcher = new_watcher(events, wish);
        }
        if (!watcher) {
                problem_answer(exchange, 0, &err, NULL);
                return;
        }
        watcher->stream = http_stream_open(exchange, SSE_TYPE, on_closed, watcher);
        if (!watcher->stream) {
                view_release(watcher->view);
                mem_free(watcher);
                return;
        }
        link_watcher(watcher);
        sse_write_retry(&first, EVENTS_RETRY_MS);
        if (!first.failed)
                (void)http_stream_push(watcher->stream, first.bytes, first.size);
        text_done(&first);
        catch_up(watcher);
}

/* ---- ending ---- */

void events_end_all(struct events *events)
{
        views_flush(events);
        for (struct watcher *at = events->watchers; at; at = at->next_of_all)
                end_watcher(at);
}

void events_end_token(struct events *events, uint64_t token)
{
        for (struct watcher *at = events->watchers; at; at = at->next_of_all)
                if (at->token == token)
                        end_watcher(at);
}

struct events_figures events_figures(const struct events *events)
{
        return (struct events_figures){.watchers = events->watchers_count,
                                       .behind = events->behind_count,
                                       .ring_events = events->count,
                                       .ring_bytes = events->bytes,
                                       .shown = events->shown_count,
                                       .cut = events->cut_count};
}

/* ---- life ---- */

struct events *events_new(struct core *core)
{
        const struct core_watch watch = {.before = on_fact, .note = on_note, .durable = on_durable,
                                         .renewed = on_renewed};
        struct events *events = mem_new(1, sizeof *events);

        if (!events)
                return NULL;
        events->core = core;
        events->ring = mem_new(EVENTS_RING, sizeof *events->ring);
        events->buckets = mem_new(VIEW_BUCKETS, sizeof *events->buckets);
        events->names = mem_new(NAME_CACHE, sizeof *events->names);
        events->durable_seq = core_last_seq(core);
        if (!events->ring || !events->buckets || !events->names ||
            objects_last(core_view(core), OBJECT_LEFT, &events->left_seq, NULL) < 0) {
                events_free(events);
                return NULL;
        }
        struct core_watch mine = watch;
        mine.arg = events;
        core_watch(core, &mine);
        return events;
}

void events_free(struct events *events)
{
        if (!events)
                return;
        assert(!events->watchers);
        while (events->count > 0)
                drop_oldest(events);
        text_done(&events->all);
        text_done(&events->own);
        text_done(&events->piece);
        mem_free(events->ring);
        mem_free(events->buckets);
        mem_free(events->names);
        mem_free(events);
}
