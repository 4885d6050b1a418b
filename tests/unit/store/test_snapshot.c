#include "tests/unit/check.h"

#include <sqlite3.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "store/check.h"
#include "store/log.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "tests/fault_vfs.h"
#include "tests/unit/store/story.h"

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

static uint8_t *make_body(size_t size, uint64_t seed)
{
        uint8_t *body = mem_new(size, 1);
        assert_non_null(body);
        for (size_t i = 0; i < size; i += 97)
                body[i] = (uint8_t)map_mix(seed + i);
        return body;
}

static void write_one(struct store *store, uint64_t seq, size_t size, uint32_t keep)
{
        struct snapshot about = {.seq = seq, .version = UINT64_MAX - seq, .at_ms = 7};
        uint8_t *body = make_body(size, seq);
        struct err err = {0};
        if (snapshot_write(store, &about, body, size, SNAPSHOT_KEEP_NEWEST(keep), &err) < 0)
                fail_msg("%s", err.text);
        mem_free(body);
}

/* The newest good one stands at `seq` with `bad` damaged ones before it. */
static void check_newest(struct store *store, uint64_t seq, size_t size, unsigned bad)
{
        struct snapshot it;
        void *body;
        size_t has;
        unsigned bad_count;
        struct err err = {0};
        if (snapshot_newest(store, &it, &body, &has, &bad_count, &err) < 0)
                fail_msg("%s", err.text);
        uint8_t *wanted = make_body(size, seq);
        assert_int_equal(it.seq, seq);
        assert_int_equal(it.version, UINT64_MAX - seq);
        assert_int_equal(it.at_ms, 7);
        assert_int_equal(has, size);
        assert_int_equal(bad_count, bad);
        assert_memory_equal(body, wanted, size);
        mem_free(wanted);
        mem_free(body);
}

static void sizes_around_a_chunk_come_back_whole(void **state)
{
        (void)state;
        static const size_t sizes[] = {0, 1, SNAPSHOT_CHUNK_BYTES - 1, SNAPSHOT_CHUNK_BYTES,
                                       SNAPSHOT_CHUNK_BYTES + 1, 5 * SNAPSHOT_CHUNK_BYTES};
        struct store *store = story_open("a", "ram");
        story_commit(store, 1, 10);
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
                write_one(store, i, sizes[i], 1);
                check_newest(store, i, sizes[i], 0);
        }
        struct snapshot list[8];
        size_t count;
        assert_int_equal(snapshot_list(store, list, 8, &count, NULL), 0);
        assert_int_equal(count, 1);
        store_close(store);
        store = story_open("a", "ram");
        check_newest(store, 5, sizes[5], 0);
        store_close(store);
}

static void an_unfinished_one_is_never_read_and_removed_by_the_next(void **state)
{
        (void)state;
        size_t size = 9 * SNAPSHOT_CHUNK_BYTES;
        struct snapshot about = {.seq = 9, .version = UINT64_MAX - 9, .at_ms = 7};
        struct store *store = story_open("b", "ram");
        struct snapshot_put *put;
        story_commit(store, 1, 10);
        write_one(store, 5, 100, 2);
        /* The row, nine chunks and the mark are steps; all but the last leave it unfinished. */
        for (int steps = 1; steps <= 10; steps++) {
                assert_int_equal(snapshot_put_new(&about, make_body(size, 9), size,
                                                  SNAPSHOT_KEEP_NEWEST(2), &put, NULL), 0);
                for (int i = 0; i < steps; i++)
                        assert_int_equal(snapshot_put_step(put, store, NULL), 1);
                snapshot_put_free(put);
                check_newest(store, 5, 100, 0);
        }
        write_one(store, 9, size, 2);
        check_newest(store, 9, size, 0);
        struct fault_vfs *later = fault_vfs_new("later");
        fault_vfs_after_crash(disk, later, FAULT_LOSE_ALL, 0);
        sqlite3 *db;
        sqlite3_stmt *row;
        assert_int_equal(sqlite3_open_v2("b", &db, SQLITE_OPEN_READWRITE, "later"), SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(db, "SELECT (SELECT count(*) FROM snapshots), count(*)"
                                                " FROM snapshot_chunks", -1, &row, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_step(row), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(row, 0), 2);
        assert_int_equal(sqlite3_column_int(row, 1), 1 + 9);
        sqlite3_finalize(row);
        sqlite3_close(db);
        fault_vfs_free(later);
        store_close(store);
}

static void appends_go_on_between_the_steps(void **state)
{
        (void)state;
        size_t size = 3 * SNAPSHOT_CHUNK_BYTES;
        struct snapshot about = {.seq = story_seq(2), .version = UINT64_MAX - story_seq(2),
                                 .at_ms = 7};
        struct store *store = story_open("c", "ram");
        struct snapshot_put *put;
        unsigned number = 2;
        story_commit(store, 1, number);
        assert_int_equal(snapshot_put_new(&about, make_body(size, about.seq), size,
                                          SNAPSHOT_KEEP_NEWEST(3), &put, NULL), 0);
        while (snapshot_put_step(put, store, NULL) == 1) {
                number++;
                story_commit(store, number, number);
        }
        snapshot_put_free(put);
        assert_true(number > 5);
        check_newest(store, about.seq, size, 0);
        store_close(store);
}

static void at_a_record_that_is_not_there_it_is_refused(void **state)
{
        (void)state;
        struct store *store = story_open("d", "ram");
        struct snapshot about = {.seq = 1};
        struct err err = {0};
        assert_int_equal(snapshot_write(store, &about, "x", 1, SNAPSHOT_KEEP_NEWEST(1), &err),
                         -ERR_NOT_FOUND);
        check_has(err.text, "there is no record 1");
        about.seq = 0;                          /* the state before all */
        assert_int_equal(snapshot_write(store, &about, "x", 1, SNAPSHOT_KEEP_NEWEST(1), &err), 0);
        struct snapshot_put *put;
        assert_int_equal(snapshot_put_new(&about, (void *)(uintptr_t)"x",
                                          SNAPSHOT_BYTES_MAX + 1ull, SNAPSHOT_KEEP_NEWEST(1),
                                          &put, &err), -ERR_RANGE);
        store_close(store);
}

static void run(const char *path, const char *sql)
{
        sqlite3 *db;
        assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, "ram"), SQLITE_OK);
        if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
                fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        sqlite3_close(db);
}

static void a_damaged_one_is_passed_over_and_found(void **state)
{
        (void)state;
        static const struct { const char *sql; unsigned findings; } rows[] = {
                {"UPDATE snapshot_chunks SET body = zeroblob(length(body)) WHERE snapshot = 2", 1},
                {"UPDATE snapshot_chunks SET body = CAST(body || x'00' AS BLOB)"
                 " WHERE snapshot = 2", 1},
                {"DELETE FROM snapshot_chunks WHERE snapshot = 2", 1},
                {"UPDATE snapshots SET version = version + 1 WHERE id = 2", 1},
                {"UPDATE snapshots SET seq = seq + 1 WHERE id = 2", 1},
                {"UPDATE snapshots SET size = -1 WHERE id = 2", 1},
                {"UPDATE snapshots SET chain = zeroblob(32) WHERE id = 2", 1},
                {"UPDATE snapshots SET hash = zeroblob(32) WHERE id = 2", 1},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char name[16];
                struct check_report report;
                snprintf(name, sizeof name, "e%zu", i);
                struct store *store = story_open(name, "ram");
                story_commit(store, 1, 8);
                write_one(store, 4, 500, 3);
                write_one(store, 8, 600, 3);
                assert_int_equal(store_check(store, NULL, NULL, NULL, &report, NULL), 0);
                assert_int_equal(report.findings, 0);
                assert_int_equal(report.snapshots, 2);
                run(name, rows[i].sql);
                check_newest(store, 4, 500, 1);
                assert_int_equal(store_check(store, NULL, NULL, NULL, &report, NULL), 0);
                assert_int_equal(report.findings, rows[i].findings);
                store_close(store);
                (void)free_disk(state);
                (void)make_disk(state);
        }
}

/* The first of each day stays, of so many days; the newest ones do in any case. */
static void one_of_each_day_is_kept_beside_the_newest(void **state)
{
        (void)state;
        static const struct { unsigned keep, days; const char *stay; } rows[] = {
                {2, 0, "9 8 "},
                {2, 2, "9 8 7 4 "},             /* 7 begins the third day, 4 the second one */
                {1, 3, "9 7 4 1 "},
                {1, 99, "9 7 4 1 "},
                {5, 1, "9 8 7 6 5 "},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                char name[] = "0", stay[64] = "";
                name[0] = (char)((size_t)name[0] + r);
                struct store *store = story_open(name, "ram");
                struct snapshot list[16];
                size_t count;
                story_commit(store, 1, 10);
                for (uint64_t seq = 1; seq <= 9; seq++) {
                        int64_t day = 100 + (int64_t)(seq - 1) / 3;
                        const struct snapshot about = {
                                .seq = seq, .at_ms = 86400000 * day + (int64_t)seq * 1000};
                        const struct snapshot_keep keep = {rows[r].keep, rows[r].days};
                        assert_int_equal(snapshot_write(store, &about, "x", 1, keep, NULL), 0);
                }
                assert_int_equal(snapshot_list(store, list, 16, &count, NULL), 0);
                for (size_t i = 0; i < count; i++)
                        snprintf(stay + strlen(stay), sizeof stay - strlen(stay), "%u ",
                                 (unsigned)list[i].seq);
                assert_string_equal(stay, rows[r].stay);
                store_close(store);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(sizes_around_a_chunk_come_back_whole, make_disk,
                                                free_disk),
                cmocka_unit_test_setup_teardown(
                        an_unfinished_one_is_never_read_and_removed_by_the_next, make_disk,
                        free_disk),
                cmocka_unit_test_setup_teardown(appends_go_on_between_the_steps, make_disk,
                                                free_disk),
                cmocka_unit_test_setup_teardown(at_a_record_that_is_not_there_it_is_refused,
                                                make_disk, free_disk),
                cmocka_unit_test_setup_teardown(one_of_each_day_is_kept_beside_the_newest,
                                                make_disk, free_disk),
                cmocka_unit_test_setup_teardown(a_damaged_one_is_passed_over_and_found, make_disk,
                                                free_disk),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
