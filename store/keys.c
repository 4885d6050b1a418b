#include "store/keys.h"

#include <assert.h>
#include <sodium.h>
#include <sqlite3.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/bytes.h"
#include "store/sql.h"
#include "store/store_impl.h"

int key_check(const struct key_entry *entry, struct err *err)
{
        int rc;

        assert(entry->body || entry->size == 0);
        if ((rc = text_check("idempotency key: actor", entry->actor, RECORD_ACTOR_MAX, err)) < 0 ||
            (rc = text_check("idempotency key", entry->key, KEY_MAX, err)) < 0)
                return rc;
        if (entry->key[0] == '\0')
                return err_set(err, ERR_INPUT, "idempotency key: is empty");
        if (entry->size > KEY_ANSWER_MAX)
                return err_set(err, ERR_INPUT, "idempotency key: answer of %zu bytes; at most %u",
                               entry->size, KEY_ANSWER_MAX);
        return 0;
}

void key_request_hash(const char *operation, const void *body, size_t size,
                      uint8_t ret_hash[STORE_HASH_BYTES])
{
        crypto_generichash_state state;
        uint8_t length[8];

        assert(operation);
        bytes_put_u64(length, strlen(operation));
        crypto_generichash_init(&state, NULL, 0, STORE_HASH_BYTES);
        crypto_generichash_update(&state, length, sizeof length);
        crypto_generichash_update(&state, (const uint8_t *)operation, strlen(operation));
        crypto_generichash_update(&state, body, size);
        crypto_generichash_final(&state, ret_hash, STORE_HASH_BYTES);
}

/* The row under the statement; the body is copied. */
static int read_answer(sqlite3_stmt *row, const uint8_t request[STORE_HASH_BYTES],
                       const char *key, int64_t now_ms, struct key_entry *ret_entry,
                       struct err *err)
{
        uint8_t known[STORE_HASH_BYTES];
        int64_t until_ms = sqlite3_column_int64(row, 1);
        int rc = sql_blob(row, 0, known, sizeof known, err);

        if (rc < 0)
                return rc;
        if (until_ms <= now_ms)
                return err_set(err, ERR_NOT_FOUND, "idempotency key '%s' is forgotten", key);
        if (sodium_memcmp(known, request, sizeof known) != 0)
                return err_set(err, ERR_EXISTS,
                               "idempotency key '%s' was used for another request; take a new "
                               "key for a new request", key);
        size_t size = (size_t)sqlite3_column_bytes(row, 3);
        void *body = mem_new(size, 1);
        if (!body)
                return err_set(err, ERR_NOMEM, "out of memory");
        if (size > 0)
                memcpy(body, sqlite3_column_blob(row, 3), size);
        ret_entry->until_ms = until_ms;
        ret_entry->status = (uint32_t)sqlite3_column_int64(row, 2);
        ret_entry->body = body;
        ret_entry->size = size;
        return 0;
}

int keys_find(struct store *store, const char *actor, const char *key,
              const uint8_t request[STORE_HASH_BYTES], int64_t now_ms,
              struct key_entry *ret_entry, struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, STATEMENT_KEY_FIND, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_text(statement, 1, actor);
        sql_bind_text(statement, 2, key);
        if ((rc = sql_step(statement, err)) < 0)
                return rc;
        if (rc == 0)
                return err_set(err, ERR_NOT_FOUND, "idempotency key '%s' is new", key);
        rc = read_answer(statement, request, key, now_ms, ret_entry, err);
        sql_reset(statement);
        return rc;
}

int keys_count(struct store *store, uint64_t *ret_count, struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, STATEMENT_KEYS_COUNT, &statement, err);

        if (rc < 0 || (rc = sql_step(statement, err)) < 0)
                return rc;
        *ret_count = (uint64_t)sqlite3_column_int64(statement, 0);
        sql_reset(statement);
        return 0;
}

int keys_add(struct store *store, const struct key_entry *entry, struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, STATEMENT_KEY_ADD, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_text(statement, 1, entry->actor);
        sql_bind_text(statement, 2, entry->key);
        sql_bind_blob(statement, 3, entry->request, sizeof entry->request);
        sql_bind_i64(statement, 4, entry->until_ms);
        sql_bind_i64(statement, 5, entry->status);
        sql_bind_blob(statement, 6, entry->body, entry->size);
        return sql_done(statement, err);
}

int keys_forget(struct store *store, int64_t now_ms, uint32_t rows_max, struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, STATEMENT_KEYS_FORGET, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, now_ms);
        sql_bind_i64(statement, 2, rows_max);
        return sql_done(statement, err);
}
