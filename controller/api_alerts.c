/* Alerts: what fires, what fired, and who looks after it. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "controller/alerts.h"
#include "controller/live.h"
#include "controller/view.h"

/* What is asked for. */
struct wanted {
        struct call *call;
        bool firing, resolved, all;     /* all: the whole pool's */
        int kind;                       /* -1: any */
        int64_t limit, after;
        json_t *rows;
        uint64_t last;                  /* number of the last row */
        bool more;
};

/* Tenants see what is theirs, and nothing else of the pool. */
static bool may_see(const struct call *call, const char *tenant)
{
        return access_may(&call->who, ACTION_SEE_ALL, NULL) ||
               (tenant[0] && access_may(&call->who, ACTION_SEE, tenant));
}

static bool read_wish(struct call *call, struct wanted *wanted)
{
        char state[16] = "firing", kind[32] = "";
        struct err err;

        if (!api_query(call, "state", state, sizeof state) ||
            !api_query(call, "kind", kind, sizeof kind) ||
            !api_query_number(call, "limit", 1, API_LIMIT_MAX, &wanted->limit) ||
            !api_query_number(call, "after", 1, INT64_MAX, &wanted->after))
                return false;
        wanted->firing = str_equal(state, "firing") || str_equal(state, "all");
        wanted->resolved = str_equal(state, "resolved") || str_equal(state, "all");
        for (int k = 0; k < ALERT_KINDS_END; k++)
                if (str_equal(kind, alert_kind_names[k]))
                        wanted->kind = k;
        if (!wanted->firing && !wanted->resolved) {
                (void)err_set(&err, ERR_INPUT, "query 'state': write firing, resolved or all");
        } else if (kind[0] && wanted->kind < 0) {
                char near[STR_NEAR_MAX], show[STR_SHOW_MAX];
                (void)err_set(&err, ERR_INPUT, "query 'kind': there is no '%s'; %s",
                              str_show(kind, show),
                              str_near(alert_kind_names, ALERT_KINDS_END, kind, near,
                                       sizeof near));
        } else {
                return true;
        }
        api_fail(call, &err);
        return false;
}

static bool is_wanted(const struct wanted *wanted, const struct alert *alert)
{
        return (wanted->kind < 0 || (int)alert->kind == wanted->kind) &&
               may_see(wanted->call, alert->tenant);
}

static void add_row(struct wanted *wanted, const struct alert *alert)
{
        (void)json_array_append_new(wanted->rows, alert_json(alert, wanted->all));
        wanted->last = alert->id;
}

/* ---- firing ones: critical first, then the oldest ---- */

static int compare(const void *a, const void *b)
{
        const struct alert *x = *(const struct alert *const *)a;
        const struct alert *y = *(const struct alert *const *)b;
        int left = (int)alert_severity_of(x->kind), right = (int)alert_severity_of(y->kind);

        if (left != right)
                return right - left;
        return (x->id > y->id) - (x->id < y->id);
}

static int list_firing(struct wanted *wanted, struct err *err)
{
        const struct alerts *alerts = wanted->call->live->alerts;
        const struct alert **list = mem_new(ALERTS_MAX, sizeof(const struct alert *)), *alert;
        uint32_t cursor = 0, count = 0;

        if (!list)
                return err_set(err, ERR_NOMEM, "out of memory");
        while ((alert = alerts_next(alerts, &cursor)))
                if (is_wanted(wanted, alert))
                        list[count++] = alert;
        qsort(list, count, sizeof(const struct alert *), compare);
        for (uint32_t a = 0; a < count; a++)
                add_row(wanted, list[a]);
        mem_free(list);
        return 0;
}

/* ---- those that are over: the newest first, page by page ---- */

static int see_row(void *arg, const struct object *object, struct err *err)
{
        struct wanted *wanted = arg;
        struct alert alert;

        (void)err;
        /* Most are not for a tenant to see: they are not even read. */
        if (!may_see(wanted->call, object->tenant) || !alert_of_object(object, &alert))
                return 0;
        if (wanted->limit-- == 0) {
                wanted->more = true;
                return 1;
        }
        add_row(wanted, &alert);
        return 0;
}

static int list_resolved(struct wanted *wanted, struct err *err)
{
        const struct object_filter filter = {.kind = OBJECT_ALERT,
                                             .state = alert_state_name(ALERT_RESOLVED),
                                             .class = wanted->kind < 0
                                                              ? NULL
                                                              : alert_kind_names[wanted->kind],
                                             .ended = true,
                                             .after_id = (uint64_t)wanted->after};
        int rc = objects_list(core_view(wanted->call->live->core), &filter, see_row, wanted, err);

        return rc < 0 ? rc : 0;
}

void get_alerts(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct wanted wanted = {.kind = -1, .limit = API_LIMIT_DEFAULT};
        struct call call;
        struct err err;
        int rc = 0;

        if (!api_begin(arg, exchange, match, &call))
                return;
        wanted.call = &call;
        wanted.all = access_may(&call.who, ACTION_SEE_ALL, NULL);
        if (!read_wish(&call, &wanted))
                return;
        wanted.rows = json_array();
        if (wanted.firing && wanted.after == 0)
                rc = list_firing(&wanted, &err);
        if (rc == 0 && wanted.resolved)
                rc = list_resolved(&wanted, &err);
        if (rc < 0) {
                json_decref(wanted.rows);
                api_fail(&call, &err);
                return;
        }
        json_t *json = json_object();
        view_set(json, "alerts", wanted.rows);
        if (wanted.more)
                view_set(json, "next", json_integer((json_int_t)wanted.last));
        api_reply(&call, 200, json);
}

void post_acknowledge(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        uint64_t id = 0;
        struct call call;
        struct err err;
        struct act *act;

        if (!api_begin(arg, exchange, match, &call))
                return;
        if (access_need(&call.who, ACTION_OPERATE, NULL, "alerts", &err) < 0 ||
            num_u64(route_param(match, "id"), 1, INT64_MAX, &id, &err) < 0) {
                api_fail(&call, &err);
                return;
        }
        const char *reason = http_header(exchange, "Berth-Reason");
        struct alert alert;
        if (!(act = api_act(&call)))
                return;
        int rc = alerts_acknowledge(call.live->alerts, act, id, call.who.name,
                                    reason ? reason : "", api_now_ms(), &alert, &err);
        if (rc == 0) {
                api_commit(&call, act, 200, alert_json(&alert, true));
                return;
        }
        if (rc == -ERR_FULL || rc == -ERR_NOMEM)
                core_undo(act);
        core_commit(act, api_ignore, NULL);
        api_fail(&call, &err);
}
