#include "tests/unit/store/story.h"

#include "tests/unit/check.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "store/batch.h"
#include "store/commit.h"
#include "store/keys.h"
#include "store/log.h"
#include "store/rollup.h"
#include "store/snapshot.h"
#include "store/store.h"

static void must(int rc, const struct err *err)
{
        if (rc < 0)
                fail_msg("%s", err->text);
}

uint64_t story_records(unsigned number)
{
        return 1 + number % 3;
}

uint64_t story_seq(unsigned number)
{
        uint64_t seq = 0;

        for (unsigned i = 1; i <= number; i++)
                seq += story_records(i);
        return seq;
}

int story_number(uint64_t seq)
{
        unsigned number = 0;
        uint64_t at = 0;

        while (at < seq)
                at += story_records(++number);
        return at == seq ? (int)number : -1;
}

/* The batch that holds the record. */
static unsigned batch_of(uint64_t seq)
{
        unsigned number = 0;

        for (uint64_t at = 0; at < seq;)
                at += story_records(++number);
        return number;
}

void story_record(uint64_t seq, struct record *ret_record, uint8_t *body)
{
        unsigned number = batch_of(seq);
        bool is_first = seq == story_seq(number - 1) + 1;
        /* Some fill more than two pages, some nothing. */
        size_t size = seq % 7 == 0 ? STORY_BODY_MAX : (size_t)(seq % 5 * 60);

        for (size_t i = 0; i < size; i++)
                body[i] = (uint8_t)map_mix(seq * 16384 + i);
        *ret_record = (struct record){.seq = seq,
                                      .kind = is_first ? RECORD_INPUT : RECORD_FACTS,
                                      .at_ms = STORY_START_MS + (int64_t)number * 60000,
                                      .actor = is_first ? "ana" : "berthd",
                                      .reason = is_first ? "submitted" : "",
                                      .body = body,
                                      .size = size};
}

bool story_key(unsigned number, char ret_key[32], uint8_t ret_request[32])
{
        (void)snprintf(ret_key, 32, "key-%u", number);
        key_request_hash("submit", ret_key, strlen(ret_key), ret_request);
        return number % 3 == 0;
}

static int64_t usage_of(unsigned number)
{
        return 126000ll * (number % 4) * 60000;
}

int64_t story_usage(unsigned number)
{
        int64_t sum = 0;

        for (unsigned i = 1; i <= number; i++)
                sum += usage_of(i);
        return sum;
}

static void add_rest(struct batch *batch, unsigned number)
{
        struct key_entry entry = {.actor = "ana", .status = 201 + number, .body = "{}", .size = 2,
                                  .until_ms = STORY_START_MS + 7 * KEY_LIFE_MS};
        int64_t at_ms = STORY_START_MS + (int64_t)number * 60000;
        struct usage_row row = {.hour_ms = at_ms - at_ms % ROLLUP_HOUR_MS, .model = "H100-80",
                                .tenant = "research/nlp", .class = "training",
                                .method = "whole", .bucket = "delivered",
                                .unit_ms = usage_of(number)};
        char key[32];
        struct err err = {0};

        if (story_key(number, key, entry.request)) {
                entry.key = key;
                must(batch_set_key(batch, &entry, &err), &err);
        }
        must(batch_add_usage(batch, &row, &err), &err);
}

struct batch *story_batch(unsigned number)
{
        static uint8_t body[STORY_BODY_MAX];
        struct batch *batch = batch_new((void *)(uintptr_t)number);
        struct err err = {0};

        assert_non_null(batch);
        for (uint64_t i = 1; i <= story_records(number); i++) {
                struct record record;
                story_record(story_seq(number - 1) + i, &record, body);
                must(batch_add_record(batch, &record, &err), &err);
        }
        add_rest(batch, number);
        return batch;
}

unsigned story_tag(const struct batch *batch)
{
        return (unsigned)(uintptr_t)batch_tag(batch);
}

int story_try_open(const char *path, const char *vfs, struct store **ret_store,
                   struct err *err)
{
        return store_open(&(struct store_options){.path = path, .vfs = vfs, .is_unlocked = true},
                          ret_store, err);
}

struct store *story_open(const char *path, const char *vfs)
{
        struct store *store = NULL;
        struct err err = {0};

        must(story_try_open(path, vfs, &store, &err), &err);
        return store;
}

void story_commit(struct store *store, unsigned first, unsigned last)
{
        for (unsigned number = first; number <= last; number++) {
                struct batch *batch = story_batch(number);
                struct log_head head;
                struct err err = {0};
                must(commit_batches(store, batch, 1, &head, &err), &err);
                assert_int_equal(head.seq, story_seq(number));
                assert_int_equal(batch_last_seq(batch), head.seq);
                batch_free(batch);
        }
}

/* The records from the base on are the story's. */
static uint64_t check_records(struct store *store, const char *where)
{
        static uint8_t body[STORY_BODY_MAX];
        struct log_cursor *cursor;
        struct log_head base;
        struct record record, wanted;
        struct err err = {0};
        int rc;

        must(log_base(store, &base, &err), &err);
        must(log_read(store, base.seq + 1, &cursor, &err), &err);
        uint64_t last = base.seq;
        while ((rc = log_next(cursor, &record, &err)) > 0) {
                story_record(++last, &wanted, body);
                if (record.seq != wanted.seq || record.kind != wanted.kind ||
                    record.at_ms != wanted.at_ms || strcmp(record.actor, wanted.actor) != 0 ||
                    strcmp(record.reason, wanted.reason) != 0 || record.size != wanted.size ||
                    (record.size > 0 && memcmp(record.body, wanted.body, record.size) != 0))
                        fail_msg("%s: record %llu is another", where, (unsigned long long)last);
        }
        log_cursor_free(cursor);
        if (rc < 0)
                fail_msg("%s: %s", where, err.text);
        return last;
}

static void check_keys(struct store *store, unsigned number, const char *where)
{
        for (unsigned i = 1; i <= number + 3; i++) {
                char key[32];
                uint8_t request[32];
                struct key_entry entry = {0};
                struct err err = {0};
                bool has = story_key(i, key, request) && i <= number;
                int rc = keys_find(store, "ana", key, request, STORY_START_MS, &entry, &err);
                if (rc != (has ? 0 : -ERR_NOT_FOUND) || (has && entry.status != 201 + i))
                        fail_msg("%s: key of batch %u of %u: %d %s", where, i, number, rc,
                                 err.text);
                if (has)
                        mem_free((void *)(uintptr_t)entry.body);
        }
}

static int add_usage(void *self, const struct usage_row *row, struct err *err)
{
        (void)err;
        *(int64_t *)self += row->unit_ms;
        return 0;
}

static void check_snapshot(struct store *store, uint64_t last, const char *where)
{
        uint8_t wanted[STORY_SNAPSHOT_BYTES];
        struct snapshot snapshot;
        struct err err = {0};
        void *body;
        size_t size;
        unsigned bad = 0;
        int rc = snapshot_newest(store, &snapshot, &body, &size, &bad, &err);

        if (rc == -ERR_NOT_FOUND && strstr(err.text, "(0 damaged)"))
                return;
        if (rc < 0 || bad > 0)
                fail_msg("%s: snapshots: %u damaged; %s", where, bad, err.text);
        story_snapshot(snapshot.seq, wanted);
        if (snapshot.seq > last || size != sizeof wanted || memcmp(body, wanted, size) != 0)
                fail_msg("%s: the snapshot at %llu is another", where,
                         (unsigned long long)snapshot.seq);
        mem_free(body);
}

unsigned story_check(struct store *store, const char *where)
{
        uint64_t last = check_records(store, where);
        int number = story_number(last);
        int64_t usage = 0;
        struct err err = {0};

        if (number < 0)
                fail_msg("%s: a part of a batch is in: the log ends at %llu", where,
                         (unsigned long long)last);
        check_keys(store, (unsigned)number, where);
        must(rollup_each(store, add_usage, &usage, &err), &err);
        if (usage != story_usage((unsigned)number))
                fail_msg("%s: usage %lld after batch %d instead of %lld", where,
                         (long long)usage, number,
                         (long long)story_usage((unsigned)number));
        check_snapshot(store, last, where);
        return (unsigned)number;
}

void story_snapshot(uint64_t seq, uint8_t ret_body[STORY_SNAPSHOT_BYTES])
{
        for (size_t i = 0; i < STORY_SNAPSHOT_BYTES; i++)
                ret_body[i] = (uint8_t)map_mix(seq * 65536 + i);
}
