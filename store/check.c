#include "store/check.h"

#include <assert.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/keys.h"
#include "store/log.h"
#include "store/objects.h"
#include "store/prune.h"
#include "store/snapshot.h"
#include "store/sql.h"
#include "store/store_impl.h"

#define PAGE_FINDINGS_MAX 20
#define SNAPSHOTS_MAX     64u

struct look {
        struct store *store;
        const struct check_options *options;
        check_finding *finding;
        void *self;
        struct check_report *report;
};

static void find(struct look *look, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

static void find(struct look *look, const char *format, ...)
{
        char sentence[600];
        va_list arguments;

        va_start(arguments, format);
        if (vsnprintf(sentence, sizeof sentence, format, arguments) < 0)
                sentence[0] = '\0';
        va_end(arguments);
        look->report->findings++;
        if (look->finding)
                look->finding(look->self, sentence);
}

/* A part that could not be looked at is a finding; only lack of memory ends the look. */
static int settle(struct look *look, int rc, const struct err *why, struct err *err)
{
        if (rc >= 0)
                return 0;
        if (rc == -ERR_NOMEM)
                return err_set(err, ERR_NOMEM, "%s", why->text);
        find(look, "%s", why->text);
        return 0;
}

/* SQLite's own look at its pages gives rows of text, or "ok". */
static int look_at_pages(struct look *look, struct err *err)
{
        sqlite3_stmt *statement;
        struct err why = {0};
        int rc = sql_prepare(look->store->db, "PRAGMA integrity_check(20)", &statement, &why);

        if (rc < 0)
                return settle(look, rc, &why, err);
        _Static_assert(PAGE_FINDINGS_MAX == 20, "as in the statement");
        while ((rc = sql_step(statement, &why)) > 0) {
                const char *text = (const char *)sqlite3_column_text(statement, 0);
                if (text && strcmp(text, "ok") != 0)
                        find(look, "%s: %s", store_path(look->store), text);
        }
        sqlite3_finalize(statement);
        return settle(look, rc, &why, err);
}

/* From the first record behind the base to the newest. */
static int look_at_chain(struct look *look, struct err *err)
{
        struct log_cursor *cursor = NULL;
        struct log_head base, head;
        struct record record;
        struct err why = {0};
        uint64_t last;
        int64_t strays = 0;
        int rc;

        if ((rc = log_base(look->store, &base, &why)) < 0 ||
            (rc = log_read(look->store, base.seq + 1, &cursor, &why)) < 0)
                return settle(look, rc, &why, err);
        last = base.seq;
        while ((rc = log_next(cursor, &record, &why)) > 0) {
                look->report->records++;
                last = record.seq;
        }
        log_cursor_free(cursor);
        if (rc == 0 && (rc = log_head(look->store, &head, &why)) == 0 && head.seq != last)
                find(look, "%s: the log ends at record %" PRIu64 " and at %" PRIu64,
                     store_path(look->store), head.seq, last);
        if (rc == 0)
                rc = sql_number(look->store->db, "SELECT count(*) FROM records WHERE seq < 1",
                                &strays, &why);
        if (rc == 0 && strays > 0)
                find(look, "%s: %" PRId64 " records have numbers below 1",
                     store_path(look->store), strays);
        return settle(look, rc, &why, err);
}

/* Signatures; the key where it is known; and the record at an older head, should it still be. */
static int look_at_heads(struct look *look, struct err *err)
{
        struct sealed_head *heads = NULL;
        size_t count = 0;
        struct err why = {0};
        int rc = prune_heads(look->store, &heads, &count, &why);

        if (rc < 0)
                return settle(look, rc, &why, err);
        for (size_t i = 0; i < count; i++) {
                const uint8_t *wanted = look->options ? look->options->public_key : NULL;
                look->report->heads++;
                if (seal_verify(&heads[i], &why) < 0)
                        find(look, "%s: %s", store_path(look->store), why.text);
                else if (wanted && memcmp(wanted, heads[i].public_key, SEAL_PUBLIC_BYTES) != 0)
                        find(look, "%s: head at record %" PRIu64
                             " is signed with another key than the one given",
                             store_path(look->store), heads[i].seq);
        }
        mem_free(heads);
        return 0;
}

static int look_at_snapshots(struct look *look, struct err *err)
{
        struct snapshot list[SNAPSHOTS_MAX];
        size_t count;
        struct err why = {0};
        struct log_head base;
        int rc = snapshot_list(look->store, list, SNAPSHOTS_MAX, &count, &why);

        if (rc < 0 || (rc = log_base(look->store, &base, &why)) < 0)
                return settle(look, rc, &why, err);
        for (size_t i = 0; i < count; i++) {
                void *body;
                look->report->snapshots++;
                rc = snapshot_read(look->store, &list[i], &body, &why);
                if (rc == 0)
                        mem_free(body);
                /* One before the base waits for its removal: nothing is left to hold it against. */
                if (rc == 0 && list[i].seq >= base.seq)
                        rc = snapshot_check_place(look->store, &list[i], &why);
                if ((rc = settle(look, rc, &why, err)) < 0)
                        return rc;
        }
        return 0;
}

static int look_at_object(void *self, const struct object *object, struct err *err)
{
        struct look *look = self;
        struct err why = {0};

        look->report->objects++;
        if (object_check(object, &why) == -ERR_NOMEM)
                return err_set(err, ERR_NOMEM, "%s", why.text);
        if (why.code != ERR_OK)
                find(look, "%s: object %u/%" PRIu64 ": %s", store_path(look->store),
                     (unsigned)object->kind, object->id, why.text);
        else if (object->ended_ms != 0 && object->ended_ms < object->created_ms)
                find(look, "%s: %s %" PRIu64 " ended before it was made", store_path(look->store),
                     object_kind_name((unsigned)object->kind), object->id);
        return 0;
}

static int look_at_objects(struct look *look, struct err *err)
{
        struct err why = {0};
        int rc = objects_each(look->store, look_at_object, look, &why);

        return settle(look, rc, &why, err);
}

static int look_at_counts(struct look *look, struct err *err)
{
        int64_t rows = 0;
        struct err why = {0};
        int rc = keys_count(look->store, &look->report->keys, &why);

        if (rc == 0)
                rc = sql_number(look->store->db, "SELECT count(*) FROM usage_hours", &rows, &why);
        look->report->usage_rows = (uint64_t)rows;
        if (rc == 0)
                rc = sql_number(look->store->db, "SELECT count(*) FROM review_days", &rows, &why);
        look->report->review_rows = (uint64_t)rows;
        return settle(look, rc, &why, err);
}

int store_check(struct store *store, const struct check_options *options, check_finding *finding,
                void *self, struct check_report *ret_report, struct err *err)
{
        struct check_report report = {0};
        struct look look = {store, options, finding, self, &report};
        int rc;

        assert(store);
        assert(ret_report);
        if ((rc = look_at_pages(&look, err)) < 0 || (rc = look_at_heads(&look, err)) < 0 ||
            (rc = look_at_chain(&look, err)) < 0 || (rc = look_at_snapshots(&look, err)) < 0 ||
            (rc = look_at_objects(&look, err)) < 0 || (rc = look_at_counts(&look, err)) < 0)
                return rc;
        *ret_report = report;
        return 0;
}
