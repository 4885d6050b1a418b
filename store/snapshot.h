/* snapshot.h - a state at one record, so that recovery need not read all of them.
 *
 * Not pure; threads as store.h says. A body is cut into chunks of SNAPSHOT_CHUNK_BYTES, each its
 * own short transaction, and marked whole last: appends go on in between, and a crash leaves an
 * unfinished one, which is never read and removed with the next. Its hash covers seq, version and
 * body; beside it stands the log's hash at seq, which ties it to the chain.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

#define SNAPSHOT_CHUNK_BYTES (1u << 20)
#define SNAPSHOT_BYTES_MAX   (1u << 30)

/* Which complete ones stay, the one that was just written with them; the first of a day (UTC, by
 * its `at_ms`) also when it is none of the newest, so that the pool as it was can be made again
 * from not too far back. Those before what is pruned go with the records (prune.h). */
struct snapshot_keep {
        uint32_t newest;                        /* 1 or more */
        uint32_t days;                          /* that have one, the newest days; 0: no more */
};
#define SNAPSHOT_KEEP_USUAL     ((struct snapshot_keep){.newest = 3, .days = 61})
#define SNAPSHOT_KEEP_NEWEST(n) ((struct snapshot_keep){.newest = (n)})
#define SNAPSHOT_KEPT_MAX       64      /* of the usual ones */

struct snapshot {
        uint64_t id;
        uint64_t seq;                           /* the state after this record; 0: before any */
        uint64_t version;                       /* of engine and layout: the caller's word */
        int64_t at_ms;
        uint64_t size;
        uint8_t chain[STORE_HASH_BYTES];        /* the log's hash at seq */
        uint8_t hash[STORE_HASH_BYTES];
};

/* Writing one, step by step: the shape of a chore (writer.h). */
struct snapshot_put;

/* Takes `body` (from mem_new; NULL only with size 0); on failure it is still the caller's.
 * 0, -ERR_RANGE (above SNAPSHOT_BYTES_MAX), -ERR_NOMEM. */
int snapshot_put_new(const struct snapshot *about, void *body, size_t size,
                     struct snapshot_keep keep, struct snapshot_put **ret_put, struct err *err);
void snapshot_put_free(struct snapshot_put *put);       /* NULL is fine */

/* 1: more to do; 0: the snapshot is whole and durable; -ERR_NOT_FOUND (the log has no such record,
 * or no longer), -ERR_IO, -ERR_NOMEM. After an error it may be tried again. */
int snapshot_put_step(struct snapshot_put *put, struct store *store, struct err *err);

/* All steps at once, of a body that stays the caller's. */
int snapshot_write(struct store *store, const struct snapshot *about, const void *body,
                   size_t size, struct snapshot_keep keep, struct err *err);

/* The newest good one: whole, its hash right, at a record that the log has (or at its base).
 * *ret_body is freed with mem_free(). *ret_bad_count: newer ones that were passed over as damaged.
 * 0, -ERR_NOT_FOUND, -ERR_IO, -ERR_NOMEM. */
int snapshot_newest(struct store *store, struct snapshot *ret_snapshot, void **ret_body,
                    size_t *ret_size, unsigned *ret_bad_count, struct err *err);

/* The complete ones, newest first; at most `max`. Bodies are not looked at. */
int snapshot_list(struct store *store, struct snapshot *ret_list, size_t max, size_t *ret_count,
                  struct err *err);

/* Reads the body of one and checks its hash. 0, -ERR_INPUT (damaged), -ERR_IO, -ERR_NOMEM. */
int snapshot_read(struct store *store, const struct snapshot *snapshot, void **ret_body,
                  struct err *err);

/* Whether it stands at a record of this log. 0, -ERR_INPUT (another log's), -ERR_NOT_FOUND (the log
 * has no such record, or no longer), -ERR_IO, -ERR_NOMEM. */
int snapshot_check_place(struct store *store, const struct snapshot *snapshot, struct err *err);
