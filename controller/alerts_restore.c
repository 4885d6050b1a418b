/* Whether work of a class really goes on from its checkpoints: what the store's days say. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/alerts_impl.h"
#include "controller/core.h"
#include "controller/live.h"
#include "controller/tally.h"
#include "controller/usage.h"
#include "store/review.h"

struct look {
        struct alerts *alerts;
        bool is_restore;
};

static struct restored *of_class(struct alerts *alerts, const char *class)
{
        for (uint32_t r = 0; r < alerts->restored_count; r++)
                if (str_equal(alerts->restored[r].class, class))
                        return &alerts->restored[r];
        if (alerts->restored_count == CLASSES_MAX)
                return NULL;            /* of policies that are gone */
        struct restored *added = &alerts->restored[alerts->restored_count];
        if (!str_copy(added->class, sizeof added->class, class))
                return NULL;
        alerts->restored_count++;
        return added;
}

static int see_sum(void *arg, const struct review_sum *sum, struct err *err)
{
        struct look *look = arg;
        struct restored *it = of_class(look->alerts, sum->class);

        (void)err;
        if (it && look->is_restore)
                it->last_ms = sum->last_ms;
        else if (it && it->first_ms == 0)
                it->first_ms = sum->first_ms;
        return 0;
}

static int ask(struct alerts *alerts, enum tally_measure measure)
{
        const struct review_query query = {.from_ms = alerts->restores_from_ms,
                                           .until_ms = INT64_MAX, .by_class = true,
                                           .measure = tally_measure_name(measure)};
        struct look look = {alerts, measure == TALLY_RESTORES};

        return review_sums(core_view(alerts->live->core), &query, see_sum, &look, NULL);
}

/* All of them once; from then on those that may have changed: a day behind what was counted. */
static void ask_the_days(struct alerts *alerts, int64_t now_ms)
{
        int64_t passed_ms = now_ms - alerts->restores_looked_ms;
        int64_t counted_ms = usage_until_ms(alerts->live->usage);

        if (alerts->restores_looked_ms && passed_ms >= 0 && passed_ms < ALERTS_DAYS_MS)
                return;
        if (!alerts->restored)
                alerts->restored = mem_new(CLASSES_MAX, sizeof *alerts->restored);
        if (!alerts->restored)
                return;
        if (ask(alerts, TALLY_CHECKPOINTS) < 0 || ask(alerts, TALLY_RESTORES) < 0)
                return;
        alerts->restores_looked_ms = now_ms;
        alerts->restores_from_ms = counted_ms - counted_ms % REVIEW_DAY_MS - REVIEW_DAY_MS;
}

/* A class that the policy no longer has is nobody's care. */
static bool is_of_policy(const struct alerts *alerts, const char *class)
{
        const struct tenancy *tenancy = core_tenancy(alerts->live->core);

        return tenancy && tenancy_class_find(tenancy, class) >= 0;
}

void alerts_look_at_restores(struct alerts *alerts, int64_t now_ms)
{
        if (alerts_rules(alerts)->thresholds[ALERT_RESTORE_TEST] == ALERT_OFF)
                return;
        ask_the_days(alerts, now_ms);
        for (uint32_t r = 0; r < alerts->restored_count; r++) {
                const struct restored *it = &alerts->restored[r];
                struct alert_report report = {.kind = ALERT_RESTORE_TEST,
                                              .subject = it->class,
                                              .tenant = ""};
                char age[ALERT_AMOUNT_MAX];
                if (it->first_ms == 0 || !is_of_policy(alerts, it->class))
                        continue;
                report.since_ms = it->last_ms ? it->last_ms : it->first_ms;
                report.value = now_ms - report.since_ms;
                alert_amount_text(ALERT_RESTORE_TEST, report.value, age);
                (void)snprintf(report.text, sizeof report.text,
                               it->last_ms
                                       ? "no run of class '%.32s' has gone on from a checkpoint "
                                         "for %s; `berth restart` of one would show whether it can"
                                       : "work of class '%.32s' has written checkpoints for %s, "
                                         "and none was ever gone on from; `berth restart` would "
                                         "show whether one can be",
                               it->class, age);
                alerts_report(alerts, &report, now_ms);
        }
}
