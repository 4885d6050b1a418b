/* prune.h - forgets old records behind a signed head.
 *
 * Not pure; threads as store.h says. A head {seq, hash} takes the place of records 1 to seq: the
 * next record chains to it, and an Ed25519 signature shows that it was cut here and not by someone
 * else. The secret key lies beside the store (PATH.key, mode 0600) and never in it; the public one
 * stands with each head, and whoever wants to be sure keeps it elsewhere too (check.h).
 *
 * What is signed: "berth store head 1\0", u64 seq, hash, i64 at_ms; numbers little-endian.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

#define SEAL_PUBLIC_BYTES    32
#define SEAL_SECRET_BYTES    64
#define SEAL_SIGNATURE_BYTES 64

struct seal_key {
        uint8_t public_key[SEAL_PUBLIC_BYTES];
        uint8_t secret_key[SEAL_SECRET_BYTES];
};

struct sealed_head {
        uint64_t seq;
        int64_t at_ms;
        uint8_t hash[STORE_HASH_BYTES];
        uint8_t public_key[SEAL_PUBLIC_BYTES];
        uint8_t signature[SEAL_SIGNATURE_BYTES];
};

/* The key in the file; a new one is made and written (0600) when there is no file. Wiped with
 * seal_key_wipe() by its owner. 0, -ERR_INPUT (not such a key, or others may read it), -ERR_IO. */
int seal_key_load(const char *path, struct seal_key *ret_key, struct err *err);

void seal_key_wipe(struct seal_key *key);

void seal_sign(const struct seal_key *key, struct sealed_head *head);
/* 0, or -ERR_INPUT when the signature is not that of its public key. */
int seal_verify(const struct sealed_head *head, struct err *err);

/* Prunes step by step, in short transactions: the shape of a chore. The head comes first, so from
 * the first step on the log starts behind it. */
struct prune {
        uint64_t upto_seq;              /* the last record to go */
        int64_t at_ms;
        const struct seal_key *key;     /* borrowed until the last step */
        uint32_t rows_per_step;         /* 0: PRUNE_ROWS_PER_STEP */
};
#define PRUNE_ROWS_PER_STEP 5000u

/* 1: more to do; 0: done, and the room is given back to the file system; -ERR_NOT_FOUND (no such
 * record), -ERR_RANGE (no good snapshot at upto_seq or behind it: recovery would need what goes),
 * -ERR_IO, -ERR_NOMEM. */
int prune_step(const struct prune *prune, struct store *store, struct err *err);

/* All heads, oldest first; freed with mem_free(). */
int prune_heads(struct store *store, struct sealed_head **ret_heads, size_t *ret_count,
                struct err *err);
