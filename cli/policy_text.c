/* Policy words as sentences; shared by the table and the diff. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "cli/policy_out.h"

/* A text that grows and is cut at the end of its buffer. */
struct text {
        char *buf;
        size_t size, length;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
        va_list args;

        if (text->length + 1 >= text->size)
                return;
        va_start(args, format);
        int more = vsnprintf(text->buf + text->length, text->size - text->length, format, args);
        va_end(args);
        if (more > 0)
                text->length += (size_t)more;
        if (text->length >= text->size)
                text->length = text->size - 1;
}

/* In the order of the alphabet: that of the bits is the order of one document. */
static const char *names_text(const char *names, size_t stride, size_t count, uint64_t set,
                              const char *nothing, char *buf, size_t size)
{
        struct text text = {buf, size, 0};

        buf[0] = '\0';
        if (set == UINT64_MAX) {
                add(&text, "all");
                return buf;
        }
        for (const char *last = "", *next;; last = next) {
                next = NULL;
                for (size_t i = 0; i < count; i++) {
                        const char *name = names + i * stride;
                        if (set >> i & 1 && strcmp(name, last) > 0 &&
                            (!next || strcmp(name, next) < 0))
                                next = name;
                }
                if (!next)
                        break;
                add(&text, "%s%s", text.length ? ", " : "", next);
        }
        if (text.length == 0)
                add(&text, "%s", nothing);
        return buf;
}

const char *policy_planes_text(const struct tenancy *tenancy, uint64_t planes, char *buf,
                               size_t size)
{
        return names_text(tenancy->planes[0], sizeof tenancy->planes[0], tenancy->planes_count,
                          planes, "no plane", buf, size);
}

const char *policy_classes_text(const struct tenancy *tenancy, uint64_t classes, char *buf,
                                size_t size)
{
        return names_text(tenancy->classes[0].name, sizeof tenancy->classes[0],
                          tenancy->classes_count, classes, "no class", buf, size);
}

const char *policy_trusts_text(const struct tenancy *tenancy, uint64_t trusts, char *buf,
                               size_t size)
{
        return names_text(tenancy->trusts[0].name, sizeof tenancy->trusts[0], tenancy->trusts_count,
                          trusts, "no domain", buf, size);
}

const char *policy_methods_text(uint8_t methods, char buf[POLICY_TEXT_MAX])
{
        struct text text = {buf, POLICY_TEXT_MAX, 0};

        buf[0] = '\0';
        if (methods == CLASS_METHOD_ALL) {
                add(&text, "all");
                return buf;
        }
        for (unsigned i = 0; i < CLASS_METHODS; i++)
                if (methods >> i & 1)
                        add(&text, "%s%s", text.length ? ", " : "", class_method_names[i]);
        if (text.length == 0)
                add(&text, "no method");
        return buf;
}

const char *policy_budget_text(const struct budget *budget, char buf[POLICY_TEXT_MAX])
{
        uint64_t milli = budget->device_ms / 3600;

        if (milli % 1000)
                snprintf(buf, POLICY_TEXT_MAX,
                         "%" PRIu64 ".%03" PRIu64 " device-hours a %s, then %s", milli / 1000,
                         milli % 1000, period_name((enum period)budget->period),
                         on_empty_names[budget->on_empty]);
        else
                snprintf(buf, POLICY_TEXT_MAX, "%" PRIu64 " device-hours a %s, then %s",
                         milli / 1000, period_name((enum period)budget->period),
                         on_empty_names[budget->on_empty]);
        return buf;
}

const char *policy_lend_text(unsigned dimension, uint64_t amount, char buf[POLICY_TEXT_MAX])
{
        if (amount == AMOUNT_UNLIMITED)
                snprintf(buf, POLICY_TEXT_MAX, "all");
        else
                policy_amount_unit_text(dimension, amount, buf);
        return buf;
}

/* ---- the terms of a class ---- */

static void add_stop(struct text *text, const struct service_class *class)
{
        static const char *const whom[] = {
                [STOP_NEVER] = "never stopped for capacity",
                [STOP_FOR_PROTECT] = "stopped only for somebody's protect",
                [STOP_ALWAYS] = "stopped for all that goes before it",
        };
        char notice[POLICY_TEXT_MAX], exempt[POLICY_TEXT_MAX];

        add(text, "%s", whom[class->stop]);
        if (class->stop == STOP_NEVER)
                return;
        add(text, ", with %s notice", policy_duration_text(class->notice_ms, notice));
        if (class->exempt_ms > 0)
                add(text, ", not in its first %s", policy_duration_text(class->exempt_ms, exempt));
        if (class->stops_per_day != STOPS_UNLIMITED)
                add(text, ", at most %" PRIu32 " time%s a day", class->stops_per_day,
                    class->stops_per_day == 1 ? "" : "s");
}

static void add_order(struct text *text, const struct service_class *class)
{
        char buf[POLICY_TEXT_MAX];

        add(text, "; %s",
            class->order == ORDER_SHORTEST ? "shortest expected first" : "in order of arrival");
        if (!class->by_weight)
                add(text, ", whatever the tenants' weights");
        for (unsigned i = 0; i < class->time_slices_count; i++)
                add(text, "%s%s", i ? ", " : "; time slices of ",
                    policy_duration_text(class->time_slice_ms[i], buf));
        add(text, "; room is kept for it after %s",
            policy_duration_text(class->hold_after_ms, buf));
        add(text, "; above the limit it %s",
            class->above_limit == ABOVE_LIMIT_SPARE ? "runs as spare" : "waits");
}

static void add_rest(struct text *text, const struct tenancy *tenancy,
                     const struct service_class *class)
{
        char buf[POLICY_NAMES_MAX];

        if (class->idle_then != IDLE_THEN_NOTHING) {
                add(text, "; idle for %s: ", policy_duration_text(class->idle_after_ms, buf));
                add(text, "%s", idle_then_names[class->idle_then]);
        }
        if (class->apart_device & ~class->apart_node)
                add(text, "; on no device with %s",
                    policy_classes_text(tenancy, class->apart_device & ~class->apart_node, buf,
                                        sizeof buf));
        if (class->apart_node)
                add(text, "; on no node with %s",
                    policy_classes_text(tenancy, class->apart_node, buf, sizeof buf));
        if (class->spread != SPREAD_NONE)
                add(text, "; replicas on different %ss", spread_names[class->spread]);
        if (class->planes != UINT64_MAX)
                add(text, "; in plane %s",
                    policy_planes_text(tenancy, class->planes, buf, sizeof buf));
        if (class->time_limit_ms > 0)
                add(text, "; ends after %s where it names no limit",
                    policy_duration_text(class->time_limit_ms, buf));
        if (class->time_limit_max_ms > 0)
                add(text, "; at most %s", policy_duration_text(class->time_limit_max_ms, buf));
        add(text, "; when its node is silent it %s",
            class->on_lost_contact == LOST_CONTACT_CONTINUE ? "goes on" : "stops at its lease");
}

const char *policy_class_text(const struct tenancy *tenancy, const struct service_class *class,
                              char *buf, size_t size)
{
        struct text text = {buf, size, 0};
        char methods[POLICY_TEXT_MAX];

        buf[0] = '\0';
        add(&text, "%s; ", policy_methods_text(class->methods, methods));
        add_stop(&text, class);
        add_order(&text, class);
        add_rest(&text, tenancy, class);
        return buf;
}
