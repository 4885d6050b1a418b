#include "tests/scratch.h"
#include "tests/unit/check.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/check.h"
#include "store/log.h"
#include "store/prune.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "tests/fault_vfs.h"
#include "tests/unit/store/story.h"

static struct fault_vfs *disk;
static char folder[SCRATCH_MAX];
static struct seal_key key;

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

static const char *path_of(const char *name)
{
        static char path[256];
        snprintf(path, sizeof path, "%s/%s", folder, name);
        return path;
}

static int make_folder(void **state)
{
        (void)state;
        return scratch_folder(folder, sizeof folder, "test") &&
                               seal_key_load(path_of("key"), &key, NULL) == 0
                       ? 0
                       : -1;
}

static int remove_folder(void **state)
{
        (void)state;
        unlink(path_of("key"));
        return rmdir(folder);
}

static void write_snapshot(struct store *store, unsigned number)
{
        uint8_t body[STORY_SNAPSHOT_BYTES];
        struct snapshot about = {.seq = story_seq(number)};
        story_snapshot(about.seq, body);
        assert_int_equal(snapshot_write(store, &about, body, sizeof body, SNAPSHOT_KEEP_NEWEST(9),
                                        NULL), 0);
}

/* All steps; their number. */
static unsigned prune(struct store *store, uint64_t upto_seq)
{
        struct prune it = {.upto_seq = upto_seq, .at_ms = 99, .key = &key, .rows_per_step = 7};
        struct err err = {0};
        unsigned steps = 0;
        int rc;
        while ((rc = prune_step(&it, store, &err)) > 0)
                steps++;
        if (rc < 0)
                fail_msg("%s", err.text);
        return steps;
}

static void keep_sentence(void *self, const char *sentence)
{
        snprintf(self, 600, "%s", sentence);
}

static uint64_t findings(struct store *store, const uint8_t *public_key, char ret_sentence[600])
{
        struct check_options options = {.public_key = public_key};
        struct check_report report;
        assert_int_equal(store_check(store, &options, keep_sentence, ret_sentence, &report, NULL),
                         0);
        return report.findings;
}

static void after_pruning_the_rest_is_whole_and_goes_on(void **state)
{
        (void)state;
        char sentence[600];
        struct store *store = story_open("a", "ram");
        struct log_head before, after;
        struct log_cursor *cursor;
        struct err err = {0};
        story_commit(store, 1, 40);
        write_snapshot(store, 10);
        write_snapshot(store, 30);
        assert_int_equal(log_head(store, &before, NULL), 0);
        assert_true(prune(store, story_seq(30)) > 8);
        assert_int_equal(prune(store, story_seq(30)), 0);               /* nothing left to do */
        assert_int_equal(log_head(store, &after, NULL), 0);
        assert_memory_equal(&before, &after, sizeof before);
        assert_int_equal(log_read(store, 1, &cursor, &err), -ERR_NOT_FOUND);
        check_has(err.text, "is pruned");
        assert_int_equal(findings(store, key.public_key, sentence), 0);
        struct snapshot list[9];
        size_t count;
        assert_int_equal(snapshot_list(store, list, 9, &count, NULL), 0);
        assert_int_equal(count, 1);             /* the one before the head went with it */
        story_commit(store, 41, 50);
        assert_int_equal(story_check(store, "after pruning"), 50);
        /* All of it gone: the next record still chains to the head. */
        write_snapshot(store, 50);
        prune(store, story_seq(50));
        assert_int_equal(log_head(store, &after, NULL), 0);
        assert_int_equal(after.seq, story_seq(50));
        store_close(store);
        store = story_open("a", "ram");
        story_commit(store, 51, 52);
        assert_int_equal(story_check(store, "pruned to its end"), 52);
        assert_int_equal(findings(store, key.public_key, sentence), 0);
        store_close(store);
}

/* Who looks while it is pruned has asked where the log begins before. */
static void what_is_pruned_meanwhile_is_older(void **state)
{
        (void)state;
        struct store *store = story_open("a", "ram"), *view;
        struct log_head base, head;
        struct err err = {0};
        uint64_t before, after;
        story_commit(store, 1, 40);
        write_snapshot(store, 30);
        assert_int_equal(store_view(store, &view, NULL), 0);
        assert_int_equal(log_base(view, &base, NULL), 0);
        assert_int_equal(log_head(view, &head, NULL), 0);
        const int64_t than_ms = STORY_START_MS + 35 * 60000;
        assert_int_equal(log_find_older(view, base.seq, head.seq, than_ms, &before, NULL), 0);
        prune(store, story_seq(30));
        if (log_find_older(view, base.seq, head.seq, than_ms, &after, &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(before, after);
        assert_int_equal(log_find_older(view, base.seq, head.seq, STORY_START_MS, &after, NULL), 0);
        assert_int_equal(after, story_seq(30)); /* the last one that is gone */
        store_close(view);
        store_close(store);
}

static void the_file_becomes_smaller(void **state)
{
        (void)state;
        struct store *store = story_open("b", "ram");
        size_t before, after;
        story_commit(store, 1, 200);
        write_snapshot(store, 199);
        store_close(store);                     /* puts the WAL into the file */
        assert_non_null(fault_vfs_bytes(disk, "b", &before));
        store = story_open("b", "ram");
        prune(store, story_seq(199));
        store_close(store);
        assert_non_null(fault_vfs_bytes(disk, "b", &after));
        assert_true(after < before / 2);
}

/* Stopped after each step: whole every time, and finished by asking again. */
static void half_a_pruning_is_a_good_store(void **state)
{
        (void)state;
        char sentence[600];
        struct store *store = story_open("c", "ram");
        struct fault_vfs *later = fault_vfs_new("later");
        struct prune it = {.upto_seq = story_seq(20), .key = &key, .rows_per_step = 7};
        unsigned steps = 0;
        story_commit(store, 1, 25);
        write_snapshot(store, 20);
        while (prune_step(&it, store, NULL) > 0) {
                fault_vfs_after_crash(disk, later, FAULT_LOSE_ALL, 0);
                struct store *copy = story_open("c", "later");
                assert_int_equal(story_check(copy, "half pruned"), 25);
                assert_int_equal(findings(copy, key.public_key, sentence), 0);
                prune(copy, story_seq(20));
                assert_int_equal(story_check(copy, "pruned"), 25);
                store_close(copy);
                steps++;
        }
        assert_true(steps > 5);
        store_close(store);
        fault_vfs_free(later);
}

static void what_recovery_needs_is_not_pruned(void **state)
{
        (void)state;
        struct store *store = story_open("d", "ram");
        struct prune it = {.upto_seq = story_seq(5), .key = &key};
        struct err err = {0};
        story_commit(store, 1, 8);
        assert_int_equal(prune_step(&it, store, &err), -ERR_RANGE);     /* no snapshot at all */
        write_snapshot(store, 4);
        assert_int_equal(prune_step(&it, store, &err), -ERR_RANGE);     /* it is too old */
        check_has(err.text, "no good snapshot stands at record 11 or behind it");
        it.upto_seq = story_seq(8) + 1;
        assert_int_equal(prune_step(&it, store, &err), -ERR_NOT_FOUND);
        assert_int_equal(story_check(store, "after the refusals"), 8);
        it.upto_seq = story_seq(4);
        assert_int_equal(prune_step(&it, store, &err), 1);
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

static void a_changed_head_is_found(void **state)
{
        (void)state;
        static const struct { const char *sql, *part; } rows[] = {
                {"UPDATE heads SET hash = zeroblob(32)", "signature"},
                {"UPDATE heads SET at_ms = at_ms + 1", "signature"},
                {"UPDATE heads SET signature = zeroblob(64)", "signature"},
                {"UPDATE heads SET public_key = zeroblob(32)", "signature"},
                {"UPDATE heads SET seq = seq + 1", "signature"},
                {"UPDATE heads SET signature = x'00'", "has 1 bytes instead of 64"},
        };
        char sentence[600];
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct store *store = story_open("e", "ram");
                story_commit(store, 1, 8);
                write_snapshot(store, 5);
                prune(store, story_seq(5));
                assert_int_equal(findings(store, NULL, sentence), 0);
                run("e", rows[i].sql);
                assert_true(findings(store, NULL, sentence) > 0);
                store_close(store);
                (void)free_disk(state);
                (void)make_disk(state);
        }
        /* Cut and signed anew by someone else: whole by itself, and not with our key. */
        struct seal_key other;
        assert_int_equal(seal_key_load(path_of("other"), &other, NULL), 0);
        struct store *store = story_open("e", "ram");
        story_commit(store, 1, 8);
        write_snapshot(store, 5);
        struct prune it = {.upto_seq = story_seq(5), .key = &other};
        while (prune_step(&it, store, NULL) > 0)
                ;
        assert_int_equal(findings(store, NULL, sentence), 0);
        assert_int_equal(findings(store, key.public_key, sentence), 1);
        check_has(sentence, "signed with another key");
        store_close(store);
        unlink(path_of("other"));
}

static void a_key_is_made_once_and_kept_private(void **state)
{
        (void)state;
        struct seal_key first, second;
        struct stat about;
        struct err err = {0};
        assert_int_equal(seal_key_load(path_of("k"), &first, &err), 0);
        assert_int_equal(stat(path_of("k"), &about), 0);
        assert_int_equal(about.st_mode & 0777, 0600);
        assert_int_equal(about.st_size, SEAL_SECRET_BYTES);
        assert_int_equal(seal_key_load(path_of("k"), &second, &err), 0);
        assert_memory_equal(&first, &second, sizeof first);
        assert_int_equal(chmod(path_of("k"), 0640), 0);
        assert_int_equal(seal_key_load(path_of("k"), &second, &err), -ERR_INPUT);
        check_has(err.text, "others may read it (mode 0640)");
        unlink(path_of("k"));
        static const size_t sizes[] = {0, 63, 65};
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
                char bytes[65] = {0};
                assert_int_equal(file_write(path_of("k"), bytes, sizes[i], &err), 0);
                assert_int_equal(chmod(path_of("k"), 0600), 0);
                assert_int_equal(seal_key_load(path_of("k"), &second, &err), -ERR_INPUT);
                check_has(err.text, "is no key");
                unlink(path_of("k"));
        }
        assert_int_equal(seal_key_load(path_of("no/k"), &second, &err), -ERR_IO);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(after_pruning_the_rest_is_whole_and_goes_on,
                                                make_disk, free_disk),
                cmocka_unit_test_setup_teardown(what_is_pruned_meanwhile_is_older, make_disk,
                                                free_disk),
                cmocka_unit_test_setup_teardown(the_file_becomes_smaller, make_disk, free_disk),
                cmocka_unit_test_setup_teardown(half_a_pruning_is_a_good_store, make_disk,
                                                free_disk),
                cmocka_unit_test_setup_teardown(what_recovery_needs_is_not_pruned, make_disk,
                                                free_disk),
                cmocka_unit_test_setup_teardown(a_changed_head_is_found, make_disk, free_disk),
                cmocka_unit_test(a_key_is_made_once_and_kept_private),
        };
        return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
