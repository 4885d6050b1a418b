/* What a policy changes for reservations, principals, and in its rules. */
#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "cli/policy_diff_impl.h"
#include "proto/when.h"

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
