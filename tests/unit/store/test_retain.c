/* Retention: a year of a pool, a day a record, and what is left of it. */
#include "tests/unit/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/batch.h"
#include "store/check.h"
#include "store/commit.h"
#include "store/log.h"
#include "store/objects.h"
#include "store/prune.h"
#include "store/retain.h"
#include "store/review.h"
#include "store/rollup.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "tests/fault_vfs.h"
#include "tests/unit/store/story.h"

#define DAY_MS INT64_C(86400000)
#define DAYS   400                      /* record d is of day d; workload d ended then */

static struct fault_vfs *disk;
static struct seal_key key;

static int start(void **state)
{
        char path[] = "/tmp/berth-test-key-XXXXXX";
        (void)state;
        disk = fault_vfs_new("ram");
        close(mkstemp(path));
        unlink(path);
        int rc = seal_key_load(path, &key, NULL);
        unlink(path);
        return rc;
}

static int end(void **state)
{
        (void)state;
        fault_vfs_free(disk);
        return 0;
}

static int64_t day(int number)
{
        return STORY_START_MS + number * DAY_MS;
}

static void add_day(struct store *store, int number)
{
        const struct record record = {.kind = RECORD_NOTE, .at_ms = day(number), .actor = "a",
                                      .reason = "", .body = "x", .size = 1};
        const struct usage_row row = {.hour_ms = day(number), .model = "m", .tenant = "t",
                                      .class = "", .method = "", .bucket = "free", .unit_ms = 1};
        const struct review_row what = {.day_ms = day(number), .tenant = "t", .class = "",
                                        .model = "m", .measure = "starts", .detail = "",
                                        .amount = 1};
        const struct object object = {.kind = OBJECT_WORKLOAD, .id = (uint64_t)number,
                                      .tenant = "t", .name = "n", .class = "", .owner = "",
                                      .state = "succeeded", .detail = "",
                                      .created_ms = day(number - 1), .updated_ms = day(number),
                                      .ended_ms = number % 50 == 7 ? 0 : day(number)};
        struct batch *batch = batch_new(NULL);
        struct log_head head;
        struct err err = {0};
        assert_int_equal(batch_add_record(batch, &record, NULL), 0);
        assert_int_equal(batch_add_usage(batch, &row, NULL), 0);
        assert_int_equal(batch_add_review(batch, &what, NULL), 0);
        assert_int_equal(batch_put_object(batch, &object, NULL), 0);
        if (commit_batches(store, batch, 1, &head, &err) < 0)
                fail_msg("%s", err.text);
        batch_free(batch);
}

static void add_snapshot(struct store *store, uint64_t seq)
{
        const struct snapshot about = {.seq = seq, .version = 1, .at_ms = day((int)seq)};
        assert_int_equal(snapshot_write(store, &about, "state", 5, SNAPSHOT_KEEP_NEWEST(3), NULL),
                         0);
}

static struct store *make(const char *name, bool with_snapshots)
{
        struct store *store = story_open(name, "ram");
        for (int number = 1; number <= DAYS; number++) {
                add_day(store, number);
                if (with_snapshots && number % 100 == 50)
                        add_snapshot(store, (uint64_t)number);
        }
        return store;
}

static void retain(struct store *store, struct retain_rules rules, struct retain_report *ret_told)
{
        struct retain *it;
        struct err err = {0};
        unsigned steps = 0;
        int rc;
        assert_int_equal(retain_new(&rules, &it, &err), 0);
        while ((rc = retain_step(it, store, &err)) > 0)
                assert_true(++steps < 1000);
        if (rc < 0)
                fail_msg("%s", err.text);
        assert_int_equal(retain_step(it, store, &err), 0);
        retain_told(it, ret_told);
        retain_free(it);
}

static const struct retain_rules usual = {.record_days = 30, .object_days = 90,
                                          .usage_months = ROLLUP_MONTHS, .rows_per_step = 7};

static struct retain_rules rules_of(struct retain_rules rules)
{
        rules.key = &key;
        rules.now_ms = day(DAYS);
        return rules;
}

static int count_object(void *arg, const struct object *object, struct err *err)
{
        (void)err;
        ++*(unsigned *)arg;
        /* Alive, the newest of all, or not old enough. */
        assert_true(object->ended_ms == 0 || object->ended_ms >= day(DAYS - 90));
        return 0;
}

static unsigned objects(struct store *store)
{
        unsigned count = 0;
        assert_int_equal(objects_each(store, count_object, &count, NULL), 0);
        return count;
}

static void check_whole(struct store *store, uint64_t records)
{
        const struct check_options options = {.public_key = key.public_key};
        struct check_report report;
        assert_int_equal(store_check(store, &options, NULL, NULL, &report, NULL), 0);
        assert_int_equal(report.findings, 0);
        assert_int_equal(report.records, records);
}

/* The newest snapshot is of day 350: 30 days behind it are kept, from day 320 on. */
static void what_is_old_goes_and_a_second_time_changes_nothing(void **state)
{
        (void)state;
        struct store *store = make("a", true);
        struct retain_report told;
        retain(store, rules_of(usual), &told);
        assert_int_equal(told.upto_seq, 319);
        check_whole(store, DAYS - 319);
        assert_int_equal(told.objects, 309 - 7);        /* before day 310; 7 of them live */
        assert_int_equal(objects(store), DAYS - 302);
        assert_int_equal(told.usage_rows, 0);           /* not 13 months old yet */
        retain(store, rules_of(usual), &told);
        assert_int_equal(told.upto_seq, 319);
        assert_int_equal(told.objects, 0);
        check_whole(store, DAYS - 319);
        add_day(store, DAYS + 1);                       /* and the log goes on */
        check_whole(store, DAYS - 318);
        store_close(store);
}

static void without_a_snapshot_or_a_key_records_stay(void **state)
{
        (void)state;
        struct store *store = make("b", false);
        struct retain_report told;
        retain(store, rules_of(usual), &told);
        assert_int_equal(told.upto_seq, 0);
        assert_true(told.objects > 0);
        check_whole(store, DAYS);
        add_snapshot(store, DAYS);
        struct retain_rules rules = rules_of(usual);
        rules.key = NULL;
        retain(store, rules, &told);
        assert_int_equal(told.upto_seq, 0);
        check_whole(store, DAYS);
        store_close(store);
}

static void zero_keeps_for_ever_and_a_bound_is_a_bound(void **state)
{
        (void)state;
        struct store *store = make("c", true);
        struct retain_report told;
        struct retain *it;
        retain(store, rules_of((struct retain_rules){0}), &told);
        assert_int_equal(told.upto_seq, 0);
        assert_int_equal(told.objects, 0);
        check_whole(store, DAYS);
        assert_int_equal(retain_new(&(struct retain_rules){.record_days = RETAIN_DAYS_MAX}, &it,
                                    NULL), 0);
        retain_free(it);
        assert_int_equal(retain_new(&(struct retain_rules){.record_days = RETAIN_DAYS_MAX + 1},
                                    &it, NULL), -ERR_RANGE);
        assert_int_equal(retain_new(&(struct retain_rules){.object_days = RETAIN_DAYS_MAX + 1},
                                    &it, NULL), -ERR_RANGE);
        assert_int_equal(retain_new(&(struct retain_rules){.usage_months = RETAIN_MONTHS_MAX + 1},
                                    &it, NULL), -ERR_RANGE);
        store_close(store);
}

static void usage_goes_by_whole_months(void **state)
{
        (void)state;
        static const struct {
                int64_t now_ms;
                uint32_t months;
                int64_t from_ms;
        } rows[] = {
                {1798761600000, 0, 1798761600000},      /* 2027-01-01: itself */
                {1798761600000, 13, 1764547200000},     /* 2025-12-01 */
                {1801439999999, 13, 1764547200000},     /* the last moment of January */
                {1801440000000, 13, 1767225600000},     /* 2027-02-01: 2026-01-01 */
                {1806451200000, 1, 1801440000000},      /* 2027-03-31: 2027-02-01 */
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++)
                assert_int_equal(retain_usage_from_ms(rows[r].now_ms, rows[r].months),
                                 rows[r].from_ms);
        struct store *store = make("d", true);
        struct retain_rules rules = rules_of(usual);
        struct retain_report told;
        rules.usage_months = 3;         /* 2028-02-05 less three: from 2027-11-01, day 304 */
        retain(store, rules, &told);
        assert_int_equal(told.usage_rows, 303);
        assert_int_equal(told.review_rows, 303);
        store_close(store);
}

/* Every operation of it may be the last one before the power goes: the next one does the rest. */
struct crash {
        struct fault_vfs *disk, *later;
        unsigned crashes;
};

static void crash_here(void *self)
{
        struct crash *crash = self;
        struct store *store;
        struct retain_report told;
        struct err err = {0};
        if (crash->crashes++ % 5)
                return;                 /* one in five: each costs the whole of it again */
        fault_vfs_after_crash(crash->disk, crash->later, FAULT_LOSE_ALL, 1);
        if (story_try_open("e", "later", &store, &err) < 0)
                fail_msg("%s", err.text);
        retain(store, rules_of(usual), &told);
        assert_int_equal(told.upto_seq, 319);
        check_whole(store, DAYS - 319);
        assert_int_equal(objects(store), DAYS - 302);
        store_close(store);
}

static void what_a_crash_left_undone_is_done_by_the_next(void **state)
{
        (void)state;
        struct crash crash = {.disk = disk, .later = fault_vfs_new("later")};
        struct store *store = make("e", true);
        struct retain_report told;
        struct retain_rules rules = rules_of(usual);
        rules.rows_per_step = 100;
        fault_vfs_on_operation(disk, crash_here, &crash);
        retain(store, rules, &told);
        fault_vfs_on_operation(disk, NULL, NULL);
        assert_true(crash.crashes > 20);
        store_close(store);
        fault_vfs_free(crash.later);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_old_goes_and_a_second_time_changes_nothing),
                cmocka_unit_test(without_a_snapshot_or_a_key_records_stay),
                cmocka_unit_test(zero_keeps_for_ever_and_a_bound_is_a_bound),
                cmocka_unit_test(usage_goes_by_whole_months),
                cmocka_unit_test(what_a_crash_left_undone_is_done_by_the_next),
        };
        return cmocka_run_group_tests(tests, start, end);
}
