/* store_impl.h - the inside of a store, for store/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/log.h"
#include "store/objects.h"
#include "store/store.h"

struct key_entry;
struct sealed_head;
struct sqlite3;
struct sqlite3_stmt;
struct vfs_count;

/* Of a row of objects, in the order that object_read_row() takes. */
#define OBJECT_COLUMNS \
        "id, tenant, name, class, owner, state, detail, created_ms, updated_ms, ended_ms, seq"

/* Prepared at first use, kept until the store is closed. */
#define STORE_STATEMENTS(X)                                                                      \
        X(BEGIN, "BEGIN IMMEDIATE")                                                              \
        X(COMMIT, "COMMIT")                                                                      \
        X(ROLLBACK, "ROLLBACK")                                                                  \
        X(RECORD_NEWEST, "SELECT seq, hash FROM records ORDER BY seq DESC LIMIT 1")              \
        X(HEAD_NEWEST, "SELECT seq, hash FROM heads ORDER BY seq DESC LIMIT 1")                  \
        X(RECORD_TIME, "SELECT at_ms FROM records WHERE seq = ?1")                               \
        X(RECORD_HASH, "SELECT hash FROM records WHERE seq = ?1")                                \
        X(RECORD_ADD, "INSERT INTO records (seq, kind, at_ms, actor, reason, hash, body)"        \
                      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                    \
        X(RECORDS_FORGET, "DELETE FROM records WHERE seq IN"                                     \
                          " (SELECT seq FROM records WHERE seq <= ?1 ORDER BY seq LIMIT ?2)")    \
        X(HEAD_ADD, "INSERT INTO heads (seq, at_ms, hash, public_key, signature)"                \
                    " VALUES (?1, ?2, ?3, ?4, ?5)")                                              \
        X(KEY_FIND, "SELECT request, until_ms, status, body FROM keys"                           \
                    " WHERE actor = ?1 AND key = ?2")                                            \
        X(KEY_ADD, "INSERT OR REPLACE INTO keys (actor, key, request, until_ms, status, body)"   \
                   " VALUES (?1, ?2, ?3, ?4, ?5, ?6)")                                           \
        X(KEYS_FORGET, "DELETE FROM keys WHERE rowid IN"                                         \
                       " (SELECT rowid FROM keys WHERE until_ms <= ?1"                           \
                       "  ORDER BY until_ms LIMIT ?2)")                                          \
        X(KEYS_COUNT, "SELECT count(*) FROM keys")                                               \
        X(USAGE_RAISE, "UPDATE usage_hours SET unit_ms = unit_ms + ?7"                           \
                       " WHERE hour_ms = ?1 AND tenant = ?2 AND model = ?3 AND class = ?4"       \
                       "  AND method = ?5 AND bucket = ?6")                                      \
        X(USAGE_ADD, "INSERT INTO usage_hours"                                                   \
                     " (hour_ms, tenant, model, class, method, bucket, unit_ms)"                 \
                     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                     \
        X(USAGE_FORGET, "DELETE FROM usage_hours"                                                \
                        " WHERE (hour_ms, tenant, model, class, method, bucket) IN"              \
                        " (SELECT hour_ms, tenant, model, class, method, bucket"                 \
                        "  FROM usage_hours WHERE hour_ms < ?1 LIMIT ?2)")                       \
        X(REVIEW_RAISE, "UPDATE review_days SET amount = amount + ?7"                            \
                        " WHERE day_ms = ?1 AND tenant = ?2 AND class = ?3 AND model = ?4"       \
                        "  AND measure = ?5 AND detail = ?6")                                    \
        X(REVIEW_ADD, "INSERT INTO review_days"                                                  \
                      " (day_ms, tenant, class, model, measure, detail, amount)"                 \
                      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                    \
        X(REVIEW_FORGET, "DELETE FROM review_days"                                               \
                         " WHERE (day_ms, tenant, class, model, measure, detail) IN"             \
                         " (SELECT day_ms, tenant, class, model, measure, detail"                \
                         "  FROM review_days WHERE day_ms < ?1 LIMIT ?2)")                       \
        X(SNAPSHOT_ADD, "INSERT INTO snapshots"                                                  \
                        " (seq, version, at_ms, size, chain, hash, is_whole)"                    \
                        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)")                                   \
        X(SNAPSHOT_WHOLE, "UPDATE snapshots SET is_whole = 1 WHERE id = ?1")                     \
        X(SNAPSHOT_NOT_WHOLE, "UPDATE snapshots SET is_whole = 0 WHERE id = ?1 AND is_whole = 1") \
        X(SNAPSHOT_REMOVE, "DELETE FROM snapshots WHERE id = ?1")                                \
        X(SNAPSHOT_STALE, "SELECT id FROM snapshots WHERE id <> ?1 AND (is_whole = 0 OR"         \
                          " (id NOT IN (SELECT id FROM snapshots WHERE is_whole = 1"             \
                          "   ORDER BY seq DESC, id DESC LIMIT ?2)"                              \
                          "  AND id NOT IN (SELECT id FROM"                                      \
                          "   (SELECT id, min(seq), at_ms / 86400000 AS day FROM snapshots"      \
                          "    WHERE is_whole = 1 GROUP BY day ORDER BY day DESC LIMIT ?3))))"   \
                          " ORDER BY id LIMIT 1")                                                \
        X(SNAPSHOT_BEFORE, "SELECT id FROM snapshots WHERE seq < ?1 ORDER BY id LIMIT 1")        \
        X(CHUNK_ADD, "INSERT OR REPLACE INTO snapshot_chunks (snapshot, number, body)"           \
                     " VALUES (?1, ?2, ?3)")                                                     \
        X(CHUNKS, "SELECT body FROM snapshot_chunks WHERE snapshot = ?1 ORDER BY number")        \
        X(CHUNKS_REMOVE, "DELETE FROM snapshot_chunks WHERE rowid IN"                            \
                         " (SELECT rowid FROM snapshot_chunks WHERE snapshot = ?1 LIMIT ?2)")    \
        X(OBJECT_PUT, "INSERT OR REPLACE INTO objects (kind, id, tenant, name, class, owner,"      \
                      "  state, detail, created_ms, updated_ms, ended_ms, seq, body)"            \
                      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)")        \
        X(OBJECT_SET, "UPDATE objects SET state = coalesce(?3, state),"                          \
                      "  detail = coalesce(?4, detail), updated_ms = ?5,"                        \
                      "  ended_ms = CASE ?6 WHEN 0 THEN ended_ms ELSE ?6 END"                    \
                      " WHERE kind = ?1 AND id = ?2")                                            \
        /* A detail that is no JSON (only damage makes it so) must not fail a commit. */         \
        X(OBJECT_RUNS_KEEP, "UPDATE objects SET detail ="                                        \
                            " CASE WHEN NOT json_valid(detail) THEN ?3"                          \
                            "  WHEN json_type(detail, '$.runs') = 'array' THEN json_set(?3,"     \
                            "   '$.runs_ended', json_extract(detail, '$.runs_ended'),"           \
                            "   '$.runs', json_extract(detail, '$.runs'))"                       \
                            "  ELSE ?3 END WHERE kind = ?1 AND id = ?2")                         \
        X(OBJECT_RUN_ADD, "UPDATE objects SET detail = (SELECT json_set("                        \
                          "  json_remove(was, '$.next_run'),"                                    \
                          "  '$.runs_ended', 1 + coalesce(json_extract(was, '$.runs_ended'), 0),"\
                          "  '$.runs', json_insert(coalesce(json_extract(was, '$.runs'), '[]'),"  \
                          "   '$[#]', json_patch(json(?3),"                                      \
                          "                      coalesce(json_extract(was, '$.next_run'),"      \
                          "                               '{}'))))"                              \
                          " FROM (SELECT CASE WHEN json_valid(detail) THEN detail ELSE '{}' END" \
                          "       AS was))"                                                      \
                          " WHERE kind = ?1 AND id = ?2")                                        \
        X(OBJECT_RUN_NEXT, "UPDATE objects SET detail = json_set("                               \
                           " CASE WHEN json_valid(detail) THEN detail ELSE '{}' END,"            \
                           " '$.next_run', json(?3)) WHERE kind = ?1 AND id = ?2")               \
        X(OBJECT_RUNS_TRIM, "UPDATE objects SET detail = json_remove(detail, '$.runs[0]')"       \
                            " WHERE kind = ?1 AND id = ?2 AND CASE WHEN json_valid(detail) THEN" \
                            "  json_array_length(detail, '$.runs') >"                            \
                            "  CASE WHEN length(CAST(detail AS BLOB)) > ?4 THEN 0 ELSE ?3 END"   \
                            " ELSE 0 END")                                                       \
        X(OBJECT_GET, "SELECT " OBJECT_COLUMNS ", body FROM objects WHERE kind = ?1 AND id = ?2") \
        X(OBJECT_LAST, "SELECT coalesce(max(id), 0) FROM objects WHERE kind = ?1")               \
        X(OBJECTS_FORGET, "DELETE FROM objects WHERE kind = ?1 AND id IN"                        \
                          " (SELECT id FROM objects INDEXED BY objects_ended WHERE kind = ?1"    \
                          "  AND ended_ms <> 0 AND ended_ms < ?2"                                \
                          "  AND id < (SELECT max(id) FROM objects WHERE kind = ?1) LIMIT ?3)")  \
        X(PROBE, "INSERT INTO meta (name, value) VALUES ('probes', 1)"                           \
                 " ON CONFLICT DO UPDATE SET value = value + 1")

enum store_statement {
#define X(name, sql) STATEMENT_##name,
        STORE_STATEMENTS(X)
#undef X
        STORE_STATEMENTS_END
};

struct store {
        struct sqlite3 *db;
        char *path;
        struct vfs_count *vfs;
        int lock_fd;                    /* -1: none */
        bool is_view;                   /* the VFS is another store's */
        bool is_read_only;
        bool is_system_vfs;
        store_stops *stops;             /* NULL: what it reads is read to its end */
        void *stops_arg;
        int wal_pages;                  /* after the newest commit of this connection */
        struct sqlite3_stmt *statements[STORE_STATEMENTS_END];
};

/* Reset and ready to be bound. */
int store_statement(struct store *store, enum store_statement which,
                    struct sqlite3_stmt **ret_statement, struct err *err);

/* Runs one that removes rows before, or up to, ?1, at most ?2 of them. 1: there may be more. */
int store_forget(struct store *store, enum store_statement which, int64_t before,
                 uint32_t rows_max, struct err *err);

/* One transaction: everything between is there after the end or not at all. After a failed begin or
 * end there is none open. */
int store_begin(struct store *store, struct err *err);
int store_end(struct store *store, struct err *err);
void store_rollback(struct store *store);               /* also when there is none */

/* Brings WAL pages into the file; `truncate` waits for all of it and empties the WAL. */
int store_checkpoint(struct store *store, bool truncate, struct err *err);
uint32_t store_wal_pages(const struct store *store);

/* A small durable write, and the newest record read anew: does the disk work again? */
int store_probe(struct store *store, struct err *err);

/* Makes the folder's entry of a new file durable. Only on the system's own VFS. */
int store_sync_folder(const char *path, struct err *err);

/* The numbers of a record's layout. */
#define RECORD_FIXED_BYTES 32
void record_put_fixed(const struct record *record, uint8_t ret_bytes[RECORD_FIXED_BYTES]);

/* Appends one record behind *head and moves it. In a transaction. */
int log_append(struct store *store, const struct record *record, struct log_head *head,
               struct err *err);

/* The hash of record `seq`, which the log or its base must have: else -ERR_NOT_FOUND. */
int log_hash_at(struct store *store, uint64_t seq, uint8_t ret_hash[STORE_HASH_BYTES],
                struct err *err);

/* Columns as in the statement OBJECT_GET; texts live until the statement moves on. */
void object_read_row(struct sqlite3_stmt *statement, enum object_kind kind, bool with_body,
                     struct object *ret_object);
int object_put(struct store *store, const struct object *object, struct err *err);
int object_set(struct store *store, const struct object_change *change, struct err *err);
int prune_add_head(struct store *store, const struct sealed_head *head, struct err *err);
int keys_add(struct store *store, const struct key_entry *entry, struct err *err);
/* Removes at most `rows_max` whose time is over. */
int keys_forget(struct store *store, int64_t now_ms, uint32_t rows_max, struct err *err);

/* Bounds and UTF-8 of what a batch or an import brings; -ERR_INPUT. */
int object_check(const struct object *object, struct err *err);
int object_change_check(const struct object_change *change, struct err *err);
int key_check(const struct key_entry *entry, struct err *err);
int text_check(const char *what, const char *text, size_t bytes_max, struct err *err);
