/* What has crashed the controller: listed, and let go. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "controller/alerts.h"
#include "controller/live.h"
#include "controller/quarantine.h"
#include "controller/view.h"

/* The stack as a list of lines. */
static json_t *lines_of(const char *text)
{
        json_t *list = json_array();

        while (text && *text) {
                size_t length = strcspn(text, "\n");
                (void)json_array_append_new(list, json_stringn(text, length));
                text += length + (text[length] != '\0');
        }
        return list;
}

/* Records of earlier versions do not say; nobody asks for a tick. */
static json_t *by_json(const char *by)
{
        return by && *by ? json_string(by) : json_null();
}

static json_t *view_crash(const json_t *crash)
{
        json_t *json = json_object();

        view_set(json, "at",
                 view_time(json_integer_value(json_object_get(crash, "at_ns")) / 1000000));
        (void)json_object_set(json, "signal", json_object_get(crash, "signal"));
        (void)json_object_set(json, "version", json_object_get(crash, "version"));
        view_set(json, "by", by_json(json_string_value(json_object_get(crash, "by"))));
        view_set(json, "stack", lines_of(json_string_value(json_object_get(crash, "stack"))));
        return json;
}

static json_t *view_entry(const struct quarantine_entry *entry)
{
        json_t *json = json_object(), *crashes = json_array(), *crash;
        bool engine = entry->of == CRASH_OTHER;
        size_t i;

        view_set(json, "id", json_integer((json_int_t)entry->id));
        view_set(json, "state", json_string(entry->is_held ? "held" : "suspect"));
        view_set(json, "of",
                 json_string(engine ? "engine" : crash_of_name((enum crash_of)entry->of)));
        view_set(json, "kind", json_string(entry->kind));
        view_set(json, "what", json_string(entry->what));
        view_set(json, "by", by_json(entry->by));
        view_set(json, "first", view_time(entry->first_ms));
        view_set(json, "last", view_time(entry->last_ms));
        json_array_foreach(json_object_get(entry->about, "crashes"), i, crash)
                (void)json_array_append_new(crashes, view_crash(crash));
        view_set(json, "crashes", crashes);
        (void)json_object_set(json, "input", json_object_get(entry->about, "input"));
        return json;
}

void get_quarantine(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        const struct quarantine_entry *entry;
        uint32_t cursor = 0;
        struct call call;
        struct err err;

        if (!api_begin(arg, exchange, match, &call))
                return;
        if (access_need(&call.who, ACTION_SEE_ALL, NULL, "the pool", &err) < 0) {
                api_fail(&call, &err);
                return;
        }
        json_t *json = json_object(), *rows = json_array();
        while ((entry = quarantine_next(call.api->quarantine, &cursor)))
                (void)json_array_append_new(rows, view_entry(entry));
        view_set(json, "quarantine", rows);
        api_reply(&call, 200, json);
}

/* Who lets it go has seen what it was raised for. 1: its alert is over; 0: there is none;
 * -ERR_RANGE (the reason is too long: nothing was kept), or what leaves the act to be undone. */
static int end_alert(struct call *call, struct act *act, uint64_t id, struct err *err)
{
        const char *reason = http_header(call->exchange, "Berth-Reason");
        const struct alert *alert;
        struct alert ended;
        uint32_t cursor = 0;
        char subject[24];
        int rc;

        (void)snprintf(subject, sizeof subject, "%" PRIu64, id);
        while ((alert = alerts_next(call->live->alerts, &cursor)))
                if (alert->kind == ALERT_QUARANTINED && str_equal(alert->subject, subject)) {
                        rc = alerts_acknowledge(call->live->alerts, act, alert->id,
                                                call->who.name,
                                                reason && *reason ? reason : "released",
                                                api_now_ms(), &ended, err);
                        return rc ? rc : 1;
                }
        return 0;
}

static void release(struct call *call, uint64_t id)
{
        struct err err;
        struct act *act = api_act(call);

        if (!act)
                return;
        int ended = end_alert(call, act, id, &err);
        int rc = ended < 0 ? ended : quarantine_release(call->api->quarantine, act, id, &err);
        bool is_untouched = ended == -ERR_RANGE || (ended == 0 && rc == -ERR_NOT_FOUND);
        if (rc == 0) {
                api_commit(call, act, 200, json_pack("{s:I,s:s}", "id", (json_int_t)id, "state",
                                                     "released"));
                return;
        }
        if (!is_untouched)
                core_undo(act);         /* and the list is read again */
        core_commit(act, api_ignore, NULL);
        api_fail(call, &err);
}

void delete_quarantine(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        uint64_t id = 0;
        struct call call;
        struct err err;

        if (!api_begin(arg, exchange, match, &call))
                return;
        const char *text = route_param(match, "id");
        int rc = access_need(&call.who, ACTION_OPERATE, NULL, "the pool", &err);
        if (rc == 0 && num_u64(text, 1, INT64_MAX, &id, NULL) < 0)
                rc = err_set(&err, ERR_NOT_FOUND, "nothing in quarantine has the number '%s'",
                             text);
        if (rc < 0)
                api_fail(&call, &err);
        else
                release(&call, id);
}
