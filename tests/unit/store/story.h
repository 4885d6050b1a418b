/* story.h - a known run of a store: batch number 1, 2, 3 ..., each always the same, so that what
 * stands in a store later can be held against what should.
 *
 * One thread. Ends the program when a step fails that no test wants to see fail.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batch;
struct err;
struct object;
struct record;
struct store;

#define STORY_START_MS 1798761600000ll          /* 2027-01-01T00:00:00Z */
#define STORY_BODY_MAX 9000u

/* How many records the batch has, and the seq of its last one. */
uint64_t story_records(unsigned number);
uint64_t story_seq(unsigned number);

/* The number of the batch whose last record is `seq`; 0 for 0; -1: no batch ends there. */
int story_number(uint64_t seq);

struct batch *story_batch(unsigned number);             /* its tag is the number */
unsigned story_tag(const struct batch *batch);

/* Record `seq` as it should be, hash aside. `body` has room for STORY_BODY_MAX. */
void story_record(uint64_t seq, struct record *ret_record, uint8_t *body);

/* Whether batch `number` brings a key, and which. */
bool story_key(unsigned number, char ret_key[32], uint8_t ret_request[32]);

/* Unit-milliseconds of the story's tenant in all hours after so many batches. */
int64_t story_usage(unsigned number);
/* So many first batches have no rows of the review: a store of version 1 had none. */
extern unsigned story_without_review;

/* The object that batch `number` puts, as it is after batch `last`: the next batch changes it, and
 * the one behind ends it. Every fifth batch puts a policy too, which stays. `body` and `name` have
 * room for STORY_BODY_MAX and 32. */
void story_object(unsigned number, unsigned last, struct object *ret_object, uint8_t *body,
                  char name[32]);

/* Opens `path` on the VFS (NULL: the default one), without a lock. */
struct store *story_open(const char *path, const char *vfs);
int story_try_open(const char *path, const char *vfs, struct store **ret_store,
                   struct err *err);

/* Commits batches first..last, each on its own, without a writer. */
void story_commit(struct store *store, unsigned first, unsigned last);

/* Everything in the store is the story up to some batch, whole and in order: records, chain, keys,
 * objects, usage, and a snapshot if there is one (story_snapshot). Returns its number. Fails the
 * test otherwise; `where` is for its sentence. */
unsigned story_check(struct store *store, const char *where);

/* The body of a snapshot after record `seq`: STORY_SNAPSHOT_BYTES made from seq. */
#define STORY_SNAPSHOT_BYTES 5000u
void story_snapshot(uint64_t seq, uint8_t ret_body[STORY_SNAPSHOT_BYTES]);
