#include "tests/scratch.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/batch.h"
#include "store/keys.h"
#include "store/log.h"
#include "store/store.h"
#include "store/writer.h"
#include "tests/fault_vfs.h"
#include "tests/unit/store/story.h"

static char folder[SCRATCH_MAX];
static struct fault_vfs *disk;

static int make_disk(void **state)
{
        (void)state;
        disk = fault_vfs_new("ram");
        return 0;
}

static int free_disk(void **state)
{
        (void)state;
        fault_vfs_free(disk);
        return 0;
}

static struct batch *small_batch(void *tag, const char *key, size_t size)
{
        static const uint8_t zeros[4096];
        struct record record = {.kind = RECORD_INPUT, .actor = "ana", .reason = "", .body = zeros,
                                .size = size};
        struct key_entry entry = {.actor = "ana", .key = key, .until_ms = 1000};
        struct batch *batch = batch_new(tag);
        assert_non_null(batch);
        assert_int_equal(batch_add_record(batch, &record, NULL), 0);
        if (key)
                assert_int_equal(batch_set_key(batch, &entry, NULL), 0);
        return batch;
}

/* --- step by step ------------------------------------------------------------------------- */

struct seen {
        unsigned events, batches;
        uint64_t head_seq;
};

static void see(void *self, const struct writer_event *event)
{
        struct seen *seen = self;
        seen->events++;
        seen->head_seq = event->head.seq;
        assert_int_equal(event->kind, WRITER_EVENT_COMMITTED);
        for (const struct batch *it = event->batches; it; it = batch_next(it))
                seen->batches++;
}

static struct writer *start(struct store *store, struct writer_options options)
{
        struct writer *writer;
        struct err err = {0};
        if (writer_new(store, &options, &writer, &err) < 0)
                fail_msg("%s", err.text);
        return writer;
}

static void push(struct writer *writer, struct batch *batch)
{
        uint64_t seq;
        struct err err = {0};
        if (writer_push(writer, batch, &seq, &err) < 0)
                fail_msg("%s", err.text);
}

static void all_that_waits_is_one_transaction_and_one_sync(void **state)
{
        (void)state;
        struct store *store = story_open("a", "ram");
        struct seen seen = {0};
        struct writer_stats stats;
        struct writer *writer = start(store, (struct writer_options){
                                                     .callback = see, .self = &seen,
                                                     .is_stepped = true});
        assert_false(writer_step(writer));
        push(writer, small_batch(NULL, NULL, 10));      /* the WAL's own first syncs */
        assert_true(writer_step(writer));
        uint64_t before = store_syncs(store);
        for (unsigned i = 0; i < 100; i++)
                push(writer, small_batch(NULL, NULL, 10));
        writer_stats(writer, &stats);
        assert_int_equal(stats.waiting_batches, 100);
        assert_int_equal(stats.durable_seq, 1);
        assert_true(writer_step(writer));
        assert_int_equal(store_syncs(store), before + 1);
        assert_int_equal(seen.events, 2);
        assert_int_equal(seen.batches, 101);
        assert_int_equal(seen.head_seq, 101);
        writer_stats(writer, &stats);
        assert_int_equal(stats.commits, 2);
        assert_int_equal(stats.batches, 101);
        assert_int_equal(stats.records, 101);
        assert_int_equal(stats.waiting_batches, 0);
        assert_int_equal(stats.waiting_bytes, 0);
        assert_int_equal(stats.durable_seq, 101);
        uint64_t counted = 0;
        for (size_t i = 0; i < WRITER_LATENCY_BUCKETS; i++)
                counted += stats.latency[i];
        assert_int_equal(counted, 2);
        writer_free(writer);
        store_close(store);
}

static void a_group_is_bounded_and_a_large_batch_still_goes(void **state)
{
        (void)state;
        struct store *store = story_open("b", "ram");
        struct seen seen = {0};
        struct writer *writer = start(store, (struct writer_options){
                                                     .callback = see, .self = &seen,
                                                     .group_records_max = 3, .is_stepped = true});
        for (unsigned i = 0; i < 7; i++)
                push(writer, small_batch(NULL, NULL, 0));
        struct batch *large = small_batch(NULL, NULL, 0);
        struct record record = {.kind = RECORD_FACTS, .actor = "", .reason = ""};
        for (unsigned i = 0; i < 9; i++)
                assert_int_equal(batch_add_record(large, &record, NULL), 0);
        push(writer, large);
        static const unsigned heads[] = {3, 6, 7, 17};
        for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
                assert_true(writer_step(writer));
                assert_int_equal(seen.head_seq, heads[i]);
        }
        assert_false(writer_step(writer));
        writer_free(writer);
        store_close(store);
}

static void the_queue_is_full_at_its_bounds(void **state)
{
        (void)state;
        struct store *store = story_open("c", "ram");
        struct err err = {0};
        uint64_t seq;
        struct writer *writer = start(store, (struct writer_options){.batches_max = 2,
                                                                     .is_stepped = true});
        push(writer, small_batch(NULL, NULL, 0));
        push(writer, small_batch(NULL, NULL, 0));
        struct batch *batch = small_batch(NULL, NULL, 0);
        assert_int_equal(writer_push(writer, batch, &seq, &err), -ERR_FULL);
        check_has(err.text, "2 batches wait");
        assert_true(writer_step(writer));
        push(writer, batch);
        writer_free(writer);

        writer = start(store, (struct writer_options){.bytes_max = 1003 + 3 + 4,
                                                      .is_stepped = true});
        push(writer, small_batch(NULL, NULL, 1000));            /* and the actor's 3 bytes */
        batch = small_batch(NULL, NULL, 5);
        assert_int_equal(writer_push(writer, batch, &seq, &err), -ERR_FULL);
        batch_free(batch);
        push(writer, small_batch(NULL, NULL, 4));
        writer_free(writer);                                    /* commits what waits */
        struct log_head head;
        assert_int_equal(log_head(store, &head, NULL), 0);
        assert_int_equal(head.seq, 5);
        store_close(store);
}

static void a_key_that_waits_is_held_until_it_is_in_the_file(void **state)
{
        (void)state;
        struct store *store = story_open("d", "ram");
        struct writer *writer = start(store, (struct writer_options){.is_stepped = true});
        struct key_entry entry = {0};
        uint8_t request[STORE_HASH_BYTES] = {0};
        struct err err = {0};
        uint64_t seq;
        assert_false(writer_holds_key(writer, "ana", "k"));
        push(writer, small_batch(NULL, "k", 0));
        assert_true(writer_holds_key(writer, "ana", "k"));
        assert_false(writer_holds_key(writer, "ana", "l"));
        assert_false(writer_holds_key(writer, "an", "ak"));
        struct batch *again = small_batch(NULL, "k", 0);
        assert_int_equal(writer_push(writer, again, &seq, &err), -ERR_EXISTS);
        check_has(err.text, "'k' is being worked on");
        assert_int_equal(keys_find(store, "ana", "k", request, 0, &entry, &err), -ERR_NOT_FOUND);
        assert_true(writer_step(writer));
        assert_false(writer_holds_key(writer, "ana", "k"));
        assert_int_equal(keys_find(store, "ana", "k", request, 0, &entry, &err), 0);
        mem_free((void *)(uintptr_t)entry.body);
        batch_free(again);
        writer_free(writer);
        store_close(store);
}

struct chore {
        unsigned steps, left;
        int rc;
        bool is_done;
        uint64_t head_at_first;
};

static int chore_step(void *self, struct store *store, struct err *err)
{
        struct chore *chore = self;
        struct log_head head;
        assert_int_equal(log_head(store, &head, err), 0);
        if (chore->steps++ == 0)
                chore->head_at_first = head.seq;
        if (chore->left == 0)
                return chore->rc < 0 ? err_set(err, (enum err_code)-chore->rc, "no") : 0;
        chore->left--;
        return 1;
}

static void chore_done(void *self, int rc, const struct err *err)
{
        struct chore *chore = self;
        chore->is_done = true;
        chore->rc = rc;
        assert_int_equal(err != NULL, rc < 0);
}

static void chores_take_turns_with_commits(void **state)
{
        (void)state;
        struct store *store = story_open("e", "ram");
        struct writer *writer = start(store, (struct writer_options){.group_records_max = 1,
                                                                     .is_stepped = true});
        struct chore first = {.left = 3}, failing = {.left = 1, .rc = -ERR_RANGE}, late = {0};
        struct writer_chore it = {&first, chore_step, chore_done};
        push(writer, small_batch(NULL, NULL, 0));
        push(writer, small_batch(NULL, NULL, 0));
        assert_int_equal(writer_chore(writer, &it, NULL), 0);
        it.self = &failing;
        assert_int_equal(writer_chore(writer, &it, NULL), 0);
        push(writer, small_batch(NULL, NULL, 0));
        while (writer_step(writer))
                ;
        assert_true(first.is_done && failing.is_done);
        assert_int_equal(first.steps, 4);
        assert_int_equal(first.rc, 0);
        assert_int_equal(first.head_at_first, 2);       /* after what was pushed before it */
        assert_int_equal(failing.rc, -ERR_RANGE);
        push(writer, small_batch(NULL, NULL, 0));       /* it did no harm */
        assert_true(writer_step(writer));
        it.self = &late;
        late.left = UINT32_MAX;
        for (unsigned i = 0; i < WRITER_CHORES_MAX; i++)
                assert_int_equal(writer_chore(writer, &it, NULL), 0);
        assert_int_equal(writer_chore(writer, &it, NULL), -ERR_FULL);
        writer_free(writer);
        assert_int_equal(late.rc, -ERR_CANCELLED);
        store_close(store);
}

static void ignore(void *self, const struct writer_event *event)
{
        if (event->kind == WRITER_EVENT_FAILED)
                ++*(unsigned *)self;
}

/* A snapshot of a state that holds what failed must never be written. */
static void a_failed_commit_ends_the_chores(void **state)
{
        (void)state;
        struct store *store = story_open("f", "ram");
        unsigned failed = 0;
        struct writer *writer = start(store, (struct writer_options){
                                                     .callback = ignore, .self = &failed,
                                                     .is_stepped = true});
        struct chore chore = {.left = 3};
        struct writer_chore it = {&chore, chore_step, chore_done};
        struct err err = {0};
        push(writer, small_batch(NULL, "k", 0));
        assert_int_equal(writer_chore(writer, &it, NULL), 0);
        fault_vfs_fail(disk, FAULT_ENOSPC, 1, UINT64_MAX);
        assert_true(writer_step(writer));
        assert_int_equal(failed, 1);
        assert_true(chore.is_done);
        assert_int_equal(chore.rc, -ERR_CANCELLED);
        assert_int_equal(chore.steps, 0);
        assert_false(writer_holds_key(writer, "ana", "k"));
        assert_int_equal(writer_chore(writer, &it, &err), -ERR_IO);
        check_has(err.text, "full");
        assert_false(writer_step(writer));              /* nothing is left to do */
        writer_free(writer);
        fault_vfs_fail(disk, FAULT_ENOSPC, 0, 0);
        store_close(store);
}

/* --- with threads, on the real disk ------------------------------------------------------- */

enum { PUSHERS = 4, EACH = 400 };

struct shared {
        pthread_mutex_t mutex;
        struct writer *writer;
        uint64_t durable_seq;
        unsigned committed[PUSHERS];
        bool is_over;
};

struct pusher {
        struct shared *shared;
        unsigned number;
};

/* The tag is the pusher: of each the batches come back in the order in which they were pushed. */
static void count(void *self, const struct writer_event *event)
{
        struct shared *shared = self;
        struct writer_stats stats;
        assert_int_equal(event->kind, WRITER_EVENT_COMMITTED);
        writer_stats(shared->writer, &stats);           /* allowed from here */
        assert_true(stats.durable_seq >= event->head.seq);
        pthread_mutex_lock(&shared->mutex);
        for (const struct batch *it = event->batches; it; it = batch_next(it)) {
                shared->committed[((const struct pusher *)batch_tag(it))->number]++;
                assert_int_equal(batch_last_seq(it), ++shared->durable_seq);
        }
        assert_int_equal(event->head.seq, shared->durable_seq);
        pthread_mutex_unlock(&shared->mutex);
}

static void *push_many(void *argument)
{
        struct pusher *pusher = argument;
        for (unsigned i = 0; i < EACH; i++) {
                char key[32];
                uint64_t seq;
                snprintf(key, sizeof key, "%u-%u", pusher->number, i);
                struct batch *batch = small_batch(pusher, key, 200);
                while (writer_push(pusher->shared->writer, batch, &seq, NULL) == -ERR_FULL)
                        usleep(100);
        }
        return NULL;
}

/* Reads over a view of its own: never less than before, never a broken chain. */
static void *read_much(void *argument)
{
        struct store *view = argument;
        struct log_head last = {0}, head = {0};
        while (head.seq < PUSHERS * EACH) {
                struct log_cursor *cursor;
                struct record record;
                struct err err = {0};
                assert_int_equal(log_head(view, &head, &err), 0);
                assert_true(head.seq >= last.seq);
                assert_int_equal(log_read(view, last.seq + 1, &cursor, &err), 0);
                while (log_next(cursor, &record, &err) > 0)
                        last.seq = record.seq;
                assert_int_equal(err.code, 0);
                log_cursor_free(cursor);
                usleep(500);
        }
        return NULL;
}

static void many_threads_push_and_one_reads(void **state)
{
        (void)state;
        char path[300];
        snprintf(path, sizeof path, "%s/s", folder);
        struct store_options options = {.path = path};
        struct store *store, *view;
        struct shared shared = {.durable_seq = 0};
        struct pusher pushers[PUSHERS];
        pthread_t threads[PUSHERS], reader;
        pthread_mutex_init(&shared.mutex, NULL);
        assert_int_equal(store_open(&options, &store, NULL), 0);
        assert_int_equal(store_view(store, &view, NULL), 0);
        shared.writer = start(store, (struct writer_options){
                                             .callback = count, .self = &shared,
                                             .batches_max = 64, .checkpoint_pages = 50});
        struct chore chore = {.left = 20};
        struct writer_chore it = {&chore, chore_step, chore_done};
        assert_int_equal(writer_chore(shared.writer, &it, NULL), 0);
        assert_int_equal(pthread_create(&reader, NULL, read_much, view), 0);
        for (unsigned i = 0; i < PUSHERS; i++) {
                pushers[i] = (struct pusher){&shared, i};
                assert_int_equal(pthread_create(&threads[i], NULL, push_many, &pushers[i]), 0);
        }
        for (unsigned i = 0; i < PUSHERS; i++)
                pthread_join(threads[i], NULL);
        struct writer_stats stats;
        do {
                usleep(1000);
                writer_stats(shared.writer, &stats);
        } while (stats.durable_seq < PUSHERS * EACH);
        pthread_join(reader, NULL);
        writer_free(shared.writer);
        for (unsigned i = 0; i < PUSHERS; i++)
                assert_int_equal(shared.committed[i], EACH);
        assert_true(stats.commits < PUSHERS * EACH);            /* groups there were */
        assert_true(chore.is_done);
        store_close(view);
        store_close(store);
        pthread_mutex_destroy(&shared.mutex);
}

/* Pushed and freed at once: what was taken is committed. */
static void ending_commits_what_waits(void **state)
{
        (void)state;
        char path[300];
        snprintf(path, sizeof path, "%s/s", folder);
        struct store_options options = {.path = path};
        struct store *store;
        struct log_head before, after;
        assert_int_equal(store_open(&options, &store, NULL), 0);
        assert_int_equal(log_head(store, &before, NULL), 0);
        struct writer *writer = start(store, (struct writer_options){.batches_max = 0});
        for (unsigned i = 0; i < 50; i++)
                push(writer, small_batch(NULL, NULL, 100));
        writer_free(writer);
        assert_int_equal(log_head(store, &after, NULL), 0);
        assert_int_equal(after.seq, before.seq + 50);
        store_close(store);
        writer_free(NULL);
}

static int make_folder(void **state)
{
        (void)state;
        return scratch_folder(folder, sizeof folder, "test") ? 0 : -1;
}

static int remove_folder(void **state)
{
        static const char *const tails[] = {"", ".lock"};
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
                char path[300];
                snprintf(path, sizeof path, "%s/s%s", folder, tails[i]);
                unlink(path);
        }
        return rmdir(folder);
}

int main(void)
{
#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, make_disk, free_disk)
        const struct CMUnitTest tests[] = {
                ON_DISK(all_that_waits_is_one_transaction_and_one_sync),
                ON_DISK(a_group_is_bounded_and_a_large_batch_still_goes),
                ON_DISK(the_queue_is_full_at_its_bounds),
                ON_DISK(a_key_that_waits_is_held_until_it_is_in_the_file),
                ON_DISK(chores_take_turns_with_commits),
                ON_DISK(a_failed_commit_ends_the_chores),
                cmocka_unit_test(many_threads_push_and_one_reads),
                cmocka_unit_test(ending_commits_what_waits),
        };
        return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
