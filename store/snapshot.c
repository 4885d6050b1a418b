#include "store/snapshot.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/bytes.h"
#include "store/snapshot_impl.h"
#include "store/sql.h"
#include "store/store_impl.h"

/* Chunks of an old snapshot removed in one transaction. */
#define REMOVE_CHUNKS 4u

struct snapshot_put {
        struct snapshot about;          /* id 0: not begun */
        uint8_t *body;
        size_t written;                 /* bytes of it */
        struct snapshot_keep keep;
        bool is_whole;
};

void snapshot_hash_begin(const struct snapshot *about, crypto_generichash_state *state)
{
        uint8_t fixed[24];

        bytes_put_u64(bytes_put_u64(bytes_put_u64(fixed, about->seq), about->version),
                      about->size);
        crypto_generichash_init(state, NULL, 0, STORE_HASH_BYTES);
        crypto_generichash_update(state, fixed, sizeof fixed);
}

static void snapshot_hash(const struct snapshot *about, const void *body,
                          uint8_t ret_hash[STORE_HASH_BYTES])
{
        crypto_generichash_state state;

        snapshot_hash_begin(about, &state);
        crypto_generichash_update(&state, body, about->size);
        crypto_generichash_final(&state, ret_hash, STORE_HASH_BYTES);
}

int snapshot_put_new(const struct snapshot *about, void *body, size_t size,
                     struct snapshot_keep keep, struct snapshot_put **ret_put, struct err *err)
{
        assert(body || size == 0);
        assert(keep.newest > 0);
        if (size > SNAPSHOT_BYTES_MAX)
                return err_set(err, ERR_RANGE, "snapshot: %zu bytes; at most %u", size,
                               SNAPSHOT_BYTES_MAX);
        struct snapshot_put *put = mem_new(1, sizeof *put);
        if (!put)
                return err_set(err, ERR_NOMEM, "out of memory");
        put->about = *about;
        put->about.id = 0;
        put->about.size = size;
        snapshot_hash(&put->about, body, put->about.hash);      /* in the caller's time */
        put->body = body;
        put->keep = keep;
        *ret_put = put;
        return 0;
}

void snapshot_put_free(struct snapshot_put *put)
{
        if (!put)
                return;
        mem_free(put->body);
        mem_free(put);
}

/* The row, not yet whole. In a transaction. */
static int add_row(struct snapshot_put *put, struct store *store, struct err *err)
{
        struct snapshot *about = &put->about;
        sqlite3_stmt *statement;
        int rc = log_hash_at(store, about->seq, about->chain, err);

        if (rc < 0 || (rc = store_statement(store, STATEMENT_SNAPSHOT_ADD, &statement, err)) < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)about->seq);
        sql_bind_i64(statement, 2, (int64_t)about->version);
        sql_bind_i64(statement, 3, about->at_ms);
        sql_bind_i64(statement, 4, (int64_t)about->size);
        sql_bind_blob(statement, 5, about->chain, sizeof about->chain);
        sql_bind_blob(statement, 6, about->hash, sizeof about->hash);
        return sql_done(statement, err);
}

static int add_chunk(struct snapshot_put *put, struct store *store, size_t size, struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, STATEMENT_CHUNK_ADD, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)put->about.id);
        sql_bind_i64(statement, 2, (int64_t)(put->written / SNAPSHOT_CHUNK_BYTES));
        sql_bind_blob(statement, 3, put->body + put->written, size);
        return sql_done(statement, err);
}

static int run_with_id(struct store *store, enum store_statement which, uint64_t id,
                       struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, which, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)id);
        return sql_done(statement, err);
}

/* In short transactions: first it is no longer whole, so that nobody takes what is left of it for
 * damage; the row last, so that the chunks are found again. */
int snapshot_remove_step(struct store *store, uint64_t id, struct err *err)
{
        sqlite3_stmt *statement;
        int rc = run_with_id(store, STATEMENT_SNAPSHOT_NOT_WHOLE, id, err);

        if (rc < 0 || (rc = store_statement(store, STATEMENT_CHUNKS_REMOVE, &statement, err)) < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)id);
        sql_bind_i64(statement, 2, REMOVE_CHUNKS);
        if ((rc = sql_done(statement, err)) < 0)
                return rc;
        if (sqlite3_changes64(store->db) == REMOVE_CHUNKS)
                return 1;
        return run_with_id(store, STATEMENT_SNAPSHOT_REMOVE, id, err);
}

/* Removes a part of one that is unfinished or too old. 1: there was one. */
static int remove_stale(struct snapshot_put *put, struct store *store, struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, STATEMENT_SNAPSHOT_STALE, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)put->about.id);
        sql_bind_i64(statement, 2, put->keep.newest);
        sql_bind_i64(statement, 3, put->keep.days);
        if ((rc = sql_step(statement, err)) <= 0)
                return rc;
        uint64_t id = (uint64_t)sqlite3_column_int64(statement, 0);
        sql_reset(statement);
        rc = snapshot_remove_step(store, id, err);
        return rc < 0 ? rc : 1;
}

/* The next part: the row, a chunk, or the mark that it is whole. */
static int put_part(struct snapshot_put *put, struct store *store, struct err *err)
{
        size_t left = put->about.size - put->written;
        size_t size = left < SNAPSHOT_CHUNK_BYTES ? left : SNAPSHOT_CHUNK_BYTES;
        bool is_new = put->about.id == 0;
        int rc = store_begin(store, err);

        if (rc < 0)
                return rc;
        if (is_new)
                rc = add_row(put, store, err);
        else if (left > 0)
                rc = add_chunk(put, store, size, err);
        else
                rc = run_with_id(store, STATEMENT_SNAPSHOT_WHOLE, put->about.id, err);
        uint64_t id = (uint64_t)sqlite3_last_insert_rowid(store->db);
        if (rc < 0) {
                store_rollback(store);
                return rc;
        }
        if ((rc = store_end(store, err)) < 0)
                return rc;
        if (is_new) {
                put->about.id = id;
        } else {
                put->written += size;
                put->is_whole = left == 0;
        }
        return 1;
}

int snapshot_put_step(struct snapshot_put *put, struct store *store, struct err *err)
{
        assert(put);
        assert(store);

        return put->is_whole ? remove_stale(put, store, err) : put_part(put, store, err);
}

int snapshot_write(struct store *store, const struct snapshot *about, const void *body,
                   size_t size, struct snapshot_keep keep, struct err *err)
{
        struct snapshot_put *put;
        void *copy = mem_new(size, 1);

        if (!copy)
                return err_set(err, ERR_NOMEM, "out of memory");
        if (size > 0)
                memcpy(copy, body, size);
        int rc = snapshot_put_new(about, copy, size, keep, &put, err);
        if (rc < 0) {
                mem_free(copy);
                return rc;
        }
        while ((rc = snapshot_put_step(put, store, err)) > 0)
                ;
        snapshot_put_free(put);
        return rc;
}

static int read_row(sqlite3_stmt *row, struct snapshot *ret_snapshot, struct err *err)
{
        int rc;
        struct snapshot it = {.id = (uint64_t)sqlite3_column_int64(row, 0),
                              .seq = (uint64_t)sqlite3_column_int64(row, 1),
                              .version = (uint64_t)sqlite3_column_int64(row, 2),
                              .at_ms = sqlite3_column_int64(row, 3),
                              .size = (uint64_t)sqlite3_column_int64(row, 4)};

        if ((rc = sql_blob(row, 5, it.chain, sizeof it.chain, err)) < 0 ||
            (rc = sql_blob(row, 6, it.hash, sizeof it.hash, err)) < 0)
                return rc;
        *ret_snapshot = it;
        return 0;
}

int snapshot_list(struct store *store, struct snapshot *ret_list, size_t max, size_t *ret_count,
                  struct err *err)
{
        static const char text[] = "SELECT id, seq, version, at_ms, size, chain, hash"
                                   " FROM snapshots WHERE is_whole = 1"
                                   " ORDER BY seq DESC, id DESC LIMIT ?1";
        sqlite3_stmt *statement;
        size_t count = 0;
        int rc = sql_prepare(store->db, text, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, max < INT32_MAX ? (int64_t)max : INT32_MAX);
        while ((rc = sql_step(statement, err)) > 0)
                if ((rc = read_row(statement, &ret_list[count++], err)) < 0)
                        break;
        sqlite3_finalize(statement);
        if (rc == 0)
                *ret_count = count;
        return rc;
}

/* All chunks into `body` of the size said; as many bytes must be there. */
static int read_chunks(struct store *store, const struct snapshot *snapshot, uint8_t *body,
                       struct err *err)
{
        sqlite3_stmt *statement;
        uint64_t at = 0;
        int rc = store_statement(store, STATEMENT_CHUNKS, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)snapshot->id);
        while ((rc = sql_step(statement, err)) > 0) {
                const void *bytes = sqlite3_column_blob(statement, 0);
                size_t size = (size_t)sqlite3_column_bytes(statement, 0);
                if (size > snapshot->size - at) {
                        at = UINT64_MAX;
                        break;
                }
                if (bytes)
                        memcpy(body + at, bytes, size);
                at += size;
        }
        sql_reset(statement);
        if (rc >= 0 && at != snapshot->size)
                return err_set(err, ERR_INPUT, "%s: snapshot at record %" PRIu64
                               " has more or fewer than its %" PRIu64 " bytes", store->path,
                               snapshot->seq, snapshot->size);
        return rc < 0 ? rc : 0;
}

int snapshot_read(struct store *store, const struct snapshot *snapshot, void **ret_body,
                  struct err *err)
{
        uint8_t hash[STORE_HASH_BYTES];

        if (snapshot->size > SNAPSHOT_BYTES_MAX)
                return err_set(err, ERR_INPUT, "%s: snapshot at record %" PRIu64
                               " says it has %" PRIu64 " bytes, which cannot be", store->path,
                               snapshot->seq, snapshot->size);
        uint8_t *body = mem_new(snapshot->size, 1);
        if (!body)
                return err_set(err, ERR_NOMEM, "out of memory");
        int rc = read_chunks(store, snapshot, body, err);
        if (rc == 0) {
                snapshot_hash(snapshot, body, hash);
                if (memcmp(hash, snapshot->hash, sizeof hash) != 0)
                        rc = err_set(err, ERR_INPUT, "%s: snapshot at record %" PRIu64
                                     " does not fit its hash", store->path, snapshot->seq);
        }
        if (rc < 0) {
                mem_free(body);
                return rc;
        }
        *ret_body = body;
        return 0;
}

int snapshot_check_place(struct store *store, const struct snapshot *snapshot, struct err *err)
{
        uint8_t hash[STORE_HASH_BYTES];
        int rc = log_hash_at(store, snapshot->seq, hash, err);

        if (rc == 0 && memcmp(hash, snapshot->chain, sizeof hash) != 0)
                return err_set(err, ERR_INPUT, "%s: snapshot at record %" PRIu64
                               " belongs to another log", store->path, snapshot->seq);
        return rc;
}

int snapshot_newest(struct store *store, struct snapshot *ret_snapshot, void **ret_body,
                    size_t *ret_size, unsigned *ret_bad_count, struct err *err)
{
        struct snapshot list[SNAPSHOT_KEPT_MAX];
        size_t count;
        unsigned bad = 0;
        int rc = snapshot_list(store, list, ARRAY_LEN(list), &count, err);

        if (rc < 0)
                return rc;
        for (size_t i = 0; i < count; i++, bad++) {
                if ((rc = snapshot_check_place(store, &list[i], err)) == 0 &&
                    (rc = snapshot_read(store, &list[i], ret_body, err)) == 0) {
                        *ret_snapshot = list[i];
                        *ret_size = (size_t)list[i].size;
                        *ret_bad_count = bad;
                        return 0;
                }
                if (rc == -ERR_NOMEM)
                        return rc;
        }
        return err_set(err, ERR_NOT_FOUND, "%s: there is no good snapshot (%u damaged)",
                       store->path, bad);
}
