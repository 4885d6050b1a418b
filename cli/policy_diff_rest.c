/* What one policy changes against another, apart from tenants: classes, reservations, principals,
 * rules, trust and data labels. */
#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "cli/policy_diff_impl.h"
#include "proto/when.h"

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

/* ---- reservations, principals, rules ---- */

static void reservation_text(const struct policy_diff *diff, const struct tenancy *tenancy,
                             const struct reservation *reservation, char *buf, size_t size)
{
        char what[POLICY_TEXT_MAX], amount[POLICY_TEXT_MAX], from[WHEN_TEXT_MAX];
        char until[WHEN_TEXT_MAX];
        size_t length = 0;

        /* In the order of models, whatever that of the document is. */
        for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++)
                for (unsigned i = 0; i < reservation->models_count && length < size; i++)
                        if (reservation->models[i] == d)
                                length += (size_t)snprintf(
                                        buf + length, size - length, "%s%s of %s",
                                        length ? ", " : "",
                                        policy_amount_unit_text(d, reservation->units[i], amount),
                                        policy_dimension_text(tenancy, diff->models, d, what));
        if (length < size)
                length += (size_t)snprintf(buf + length, size - length, " for %s from %s to %s",
                                           tenancy->tenants[reservation->tenant].path,
                                           when_text(reservation->from_ms, from),
                                           when_text(reservation->until_ms, until));
        if (reservation->every_ms && length < size)
                length += (size_t)snprintf(buf + length, size - length, ", every %s",
                                           policy_duration_text(reservation->every_ms, amount));
        if (reservation->last_ms && length < size)
                length += (size_t)snprintf(buf + length, size - length, " until %s",
                                           when_text(reservation->last_ms, from));
        if (length < size)
                snprintf(buf + length, size - length, ", unused: %s",
                         unused_names[reservation->unused]);
}

static const struct reservation *find_reservation(const struct tenancy *tenancy, const char *name)
{
        for (uint32_t i = 0; i < tenancy->reservations_count; i++)
                if (str_equal(tenancy->reservations[i].name, name))
                        return &tenancy->reservations[i];
        return NULL;
}

void policy_diff_reservations(struct policy_diff *diff)
{
        char a[1024], b[1024];

        for (uint32_t i = 0; i < diff->after->reservations_count; i++) {
                const struct reservation *new = &diff->after->reservations[i];
                const struct reservation *old = find_reservation(diff->before, new->name);
                reservation_text(diff, diff->after, new, b, sizeof b);
                if (old)
                        reservation_text(diff, diff->before, old, a, sizeof a);
                if (!old)
                        policy_say(diff, "reservation %s: is new: %s", new->name, b);
                else if (!str_equal(a, b))
                        policy_say(diff, "reservation %s: becomes %s; it was %s", new->name, b, a);
        }
        for (uint32_t i = 0; i < diff->before->reservations_count; i++) {
                const struct reservation *old = &diff->before->reservations[i];
                if (find_reservation(diff->after, old->name))
                        continue;
                reservation_text(diff, diff->before, old, a, sizeof a);
                policy_say(diff, "reservation %s: is gone; it was %s", old->name, a);
        }
}

static const struct principal *find_principal(const struct tenancy *tenancy, const char *name)
{
        for (uint32_t i = 0; i < tenancy->principals_count; i++)
                if (str_equal(tenancy->principals[i].name, name))
                        return &tenancy->principals[i];
        return NULL;
}

/* ", at most 20 jobs"; nothing where it was not said. */
static const char *person_limit_text(uint64_t jobs, char buf[POLICY_TEXT_MAX])
{
        buf[0] = '\0';
        if (jobs == AMOUNT_UNLIMITED)
                snprintf(buf, POLICY_TEXT_MAX, " (jobs without limit)");
        else if (jobs != AMOUNT_ABSENT)
                snprintf(buf, POLICY_TEXT_MAX, " (at most %" PRIu64 " job%s)", jobs,
                         jobs == 1 ? "" : "s");
        return buf;
}

static void principal_text(const struct tenancy *tenancy, const struct principal *principal,
                           char *buf, size_t size)
{
        char limit[POLICY_TEXT_MAX];
        size_t length = 0;

        /* By the alphabet, whatever the order of the document is. */
        for (const char *last = "", *next; length < size; last = next) {
                uint64_t jobs = AMOUNT_ABSENT;
                unsigned role = 0;
                next = NULL;
                for (unsigned i = 0; i < principal->grants_count; i++) {
                        const char *path = tenancy->tenants[principal->grants[i].tenant].path;
                        if (strcmp(path, last) <= 0 || (next && strcmp(path, next) >= 0))
                                continue;
                        next = path;
                        role = principal->grants[i].role;
                        jobs = principal->grants[i].jobs;
                }
                if (!next)
                        break;
                length += (size_t)snprintf(buf + length, size - length, "%s%s of %s%s",
                                           length ? ", " : "", tenant_role_names[role], next,
                                           person_limit_text(jobs, limit));
        }
        if (principal->pool_role != POOL_ROLE_NONE && length < size)
                length +=
                        (size_t)snprintf(buf + length, size - length, "%s%s of the pool",
                                         length ? ", " : "", pool_role_names[principal->pool_role]);
        if (length == 0)
                length += (size_t)snprintf(buf, size, "nothing");
        if (principal->uid >= 0 && length < size)
                length += (size_t)snprintf(buf + length, size - length, ", uid %" PRId64,
                                           principal->uid);
        if (principal->run_as[0] && length < size)
                length += (size_t)snprintf(buf + length, size - length, ", runs as %s",
                                           principal->run_as);
        if (principal->jobs != AMOUNT_ABSENT && length < size)
                snprintf(buf + length, size - length, ", all its tenants together%s",
                         person_limit_text(principal->jobs, limit));
}

void policy_diff_principals(struct policy_diff *diff)
{
        char a[4096], b[4096];

        for (uint32_t i = 0; i < diff->after->principals_count; i++) {
                const struct principal *new = &diff->after->principals[i];
                const struct principal *old = find_principal(diff->before, new->name);
                principal_text(diff->after, new, b, sizeof b);
                if (old)
                        principal_text(diff->before, old, a, sizeof a);
                if (!old)
                        policy_say(diff, "principal %s: is new: %s", new->name, b);
                else if (!str_equal(a, b))
                        policy_say(diff, "principal %s: becomes %s; it was %s", new->name, b, a);
        }
        for (uint32_t i = 0; i < diff->before->principals_count; i++)
                if (!find_principal(diff->after, diff->before->principals[i].name))
                        policy_say(diff, "principal %s: is gone and may do nothing any more",
                                   diff->before->principals[i].name);
}

static const char *default_class_text(const struct tenancy *tenancy)
{
        return tenancy->default_class == CLASS_NONE ? "none"
                                                    : tenancy->classes[tenancy->default_class].name;
}

void policy_diff_rules(struct policy_diff *diff)
{
        const struct tenancy_rules *old = &diff->before->rules, *new = &diff->after->rules;
        char a[POLICY_TEXT_MAX], b[POLICY_TEXT_MAX];

        if (old->over_jobs != new->over_jobs)
                policy_say(diff, "everybody: work above a limit on jobs %s",
                           new->over_jobs == OVER_JOBS_REFUSE ? "is refused; it waited before"
                                                              : "waits; it was refused before");
        if (old->stop_rate_pct != new->stop_rate_pct || old->stop_rate_ms != new->stop_rate_ms)
                policy_say(
                        diff,
                        "everybody: at most %d %% of the pool is stopped in %s; it was %d %% in %s",
                        new->stop_rate_pct, policy_duration_text(new->stop_rate_ms, b),
                        old->stop_rate_pct, policy_duration_text(old->stop_rate_ms, a));
        if (old->publish_quota != new->publish_quota)
                policy_say(diff, "everybody: tenants %s the protect and limit of their siblings",
                           new->publish_quota ? "see" : "no longer see");
        if (!str_equal(default_class_text(diff->before), default_class_text(diff->after)))
                policy_say(diff,
                           "everybody: the class of work that names none becomes %s; it was %s",
                           default_class_text(diff->after), default_class_text(diff->before));
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
