/* Workloads: submitted, listed, explained, cancelled. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "controller/ending.h"
#include "controller/last_stop.h"
#include "controller/live.h"
#include "controller/submit.h"
#include "controller/view.h"
#include "controller/why.h"
#include "controller/works.h"
#include "engine/explain.h"
#include "net/problem.h"
#include "proto/explain_text.h"
#include "proto/workload_doc.h"

/* ---- submitting ---- */

/* As it stands now, before its row is on the disk. */
static json_t *fresh_workload(struct call *call, const struct submission *submission,
                              uint64_t id)
{
        const struct workload_doc *document = submission->document;
        bool live = works_find(core_works(call->live->core), id) != NULL;
        const struct object object = {.kind = OBJECT_WORKLOAD,
                                      .id = id,
                                      .tenant = document->tenant,
                                      .name = document->name,
                                      .class = document->class_name,
                                      .owner = call->who.name,
                                      .state = live ? "live" : "refused",
                                      .detail = "",
                                      .created_ms = core_now_ms(call->live->core),
                                      .ended_ms = live ? 0 : core_now_ms(call->live->core)};

        return view_workload(call->live, &object, false);
}

/* Of many only what tells them apart: an array may have 10,000 tasks. */
static json_t *fresh_row(struct call *call, uint64_t id)
{
        const struct work *work = works_find(core_works(call->live->core), id);
        json_t *row = json_object();

        view_set(row, "id", json_integer((json_int_t)id));
        view_set(row, "state", json_string(work ? view_state(call->live, work) : "refused"));
        return row;
}

static json_t *fresh_list(struct call *call, const struct submission *submission,
                          const struct submitted *submitted)
{
        json_t *list, *json;

        if (submitted->count == 1)
                return fresh_workload(call, submission, submitted->first_id);
        json = json_object();
        list = json_array();
        for (uint32_t i = 0; i < submitted->count; i++)
                (void)json_array_append_new(list, fresh_row(call, submitted->first_id + i));
        view_set(json, "name", json_string(submission->document->name));
        view_set(json, "workloads", list);
        return json;
}

/* The engine would not take it: why stands in the answer. It is known, as one that has ended. */
static void answer_refused(struct call *call, struct submission *submission,
                           const struct submitted *submitted)
{
        struct explanation *record = mem_new(1, sizeof *record);
        const struct explain_names names = {.state = core_state(call->live->core), .clock = true};
        char text[EXPLAIN_TEXT_MAX];
        struct err err;
        json_t *extra = json_object();

        view_set(extra, "id", json_integer((json_int_t)submitted->first_id));
        view_set(extra, "state", json_string("refused"));
        (void)err_set(&err, ERR_INPUT, "workload '%s' is refused", submission->document->name);
        if (record && submission_explain(call->live->core, submission, api_now_ms(), record,
                                         NULL) == 0) {
                view_set(extra, "verdict", json_string(verdict_name(record->verdict)));
                (void)err_set(&err, ERR_INPUT, "workload '%s' is refused, %s: %s",
                              submission->document->name, verdict_name(record->verdict),
                              explain_summary(record, &names, text));
                size_t used = strlen(err.text);
                if (record->has_possible)
                        (void)snprintf(err.text + used, sizeof err.text - used,
                                       " It could hold %s.",
                                       explain_request_text(&record->possible, &names, text));
        }
        problem_answer(call->exchange, 422, &err, extra);
        json_decref(extra);
        mem_free(record);
}

static void submit(struct call *call, struct submission *submission)
{
        struct submitted submitted;
        struct err err = {0};
        struct act *act = api_act(call);

        if (!act)
                return;
        if (submission_decide(act, call->live->core, submission, &call->who, &submitted, &err) <
            0) {
                core_commit(act, api_ignore, NULL);
                api_fail(call, &err);
                return;
        }
        if (submitted.refused == submitted.count) {
                core_commit(act, api_ignore, NULL);
                answer_refused(call, submission, &submitted);
                return;
        }
        api_commit(call, act, 201, fresh_list(call, submission, &submitted));
}

void post_workload(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct submission submission = {0};
        struct call call;
        struct err err;
        bool dry_run = false;
        size_t size;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query_flag(&call, "dry_run", &dry_run))
                return;
        const char *body = http_body(exchange, &size);
        if (submission_read(call.live->core, body, size, api_body_is_json(&call), &call.who,
                            &submission, &err) < 0 ||
            access_need(&call.who, ACTION_SUBMIT, submission.document->tenant,
                        submission.document->tenant, &err) < 0)
                api_fail(&call, &err);
        else if (dry_run)
                api_dry_run(&call, &submission);
        else
                submit(&call, &submission);
        submission_done(&submission);
}

/* ---- looking ---- */

/* As the caller may be told. NULL: out of memory. */
static struct why *why_of(const struct call *call)
{
        const struct live *live = call->live;

        return why_new(core_memo(live->core), core_state(live->core), core_now_ms(live->core),
                       access_may(&call->who, ACTION_SEE_ALL, NULL));
}

struct listing {
        struct call *call;
        json_t *rows;
        struct why *why;                /* NULL: not asked for */
        const char *state;              /* wanted of live ones; NULL: any */
        uint32_t left;
        uint64_t last_id;
        bool more;
};

static int list_row(void *arg, const struct object *object, struct err *err)
{
        struct listing *listing = arg;
        json_t *row;

        (void)err;
        if (!access_may(&listing->call->who, ACTION_SEE, object->tenant))
                return 0;
        row = view_workload(listing->call->live, object, false);
        if (listing->state &&
            !str_equal(json_string_value(json_object_get(row, "state")), listing->state)) {
                json_decref(row);
                return 0;
        }
        if (listing->left == 0) {
                json_decref(row);
                listing->more = true;
                return 1;
        }
        listing->left--;
        listing->last_id = object->id;
        if (listing->why && object->ended_ms == 0) {
                view_add_why(listing->call->live, row, object->id, listing->why);
                view_add_nodes(listing->call->live, row, object->id);
        }
        (void)json_array_append_new(listing->rows, row);
        return 0;
}

static const char *or_null(const char *text)
{
        return text[0] ? text : NULL;
}

void get_workloads(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char tenant[TENANT_PATH_MAX] = "", class[TENANCY_WORD_MAX] = "", name[256] = "",
             state[32] = "live";
        int64_t limit = API_LIMIT_DEFAULT, after = 0;
        struct call call;
        struct err err;
        bool mine = false, why = false;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query(&call, "tenant", tenant, sizeof tenant) ||
            !api_query(&call, "class", class, sizeof class) ||
            !api_query(&call, "name", name, sizeof name) ||
            !api_query(&call, "state", state, sizeof state) ||
            !api_query_flag(&call, "mine", &mine) || !api_query_flag(&call, "why", &why) ||
            !api_query_number(&call, "limit", 1, API_LIMIT_MAX, &limit) ||
            !api_query_number(&call, "after", 1, INT64_MAX, &after))
                return;
        if (view_state_check(state, &err) < 0) {
                api_fail(&call, &err);
                return;
        }
        bool all = str_equal(state, "all"), live = str_equal(state, "live");
        struct listing listing = {.call = &call,
                                  .rows = json_array(),
                                  .why = why ? why_of(&call) : NULL,
                                  .left = (uint32_t)limit,
                                  .state = all || live ? NULL : state};
        const struct object_filter filter = {.kind = OBJECT_WORKLOAD,
                                             .tenant = or_null(tenant),
                                             .class = or_null(class),
                                             .name = or_null(name),
                                             .owner = mine ? call.who.name : NULL,
                                             .live = true,
                                             .ended = !live,
                                             .after_id = (uint64_t)after};
        if (listing.why)
                why_set_time(listing.why, WHY_MS);
        int rc = objects_list(core_view(call.live->core), &filter, list_row, &listing, &err);
        why_free(listing.why);
        if (rc < 0) {
                json_decref(listing.rows);
                api_fail(&call, &err);
                return;
        }
        json_t *json = json_object();
        view_set(json, "workloads", listing.rows);
        if (listing.more)
                view_set(json, "next", json_integer((json_int_t)listing.last_id));
        api_reply(&call, 200, json);
}

static json_t *whole_workload(struct call *call, const struct object *object)
{
        bool sees_all = access_may(&call->who, ACTION_SEE_ALL, NULL);
        json_t *json = view_workload(call->live, object, true);
        struct why *why = why_of(call);

        if (why && object->ended_ms == 0)
                view_add_why(call->live, json, object->id, why);
        why_free(why);
        view_set(json, "last_stop", last_stop_view(call->live, object, sees_all));
        return json;
}

static void show_workload(struct call *call, uint64_t id, bool as_document)
{
        struct object_copy *copy;
        char what[48];
        struct err err;
        int rc = objects_get(core_view(call->live->core), OBJECT_WORKLOAD, id, &copy, &err);

        (void)snprintf(what, sizeof what, "workload %" PRIu64, id);
        if (rc == -ERR_NOT_FOUND)
                (void)err_set(&err, ERR_NOT_FOUND, "%s is not here, or not for %s to see", what,
                              call->who.name);
        if (rc == 0 &&
            access_need(&call->who, ACTION_SEE, copy->object.tenant, what, &err) < 0) {
                mem_free(copy);
                rc = -ERR_NOT_FOUND;
        }
        if (rc < 0) {
                api_fail(call, &err);
                return;
        }
        if (as_document)
                api_reply_document(call, copy->object.body, copy->object.size);
        else
                api_reply(call, 200, whole_workload(call, &copy->object));
        mem_free(copy);
}

void get_workload(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char format[12] = "json";
        struct call call;
        struct err err;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query(&call, "format", format, sizeof format))
                return;
        bool as_document = str_equal(format, "document");
        if (!as_document && !str_equal(format, "json")) {
                (void)err_set(&err, ERR_INPUT, "query 'format': write json or document");
                api_fail(&call, &err);
                return;
        }
        uint64_t id = api_workload(&call);
        if (id)
                show_workload(&call, id, as_document);
}

/* ---- changing ---- */

static void act_on(struct call *call, struct work *work,
                   int (*change)(struct call *, struct act *, struct work *, struct err *))
{
        struct act *act = api_act(call);
        uint64_t id = work->id;
        struct err err;
        json_t *json;

        if (!act)
                return;
        if (change(call, act, work, &err) < 0) {
                core_commit(act, api_ignore, NULL);
                api_fail(call, &err);
                return;
        }
        json = json_object();
        work = works_find(core_works(call->live->core), id);
        view_set(json, "id", json_integer((json_int_t)id));
        if (work)
                view_set(json, "name", json_string(work->name));
        view_set(json, "state",
                 json_string(work ? view_state(call->live, work) : "cancelled"));
        api_commit(call, act, 200, json);
}

static int cancel(struct call *call, struct act *act, struct work *work, struct err *err)
{
        return live_cancel(call->live, act, work, err);
}

static int hold_as(struct call *call, struct act *act, struct work *work, bool held,
                   struct err *err)
{
        const struct input input = {.kind = INPUT_HOLD_CHANGED, .hold = {work->id, held}};

        (void)call;
        return core_input(act, &input, NULL, err);
}

static int hold(struct call *call, struct act *act, struct work *work, struct err *err)
{
        return hold_as(call, act, work, true, err);
}

static int let_go(struct call *call, struct act *act, struct work *work, struct err *err)
{
        return hold_as(call, act, work, false, err);
}

/* With the run stays who ended it. */
static int stop(struct call *call, struct act *act, const struct work *work, bool now,
                struct err *err)
{
        const char *reason = http_header(call->exchange, "Berth-Reason");
        uint64_t id = work->id;
        int rc = live_restart(call->live, act, work, now, err);

        if (rc < 0)
                return rc;
        rc = ending_asked(act, id, call->who.name, reason, core_now_ms(call->live->core), err);
        if (rc < 0)
                core_undo(act);
        return rc;
}

/* Its owner need not wait for a notice. */
static int restart(struct call *call, struct act *act, struct work *work, struct err *err)
{
        return stop(call, act, work, true, err);
}

static int preempt(struct call *call, struct act *act, struct work *work, struct err *err)
{
        const char *reason = http_header(call->exchange, "Berth-Reason");

        if (access_need(&call->who, ACTION_OPERATE, NULL, "work of others", err) < 0)
                return -ERR_DENIED;
        if (!reason || !*reason)
                return err_set(err, ERR_INPUT,
                               "say why: whoever loses its work will read it "
                               "(header Berth-Reason)");
        return stop(call, act, work, false, err);
}

static void change_workload(struct http_exchange *exchange, const struct route_match *match,
                            void *arg,
                            int (*change)(struct call *, struct act *, struct work *,
                                          struct err *))
{
        struct call call;
        struct work *work;

        if (api_begin(arg, exchange, match, &call) &&
            (work = api_live_work(&call, ACTION_MANAGE)))
                act_on(&call, work, change);
}

/* A number is one workload; a name means all that live of it. */
void delete_workload(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        const char *id = route_param(match, "id");
        uint64_t number;
        struct call call;
        struct work *work;

        if (!api_begin(arg, exchange, match, &call))
                return;
        if (num_u64(id, 1, INT64_MAX, &number, NULL) < 0)
                api_cancel_named(&call, id);
        else if ((work = api_live_work(&call, ACTION_MANAGE)))
                act_on(&call, work, cancel);
}

void post_hold(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        change_workload(exchange, match, arg, hold);
}

void post_release(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        change_workload(exchange, match, arg, let_go);
}

void post_restart(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        change_workload(exchange, match, arg, restart);
}

void post_preempt(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        change_workload(exchange, match, arg, preempt);
}
