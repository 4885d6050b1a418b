#include "store/prune.h"

#include <assert.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/log.h"
#include "store/snapshot.h"
#include "store/snapshot_impl.h"
#include "store/sql.h"
#include "store/store_impl.h"

/* Free pages given back to the file system in one transaction. */
#define VACUUM_PAGES "2000"

/* Recovery starts at a snapshot: one must stand where the log will start, or behind. */
static int check_snapshot(struct store *store, uint64_t upto_seq, struct err *err)
{
        struct snapshot snapshot;
        void *body;
        size_t size;
        unsigned bad;
        int rc = snapshot_newest(store, &snapshot, &body, &size, &bad, err);

        if (rc == 0)
                mem_free(body);
        if (rc == -ERR_NOT_FOUND || (rc == 0 && snapshot.seq < upto_seq))
                return err_set(err, ERR_RANGE,
                               "%s: no good snapshot stands at record %" PRIu64
                               " or behind it, and recovery needs one", store->path, upto_seq);
        return rc;
}

int prune_add_head(struct store *store, const struct sealed_head *head, struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, STATEMENT_HEAD_ADD, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)head->seq);
        sql_bind_i64(statement, 2, head->at_ms);
        sql_bind_blob(statement, 3, head->hash, sizeof head->hash);
        sql_bind_blob(statement, 4, head->public_key, sizeof head->public_key);
        sql_bind_blob(statement, 5, head->signature, sizeof head->signature);
        return sql_done(statement, err);
}

static int cut(const struct prune *prune, struct store *store, struct err *err)
{
        struct sealed_head head = {.seq = prune->upto_seq, .at_ms = prune->at_ms};
        int rc = log_hash_at(store, head.seq, head.hash, err);

        if (rc < 0 || (rc = check_snapshot(store, head.seq, err)) < 0)
                return rc;
        seal_sign(prune->key, &head);
        return prune_add_head(store, &head, err);
}

/* Records behind the head. 1: there may be more. */
static int forget_records(const struct prune *prune, struct store *store, struct err *err)
{
        uint32_t rows = prune->rows_per_step ? prune->rows_per_step : PRUNE_ROWS_PER_STEP;

        return store_forget(store, STATEMENT_RECORDS_FORGET, (int64_t)prune->upto_seq, rows, err);
}

/* Snapshots before the base can recover nothing any more. 1: there was one. */
static int forget_snapshot(const struct prune *prune, struct store *store, struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, STATEMENT_SNAPSHOT_BEFORE, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)prune->upto_seq);
        if ((rc = sql_step(statement, err)) <= 0)
                return rc;
        uint64_t id = (uint64_t)sqlite3_column_int64(statement, 0);
        sql_reset(statement);
        rc = snapshot_remove_step(store, id, err);
        return rc < 0 ? rc : 1;
}

/* 1: there is more. */
static int give_back(struct store *store, struct err *err)
{
        int64_t before, after;
        int rc;

        if ((rc = sql_number(store->db, "PRAGMA freelist_count", &before, err)) < 0 ||
            (rc = sql_run(store->db, "PRAGMA incremental_vacuum(" VACUUM_PAGES ")", err)) < 0 ||
            (rc = sql_number(store->db, "PRAGMA freelist_count", &after, err)) < 0)
                return rc;
        return after > 0 && after < before;
}

int prune_step(const struct prune *prune, struct store *store, struct err *err)
{
        struct log_head base;

        assert(prune);
        assert(prune->upto_seq > 0);
        int rc = log_base(store, &base, err);
        if (rc < 0)
                return rc;
        if (base.seq < prune->upto_seq) {
                rc = cut(prune, store, err);
                return rc < 0 ? rc : 1;
        }
        if ((rc = forget_records(prune, store, err)) != 0 ||
            (rc = forget_snapshot(prune, store, err)) != 0)
                return rc;
        return give_back(store, err);
}

static int read_head(sqlite3_stmt *row, struct sealed_head *ret_head, struct err *err)
{
        struct sealed_head head = {.seq = (uint64_t)sqlite3_column_int64(row, 0),
                                   .at_ms = sqlite3_column_int64(row, 1)};
        int rc;

        if ((rc = sql_blob(row, 2, head.hash, sizeof head.hash, err)) < 0 ||
            (rc = sql_blob(row, 3, head.public_key, sizeof head.public_key, err)) < 0 ||
            (rc = sql_blob(row, 4, head.signature, sizeof head.signature, err)) < 0)
                return rc;
        *ret_head = head;
        return 0;
}

int prune_heads(struct store *store, struct sealed_head **ret_heads, size_t *ret_count,
                struct err *err)
{
        sqlite3_stmt *statement;
        struct sealed_head *heads = NULL;
        size_t count = 0;
        int rc = sql_prepare(store->db, "SELECT seq, at_ms, hash, public_key, signature FROM heads"
                                        " ORDER BY seq", &statement, err);

        if (rc < 0)
                return rc;
        while ((rc = sql_step(statement, err)) > 0) {
                struct sealed_head *grown = mem_resize(heads, count, count + 1, sizeof *heads);
                if (!grown) {
                        rc = err_set(err, ERR_NOMEM, "out of memory");
                        break;
                }
                heads = grown;
                if ((rc = read_head(statement, &heads[count++], err)) < 0)
                        break;
        }
        sqlite3_finalize(statement);
        if (rc < 0) {
                mem_free(heads);
                return rc;
        }
        *ret_heads = heads;
        *ret_count = count;
        return 0;
}
