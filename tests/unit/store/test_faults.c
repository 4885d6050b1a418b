/* Every operation of a run fails once, or from it on until the disk is mended. The writer stops
 * acknowledging and says why, reads go on, and after a retry or a restart nothing that was
 * acknowledged is missing, and nothing is there twice. */
#include "tests/unit/check.h"

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "store/batch.h"
#include "store/check.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "store/writer.h"
#include "tests/fault_vfs.h"
#include "tests/unit/store/story.h"

#define BATCHES 24u

enum way {
        RETRY,                          /* the process goes on */
        KILL,                           /* a new process; the system's memory stays */
        POWER,                          /* and that goes too, any part of it */
};

struct run {
        struct fault_vfs *disk;
        struct store *store, *view;
        struct writer *writer;
        unsigned pushed, acknowledged;  /* the newest batch */
        unsigned failures, refusals, warnings;
        bool is_failed, is_recovered;
        uint64_t head_seq;              /* of the newest RECOVERED */
        struct snapshot_put *put;
        uint64_t seed;                  /* 0: one fault and no more */
        unsigned ways[3];
};

static uint64_t draw(struct run *run, uint64_t below)
{
        run->seed += 0x9e3779b97f4a7c15u;
        return map_mix(run->seed) % below;
}

static void on_event(void *self, const struct writer_event *event)
{
        struct run *run = self;
        unsigned next = run->acknowledged + 1;
        switch (event->kind) {
        case WRITER_EVENT_COMMITTED:
                for (const struct batch *it = event->batches; it; it = batch_next(it))
                        assert_int_equal(story_tag(it), next++);
                run->acknowledged = next - 1;
                assert_int_equal(event->head.seq, story_seq(run->acknowledged));
                break;
        case WRITER_EVENT_FAILED:
                /* All that was pushed and not acknowledged comes back, in order. */
                for (const struct batch *it = event->batches; it; it = batch_next(it))
                        assert_int_equal(story_tag(it), next++);
                assert_int_equal(next - 1, run->pushed);
                assert_true(event->err->text[0] != '\0');
                run->failures++;
                run->is_failed = true;
                break;
        case WRITER_EVENT_RECOVERED:
                run->is_recovered = true;
                run->head_seq = event->head.seq;
                break;
        case WRITER_EVENT_STILL_FAILED:
                check_has(event->err->text, "s: ");
                run->refusals++;
                break;
        case WRITER_EVENT_CHECKPOINT_FAILED:
                run->warnings++;
                break;
        case WRITER_EVENTS_END:
                fail();
        }
}

static int put_step(void *self, struct store *store, struct err *err)
{
        return snapshot_put_step(((struct run *)self)->put, store, err);
}

static void put_done(void *self, int rc, const struct err *err)
{
        (void)self;
        assert_int_equal(err != NULL, rc < 0);
}

/* A snapshot after batch `number`; it may fail as anything does here. */
static void ask_snapshot(struct run *run, unsigned number)
{
        struct snapshot about = {.seq = story_seq(number)};
        uint8_t *body = mem_new(STORY_SNAPSHOT_BYTES, 1);
        struct writer_chore chore = {.self = run, .step = put_step, .done = put_done};
        assert_non_null(body);
        story_snapshot(about.seq, body);
        assert_int_equal(snapshot_put_new(&about, body, STORY_SNAPSHOT_BYTES,
                                          SNAPSHOT_KEEP_NEWEST(2), &run->put, NULL), 0);
        assert_int_equal(writer_chore(run->writer, &chore, NULL), 0);
}

/* In a random run the next fault is never far. */
static void mend(struct run *run)
{
        if (run->seed == 0) {
                fault_vfs_fail(run->disk, FAULT_EIO, 0, 0);
                return;
        }
        enum fault_kind kind = draw(run, 3) == 0 ? FAULT_ENOSPC : FAULT_EIO;
        uint64_t first = fault_vfs_operations(run->disk) + 1 + draw(run, 90);
        fault_vfs_fail(run->disk, kind, first, 1 + draw(run, 3));
}

/* The store may not open on a broken disk; then it does on the mended one. */
static void start(struct run *run)
{
        struct writer_options options = {.callback = on_event, .self = run,
                                         .checkpoint_pages = 24, .is_stepped = true};
        struct err err = {0};
        while (story_try_open("s", "ram", &run->store, &err) < 0) {
                check_has(err.text, "s");
                mend(run);
        }
        assert_int_equal(store_view(run->store, &run->view, NULL), 0);
        assert_int_equal(writer_new(run->store, &options, &run->writer, NULL), 0);
        run->is_failed = false;
}

static void stop(struct run *run)
{
        writer_free(run->writer);
        snapshot_put_free(run->put);
        run->put = NULL;
        store_close(run->view);
        store_close(run->store);
}

static void retry(struct run *run)
{
        run->is_recovered = false;
        writer_retry(run->writer);
        assert_true(writer_step(run->writer));
}

/* A killed process puts nothing in order; neither does one without power. */
static void end_process(struct run *run, enum way way)
{
        fault_vfs_fail(run->disk, FAULT_EIO, 1, UINT64_MAX);
        stop(run);
        if (way == POWER) {
                struct fault_vfs *later = fault_vfs_new("later");
                fault_vfs_after_crash(run->disk, later, FAULT_LOSE_SOME, run->seed);
                fault_vfs_after_crash(later, run->disk, FAULT_LOSE_NONE, 0);
                fault_vfs_free(later);
        }
        mend(run);
}

/* Failed: nothing is taken, everything can be read; then the disk is mended. */
static void recover(struct run *run, enum way way)
{
        struct batch *batch = story_batch(run->pushed + 1);
        struct err err = {0};
        uint64_t seq;
        assert_int_equal(writer_push(run->writer, batch, &seq, &err), -ERR_IO);
        check_has(err.text, "nothing is accepted: s: ");
        batch_free(batch);
        assert_true(story_check(run->view, "a view of a failed store") >= run->acknowledged);
        run->ways[way]++;
        if (way != RETRY) {
                struct log_head head;
                end_process(run, way);
                start(run);
                assert_int_equal(log_head(run->store, &head, NULL), 0);
                run->head_seq = head.seq;
        } else {
                retry(run);
                while (!run->is_recovered) {
                        mend(run);
                        retry(run);
                }
                run->is_failed = false;
        }
        int number = story_number(run->head_seq);
        if (number < (int)run->acknowledged || number > (int)run->pushed)
                fail_msg("%d are there; %u acknowledged, %u pushed", number, run->acknowledged,
                         run->pushed);
        run->acknowledged = run->pushed = (unsigned)number;
}

static void tell(struct run *run, enum way way)
{
        bool is_snapshot_asked = false;
        while (run->acknowledged < BATCHES) {
                for (unsigned group = 1 + run->pushed % 4; group > 0; group--) {
                        uint64_t seq;
                        if (run->pushed == BATCHES)
                                break;
                        struct batch *batch = story_batch(++run->pushed);
                        assert_int_equal(writer_push(run->writer, batch, &seq, NULL), 0);
                        assert_int_equal(seq, story_seq(run->pushed));
                }
                if (run->pushed >= 10 && !is_snapshot_asked) {
                        is_snapshot_asked = true;
                        ask_snapshot(run, run->pushed);
                }
                (void)writer_step(run->writer);
                if (run->is_failed)
                        recover(run, run->seed ? (enum way)draw(run, 3) : way);
        }
        while (writer_step(run->writer))
                ;
}

/* One run with a fault; whether anything failed is returned, and how often. */
static bool run_with(enum fault_kind kind, uint64_t first, uint64_t count, enum way way,
                     uint64_t seed, struct run *ret_run)
{
        char where[96];
        struct run run = {.disk = fault_vfs_new("ram"), .seed = seed};
        struct fault_vfs *later = fault_vfs_new("later");
        snprintf(where, sizeof where, "%s at operation %llu, %llu times, way %d, seed %llu",
                 kind == FAULT_EIO ? "EIO" : "ENOSPC", (unsigned long long)first,
                 (unsigned long long)count, (int)way, (unsigned long long)seed);
        fault_vfs_fail(run.disk, kind, first, count);
        start(&run);
        tell(&run, way);
        run.seed = 0;
        mend(&run);
        assert_int_equal(story_check(run.view, where), BATCHES);
        bool failed = fault_vfs_failed(run.disk) > 0;

        /* And it is on the disk, not only in memory: the power goes. */
        fault_vfs_after_crash(run.disk, later, FAULT_LOSE_ALL, first);
        struct store *store = story_open("s", "later");
        struct check_report report;
        unsigned number = story_check(store, where);
        if (number != BATCHES)
                fail_msg("%s: %u are there after the power was lost", where, number);
        assert_int_equal(store_check(store, NULL, NULL, NULL, &report, NULL), 0);
        assert_int_equal(report.findings, 0);
        store_close(store);
        stop(&run);
        fault_vfs_free(later);
        fault_vfs_free(run.disk);
        *ret_run = run;
        return failed;
}

static void at_every_operation(enum fault_kind kind, uint64_t count, enum way way)
{
        unsigned failures = 0, warnings = 0;
        uint64_t first = 1;
        struct run run;
        for (bool goes_on = true; goes_on; first++) {
                goes_on = run_with(kind, first, count, way, 0, &run);
                failures += run.failures;
                warnings += run.warnings;
        }
        printf("%llu runs, %u failed commits, %u failed checkpoints\n",
               (unsigned long long)first - 1, failures, warnings);
        assert_true(first > 150);
        assert_true(failures > 50);
        assert_true(warnings > 0);
}

static void an_error_once_and_a_retry_lose_nothing(void **state)
{
        (void)state;
        at_every_operation(FAULT_EIO, 1, RETRY);
}

static void errors_until_the_disk_is_mended_lose_nothing(void **state)
{
        (void)state;
        at_every_operation(FAULT_EIO, UINT64_MAX, RETRY);
}

static void a_full_disk_until_there_is_room_loses_nothing(void **state)
{
        (void)state;
        at_every_operation(FAULT_ENOSPC, UINT64_MAX, RETRY);
}

/* A new process finds in the system's memory what never reached the disk: it must not build on
 * that. */
static void an_error_and_a_restart_lose_nothing(void **state)
{
        (void)state;
        at_every_operation(FAULT_EIO, 1, KILL);
}

static void a_disk_that_fails_again_and_again_loses_nothing(void **state)
{
        (void)state;
        unsigned ways[3] = {0};
        for (uint64_t seed = 1; seed <= 120; seed++) {
                struct run run;
                (void)run_with(FAULT_EIO, 20 + seed % 50, 1, RETRY, seed, &run);
                for (size_t i = 0; i < ARRAY_LEN(ways); i++)
                        ways[i] += run.ways[i];
        }
        printf("%u retries, %u kills, %u losses of power\n", ways[RETRY], ways[KILL],
               ways[POWER]);
        for (size_t i = 0; i < ARRAY_LEN(ways); i++)
                assert_true(ways[i] > 40);
}

static void a_page_read_badly_stops_the_writer_until_it_reads_well(void **state)
{
        (void)state;
        struct run run = {.disk = fault_vfs_new("ram")};
        uint64_t seq;
        start(&run);
        tell(&run, RETRY);
        stop(&run);
        start(&run);                            /* nothing in the cache */
        fault_vfs_corrupt_reads(run.disk, true);
        run.pushed++;
        assert_int_equal(writer_push(run.writer, story_batch(run.pushed), &seq, NULL), 0);
        assert_true(writer_step(run.writer));
        assert_true(run.is_failed);
        struct writer_stats stats;
        writer_stats(run.writer, &stats);
        assert_int_equal(stats.state, WRITER_FAILED);
        check_has(stats.failure.text, "malformed");
        retry(&run);
        assert_int_equal(run.refusals, 1);
        assert_false(run.is_recovered);
        fault_vfs_corrupt_reads(run.disk, false);
        retry(&run);
        assert_true(run.is_recovered);
        assert_int_equal(run.head_seq, story_seq(BATCHES));
        assert_int_equal(writer_push(run.writer, story_batch(run.pushed), &seq, NULL), 0);
        assert_true(writer_step(run.writer));
        assert_int_equal(run.acknowledged, BATCHES + 1);
        assert_int_equal(story_check(run.view, "read well again"), BATCHES + 1);
        stop(&run);
        fault_vfs_free(run.disk);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_error_once_and_a_retry_lose_nothing),
                cmocka_unit_test(errors_until_the_disk_is_mended_lose_nothing),
                cmocka_unit_test(a_full_disk_until_there_is_room_loses_nothing),
                cmocka_unit_test(an_error_and_a_restart_lose_nothing),
                cmocka_unit_test(a_disk_that_fails_again_and_again_loses_nothing),
                cmocka_unit_test(a_page_read_badly_stops_the_writer_until_it_reads_well),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
