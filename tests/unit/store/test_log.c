#include "tests/unit/check.h"

#include <sqlite3.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/batch.h"
#include "store/check.h"
#include "store/commit.h"
#include "store/log.h"
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

static void what_is_committed_is_read_back_in_order(void **state)
{
        (void)state;
        struct store *store = story_open("a", "ram");
        assert_int_equal(story_check(store, "an empty store"), 0);
        story_commit(store, 1, 30);
        assert_int_equal(story_check(store, "before closing"), 30);
        store_close(store);
        store = story_open("a", "ram");
        assert_int_equal(story_check(store, "after opening"), 30);
        story_commit(store, 31, 33);
        assert_int_equal(story_check(store, "continued"), 33);
        store_close(store);
}

static void a_cursor_starts_anywhere_and_ends_at_the_end(void **state)
{
        (void)state;
        struct store *store = story_open("b", "ram");
        struct log_cursor *cursor;
        struct record record;
        struct err err = {0};
        uint64_t last = story_seq(9);

        assert_int_equal(log_read(store, 2, &cursor, &err), -ERR_NOT_FOUND);
        story_commit(store, 1, 9);
        for (uint64_t from = 1; from <= last + 1; from++) {
                uint64_t count = 0;
                assert_int_equal(log_read(store, from, &cursor, &err), 0);
                while (log_next(cursor, &record, &err) > 0)
                        assert_int_equal(record.seq, from + count++);
                assert_int_equal(count, last + 1 - from);
                assert_int_equal(log_next(cursor, &record, &err), 0);
                log_cursor_free(cursor);
        }
        assert_int_equal(log_read(store, last + 2, &cursor, &err), -ERR_NOT_FOUND);
        assert_int_equal(log_read(store, UINT64_MAX, &cursor, &err), -ERR_NOT_FOUND);
        log_cursor_free(NULL);
        store_close(store);
}

/* The layout is a promise: these two hashes were computed by hand from log.h. */
static void the_hash_is_the_one_the_header_describes(void **state)
{
        (void)state;
        struct store *store = story_open("c", "ram");
        struct record record = {.seq = 1, .kind = RECORD_NOTE, .at_ms = -2, .actor = "a",
                                .reason = "\xc3\xa9", .body = "xyz", .size = 3};
        uint8_t previous[STORE_HASH_BYTES] = {0}, hash[STORE_HASH_BYTES];
        char hex[2 * STORE_HASH_BYTES + 1];
        static const char *const wanted[] = {
                "b2ab05a8e28fb194a1a4c1283d243b037dfd9db03c3fcf703946b7e473936b60",
                "fcd7fa0e7c076b75fde9100bed04333342fdfbb65dd1ac7b9c3a649af1c280d0",
        };
        for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
                record_hash(&record, previous, hash);
                for (size_t b = 0; b < sizeof hash; b++)
                        snprintf(hex + 2 * b, 3, "%02x", hash[b]);
                assert_string_equal(hex, wanted[i]);
                memcpy(previous, hash, sizeof hash);
                record = (struct record){.seq = 2, .kind = RECORD_FACTS, .at_ms = 1798761600000,
                                         .actor = "berthd", .reason = ""};
        }
        store_close(store);
}

static void a_record_out_of_bounds_is_refused(void **state)
{
        (void)state;
        char *long_text = mem_new(RECORD_REASON_MAX + 2, 1);
        uint8_t *body = mem_new(RECORD_BODY_MAX + 1u, 1);
        assert_non_null(long_text);
        assert_non_null(body);
        memset(long_text, 'x', RECORD_REASON_MAX + 1);
        const char *longest_actor = long_text + RECORD_REASON_MAX + 1 - RECORD_ACTOR_MAX;
        const struct {
                struct record record;
                const char *part;               /* of the refusal; NULL: taken */
        } rows[] = {
                {{.kind = RECORD_INPUT, .actor = "", .reason = ""}, NULL},
                {{.kind = RECORD_INPUT, .actor = longest_actor, .reason = long_text + 1}, NULL},
                {{.kind = RECORD_INPUT, .actor = longest_actor - 1, .reason = ""},
                 "actor: longer than 255 bytes"},
                {{.kind = RECORD_INPUT, .actor = "", .reason = long_text},
                 "reason: longer than 1023 bytes"},
                {{.kind = RECORD_INPUT, .actor = "\xff", .reason = ""}, "actor: is not UTF-8"},
                {{.kind = RECORD_INPUT, .actor = "", .reason = "\xc3"}, "reason: is not UTF-8"},
                {{.kind = (enum record_kind)0, .actor = "", .reason = ""}, "no kind 0"},
                {{.kind = (enum record_kind)5, .actor = "", .reason = ""}, "no kind 5"},
                {{.kind = RECORD_INPUT, .actor = "", .reason = "", .body = body,
                  .size = RECORD_BODY_MAX}, NULL},
                {{.kind = RECORD_INPUT, .actor = "", .reason = "", .body = body,
                  .size = RECORD_BODY_MAX + 1u}, "at most 16777216"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct batch *batch = batch_new(NULL);
                struct err err = {0};
                int rc = batch_add_record(batch, &rows[i].record, &err);
                assert_int_equal(rc, rows[i].part ? -ERR_INPUT : 0);
                assert_int_equal(batch_records(batch), rows[i].part ? 0 : 1);
                if (rows[i].part)
                        check_has(err.text, rows[i].part);
                batch_free(batch);
        }
        mem_free(body);
        mem_free(long_text);
}

static void a_batch_is_full_at_its_bounds(void **state)
{
        (void)state;
        struct record small = {.kind = RECORD_FACTS, .actor = "", .reason = ""};
        struct batch *batch = batch_new(NULL);
        struct err err = {0};
        for (unsigned i = 0; i < BATCH_RECORDS_MAX; i++)
                assert_int_equal(batch_add_record(batch, &small, &err), 0);
        assert_int_equal(batch_add_record(batch, &small, &err), -ERR_FULL);
        assert_int_equal(batch_records(batch), BATCH_RECORDS_MAX);
        batch_free(batch);

        batch = batch_new(NULL);
        struct record large = small;
        large.body = mem_new(RECORD_BODY_MAX, 1);
        large.size = RECORD_BODY_MAX;
        assert_non_null(large.body);
        for (unsigned i = 0; i < BATCH_BYTES_MAX / RECORD_BODY_MAX; i++)
                assert_int_equal(batch_add_record(batch, &large, &err), 0);
        assert_int_equal(batch_add_record(batch, &small, &err), 0);    /* no bytes more */
        large.size = 1;
        assert_int_equal(batch_add_record(batch, &large, &err), -ERR_FULL);
        mem_free((void *)(uintptr_t)large.body);
        batch_free(batch);
}

static void without_memory_a_batch_stays_as_it_was(void **state)
{
        (void)state;
        uint8_t bytes[3000] = {0};
        struct record record = {.kind = RECORD_FACTS, .actor = "a", .reason = "r", .body = bytes,
                                .size = sizeof bytes};
        struct err err = {0};
        unsigned long n = 0;
        bool happened = true;
        for (; happened; n++) {
                struct batch *batch = batch_new(NULL);
                mem_fail_at(n + 1);
                int rc = batch_add_record(batch, &record, &err);
                happened = mem_fail_happened();
                mem_fail_at(0);
                assert_int_equal(rc, happened ? -ERR_NOMEM : 0);
                assert_int_equal(batch_records(batch), happened ? 0 : 1);
                assert_int_equal(batch_add_record(batch, &record, &err), 0);
                batch_free(batch);
        }
        assert_true(n > 1);
}

/* --- tampering ---------------------------------------------------------------------------- */

static sqlite3 *open_plain(const char *path)
{
        sqlite3 *db;
        assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, "ram"), SQLITE_OK);
        return db;
}

static void run(sqlite3 *db, const char *sql)
{
        if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
                fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static void plain_sql_cannot_change_the_log(void **state)
{
        (void)state;
        static const char *const statements[] = {
                "UPDATE records SET body = x'00' WHERE seq = 2",
                "UPDATE records SET actor = 'eve'",
                "DELETE FROM records WHERE seq = 1",
                "DELETE FROM records",
        };
        struct store *store = story_open("d", "ram");
        story_commit(store, 1, 3);
        store_close(store);
        sqlite3 *db = open_plain("d");
        for (size_t i = 0; i < ARRAY_LEN(statements); i++)
                assert_int_equal(sqlite3_exec(db, statements[i], NULL, NULL, NULL),
                                 SQLITE_CONSTRAINT);
        sqlite3_close(db);
        store = story_open("d", "ram");
        assert_int_equal(story_check(store, "after the tries"), 3);
        store_close(store);
}

/* The bytes of one field of record `seq`: numbers as 8 bytes. */
static size_t get_field(sqlite3 *db, const char *column, int seq, uint8_t *ret_bytes,
                        int *ret_type)
{
        char sql[128];
        sqlite3_stmt *row;
        snprintf(sql, sizeof sql, "SELECT %s FROM records WHERE seq = %d", column, seq);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(row), SQLITE_ROW);
        *ret_type = sqlite3_column_type(row, 0);
        int64_t number = sqlite3_column_int64(row, 0);
        size_t size = *ret_type == SQLITE_INTEGER ? 8 : (size_t)sqlite3_column_bytes(row, 0);
        if (size > 0)
                memcpy(ret_bytes, *ret_type == SQLITE_INTEGER ? (const void *)&number
                                                              : sqlite3_column_blob(row, 0), size);
        sqlite3_finalize(row);
        return size;
}

static void set_field(sqlite3 *db, const char *column, int64_t rowid, const uint8_t *bytes,
                      size_t size, int type)
{
        char sql[128];
        sqlite3_stmt *statement;
        int64_t number = 0;
        snprintf(sql, sizeof sql, "UPDATE records SET %s = ?1 WHERE seq = ?2", column);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
        if (type == SQLITE_INTEGER)
                memcpy(&number, bytes, 8);
        if (type == SQLITE_INTEGER)
                sqlite3_bind_int64(statement, 1, number);
        else if (type == SQLITE_TEXT)
                sqlite3_bind_text(statement, 1, (const char *)bytes, (int)size, SQLITE_STATIC);
        else
                sqlite3_bind_blob(statement, 1, bytes, (int)size, SQLITE_STATIC);
        sqlite3_bind_int64(statement, 2, rowid);
        assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
        sqlite3_finalize(statement);
}

static void count_finding(void *self, const char *sentence)
{
        assert_true(sentence[0] != '\0');
        ++*(unsigned *)self;
}

static bool is_found(struct store *view)
{
        struct check_report report;
        struct err err = {0};
        unsigned findings = 0;
        assert_int_equal(store_check(view, NULL, count_finding, &findings, &report, &err), 0);
        assert_int_equal(report.findings, findings);
        return findings > 0;
}

static void one_flipped_bit_in_any_field_is_found(void **state)
{
        (void)state;
        static const char *const columns[] = {"seq", "kind", "at_ms", "actor", "reason", "hash",
                                              "body"};
        static const int seqs[] = {1, 3, 6};     /* the first, one within, the last */
        struct store *store = story_open("e", "ram");
        story_commit(store, 1, 3);
        assert_int_equal(story_seq(3), 6);
        store_close(store);
        sqlite3 *db = open_plain("e");
        run(db, "DROP TRIGGER records_are_final");
        store = story_open("e", "ram");
        unsigned flipped = 0;
        assert_false(is_found(store));
        for (size_t c = 0; c < ARRAY_LEN(columns); c++)
                for (size_t s = 0; s < ARRAY_LEN(seqs); s++) {
                        uint8_t bytes[512];
                        int type;
                        size_t size = get_field(db, columns[c], seqs[s], bytes, &type);
                        for (size_t bit = 0; bit < 8 * size; bit++) {
                                int64_t flip = seqs[s];
                                if (c == 0)
                                        flip = (int64_t)((uint64_t)flip ^ UINT64_C(1) << bit);
                                if (c == 0 && flip >= 1 && flip <= 6)
                                        continue;       /* there is a record of that number */
                                bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
                                set_field(db, columns[c], seqs[s], bytes, size, type);
                                if (!is_found(store))
                                        fail_msg("bit %zu of %s of record %d", bit, columns[c],
                                                 seqs[s]);
                                bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
                                set_field(db, columns[c], flip, bytes, size, type);
                                flipped++;
                        }
                }
        assert_true(flipped > 3 * 64 * 2 + 3 * 256);
        assert_false(is_found(store));
        sqlite3_close(db);
        store_close(store);
}

static void a_missing_or_exchanged_record_is_found(void **state)
{
        (void)state;
        static const char *const statements[] = {
                "DELETE FROM records WHERE seq = 1",
                "DELETE FROM records WHERE seq = 4",
                "UPDATE records SET seq = seq + 1 WHERE seq = 6",
                "UPDATE records SET body = (SELECT body FROM records WHERE seq = 5) WHERE seq = 3",
                "UPDATE records SET kind = 4294967298 WHERE seq = 2",  /* facts, if cut to 32 bit */
                "INSERT INTO records SELECT -1, 1, 1, '', '', zeroblob(32), x''",
        };
        for (size_t i = 0; i < ARRAY_LEN(statements); i++) {
                char name[16];
                snprintf(name, sizeof name, "f%zu", i);
                struct store *store = story_open(name, "ram");
                story_commit(store, 1, 3);
                store_close(store);
                sqlite3 *db = open_plain(name);
                run(db, "DROP TRIGGER records_are_final");
                run(db, "DROP TRIGGER records_go_behind_a_head");
                run(db, statements[i]);
                sqlite3_close(db);
                store = story_open(name, "ram");
                assert_true(is_found(store));
                store_close(store);
                (void)free_disk(state);         /* a disk holds a few files only */
                (void)make_disk(state);
        }
}

/* Whatever page goes bad: a store that does not open, or sentences. */
static void a_page_of_garbage_is_found(void **state)
{
        (void)state;
        struct store *store = story_open("g", "ram");
        struct check_report report;
        struct err err = {0};
        size_t size;
        story_commit(store, 1, 60);
        store_close(store);
        uint8_t *bytes = fault_vfs_bytes(disk, "g", &size);
        assert_true(size > 20 * 4096);
        for (size_t page = 0; page < size / 4096; page++) {
                for (size_t i = 0; i < 4096; i++)
                        bytes[page * 4096 + i] ^= 0x5a;
                struct store_options options = {.path = "g", .vfs = "ram", .is_read_only = true};
                int rc = store_open(&options, &store, &err);
                if (rc == 0) {
                        unsigned findings = 0;
                        assert_int_equal(store_check(store, NULL, count_finding, &findings,
                                                     &report, &err), 0);
                        if (findings == 0)
                                fail_msg("page %zu", page + 1);
                        store_close(store);
                } else {
                        check_has(err.text, "g: ");
                }
                for (size_t i = 0; i < 4096; i++)
                        bytes[page * 4096 + i] ^= 0x5a;
        }
        store = story_open("g", "ram");
        assert_int_equal(story_check(store, "mended"), 60);
        store_close(store);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_is_committed_is_read_back_in_order,
                                                make_disk, free_disk),
                cmocka_unit_test_setup_teardown(a_cursor_starts_anywhere_and_ends_at_the_end,
                                                make_disk, free_disk),
                cmocka_unit_test_setup_teardown(the_hash_is_the_one_the_header_describes,
                                                make_disk, free_disk),
                cmocka_unit_test(a_record_out_of_bounds_is_refused),
                cmocka_unit_test(a_batch_is_full_at_its_bounds),
                cmocka_unit_test(without_memory_a_batch_stays_as_it_was),
                cmocka_unit_test_setup_teardown(plain_sql_cannot_change_the_log, make_disk,
                                                free_disk),
                cmocka_unit_test_setup_teardown(one_flipped_bit_in_any_field_is_found, make_disk,
                                                free_disk),
                cmocka_unit_test_setup_teardown(a_missing_or_exchanged_record_is_found,
                                                make_disk, free_disk),
                cmocka_unit_test_setup_teardown(a_page_of_garbage_is_found, make_disk, free_disk),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
