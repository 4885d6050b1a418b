#include "engine/alert_rules.h"

const char *const alert_kind_names[ALERT_KINDS_END] = {
#define X(name, wire, measure, severity, threshold) wire,
        ALERT_KINDS(X)
#undef X
};

const char *const alert_severity_names[ALERT_SEVERITIES_END] = {
#define X(name, wire) wire,
        ALERT_SEVERITIES(X)
#undef X
};

enum alert_measure alert_measure_of(enum alert_kind kind)
{
        static const uint8_t measures[ALERT_KINDS_END] = {
#define X(name, wire, measure, severity, threshold) ALERT_##measure,
                ALERT_KINDS(X)
#undef X
        };

        return (enum alert_measure)measures[kind];
}

enum alert_severity alert_severity_of(enum alert_kind kind)
{
        static const uint8_t severities[ALERT_KINDS_END] = {
#define X(name, wire, measure, severity, threshold) ALERT_##severity,
                ALERT_KINDS(X)
#undef X
        };

        return (enum alert_severity)severities[kind];
}

void alert_rules_default(struct alert_rules *ret_rules)
{
        *ret_rules = (struct alert_rules){
                .thresholds = {
#define X(name, wire, measure, severity, threshold) [ALERT_##name] = threshold,
                        ALERT_KINDS(X)
#undef X
                },
                .hold_ms = ALERT_HOLD_MS};
}
