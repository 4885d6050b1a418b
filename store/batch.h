/* batch.h - what is committed as one: records, an idempotency key, documents, usage, reviews.
 *
 * Pure apart from the heap. One owner at a time. Everything added is copied. Failure changes
 * nothing, and the batch stays usable.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;
struct key_entry;
struct object;
struct object_change;
struct record;
struct review_row;
struct usage_row;
struct batch;

#define BATCH_RECORDS_MAX 65536u
#define BATCH_USAGE_MAX   65536u
#define BATCH_REVIEW_MAX  65536u
#define BATCH_OBJECTS_MAX 65536u
#define BATCH_BYTES_MAX   (64u << 20)

/* `tag` comes back with the batch when it is committed or has failed. NULL: out of memory. */
struct batch *batch_new(void *tag);
void batch_free(struct batch *batch);                   /* NULL is fine; not while queued */

/* The next record; seq and hash are given to it at commit. 0, -ERR_INPUT (log.h: record_check),
 * -ERR_FULL (a bound above), -ERR_NOMEM. */
int batch_add_record(struct batch *batch, const struct record *record, struct err *err);

/* The key of the request, once. 0, -ERR_INPUT, -ERR_FULL, -ERR_NOMEM. */
int batch_set_key(struct batch *batch, const struct key_entry *entry, struct err *err);

/* 0, -ERR_INPUT (name too long or not UTF-8, not a whole hour), -ERR_FULL, -ERR_NOMEM. */
int batch_add_usage(struct batch *batch, const struct usage_row *row, struct err *err);

/* 0, -ERR_INPUT (name too long or not UTF-8, not a whole day), -ERR_FULL, -ERR_NOMEM. */
int batch_add_review(struct batch *batch, const struct review_row *row, struct err *err);

/* A document that is kept (objects.h), or a change of one. 0, -ERR_INPUT (bounds of objects.h),
 * -ERR_FULL, -ERR_NOMEM. A change of one that is not there fails the commit: a mistake of ours. */
int batch_put_object(struct batch *batch, const struct object *object, struct err *err);
int batch_set_object(struct batch *batch, const struct object_change *change, struct err *err);

void *batch_tag(const struct batch *batch);
const struct key_entry *batch_key(const struct batch *batch);   /* NULL: none */
size_t batch_records(const struct batch *batch);
uint64_t batch_last_seq(const struct batch *batch);     /* 0 until it was pushed or committed */
size_t batch_bytes(const struct batch *batch);          /* of what was added */
const struct batch *batch_next(const struct batch *batch);      /* in a list the writer hands out */
