/* The power goes at every write, truncation, sync and removal of a run, and takes with it all, some
 * or none of what was not synced. Whatever the disk then holds must be the story up to a whole
 * batch, and no shorter than what was acknowledged. */
#include "tests/unit/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/batch.h"
#include "store/check.h"
#include "store/prune.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "store/writer.h"
#include "tests/fault_vfs.h"
#include "tests/unit/store/story.h"

#define BATCHES          40u
#define CHECKPOINT_PAGES 24u            /* several checkpoints within the run */

struct run {
        struct fault_vfs *disk, *later;
        unsigned acknowledged;          /* batch */
        uint64_t boundaries, crashes;
        uint64_t longer;                /* crashes that kept more than was acknowledged */
};

static const char *const losses[] = {
#define X(name, words) [FAULT_LOSE_##name] = words,
        FAULT_LOSSES(X)
#undef X
};

static void tell_finding(void *self, const char *sentence)
{
        print_error("%s: %s\n", (const char *)self, sentence);
}

/* What the next controller finds: the story so far; and it goes on from there. */
static void look_at(struct run *run, enum fault_loss loss)
{
        char where[160];
        struct store *store;
        struct check_report report;
        struct err err = {0};
        snprintf(where, sizeof where, "operation %llu, %s, %u acknowledged",
                 (unsigned long long)run->boundaries, losses[loss], run->acknowledged);
        if (story_try_open("s", "later", &store, &err) < 0)
                fail_msg("%s: %s", where, err.text);
        unsigned number = story_check(store, where);
        if (number < run->acknowledged || number > run->acknowledged + 4)
                fail_msg("%s: %u are there", where, number);
        run->longer += number > run->acknowledged ? 1 : 0;
        story_commit(store, number + 1, number + 2);
        assert_int_equal(story_check(store, where), number + 2);
        if (run->crashes % 16 == 0) {
                assert_int_equal(store_check(store, NULL, tell_finding, where, &report, &err), 0);
                assert_int_equal(report.findings, 0);
        }
        store_close(store);
}

static void crash_here(void *self)
{
        struct run *run = self;
        run->boundaries++;
        for (int loss = 0; loss < FAULT_LOSSES_END; loss++) {
                fault_vfs_after_crash(run->disk, run->later, (enum fault_loss)loss,
                                      run->boundaries);
                look_at(run, (enum fault_loss)loss);
                run->crashes++;
        }
}

static void acknowledge(void *self, const struct writer_event *event)
{
        struct run *run = self;
        assert_int_equal(event->kind, WRITER_EVENT_COMMITTED);
        for (const struct batch *it = event->batches; it; it = batch_next(it)) {
                assert_int_equal(story_tag(it), run->acknowledged + 1);
                run->acknowledged++;
        }
        assert_int_equal(event->head.seq, story_seq(run->acknowledged));
}

static int put_step(void *self, struct store *store, struct err *err)
{
        return snapshot_put_step(self, store, err);
}

static int prune_step_of(void *self, struct store *store, struct err *err)
{
        return prune_step(self, store, err);
}

static void ask_snapshot(struct writer *writer, unsigned number, struct snapshot_put **ret_put)
{
        struct snapshot about = {.seq = story_seq(number)};
        uint8_t *body = mem_new(STORY_SNAPSHOT_BYTES, 1);
        assert_non_null(body);
        story_snapshot(about.seq, body);
        assert_int_equal(snapshot_put_new(&about, body, STORY_SNAPSHOT_BYTES,
                                          SNAPSHOT_KEEP_NEWEST(1), ret_put, NULL), 0);
        struct writer_chore chore = {.self = *ret_put, .step = put_step};
        assert_int_equal(writer_chore(writer, &chore, NULL), 0);
}

/* Pushes 1 to 4 batches at a time, so that groups differ; snapshots and a pruning in between. */
static void tell(struct writer *writer, const struct seal_key *key)
{
        struct prune prune = {.upto_seq = story_seq(12), .key = key, .rows_per_step = 9};
        struct writer_chore chore = {.self = &prune, .step = prune_step_of};
        struct snapshot_put *first = NULL, *second = NULL;
        unsigned number = 0;
        while (number < BATCHES) {
                unsigned group = 1 + number % 4;
                while (group-- > 0 && number < BATCHES) {
                        uint64_t seq;
                        number++;
                        assert_int_equal(writer_push(writer, story_batch(number), &seq, NULL), 0);
                        assert_int_equal(seq, story_seq(number));
                }
                if (number >= 12 && !first)
                        ask_snapshot(writer, number, &first);
                if (number >= 20 && !second) {
                        ask_snapshot(writer, number, &second);
                        assert_int_equal(writer_chore(writer, &chore, NULL), 0);
                }
                (void)writer_step(writer);
        }
        while (writer_step(writer))
                ;
        snapshot_put_free(first);
        snapshot_put_free(second);
}

static void power_lost_at_every_operation_loses_nothing_acknowledged(void **state)
{
        (void)state;
        struct run run = {.disk = fault_vfs_new("ram"), .later = fault_vfs_new("later")};
        struct writer_options options = {.callback = acknowledge, .self = &run,
                                         .checkpoint_pages = CHECKPOINT_PAGES, .is_stepped = true};
        char path[] = "/tmp/berth-test-key-XXXXXX";
        struct writer *writer;
        struct writer_stats stats;
        struct seal_key key;
        close(mkstemp(path));
        unlink(path);
        assert_int_equal(seal_key_load(path, &key, NULL), 0);
        unlink(path);
        fault_vfs_on_operation(run.disk, crash_here, &run);     /* from the first byte on */
        struct store *store = story_open("s", "ram");
        assert_int_equal(writer_new(store, &options, &writer, NULL), 0);
        tell(writer, &key);
        writer_stats(writer, &stats);
        assert_int_equal(run.acknowledged, BATCHES);
        assert_true(stats.checkpoints >= 3);
        assert_int_equal(stats.checkpoints_failed, 0);
        writer_free(writer);
        store_close(store);
        printf("%llu operations, %llu crashes, %llu of them kept more than was acknowledged\n",
               (unsigned long long)run.boundaries, (unsigned long long)run.crashes,
               (unsigned long long)run.longer);
        assert_true(run.boundaries > 200);
        assert_true(run.longer > 0);
        assert_true(run.longer < run.crashes / 2);
        fault_vfs_on_operation(run.disk, NULL, NULL);
        store = story_open("s", "ram");
        assert_int_equal(story_check(store, "at the end"), BATCHES);
        store_close(store);
        fault_vfs_free(run.disk);
        fault_vfs_free(run.later);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(power_lost_at_every_operation_loses_nothing_acknowledged),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
