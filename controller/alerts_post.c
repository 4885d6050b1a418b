/* Alerts on their way to the webhook: each change once, in the order in which they happened. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/alerts_impl.h"
#include "controller/core.h"
#include "controller/live.h"
#include "controller/view.h"
#include "controller/webhook.h"
#include "proto/pool_doc.h"

void alerts_take_posted(struct alerts *alerts)
{
        uint64_t tag;

        while (alerts->webhook && webhook_done(alerts->webhook, &tag)) {
                for (uint32_t e = 0; e < alerts->count; e++) {
                        struct entry *entry = &alerts->entries[e];
                        if (!entry->is_used || entry->alert.id != tag >> 3)
                                continue;
                        entry->told |= (uint8_t)(tag & 7);
                        entry->is_touched = true;
                        break;
                }
        }
}

/* The one that happened first of those that are yet to be posted. */
static struct entry *next_untold(struct alerts *alerts, enum alert_change *ret_change)
{
        bool is_failing = core_may_act(alerts->live->core, NULL) < 0;
        struct entry *first = NULL;

        for (uint32_t e = 0; e < alerts->count; e++) {
                struct entry *entry = &alerts->entries[e];
                /* What is not durable is told only where nothing can be. */
                unsigned may = entry->is_used ? is_failing ? entry->changes : entry->kept : 0;
                unsigned open = may & ~(unsigned)(entry->told | entry->queued);
                enum alert_change change = (enum alert_change)(open & -open);
                if (open == 0)
                        continue;
                int64_t at_ms = alert_change_ms(&entry->alert, change);
                int64_t first_ms = first ? alert_change_ms(&first->alert, *ret_change) : 0;
                if (!first || at_ms < first_ms ||
                    (at_ms == first_ms && entry->alert.id < first->alert.id)) {
                        first = entry;
                        *ret_change = change;
                }
        }
        return first;
}

static int push(struct alerts *alerts, struct entry *entry, enum alert_change change)
{
        const struct alert then = alert_behind(&entry->alert, change);
        const struct pool_doc *pool = alerts->live->pool;
        json_t *json = json_object();
        char id[48];

        view_set(json, "event", json_string(alert_change_name(change)));
        view_set(json, "pool", json_string(pool ? pool->name : ""));
        view_set(json, "alert", alert_json(&then, true));
        char *body = json ? json_dumps(json, JSON_COMPACT) : NULL;
        json_decref(json);
        if (!body)
                return -ERR_NOMEM;
        /* A store that was made anew gives its numbers again: since when tells them apart. */
        (void)snprintf(id, sizeof id, "%" PRIu64 "-%u-%" PRId64, entry->alert.id,
                       (unsigned)change, entry->alert.since_ms);
        int rc = webhook_push(alerts->webhook, entry->alert.id << 3 | (unsigned)change, id, body,
                              strlen(body), NULL);
        free(body);
        if (rc == 0)
                entry->queued |= (uint8_t)change;
        return rc;
}

/* Nobody is to be told: neither now nor later. */
static void tell_nobody(struct alerts *alerts)
{
        for (uint32_t e = 0; e < alerts->count; e++) {
                struct entry *entry = &alerts->entries[e];
                if (!entry->is_used || entry->told == entry->changes)
                        continue;
                entry->told = entry->changes;
                alerts_drop_if_over(alerts, entry);
        }
}

void alerts_post(struct alerts *alerts)
{
        const struct alert_rules *rules = alerts_rules(alerts);
        enum alert_change change = ALERT_CHANGE_RAISED;
        struct entry *entry;

        if (!rules->webhook_url[0]) {
                if (alerts->webhook)
                        webhook_set(alerts->webhook, "", "");
                tell_nobody(alerts);
                return;
        }
        if (!alerts->webhook && webhook_new(0, &alerts->webhook, NULL) < 0)
                return;                 /* tried again at the next look */
        webhook_set(alerts->webhook, rules->webhook_url, rules->webhook_secret_file);
        alerts_take_posted(alerts);
        while ((entry = next_untold(alerts, &change)))
                if (push(alerts, entry, change) < 0)
                        break;
}
