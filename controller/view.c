#include "controller/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/access.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/run_list.h"
#include "controller/terms.h"
#include "controller/why.h"
#include "controller/works.h"
#include "engine/contact.h"
#include "engine/queue.h"
#include "proto/explain_text.h"

/* ---- small values ---- */

void view_set(json_t *object, const char *key, json_t *value)
{
        (void)json_object_set_new(object, key, value);
}

const char *view_time_text(int64_t ms, char buf[VIEW_TIME_MAX])
{
        time_t seconds = (time_t)(ms / 1000);
        struct tm tm;

        (void)gmtime_r(&seconds, &tm);
        (void)snprintf(buf, VIEW_TIME_MAX, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                       tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
                       tm.tm_sec, (int)(ms % 1000));
        return buf;
}

json_t *view_time(int64_t ms)
{
        char text[VIEW_TIME_MAX];

        return ms == 0 ? json_null() : json_string(view_time_text(ms, text));
}

json_t *view_device_hours(uint64_t device_ms)
{
        char text[32];
        uint64_t milli = device_ms / 3600;

        (void)snprintf(text, sizeof text, "%" PRIu64 ".%03u", milli / 1000,
                       (unsigned)(milli % 1000));
        return json_string(text);
}

/* To a thousandth, rounded. */
json_t *view_devices(uint64_t units)
{
        uint64_t milli = (units * 1000 + UNITS_DEVICE / 2) / UNITS_DEVICE;
        char text[32];
        size_t length = (size_t)snprintf(text, sizeof text, "%" PRIu64 ".%03u", milli / 1000,
                                         (unsigned)(milli % 1000));

        while (text[length - 1] == '0')
                text[--length] = '\0';
        if (text[length - 1] == '.')
                text[--length] = '\0';
        return json_string(text);
}

static struct explain_names names_of(struct live *live)
{
        return (struct explain_names){.state = core_state(live->core), .clock = true};
}

/* ---- workloads ---- */

static bool all_run(const struct work *work)
{
        for (uint16_t m = 0; m < work->members_count; m++)
                if (work->members[m].phase != PHASE_RUNNING &&
                    work->members[m].phase != PHASE_EXITED)
                        return false;
        return true;
}

int view_state_check(const char *word, struct err *err)
{
#define X(name, word) word,
        static const char *const words[] = {"live", "all", VIEW_STATES(X)};
#undef X
        char near[STR_NEAR_MAX], show[STR_SHOW_MAX];

        for (size_t w = 0; w < ARRAY_LEN(words); w++)
                if (str_equal(words[w], word))
                        return 0;
        return err_set(err, ERR_INPUT, "query 'state': there is no '%s'; %s", str_show(word, show),
                       str_near(words, ARRAY_LEN(words), word, near, sizeof near));
}

const char *view_state(const struct live *live, const struct work *work)
{
        const struct state *state = core_state(live->core);
        uint32_t slot = state_workload(state, work->id);
        const struct workload *workload = slot == NONE ? NULL : &state->workloads[slot];

        if (!workload)
                return "unknown";
        if (workload->members_placed == 0)
                return workload->holds & HOLD_USER ? "held" : "queued";
        if (work->quarantined)
                return "quarantined";
        if (work->wish == WISH_CANCEL)
                return "cancelling";
        if (workload->notice_until_ms || workload_is_torn(state, workload))
                return "stopping";
        return live->simulated || all_run(work) ? "running" : "starting";
}

static json_t *places_of(const struct live *live, const struct work *work, uint32_t slot)
{
        const struct state *state = core_state(live->core);
        json_t *places = json_array();

        for (uint32_t at = state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next) {
                const struct member *member = &state->members[at];
                const struct node_desc *desc = &state->nodes[member->node].desc;
                json_t *place = json_object(), *devices = json_array();
                for (uint32_t held = member->first_part; held != NONE;
                     held = state->parts[held].next)
                        (void)json_array_append_new(
                                devices, json_integer(state->parts[held].part.device));
                view_set(place, "member", json_integer(member->number));
                view_set(place, "node", json_string(vocab_name_text(state->vocab, desc->name)));
                view_set(place, "devices", devices);
                view_set(place, "phase",
                    json_string(live->simulated
                                        ? "running"
                                : !member_may_run(state, member) ? "lost"
                                : node_is_down(&state->nodes[member->node])
                                        ? "lost_contact"
                                        : phase_name(work->members[member->number].phase)));
                (void)json_array_insert_new(places, 0, place);
        }
        return places;
}

static void add_notice(json_t *json, const struct workload *workload)
{
        json_t *notice;

        if (!workload->notice_until_ms) {
                view_set(json, "notice", json_null());
                return;
        }
        notice = json_object();
        view_set(notice, "cause",
            json_string(notice_cause_name((enum notice_cause)workload->notice_cause)));
        view_set(notice, "until", view_time(workload->notice_until_ms));
        view_set(json, "notice", notice);
}

static void add_live(struct live *live, json_t *json, const struct work *work, uint32_t slot)
{
        const struct state *state = core_state(live->core);
        const struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];
        const struct request request = {.need = state->shapes[bucket->shape].need,
                                        .form = bucket->form};
        const struct explain_names names = names_of(live);
        bool runs = workload->members_placed > 0;
        char text[EXPLAIN_TEXT_MAX];

        view_set(json, "state", json_string(view_state(live, work)));
        view_set(json, "members", json_integer(bucket->form.members));
        view_set(json, "devices", json_integer((json_int_t)bucket_devices(state, bucket)));
        view_set(json, "request", json_string(explain_request_text(&request, &names, text)));
        view_set(json, "started", runs ? view_time(work->started_ms) : json_null());
        view_set(json, "waited_ms",
            json_integer(runs ? workload->waited_ms
                              : waited_ms(state, slot, core_now_ms(live->core))));
        view_set(json, "standing",
            runs ? json_string(standing_name((enum standing)workload->standing)) : json_null());
        view_set(json, "stops", json_integer(work->stops));
        view_set(json, "retries_left", json_integer(workload->service ? 0 : workload->retries));
        add_notice(json, workload);
}

json_t *view_exit_code(const json_t *detail)
{
        json_t *code = json_object_get(detail, "exit_code");

        if (!code || json_integer_value(json_object_get(detail, "signal")) > 0)
                return json_null();
        return json_incref(code);
}

static void add_ended(json_t *json, const struct object *object)
{
        json_t *detail = object->detail[0] ? json_loads(object->detail, 0, NULL) : NULL;
        static const char *const keys[] = {"signal", "stops", "cause", "lost_ms", "reason"};

        /* Its end is decided, and its row is not on the disk yet. */
        view_set(json, "state", json_string(object->ended_ms ? object->state : "stopping"));
        view_set(json, "ended", view_time(object->ended_ms));
        view_set(json, "exit_code", view_exit_code(detail));
        for (size_t k = 0; k < ARRAY_LEN(keys); k++)
                (void)json_object_set(json, keys[k],
                                      json_object_get(detail, keys[k])
                                              ? json_object_get(detail, keys[k])
                                              : json_null());
        int64_t started_ms = json_integer_value(json_object_get(detail, "started_ms"));
        view_set(json, "started", view_time(started_ms));
        json_decref(detail);
}

json_t *view_workload(struct live *live, const struct object *object, bool full)
{
        const struct work *work = works_find(core_works(live->core), object->id);
        uint32_t slot = work ? state_workload(core_state(live->core), object->id) : NONE;
        json_t *json = json_object();

        view_set(json, "id", json_integer((json_int_t)object->id));
        view_set(json, "name", json_string(object->name));
        view_set(json, "tenant", json_string(object->tenant));
        view_set(json, "class", json_string(object->class));
        view_set(json, "user", json_string(object->owner));
        view_set(json, "submitted", view_time(object->created_ms));
        if (object->ended_ms || slot == NONE) {
                add_ended(json, object);
        } else {
                view_set(json, "ended", json_null());
                view_set(json, "exit_code", json_null());
                view_set(json, "cause", json_null());
                add_live(live, json, work, slot);
        }
        if (!full)
                return json;
        if (slot != NONE && !object->ended_ms) {
                view_set(json, "eta", terms_eta(live, slot));
                view_set(json, "places", places_of(live, work, slot));
        }
        view_set(json, "runs", run_list(live, object));
        if (object->size > 0)
                view_set(json, "document", json_stringn(object->body, object->size));
        return json;
}

void view_add_why(const struct live *live, json_t *json, uint64_t id, struct why *why)
{
        const struct work *work = works_find(core_works(live->core), id);
        uint32_t slot = work ? state_workload(core_state(live->core), id) : NONE;

        if (slot != NONE && why_add(why, slot, json) &&
            str_equal(view_state(live, work), "starting"))
                view_set(json, "summary", json_string("It has its place, and its processes are "
                                                      "being started."));
}

void view_add_nodes(const struct live *live, json_t *json, uint64_t id)
{
        const struct state *state = core_state(live->core);
        uint32_t slot = state_workload(state, id), at;
        json_t *seen = json_object(), *turned = json_array(), *nodes = json_array();

        /* The newest member is the first of the list. */

        for (at = slot == NONE ? NONE : state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next) {
                const struct node_desc *desc = &state->nodes[state->members[at].node].desc;
                (void)json_array_append_new(turned,
                                            json_string(vocab_name_text(state->vocab, desc->name)));
        }
        for (size_t n = json_array_size(turned); n-- > 0;) {
                json_t *name = json_array_get(turned, n);
                if (json_object_get(seen, json_string_value(name)))
                        continue;
                view_set(seen, json_string_value(name), json_true());
                (void)json_array_append(nodes, name);
        }
        json_decref(seen);
        json_decref(turned);
        view_set(json, "nodes", nodes);
}

/* ---- the queue ---- */

json_t *view_queue_row(const struct state *state, struct why *why, uint32_t slot,
                       uint32_t position, const struct object *object, int64_t now_ms)
{
        const struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];
        json_t *row = json_object();

        view_set(row, "position", json_integer(position));
        view_set(row, "id", json_integer((json_int_t)workload->id));
        view_set(row, "name", json_string(object->name));
        view_set(row, "tenant", json_string(object->tenant));
        view_set(row, "user", json_string(object->owner));
        if (state->accounts)
                view_set(row, "class",
                    json_string(state->accounts->tenancy->classes[bucket->class].name));
        view_set(row, "devices", json_integer((json_int_t)bucket_devices(state, bucket)));
        view_set(row, "waited_ms", json_integer(waited_ms(state, slot, now_ms)));
        view_set(row, "expected_ms",
            json_integer(expected_left_ms(state, slot, END_PERCENT, state->now_ms)));
        view_set(row, "starts_in_ms", json_null());
        view_set(row, "starts_in_p90_ms", json_null());
        (void)why_add(why, slot, row);
        return row;
}

static json_t *queue_row(struct live *live, struct why *why, const struct work *work,
                         uint32_t slot, uint32_t position, bool sees_all)
{
        const struct object object = {.name = work->name, .tenant = work->tenant,
                                      .owner = work->user};
        json_t *row = view_queue_row(core_state(live->core), why, slot, position, &object,
                                     core_now_ms(live->core));

        terms_eta_spans(live, slot, sees_all, row);
        return row;
}

json_t *view_queue(struct live *live, const char *tenant, uint32_t limit, bool sees_all)
{
        const struct state *state = core_state(live->core);
        struct queue_list *list = queue_list_new(state);
        struct why *why = why_new(core_memo(live->core), state, core_now_ms(live->core),
                                  sees_all);
        json_t *json = json_object(), *rows = json_array();
        uint32_t shown = 0, waiting = 0, position = 0, slot;

        while (list && why && (slot = queue_list_next(list)) != NONE) {
                const struct work *work = works_find(core_works(live->core),
                                                     state->workloads[slot].id);
                if (!work || (tenant && !tenant_is_below(work->tenant, tenant)))
                        continue;
                position++;             /* among one's own: how many others wait is theirs */
                waiting++;
                if (shown < limit) {
                        (void)json_array_append_new(rows, queue_row(live, why, work, slot,
                                                                    position, sees_all));
                        shown++;
                }
        }
        queue_list_free(list);
        why_free(why);
        view_set(json, "waiting", json_integer(waiting));
        view_set(json, "workloads", rows);
        return json;
}
