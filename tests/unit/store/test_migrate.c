/* A store of an earlier version, as it was written then, is read by this program whole.
 *
 * tests/fixtures/store-v1.sql is what tools/store_fixture.py made of a store of version 1 with the
 * first batches of the story. BERTH_FIXTURE names a store that is made instead of any test: the
 * script's first step. */
#include "tests/scratch.h"
#include "tests/unit/check.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/check.h"
#include "store/prune.h"
#include "store/schema.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "tests/unit/store/story.h"

#define BATCHES 5u
#define PRUNED  4u                      /* what is left is small enough to be read as SQL */

static char folder[SCRATCH_MAX];

static int make_folder(void **state)
{
        (void)state;
        return scratch_folder(folder, sizeof folder, "test") ? 0 : -1;
}

static int remove_folder(void **state)
{
        (void)state;
        return rmdir(folder);
}

static const char *path_of(const char *name)
{
        static char path[4][256];
        static unsigned next;
        char *it = path[next++ % 4];
        (void)snprintf(it, sizeof path[0], "%s/%s", folder, name);
        return it;
}

static void remove_store(const char *path)
{
        static const char *const tails[] = {"", "-wal", "-shm"};
        for (size_t t = 0; t < ARRAY_LEN(tails); t++) {
                char it[300];
                (void)snprintf(it, sizeof it, "%s%s", path, tails[t]);
                unlink(it);
        }
}

static void run(sqlite3 *db, const char *sql)
{
        char *why = NULL;
        if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
                fail_msg("%s", why);
}

/* The file as it was: its tables, its rows, its two numbers. */
static void restore_fixture(const char *path)
{
        const char *source = getenv("BERTH_SOURCE") ? getenv("BERTH_SOURCE") : ".";
        char from[1024];
        char *sql;
        size_t size;
        struct err err = {0};
        sqlite3 *db;
        (void)snprintf(from, sizeof from, "%s/tests/fixtures/store-v1.sql", source);
        if (file_read(from, 1u << 20, &sql, &size, &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        run(db, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL");
        run(db, sql);
        sqlite3_close(db);
        mem_free(sql);
}

static void a_store_of_version_1_is_read_whole_and_goes_on(void **state)
{
        (void)state;
        const char *path = path_of("a");
        struct check_report report;
        struct store *store;
        struct err err = {0};
        restore_fixture(path);
        story_without_review = BATCHES;
        store = story_open(path, NULL);
        assert_int_equal(story_check(store, "version 1"), BATCHES);
        if (store_check(store, NULL, NULL, NULL, &report, &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(report.findings, 0);
        assert_int_equal(report.records, story_seq(BATCHES) - story_seq(PRUNED));
        assert_int_equal(report.heads, 1);
        assert_int_equal(report.snapshots, 1);
        assert_int_equal(report.objects, BATCHES + BATCHES / 5);
        assert_int_equal(report.keys, BATCHES / 3);
        assert_true(report.usage_rows > 0);
        assert_int_equal(report.review_rows, 0);
        story_commit(store, BATCHES + 1, BATCHES + 4);
        assert_int_equal(story_check(store, "continued"), BATCHES + 4);
        store_close(store);
        remove_store(path);
}

/* Tables, indexes, views, triggers: in the words in which they were made. */
static void tell_schema(const char *path, struct text *ret_text)
{
        sqlite3 *db;
        sqlite3_stmt *row;
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(db, "SELECT type, name, sql FROM sqlite_schema"
                                                " WHERE sql IS NOT NULL ORDER BY type, name",
                                            -1, &row, NULL), SQLITE_OK);
        while (sqlite3_step(row) == SQLITE_ROW)
                text_add(ret_text, "%s %s: %s\n", (const char *)sqlite3_column_text(row, 0),
                         (const char *)sqlite3_column_text(row, 1),
                         (const char *)sqlite3_column_text(row, 2));
        sqlite3_finalize(row);
        sqlite3_close(db);
        assert_false(ret_text->failed);
}

/* A step that was released is never edited: who changes version 1 makes a further step instead. */
static void the_first_step_still_makes_version_1(void **state)
{
        (void)state;
        const char *then_path = path_of("b"), *now_path = path_of("c");
        struct text then = {0}, now = {0};
        size_t count;
        struct err err = {0};
        sqlite3 *db;
        restore_fixture(then_path);
        tell_schema(then_path, &then);
        assert_int_equal(sqlite3_open(now_path, &db), SQLITE_OK);
        assert_int_equal(schema_bring_forward(db, schema_steps(&count), 1, &err), 0);
        sqlite3_close(db);
        tell_schema(now_path, &now);
        assert_string_equal(now.bytes, then.bytes);
        text_done(&then);
        text_done(&now);
        remove_store(then_path);
        remove_store(now_path);
}

/* With a key of its own, which nobody keeps: the public half stands with the head. */
static void prune_fixture(struct store *store)
{
        struct prune prune = {.upto_seq = story_seq(PRUNED), .at_ms = STORY_START_MS};
        char path[] = "/tmp/berth-test-key-XXXXXX";
        struct seal_key key;
        close(mkstemp(path));
        unlink(path);
        assert_int_equal(seal_key_load(path, &key, NULL), 0);
        unlink(path);
        prune.key = &key;
        while (prune_step(&prune, store, NULL) > 0)
                ;
}

static int make_fixture(const char *path)
{
        const struct snapshot about = {.seq = story_seq(PRUNED), .version = 3, .at_ms = 4};
        struct store *store = story_open(path, NULL);
        uint8_t body[STORY_SNAPSHOT_BYTES];
        story_commit(store, 1, BATCHES);
        story_snapshot(about.seq, body);
        assert_int_equal(snapshot_write(store, &about, body, sizeof body, SNAPSHOT_KEEP_NEWEST(1),
                                        NULL), 0);
        prune_fixture(store);
        store_close(store);
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_store_of_version_1_is_read_whole_and_goes_on),
                cmocka_unit_test(the_first_step_still_makes_version_1),
        };
        if (getenv("BERTH_FIXTURE"))
                return make_fixture(getenv("BERTH_FIXTURE"));
        return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
