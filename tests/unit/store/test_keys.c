#include "tests/unit/check.h"

#include "base/err.h"
#include "base/mem.h"
#include "store/batch.h"
#include "store/commit.h"
#include "store/keys.h"
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

/* A batch of one record at `at_ms`, with a key that lives for a second. */
static void commit_key(struct store *store, const char *actor, const char *key, int64_t at_ms)
{
        struct record record = {.kind = RECORD_INPUT, .actor = actor, .reason = "",
                                .at_ms = at_ms};
        struct key_entry entry = {.actor = actor, .key = key, .until_ms = at_ms + 1000,
                                  .status = 202, .body = "yes", .size = 3};
        struct batch *batch = batch_new(NULL);
        struct log_head head;
        key_request_hash("submit", key, strlen(key), entry.request);
        assert_int_equal(batch_add_record(batch, &record, NULL), 0);
        assert_int_equal(batch_set_key(batch, &entry, NULL), 0);
        assert_int_equal(batch_set_key(batch, &entry, NULL), -ERR_FULL);
        assert_int_equal(commit_batches(store, batch, 1, &head, NULL), 0);
        batch_free(batch);
}

static void a_key_gives_its_answer_until_its_time_is_over(void **state)
{
        (void)state;
        static const struct {
                const char *actor, *key, *operation, *body;
                int64_t now_ms;
                int rc;
        } rows[] = {
                {"ana", "k1", "submit", "k1", 5000, 0},
                {"ana", "k1", "submit", "k1", 5999, 0},
                {"ana", "k1", "submit", "k1", 6000, -ERR_NOT_FOUND},
                {"ana", "k1", "submit", "other", 5000, -ERR_EXISTS},
                {"ana", "k1", "cancel", "k1", 5000, -ERR_EXISTS},
                {"ana", "k1", "submi", "tk1", 5000, -ERR_EXISTS},       /* not one text */
                {"ana", "k1", "submit", "other", 6000, -ERR_NOT_FOUND},
                {"ana", "k2", "submit", "k2", 5000, -ERR_NOT_FOUND},
                {"bob", "k1", "submit", "k1", 5000, -ERR_NOT_FOUND},    /* his own key */
                {"", "k1", "submit", "k1", 5000, -ERR_NOT_FOUND},
        };
        struct store *store = story_open("a", "ram");
        commit_key(store, "ana", "k1", 5000);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                uint8_t request[STORE_HASH_BYTES];
                struct key_entry entry = {0};
                struct err err = {0};
                key_request_hash(rows[i].operation, rows[i].body, strlen(rows[i].body), request);
                int rc = keys_find(store, rows[i].actor, rows[i].key, request, rows[i].now_ms,
                                   &entry, &err);
                if (rc != rows[i].rc)
                        fail_msg("row %zu: %d %s", i, rc, err.text);
                if (rc == 0) {
                        assert_int_equal(entry.status, 202);
                        assert_int_equal(entry.size, 3);
                        assert_int_equal(entry.until_ms, 6000);
                        assert_memory_equal(entry.body, "yes", 3);
                        mem_free((void *)(uintptr_t)entry.body);
                } else {
                        check_has(err.text, rows[i].key);
                }
        }
        store_close(store);
}

/* Ten thousand keys come; each lives for a second, and ten come in one: the table stays small. */
static void forgotten_keys_are_removed_as_others_come(void **state)
{
        (void)state;
        struct store *store = story_open("b", "ram");
        uint64_t count, most = 0;
        for (int i = 0; i < 2000; i++) {
                char key[32];
                snprintf(key, sizeof key, "key-%d", i);
                commit_key(store, "ana", key, i * 100);
                assert_int_equal(keys_count(store, &count, NULL), 0);
                most = count > most ? count : most;
        }
        assert_true(most <= 12);
        assert_true(most >= 10);
        store_close(store);
}

static void a_key_out_of_bounds_is_refused(void **state)
{
        (void)state;
        char longest[KEY_MAX + 2];
        static uint8_t body[KEY_ANSWER_MAX + 1];
        memset(longest, 'k', sizeof longest);
        longest[KEY_MAX + 1] = '\0';
        const struct {
                struct key_entry entry;
                const char *part;
        } rows[] = {
                {{.actor = "", .key = longest + 1}, NULL},
                {{.actor = "", .key = longest}, "longer than 255 bytes"},
                {{.actor = longest, .key = "k"}, "actor: longer than 255 bytes"},
                {{.actor = "a", .key = ""}, "is empty"},
                {{.actor = "a", .key = "\xfe"}, "is not UTF-8"},
                {{.actor = "a", .key = "k", .body = body, .size = KEY_ANSWER_MAX}, NULL},
                {{.actor = "a", .key = "k", .body = body, .size = KEY_ANSWER_MAX + 1},
                 "at most 1048576"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct batch *batch = batch_new(NULL);
                struct err err = {0};
                assert_int_equal(batch_set_key(batch, &rows[i].entry, &err),
                                 rows[i].part ? -ERR_INPUT : 0);
                assert_int_equal(batch_key(batch) != NULL, rows[i].part == NULL);
                if (rows[i].part)
                        check_has(err.text, rows[i].part);
                batch_free(batch);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_key_gives_its_answer_until_its_time_is_over,
                                                make_disk, free_disk),
                cmocka_unit_test_setup_teardown(forgotten_keys_are_removed_as_others_come,
                                                make_disk, free_disk),
                cmocka_unit_test(a_key_out_of_bounds_is_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
