#include "sim/timeline.h"

#include "base/mem.h"

static bool is_before(const struct event *a, const struct event *b)
{
        if (a->at_ms != b->at_ms)
                return a->at_ms < b->at_ms;
        return a->kind != b->kind ? a->kind < b->kind : a->number < b->number;
}

void timeline_done(struct timeline *timeline)
{
        mem_free(timeline->events);
        *timeline = (struct timeline){0};
}

bool timeline_add(struct timeline *timeline, struct event event)
{
        struct event *events = mem_grow(timeline->events, timeline->count, &timeline->room, 256,
                                        sizeof *events);
        if (!events)
                return false;
        timeline->events = events;
        event.number = timeline->added++;
        size_t at = timeline->count++;
        for (; at > 0 && is_before(&event, &timeline->events[(at - 1) / 2]); at = (at - 1) / 2)
                timeline->events[at] = timeline->events[(at - 1) / 2];
        timeline->events[at] = event;
        return true;
}

const struct event *timeline_first(const struct timeline *timeline)
{
        return timeline->count > 0 ? &timeline->events[0] : NULL;
}

void timeline_pop(struct timeline *timeline)
{
        struct event last = timeline->events[--timeline->count];
        size_t at = 0;

        for (;;) {
                size_t child = 2 * at + 1;
                if (child >= timeline->count)
                        break;
                if (child + 1 < timeline->count &&
                    is_before(&timeline->events[child + 1], &timeline->events[child]))
                        child++;
                if (!is_before(&timeline->events[child], &last))
                        break;
                timeline->events[at] = timeline->events[child];
                at = child;
        }
        timeline->events[at] = last;
}
