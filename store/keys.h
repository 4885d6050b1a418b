/* keys.h - idempotency keys: a repeated request gets the answer of the first one.
 *
 * Not pure; threads as store.h says. A key belongs to its actor. It is committed in the batch of
 * the request that brought it (batch_set_key), with the answer, and forgotten after its bound. A
 * key that waits in the writer's queue is not here yet: ask writer_holds_key() too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

#define KEY_MAX        255              /* bytes, the final NUL not counted */
#define KEY_ANSWER_MAX (1u << 20)
#define KEY_LIFE_MS    86400000ll       /* the usual one: a day */

struct key_entry {
        const char *actor;
        const char *key;
        uint8_t request[STORE_HASH_BYTES];      /* key_request_hash() */
        int64_t until_ms;                       /* forgotten from then on */
        uint32_t status;                        /* the answer */
        const void *body;
        size_t size;
};

/* One word for a request: its operation and its body. */
void key_request_hash(const char *operation, const void *body, size_t size,
                      uint8_t ret_hash[STORE_HASH_BYTES]);

/* 0 and the answer of the first request; its body is freed with mem_free(). Only status, body, size
 * and until_ms of *ret_entry are written.
 * -ERR_NOT_FOUND (a new key), -ERR_EXISTS (known for another request), -ERR_IO, -ERR_NOMEM. */
int keys_find(struct store *store, const char *actor, const char *key,
              const uint8_t request[STORE_HASH_BYTES], int64_t now_ms,
              struct key_entry *ret_entry, struct err *err);

/* How many stand in the file, forgotten ones that wait for their removal included. */
int keys_count(struct store *store, uint64_t *ret_count, struct err *err);
