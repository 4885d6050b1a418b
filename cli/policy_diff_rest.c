/* What one policy changes against another in classes, alerts, what is kept, trust and labels. */
#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "cli/policy_diff_impl.h"

/* ---- classes ---- */

/* Whether one of the terms (joined by "; ") is exactly this one. */
static bool has_term(const char *terms, const char *term, size_t length)
{
        for (const char *at = terms; at; at = strstr(at, "; ")) {
                at += at != terms ? 2 : 0;
                if (strncmp(at, term, length) == 0 && (!at[length] || at[length] == ';'))
                        return true;
        }
        return false;
}

/* The terms of `terms` that `others` does not hold. */
static const char *other_terms(const char *terms, const char *others, char *buf, size_t size)
{
        size_t at = 0;

        buf[0] = '\0';
        while (*terms) {
                const char *end = strstr(terms, "; ");
                size_t length = end ? (size_t)(end - terms) : strlen(terms);
                if (!has_term(others, terms, length) && at + length + 3 < size)
                        at += (size_t)snprintf(buf + at, size - at, "%s%.*s", at ? "; " : "",
                                               (int)length, terms);
                terms += length + (end ? 2 : 0);
        }
        return buf[0] ? buf : "nothing of that";
}

/* What is typical of a class, for defaults, the choice of method and the review. */
static void typical_text(const struct service_class *class, char *buf, size_t size)
{
        char memory[POLICY_TEXT_MAX] = "unknown", compute[POLICY_TEXT_MAX] = "unknown";
        char duration[POLICY_TEXT_MAX] = "unknown", latency[POLICY_TEXT_MAX] = "unknown";

        if (class->typical_memory_mib)
                policy_amount_text(DIM_MEMORY, class->typical_memory_mib, memory);
        if (class->typical_compute_milli)
                snprintf(compute, sizeof compute, "%g",
                         (double)class->typical_compute_milli / 1000);
        if (class->typical_duration_ms)
                policy_duration_text(class->typical_duration_ms, duration);
        if (class->typical_latency_ms)
                policy_duration_text(class->typical_latency_ms, latency);
        snprintf(buf, size, "memory %s, compute %s, communication %s, duration %s, latency %s",
                 memory, compute, communication_names[class->typical_communication], duration,
                 latency);
}

void policy_diff_classes(struct policy_diff *diff)
{
        char a[POLICY_TERMS_MAX], b[POLICY_TERMS_MAX];
        char was[POLICY_TERMS_MAX], is[POLICY_TERMS_MAX];

        for (uint32_t i = 0; i < diff->after->classes_count; i++) {
                const struct service_class *new = &diff->after->classes[i];
                int index = tenancy_class_find(diff->before, new->name);
                policy_class_text(diff->after, new, b, sizeof b);
                if (index < 0) {
                        policy_say(diff, "class %s: is new (rank %" PRIu32 "): %s", new->name,
                                   new->rank, b);
                        continue;
                }
                const struct service_class *old = &diff->before->classes[index];
                policy_class_text(diff->before, old, a, sizeof a);
                if (old->rank != new->rank)
                        policy_say(diff,
                                   "class %s: its rank %s from %" PRIu32 " to %" PRIu32
                                   ", it goes %s",
                                   new->name, new->rank > old->rank ? "rises" : "falls", old->rank,
                                   new->rank, new->rank > old->rank ? "later" : "sooner");
                if (!str_equal(a, b))
                        policy_say(diff, "class %s: now %s (before: %s)", new->name,
                                   other_terms(b, a, is, sizeof is),
                                   other_terms(a, b, was, sizeof was));
                typical_text(old, a, sizeof a);
                typical_text(new, b, sizeof b);
                if (!str_equal(a, b))
                        policy_say(diff, "class %s: what is typical of it becomes %s; it was %s",
                                   new->name, b, a);
        }
        for (uint32_t i = 0; i < diff->before->classes_count; i++) {
                const char *name = diff->before->classes[i].name;
                if (tenancy_class_find(diff->after, name) < 0)
                        policy_say(
                                diff,
                                "class %s: is gone; its running work ends on the terms it started "
                                "with, what waits is refused",
                                name);
        }
}

/* ---- alerts ---- */

static const char *threshold_text(const struct alert_rules *rules, enum alert_kind kind,
                                  char buf[POLICY_TEXT_MAX])
{
        int64_t threshold = rules->thresholds[kind];

        if (threshold == ALERT_OFF)
                return "off";
        switch (alert_measure_of(kind)) {
        case ALERT_STATE:
                return "on";
        case ALERT_TIME:
                return policy_duration_text(threshold, buf);
        case ALERT_SHARE:
                break;
        }
        snprintf(buf, POLICY_TEXT_MAX, "%g", (double)threshold / 1000);
        return buf;
}

/* The secret's file is a name; what is in it is told nowhere. */
static void webhook_text(const struct alert_rules *rules, char *buf, size_t size)
{
        if (!rules->webhook_url[0])
                snprintf(buf, size, "nowhere");
        else
                snprintf(buf, size, "%s, %s%s", rules->webhook_url,
                         rules->webhook_secret_file[0] ? "signed with " : "not signed",
                         rules->webhook_secret_file);
}

void policy_diff_alerts(struct policy_diff *diff)
{
        const struct alert_rules *old = &diff->before->alerts, *new = &diff->after->alerts;
        char a[POLICY_TEXT_MAX], b[POLICY_TEXT_MAX];
        char was[ALERT_URL_MAX + ALERT_PATH_MAX + 32], is[ALERT_URL_MAX + ALERT_PATH_MAX + 32];

        for (unsigned k = 0; k < ALERT_KINDS_END; k++)
                if (old->thresholds[k] != new->thresholds[k])
                        policy_say(diff, "alerts: %s becomes %s; it was %s", alert_kind_names[k],
                                   threshold_text(new, k, b), threshold_text(old, k, a));
        if (old->hold_ms != new->hold_ms)
                policy_say(diff, "alerts: what lasts for %s counts; it was %s",
                           policy_duration_text(new->hold_ms, b),
                           policy_duration_text(old->hold_ms, a));
        webhook_text(old, was, sizeof was);
        webhook_text(new, is, sizeof is);
        if (!str_equal(was, is))
                policy_say(diff, "alerts: changes are posted to %s; it was %s", is, was);
}

/* ---- what is kept ---- */

/* Or may be: how berthd was started is not known here. */
static bool is_shorter(uint32_t span, uint32_t than)
{
        return span == RETENTION_UNSAID ||
               (span != RETENTION_FOR_EVER && (than == RETENTION_FOR_EVER || span < than));
}

/* berthd has no option for reviews: where the policy says nothing, it is the least. */
static struct retention with_review(const struct retention *said)
{
        struct retention all = *said;

        if (all.spans[RETENTION_REVIEW] == RETENTION_UNSAID)
                all.spans[RETENTION_REVIEW] = RETENTION_MONTHS_MIN;
        return all;
}

void policy_diff_retention(struct policy_diff *diff, const struct retention *old,
                           const struct retention *new)
{
        static const char unsaid[] = "what berthd was started with";
        static const char gone[] = "; what is older goes within a day, and no rollback brings it "
                                   "back";
        const struct retention before = with_review(old), after = with_review(new);
        char a[RETENTION_TEXT_MAX], b[RETENTION_TEXT_MAX];

        for (unsigned k = 0; k < RETENTIONS_END; k++) {
                uint32_t was = before.spans[k], is = after.spans[k];
                if (was != is)
                        policy_say(diff, "retention: %s becomes %s; it was %s%s",
                                   retention_words[k],
                                   is == RETENTION_UNSAID ? unsaid : retention_text(&after, k, b),
                                   was == RETENTION_UNSAID ? unsaid : retention_text(&before, k,
                                                                             a),
                                   is_shorter(is, was) ? gone : "");
        }
}

/* ---- trust and data labels ---- */

static void label_text(const struct tenancy *tenancy, const struct data_label *label, char *buf,
                       size_t size)
{
        char methods[POLICY_TEXT_MAX], planes[POLICY_NAMES_MAX], trusts[POLICY_NAMES_MAX];
        int length = snprintf(buf, size, "methods %s, planes %s, apart: %s, trust %s",
                              policy_methods_text(label->methods, methods),
                              policy_planes_text(tenancy, label->planes, planes, sizeof planes),
                              label_apart_names[label->apart],
                              policy_trusts_text(tenancy, label->trusts, trusts, sizeof trusts));

        /* By the alphabet, whatever the order of the document is. */
        for (const char *last = "", *next; (size_t)length < size; last = next) {
                const char *condition = "";
                next = NULL;
                for (unsigned i = 0; i < label->nodes_count; i++) {
                        const char *key = label->nodes[i].key;
                        if (strcmp(key, last) <= 0 || (next && strcmp(key, next) >= 0))
                                continue;
                        next = key;
                        condition = label->nodes[i].condition;
                }
                if (!next)
                        break;
                length += snprintf(buf + length, size - (size_t)length, ", nodes %s %s", next,
                                   condition);
        }
}

static const struct data_label *find_label(const struct tenancy *tenancy, const char *name)
{
        for (uint32_t i = 0; i < tenancy->labels_count; i++)
                if (str_equal(tenancy->labels[i].name, name))
                        return &tenancy->labels[i];
        return NULL;
}

void policy_diff_labels(struct policy_diff *diff)
{
        char a[POLICY_TERMS_MAX], b[POLICY_TERMS_MAX];

        for (uint32_t i = 0; i < diff->after->labels_count; i++) {
                const struct data_label *new = &diff->after->labels[i];
                const struct data_label *old = find_label(diff->before, new->name);
                label_text(diff->after, new, b, sizeof b);
                if (old)
                        label_text(diff->before, old, a, sizeof a);
                if (!old)
                        policy_say(diff, "data %s: is new: %s", new->name, b);
                else if (!str_equal(a, b))
                        policy_say(diff, "data %s: becomes: %s (before: %s)", new->name, b, a);
        }
        for (uint32_t i = 0; i < diff->before->labels_count; i++)
                if (!find_label(diff->after, diff->before->labels[i].name))
                        policy_say(diff, "data %s: is gone; work with that label is refused",
                                   diff->before->labels[i].name);
}

/* Whether two domains, by name, may share a device. */
static bool may_share(const struct tenancy *tenancy, const char *a, const char *b)
{
        for (uint32_t i = 0; i < tenancy->trusts_count; i++)
                for (uint32_t k = 0;
                     str_equal(tenancy->trusts[i].name, a) && k < tenancy->trusts_count; k++)
                        if (str_equal(tenancy->trusts[k].name, b))
                                return tenancy->trusts[i].with >> k & 1;
        return false;
}

void policy_diff_trusts(struct policy_diff *diff)
{
        const struct tenancy *both[] = {diff->before, diff->after};

        for (unsigned t = 0; t < 2; t++)
                for (uint32_t i = 0; i < both[t]->trusts_count; i++)
                        for (uint32_t k = i + 1; k < both[t]->trusts_count; k++) {
                                const char *a = both[t]->trusts[i].name;
                                const char *b = both[t]->trusts[k].name;
                                /* From each side only what is so there and not on the other. */
                                if (may_share(both[t], a, b) && !may_share(both[1 - t], a, b))
                                        policy_say(diff,
                                                   "trust: work of %s and %s may %s share a device",
                                                   a, b, t == 1 ? "now" : "no longer");
                        }
}
