/* Alerts in the store and in the log. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "controller/alerts_impl.h"
#include "controller/core.h"
#include "controller/live.h"
#include "controller/view.h"
#include "proto/pool_doc.h"

#define UNTOLD_MAX 256                  /* that ended before the last end, and were not posted */
#define IN_ONE_ACT 1000u

static const struct {
        enum alert_change change;
        const char *word;
} changes[] = {
#define X(name, wire, bit) {ALERT_CHANGE_##name, wire},
        ALERT_CHANGES(X)
#undef X
};

const char *alert_change_name(enum alert_change change)
{
        for (size_t c = 0; c < ARRAY_LEN(changes); c++)
                if (changes[c].change == change)
                        return changes[c].word;
        return "";
}

int64_t alert_change_ms(const struct alert *alert, enum alert_change change)
{
        switch (change) {
        case ALERT_CHANGE_RAISED:
                return alert->fired_ms;
        case ALERT_CHANGE_ACKNOWLEDGED:
                return alert->acknowledged_ms;
        case ALERT_CHANGE_ENDED:
                return alert->resolved_ms;
        }
        return 0;
}

struct alert alert_behind(const struct alert *alert, enum alert_change change)
{
        struct alert then = *alert;

        if (change == ALERT_CHANGE_ENDED)
                return then;
        then.state = ALERT_FIRING;
        then.resolved_ms = 0;
        if (change == ALERT_CHANGE_RAISED)
                then.acknowledged_ms = 0;
        return then;
}

/* ---- a row ---- */

static void write_detail(const struct entry *entry, struct text *out)
{
        const struct alert *alert = &entry->alert;

        text_add(out, "{\"since_ms\":%" PRId64 ",\"raised_ms\":%" PRId64 ",\"resolved_ms\":%" PRId64
                      ",\"value\":%" PRId64 ",\"threshold\":%" PRId64 ",\"one_off\":%s"
                      ",\"changes\":%u,\"told\":%u,\"watched\":%" PRIu64 ",\"watched_ms\":%" PRId64,
                 alert->since_ms, alert->fired_ms, alert->resolved_ms, alert->value,
                 alert->threshold, entry->is_one_off ? "true" : "false", entry->changes,
                 entry->told, entry->watched, entry->watched_ms);
        text_add(out, ",\"text\":");
        text_add_json(out, alert->text);
        if (alert->acknowledged_ms) {
                text_add(out, ",\"acknowledged_ms\":%" PRId64 ",\"by\":", alert->acknowledged_ms);
                text_add_json(out, alert->acknowledged_by);
                text_add(out, ",\"reason\":");
                text_add_json(out, alert->reason);
        }
        text_add(out, "}");
}

static int put_row(struct act *act, const struct entry *entry, int64_t now_ms, struct err *err)
{
        const struct alert *alert = &entry->alert;
        struct text detail = {0};
        int rc;

        write_detail(entry, &detail);
        const struct object object = {.kind = OBJECT_ALERT,
                                      .id = alert->id,
                                      .tenant = alert->tenant,
                                      .name = alert->subject,
                                      .class = alert_kind_names[alert->kind],
                                      .owner = "",
                                      .state = alert_state_name(alert->state),
                                      .detail = detail.bytes,
                                      .created_ms = alert->since_ms,
                                      .updated_ms = now_ms,
                                      .ended_ms = alert->resolved_ms};
        rc = detail.failed ? err_set(err, ERR_NOMEM, "out of memory") : core_put(act, &object, err);
        text_done(&detail);
        return rc;
}

static bool find_word(const char *const *words, size_t count, const char *word, unsigned *ret_at)
{
        for (size_t w = 0; w < count; w++)
                if (str_equal(words[w], word)) {
                        *ret_at = (unsigned)w;
                        return true;
                }
        return false;
}

static int64_t number_of(const json_t *detail, const char *key)
{
        return json_integer_value(json_object_get(detail, key));
}

static bool text_of(const json_t *detail, const char *key, char *copy, size_t size)
{
        const char *text = json_string_value(json_object_get(detail, key));

        return str_copy(copy, size, text ? text : "");
}

static bool read_row(const struct object *object, struct entry *ret_entry)
{
        const char *states[ALERT_STATES_END];
        struct entry entry = {.is_used = true, .is_kept = true};
        struct alert *alert = &entry.alert;
        json_t *detail = json_loads(object->detail, 0, NULL);
        unsigned kind = 0, state = 0;

        for (unsigned s = 0; s < ALERT_STATES_END; s++)
                states[s] = alert_state_name(s);
        bool ok = object->kind == OBJECT_ALERT && json_is_object(detail) &&
                  find_word(alert_kind_names, ALERT_KINDS_END, object->class, &kind) &&
                  find_word(states, ALERT_STATES_END, object->state, &state) &&
                  str_copy(alert->subject, sizeof alert->subject, object->name) &&
                  str_copy(alert->tenant, sizeof alert->tenant, object->tenant) &&
                  text_of(detail, "text", alert->text, sizeof alert->text) &&
                  text_of(detail, "by", alert->acknowledged_by, sizeof alert->acknowledged_by) &&
                  text_of(detail, "reason", alert->reason, sizeof alert->reason);
        alert->id = object->id;
        alert->kind = (enum alert_kind)kind;
        alert->state = (enum alert_state)state;
        alert->since_ms = number_of(detail, "since_ms");
        alert->fired_ms = number_of(detail, "raised_ms");
        alert->acknowledged_ms = number_of(detail, "acknowledged_ms");
        alert->resolved_ms = number_of(detail, "resolved_ms");
        alert->value = number_of(detail, "value");
        alert->threshold = number_of(detail, "threshold");
        entry.is_one_off = json_is_true(json_object_get(detail, "one_off"));
        entry.changes = entry.kept = (uint8_t)(number_of(detail, "changes") & 7);
        entry.told = (uint8_t)(number_of(detail, "told") & 7);
        entry.watched = (uint64_t)number_of(detail, "watched");
        entry.watched_ms = number_of(detail, "watched_ms");
        json_decref(detail);
        if (ok)
                *ret_entry = entry;
        return ok;
}

bool alert_of_object(const struct object *object, struct alert *ret_alert)
{
        struct entry entry;

        if (!read_row(object, &entry))
                return false;
        *ret_alert = entry.alert;
        return true;
}

static int see_row(void *arg, const struct object *object, struct err *err)
{
        struct alerts *alerts = arg;
        struct entry entry, *added;

        if (!read_row(object, &entry)) {
                if (alerts->unread++ == 0)
                        alerts->unread_id = object->id;
                return 0;               /* no reason to run no pool */
        }
        bool is_over = object->ended_ms != 0;
        if (is_over && (entry.changes & ~entry.told) == 0)
                return 0;               /* everybody knows */
        added = alerts_add(alerts);
        if (!added)
                return 0;               /* counted */
        *added = entry;
        if (!is_over && !alerts_name(alerts, added))
                return err_set(err, ERR_NOMEM, "out of memory");
        return 0;
}

int alerts_load(struct alerts *alerts, struct err *err)
{
        struct store *view = core_view(alerts->live->core);
        const struct object_filter live = {.kind = OBJECT_ALERT, .live = true,
                                           .oldest_first = true};
        const struct object_filter ended = {.kind = OBJECT_ALERT, .ended = true,
                                            .state = "resolved", .limit = UNTOLD_MAX};
        int rc = objects_last(view, OBJECT_ALERT, &alerts->next_id, err);

        alerts->next_id++;
        if (rc == 0)
                rc = objects_list(view, &live, see_row, alerts, err);
        if (rc == 0)
                rc = objects_list(view, &ended, see_row, alerts, err);
        return rc;
}

/* ---- keeping ---- */

static void landed(void *arg, int rc, const struct err *err)
{
        struct alerts *alerts = arg;

        (void)err;
        alerts->is_keeping = false;
        for (uint32_t e = 0; e < alerts->count; e++) {
                struct entry *entry = &alerts->entries[e];
                if (!entry->is_used || !entry->in_flight)
                        continue;
                entry->in_flight = false;
                if (rc < 0) {
                        entry->is_touched = true;       /* again, with the next ones */
                        continue;
                }
                entry->kept |= entry->flight;
                entry->is_kept = true;
                alerts_drop_if_over(alerts, entry);
        }
}

/* {"alert_raised":{...}}: who watches events is told by it. */
static int note_change(struct act *act, const struct alert *alert, enum alert_change change,
                       struct err *err)
{
        const struct alert then = alert_behind(alert, change);
        json_t *json = json_object();
        char *text;

        view_set(json, alert_change_name(change), alert_json(&then, true));
        text = json ? json_dumps(json, JSON_COMPACT) : NULL;
        json_decref(json);
        if (!text)
                return err_set(err, ERR_NOMEM, "out of memory");
        int rc = core_note(act, text, err);
        free(text);
        return rc;
}

static int write_one(struct act *act, const struct entry *entry, int64_t now_ms, uint32_t *notes,
                     struct err *err)
{
        int rc = 0;

        for (size_t c = 0; rc == 0 && c < ARRAY_LEN(changes); c++)
                if (entry->changes & ~entry->kept & changes[c].change) {
                        rc = note_change(act, &entry->alert, changes[c].change, err);
                        *notes += rc == 0;
                }
        return rc ? rc : put_row(act, entry, now_ms, err);
}

int alerts_keep_with(struct act *act, struct entry *entry, int64_t now_ms, struct err *err)
{
        uint32_t notes = 0;
        int rc = write_one(act, entry, now_ms, &notes, err);

        if (rc == 0)
                entry->kept |= entry->changes;
        return rc;
}

static int keep_one(struct act *act, struct entry *entry, int64_t now_ms, uint32_t *notes,
                    struct err *err)
{
        int rc = write_one(act, entry, now_ms, notes, err);

        if (rc)
                return rc;
        entry->is_touched = false;
        entry->in_flight = true;
        entry->flight = entry->changes;
        return 0;
}

/* Its texts are no row's: it is shown, and lost with a restart. */
static int do_without(struct entry *entry)
{
        entry->is_touched = false;
        entry->is_kept = true;
        entry->kept = entry->changes;
        return 0;
}

/* What has been so for a moment only is not worth a row. */
static bool wants_row(const struct entry *entry, int64_t now_ms)
{
        if (!entry->is_used)
                return false;
        if (entry->alert.state == ALERT_PENDING && !entry->is_kept)
                return now_ms - entry->alert.since_ms >= ALERTS_KEEP_MS;
        return entry->is_touched;
}

static int by_number(const void *a, const void *b)
{
        const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;

        return x->alert.id < y->alert.id ? -1 : x->alert.id > y->alert.id;
}

/* Of one kind and subject the end of the first stands in the log before the next is raised,
 * wherever they lie in the table: later ones have higher numbers. */
static uint32_t collect(struct alerts *alerts, int64_t now_ms, struct entry **ret_wanting)
{
        uint32_t count = 0;

        for (uint32_t e = 0; e < alerts->count; e++)
                if (wants_row(&alerts->entries[e], now_ms))
                        ret_wanting[count++] = &alerts->entries[e];
        qsort(ret_wanting, count, sizeof(struct entry *), by_number);
        return count < IN_ONE_ACT ? count : IN_ONE_ACT;
}

static void keep_all(struct alerts *alerts, struct entry *const *wanting, uint32_t count,
                     int64_t now_ms)
{
        uint32_t notes = 0, rows = 0;
        struct err err;
        struct act *act = core_begin(alerts->live->core, "berthd", "", now_ms, &err);
        int rc = 0;

        if (!act)
                return;                 /* the store has failed: when it is back */
        for (uint32_t w = 0; rc == 0 && w < count; w++) {
                rc = keep_one(act, wanting[w], now_ms, &notes, &err);
                rows += rc == 0;
                if (rc == -ERR_INPUT)
                        rc = do_without(wanting[w]);
        }
        /* Rows come with a record only. Where one did not fit, it comes next time. */
        if (notes == 0 && rows > 0)
                (void)core_note(act, "{\"alerts\":\"kept\"}", &err);
        alerts->is_keeping = true;
        core_commit(act, landed, alerts);
}

void alerts_keep(struct alerts *alerts, int64_t now_ms)
{
        struct entry **wanting;
        bool some = false;

        for (uint32_t e = 0; !some && !alerts->is_keeping && e < alerts->count; e++)
                some = wants_row(&alerts->entries[e], now_ms);
        wanting = some ? mem_new(alerts->count, sizeof(struct entry *)) : NULL;
        if (!wanting)
                return;                 /* nothing, or at the next look */
        keep_all(alerts, wanting, collect(alerts, now_ms, wanting), now_ms);
        mem_free(wanting);
}

void alerts_end(struct alerts *alerts, int64_t now_ms)
{
        alerts_take_posted(alerts);
        alerts_keep(alerts, now_ms);
}
