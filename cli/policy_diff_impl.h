/* policy_diff_impl.h - shared by policy_diff.c (tenants), policy_diff_people.c (reservations,
 * principals, rules) and policy_diff_rest.c (the rest). */
#pragma once

#include "cli/policy_out.h"

struct policy_diff {
        const struct tenancy *before, *after;
        const struct model_table *models;
        FILE *file;
        unsigned lines;
};

/* One line: one change. */
void policy_say(struct policy_diff *diff, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

void policy_diff_classes(struct policy_diff *diff);
void policy_diff_reservations(struct policy_diff *diff);
void policy_diff_principals(struct policy_diff *diff);
void policy_diff_rules(struct policy_diff *diff);
void policy_diff_alerts(struct policy_diff *diff);
void policy_diff_retention(struct policy_diff *diff, const struct retention *old,
                           const struct retention *new);
void policy_diff_labels(struct policy_diff *diff);
void policy_diff_trusts(struct policy_diff *diff);
