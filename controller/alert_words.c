/* Alerts in words and as JSON. */
#include "controller/alerts.h"

#include <inttypes.h>
#include <stdio.h>

#include "controller/view.h"

const char *alert_state_name(enum alert_state state)
{
        static const char *const words[ALERT_STATES_END] = {
#define X(name, wire) wire,
                ALERT_STATES(X)
#undef X
        };

        return words[state];
}

const char *alert_amount_text(enum alert_kind kind, int64_t amount, char buf[ALERT_AMOUNT_MAX])
{
        buf[0] = '\0';
        switch (alert_measure_of(kind)) {
        case ALERT_SHARE:
                (void)snprintf(buf, ALERT_AMOUNT_MAX, "%" PRId64 ".%02d", amount / 1000,
                               (int)(amount % 1000 / 10));
                break;
        case ALERT_TIME:
                if (amount < 2000)
                        (void)snprintf(buf, ALERT_AMOUNT_MAX, "%" PRId64 " ms", amount);
                else if (amount < 120000)
                        (void)snprintf(buf, ALERT_AMOUNT_MAX, "%" PRId64 " s", amount / 1000);
                else if (amount < 2 * INT64_C(3600000))
                        (void)snprintf(buf, ALERT_AMOUNT_MAX, "%" PRId64 " min", amount / 60000);
                else if (amount < 2 * INT64_C(86400000))
                        (void)snprintf(buf, ALERT_AMOUNT_MAX, "%" PRId64 " h", amount / 3600000);
                else
                        (void)snprintf(buf, ALERT_AMOUNT_MAX, "%" PRId64 " days",
                                       amount / 86400000);
                break;
        case ALERT_STATE:
                break;
        }
        return buf;
}

static json_t *amount_json(enum alert_kind kind, int64_t amount)
{
        switch (alert_measure_of(kind)) {
        case ALERT_SHARE:
                return json_real((double)amount / 1000);
        case ALERT_TIME:
                return json_integer(amount);
        case ALERT_STATE:
                break;
        }
        return json_null();
}

json_t *alert_json(const struct alert *alert, bool all)
{
        static const char *const measures[] = {
                [ALERT_SHARE] = "share", [ALERT_TIME] = "ms", [ALERT_STATE] = "state"};
        json_t *json = json_object();
        bool is_acknowledged = alert->acknowledged_ms != 0;

        view_set(json, "id", json_integer((json_int_t)alert->id));
        view_set(json, "kind", json_string(alert_kind_names[alert->kind]));
        view_set(json, "severity",
                 json_string(alert_severity_names[alert_severity_of(alert->kind)]));
        view_set(json, "state", json_string(alert_state_name(alert->state)));
        view_set(json, "subject", json_string(alert->subject));
        view_set(json, "tenant", alert->tenant[0] ? json_string(alert->tenant) : json_null());
        view_set(json, "text", json_string(alert->text));
        view_set(json, "measure", json_string(measures[alert_measure_of(alert->kind)]));
        view_set(json, "value", amount_json(alert->kind, alert->value));
        view_set(json, "threshold", amount_json(alert->kind, alert->threshold));
        view_set(json, "since", view_time(alert->since_ms));
        view_set(json, "raised", view_time(alert->fired_ms));
        view_set(json, "acknowledged", view_time(alert->acknowledged_ms));
        view_set(json, "resolved", view_time(alert->resolved_ms));
        if (!all)
                return json;
        view_set(json, "acknowledged_by",
                 is_acknowledged ? json_string(alert->acknowledged_by) : json_null());
        view_set(json, "reason", is_acknowledged ? json_string(alert->reason) : json_null());
        return json;
}
