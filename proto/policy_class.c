#include <inttypes.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/units.h"
#include "proto/policy_impl.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)
#define YEAR_MS   (366 * DAY_MS)

#define RANK_MAX          1000
#define NOTICE_MS_MAX     HOUR_MS
#define STOPS_PER_DAY_MAX 1000

#define BIT(method) (1u << METHOD_##method)

/* ---- presets ---- */

/* What a class is where it says nothing else. */
static const struct service_class plain_class = {
        .methods = BIT(WHOLE) | BIT(SLICE),
        .stop = STOP_FOR_PROTECT,
        .order = ORDER_ARRIVAL,
        .by_weight = true,
        .notice_ms = 2 * MINUTE_MS,
        .exempt_ms = 20 * MINUTE_MS,
        .stops_per_day = 3,
        .hold_after_ms = 10 * MINUTE_MS,
        .on_lost_contact = LOST_CONTACT_STOP_AT_LEASE,
        .planes = UINT64_MAX,
};

static void make_interactive(struct service_class *class)
{
        class->rank = 1;
        class->methods = BIT(WHOLE) | BIT(SLICE) | BIT(SHARE);
        class->notice_ms = 5 * MINUTE_MS;
        class->exempt_ms = HOUR_MS;
        class->stops_per_day = 1;
        class->hold_after_ms = 5 * MINUTE_MS;
        class->typical_communication = COMMUNICATION_LOW;
}

static void make_training(struct service_class *class)
{
        class->rank = 2;
        class->order = ORDER_SHORTEST;
        class->notice_ms = 5 * MINUTE_MS;
        class->typical_compute_milli = SHARE_WHOLE;
        class->typical_communication = COMMUNICATION_HIGH;
}

static void make_batch(struct service_class *class)
{
        class->rank = 3;
        class->methods = BIT(WHOLE) | BIT(SLICE) | BIT(SHARE);
        class->order = ORDER_SHORTEST;
        class->stop = STOP_ALWAYS;
        class->above_limit = ABOVE_LIMIT_SPARE;
        class->exempt_ms = 5 * MINUTE_MS;
        class->hold_after_ms = 30 * MINUTE_MS;
        class->typical_communication = COMMUNICATION_LOW;
}

static const struct {
        const char *name;
        void (*make)(struct service_class *class);
} preset_classes[] = {
        {"interactive", make_interactive},
        {"training", make_training},
        {"batch", make_batch},
};

static bool make_preset_class(enum preset preset, const char *name, struct service_class *class)
{
        for (size_t i = 0; i < ARRAY_LEN(preset_classes); i++) {
                if (!str_equal(preset_classes[i].name, name))
                        continue;
                preset_classes[i].make(class);
                /* Shortest first and least borrowed first pull apart: see docs/policy.md. */
                class->by_weight = preset == PRESET_EQUAL || class->order == ORDER_ARRIVAL;
                if (preset == PRESET_EQUAL)
                        class->stop = STOP_FOR_PROTECT;
                if (preset == PRESET_STRICT) {
                        class->methods = BIT(WHOLE) | BIT(SLICE);
                        class->above_limit = ABOVE_LIMIT_WAIT;
                }
                return true;
        }
        return false;
}

void policy_apply_preset(struct tenancy *tenancy, enum preset preset)
{
        tenancy->preset = preset;
        tenancy->rules = (struct tenancy_rules){
                .over_jobs = preset == PRESET_STRICT ? OVER_JOBS_REFUSE : OVER_JOBS_WAIT,
                .stop_rate_pct = 5,
                .stop_rate_ms = 10 * MINUTE_MS,
        };
        alert_rules_default(&tenancy->alerts);
        /* Where a promise is strict, a broken one is an alert sooner. */
        if (preset == PRESET_STRICT)
                tenancy->alerts.thresholds[ALERT_BROKEN_PROMISE] = 5 * MINUTE_MS;
}

/* ---- one class ---- */

static int read_stops_per_day(const struct doc_node *node, uint32_t *ret_stops, struct err *err)
{
        if (node && doc_raw(node) && str_equal(doc_raw(node), "unlimited")) {
                *ret_stops = STOPS_UNLIMITED;
                return 0;
        }
        return doc_u32(node, 0, STOPS_PER_DAY_MAX, ret_stops, err);
}

static int read_enum(const struct doc_node *map, const char *key, const char *const *names,
                     size_t count, uint8_t *ret_value, struct err *err)
{
        unsigned value = *ret_value;
        int rc = doc_choice(doc_get(map, key), names, count, &value, err);

        *ret_value = (uint8_t)value;
        return rc;
}

/* time_slice: {levels: [1h, 8h, 64h]} */
static int read_time_slice(const struct doc_node *map, struct service_class *class, struct err *err)
{
        static const char *const keys[] = {"levels"};
        const struct doc_node *list;
        int64_t before = 0;
        int rc;

        if (!map)
                return 0;
        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(map, "levels", &list, err)) < 0 ||
            (rc = doc_check_list(list, 1, TIME_SLICES_MAX, err)) < 0)
                return rc;
        if (class->stop == STOP_NEVER)
                return doc_fail(map, err,
                                "stops work for other work of the class, but the class says "
                                "'stop: never'; leave one of the two out");
        class->time_slices_count = 0;
        DOC_EACH(node, list) {
                int64_t level = 0;
                if ((rc = doc_duration_ms(node, MINUTE_MS, YEAR_MS, &level, err)) < 0)
                        return rc;
                if (level <= before)
                        return doc_fail(node, err,
                                        "does not rise above the level before it; write "
                                        "levels from the shortest to the longest");
                before = level;
                class->time_slice_ms[class->time_slices_count++] = level;
        }
        return 0;
}

/* idle_after: {time: 2h, then: demote} */
static int read_idle(const struct doc_node *map, struct service_class *class, struct err *err)
{
        static const char *const keys[] = {"time", "then"};
        const struct doc_node *time, *then;
        int rc;

        if (!map)
                return 0;
        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(map, "time", &time, err)) < 0 ||
            (rc = doc_need(map, "then", &then, err)) < 0 ||
            (rc = doc_duration_ms(time, MINUTE_MS, 30 * DAY_MS, &class->idle_after_ms, err)) < 0)
                return rc;
        return read_enum(map, "then", idle_then_names, IDLE_THENS_END, &class->idle_then, err);
}

static int read_typical(const struct doc_node *map, struct service_class *class, struct err *err)
{
        static const char *const keys[] = {
                "memory", "compute", "communication", "duration", "latency",
        };
        uint64_t memory = class->typical_memory_mib, compute = class->typical_compute_milli;
        int rc;

        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_size_mib(doc_get(map, "memory"), 1, DEVICE_MIB_MAX, &memory, err)) < 0 ||
            (rc = doc_milli(doc_get(map, "compute"), 1, SHARE_WHOLE, &compute, err)) < 0 ||
            (rc = read_enum(map, "communication", communication_names, COMMUNICATIONS_END,
                            &class->typical_communication, err)) < 0 ||
            (rc = doc_duration_ms(doc_get(map, "duration"), SECOND_MS, YEAR_MS,
                                  &class->typical_duration_ms, err)) < 0 ||
            (rc = doc_duration_ms(doc_get(map, "latency"), 1, HOUR_MS, &class->typical_latency_ms,
                                  err)) < 0)
                return rc;
        class->typical_memory_mib = (uint32_t)memory;
        class->typical_compute_milli = (uint16_t)compute;
        return 0;
}

static int read_terms(const struct doc_node *map, struct service_class *class, struct err *err)
{
        int rc;

        if ((rc = read_enum(map, "stop", stop_names, STOPS_END, &class->stop, err)) < 0 ||
            (rc = doc_duration_ms(doc_get(map, "notice"), 0, NOTICE_MS_MAX, &class->notice_ms,
                                  err)) < 0 ||
            (rc = doc_duration_ms(doc_get(map, "exempt"), 0, 30 * DAY_MS, &class->exempt_ms, err)) <
                    0 ||
            (rc = read_stops_per_day(doc_get(map, "stops_per_day"), &class->stops_per_day, err)) <
                    0 ||
            (rc = read_enum(map, "above_limit", above_limit_names, ABOVE_LIMITS_END,
                            &class->above_limit, err)) < 0 ||
            (rc = read_idle(doc_get(map, "idle_after"), class, err)) < 0)
                return rc;
        /* A preset's "spare" goes when the document says "never". */
        if (class->stop == STOP_NEVER && !doc_get(map, "above_limit"))
                class->above_limit = ABOVE_LIMIT_WAIT;
        if (class->stop == STOP_NEVER && class->above_limit == ABOVE_LIMIT_SPARE)
                return doc_fail(doc_get(map, "above_limit"), err,
                                "spare work may be stopped by all other, but the class says 'stop: "
                                "never'; write wait, or stop: for_protect");
        if (class->stop == STOP_NEVER && class->idle_then == IDLE_THEN_DEMOTE)
                return doc_fail(doc_get(map, "idle_after"), err,
                                "makes idle work spare, which may be stopped by all other, but the "
                                "class says 'stop: never'; write then: warn, or stop: for_protect");
        return 0;
}

static int read_limits(const struct doc_node *map, struct service_class *class, struct err *err)
{
        const struct doc_node *limit = doc_get(map, "time_limit");
        int rc;

        if ((rc = doc_duration_ms(limit, MINUTE_MS, YEAR_MS, &class->time_limit_ms, err)) < 0 ||
            (rc = doc_duration_ms(doc_get(map, "time_limit_max"), MINUTE_MS, YEAR_MS,
                                  &class->time_limit_max_ms, err)) < 0)
                return rc;
        if (class->time_limit_max_ms > 0 && class->time_limit_ms > class->time_limit_max_ms)
                return doc_fail(limit ? limit : map, err,
                                "the time_limit of work that names none is above time_limit_max; "
                                "lower it");
        return 0;
}

static void warn_of_terms(struct policy_reader *reader, const struct doc_node *map,
                          const struct service_class *class)
{
        static const char *const terms[] = {"notice", "exempt", "stops_per_day"};

        /* Idle work is stopped with notice, whatever the class says of stops for capacity. */
        size_t first = class->idle_then == IDLE_THEN_STOP ? 1 : 0;
        for (size_t i = first; class->stop == STOP_NEVER && i < ARRAY_LEN(terms); i++)
                if (doc_get(map, terms[i]))
                        policy_warn(reader, doc_get(map, terms[i]),
                                    "has no effect beside 'stop: never'");
        if (class->stop != STOP_NEVER && class->stops_per_day == 0)
                policy_warn(reader, doc_get(map, "stops_per_day"),
                            "0 stops a day is what 'stop: never' says; the class is never stopped");
}

static int read_class(struct policy_reader *reader, const struct doc_node *map, bool is_preset,
                      struct service_class *class, struct err *err)
{
        static const char *const keys[] = {
                "rank",          "methods",    "stop",           "notice",      "exempt",
                "stops_per_day", "order",      "by_weight",      "above_limit", "hold_after",
                "time_slice",    "apart_from", "spread",         "idle_after",  "on_lost_contact",
                "planes",        "time_limit", "time_limit_max", "typical",
        };
        int rc;

        if (doc_kind(map) == DOC_NULL && is_preset)
                return 0;
        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0)
                return rc;
        if (!is_preset && !doc_get(map, "rank"))
                return doc_fail(map, err, "field 'rank' is missing; add it: 1 goes before 2");
        if ((rc = doc_u32(doc_get(map, "rank"), 0, RANK_MAX, &class->rank, err)) < 0 ||
            (rc = policy_read_methods(doc_get(map, "methods"), &class->methods, err)) < 0 ||
            (rc = read_terms(map, class, err)) < 0 ||
            (rc = read_enum(map, "order", class_order_names, CLASS_ORDERS_END, &class->order,
                            err)) < 0 ||
            (rc = doc_bool(doc_get(map, "by_weight"), &class->by_weight, err)) < 0 ||
            (rc = doc_duration_ms(doc_get(map, "hold_after"), 0, 30 * DAY_MS, &class->hold_after_ms,
                                  err)) < 0 ||
            (rc = read_time_slice(doc_get(map, "time_slice"), class, err)) < 0 ||
            (rc = read_enum(map, "spread", spread_names, SPREAD_LEVELS_END, &class->spread, err)) <
                    0 ||
            (rc = read_enum(map, "on_lost_contact", lost_contact_names, LOST_CONTACTS_END,
                            &class->on_lost_contact, err)) < 0 ||
            (rc = policy_read_planes(reader, doc_get(map, "planes"), &class->planes, err)) < 0 ||
            (rc = read_limits(map, class, err)) < 0)
                return rc;
        warn_of_terms(reader, map, class);
        return doc_get(map, "typical") ? read_typical(doc_get(map, "typical"), class, err) : 0;
}

/* apart_from: {device: [test], node: [batch]}; holds both ways. */
static int read_apart(struct policy_reader *reader, unsigned index, const struct doc_node *map,
                      struct err *err)
{
        static const char *const keys[] = {"device", "node"};
        struct tenancy *tenancy = reader->tenancy;
        uint64_t device = 0, node = 0;
        int rc;

        if (!map)
                return 0;
        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = policy_read_classes(reader, doc_get(map, "device"), &device, err)) < 0 ||
            (rc = policy_read_classes(reader, doc_get(map, "node"), &node, err)) < 0)
                return rc;
        device |= node; /* not on the same node is not on the same device either */
        for (unsigned other = 0; other < tenancy->classes_count; other++) {
                if (device >> other & 1) {
                        tenancy->classes[index].apart_device |= UINT64_C(1) << other;
                        tenancy->classes[other].apart_device |= UINT64_C(1) << index;
                }
                if (node >> other & 1) {
                        tenancy->classes[index].apart_node |= UINT64_C(1) << other;
                        tenancy->classes[other].apart_node |= UINT64_C(1) << index;
                }
        }
        return 0;
}

int policy_read_all_classes(struct policy_reader *reader, const struct doc_node *root,
                            struct err *err)
{
        const struct doc_node *map = doc_get(root, "classes");
        struct tenancy *tenancy = reader->tenancy;
        unsigned index = 0;
        int rc;

        for (size_t i = 0; !map && i < ARRAY_LEN(preset_classes); i++) {
                struct service_class *class = &tenancy->classes[tenancy->classes_count++];
                *class = plain_class;
                (void)str_copy(class->name, sizeof class->name, preset_classes[i].name);
                make_preset_class(tenancy->preset, class->name, class);
        }
        if (!map)
                return 0;
        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        if (doc_length(map) == 0 || doc_length(map) > CLASSES_MAX)
                return doc_fail(map, err,
                                "has %zu classes; write 1 to %d, or leave it out for the "
                                "preset's",
                                doc_length(map), CLASSES_MAX);
        DOC_EACH(node, map) {
                struct service_class *class = &tenancy->classes[tenancy->classes_count++];
                *class = plain_class;
                if ((rc = policy_copy_name(node, doc_key(node), class->name, err)) < 0)
                        return rc;
                bool is_preset = make_preset_class(tenancy->preset, class->name, class);
                if ((rc = read_class(reader, node, is_preset, class, err)) < 0)
                        return rc;
        }
        DOC_EACH(node, map)
                if ((rc = read_apart(reader, index++, doc_get(node, "apart_from"), err)) < 0)
                        return rc;
        return 0;
}
