/* log_pool.h - a pool as its log tells it: from the start, or from a snapshot, record by record.
 *
 * Pure apart from the heap and the reading. One owner. As the controller recovers (its core keeps
 * runs and names besides); every pool has a table of device models of its own, since a log adds
 * those that no table knew.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proto/log_brought.h"
#include "proto/log_group.h"

struct err;
struct model_table;
struct policy_doc;
struct record;
struct snapshot;
struct state;
struct store;

struct log_pool {
        struct model_table *models;
        uint32_t models_listed;         /* that were known from the start */
        struct state *state;
        struct policy_doc *policy;      /* in force; NULL: none */
        uint64_t policy_revision;
        struct logged_words words;
        struct log_brought brought;     /* by the inputs before */
        uint64_t seq;                   /* of the newest record that was followed */
        int64_t now_ms;
        bool has_begun;                 /* an input came, or a snapshot */
        uint64_t facts;                 /* applied */
        /* Sees each fact before it is applied; NULL: nobody. */
        void (*before)(void *arg, const struct log_pool *pool, const struct fact *fact);
        void *arg;
};

/* An empty pool; its bounds come with its first input. Knows the device models that are built in,
 * and those of the file `models` (NULL: none). `pool` is written on success only, and ended by
 * log_pool_done(). 0, -ERR_INPUT and others for the file, -ERR_NOMEM. */
int log_pool_new(const char *models, struct log_pool *ret_pool, struct err *err);
void log_pool_done(struct log_pool *pool);              /* a zeroed one is fine */

/* Puts the snapshot in place of an empty pool. 0, -ERR_INPUT (damaged, of another version or other
 * device models), -ERR_NOT_FOUND (its policy is not in the store), -ERR_IO, -ERR_NOMEM. */
int log_pool_restore(struct log_pool *pool, struct store *store, const struct snapshot *about,
                     struct err *err);

/* The first good one of the list, in its order: damaged ones, and those of another log, are passed
 * over. 1: restored; 0: there is none, and the pool is empty; or as log_pool_restore(), and then it
 * is the caller's to end. */
int log_pool_restore_first(struct log_pool *pool, struct store *store, const struct snapshot *list,
                           size_t count, struct err *err);

/* Applies what the record says; nothing is decided. 0, -ERR_INPUT (no such record can follow),
 * -ERR_NOMEM; the sentence names the record. */
int log_pool_follow(struct log_pool *pool, const struct record *record, struct err *err);

/* The same of an input alone, which is parsed: what it brings is kept for its facts. */
int log_pool_take_input(struct log_pool *pool, const struct record *record,
                        struct logged_input *logged, struct err *err);
/* Applies a fact that follows from it, as of the record's time. */
void log_pool_apply(struct log_pool *pool, const struct fact *fact);
