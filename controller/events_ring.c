/* What the core tells becomes events, which are kept in a ring, and shown when they are durable. */
#include "controller/events_impl.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "controller/core.h"

uint64_t event_id_after(uint64_t seq)
{
        return (seq + 1) << EVENT_ID_SHIFT;
}

uint64_t events_last_id(uint64_t seq)
{
        return event_id_after(seq) - 1;
}

/* ---- the ring ---- */

struct event *ring_at(const struct events *events, uint32_t at)
{
        return &events->ring[(events->first + at) % EVENTS_RING];
}

static size_t event_bytes(const struct event *event)
{
        return event->tenant_size + event->all_size + (event->own_is_all ? 0 : event->own_size);
}

void ring_drop_oldest(struct events *events)
{
        struct event *event = ring_at(events, 0);

        events->bytes -= event_bytes(event);
        events->ring_from = event->id + 1;
        mem_free(event->bytes);
        events->first = (events->first + 1) % EVENTS_RING;
        events->count--;
}

uint32_t ring_find(const struct events *events, uint64_t id)
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

void ring_begin(struct events *events)
{
        if (events->is_filling)
                return;
        events->is_filling = true;
        events->ring_from = event_id_after(core_last_seq(events->core));
        events->shown = event_id_after(events->durable_seq);
}

/* ---- the core's facts ---- */

/* This one is only there. */
static void leave_to_log(struct events *events, uint64_t id)
{
        while (events->count > 0)
                ring_drop_oldest(events);
        events->ring_from = id + 1;
}

static void keep_event(struct events *events, const struct event *event)
{
        while (events->count == EVENTS_RING ||
               (events->count > 0 && events->bytes + event_bytes(event) > EVENTS_RING_BYTES))
                ring_drop_oldest(events);
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

static void on_durable(void *arg, uint64_t seq)
{
        struct events *events = arg;
        uint64_t until = event_id_after(seq);

        events->durable_seq = seq;
        if (!events->is_filling || until <= events->shown)
                return;
        if (events->ring_from > events->shown)
                watchers_fall_behind(events);
        for (uint32_t at = ring_find(events, events->shown);
             at < events->count && ring_at(events, at)->id < until; at++)
                views_deliver(events, ring_at(events, at));
        events_flush_if_due(events);
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
                ring_drop_oldest(events);
        events->durable_seq = core_last_seq(events->core);
        events->ring_from = events->shown = event_id_after(events->durable_seq);
        events->seq = 0;
        batches_forget(events, NULL);
        events_end_all(events);
}

const struct core_watch events_core_watch = {
        .before = on_fact, .note = on_note, .durable = on_durable, .renewed = on_renewed};
