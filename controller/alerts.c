#include "controller/alerts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/alerts_impl.h"
#include "controller/core.h"
#include "controller/live.h"
#include "controller/view.h"
#include "controller/webhook.h"
#include "engine/tenancy.h"

/* What was cut off in the middle of a letter ends before it. */
static void copy_cut(char *copy, size_t size, const char *text)
{
        size_t wrong;

        (void)snprintf(copy, size, "%s", text);
        if (!str_is_utf8(copy, strlen(copy), &wrong))
                copy[wrong] = '\0';
}

/* ---- the table ---- */

static uint64_t key_of(enum alert_kind kind, const char *subject)
{
        uint64_t key = kind + 1;

        for (const char *at = subject; *at; at++)
                map_chain(&key, (unsigned char)*at);
        return key;
}

struct entry *alerts_entry(struct alerts *alerts, enum alert_kind kind, const char *subject)
{
        uint32_t at = map_get(&alerts->by_name, key_of(kind, subject));
        struct entry *entry = at == MAP_NONE ? NULL : &alerts->entries[at];

        return entry && entry->alert.kind == kind && str_equal(entry->alert.subject, subject)
                       ? entry
                       : NULL;
}

bool alerts_name(struct alerts *alerts, const struct entry *entry)
{
        return map_set(&alerts->by_name, key_of(entry->alert.kind, entry->alert.subject),
                       (uint32_t)(entry - alerts->entries)) == 0;
}

static void unname(struct alerts *alerts, const struct entry *entry)
{
        if (alerts_entry(alerts, entry->alert.kind, entry->alert.subject) == entry)
                (void)map_remove(&alerts->by_name,
                                 key_of(entry->alert.kind, entry->alert.subject));
}

static bool grow(struct alerts *alerts)
{
        uint32_t room = alerts->room ? alerts->room * 2 : 64;
        struct entry *grown;

        if (room > ALERTS_MAX)
                return false;
        grown = mem_resize(alerts->entries, alerts->room, room, sizeof *grown);
        if (!grown)
                return false;
        alerts->entries = grown;
        alerts->room = room;
        return true;
}

struct entry *alerts_add(struct alerts *alerts)
{
        uint32_t at = 0;

        if (alerts->unused > 0) {
                while (alerts->entries[at].is_used)
                        at++;
                alerts->unused--;
        } else if (alerts->count < alerts->room || grow(alerts)) {
                at = alerts->count++;
        } else {
                alerts->left_out++;
                return NULL;
        }
        alerts->entries[at] = (struct entry){.is_used = true};
        return &alerts->entries[at];
}

static void drop(struct alerts *alerts, struct entry *entry)
{
        unname(alerts, entry);
        *entry = (struct entry){0};
        alerts->unused++;
}

void alerts_drop_if_over(struct alerts *alerts, struct entry *entry)
{
        bool is_over = entry->alert.state == ALERT_RESOLVED || entry->alert.state == ALERT_CLEARED;

        if (is_over && !entry->in_flight && !entry->is_touched && entry->kept == entry->changes &&
            (entry->changes & ~entry->told) == 0)
                drop(alerts, entry);
}

/* Pending, or to be fired at once. NULL: there is no room. */
static struct entry *begin(struct alerts *alerts, enum alert_kind kind, const char *subject,
                           const char *tenant, int64_t since_ms)
{
        struct entry *entry = alerts_add(alerts);

        if (!entry)
                return NULL;
        entry->alert = (struct alert){.id = alerts->next_id, .kind = kind, .since_ms = since_ms};
        copy_cut(entry->alert.subject, sizeof entry->alert.subject, subject);
        copy_cut(entry->alert.tenant, sizeof entry->alert.tenant, tenant);
        if (!alerts_name(alerts, entry)) {
                drop(alerts, entry);
                alerts->left_out++;
                return NULL;
        }
        alerts->next_id++;
        return entry;
}

/* ---- what becomes of one ---- */

void alerts_change(struct entry *entry, enum alert_change change, int64_t now_ms)
{
        struct alert *alert = &entry->alert;

        assert(!(entry->changes & change));
        entry->changes |= (uint8_t)change;
        entry->is_touched = true;
        switch (change) {
        case ALERT_CHANGE_RAISED:
                alert->state = ALERT_FIRING;
                alert->fired_ms = now_ms;
                break;
        case ALERT_CHANGE_ACKNOWLEDGED:
                alert->acknowledged_ms = now_ms;
                break;
        case ALERT_CHANGE_ENDED:
                alert->state = ALERT_RESOLVED;
                alert->resolved_ms = now_ms;
                break;
        }
}

static bool is_over_threshold(const struct entry *entry, const struct alert_report *report,
                              int64_t threshold)
{
        if (report->watched)            /* it lasts, for the one that was watched before too */
                return !entry || entry->alert.state == ALERT_PENDING || report->value >= threshold;
        /* What hovers about its threshold is one alert, not many. */
        if (entry && entry->alert.state == ALERT_FIRING &&
            alert_measure_of(report->kind) == ALERT_SHARE)
                threshold = threshold * 9 / 10;
        return report->value >= threshold;
}

static void watch(struct entry *entry, struct alert_report *report, int64_t now_ms)
{
        if (entry && entry->watched != report->watched) {
                entry->watched = report->watched;
                entry->watched_ms = now_ms;
                if (entry->alert.state == ALERT_PENDING)
                        entry->alert.since_ms = now_ms;
                entry->is_touched |= entry->is_kept;
        }
        report->value = entry ? now_ms - entry->watched_ms : 0;
}

void alerts_report(struct alerts *alerts, const struct alert_report *given, int64_t now_ms)
{
        int64_t threshold = alerts_rules(alerts)->thresholds[given->kind];
        struct entry *entry = alerts_entry(alerts, given->kind, given->subject);
        struct alert_report report = *given;

        if (threshold == ALERT_OFF)
                return;
        if (report.is_unknown) {
                if (entry)
                        entry->is_seen = true;
                return;
        }
        if (report.watched)
                watch(entry, &report, now_ms);
        if (!is_over_threshold(entry, &report, threshold))
                return;
        if (!entry)
                entry = begin(alerts, report.kind, report.subject, report.tenant, report.since_ms);
        if (!entry)
                return;
        if (report.watched && !entry->watched)
                watch(entry, &report, now_ms);
        if (entry->alert.state == ALERT_PENDING && entry->alert.since_ms > now_ms)
                entry->alert.since_ms = now_ms; /* the clock was set back */
        entry->is_seen = true;
        entry->alert.value = report.value;
        entry->alert.threshold = threshold;
        copy_cut(entry->alert.text, sizeof entry->alert.text, report.text);
        if (entry->alert.state == ALERT_PENDING &&
            now_ms - entry->alert.since_ms >= report.wait_ms)
                alerts_change(entry, ALERT_CHANGE_RAISED, now_ms);
}

/* What no report was about is gone. */
static void sweep(struct alerts *alerts, int64_t now_ms)
{
        int64_t hold_ms = alerts_rules(alerts)->hold_ms;

        for (uint32_t e = 0; e < alerts->count; e++) {
                struct entry *entry = &alerts->entries[e];
                bool is_seen = entry->is_seen || entry->is_one_off;
                entry->is_seen = false;
                if (!entry->is_used || entry->alert.state > ALERT_FIRING)
                        continue;
                if (is_seen) {
                        entry->clear_ms = 0;
                } else if (entry->alert.state == ALERT_PENDING && !entry->is_kept &&
                           !entry->in_flight) {
                        drop(alerts, entry);
                } else if (entry->alert.state == ALERT_PENDING) {
                        unname(alerts, entry);
                        entry->alert.state = ALERT_CLEARED;
                        entry->alert.resolved_ms = now_ms;
                        entry->is_touched = true;
                } else if ((entry->clear_ms == 0 && hold_ms > 0) || entry->clear_ms > now_ms) {
                        entry->clear_ms = now_ms;       /* or the clock was set back since */
                } else if (hold_ms == 0 || now_ms - entry->clear_ms >= hold_ms) {
                        unname(alerts, entry);
                        alerts_change(entry, ALERT_CHANGE_ENDED, now_ms);
                }
        }
}

/* ---- for everybody ---- */

const struct alert_rules *alerts_rules(const struct alerts *alerts)
{
        const struct tenancy *tenancy = core_tenancy(alerts->live->core);

        return tenancy ? &tenancy->alerts : &alerts->usual;
}

void alerts_look(struct alerts *alerts, int64_t now_ms)
{
        int64_t passed_ms = now_ms - alerts->looked_ms;

        if (passed_ms >= 0 && passed_ms < ALERTS_LOOK_MS && alerts->looked_ms)
                return;
        alerts->looked_ms = now_ms;
        alerts_measure(alerts, now_ms);
        sweep(alerts, now_ms);
        alerts_post(alerts);            /* first: rows say what everybody knows */
        alerts_keep(alerts, now_ms);
}

uint64_t alerts_raise(struct alerts *alerts, enum alert_kind kind, const char *subject,
                      const char *tenant, const char *text, int64_t now_ms)
{
        struct entry *entry;
        char name[ALERT_SUBJECT_MAX];

        copy_cut(name, sizeof name, subject);
        entry = alerts_entry(alerts, kind, name);
        if (alerts_rules(alerts)->thresholds[kind] == ALERT_OFF)
                return 0;
        if (!entry)
                entry = begin(alerts, kind, name, tenant, now_ms);
        if (!entry)
                return 0;
        entry->is_one_off = entry->is_touched = true;
        entry->alert.value = entry->alert.threshold = 1;
        copy_cut(entry->alert.text, sizeof entry->alert.text, text);
        if (entry->alert.state == ALERT_PENDING)
                alerts_change(entry, ALERT_CHANGE_RAISED, now_ms);
        return entry->alert.id;
}

static struct entry *firing(const struct alerts *alerts, uint64_t id)
{
        for (uint32_t e = 0; e < alerts->count; e++) {
                struct entry *entry = &alerts->entries[e];
                if (entry->is_used && entry->alert.id == id && entry->alert.state == ALERT_FIRING)
                        return entry;
        }
        return NULL;
}

int alerts_acknowledge(struct alerts *alerts, struct act *act, uint64_t id, const char *by,
                       const char *reason, int64_t now_ms, struct alert *ret_alert,
                       struct err *err)
{
        struct entry *entry = firing(alerts, id);
        struct alert *alert = entry ? &entry->alert : NULL;

        if (!alert)
                return err_set(err, ERR_NOT_FOUND, "no alert %" PRIu64 " fires", id);
        if (alert->acknowledged_ms)
                return err_set(err, ERR_EXISTS, "%s has acknowledged alert %" PRIu64 " already",
                               alert->acknowledged_by, id);
        if (!str_copy(alert->reason, sizeof alert->reason, reason))
                return err_set(err, ERR_RANGE, "a reason of %zu bytes is too long: write up to %d",
                               strlen(reason), ALERT_REASON_MAX - 1);
        (void)snprintf(alert->acknowledged_by, sizeof alert->acknowledged_by, "%s", by);
        alerts_change(entry, ALERT_CHANGE_ACKNOWLEDGED, now_ms);
        if (entry->is_one_off) {
                unname(alerts, entry);
                alerts_change(entry, ALERT_CHANGE_ENDED, now_ms);
        }
        *ret_alert = *alert;
        return alerts_keep_with(act, entry, now_ms, err);
}

const struct alert *alerts_next(const struct alerts *alerts, uint32_t *cursor)
{
        while (*cursor < alerts->count) {
                const struct entry *entry = &alerts->entries[(*cursor)++];
                if (entry->is_used && entry->alert.state == ALERT_FIRING)
                        return &entry->alert;
        }
        return NULL;
}

struct alerts_figures alerts_figures(const struct alerts *alerts)
{
        struct alerts_figures figures = {.left_out = alerts->left_out,
                                         .unread = alerts->unread,
                                         .unread_id = alerts->unread_id};
        struct webhook_figures posted = {0};

        if (alerts->webhook)
                webhook_figures(alerts->webhook, &posted);
        figures.posted = posted.posted;
        figures.failed = posted.failed;
        figures.given_up = posted.given_up;
        for (uint32_t e = 0; e < alerts->count; e++) {
                const struct entry *entry = &alerts->entries[e];
                if (!entry->is_used)
                        continue;
                figures.waiting += (uint32_t)__builtin_popcount(entry->changes & ~entry->told);
                if (entry->alert.state != ALERT_FIRING)
                        continue;
                figures.firing[entry->alert.kind]++;
                figures.unacknowledged += entry->alert.acknowledged_ms == 0;
        }
        return figures;
}

/* ---- life ---- */

int alerts_new(struct live *live, const char *version, struct alerts **ret_alerts,
               struct err *err)
{
        struct alerts *alerts = mem_new(1, sizeof *alerts);
        int rc;

        if (!alerts)
                return err_set(err, ERR_NOMEM, "out of memory");
        alerts->live = live;
        alerts->version = version;
        alert_rules_default(&alerts->usual);
        map_init(&alerts->by_name, ALERTS_MAX);
        rc = alerts_load(alerts, err);
        if (rc) {
                alerts_free(alerts);
                return rc;
        }
        *ret_alerts = alerts;
        return 0;
}

void alerts_free(struct alerts *alerts)
{
        if (!alerts)
                return;
        webhook_free(alerts->webhook);
        mem_free(alerts->restored);
        map_done(&alerts->by_name);
        mem_free(alerts->entries);
        mem_free(alerts);
}
