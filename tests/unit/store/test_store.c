#include "tests/scratch.h"
#include "tests/unit/check.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/log.h"
#include "store/schema.h"
#include "store/store.h"
#include "tests/unit/store/story.h"

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
        snprintf(it, sizeof path[0], "%s/%s", folder, name);
        return it;
}

static void remove_store(const char *name)
{
        static const char *const tails[] = {"", "-wal", "-shm", ".lock"};
        for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
                char path[300];
                snprintf(path, sizeof path, "%s%s", path_of(name), tails[i]);
                unlink(path);
        }
}

static int open_at(const char *name, struct store **ret_store, struct err *err)
{
        return store_open(&(struct store_options){.path = path_of(name)}, ret_store, err);
}

static void a_second_opener_is_refused_with_the_pid_of_the_first(void **state)
{
        (void)state;
        struct store *first, *second;
        struct err err = {0};
        char pid[32];
        assert_int_equal(open_at("a", &first, &err), 0);
        snprintf(pid, sizeof pid, "process %ld;", (long)getpid());
        assert_int_equal(open_at("a", &second, &err), -ERR_EXISTS);
        check_has(err.text, pid);

        /* From another process the same, and its end does not take the lock away. */
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
                _exit(open_at("a", &second, &err) == -ERR_EXISTS && strstr(err.text, pid) ? 0 : 1);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        assert_int_equal(open_at("a", &second, &err), -ERR_EXISTS);

        store_close(first);
        assert_int_equal(open_at("a", &second, &err), 0);
        store_close(second);
        store_close(NULL);
        remove_store("a");
}

/* Killed without closing: the lock goes with the process, the log stays. */
static void after_a_kill_the_next_one_opens_and_finds_all(void **state)
{
        (void)state;
        int told[2];
        char byte;
        assert_int_equal(pipe(told), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
                struct store *store;
                if (open_at("b", &store, NULL) != 0)
                        _exit(1);
                story_commit(store, 1, 20);
                (void)!write(told[1], "x", 1);
                pause();
        }
        assert_int_equal(read(told[0], &byte, 1), 1);
        struct store *store;
        struct err err = {0};
        assert_int_equal(open_at("b", &store, &err), -ERR_EXISTS);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_int_equal(open_at("b", &store, &err), 0);
        assert_int_equal(story_check(store, "after the kill"), 20);
        store_close(store);
        close(told[0]);
        close(told[1]);
        remove_store("b");
}

static void nobody_else_may_read_the_file(void **state)
{
        (void)state;
        struct store *store;
        struct stat about;
        assert_int_equal(open_at("c", &store, NULL), 0);
        story_commit(store, 1, 1);
        assert_int_equal(stat(path_of("c"), &about), 0);
        assert_int_equal(about.st_mode & 0777, 0600);
        assert_int_equal(stat(path_of("c-wal"), &about), 0);
        assert_int_equal(about.st_mode & 0777, 0600);
        store_close(store);
        remove_store("c");
}

static void a_view_reads_what_is_committed_and_cannot_write(void **state)
{
        (void)state;
        struct store *store, *view, *reader;
        struct store_options read_only = {.path = path_of("d"), .is_read_only = true};
        struct err err = {0};
        assert_int_equal(store_open(&read_only, &reader, &err), -ERR_NOT_FOUND);
        assert_int_equal(open_at("d", &store, &err), 0);
        assert_int_equal(store_view(store, &view, &err), 0);
        story_commit(store, 1, 4);
        assert_int_equal(story_check(view, "the view"), 4);
        /* Beside the running controller. */
        assert_int_equal(store_open(&read_only, &reader, &err), 0);
        story_commit(store, 5, 6);
        assert_int_equal(story_check(view, "the view"), 6);
        assert_int_equal(story_check(reader, "a reader"), 6);
        store_close(reader);
        store_close(view);
        store_close(store);
        remove_store("d");
}

static void every_commit_is_synced(void **state)
{
        (void)state;
        struct store *store;
        assert_int_equal(open_at("e", &store, NULL), 0);
        uint64_t before = store_syncs(store);
        story_commit(store, 1, 10);
        assert_true(store_syncs(store) >= before + 10);
        store_close(store);
        remove_store("e");
}

static void write_sqlite(const char *name, const char *sql)
{
        sqlite3 *db;
        assert_int_equal(sqlite3_open(path_of(name), &db), SQLITE_OK);
        if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
                fail_msg("%s", sqlite3_errmsg(db));
        sqlite3_close(db);
}

static void what_is_no_store_of_ours_is_left_alone(void **state)
{
        (void)state;
        static const struct { const char *sql, *part; } rows[] = {
                {"CREATE TABLE t (x)", "of another program"},
                {"PRAGMA application_id = 7", "of another program"},
                {"PRAGMA user_version = 1; CREATE TABLE t (x)", "of another program"},
                {"PRAGMA application_id = 1651668072; PRAGMA user_version = 99; CREATE TABLE t (x)",
                 "has schema version 99; this program knows up to "},
        };
        assert_int_equal(STORE_APPLICATION_ID, 1651668072);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct store *store;
                struct err err = {0};
                char *before, *after;
                size_t size_before, size_after;
                write_sqlite("f", rows[i].sql);
                assert_int_equal(file_read(path_of("f"), 1 << 20, &before, &size_before, &err), 0);
                assert_int_equal(open_at("f", &store, &err), -ERR_INPUT);
                check_has(err.text, rows[i].part);
                assert_int_equal(file_read(path_of("f"), 1 << 20, &after, &size_after, &err), 0);
                assert_int_equal(size_before, size_after);
                assert_memory_equal(before, after, size_before);
                mem_free(before);
                mem_free(after);
                remove_store("f");
        }
        struct store *store;
        struct err err = {0};
        static const char text[] = "this is a text file, and long enough to be looked at "
                                   "as if it were the header of a SQLite file of some kind";
        assert_int_equal(file_write(path_of("f"), text, sizeof text, &err), 0);
        assert_int_equal(open_at("f", &store, &err), -ERR_INPUT);
        check_has(err.text, "is not a store");
        remove_store("f");
        struct store_options missing = {.path = path_of("f"), .must_exist = true};
        assert_int_equal(store_open(&missing, &store, &err), -ERR_NOT_FOUND);
        assert_int_equal(access(path_of("f"), F_OK), -1);
        missing = (struct store_options){.path = path_of("no/such")};
        assert_int_equal(store_open(&missing, &store, &err), -ERR_IO);
        check_has(err.text, "No such file");
}

static void without_memory_nothing_is_left_open(void **state)
{
        (void)state;
        struct store *store = NULL, *view = NULL;
        struct err err = {0};
        for (unsigned long n = 1;; n++) {
                mem_fail_at(n);
                int rc = open_at("h", &store, &err);
                if (rc == 0)
                        rc = store_view(store, &view, &err);
                bool happened = mem_fail_happened();
                mem_fail_at(0);
                if (!happened) {
                        assert_int_equal(rc, 0);
                        assert_true(n > 5);
                        break;
                }
                assert_int_equal(rc, -ERR_NOMEM);
                store_close(store);             /* the view alone may have failed */
                store = NULL;
        }
        store_close(view);
        store_close(store);
        remove_store("h");
}

/* --- forward ------------------------------------------------------------------------------ */

static int64_t number_in(sqlite3 *db, const char *sql)
{
        sqlite3_stmt *row;
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(row), SQLITE_ROW);
        int64_t number = sqlite3_column_int64(row, 0);
        sqlite3_finalize(row);
        return number;
}

static void an_older_file_is_brought_forward_and_a_failed_step_changes_nothing(void **state)
{
        (void)state;
        size_t count;
        const struct schema_step *now = schema_steps(&count);
        struct schema_step steps[8];
        struct store *store;
        struct err err = {0};
        sqlite3 *db;
        char sql[64];

        assert_true(count + 2 <= ARRAY_LEN(steps));
        assert_int_equal(open_at("g", &store, &err), 0);
        story_commit(store, 1, 5);
        store_close(store);
        memcpy(steps, now, count * sizeof *now);
        steps[count] = (struct schema_step){
                .what = "bodies get a size",
                .sql = "ALTER TABLE records ADD COLUMN size INTEGER NOT NULL DEFAULT 0;"
                       "DROP TRIGGER records_are_final; UPDATE records SET size = length(body)"};
        steps[count + 1] = (struct schema_step){
                .what = "a step that fails half-way",
                .sql = "CREATE TABLE half (x)", .more = "SELECT no_such_function()"};
        assert_int_equal(sqlite3_open(path_of("g"), &db), SQLITE_OK);
        assert_int_equal(schema_bring_forward(db, steps, count + 1, &err), 0);
        assert_int_equal(number_in(db, "PRAGMA user_version"), count + 1);
        assert_int_equal(number_in(db, "SELECT count(*) FROM records WHERE size = length(body)"),
                         story_seq(5));
        assert_int_equal(schema_bring_forward(db, steps, count + 1, &err), 0);          /* again */
        assert_int_equal(schema_bring_forward(db, steps, count + 2, &err), -ERR_IO);
        check_has(err.text, "(a step that fails half-way)");
        assert_int_equal(number_in(db, "PRAGMA user_version"), count + 1);
        assert_int_equal(number_in(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'half'"),
                         0);
        assert_int_equal(schema_bring_forward(db, steps, count, &err), -ERR_INPUT);  /* an older one */
        sqlite3_close(db);
        /* What it holds is what it held. */
        snprintf(sql, sizeof sql, "PRAGMA user_version = %zu", count);
        write_sqlite("g", sql);
        assert_int_equal(open_at("g", &store, &err), 0);
        assert_int_equal(story_check(store, "brought forward"), 5);
        store_close(store);
        remove_store("g");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_second_opener_is_refused_with_the_pid_of_the_first),
                cmocka_unit_test(after_a_kill_the_next_one_opens_and_finds_all),
                cmocka_unit_test(nobody_else_may_read_the_file),
                cmocka_unit_test(a_view_reads_what_is_committed_and_cannot_write),
                cmocka_unit_test(every_commit_is_synced),
                cmocka_unit_test(what_is_no_store_of_ours_is_left_alone),
                cmocka_unit_test(without_memory_nothing_is_left_open),
                cmocka_unit_test(
                        an_older_file_is_brought_forward_and_a_failed_step_changes_nothing),
        };
        return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
