#include "controller/quarantine_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/core.h"
#include "controller/view.h"

/* ---- the list ---- */

static void drop(struct quarantine *quarantine, uint32_t at)
{
        json_decref(quarantine->list[at].about);
        quarantine->count--;
        memmove(&quarantine->list[at], &quarantine->list[at + 1],
                (quarantine->count - at) * sizeof quarantine->list[0]);
}

static void drop_all(struct quarantine *quarantine)
{
        while (quarantine->count > 0)
                drop(quarantine, quarantine->count - 1);
}

uint32_t quarantine_find(const struct quarantine *quarantine, enum crash_of of,
                         const struct quarantine_marks *marks)
{
        uint32_t at = 0;

        while (at < quarantine->count &&
               (quarantine->list[at].of != of ||
                !quarantine_is_same(&quarantine->list[at].marks, marks)))
                at++;
        return at;
}

static void take_text(const json_t *about, const char *key, char *ret_text, size_t size)
{
        const char *text = json_string_value(json_object_get(about, key));

        (void)snprintf(ret_text, size, "%s", text ? text : "");
}

int64_t quarantine_crash_ms(const struct quarantine_entry *entry, size_t number)
{
        const json_t *crash = json_array_get(json_object_get(entry->about, "crashes"), number);

        return json_integer_value(json_object_get(crash, "at_ns")) / 1000000;
}

size_t quarantine_crashes_of(const struct quarantine_entry *entry)
{
        return json_array_size(json_object_get(entry->about, "crashes"));
}

/* What stands in `about` for a person is for the program too. */
void quarantine_read_about(struct quarantine_entry *entry)
{
        take_text(entry->about, "kind", entry->kind, sizeof entry->kind);
        take_text(entry->about, "what", entry->what, sizeof entry->what);
        take_text(json_array_get(json_object_get(entry->about, "crashes"),
                                 quarantine_crashes_of(entry) - 1),
                  "by", entry->by, sizeof entry->by);
        entry->first_ms = quarantine_crash_ms(entry, 0);
        entry->last_ms = quarantine_crash_ms(entry, quarantine_crashes_of(entry) - 1);
}

static int see_entry(void *arg, const struct object *object, struct err *err)
{
        struct quarantine *quarantine = arg;
        struct quarantine_entry entry = {.id = object->id, .of = CRASH_OFS_END,
                                         .is_held = str_equal(object->state, "held")};

        (void)err;
        entry.about = json_loadb(object->body, object->size, 0, NULL);
        for (unsigned of = 0; of < CRASH_OFS_END; of++)
                if (str_equal(object->class, crash_of_name(of)))
                        entry.of = (uint8_t)of;
        const char *sight = json_string_value(json_object_get(entry.about, "sight"));
        entry.marks.meaning = strtoull(object->name, NULL, 16);
        entry.marks.sight = sight ? strtoull(sight, NULL, 16) : entry.marks.meaning;
        /* One that cannot be read holds nothing, and nothing else is let go for it. */
        if (!json_is_object(entry.about) || entry.of == CRASH_OFS_END ||
            quarantine->count == QUARANTINE_MAX) {
                json_decref(entry.about);
                return 0;
        }
        quarantine_read_about(&entry);
        quarantine->list[quarantine->count++] = entry;
        return 0;
}

static int load(struct quarantine *quarantine, struct err *err)
{
        const struct object_filter filter = {.kind = OBJECT_QUARANTINE, .live = true,
                                             .oldest_first = true, .with_body = true};
        struct store *store = core_view(quarantine->core);
        int rc;

        drop_all(quarantine);
        rc = objects_list(store, &filter, see_entry, quarantine, err);
        return rc ? rc : objects_last(store, OBJECT_QUARANTINE, &quarantine->last_id, err);
}

/* Where it cannot be read now, what is known stays. */
static void on_renewed(void *arg)
{
        struct quarantine *quarantine = arg;
        struct quarantine before = *quarantine;

        quarantine->count = 0;
        if (load(quarantine, NULL) == 0) {
                drop_all(&before);
                return;
        }
        drop_all(quarantine);
        *quarantine = before;
}

int quarantine_open(struct core *core, struct quarantine **ret_quarantine, struct err *err)
{
        struct quarantine *quarantine = mem_new(1, sizeof *quarantine);
        int rc;

        if (!quarantine)
                return err_set(err, ERR_NOMEM, "out of memory");
        quarantine->core = core;
        rc = load(quarantine, err);
        if (rc) {
                quarantine_free(quarantine);
                return rc;
        }
        const struct core_watch watch = {.arg = quarantine, .renewed = on_renewed};
        const struct core_guard guard = quarantine_guard(quarantine);
        core_watch(core, &watch);
        core_guard_set(core, &guard);
        *ret_quarantine = quarantine;
        return 0;
}

void quarantine_free(struct quarantine *quarantine)
{
        if (quarantine)
                drop_all(quarantine);
        mem_free(quarantine);
}

const struct quarantine_entry *quarantine_next(const struct quarantine *quarantine,
                                               uint32_t *cursor)
{
        return *cursor < quarantine->count ? &quarantine->list[(*cursor)++] : NULL;
}

uint64_t quarantine_crashes(const struct quarantine *quarantine)
{
        return quarantine->crashes;
}

uint64_t quarantine_refused(const struct quarantine *quarantine)
{
        return quarantine->refused;
}

/* ---- asking ---- */

bool quarantine_holds_any(const struct quarantine *quarantine, enum crash_of of)
{
        for (uint32_t i = 0; i < quarantine->count; i++)
                if (quarantine->list[i].of == of && quarantine->list[i].is_held)
                        return true;
        return false;
}

static int refuse(const struct quarantine_entry *entry, struct err *err)
{
        char at[VIEW_TIME_MAX];

        (void)view_time_text(entry->last_ms, at);
        if (entry->of == CRASH_OTHER)
                return err_set(err, ERR_QUARANTINED,
                               "nothing is decided now: inputs of several kinds have crashed the "
                               "engine, last at %s; what runs goes on. An operator lets it try "
                               "again, best with another version: 'berth quarantine release "
                               "%" PRIu64 "'", at, entry->id);
        return err_set(err, ERR_QUARANTINED,
                       "%s%s%s, or what asks for the same, has crashed the controller %zu times, "
                       "last at %s, and is not tried again: change it; or an operator lets it "
                       "try again, best with another version: 'berth quarantine release "
                       "%" PRIu64 "'",
                       entry->kind, entry->what[0] ? " " : "", entry->what,
                       quarantine_crashes_of(entry), at, entry->id);
}

int quarantine_check(const struct quarantine *quarantine, enum crash_of of, const char *head,
                     const char *body, size_t size, struct err *err)
{
        struct quarantine_marks marks;
        bool marked = false;

        for (uint32_t i = 0; i < quarantine->count; i++) {
                const struct quarantine_entry *entry = &quarantine->list[i];
                if (!entry->is_held)
                        continue;
                if (entry->of == CRASH_OTHER && of == CRASH_INPUT)
                        return refuse(entry, err);
                if (entry->of != of || strncmp(entry->kind, head, strlen(entry->kind)) != 0)
                        continue;       /* a long one was cut */
                if (!marked)
                        marks = quarantine_mark(of, head, strlen(head), body, size);
                marked = true;
                if (quarantine_is_same(&entry->marks, &marks))
                        return refuse(entry, err);
        }
        return 0;
}

static int may(void *arg, enum input_kind kind, const char *body, size_t size, struct err *err)
{
        struct quarantine *quarantine = arg;
        int rc = quarantine->count == 0 ? 0
                                        : quarantine_check(quarantine, CRASH_INPUT,
                                                           input_name(kind), body, size, err);

        quarantine->refused += rc < 0;
        return rc;
}

static void decided(void *arg, struct act *act, enum input_kind kind)
{
        struct quarantine *quarantine = arg;

        for (uint32_t i = 0; kind == INPUT_TICKED && i < quarantine->count; i++) {
                const struct quarantine_entry *entry = &quarantine->list[i];
                const struct object_change change = {
                        .kind = OBJECT_QUARANTINE, .id = entry->id, .state = "passed",
                        .updated_ms = core_now_ms(quarantine->core),
                        .ended_ms = core_now_ms(quarantine->core)};
                if (entry->of != CRASH_INPUT || !str_equal(entry->kind, input_name(kind)))
                        continue;
                if (core_set(act, &change, NULL) == 0)
                        drop(quarantine, i);
                return;
        }
}

struct core_guard quarantine_guard(struct quarantine *quarantine)
{
        return (struct core_guard){.arg = quarantine, .may = may, .decided = decided};
}

/* ---- changing ---- */

/* For who reads the log. */
int quarantine_note(struct act *act, const char *what, const struct quarantine_entry *entry,
                struct err *err)
{
        json_t *json = json_pack("{s:{s:I,s:s,s:s,s:s}}", what, "id", (json_int_t)entry->id, "of",
                                 crash_of_name((enum crash_of)entry->of), "kind", entry->kind,
                                 "what", entry->what);
        char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
        int rc = text ? core_note(act, text, err) : err_set(err, ERR_NOMEM, "out of memory");

        free(text);
        json_decref(json);
        return rc;
}

int quarantine_end(struct quarantine *quarantine, struct act *act, uint32_t at,
                     const char *state, struct err *err)
{
        const struct object_change change = {.kind = OBJECT_QUARANTINE,
                                             .id = quarantine->list[at].id,
                                             .state = state,
                                             .updated_ms = core_now_ms(quarantine->core),
                                             .ended_ms = core_now_ms(quarantine->core)};
        int rc = quarantine_note(act, state, &quarantine->list[at], err);

        if (rc == 0)
                rc = core_set(act, &change, err);
        if (rc == 0)
                drop(quarantine, at);
        return rc;
}

int quarantine_release(struct quarantine *quarantine, struct act *act, uint64_t id,
                       struct err *err)
{
        for (uint32_t i = 0; i < quarantine->count; i++)
                if (quarantine->list[i].id == id)
                        return quarantine_end(quarantine, act, i, "released", err);
        return err_set(err, ERR_NOT_FOUND, "nothing in quarantine has the number %" PRIu64, id);
}
