#include "tests/unit/check.h"

#include <sqlite3.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/batch.h"
#include "store/commit.h"
#include "store/log.h"
#include "store/period.h"
#include "store/rollup.h"
#include "store/store.h"
#include "tests/fault_vfs.h"
#include "tests/unit/store/story.h"

#define HOUR ROLLUP_HOUR_MS

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

static int commit_row(struct store *store, const struct usage_row *row, struct err *err)
{
        struct record record = {.kind = RECORD_FACTS, .actor = "", .reason = ""};
        struct batch *batch = batch_new(NULL);
        struct log_head head;
        assert_int_equal(batch_add_record(batch, &record, NULL), 0);
        assert_int_equal(batch_add_usage(batch, row, NULL), 0);
        int rc = commit_batches(store, batch, 1, &head, err);
        batch_free(batch);
        return rc;
}

static struct usage_row row_of(int64_t hour, const char *tenant, const char *bucket,
                               int64_t unit_ms)
{
        return (struct usage_row){.hour_ms = hour * HOUR, .model = "H100-80", .tenant = tenant,
                                  .class = "training", .method = "whole", .bucket = bucket,
                                  .unit_ms = unit_ms};
}

/* The only number or text a query gives. */
static void ask(const char *path, const char *sql, char ret_text[128])
{
        sqlite3 *db;
        sqlite3_stmt *row;
        assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, "ram"), SQLITE_OK);
        if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK)
                fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        assert_int_equal(sqlite3_step(row), SQLITE_ROW);
        snprintf(ret_text, 128, "%s", (const char *)sqlite3_column_text(row, 0));
        assert_int_equal(sqlite3_step(row), SQLITE_DONE);
        sqlite3_finalize(row);
        sqlite3_close(db);
}

static void rows_of_the_same_hour_add_up_and_views_show_them(void **state)
{
        (void)state;
        static const struct { const char *sql, *answer; } rows[] = {
                {"SELECT unit_ms FROM usage WHERE tenant = 'a' AND bucket = 'delivered'"
                 " AND hour = '1970-01-01T05:00Z'", "680400000000"},
                {"SELECT device_hours FROM usage WHERE tenant = 'a' AND bucket = 'delivered'"
                 " AND hour = '1970-01-01T05:00Z'", "1.5"},
                {"SELECT device_hours FROM usage_by_day WHERE tenant = 'a'"
                 " AND bucket = 'delivered' AND day = '1970-01-01'", "2.5"},
                {"SELECT sum(device_hours) FROM usage_by_month WHERE month = '1970-01'", "4.0"},
                {"SELECT count(*) FROM usage", "4"},
                {"SELECT count(*) FROM decisions", "5"},
                {"SELECT at || ' ' || kind || ' ' || bytes FROM log WHERE seq = 2",
                 "1970-01-01T00:00:00.000Z facts 0"},
        };
        int64_t hour = 126000ll * HOUR;         /* one device for one hour */
        const struct usage_row added[] = {
                row_of(5, "a", "delivered", hour), row_of(5, "a", "delivered", hour / 2),
                row_of(6, "a", "delivered", hour), row_of(5, "b", "delivered", hour),
                row_of(5, "a", "free", hour / 2),
        };
        struct store *store = story_open("a", "ram");
        for (size_t i = 0; i < ARRAY_LEN(added); i++)
                assert_int_equal(commit_row(store, &added[i], NULL), 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char answer[128];
                ask("a", rows[i].sql, answer);
                assert_string_equal(answer, rows[i].answer);
        }
        store_close(store);
}

static void a_sum_out_of_range_fails_the_whole_batch(void **state)
{
        (void)state;
        static const struct { int64_t first, then; int rc; } rows[] = {
                {5, -5, 0},
                {5, -6, -ERR_IO},
                {INT64_MAX, 0, 0},
                {INT64_MAX - 7, 7, 0},
                {INT64_MAX - 7, 8, -ERR_IO},            /* must not wrap, nor become a real */
                {1, INT64_MAX, -ERR_IO},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct store *store = story_open("b", "ram");
                struct usage_row row = row_of((int64_t)i, "a", "delivered", rows[i].first);
                struct log_head before, after;
                struct err err = {0};
                assert_int_equal(commit_row(store, &row, &err), 0);
                assert_int_equal(log_head(store, &before, NULL), 0);
                row.unit_ms = rows[i].then;
                assert_int_equal(commit_row(store, &row, &err), rows[i].rc);
                assert_int_equal(log_head(store, &after, NULL), 0);
                assert_int_equal(after.seq, before.seq + (rows[i].rc == 0 ? 1 : 0));
                if (rows[i].rc < 0)
                        check_has(err.text, "usage of tenant 'a'");
                store_close(store);
        }
}

static int count_rows(void *self, const struct period_row *row, struct err *err)
{
        (void)row;
        (void)err;
        ++*(unsigned *)self;
        return 0;
}

static void old_hours_are_forgotten_in_steps(void **state)
{
        (void)state;
        struct store *store = story_open("c", "ram");
        for (int64_t hour = 0; hour < 20; hour++) {
                struct usage_row row = row_of(hour, "a", "delivered", 1);
                assert_int_equal(commit_row(store, &row, NULL), 0);
        }
        unsigned steps = 1, left = 0;
        while (period_forget(store, PERIOD_USAGE, 12 * HOUR, 5, NULL) == 1)
                steps++;
        assert_int_equal(period_forget(store, PERIOD_USAGE, 12 * HOUR, 5, NULL), 0);
        assert_int_equal(period_each(store, PERIOD_USAGE, count_rows, &left, NULL), 0);
        assert_int_equal(left, 8);
        assert_int_equal(steps, 3);
        store_close(store);
}

static void a_row_out_of_bounds_is_refused(void **state)
{
        (void)state;
        char longest[ROLLUP_NAME_MAX + 2];
        memset(longest, 'n', sizeof longest);
        longest[ROLLUP_NAME_MAX + 1] = '\0';
        struct batch *batch = batch_new(NULL);
        struct usage_row row = row_of(1, longest + 1, "", 1);
        struct err err = {0};
        assert_int_equal(batch_add_usage(batch, &row, &err), 0);
        row.bucket = longest;
        assert_int_equal(batch_add_usage(batch, &row, &err), -ERR_INPUT);
        check_has(err.text, "usage: bucket");
        row = row_of(1, "a", "b", 1);
        row.hour_ms += 1;
        assert_int_equal(batch_add_usage(batch, &row, &err), -ERR_INPUT);
        check_has(err.text, "3600001 ms is not the start of an hour");
        batch_free(batch);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(rows_of_the_same_hour_add_up_and_views_show_them,
                                                make_disk, free_disk),
                cmocka_unit_test_setup_teardown(a_sum_out_of_range_fails_the_whole_batch,
                                                make_disk, free_disk),
                cmocka_unit_test_setup_teardown(old_hours_are_forgotten_in_steps, make_disk,
                                                free_disk),
                cmocka_unit_test(a_row_out_of_bounds_is_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
