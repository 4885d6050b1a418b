#include "store/log.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/bytes.h"
#include "store/sql.h"
#include "store/store_impl.h"

struct log_cursor {
        struct store *store;
        sqlite3_stmt *statement;
        struct log_head at;             /* the record given last, and its hash */
        bool is_on_row;                 /* stepped to one that was not given yet */
        bool is_at_end;
        struct err failure;             /* code 0: none */
};

const char *record_kind_name(unsigned kind)
{
        switch (kind) {
#define X(name, number, word) case number: return word;
                RECORD_KINDS(X)
#undef X
        }
        return NULL;
}

int text_check(const char *what, const char *text, size_t bytes_max, struct err *err)
{
        assert(text);

        size_t size = strnlen(text, bytes_max + 1);
        if (size > bytes_max)
                return err_set(err, ERR_INPUT, "%s: longer than %zu bytes", what, bytes_max);
        if (!str_is_utf8(text, size, NULL))
                return err_set(err, ERR_INPUT, "%s: is not UTF-8", what);
        return 0;
}

int record_check(const struct record *record, struct err *err)
{
        int rc;

        assert(record->body || record->size == 0);
        if (!record_kind_name(record->kind))
                return err_set(err, ERR_INPUT, "record: there is no kind %u",
                               (unsigned)record->kind);
        if ((rc = text_check("record: actor", record->actor, RECORD_ACTOR_MAX, err)) < 0 ||
            (rc = text_check("record: reason", record->reason, RECORD_REASON_MAX, err)) < 0)
                return rc;
        if (record->size > RECORD_BODY_MAX)
                return err_set(err, ERR_INPUT, "record: body of %zu bytes; at most %u",
                               record->size, RECORD_BODY_MAX);
        return 0;
}

void record_put_fixed(const struct record *record, uint8_t ret_bytes[RECORD_FIXED_BYTES])
{
        uint8_t *at = ret_bytes;

        at = bytes_put_u64(at, record->seq);
        at = bytes_put_u32(at, (uint32_t)record->kind);
        at = bytes_put_u32(at, (uint32_t)strlen(record->actor));
        at = bytes_put_u32(at, (uint32_t)strlen(record->reason));
        at = bytes_put_u32(at, (uint32_t)record->size);
        at = bytes_put_u64(at, (uint64_t)record->at_ms);
        assert(at == ret_bytes + RECORD_FIXED_BYTES);
}

void record_hash(const struct record *record, const uint8_t previous[STORE_HASH_BYTES],
                 uint8_t ret_hash[STORE_HASH_BYTES])
{
        uint8_t fixed[RECORD_FIXED_BYTES];
        crypto_generichash_state state;

        record_put_fixed(record, fixed);
        crypto_generichash_init(&state, NULL, 0, STORE_HASH_BYTES);
        crypto_generichash_update(&state, previous, STORE_HASH_BYTES);
        crypto_generichash_update(&state, fixed, sizeof fixed);
        crypto_generichash_update(&state, (const uint8_t *)record->actor, strlen(record->actor));
        crypto_generichash_update(&state, (const uint8_t *)record->reason,
                                  strlen(record->reason));
        crypto_generichash_update(&state, record->body, record->size);
        crypto_generichash_final(&state, ret_hash, STORE_HASH_BYTES);
}

/* A statement that gives seq and hash; zero when it gives no row. 1 when there was one. */
static int read_head(struct store *store, enum store_statement which, struct log_head *ret_head,
                     struct err *err)
{
        sqlite3_stmt *statement;
        struct log_head head = {0};
        int rc = store_statement(store, which, &statement, err);

        if (rc < 0 || (rc = sql_step(statement, err)) < 0)
                return rc;
        if (rc > 0) {
                head.seq = (uint64_t)sqlite3_column_int64(statement, 0);
                int blob = sql_blob(statement, 1, head.hash, sizeof head.hash, err);
                sql_reset(statement);
                if (blob < 0)
                        return blob;
        }
        *ret_head = head;
        return rc;
}

int log_base(struct store *store, struct log_head *ret_base, struct err *err)
{
        int rc = read_head(store, STATEMENT_HEAD_NEWEST, ret_base, err);

        return rc < 0 ? rc : 0;
}

int log_head(struct store *store, struct log_head *ret_head, struct err *err)
{
        int rc = read_head(store, STATEMENT_RECORD_NEWEST, ret_head, err);

        return rc == 0 ? log_base(store, ret_head, err) : rc < 0 ? rc : 0;
}

int log_hash_at(struct store *store, uint64_t seq, uint8_t ret_hash[STORE_HASH_BYTES],
                struct err *err)
{
        sqlite3_stmt *statement;
        struct log_head base;
        int rc = log_base(store, &base, err);

        if (rc < 0)
                return rc;
        if (seq == base.seq) {
                memcpy(ret_hash, base.hash, STORE_HASH_BYTES);
                return 0;
        }
        if (seq < base.seq || seq > RECORD_SEQ_MAX)
                return err_set(err, ERR_NOT_FOUND, "%s: record %" PRIu64 " %s", store->path, seq,
                               seq < base.seq ? "is pruned" : "cannot be");
        if ((rc = store_statement(store, STATEMENT_RECORD_HASH, &statement, err)) < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)seq);
        if ((rc = sql_step(statement, err)) < 0)
                return rc;
        if (rc == 0)
                return err_set(err, ERR_NOT_FOUND, "%s: there is no record %" PRIu64, store->path,
                               seq);
        rc = sql_blob(statement, 0, ret_hash, STORE_HASH_BYTES, err);
        sql_reset(statement);
        return rc;
}

/* 1; 0: it has been pruned by now. */
static int time_of(struct store *store, uint64_t seq, int64_t *ret_at_ms, struct err *err)
{
        struct log_head base;
        sqlite3_stmt *row;
        int rc = store_statement(store, STATEMENT_RECORD_TIME, &row, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(row, 1, (int64_t)seq);
        rc = sql_step(row, err);
        if (rc > 0)
                *ret_at_ms = sqlite3_column_int64(row, 0);
        sql_reset(row);
        if (rc != 0)
                return rc;
        if ((rc = log_base(store, &base, err)) < 0)
                return rc;
        return seq <= base.seq ? 0
                               : err_set(err, ERR_IO, "%s: a record is missing: check the store",
                                         store_path(store));
}

int log_find_older(struct store *store, uint64_t low, uint64_t high, int64_t than_ms,
                   uint64_t *ret_seq, struct err *err)
{
        while (low < high) {
                uint64_t middle = low + (high - low + 1) / 2;
                int64_t at_ms = 0;
                int rc = time_of(store, middle, &at_ms, err);
                if (rc < 0)
                        return rc;
                if (rc == 0 || at_ms < than_ms)
                        low = middle;
                else
                        high = middle - 1;
        }
        *ret_seq = low;
        return 0;
}

int log_append(struct store *store, const struct record *record, struct log_head *head,
               struct err *err)
{
        sqlite3_stmt *statement;
        struct record next = *record;

        if (head->seq >= RECORD_SEQ_MAX)
                return err_set(err, ERR_FULL, "%s: the log has no further number", store->path);
        next.seq = head->seq + 1;
        record_hash(&next, head->hash, next.hash);
        int rc = store_statement(store, STATEMENT_RECORD_ADD, &statement, err);
        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)next.seq);
        sql_bind_i64(statement, 2, (int64_t)next.kind);
        sql_bind_i64(statement, 3, next.at_ms);
        sql_bind_text(statement, 4, next.actor);
        sql_bind_text(statement, 5, next.reason);
        sql_bind_blob(statement, 6, next.hash, sizeof next.hash);
        sql_bind_blob(statement, 7, next.body, next.size);
        if ((rc = sql_done(statement, err)) < 0)
                return rc;
        head->seq = next.seq;
        memcpy(head->hash, next.hash, sizeof head->hash);
        return 0;
}

int log_read(struct store *store, uint64_t seq, struct log_cursor **ret_cursor, struct err *err)
{
        static const char text[] = "SELECT seq, kind, at_ms, actor, reason, hash, body"
                                   " FROM records WHERE seq >= ?1 ORDER BY seq";

        assert(seq > 0);
        struct log_cursor *cursor = mem_new(1, sizeof *cursor);
        if (!cursor)
                return err_set(err, ERR_NOMEM, "out of memory");
        cursor->store = store;
        cursor->at.seq = seq - 1;
        int rc = sql_prepare(store->db, text, &cursor->statement, err);
        if (rc == 0) {
                /* The first step opens the transaction in which the hash before it is read too. */
                sql_bind_i64(cursor->statement, 1, (int64_t)seq);
                rc = sql_step(cursor->statement, err);
                cursor->is_on_row = rc > 0;
                cursor->is_at_end = rc == 0;
        }
        if (rc >= 0)
                rc = log_hash_at(store, seq - 1, cursor->at.hash, err);
        if (rc < 0) {
                log_cursor_free(cursor);
                return rc;
        }
        *ret_cursor = cursor;
        return 0;
}

void log_cursor_free(struct log_cursor *cursor)
{
        if (!cursor)
                return;
        sqlite3_finalize(cursor->statement);
        mem_free(cursor);
}

/* A text column; a NUL inside is no text of ours. */
static int read_text(struct log_cursor *cursor, int column, const char **ret_text,
                     struct err *err)
{
        const char *text = (const char *)sqlite3_column_text(cursor->statement, column);
        int size = sqlite3_column_bytes(cursor->statement, column);

        if (!text)
                return err_set(err, ERR_NOMEM, "out of memory");
        if (strlen(text) != (size_t)size)
                return err_set(err, ERR_INPUT, "%s: record %" PRIu64 ": a text holds a NUL",
                               cursor->store->path, cursor->at.seq + 1);
        *ret_text = text;
        return 0;
}

static int read_record(struct log_cursor *cursor, struct record *ret_record, struct err *err)
{
        sqlite3_stmt *row = cursor->statement;
        struct record record = {.seq = (uint64_t)sqlite3_column_int64(row, 0),
                                .at_ms = sqlite3_column_int64(row, 2)};
        int64_t kind = sqlite3_column_int64(row, 1);
        uint8_t hash[STORE_HASH_BYTES];
        int rc;

        if (record.seq != cursor->at.seq + 1)
                return err_set(err, ERR_INPUT,
                               "%s: record %" PRIu64 " is missing; the next is %" PRIu64,
                               cursor->store->path, cursor->at.seq + 1, record.seq);
        if (kind < 0 || kind > UINT32_MAX)
                return err_set(err, ERR_INPUT, "%s: record %" PRIu64 " has kind %" PRId64
                               ", which cannot be", cursor->store->path, record.seq, kind);
        record.kind = (enum record_kind)kind;
        if ((rc = read_text(cursor, 3, &record.actor, err)) < 0 ||
            (rc = read_text(cursor, 4, &record.reason, err)) < 0 ||
            (rc = sql_blob(row, 5, record.hash, sizeof record.hash, err)) < 0)
                return rc;
        record.body = sqlite3_column_blob(row, 6);
        record.size = (size_t)sqlite3_column_bytes(row, 6);
        record_hash(&record, cursor->at.hash, hash);
        if (memcmp(hash, record.hash, sizeof hash) != 0)
                return err_set(err, ERR_INPUT,
                               "%s: record %" PRIu64 " does not fit its hash or the record "
                               "before it: one of them was changed", cursor->store->path,
                               record.seq);
        cursor->at.seq = record.seq;
        memcpy(cursor->at.hash, hash, sizeof hash);
        *ret_record = record;
        return 1;
}

int log_next(struct log_cursor *cursor, struct record *ret_record, struct err *err)
{
        if (cursor->failure.code == ERR_OK) {
                if (cursor->is_at_end)
                        return 0;
                int rc = cursor->is_on_row ? 1 : sql_step(cursor->statement, &cursor->failure);
                cursor->is_on_row = false;
                cursor->is_at_end = rc == 0;
                if (rc > 0)
                        rc = read_record(cursor, ret_record, &cursor->failure);
                if (rc >= 0)
                        return rc;
        }
        return err_set(err, cursor->failure.code, "%s", cursor->failure.text);
}
