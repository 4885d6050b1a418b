/* log_replay.h - a pool's own log, decided again: are its facts what its inputs lead to?
 *
 * Pure apart from the heap and the reading. The inputs of the log are fed to the engine again, from
 * the start or, after pruning, from the oldest good snapshot; what it decides is held against the
 * log byte by byte, the state against each snapshot on the way, and at the end against the state
 * that a controller would come back with: the newest good snapshot, and the facts behind it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;
struct log_pool;
struct replay_hooks;
struct store;

struct log_replay_setup {
        struct store *store;            /* reading is enough */
        const char *models;             /* a file of more device models; NULL: none */
        const struct replay_hooks *hooks;       /* progress and cancel; may be NULL */
};

/* The first thing that is not as it was logged. Texts are freed by log_replay_result_done(). */
struct log_difference {
        uint64_t seq;                   /* record; 0: there is no difference */
        int64_t at_ms;
        uint32_t fact;                  /* of that record, from 1; 0: it is no fact */
        char *input;                    /* that was decided, as logged; NULL: none */
        char *logged, *decided;         /* both, in words or as JSON; "" where there is none */
};

struct log_replay_result {
        uint64_t from_seq;              /* of the snapshot that it began at; 0: the start */
        uint64_t last_seq;
        int64_t from_ms, until_ms;      /* of the first and the last record; 0: there is none */
        uint64_t inputs, facts;         /* decided, and the same as logged */
        uint32_t snapshots;             /* on the way, and at the same state */
        uint64_t state_hash;            /* at the end, or where it differs */
        struct log_difference difference;
};

void log_replay_result_done(struct log_replay_result *result);  /* a zeroed one is fine */

/* 0, and the result says whether it differs; -ERR_CANCELLED (the result is what was looked at);
 * -ERR_NOT_FOUND (pruned, and no good snapshot), -ERR_INPUT (the log cannot be read: check the
 * store), -ERR_IO, -ERR_NOMEM. */
int log_replay_check(const struct log_replay_setup *setup, struct log_replay_result *ret_result,
                     struct err *err);

/* A pool at the place where a replay begins: empty, or the oldest good snapshot. Ended by
 * log_pool_done(). As log_replay_check. */
int log_replay_begin(const struct log_replay_setup *setup, struct log_pool *ret_pool,
                     struct err *err);
