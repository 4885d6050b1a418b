/* alert_rules.h - what a policy says of alerts: which there are, and from when on each is one.
 *
 * Pure data, a part of the policy (tenancy.h); nothing is decided from it. Read by
 * proto/policy_alerts.c, looked after by the controller (controller/alerts.h). docs/alerts.md
 * describes each kind for users.
 */
#pragma once

#include <stdint.h>

/* How a kind is measured: a share in thousandths, a time in ms, or simply whether it is so. */
enum alert_measure { ALERT_SHARE, ALERT_TIME, ALERT_STATE };

#define ALERT_SEVERITIES(X)                                             \
        X(WARNING,  "warning")          /* somebody should look, today */ \
        X(CRITICAL, "critical")         /* somebody must act, now */

enum alert_severity {
#define X(name, wire) ALERT_##name,
        ALERT_SEVERITIES(X)
#undef X
        ALERT_SEVERITIES_END
};

/* X(name, word, measure, severity, threshold unless the policy says another; ALERT_OFF) */
#define ALERT_KINDS(X)                                                                          \
        X(FRAGMENTATION,   "fragmentation",     SHARE, WARNING,  250)                           \
        X(MEMORY_PRESSURE, "memory_pressure",   SHARE, CRITICAL, 900)                           \
        X(BROKEN_PROMISE,  "broken_promise",    TIME,  CRITICAL, 900000)        /* 15m */       \
        X(STALE_NODE,      "stale_node",        TIME,  WARNING,  120000)        /* 2m */        \
        X(RESTORE_TEST,    "restore_test",      TIME,  WARNING,  2592000000)    /* 30d */       \
        X(QUEUE_AGE,       "queue_age",         TIME,  WARNING,  ALERT_OFF)                     \
        X(COMMIT_LATENCY,  "commit_latency",    TIME,  WARNING,  1000)                          \
        X(CYCLE_AGE,       "cycle_age",         TIME,  CRITICAL, 10000)                         \
        X(STORE_FAILED,    "store_failed",      STATE, CRITICAL, 1)                             \
        X(AGENT_VERSION,   "agent_version",     STATE, WARNING,  1)                             \
        X(QUARANTINED,     "quarantined_input", STATE, CRITICAL, 1)                             \
        X(WEBHOOK_FAILING, "webhook_failing",   STATE, WARNING,  1)                             \
        X(STORE_BEHIND,    "store_behind",      STATE, WARNING,  1)

enum alert_kind {
#define X(name, wire, measure, severity, threshold) ALERT_##name,
        ALERT_KINDS(X)
#undef X
        ALERT_KINDS_END
};

#define ALERT_OFF           INT64_C(-1)
#define ALERT_HOLD_MS       INT64_C(60000)      /* `for` */
#define ALERT_TIME_MS_MAX   (INT64_C(400) * 86400000)
#define ALERT_URL_MAX       256                 /* bytes with the final NUL */
#define ALERT_PATH_MAX      256

struct alert_rules {
        int64_t thresholds[ALERT_KINDS_END];    /* as the kind is measured; or ALERT_OFF */
        int64_t hold_ms;        /* so long it must be so, and no longer be so, to count */
        char webhook_url[ALERT_URL_MAX];        /* "": none */
        char webhook_secret_file[ALERT_PATH_MAX];       /* "": not signed */
};

/* What holds where a policy says nothing. */
void alert_rules_default(struct alert_rules *ret_rules);

extern const char *const alert_kind_names[ALERT_KINDS_END],
        *const alert_severity_names[ALERT_SEVERITIES_END];
enum alert_measure alert_measure_of(enum alert_kind kind);
enum alert_severity alert_severity_of(enum alert_kind kind);
