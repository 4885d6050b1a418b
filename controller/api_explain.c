/* Why work waits, what waits, why devices are idle, what would start now: as text, or as JSON; of
 * now, or as it was. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/explained.h"
#include "controller/last_stop.h"
#include "controller/live.h"
#include "controller/past.h"
#include "controller/view.h"
#include "controller/works.h"
#include "engine/explain.h"
#include "proto/explain_text.h"

#define QUEUE_USUAL 50 /* rows, where nothing is said */

static const char *name_of(void *arg, uint64_t id)
{
        const struct work *work = works_find(arg, id);

        return work ? work->name : NULL;
}

static void reply(struct call *call, const struct explained *it, const char *last_stop,
                  bool as_text)
{
        const struct explain_names names = {.state = core_state(call->live->core),
                                            .clock = true,
                                            .last_stop = last_stop,
                                            .workload = name_of,
                                            .arg = core_works(call->live->core)};
        char *bytes;
        size_t size;
        struct err err;

        if (explained_write(it, &names, as_text, &bytes, &size, &err) < 0) {
                api_fail(call, &err);
                return;
        }
        api_reply_text(call, explained_type(as_text), bytes, size);
        free(bytes);
}

/* How the work's last run ended. NULL: it had none, or that cannot be read. */
static const char *last_stop_of(struct call *call, uint64_t id, bool sees_everything,
                                char buf[LAST_STOP_TEXT_MAX])
{
        struct object_copy *copy;

        buf[0] = '\0';
        if (objects_get(core_view(call->live->core), OBJECT_WORKLOAD, id, &copy, NULL) == 0) {
                json_t *stop = last_stop_view(call->live, &copy->object, sees_everything);
                last_stop_text(stop, buf);
                json_decref(stop);
                mem_free(copy);
        }
        return buf[0] ? buf : NULL;
}

/* ---- as it was ---- */

/* 0: none is asked for. False: answered. */
static bool take_at(struct call *call, int64_t *ret_at_ms)
{
        int64_t at_ms = -1;
        struct err err;

        *ret_at_ms = 0;
        if (!api_query_time(call, "at", &at_ms))
                return false;
        if (at_ms > api_now_ms()) {
                (void)err_set(&err, ERR_RANGE, "query 'at': that time has not come yet");
                api_fail(call, &err);
                return false;
        }
        if (at_ms >= 0)
                *ret_at_ms = at_ms > 0 ? at_ms : 1;
        return true;
}

struct past_ask {
        struct api_aside aside;
        struct past_question question;
};

static int work_at_past(void *self, struct store *view, store_stops *stops, void *stops_arg,
                        struct err *err)
{
        struct past_ask *ask = self;
        const struct past_limits limits = {.records_max = PAST_RECORDS_MAX,
                                           .stops = stops,
                                           .stops_arg = stops_arg};

        ask->aside.type = explained_type(ask->question.as_text);
        return past_answer(view, &ask->question, &limits, &ask->aside.bytes, &ask->aside.size,
                           err);
}

/* In pieces: what is past changes no more, and the WAL would grow. */
static const struct aside_kind past_kind = {
        .lane = ASIDE_PAST,
        .in_pieces = true,
        .if_too_long = "the snapshot before that time is far back; ask for a later time",
        .work = work_at_past,
        .is_unwanted = api_aside_is_unwanted,
        .done = api_aside_done};

static void ask_past(struct call *call, const struct past_question *question)
{
        struct past_ask *ask = mem_new(1, sizeof *ask);

        if (ask)
                ask->question = *question;
        api_answer_aside(call, &past_kind, ask ? &ask->aside : NULL);
}

/* Work that may have ended since: who may see it is asked of the policy of now. */
static void explain_past(struct call *call, struct past_question *question)
{
        uint64_t id = api_workload(call);
        struct object_copy *copy;
        char what[48];
        struct err err;

        if (id == 0)
                return;
        (void)snprintf(what, sizeof what, "workload %" PRIu64, id);
        int rc = objects_get(core_view(call->live->core), OBJECT_WORKLOAD, id, &copy, &err);
        if (rc == 0) {
                rc = access_need(&call->who, ACTION_SEE, copy->object.tenant, what, &err);
                question->workload = id;
                question->submitted_ms = copy->object.created_ms;
                question->ended_ms = copy->object.ended_ms;
                (void)str_copy(question->tenant, sizeof question->tenant, copy->object.tenant);
                mem_free(copy);
        } else if (rc == -ERR_NOT_FOUND) {
                (void)err_set(&err, ERR_NOT_FOUND, "%s is not here, or not for %s to see", what,
                              call->who.name);
        }
        if (rc < 0)
                api_fail(call, &err);
        else
                ask_past(call, question);
}

/* ---- work ---- */

/* As an operator, and not in the view of a tenant. */
static bool sees_all(const struct call *call, const char *view)
{
        return !str_equal(view, "tenant") && access_may(&call->who, ACTION_SEE_ALL, NULL);
}

static struct viewer viewer_of(const struct call *call, const struct work *work, const char *view)
{
        const struct tenancy *tenancy = core_tenancy(call->live->core);
        int tenant = tenancy ? tenancy_find(tenancy, work->tenant) : -1;

        return (struct viewer){.is_operator = sees_all(call, view),
                               .tenant = tenant < 0 ? 0 : (uint16_t)tenant};
}

void get_explanation(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char view[16] = "", format[8] = "json", last[LAST_STOP_TEXT_MAX];
        struct call call;
        struct err err = {ERR_NOMEM, "out of memory"};
        struct work *work;
        int64_t at_ms;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query(&call, "view", view, sizeof view) ||
            !api_query(&call, "format", format, sizeof format) || !take_at(&call, &at_ms))
                return;
        if (at_ms) {
                explain_past(&call, &(struct past_question){
                                            .at_ms = at_ms,
                                            .is_operator = sees_all(&call, view),
                                            .as_text = str_equal(format, "text")});
                return;
        }
        if (!(work = api_live_work(&call, ACTION_SEE)))
                return;
        struct explanation *record = mem_new(1, sizeof *record);
        const struct state *state = core_state(call.live->core);
        if (!record ||
            explain(core_memo(call.live->core), state, work->id, api_now_ms(), record, &err) < 0 ||
            explain_view(record, state, viewer_of(&call, work, view), &err) < 0) {
                api_fail(&call, &err);
        } else {
                record->snapshot = core_last_seq(call.live->core);
                reply(&call, &(struct explained){.record = record},
                      last_stop_of(&call, work->id, sees_all(&call, view), last),
                      str_equal(format, "text"));
        }
        mem_free(record);
}

/* ---- the queue ---- */

void get_queue(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct past_question question = {0};
        int64_t limit = QUEUE_USUAL;
        struct call call;

        if (!api_begin(arg, exchange, match, &call) || !api_tenant(&call, question.tenant) ||
            !api_query_number(&call, "limit", 1, API_LIMIT_MAX, &limit) ||
            !take_at(&call, &question.at_ms))
                return;
        question.queue = (uint32_t)limit;
        question.is_operator = access_may(&call.who, ACTION_SEE_ALL, NULL);
        if (question.at_ms)
                ask_past(&call, &question);
        else
                api_reply(&call, 200,
                          view_queue(call.live, question.tenant[0] ? question.tenant : NULL,
                                     question.queue, question.is_operator));
}

/* ---- capacity ---- */

void get_idle(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char format[8] = "json";
        struct explained_idle *idle;
        struct call call;
        struct err err = {ERR_NOMEM, "out of memory"};
        int64_t at_ms;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query(&call, "format", format, sizeof format) || !take_at(&call, &at_ms))
                return;
        if (access_need(&call.who, ACTION_SEE_ALL, NULL, "idle capacity", &err) < 0) {
                api_fail(&call, &err);
                return;
        }
        if (at_ms) {
                ask_past(&call, &(struct past_question){.at_ms = at_ms,
                                                        .as_text = str_equal(format, "text")});
                return;
        }
        idle = mem_new(1, sizeof *idle);
        if (idle && explain_idle(core_memo(call.live->core), core_state(call.live->core),
                                 api_now_ms(), idle, &err) == 0) {
                idle->snapshot = core_last_seq(call.live->core);
                reply(&call, &(struct explained){.idle = idle}, NULL, str_equal(format, "text"));
        } else {
                api_fail(&call, &err);
        }
        mem_free(idle);
}

void get_fits(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char tenant[TENANT_PATH_MAX], class[TENANCY_WORD_MAX] = "", format[8] = "json";
        const struct tenancy *tenancy;
        struct call call;
        struct err err;

        if (!api_begin(arg, exchange, match, &call) || !api_tenant(&call, tenant) ||
            !api_query(&call, "class", class, sizeof class) ||
            !api_query(&call, "format", format, sizeof format))
                return;
        tenancy = core_tenancy(call.live->core);
        int number = tenancy && tenant[0] ? tenancy_find(tenancy, tenant) : 0;
        int class_number = !tenancy   ? 0
                           : class[0] ? tenancy_class_find(tenancy, class)
                                      : tenancy->default_class;
        if (number < 0 || class_number < 0 || (tenancy && class_number >= CLASSES_MAX)) {
                if (number >= 0 && class[0] == '\0')
                        (void)err_set(&err, ERR_INPUT, "the policy has no default_class: name one "
                                                       "with 'class'");
                else
                        (void)err_set(&err, ERR_NOT_FOUND, "the policy has no %s '%s'",
                                      number < 0 ? "tenant" : "class", number < 0 ? tenant : class);
                api_fail(&call, &err);
                return;
        }
        struct explained_fits *fits = mem_new(1, sizeof *fits);
        (void)err_set(&err, ERR_NOMEM, "out of memory");
        if (fits && explain_fits(core_memo(call.live->core), core_state(call.live->core),
                                 (uint16_t)number, (uint16_t)class_number, api_now_ms(), fits,
                                 &err) == 0)
                reply(&call, &(struct explained){.fits = fits}, NULL, str_equal(format, "text"));
        else
                api_fail(&call, &err);
        mem_free(fits);
}
