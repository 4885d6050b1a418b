/* log.h - the append-only log: records 1, 2, 3 ... without a gap, each chained to the one before.
 *
 * Not pure; threads as store.h says. What a body means is its writer's matter.
 *
 * A record's layout, for its hash and for export; numbers little-endian:
 *
 *     u64 seq, u32 kind, u32 bytes of actor, u32 bytes of reason, u32 bytes of body, i64 at_ms,
 *     actor, reason, body
 *
 * hash = BLAKE2b-256(hash of the record before, or 32 zero bytes for record 1; then the layout).
 * After pruning the log starts behind its newest head (prune.h), which holds that hash.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/* X(name, number in the file, word) */
#define RECORD_KINDS(X)                         \
        X(INPUT,       1, "input")              \
        X(FACTS,       2, "facts")              \
        X(QUARANTINED, 3, "quarantined")        \
        X(NOTE,        4, "note")

enum record_kind {
#define X(name, number, word) RECORD_##name = number,
        RECORD_KINDS(X)
#undef X
};

#define RECORD_ACTOR_MAX  255                   /* bytes, the final NUL not counted */
#define RECORD_REASON_MAX 1023
#define RECORD_BODY_MAX   (16u << 20)
#define RECORD_SEQ_MAX    INT64_MAX

struct record {
        uint64_t seq;
        enum record_kind kind;
        int64_t at_ms;                          /* Unix time */
        const char *actor;                      /* who: UTF-8 */
        const char *reason;                     /* why: UTF-8, may be "" */
        const void *body;
        size_t size;
        uint8_t hash[STORE_HASH_BYTES];
};

struct log_head {
        uint64_t seq;                           /* 0: nothing was ever written */
        uint8_t hash[STORE_HASH_BYTES];
};

/* "input", or NULL when there is no such kind. */
const char *record_kind_name(unsigned kind);

/* Whether the record may be written: bounds, UTF-8, a known kind. seq and hash are not looked at.
 * 0 or -ERR_INPUT. */
int record_check(const struct record *record, struct err *err);

/* The hash of the record behind `previous`. */
void record_hash(const struct record *record, const uint8_t previous[STORE_HASH_BYTES],
                 uint8_t ret_hash[STORE_HASH_BYTES]);

/* The newest record's seq and hash. 0, -ERR_IO, -ERR_NOMEM. */
int log_head(struct store *store, struct log_head *ret_head, struct err *err);

/* What is pruned: the log's first record follows it. Zero when nothing was pruned. */
int log_base(struct store *store, struct log_head *ret_base, struct err *err);

/* The last of the records low + 1 ... high that is older than `than_ms`; `low` when none is. One
 * that was pruned since `low` was asked for is older. Times never go back in a log: a few rows are
 * looked at. 0, -ERR_IO (also where one is missing), -ERR_NOMEM. */
int log_find_older(struct store *store, uint64_t low, uint64_t high, int64_t than_ms,
                   uint64_t *ret_seq, struct err *err);

/* Reads forward and checks the chain on its way. While a cursor is open the file cannot reuse its
 * WAL: read to the end, or close it, without long waits. */
struct log_cursor;

/* From record `seq` (1 or more) on. A seq one behind the newest is the end, not an error.
 * 0, -ERR_NOT_FOUND (pruned, or beyond the end), -ERR_IO, -ERR_NOMEM. */
int log_read(struct store *store, uint64_t seq, struct log_cursor **ret_cursor, struct err *err);
void log_cursor_free(struct log_cursor *cursor);        /* NULL is fine; before the store */

/* 1 and the next record, whose texts and body live until the next call; 0 at the end; -ERR_INPUT
 * (the chain is broken: the sentence names the record), -ERR_IO, -ERR_NOMEM, and again at each
 * further call. */
int log_next(struct log_cursor *cursor, struct record *ret_record, struct err *err);
