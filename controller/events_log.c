/* Facts become events: those decided just now, and those that are read from the log again. */
#include "controller/events_impl.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/core.h"
#include "controller/works.h"
#include "net/sse.h"
#include "proto/log_fact.h"
#include "store/log.h"
#include "store/objects.h"

#define RECORDS_AT_ONCE 64        /* a watcher that reads the log has its turn no longer */

/* ---- making one ---- */

static void write_view(struct text *text, const struct fact *fact, const struct event_about *about,
                       uint64_t id, enum event_view view)
{
        text->size = 0;
        text_add(text, "id:%" PRIu64 "\nevent:%s\ndata:", id, fact_name(fact->kind));
        event_write(fact, about, view, text);
        text_add_bytes(text, "\n\n", 2);
}

bool event_make(struct events *events, const struct fact *fact, const struct event_about *about,
                uint64_t id, struct event *ret_event)
{
        const char *tenant = about->tenant ? about->tenant : "";
        struct text *all = &events->all, *own = &events->own;
        struct event event = {.id = id,
                              .workload = event_workload(fact),
                              .tenant_size = (uint32_t)strlen(tenant) + 1,
                              .own_is_all = !event_has_more(fact)};

        own->size = 0;
        write_view(all, fact, about, id, EVENT_ALL);
        if (!event.own_is_all)
                write_view(own, fact, about, id, EVENT_OWN);
        if (all->failed || own->failed)
                return false;
        event.all_size = (uint32_t)all->size;
        if (event_is_own(fact))
                event.own_size = (uint32_t)(event.own_is_all ? all->size : own->size);
        event.bytes = mem_new(event.tenant_size + all->size + own->size, 1);
        if (!event.bytes)
                return false;
        memcpy(event.bytes, tenant, event.tenant_size);
        memcpy(event.bytes + event.tenant_size, all->bytes, all->size);
        if (own->size > 0)
                memcpy(event.bytes + event.tenant_size + all->size, own->bytes, own->size);
        *ret_event = event;
        return true;
}

static void add_event(struct text *text, uint64_t id, const char *name, const json_t *data)
{
        char *json = json_dumps(data, JSON_COMPACT);

        if (json)
                text_add(text, "id:%" PRIu64 "\nevent:%s\ndata:%s\n\n", id, name, json);
        else
                text->failed = true;
        free(json);
}

/* {"alert_raised":{...}}: its tenant, if it is one's, is not told who looks after it, and why. */
static int make_noted(const json_t *note, uint64_t id, struct event *ret_event)
{
        void *iterator = json_object_iter((json_t *)(uintptr_t)note);
        const char *name = json_object_iter_key(iterator);
        json_t *data = json_object_iter_value(iterator);
        const char *tenant = json_string_value(json_object_get(data, "tenant"));
        struct text bytes = {0};
        struct event event = {
                .id = id,
                .workload = (uint64_t)json_integer_value(json_object_get(data, "workload"))};

        text_add_bytes(&bytes, tenant ? tenant : "", tenant ? strlen(tenant) + 1 : 1);
        event.tenant_size = (uint32_t)bytes.size;
        add_event(&bytes, id, name, data);
        event.all_size = (uint32_t)bytes.size - event.tenant_size;
        (void)json_object_del(data, "acknowledged_by");
        (void)json_object_del(data, "reason");
        if (tenant)
                add_event(&bytes, id, name, data);
        event.own_size = (uint32_t)bytes.size - event.tenant_size - event.all_size;
        event.bytes = bytes.bytes;
        if (bytes.failed) {
                text_done(&bytes);
                return -ERR_NOMEM;
        }
        *ret_event = event;
        return 1;
}

/* Of alerts, of terminals beside work, and of what a lost log has run. */
static bool is_of_event(const void *body, size_t size)
{
        static const char *const starts[] = {"{\"alert_", "{\"attached\":{", "{\"detached\":{",
                                             "{\"ran_before\":{"};

        for (size_t s = 0; s < ARRAY_LEN(starts); s++)
                if (size > strlen(starts[s]) && memcmp(body, starts[s], strlen(starts[s])) == 0)
                        return true;
        return false;
}

int event_of_note(const void *body, size_t size, uint64_t id, struct event *ret_event)
{
        if (!is_of_event(body, size))
                return 0;
        json_t *note = json_loadb(body, size, 0, NULL);
        int rc = json_is_object(note) && json_object_size(note) == 1
                         ? make_noted(note, id, ret_event)
                         : 0;
        json_decref(note);
        return rc;
}

/* ---- names ---- */

static const char *name_of_node(const struct state *state, const struct fact *fact)
{
        uint32_t node = event_node(fact);

        if (fact->kind == FACT_NODE_SET)        /* its number may be new */
                return vocab_name_text(state->vocab, fact->node_set.desc.name);
        if (node >= state->node_slots.high || state->nodes[node].status == NODE_FREE_SLOT)
                return NULL;
        return vocab_name_text(state->vocab, state->nodes[node].desc.name);
}

struct event_about event_about_now(const struct events *events, const struct fact *fact,
                                   int64_t at_ms)
{
        const struct state *state = core_state(events->core);
        uint64_t id = event_workload(fact);
        const struct work *work = id ? works_find(core_works(events->core), id) : NULL;

        return (struct event_about){.at_ms = at_ms,
                                    .name = work ? work->name : NULL,
                                    .tenant = work ? work->tenant : NULL,
                                    .user = work ? work->user : NULL,
                                    .node = name_of_node(state, fact),
                                    .vocab = state->vocab,
                                    .models = core_models(events->core)};
}

/* Of work that has ended. */
static int find_ended(struct events *events, uint64_t id, struct event_about *about,
                      struct err *err)
{
        struct known_name *known = &events->names[id % NAME_CACHE];
        struct object_copy *copy;

        if (known->workload != id) {
                int rc = objects_get(core_view(events->core), OBJECT_WORKLOAD, id, &copy, err);
                if (rc == -ERR_NOT_FOUND)
                        return 0;       /* forgotten: its number is all there is */
                if (rc)
                        return rc;
                known->workload = id;
                if (!str_copy(known->name, sizeof known->name, copy->object.name) ||
                    !str_copy(known->tenant, sizeof known->tenant, copy->object.tenant) ||
                    !str_copy(known->user, sizeof known->user, copy->object.owner))
                        known->workload = 0;
                mem_free(copy);
                if (known->workload == 0)
                        return 0;
        }
        about->name = known->name;
        about->tenant = known->tenant;
        about->user = known->user;
        return 0;
}

static int see_left(void *arg, const struct object *object, struct err *err)
{
        (void)err;
        (void)str_copy(arg, OBJECT_NAME_MAX + 1, object->name);
        return 1;
}

/* A number is another node's once its node has left: whose it was at that record. */
static int find_node_then(struct events *events, const struct fact *fact, uint64_t seq,
                          char name[OBJECT_NAME_MAX + 1], struct event_about *about,
                          struct err *err)
{
        char number[16];
        const struct object_filter filter = {.kind = OBJECT_LEFT,
                                             .class = number,
                                             .ended = true,
                                             .oldest_first = true,
                                             .after_id = seq - 1,
                                             .limit = 1};
        if (event_node(fact) == UINT32_MAX || fact->kind == FACT_NODE_SET ||
            seq > events->left_seq)
                return 0;
        (void)snprintf(number, sizeof number, "%" PRIu32, event_node(fact));
        int rc = objects_list(core_view(events->core), &filter, see_left, name, err);
        if (rc > 0)
                about->node = name;
        return rc < 0 ? rc : 0;
}

/* ---- reading ---- */

static int add_fact(struct events *events, const struct view *view, const struct fact *fact,
                    uint64_t id, int64_t at_ms, struct err *err)
{
        struct event_about about = event_about_now(events, fact, at_ms);
        uint64_t workload = event_workload(fact), seq = id >> EVENT_ID_SHIFT;
        char node[OBJECT_NAME_MAX + 1];
        struct event event;
        int rc = workload && !about.name ? find_ended(events, workload, &about, err) : 0;

        if (rc == 0)
                rc = find_node_then(events, fact, seq, node, &about, err);
        if (rc)
                return rc;
        if (!event_make(events, fact, &about, id, &event))
                return err_set(err, ERR_NOMEM, "out of memory");
        if (view_wants(view, &event))
                view_write(view->kind, &event, &events->piece);
        mem_free(event.bytes);
        return 0;
}

/* What a view cannot want needs no event made of it. */
static bool may_want(const struct view *view, const struct fact *fact)
{
        uint64_t workload = event_workload(fact);

        return (view->workload == 0 || view->workload == workload) &&
               (view->kind == EVENT_ALL || event_is_own(fact)) &&
               (view->tenants_count == 0 || workload != 0);
}

static int read_record(struct events *events, const struct view *view,
                       const struct record *record, uint64_t *next_id, struct err *err)
{
        json_t *object = json_loadb(record->body, record->size, 0, NULL);
        json_t *list = json_object_get(object, "facts");
        size_t place = *next_id & ((UINT64_C(1) << EVENT_ID_SHIFT) - 1);
        int rc = json_is_array(list) ? 0
                                     : err_set(err, ERR_INPUT, "record %" PRIu64 " has no facts",
                                               record->seq);

        for (; rc == 0 && place < json_array_size(list) && events->piece.size < EVENTS_PIECE_BYTES;
             place++) {
                struct fact fact;
                *next_id = (record->seq << EVENT_ID_SHIFT) + place + 1;
                rc = log_fact_read(json_array_get(list, place), &fact, err);
                if (rc == 0 && may_want(view, &fact))
                        rc = add_fact(events, view, &fact, *next_id - 1, record->at_ms, err);
        }
        if (rc == 0 && place >= json_array_size(list))
                *next_id = (record->seq + 1) << EVENT_ID_SHIFT;
        json_decref(object);
        return rc;
}

static int read_note(struct events *events, const struct view *view, const struct record *record,
                     uint64_t *next_id, struct err *err)
{
        uint64_t id = record->seq << EVENT_ID_SHIFT;
        struct event event;
        int rc = *next_id > id ? 0 : event_of_note(record->body, record->size, id, &event);

        *next_id = (record->seq + 1) << EVENT_ID_SHIFT;
        if (rc < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        if (rc == 0)
                return 0;
        if (view_wants(view, &event))
                view_write(view->kind, &event, &events->piece);
        mem_free(event.bytes);
        return 0;
}

static int read_records(struct events *events, const struct view *view, struct log_cursor *cursor,
                        uint64_t until, uint64_t *next_id, struct err *err)
{
        struct record record;
        int rc = 0;

        for (unsigned r = 0; r < RECORDS_AT_ONCE && *next_id < until &&
                             events->piece.size < EVENTS_PIECE_BYTES; r++) {
                rc = log_next(cursor, &record, err);
                if (rc <= 0)
                        break;
                if (record.kind == RECORD_FACTS)
                        rc = read_record(events, view, &record, next_id, err);
                else if (record.kind == RECORD_NOTE)
                        rc = read_note(events, view, &record, next_id, err);
                else
                        *next_id = (record.seq + 1) << EVENT_ID_SHIFT;
                if (rc < 0)
                        break;
        }
        return rc < 0 ? rc : 0;
}

/* The log begins later: the watcher is told, and goes on from there. */
static int pass_over_pruned(struct events *events, uint64_t *next_id, struct err *err)
{
        struct log_head base;
        char data[64];
        int rc = log_base(core_view(events->core), &base, err);

        if (rc)
                return rc;
        uint64_t from = (base.seq + 1) << EVENT_ID_SHIFT;
        if (from <= *next_id)
                return 0;               /* it is not there yet */
        (void)snprintf(data, sizeof data, "{\"before\":\"%" PRIu64 "\"}", from);
        sse_write(&events->piece, from - 1, "events_forgotten", data);
        *next_id = from;
        return 0;
}

int events_read_log(struct events *events, const struct view *view, uint64_t until,
                    uint64_t *next_id, struct err *err)
{
        uint64_t seq = *next_id >> EVENT_ID_SHIFT;
        struct log_cursor *cursor;
        int rc = log_read(core_view(events->core), seq ? seq : 1, &cursor, err);

        if (rc == -ERR_NOT_FOUND)
                return pass_over_pruned(events, next_id, err);
        if (rc)
                return rc;
        rc = read_records(events, view, cursor, until, next_id, err);
        log_cursor_free(cursor);
        return rc;
}
