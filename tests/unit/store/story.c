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
#include "store/objects.h"
#include "store/period.h"
#include "store/review.h"
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

unsigned story_without_review;

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

void story_object(unsigned number, unsigned last, struct object *ret_object, uint8_t *body,
                  char name[32])
{
        size_t size = number % 6 == 0 ? STORY_BODY_MAX : (size_t)(number % 4 * 70);
        int64_t made_ms = STORY_START_MS + (int64_t)number * 60000;
        bool is_changed = last > number, is_over = last > number + 1;

        for (size_t i = 0; i < size; i++)
                body[i] = (uint8_t)map_mix(number * UINT64_C(65536) + i);
        (void)snprintf(name, 32, "job-%u", number % 10);
        *ret_object = (struct object){.kind = OBJECT_WORKLOAD,
                                      .id = number,
                                      .tenant = number % 2 ? "research/nlp" : "research",
                                      .name = name,
                                      .class = "training",
                                      .owner = "ana",
                                      .state = is_over ? "succeeded" : "live",
                                      .detail = is_over      ? "{\"exit_code\":0}"
                                                : is_changed ? "{\"started\":1}"
                                                             : "",
                                      .created_ms = made_ms,
                                      .updated_ms = made_ms + is_changed * 60000 + is_over * 60000,
                                      .ended_ms = is_over ? made_ms + 120000 : 0,
                                      .seq = number * 3,
                                      .body = body,
                                      .size = size};
}

static struct object policy_of(unsigned number)
{
        return (struct object){.kind = OBJECT_POLICY, .id = number / 5, .tenant = "",
                               .name = "policy", .class = "", .owner = "", .state = "set",
                               .detail = "", .created_ms = STORY_START_MS + number,
                               .updated_ms = STORY_START_MS + number, .body = "kind: Policy\n",
                               .size = 13};
}

static void change_one(struct batch *batch, unsigned number, unsigned by)
{
        static uint8_t body[STORY_BODY_MAX];
        struct object then, now;
        char name[32];
        struct err err = {0};

        if (number <= by)
                return;
        story_object(number - by, number - 1, &then, body, name);
        story_object(number - by, number, &now, body, name);
        const struct object_change change = {
                .kind = now.kind, .id = now.id, .updated_ms = now.updated_ms,
                .ended_ms = now.ended_ms,
                .state = strcmp(now.state, then.state) == 0 ? NULL : now.state,
                .detail = strcmp(now.detail, then.detail) == 0 ? NULL : now.detail};
        must(batch_set_object(batch, &change, &err), &err);
}

static void add_objects(struct batch *batch, unsigned number)
{
        static uint8_t body[STORY_BODY_MAX];
        struct object object;
        char name[32];
        struct err err = {0};

        story_object(number, number, &object, body, name);
        must(batch_put_object(batch, &object, &err), &err);
        change_one(batch, number, 1);
        change_one(batch, number, 2);
        object = policy_of(number);
        if (number % 5 == 0)
                must(batch_put_object(batch, &object, &err), &err);
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
        const struct review_row day = {.day_ms = at_ms - at_ms % REVIEW_DAY_MS,
                                       .tenant = "research/nlp", .class = "training",
                                       .model = "H100-80", .measure = "wait_ms", .detail = "",
                                       .amount = usage_of(number)};
        char key[32];
        struct err err = {0};

        if (story_key(number, key, entry.request)) {
                entry.key = key;
                must(batch_set_key(batch, &entry, &err), &err);
        }
        must(batch_add_usage(batch, &row, &err), &err);
        if (number > story_without_review)
                must(batch_add_review(batch, &day, &err), &err);
        add_objects(batch, number);
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

struct objects_look {
        unsigned last, workloads, policies;
        const char *where;
};

static bool is_same(const struct object *a, const struct object *b)
{
        return a->kind == b->kind && a->id == b->id && strcmp(a->tenant, b->tenant) == 0 &&
               strcmp(a->name, b->name) == 0 && strcmp(a->class, b->class) == 0 &&
               strcmp(a->owner, b->owner) == 0 && strcmp(a->state, b->state) == 0 &&
               strcmp(a->detail, b->detail) == 0 && a->created_ms == b->created_ms &&
               a->updated_ms == b->updated_ms && a->ended_ms == b->ended_ms && a->seq == b->seq &&
               a->size == b->size && (a->size == 0 || memcmp(a->body, b->body, a->size) == 0);
}

static int check_object(void *arg, const struct object *object, struct err *err)
{
        static uint8_t body[STORY_BODY_MAX];
        struct objects_look *look = arg;
        struct object wanted;
        char name[32];

        (void)err;
        if (object->kind == OBJECT_POLICY)
                wanted = policy_of(++look->policies * 5);
        else
                story_object(++look->workloads, look->last, &wanted, body, name);
        if (!is_same(object, &wanted))
                fail_msg("%s: object %u/%llu after batch %u is another", look->where,
                         (unsigned)object->kind, (unsigned long long)object->id, look->last);
        return 0;
}

static void check_objects(struct store *store, unsigned number, const char *where)
{
        struct objects_look look = {.last = number, .where = where};
        struct err err = {0};

        must(objects_each(store, check_object, &look, &err), &err);
        if (look.workloads != number || look.policies != number / 5)
                fail_msg("%s: %u workloads and %u policies after batch %u", where, look.workloads,
                         look.policies, number);
}

static int add_amount(void *self, const struct period_row *row, struct err *err)
{
        (void)err;
        *(int64_t *)self += row->amount;
        return 0;
}

static void check_review(struct store *store, unsigned number, const char *where)
{
        int64_t amount = 0, wanted = 0;
        struct err err = {0};

        for (unsigned i = story_without_review + 1; i <= number; i++)
                wanted += usage_of(i);
        must(period_each(store, PERIOD_REVIEW, add_amount, &amount, &err), &err);
        if (amount != wanted)
                fail_msg("%s: review %lld after batch %u instead of %lld", where,
                         (long long)amount, number, (long long)wanted);
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
        must(period_each(store, PERIOD_USAGE, add_amount, &usage, &err), &err);
        if (usage != story_usage((unsigned)number))
                fail_msg("%s: usage %lld after batch %d instead of %lld", where,
                         (long long)usage, number,
                         (long long)story_usage((unsigned)number));
        check_review(store, (unsigned)number, where);
        check_objects(store, (unsigned)number, where);
        check_snapshot(store, last, where);
        return (unsigned)number;
}

void story_snapshot(uint64_t seq, uint8_t ret_body[STORY_SNAPSHOT_BYTES])
{
        for (size_t i = 0; i < STORY_SNAPSHOT_BYTES; i++)
                ret_body[i] = (uint8_t)map_mix(seq * 65536 + i);
}
