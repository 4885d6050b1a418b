#include "store/schema.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/log.h"
#include "store/objects.h"
#include "store/sql.h"
#include "store/store.h"

#define OBJECT_KIND_ROW(name, number, word) \
        "INSERT INTO object_kinds VALUES (" #number ", '" word "');"
#define KIND_ROW(name, number, word) "INSERT INTO kinds VALUES (" #number ", '" word "');"

/* 126000 units x 3600000 ms: one device for one hour (rollup.h). */
#define DEVICE_HOUR "453600000000.0"

static const char version_1[] =
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL)"
        " STRICT, WITHOUT ROWID;"
        "CREATE TABLE kinds (kind INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;"
        RECORD_KINDS(KIND_ROW)
        "CREATE TABLE records ("
        " seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, at_ms INTEGER NOT NULL,"
        " actor TEXT NOT NULL, reason TEXT NOT NULL, hash BLOB NOT NULL, body BLOB NOT NULL)"
        " STRICT;"
        "CREATE TABLE heads ("
        " seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, hash BLOB NOT NULL,"
        " public_key BLOB NOT NULL, signature BLOB NOT NULL) STRICT;"
        "CREATE TABLE snapshots ("
        " id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, version INTEGER NOT NULL,"
        " at_ms INTEGER NOT NULL, size INTEGER NOT NULL, chain BLOB NOT NULL,"
        " hash BLOB NOT NULL, is_whole INTEGER NOT NULL) STRICT;"
        "CREATE TABLE snapshot_chunks ("
        " snapshot INTEGER NOT NULL, number INTEGER NOT NULL, body BLOB NOT NULL,"
        " PRIMARY KEY (snapshot, number)) STRICT;"
        /* With a rowid: the answers stay in the order in which they came, and only a small index is
         * written all over. */
        "CREATE TABLE keys ("
        " actor TEXT NOT NULL, key TEXT NOT NULL, request BLOB NOT NULL,"
        " until_ms INTEGER NOT NULL, status INTEGER NOT NULL, body BLOB NOT NULL,"
        " PRIMARY KEY (actor, key)) STRICT;"
        "CREATE INDEX keys_until ON keys (until_ms);"
        "CREATE TABLE usage_hours ("
        " hour_ms INTEGER NOT NULL, tenant TEXT NOT NULL, model TEXT NOT NULL,"
        " class TEXT NOT NULL, method TEXT NOT NULL, bucket TEXT NOT NULL,"
        " unit_ms INTEGER NOT NULL CHECK (unit_ms >= 0),"
        " PRIMARY KEY (hour_ms, tenant, model, class, method, bucket)) STRICT, WITHOUT ROWID;"
        /* Append-only for everybody, plain SQL included: no change, and what goes goes behind a
         * head. */
        "CREATE TRIGGER records_are_final BEFORE UPDATE ON records"
        " BEGIN SELECT raise(ABORT, 'a record is never changed'); END;"
        "CREATE TRIGGER records_go_behind_a_head BEFORE DELETE ON records"
        " WHEN old.seq > coalesce((SELECT max(seq) FROM heads), 0)"
        " BEGIN SELECT raise(ABORT, 'a record is removed only behind a signed head'); END;"
        "CREATE VIEW log AS"
        " SELECT seq, strftime('%Y-%m-%dT%H:%M:%fZ', at_ms / 1000.0, 'unixepoch') AS at,"
        "  coalesce(kinds.name, records.kind) AS kind, actor, reason, length(body) AS bytes,"
        "  lower(hex(hash)) AS hash, body"
        " FROM records LEFT JOIN kinds USING (kind);"
        "CREATE VIEW decisions AS"
        " SELECT seq, at, actor, reason, bytes, body FROM log WHERE kind = 'facts';"
        "CREATE VIEW usage AS"
        " SELECT strftime('%Y-%m-%dT%H:00Z', hour_ms / 1000, 'unixepoch') AS hour,"
        "  tenant, model, class, method, bucket, unit_ms, unit_ms / " DEVICE_HOUR
        "  AS device_hours"
        " FROM usage_hours;"
        "CREATE VIEW usage_by_day AS"
        " SELECT strftime('%Y-%m-%d', hour_ms / 1000, 'unixepoch') AS day,"
        "  tenant, model, class, method, bucket, total(unit_ms) / " DEVICE_HOUR
        "  AS device_hours"
        " FROM usage_hours GROUP BY 1, 2, 3, 4, 5, 6;"
        "CREATE VIEW usage_by_month AS"
        " SELECT strftime('%Y-%m', hour_ms / 1000, 'unixepoch') AS month,"
        "  tenant, model, class, method, bucket, total(unit_ms) / " DEVICE_HOUR
        "  AS device_hours"
        " FROM usage_hours GROUP BY 1, 2, 3, 4, 5, 6;";

static const char version_1_objects[] =
        "CREATE TABLE object_kinds (kind INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;"
        OBJECT_KINDS(OBJECT_KIND_ROW)
        "CREATE TABLE objects ("
        " kind INTEGER NOT NULL, id INTEGER NOT NULL, tenant TEXT NOT NULL, name TEXT NOT NULL,"
        " class TEXT NOT NULL, owner TEXT NOT NULL, state TEXT NOT NULL, detail TEXT NOT NULL,"
        " created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, ended_ms INTEGER NOT NULL,"
        " seq INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (kind, id))"
        " STRICT, WITHOUT ROWID;"
        /* One for each way they are listed (objects_list.c); live ones are few and have their own.
         */
        "CREATE INDEX objects_named ON objects (kind, name, tenant, id);"
        "CREATE INDEX objects_of_tenant ON objects (kind, tenant, id);"
        "CREATE INDEX objects_ended ON objects (kind, ended_ms) WHERE ended_ms <> 0;"
        "CREATE INDEX objects_live ON objects (kind, id) WHERE ended_ms = 0;"
        "CREATE INDEX objects_live_named ON objects (kind, name, tenant, id) WHERE ended_ms = 0;"
        "CREATE INDEX objects_live_of_tenant ON objects (kind, tenant, id) WHERE ended_ms = 0;"
        "CREATE VIEW workloads AS"
        " SELECT id, tenant, name, class, owner, state, nullif(detail, '') AS detail,"
        "  strftime('%Y-%m-%dT%H:%M:%fZ', created_ms / 1000.0, 'unixepoch') AS submitted,"
        "  CASE ended_ms WHEN 0 THEN NULL"
        "   ELSE strftime('%Y-%m-%dT%H:%M:%fZ', ended_ms / 1000.0, 'unixepoch') END AS ended"
        " FROM objects WHERE kind = 1;";

#define OBJECT_KIND_ROW_AGAIN(name, number, word) \
        "INSERT OR IGNORE INTO object_kinds VALUES (" #number ", '" word "');"

/* What happened each day, for the review (review.h); and words that came later. */
static const char version_2[] =
        OBJECT_KINDS(OBJECT_KIND_ROW_AGAIN)
        "CREATE TABLE review_days ("
        " day_ms INTEGER NOT NULL, tenant TEXT NOT NULL, class TEXT NOT NULL,"
        " model TEXT NOT NULL, measure TEXT NOT NULL, detail TEXT NOT NULL,"
        " amount INTEGER NOT NULL CHECK (amount >= 0),"
        " PRIMARY KEY (day_ms, tenant, class, model, measure, detail)) STRICT, WITHOUT ROWID;"
        "CREATE VIEW review AS"
        " SELECT strftime('%Y-%m-%d', day_ms / 1000, 'unixepoch') AS day,"
        "  tenant, class, model, measure, detail, amount FROM review_days;"
        "CREATE VIEW review_by_month AS"
        " SELECT strftime('%Y-%m', day_ms / 1000, 'unixepoch') AS month,"
        "  tenant, class, model, measure, detail, total(amount) AS amount"
        " FROM review_days GROUP BY 1, 2, 3, 4, 5, 6;"
        "CREATE VIEW review_waits AS"
        " SELECT strftime('%Y-%m-%d', day_ms / 1000, 'unixepoch') AS day,"
        "  tenant, class, model, total(amount) FILTER (WHERE measure = 'starts') AS starts,"
        "  total(amount) FILTER (WHERE measure = 'wait_ms') / 1000"
        "   / total(amount) FILTER (WHERE measure = 'starts') AS mean_wait_s"
        " FROM review_days WHERE measure IN ('starts', 'wait_ms') GROUP BY 1, 2, 3, 4;"
        "CREATE VIEW alerts AS"
        " SELECT id, class AS kind, name AS subject, tenant, state, detail,"
        "  strftime('%Y-%m-%dT%H:%M:%fZ', created_ms / 1000.0, 'unixepoch') AS since,"
        "  CASE ended_ms WHEN 0 THEN NULL"
        "   ELSE strftime('%Y-%m-%dT%H:%M:%fZ', ended_ms / 1000.0, 'unixepoch') END AS ended"
        " FROM objects WHERE kind = 11 AND state IN ('firing', 'resolved');";

static const struct schema_step steps_of_this_program[] = {
        {"the first schema", version_1, version_1_objects},
        {"what the review needs, by the day", version_2, NULL},
};

const struct schema_step *schema_steps(size_t *ret_count)
{
        *ret_count = ARRAY_LEN(steps_of_this_program);
        return steps_of_this_program;
}

int schema_version(struct sqlite3 *db, size_t count, unsigned *ret_version, struct err *err)
{
        int64_t application, version, tables;
        int rc;

        if ((rc = sql_number(db, "PRAGMA application_id", &application, err)) < 0 ||
            (rc = sql_number(db, "PRAGMA user_version", &version, err)) < 0 ||
            (rc = sql_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err)) < 0)
                return rc;
        bool is_empty = application == 0 && version == 0 && tables == 0;
        if (application != STORE_APPLICATION_ID && !is_empty)
                return err_set(err, ERR_INPUT,
                               "%s: is a SQLite file of another program, not a store",
                               sql_path(db));
        if (version < 0 || (uint64_t)version > count)
                return err_set(err, ERR_INPUT,
                               "%s: has schema version %lld; this program knows up to %zu: "
                               "start the newer program it was last used with",
                               sql_path(db), (long long)version, count);
        *ret_version = (unsigned)version;
        return 0;
}

/* The step and the number that says it was taken are one transaction. */
static int take_step(struct sqlite3 *db, const struct schema_step *step, unsigned to_version,
                     struct err *err)
{
        char mark[96];
        int rc;

        (void)snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %u;",
                       STORE_APPLICATION_ID, to_version);
        if ((rc = sql_run(db, "BEGIN IMMEDIATE", err)) < 0 ||
            (rc = sql_run(db, step->sql, err)) < 0 ||
            (step->more && (rc = sql_run(db, step->more, err)) < 0) ||
            (rc = sql_run(db, mark, err)) < 0 ||
            (rc = sql_run(db, "COMMIT", err)) < 0) {
                if (!sqlite3_get_autocommit(db))
                        (void)sql_run(db, "ROLLBACK", NULL);
                return err_prefix(err, "schema version %u (%s)", to_version, step->what);
        }
        return rc;
}

int schema_bring_forward(struct sqlite3 *db, const struct schema_step *steps, size_t count,
                         struct err *err)
{
        unsigned version;

        assert(steps);
        int rc = schema_version(db, count, &version, err);
        while (rc == 0 && version < count) {
                rc = take_step(db, &steps[version], version + 1, err);
                version++;
        }
        return rc;
}
