/* What happened by the day: rows add up, sums and views show them, an export brings them along. */
#include "tests/scratch.h"
#include "tests/unit/check.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/batch.h"
#include "store/commit.h"
#include "store/export.h"
#include "store/log.h"
#include "store/period.h"
#include "store/review.h"
#include "store/store.h"
#include "store/sums.h"

#define DAY REVIEW_DAY_MS

static char folder[SCRATCH_MAX];
static char path[64], file[64], again[64];

static int make_folder(void **state)
{
        (void)state;
        if (!scratch_folder(folder, sizeof folder, "review"))
                return -1;
        snprintf(path, sizeof path, "%s/a", folder);
        snprintf(file, sizeof file, "%s/file", folder);
        snprintf(again, sizeof again, "%s/b", folder);
        return 0;
}

static int remove_folder(void **state)
{
        static const char *const names[] = {"a", "a-wal", "a-shm", "a.lock", "b", "b-wal",
                                            "b-shm", "b.lock", "file"};
        (void)state;
        for (size_t n = 0; n < ARRAY_LEN(names); n++) {
                char name[96];
                snprintf(name, sizeof name, "%s/%s", folder, names[n]);
                unlink(name);
        }
        return rmdir(folder);
}

static struct store *open_store(const char *name)
{
        const struct store_options options = {.path = name};
        struct store *store;
        struct err err;
        if (store_open(&options, &store, &err) < 0)
                fail_msg("%s", err.text);
        return store;
}

static int commit_row(struct store *store, const struct review_row *row, struct err *err)
{
        struct record record = {.kind = RECORD_NOTE, .actor = "", .reason = ""};
        struct batch *batch = batch_new(NULL);
        struct log_head head;
        assert_int_equal(batch_add_record(batch, &record, NULL), 0);
        int rc = batch_add_review(batch, row, err);
        if (rc == 0)
                rc = commit_batches(store, batch, 1, &head, err);
        batch_free(batch);
        return rc;
}

static struct review_row row_of(int64_t day, const char *tenant, const char *measure,
                                const char *detail, int64_t amount)
{
        return (struct review_row){.day_ms = day * DAY, .tenant = tenant, .class = "training",
                                   .model = "H100-80", .measure = measure, .detail = detail,
                                   .amount = amount};
}

static const struct {
        int64_t day;
        const char *tenant, *measure, *detail;
        int64_t amount;
} given[] = {
        {100, "a", "starts", "", 2},     {100, "a", "wait_ms", "", 5000},
        {100, "a", "starts", "", 1},     {100, "a/b", "starts", "", 4},
        {100, "ab", "starts", "", 8},    {101, "a", "refused", "LIMIT", 16},
        {101, "a", "refused", "ALLOWED", 32},
        {101, "a", "reserved", "used", INT64_MAX - 1},
        {102, "a", "reserved", "used", INT64_MAX - 1},
};

struct shown {
        char text[1024];
        size_t size;
};

static int show(void *self, const struct review_sum *sum, struct err *err)
{
        struct shown *shown = self;
        (void)err;
        shown->size += (size_t)snprintf(shown->text + shown->size, sizeof shown->text - shown->size,
                                        "%lld %s %s%s%s %llu; ", (long long)(sum->day_ms / DAY),
                                        sum->tenant, sum->measure, sum->detail[0] ? ":" : "",
                                        sum->detail, (unsigned long long)sum->amount);
        return 0;
}

/* The same at the end of a text that is long enough. */
static int show_long(void *self, const struct review_sum *sum, struct err *err)
{
        char **at = self;
        struct shown shown = {{0}, 0};
        int rc = show(&shown, sum, err);
        memcpy(*at, shown.text, shown.size + 1);
        *at += shown.size;
        return rc;
}

static void look(struct store *store, struct review_query query, const char *wanted)
{
        struct shown shown = {{0}, 0};
        struct err err;
        if (query.until_ms == 0)
                query.until_ms = INT64_MAX;
        if (review_sums(store, &query, show, &shown, &err) < 0)
                fail_msg("%s", err.text);
        assert_string_equal(shown.text, wanted);
}

static void rows_add_up_and_are_summed_as_asked(void **state)
{
        (void)state;
        struct store *store = open_store(path);
        for (size_t g = 0; g < ARRAY_LEN(given); g++) {
                const struct review_row row = row_of(given[g].day, given[g].tenant,
                                                     given[g].measure, given[g].detail,
                                                     given[g].amount);
                assert_int_equal(commit_row(store, &row, NULL), 0);
        }
        look(store, (struct review_query){.measure = "starts"}, "0  starts 15; ");
        look(store, (struct review_query){.measure = "starts", .tenant = "a", .by_tenant = true},
             "0 a starts 3; 0 a/b starts 4; ");
        look(store, (struct review_query){.from_ms = 101 * DAY, .until_ms = 102 * DAY,
                                          .measure = "refused", .by_day = true},
             "101  refused:ALLOWED 32; 101  refused:LIMIT 16; ");
        /* Above what 64 signed bits hold. */
        look(store, (struct review_query){.measure = "reserved"},
             "0  reserved:used 18446744073709551612; ");
        store_close(store);
}

static void what_cannot_be_is_refused(void **state)
{
        (void)state;
        struct store *store = open_store(path);
        struct review_row rows[] = {row_of(100, "a", "starts", "", 1),
                                    row_of(100, "\xff", "starts", "", 1),
                                    row_of(100, "a", "starts", "", -4)};
        rows[0].day_ms++;
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct err err = {0};
                assert_true(commit_row(store, &rows[r], &err) < 0);
                assert_true(err.text[0] != '\0');
        }
        look(store, (struct review_query){.measure = "starts"}, "0  starts 15; ");
        store_close(store);
}

static void views_show_them(void **state)
{
        (void)state;
        static const struct { const char *sql, *answer; } rows[] = {
                {"SELECT amount FROM review WHERE tenant = 'a' AND measure = 'starts'"
                 " AND day = '1970-04-11'", "3"},
                {"SELECT amount FROM review_by_month WHERE measure = 'refused'"
                 " AND detail = 'LIMIT' AND month = '1970-04'", "16.0"},
                {"SELECT round(mean_wait_s, 3) FROM review_waits WHERE tenant = 'a'", "1.667"},
                {"SELECT count(*) FROM alerts", "0"},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                sqlite3 *db;
                sqlite3_stmt *row;
                assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
                if (sqlite3_prepare_v2(db, rows[r].sql, -1, &row, NULL) != SQLITE_OK)
                        fail_msg("%s: %s", rows[r].sql, sqlite3_errmsg(db));
                assert_int_equal(sqlite3_step(row), SQLITE_ROW);
                assert_string_equal((const char *)sqlite3_column_text(row, 0), rows[r].answer);
                sqlite3_finalize(row);
                sqlite3_close(db);
        }
}

static void an_export_brings_them_along(void **state)
{
        (void)state;
        struct log_head head;
        struct err err;
        struct store *store = open_store(path), *other;
        if (store_export(store, file, &head, &err) < 0 ||
            store_import(again, file, &head, &err) < 0)
                fail_msg("%s", err.text);
        other = open_store(again);
        look(other, (struct review_query){.measure = "starts", .by_tenant = true},
             "0 a starts 3; 0 a/b starts 4; 0 ab starts 8; ");
        store_close(other);
        store_close(store);
}

static void whole_days_go_step_by_step(void **state)
{
        (void)state;
        struct store *store = open_store(path);
        int steps = 1;
        while (period_forget(store, PERIOD_REVIEW, 101 * DAY, 1, NULL) == 1)
                steps++;
        assert_int_equal(steps, 5);     /* four rows of day 100 */
        look(store, (struct review_query){.measure = "starts"}, "");
        look(store, (struct review_query){.measure = "refused"},
             "0  refused:ALLOWED 32; 0  refused:LIMIT 16; ");
        store_close(store);
}

/* ---- many rows, put there with plain SQL ---- */

#define NUMBERS "WITH RECURSIVE number(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM number" \
                " WHERE n < %d) INSERT OR IGNORE INTO review_days SELECT "
#define FROM_NUMBERS " FROM number"

static void run_sql(const char *sql, char *ret_text, size_t size)
{
        sqlite3 *db;
        sqlite3_stmt *row;
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK)
                fail_msg("%s", sqlite3_errmsg(db));
        int code = sqlite3_step(row);
        if (code == SQLITE_ROW && ret_text)
                snprintf(ret_text, size, "%s", (const char *)sqlite3_column_text(row, 0));
        assert_true(code == SQLITE_ROW || code == SQLITE_DONE);
        sqlite3_finalize(row);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* What SQL itself makes of them, in its order: names that begin alike, too. */
static void sums_are_those_of_sql(void **state)
{
        (void)state;
        static char wanted[1 << 16], got[1 << 16], sql[600];
        struct store *store = open_store(path);
        run_sql("DELETE FROM review_days", NULL, 0);
        snprintf(sql, sizeof sql, NUMBERS "(n %% 5 - 2) * 86400000, substr('a/b-c', 1, n %% 6),"
                                          " 'c' || (n * 7 %% 3), '', substr('x!y', 1, n %% 4),"
                                          " n * 13 %% 11, n * n" FROM_NUMBERS, 3000);
        run_sql(sql, NULL, 0);
        run_sql("SELECT group_concat(it, '') FROM (SELECT (day_ms / 86400000) || ' ' || tenant ||"
                " ' ' || measure || CASE detail WHEN '' THEN '' ELSE ':' END || detail || ' ' ||"
                " sum(amount) || '; ' AS it FROM review_days WHERE day_ms < 86400000"
                " GROUP BY day_ms, tenant, measure, detail"
                " ORDER BY day_ms, tenant, measure, detail)", wanted, sizeof wanted);
        const struct review_query query = {.from_ms = INT64_MIN, .until_ms = DAY,
                                           .by_tenant = true, .by_day = true};
        struct err err;
        char *at = got;
        assert_int_equal(review_sums(store, &query, show_long, &at, &err), 0);
        assert_true(strlen(wanted) > 1000);
        assert_string_equal(got, wanted);
        store_close(store);
}

static bool stop_now(void *arg)
{
        (void)arg;
        return true;
}

static void a_view_reads_no_further_than_it_may(void **state)
{
        (void)state;
        struct store *store = open_store(path), *view;
        const struct review_query query = {.until_ms = INT64_MAX};
        struct shown shown = {{0}, 0};
        struct err err;
        assert_int_equal(store_view(store, &view, &err), 0);
        store_view_stops(view, stop_now, NULL);
        assert_int_equal(review_sums(view, &query, show, &shown, &err), -ERR_CANCELLED);
        assert_int_equal(shown.size, 0);
        store_view_stops(view, NULL, NULL);
        look(view, (struct review_query){.measure = "none"}, "");
        store_close(view);
        store_close(store);
}

static void a_view_can_stay_at_one_moment(void **state)
{
        (void)state;
        struct store *store = open_store(path), *view;
        const struct review_row row = row_of(100, "a", "starts", "", 100);
        struct err err;
        assert_int_equal(store_view(store, &view, &err), 0);
        assert_int_equal(commit_row(store, &row, NULL), 0);
        assert_int_equal(store_view_begin(view, &err), 0);
        look(view, (struct review_query){.measure = "starts"}, "0  starts 100; ");
        assert_int_equal(commit_row(store, &row, NULL), 0);
        look(view, (struct review_query){.measure = "starts"}, "0  starts 100; ");
        store_view_end(view);
        look(view, (struct review_query){.measure = "starts"}, "0  starts 200; ");
        store_close(view);
        store_close(store);
}

static int count_sum(void *self, const struct review_sum *sum, struct err *err)
{
        (void)sum;
        (void)err;
        ++*(unsigned *)self;
        return 0;
}

/* At the bound, and one more. */
static void more_sums_than_memory_is_meant_for_are_refused(void **state)
{
        (void)state;
        static char sql[400];
        struct review_query query = {.from_ms = 1000 * DAY, .until_ms = INT64_MAX,
                                     .by_tenant = true};
        struct store *store = open_store(path);
        struct err err = {0};
        unsigned count = 0;
        snprintf(sql, sizeof sql, NUMBERS "1000 * 86400000, 't' || n, '', '', 'starts', '', 1"
                 FROM_NUMBERS, (int)SUMS_MAX - 1);
        run_sql(sql, NULL, 0);
        assert_int_equal(review_sums(store, &query, count_sum, &count, &err), 0);
        assert_int_equal(count, SUMS_MAX);
        run_sql("INSERT INTO review_days VALUES (1000 * 86400000, 'more', '', '', 'starts', '', 1)",
                NULL, 0);
        assert_int_equal(review_sums(store, &query, count_sum, &count, &err), -ERR_RANGE);
        check_has(err.text, "ask for less time, or by less");
        query.by_tenant = false;
        count = 0;
        assert_int_equal(review_sums(store, &query, count_sum, &count, &err), 0);
        assert_int_equal(count, 1);
        store_close(store);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(rows_add_up_and_are_summed_as_asked),
                cmocka_unit_test(what_cannot_be_is_refused),
                cmocka_unit_test(views_show_them),
                cmocka_unit_test(an_export_brings_them_along),
                cmocka_unit_test(whole_days_go_step_by_step),
                cmocka_unit_test(sums_are_those_of_sql),
                cmocka_unit_test(a_view_reads_no_further_than_it_may),
                cmocka_unit_test(a_view_can_stay_at_one_moment),
                cmocka_unit_test(more_sums_than_memory_is_meant_for_are_refused),
        };
        return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
