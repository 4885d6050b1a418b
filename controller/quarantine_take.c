/* The crash records of earlier runs become suspects, and what is held. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/core.h"
#include "controller/quarantine_impl.h"

struct taking {
        struct quarantine *quarantine;
        struct act *act;
        unsigned crashes;
};

/* ---- what is kept of a crash ---- */

static const char *signal_name(int number)
{
        switch (number) {
        case SIGABRT:
                return "SIGABRT";       /* a failed assertion, or it took too long */
        case SIGSEGV:
                return "SIGSEGV";
        case SIGBUS:
                return "SIGBUS";
        case SIGFPE:
                return "SIGFPE";
        case SIGILL:
                return "SIGILL";
        }
        return "another";
}

/* Bytes that are no UTF-8 are none of JSON: then nothing is said. */
static json_t *text_of(const char *bytes, size_t size, size_t size_max)
{
        json_t *text = json_stringn(bytes, str_cut(bytes, size, size_max));

        return text ? text : json_string("");
}

static json_t *about_crash(const struct crash_record *record)
{
        return json_pack("{s:I,s:s,s:o,s:o,s:o}", "at_ns", (json_int_t)record->at_ns, "signal",
                         signal_name(record->signal), "version",
                         text_of(record->version, record->version_size, 64), "stack",
                         text_of(record->stack, record->stack_size, QUARANTINE_STACK_MAX), "by",
                         text_of(record->by, record->by_size, CRASH_BY_MAX - 1));
}

static bool is_known(const struct quarantine_entry *entry, int64_t at_ns)
{
        size_t i;
        json_t *crash;

        json_array_foreach(json_object_get(entry->about, "crashes"), i, crash)
                if (json_integer_value(json_object_get(crash, "at_ns")) == at_ns)
                        return true;
        return false;
}

/* ---- entries ---- */

/* What is typed at somebody's terminal, and what that shows, is not kept. */
static bool is_private(const struct crash_record *record)
{
        static const char path[] = "/attachments/";

        return record->of == CRASH_REQUEST &&
               memmem(record->head, record->head_size, path, strlen(path));
}

/* Of a request without its query: what is known again begins with it. */
static size_t kind_size(const struct crash_record *record)
{
        const char *query = record->of == CRASH_REQUEST
                                    ? memchr(record->head, '?', record->head_size)
                                    : NULL;

        return query ? (size_t)(query - record->head) : record->head_size;
}

/* With an empty list of crashes. NULL: out of memory. */
static json_t *about_new(const struct quarantine *quarantine, const struct crash_record *record)
{
        const struct vocab *vocab = core_state(quarantine->core)->vocab;
        char what[QUARANTINE_WHAT_MAX];
        json_t *input = json_loadb(record->body, record->body_size, 0, NULL);
        json_t *node = json_object_get(input, "node");

        if (!node)
                node = json_object_get(json_object_get(input, "desc"), "name");
        what[0] = '\0';
        if (!is_private(record))
                quarantine_what(record, what, sizeof what);
        if (record->of == CRASH_INPUT && json_is_integer(node) && json_integer_value(node) >= 0 &&
            json_integer_value(node) < vocab_count(vocab, VOCAB_NAMES))
                (void)snprintf(what, sizeof what, "node '%.100s'",
                               vocab_name_text(vocab, (uint32_t)json_integer_value(node)));
        json_decref(input);
        return json_pack("{s:o,s:s,s:[],s:o}", "kind",
                         text_of(record->head, kind_size(record), QUARANTINE_KIND_MAX - 1), "what",
                         what, "crashes", "input",
                         text_of(record->body, is_private(record) ? 0 : record->body_size,
                                 QUARANTINE_SHOWN_MAX));
}

/* The oldest suspect goes, where there is no room. */
static int make_room(struct taking *taking, struct err *err)
{
        struct quarantine *quarantine = taking->quarantine;
        uint32_t at = 0;

        if (quarantine->count < QUARANTINE_MAX)
                return 0;
        while (at < quarantine->count && quarantine->list[at].is_held)
                at++;
        if (at == quarantine->count)
                return err_set(err, ERR_FULL, "%d inputs are in quarantine: release some",
                               QUARANTINE_MAX);
        return quarantine_end(quarantine, taking->act, at, "forgotten", err);
}

static int add(struct taking *taking, const struct crash_record *record,
               const struct quarantine_marks *marks, uint32_t *ret_at, struct err *err)
{
        struct quarantine *quarantine = taking->quarantine;
        struct quarantine_entry entry = {.marks = *marks, .of = (uint8_t)record->of};
        int rc = make_room(taking, err);

        if (rc)
                return rc;
        entry.about = about_new(quarantine, record);
        if (!entry.about)
                return err_set(err, ERR_NOMEM, "out of memory");
        entry.id = ++quarantine->last_id;
        *ret_at = quarantine->count;
        quarantine->list[quarantine->count++] = entry;
        return 0;
}

static int keep(struct taking *taking, const struct quarantine_entry *entry, struct err *err)
{
        char mark[24], sight[24], *body;
        (void)snprintf(mark, sizeof mark, "%016" PRIx64, entry->marks.meaning);
        (void)snprintf(sight, sizeof sight, "%016" PRIx64, entry->marks.sight);
        (void)json_object_set_new(entry->about, "sight", json_string(sight));
        body = json_dumps(entry->about, JSON_COMPACT);
        const struct object object = {.kind = OBJECT_QUARANTINE,
                                      .id = entry->id,
                                      .tenant = "",
                                      .name = mark,
                                      .class = crash_of_name((enum crash_of)entry->of),
                                      .owner = "",
                                      .state = entry->is_held ? "held" : "suspect",
                                      .detail = "",
                                      .created_ms = entry->first_ms,
                                      .updated_ms = entry->last_ms,
                                      .body = body,
                                      .size = body ? strlen(body) : 0};
        int rc = body ? quarantine_note(taking->act, object.state, entry, err)
                      : err_set(err, ERR_NOMEM, "out of memory");

        if (rc == 0)
                rc = core_put(taking->act, &object, err);
        free(body);
        return rc;
}

/* Crashes that are too old to count go, and so do the first ones where there are many. */
static void drop_old(struct quarantine_entry *entry, int64_t now_ms)
{
        json_t *crashes = json_object_get(entry->about, "crashes");

        while (quarantine_crashes_of(entry) > QUARANTINE_CRASHES_KEPT ||
               (!entry->is_held && quarantine_crashes_of(entry) > 0 &&
                now_ms - quarantine_crash_ms(entry, 0) > QUARANTINE_WITHIN_MS))
                (void)json_array_remove(crashes, 0);
}

static int blame(struct taking *taking, const struct crash_record *record, struct err *err)
{
        struct quarantine *quarantine = taking->quarantine;
        const struct quarantine_marks marks = quarantine_mark(
                record->of, record->head, record->head_size, record->body, record->body_size);
        uint32_t at = quarantine_find(quarantine, record->of, &marks);
        int rc = 0;

        if (at == quarantine->count)
                rc = add(taking, record, &marks, &at, err);
        if (rc)
                return rc;
        struct quarantine_entry *entry = &quarantine->list[at];
        if (is_known(entry, record->at_ns))
                return 0;
        taking->crashes++;
        if (json_array_append_new(json_object_get(entry->about, "crashes"),
                                  about_crash(record)) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        drop_old(entry, record->at_ns / 1000000);
        quarantine_read_about(entry);
        entry->is_new = true;
        entry->is_held |= quarantine_crashes_of(entry) >= QUARANTINE_CRASHES;
        return keep(taking, entry, err);
}

/* ---- the engine as a whole ---- */

/* Kinds of input that have crashed shortly before. */
static unsigned kinds_at(const struct quarantine *quarantine, int64_t at_ms)
{
        unsigned kinds = 0;

        for (uint32_t i = 0; i < quarantine->count; i++) {
                const struct quarantine_entry *entry = &quarantine->list[i];
                bool counts = entry->of == CRASH_INPUT &&
                              at_ms - entry->last_ms <= QUARANTINE_ENGINE_MS;
                for (uint32_t j = 0; counts && j < i; j++)
                        counts = quarantine->list[j].of != CRASH_INPUT ||
                                 at_ms - quarantine->list[j].last_ms > QUARANTINE_ENGINE_MS ||
                                 !str_equal(quarantine->list[j].kind, entry->kind);
                kinds += counts;
        }
        return kinds;
}

static int hold_engine(struct taking *taking, const struct crash_record *record, struct err *err)
{
        static const struct quarantine_marks none = {0};
        struct crash_record engine = *record;
        struct quarantine *quarantine = taking->quarantine;
        uint32_t at = quarantine_find(quarantine, CRASH_OTHER, &none);
        int rc;

        if (record->of != CRASH_INPUT || at < quarantine->count ||
            kinds_at(quarantine, record->at_ns / 1000000) < QUARANTINE_KINDS)
                return 0;
        engine.of = CRASH_OTHER;
        engine.head = "engine";
        engine.head_size = strlen(engine.head);
        rc = add(taking, &engine, &none, &at, err);
        if (rc)
                return rc;
        quarantine->list[at].is_held = quarantine->list[at].is_new = true;
        (void)json_array_append_new(json_object_get(quarantine->list[at].about, "crashes"),
                                    about_crash(record));
        quarantine_read_about(&quarantine->list[at]);
        return keep(taking, &quarantine->list[at], err);
}

/* ---- taking ---- */

static int see_record(void *arg, const struct crash_record *record, struct err *err)
{
        struct taking *taking = arg;
        unsigned before = taking->crashes;
        int rc;

        if (record->of == CRASH_OTHER) {        /* nothing to blame: it is only told */
                taking->crashes++;
                return 0;
        }
        rc = blame(taking, record, err);
        return rc || taking->crashes == before ? rc : hold_engine(taking, record, err);
}

static void taken(void *arg, int rc, const struct err *err)
{
        (void)arg;
        (void)err;
        if (rc == 0)
                crash_forget();         /* else they are read again at the next start */
}

static int forget_old(struct taking *taking, int64_t now_ms, struct err *err)
{
        struct quarantine *quarantine = taking->quarantine;
        int rc = 0;

        for (uint32_t at = quarantine->count; rc == 0 && at-- > 0;)
                if (!quarantine->list[at].is_held &&
                    now_ms - quarantine->list[at].last_ms > QUARANTINE_WITHIN_MS)
                        rc = quarantine_end(quarantine, taking->act, at, "forgotten", err);
        return rc;
}

int quarantine_take(struct quarantine *quarantine, const char *path, int64_t now_ms,
                    unsigned *ret_crashes, struct err *err)
{
        struct taking taking = {.quarantine = quarantine};
        char *bytes = NULL;
        size_t size = 0;
        int rc = file_read(path, (size_t)CRASH_FILE_MAX * 2, &bytes, &size, err);

        *ret_crashes = 0;
        if (rc && rc != -ERR_NOT_FOUND)
                return rc;
        if (size == 0 && quarantine->count == 0) {
                mem_free(bytes);
                return 0;
        }
        taking.act = core_begin(quarantine->core, "berthd", "", now_ms, err);
        if (!taking.act) {
                mem_free(bytes);
                return -(int)ERR_IO;
        }
        rc = forget_old(&taking, now_ms, err);
        if (rc == 0)
                rc = crash_read(bytes, size, see_record, &taking, err);
        core_commit(taking.act, taken, NULL);
        mem_free(bytes);
        *ret_crashes = taking.crashes;
        quarantine->crashes += taking.crashes;
        return rc;
}
