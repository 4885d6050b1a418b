#include "controller/events_impl.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "controller/core.h"
#include "net/http.h"
#include "net/problem.h"
#include "net/sse.h"
#include "store/objects.h"

/* ---- following ---- */

static void on_closed(struct http_stream *stream, void *arg)
{
        struct watcher *watcher = arg;
        struct events *events = watcher->events;

        (void)stream;
        watcher_move(watcher, WATCHER_ENDED);
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
        watcher_move(watcher, WATCHER_BEHIND);       /* until it has what it missed */
}

static int check_after(const struct events *events, const struct events_wish *wish,
                       struct err *err)
{
        uint64_t end = event_id_after(core_last_seq(events->core));

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
                ring_begin(events);
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
        (void)watcher_catch_up(watcher);
}

bool events_any_behind(const struct events *events)
{
        return events->behind_count > 0;
}

/* ---- ending ---- */

void events_end_all(struct events *events)
{
        views_flush(events);
        for (struct watcher *at = events->watchers; at; at = at->next_of_all)
                watcher_end(at);
}

void events_end_token(struct events *events, uint64_t token)
{
        for (struct watcher *at = events->watchers; at; at = at->next_of_all)
                if (at->token == token)
                        watcher_end(at);
}

struct events_figures events_figures(const struct events *events)
{
        return (struct events_figures){.watchers = events->watchers_count,
                                       .behind = events->behind_count,
                                       .shown = events->shown_count,
                                       .cut = events->cut_count};
}

/* ---- life ---- */

struct events *events_new(struct core *core)
{
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
        struct core_watch mine = events_core_watch;
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
                ring_drop_oldest(events);
        batches_forget(events, NULL);
        text_done(&events->all);
        text_done(&events->own);
        text_done(&events->piece);
        mem_free(events->ring);
        mem_free(events->buckets);
        mem_free(events->names);
        mem_free(events);
}
