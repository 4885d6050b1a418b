/* Watchers that want alike share a view; an event finds the views that want it by its tenant. */
#include "controller/events_impl.h"

#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/access.h"

#define HASH_ALL      1u
#define HASH_WORKLOAD 2u

/* ---- what a view wants ---- */

static const char *own_bytes(const struct event *event)
{
        return event->bytes + event->tenant_size + (event->own_is_all ? 0 : event->all_size);
}

bool view_wants(const struct view *view, const struct event *event)
{
        if ((view->workload && view->workload != event->workload) ||
            (view->kind == EVENT_OWN && event->own_size == 0))
                return false;
        for (unsigned t = 0; t < view->tenants_count; t++)
                if (tenant_is_below(event->bytes, view->tenants[t]))
                        return true;
        return view->tenants_count == 0;
}

void view_write(enum event_view kind, const struct event *event, struct text *text)
{
        if (kind == EVENT_ALL)
                text_add_bytes(text, event->bytes + event->tenant_size, event->all_size);
        else
                text_add_bytes(text, own_bytes(event), event->own_size);
}

/* ---- by what they want ---- */

static uint64_t hash_of_path(const char *path, size_t size)
{
        uint64_t hash = 0;

        for (size_t i = 0; i < size; i++)
                map_chain(&hash, (unsigned char)path[i]);
        return hash;
}

static uint64_t hash_of_number(uint64_t kind, uint64_t number)
{
        uint64_t hash = 0;

        map_chain(&hash, kind);
        map_chain(&hash, number);
        return hash;
}

static struct view_link **bucket_of(struct events *events, uint64_t hash)
{
        return &events->buckets[map_mix(hash) % VIEW_BUCKETS];
}

static void enter(struct view *view, unsigned at, uint64_t hash)
{
        struct view_link **bucket = bucket_of(view->events, hash);

        view->links[at] = (struct view_link){view, *bucket, hash};
        *bucket = &view->links[at];
}

static void enter_all(struct view *view)
{
        if (view->workload)
                enter(view, 0, hash_of_number(HASH_WORKLOAD, view->workload));
        else if (view->tenants_count == 0)
                enter(view, 0, hash_of_number(HASH_ALL, 0));
        for (unsigned t = 0; !view->workload && t < view->tenants_count; t++)
                enter(view, t, hash_of_path(view->tenants[t], strlen(view->tenants[t])));
}

static void leave_all(struct view *view)
{
        for (unsigned l = 0; l < view->links_count; l++) {
                struct view_link **at = bucket_of(view->events, view->links[l].hash);
                while (*at != &view->links[l])
                        at = &(*at)->next;
                *at = view->links[l].next;
        }
}

/* ---- delivering ---- */

static void deliver(struct view *view, const struct event *event)
{
        if (!view->live)
                return;
        if (!view->is_dirty) {
                view->is_dirty = true;
                view->pending_from = event->id;
                view->next_dirty = view->events->dirty;
                view->events->dirty = view;
        } else if (view->pending.size == 0 && !view->pending.failed) {
                view->pending_from = event->id;
        }
        view_write(view->kind, event, &view->pending);
        view->events->shown_count++;
        if (view->pending.size >= EVENTS_PIECE_BYTES)
                view_flush(view);
}

/* Equal hashes of what is not equal do no harm: view_wants() says whether a view wants the event,
 * and one that is found twice gets it once. */
static void deliver_to(struct events *events, uint64_t hash, const struct event *event)
{
        for (struct view_link *link = *bucket_of(events, hash); link; link = link->next) {
                struct view *view = link->view;
                if (link->hash != hash || view->newest_id == event->id || !view_wants(view, event))
                        continue;
                view->newest_id = event->id;
                deliver(view, event);
        }
}

void views_deliver(struct events *events, const struct event *event)
{
        const char *tenant = event->bytes;
        uint64_t hash = 0;

        deliver_to(events, hash_of_number(HASH_ALL, 0), event);
        if (event->workload)
                deliver_to(events, hash_of_number(HASH_WORKLOAD, event->workload), event);
        /* Alerts are a tenant's without being of work. */
        for (size_t i = 0; tenant[i]; i++) {
                map_chain(&hash, (unsigned char)tenant[i]);
                if (tenant[i + 1] == '\0' || tenant[i + 1] == '/')
                        deliver_to(events, hash, event);
        }
}

void views_flush(struct events *events)
{
        while (events->dirty) {
                struct view *view = events->dirty;
                events->dirty = view->next_dirty;
                view->is_dirty = false;
                view_flush(view);
        }
}

/* ---- life ---- */

static bool is_as(const struct view *view, const struct events_wish *wish)
{
        if (view->kind != wish->view || view->workload != wish->workload ||
            view->tenants_count != wish->tenants_count)
                return false;
        for (unsigned t = 0; t < view->tenants_count; t++)
                if (!str_equal(view->tenants[t], wish->tenants[t]))
                        return false;
        return true;
}

static void free_view(struct view *view)
{
        text_done(&view->pending);
        mem_free(view->tenants);
        mem_free(view->links);
        mem_free(view);
}

static struct view *new_view(struct events *events, const struct events_wish *wish)
{
        unsigned links = wish->workload || !wish->tenants_count ? 1 : wish->tenants_count;
        struct view *view = mem_new(1, sizeof *view);

        if (!view)
                return NULL;
        *view = (struct view){.events = events,
                              .kind = wish->view,
                              .workload = wish->workload,
                              .tenants_count = wish->tenants_count,
                              .tenants = mem_new(wish->tenants_count, sizeof *view->tenants),
                              .links = mem_new(links, sizeof *view->links),
                              .links_count = links};
        if (!view->tenants || !view->links) {
                free_view(view);
                return NULL;
        }
        memcpy(view->tenants, wish->tenants, wish->tenants_count * sizeof *view->tenants);
        enter_all(view);
        view->next = events->views;
        if (view->next)
                view->next->previous = view;
        events->views = view;
        return view;
}

struct view *view_take(struct events *events, const struct events_wish *wish)
{
        struct view *view = events->views;

        while (view && !is_as(view, wish))
                view = view->next;
        if (!view)
                view = new_view(events, wish);
        if (view)
                view->watchers++;
        return view;
}

void view_release(struct view *view)
{
        struct events *events = view->events;

        if (--view->watchers > 0)
                return;
        for (struct view **at = &events->dirty; view->is_dirty; at = &(*at)->next_dirty)
                if (*at == view) {
                        *at = view->next_dirty;
                        break;
                }
        batches_forget(events, view);
        leave_all(view);
        if (view->next)
                view->next->previous = view->previous;
        if (view->previous)
                view->previous->next = view->next;
        else
                events->views = view->next;
        free_view(view);
}
