/* `berth store` and `berth replay --log`, as they are called. */
#include "tests/unit/cli/child.h"

#include <sqlite3.h>

#include "tests/unit/sim/log_world.h"

static const char *const files[] = {
        "out",     "err",      "pool.db",     "pool.db-wal", "pool.db-shm", "pool.db.lock",
        "pool.db.key", "x.export", "new.db",  "new.db.key",  "new.db.lock", "copy.db", "bad.export",
        "p.yaml",  "q.yaml",   "found.json",  "new.db-wal",  "new.db-shm",  "bad.db",
        "bad.db-wal", "bad.db-shm", "kept.db", "kept.db.key", "kept.db.lock",
        "other.db", "copy.db-wal", "copy.db-shm",
};

static const char policy_text[] = "kind: Policy\npreset: protected\ntenants: {a: {}, b: {}}\n";

/* A day of work: a job an hour, the first half before a snapshot. */
static void live(void)
{
        struct log_world world;
        log_world_open(&world, path_of("pool.db"), 4);
        log_world_policy(&world, policy_text);
        log_world_node(&world, "n", "H100-80", 8);
        for (int hour = 0; hour < 24; hour++) {
                struct input input = {.kind = INPUT_EXITED};
                world.now_ms = LOG_WORLD_START_MS + hour * INT64_C(3600000);
                input.workload = log_world_submit(&world, hour % 2 ? "a" : "b", "batch", 8, 0);
                world.now_ms += 600000;
                log_world_input(&world, &input);
                if (hour == 12)
                        log_world_snapshot(&world);
        }
        log_world_close(&world);
}

static int start(void **state)
{
        (void)state;
        if (open_child_folder() < 0)
                return -1;
        live();
        put("p.yaml", policy_text);
        put("q.yaml", "kind: Policy\npreset: protected\n"
                      "tenants: {a: {limit: {any: none}}, b: {}}\n");
        return 0;
}

static int end(void **state)
{
        (void)state;
        return close_child_folder(files, ARRAY_LEN(files));
}

static void a_store_is_checked_exported_imported_copied_and_shrunk(void **state)
{
        (void)state;
        const struct child_row rows[] = {
                {"store check @pool.db", 0,
                 "records 1 to 100, 1 snapshots, 0 heads, 1 objects", ""},
                {"store check @pool.db --json -", 0, "\"whole\": true", ""},
                {"store export @pool.db @x.export", 0, "exported: record 100, hash ", ""},
                {"store check @x.export @pool.db", 0, "x.export: records 1 to 100", ""},
                {"store import @x.export @new.db", 0, "imported: record 100, hash ", ""},
                {"store import @x.export @new.db", 2, "", "new.db: is there already"},
                {"store import @p.yaml @other.db", 2, "", "is no export of a store"},
                {"store backup @pool.db @copy.db", 0, "copied: record 100, hash ", ""},
                {"store backup @pool.db @copy.db", 2, "", "copy.db"},
                {"store compact @new.db", 0, "all records stay; 0 objects", ""},
                {"replay --log @pool.db", 0, "the same 74 facts, hash ", ""},
                {"replay --log @x.export --json -", 0, "\"same\": true", ""},
                {"replay --log @pool.db --policy @p.yaml", 0, "Of 24 jobs 0 start earlier, 0 later",
                 ""},
                {"replay --log @pool.db --policy @q.yaml", 0, "0 -> 12", ""},
                {"replay --log @pool.db --policy @q.yaml", 0, "starts that change:\nworkload", ""},
                {"replay --log @pool.db --policy @q.yaml", 0, "Z  refused  a\n", ""},
        };
        check_rows(rows, ARRAY_LEN(rows), path_of(""));
        assert_int_equal(run_line("replay --log @pool.db --policy @q.yaml --json -", path_of("")),
                         0);
        char *text = text_of("out");
        check_has(text, "\"workload\": 2");
        check_has(text, "\"refused\": true");
        mem_free(text);
}

static void what_is_damaged_is_found(void **state)
{
        (void)state;
        char *bytes;
        size_t size;
        sqlite3 *db;
        assert_int_equal(run_line("store export @pool.db @x.export", path_of("")), 0);
        assert_int_equal(file_read(path_of("x.export"), 1u << 24, &bytes, &size, NULL), 0);
        bytes[size / 2] ^= 1;
        assert_int_equal(file_write(path_of("bad.export"), bytes, size, NULL), 0);
        mem_free(bytes);
        unlink(path_of("copy.db"));
        assert_int_equal(run_line("store backup @pool.db @bad.db", path_of("")), 0);
        assert_int_equal(sqlite3_open(path_of("bad.db"), &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "DROP TRIGGER records_are_final;"
                                          "UPDATE records SET reason = 'x' WHERE seq = 7",
                                      NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        const struct child_row rows[] = {
                {"store check @bad.export", 1, "1 finding", ""},
                {"store check @bad.db", 1, "record 7", ""},
                {"store check @bad.db @pool.db --json @found.json", 1, "whole", ""},
                {"store check @bad.db --json @pool.db", 1, "\"whole\": true", ""},
                {"store backup @pool.db @kept.db --json", 0, "\"done\": \"copied\"", ""},
                {"store compact @kept.db --quiet --json", 0, "\"begins_behind\": ", ""},
                {"store export @pool.db - --json", 2, "", "both go to standard output"},
                {"store import @bad.export @other.db", 2, "", "export: byte "},
                {"replay --log @bad.export", 2, "", "export: byte "},
                {"replay --log @bad.db", 2, "", "record 7"},
                {"store check @pool.db --key @nokey", 2, "", "neither 64 digits nor a file"},
        };
        check_rows(rows, ARRAY_LEN(rows), path_of(""));
        char *json = text_of("found.json");
        check_has(json, "\"whole\": false");
        check_has(json, "record 7");
        mem_free(json);
}

static void a_call_that_cannot_be_meant_says_the_way_out(void **state)
{
        (void)state;
        const struct child_row rows[] = {
                {"store", 2, "", "say what to do; known: 'check'"},
                {"store chek x", 2, "", "did you mean 'check'?"},
                {"store export @pool.db", 2, "", "name what to work on: berth store export"},
                {"store compact @pool.db @new.db", 2, "", "is one argument too many"},
                {"store check @none", 2, "", "No such file"},
                {"store check @p.yaml", 2, "", "p.yaml"},
                {"store export @pool.db @x.export --key @p.yaml", 2, "",
                 "--key goes with check, compact only"},
                {"store check @pool.db --records 3", 2, "", "--records goes with compact only"},
                {"store compact @pool.db --records 40000", 2, "", "--records"},
                {"store compact @pool.db --usage some", 2, "", "--usage"},
                {"store check @pool.db --json=- --json", 2, "", "given twice"},
                {"replay", 2, "", "name a scenario, or a pool's log"},
                {"replay --log @none", 2, "", "No such file"},
                {"replay x.yaml --log @pool.db", 2, "", "--log takes no scenario"},
                {"replay --log @pool.db --seeds 1..2", 2, "", "--seeds goes with a scenario"},
                {"replay --log @pool.db --policy @none.yaml", 2, "", "none.yaml"},
                {"replay x.yaml --policy @p.yaml", 2, "", "--policy goes with --log"},
                {"store check --help", 0, "examples:", ""},
        };
        check_rows(rows, ARRAY_LEN(rows), path_of(""));
}

/* 12 hours are left behind the snapshot; what was before is proven by the head. */
static void a_store_shrinks_behind_a_signed_head_and_is_replayed_from_its_snapshot(void **state)
{
        (void)state;
        struct log_world world;
        unlink(path_of("pool.db"));
        unlink(path_of("pool.db-wal"));
        live();
        log_world_open(&world, path_of("pool.db"), 4);
        world.now_ms = LOG_WORLD_START_MS + 5 * INT64_C(86400000);
        (void)log_world_submit(&world, "a", "batch", 8, 0);
        log_world_snapshot(&world);
        (void)log_world_submit(&world, "b", "batch", 8, 0);
        log_world_close(&world);
        const struct child_row rows[] = {
                {"store compact @pool.db --records 2 -q", 0, "begins behind record 100", ""},
                {"store compact @pool.db --records 2 -q", 0, "begins behind record 100", ""},
                {"store check @pool.db --key @pool.db.key", 0, "records 101 to 104, 1 snapshots, "
                                                               "1 heads", ""},
                {"store check @pool.db --key "
                 "0000000000000000000000000000000000000000000000000000000000000000", 1,
                 "is signed with another key", ""},
                {"replay --log @pool.db", 0, "from the snapshot at record 102 on", ""},
                {"replay --log @pool.db --policy @q.yaml", 0, "Of 2 jobs", ""},
        };
        check_rows(rows, ARRAY_LEN(rows), path_of(""));
}

static void put_policy_row(const char *body)
{
        char sql[256];
        sqlite3 *db;
        snprintf(sql, sizeof sql, "UPDATE objects SET body = CAST('%s' AS BLOB) WHERE kind = 2",
                 body);
        assert_int_equal(sqlite3_open(path_of("pool.db"), &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_changes(db), 1);
        sqlite3_close(db);
}

static void a_store_shrinks_by_the_policy_in_it(void **state)
{
        (void)state;
        struct log_world world;
        unlink(path_of("pool.db"));
        unlink(path_of("pool.db-wal"));
        live();
        log_world_open(&world, path_of("pool.db"), 4);
        world.now_ms = LOG_WORLD_START_MS + 5 * INT64_C(86400000);
        world.revision = 1;             /* of live() */
        log_world_policy(&world, "kind: Policy\npreset: protected\ntenants: {a: {}, b: {}}\n"
                                 "retention: {records: 2d, review: unlimited}\n");
        log_world_snapshot(&world);
        log_world_close(&world);
        const struct child_row rows[] = {
                {"store compact @pool.db -q --records 0", 0,
                 "kept: records unlimited (--records), ended 90d, review unlimited (policy, "
                 "revision 2)\nall records stay", ""},
                {"store compact @pool.db -q", 0,
                 "kept: records 2d (policy, revision 2), ended 90d, review unlimited (policy, "
                 "revision 2)\nthe log begins behind record 100;", ""},
                {"store compact @pool.db -q --json", 0, "\"by\": \"policy\"", ""},
                {"store check @pool.db", 0, "1 heads", ""},
        };
        check_rows(rows, ARRAY_LEN(rows), path_of(""));
}

static void a_policy_that_cannot_be_read_is_named_and_can_be_passed_over(void **state)
{
        (void)state;
        unlink(path_of("pool.db"));
        unlink(path_of("pool.db-wal"));
        live();
        put_policy_row("kind: Policy\nretention: {records: some}");
        const struct child_row rows[] = {
                {"store compact @pool.db -q", 2, "",
                 "revision 1 of the policy in the store (say --records, --objects and --usage, and "
                 "it is not asked): policy:2: field"},
                {"store compact @pool.db -q --records 3 --usage 13", 2, "", "it is not asked"},
                {"store compact @pool.db -q --records 3 --usage 13 --objects 9", 0,
                 "kept: records 3d (--records), ended 9d (--objects), review 13mo (--usage)", ""},
        };
        check_rows(rows, ARRAY_LEN(rows), path_of(""));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_store_is_checked_exported_imported_copied_and_shrunk),
                cmocka_unit_test(what_is_damaged_is_found),
                cmocka_unit_test(a_call_that_cannot_be_meant_says_the_way_out),
                cmocka_unit_test(a_store_shrinks_by_the_policy_in_it),
                cmocka_unit_test(a_policy_that_cannot_be_read_is_named_and_can_be_passed_over),
                cmocka_unit_test(
                        a_store_shrinks_behind_a_signed_head_and_is_replayed_from_its_snapshot),
        };
        return cmocka_run_group_tests(tests, start, end);
}
