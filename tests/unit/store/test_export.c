#include "tests/scratch.h"
#include "tests/unit/check.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/backup.h"
#include "store/batch.h"
#include "store/check.h"
#include "store/export.h"
#include "store/log.h"
#include "store/prune.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "store/writer.h"
#include "tests/fault_vfs.h"
#include "tests/unit/store/story.h"

static char folder[SCRATCH_MAX];
static struct fault_vfs *disk;
static struct seal_key key;

static const char *path_of(const char *name)
{
        static char path[4][256];
        static unsigned next;
        char *it = path[next++ % 4];
        snprintf(it, sizeof path[0], "%s/%s", folder, name);
        return it;
}

static int make_folder(void **state)
{
        (void)state;
        disk = fault_vfs_new("ram");
        return scratch_folder(folder, sizeof folder, "test") &&
                               seal_key_load(path_of("key"), &key, NULL) == 0
                       ? 0
                       : -1;
}

static int remove_folder(void **state)
{
        (void)state;
        fault_vfs_free(disk);
        unlink(path_of("key"));
        return rmdir(folder);
}

/* The story up to batch 40 with snapshots at 10 and 30; pruned to 20 if asked. */
static struct store *make_store(const char *name, bool is_pruned)
{
        static const unsigned at[] = {10, 30};
        struct store *store = story_open(name, "ram");
        story_commit(store, 1, 40);
        for (size_t i = 0; i < ARRAY_LEN(at); i++) {
                uint8_t body[STORY_SNAPSHOT_BYTES];
                struct snapshot about = {.seq = story_seq(at[i]), .version = 3, .at_ms = 4};
                story_snapshot(about.seq, body);
                assert_int_equal(snapshot_write(store, &about, body, sizeof body,
                                                SNAPSHOT_KEEP_NEWEST(9), NULL), 0);
        }
        static const unsigned cuts[] = {15, 20};
        for (size_t i = 0; is_pruned && i < ARRAY_LEN(cuts); i++) {
                struct prune prune = {.upto_seq = story_seq(cuts[i]), .at_ms = 5, .key = &key};
                while (prune_step(&prune, store, NULL) > 0)
                        ;
        }
        return store;
}

static void check_whole(struct store *store, uint64_t snapshots, uint64_t heads)
{
        struct check_options options = {.public_key = key.public_key};
        struct check_report report;
        assert_int_equal(store_check(store, &options, NULL, NULL, &report, NULL), 0);
        assert_int_equal(report.findings, 0);
        assert_int_equal(report.snapshots, snapshots);
        assert_int_equal(report.heads, heads);
        assert_int_equal(report.keys, 13);
}

static void read_whole(const char *name, char **ret_bytes, size_t *ret_size)
{
        struct err err = {0};
        if (file_read(path_of(name), 64u << 20, ret_bytes, ret_size, &err) < 0)
                fail_msg("%s", err.text);
}

static void what_is_exported_and_imported_is_the_same_store(void **state)
{
        (void)state;
        for (int is_pruned = 0; is_pruned < 2; is_pruned++) {
                struct store *store = make_store(is_pruned ? "a1" : "a0", is_pruned);
                struct store *back;
                struct log_head head, out, in;
                struct stat about;
                struct err err = {0};
                char *first, *second;
                size_t first_size, second_size;
                assert_int_equal(log_head(store, &head, NULL), 0);
                assert_int_equal(store_export(store, path_of("x"), &out, &err), 0);
                assert_int_equal(store_import(path_of("s"), path_of("x"), &in, &err), 0);
                assert_memory_equal(&head, &out, sizeof head);
                assert_memory_equal(&head, &in, sizeof head);
                assert_int_equal(stat(path_of("x"), &about), 0);
                assert_int_equal(about.st_mode & 0777, 0600);
                back = story_open(path_of("s"), NULL);
                assert_int_equal(story_check(back, "imported"), 40);
                check_whole(back, is_pruned ? 1 : 2, is_pruned ? 2 : 0);
                story_commit(back, 41, 45);
                assert_int_equal(story_check(back, "continued"), 45);
                store_close(back);

                /* And the same bytes again. */
                unlink(path_of("s"));
                assert_int_equal(store_import(path_of("s"), path_of("x"), &in, &err), 0);
                back = story_open(path_of("s"), NULL);
                assert_int_equal(store_export(back, path_of("y"), &out, &err), 0);
                read_whole("x", &first, &first_size);
                read_whole("y", &second, &second_size);
                assert_int_equal(first_size, second_size);
                assert_memory_equal(first, second, first_size);
                mem_free(first);
                mem_free(second);
                store_close(back);
                store_close(store);
                unlink(path_of("s"));
                unlink(path_of("x"));
                unlink(path_of("y"));
        }
}

static void an_empty_store_is_exported_too(void **state)
{
        (void)state;
        struct store *store = story_open("b", "ram"), *back;
        struct log_head head;
        struct err err = {0};
        assert_int_equal(store_export(store, path_of("x"), &head, &err), 0);
        assert_int_equal(head.seq, 0);
        assert_int_equal(store_import(path_of("s"), path_of("x"), &head, &err), 0);
        back = story_open(path_of("s"), NULL);
        story_commit(back, 1, 2);
        assert_int_equal(story_check(back, "from nothing"), 2);
        store_close(back);
        store_close(store);
        unlink(path_of("s"));
        unlink(path_of("x"));
}

struct memory {
        const char *bytes;
        size_t size, at;
};

static int64_t read_memory(void *self, void *ret_bytes, size_t size, struct err *err)
{
        struct memory *memory = self;
        size_t left = memory->size - memory->at;
        (void)err;
        size = left < size ? left : size;
        memcpy(ret_bytes, memory->bytes + memory->at, size);
        memory->at += size;
        return (int64_t)size;
}

static int read_export(const char *bytes, size_t size, struct err *err)
{
        static const struct export_sink nobody;
        struct memory memory = {bytes, size, 0};
        struct log_head head;
        return export_read(read_memory, &memory, &nobody, &head, err);
}

/* No store is made of it. */
static void check_refused(const char *bytes, size_t size)
{
        struct log_head head;
        struct err err = {0};
        assert_int_equal(file_write(path_of("x"), bytes, size, &err), 0);
        assert_int_equal(store_import(path_of("s"), path_of("x"), &head, &err), -ERR_INPUT);
        check_has(err.text, "export: ");
        assert_int_equal(access(path_of("s"), F_OK), -1);
        assert_int_equal(access(path_of("s.part"), F_OK), -1);
}

/* Every byte of a small export. */
static void any_changed_or_missing_byte_is_refused(void **state)
{
        (void)state;
        struct store *store = story_open("c", "ram");
        struct snapshot about = {.seq = 3};
        struct log_head head;
        struct err err = {0};
        char *bytes;
        size_t size;
        story_commit(store, 1, 4);
        assert_int_equal(snapshot_write(store, &about, "state", 5, SNAPSHOT_KEEP_NEWEST(9), NULL),
                         0);
        struct prune prune = {.upto_seq = 2, .key = &key};
        while (prune_step(&prune, store, NULL) > 0)
                ;
        assert_int_equal(store_export(store, path_of("x"), &head, &err), 0);
        store_close(store);
        read_whole("x", &bytes, &size);
        assert_int_equal(read_export(bytes, size, &err), 0);
        for (size_t i = 0; i < size; i++) {
                bytes[i] = (char)(bytes[i] ^ 1 << i % 8);
                if (read_export(bytes, size, &err) != -ERR_INPUT)
                        fail_msg("byte %zu of %zu: %s", i, size, err.text);
                check_has(err.text, "export: byte ");
                if (i % 191 == 0)
                        check_refused(bytes, size);
                bytes[i] = (char)(bytes[i] ^ 1 << i % 8);
        }
        for (size_t cut = 0; cut < size; cut++) {
                assert_int_equal(read_export(bytes, cut, &err), -ERR_INPUT);
                if (cut % 191 == 0)
                        check_refused(bytes, cut);
        }
        /* The NUL that file_read put there. */
        assert_int_equal(read_export(bytes, size + 1, &err), -ERR_INPUT);
        check_has(err.text, "behind the end");
        check_refused(bytes, size + 1);
        assert_int_equal(file_write(path_of("x"), bytes, size, &err), 0);
        assert_int_equal(store_import(path_of("s"), path_of("x"), &head, &err), 0);
        assert_int_equal(store_import(path_of("s"), path_of("x"), &head, &err), -ERR_EXISTS);
        mem_free(bytes);
        unlink(path_of("s"));
        unlink(path_of("x"));
}

static void without_memory_nothing_is_left_behind(void **state)
{
        (void)state;
        struct store *store = make_store("d", true);
        struct log_head head;
        struct err err = {0};
        assert_int_equal(store_export(store, path_of("x"), &head, &err), 0);
        unsigned long n = 1;
        for (;; n++) {
                mem_fail_at(n);
                int rc = store_import(path_of("s"), path_of("x"), &head, &err);
                bool happened = mem_fail_happened();
                mem_fail_at(0);
                if (!happened) {
                        assert_int_equal(rc, 0);
                        break;
                }
                assert_int_equal(rc, -ERR_NOMEM);
                assert_int_equal(access(path_of("s"), F_OK), -1);
                assert_int_equal(access(path_of("s.part"), F_OK), -1);
        }
        assert_true(n > 5);
        unlink(path_of("s"));
        for (n = 1;; n++) {
                mem_fail_at(n);
                int rc = store_export(store, path_of("y"), &head, &err);
                bool happened = mem_fail_happened();
                mem_fail_at(0);
                assert_int_equal(rc, happened ? -ERR_NOMEM : 0);
                assert_int_equal(access(path_of("y"), F_OK), happened ? -1 : 0);
                if (!happened)
                        break;
        }
        store_close(store);
        unlink(path_of("y"));
        unlink(path_of("x"));
}

/* --- backup ------------------------------------------------------------------------------- */

struct during {
        struct store *store;
        unsigned number, calls, calls_max;
};

/* The writer goes on while pages are copied. */
static bool commit_during(void *self, uint64_t done_pages, uint64_t all_pages)
{
        struct during *during = self;
        assert_true(done_pages <= all_pages);
        during->number++;
        during->calls++;
        story_commit(during->store, during->number, during->number);
        return during->calls < during->calls_max;
}

static void a_backup_is_the_store_as_of_its_start(void **state)
{
        (void)state;
        struct store_options unsafe = {.path = path_of("s"), .is_unsafe = true};
        struct store *store, *view, *copy;
        struct log_head head;
        struct stat about;
        struct err err = {0};
        assert_int_equal(store_open(&unsafe, &store, &err), 0);
        struct during during = {store, 3000, 0, 1000};
        story_commit(store, 1, 3000);
        assert_int_equal(store_view(store, &view, NULL), 0);
        assert_int_equal(store_backup(view, path_of("b"), commit_during, &during, &head, &err), 0);
        assert_true(during.calls >= 2);
        assert_int_equal(head.seq, story_seq(3000));
        assert_int_equal(stat(path_of("b"), &about), 0);
        assert_int_equal(about.st_mode & 0777, 0600);
        assert_int_equal(store_backup(view, path_of("b"), NULL, NULL, &head, &err), -ERR_EXISTS);
        copy = story_open(path_of("b"), NULL);
        assert_int_equal(story_check(copy, "the copy"), 3000);
        story_commit(copy, 3001, 3002);
        store_close(copy);
        during.calls_max = 1;
        during.calls = 0;
        assert_int_equal(store_backup(view, path_of("c"), commit_during, &during, &head, &err),
                         -ERR_CANCELLED);
        assert_int_equal(access(path_of("c"), F_OK), -1);
        assert_int_equal(access(path_of("c.part"), F_OK), -1);
        assert_int_equal(store_backup(view, path_of("no/c"), NULL, NULL, &head, &err), -ERR_IO);
        store_close(view);
        assert_int_equal(story_check(store, "the original"), during.number);
        store_close(store);
        unlink(path_of("b"));
        unlink(path_of("s"));
        unlink(path_of("s.lock"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_exported_and_imported_is_the_same_store),
                cmocka_unit_test(an_empty_store_is_exported_too),
                cmocka_unit_test(any_changed_or_missing_byte_is_refused),
                cmocka_unit_test(without_memory_nothing_is_left_behind),
                cmocka_unit_test(a_backup_is_the_store_as_of_its_start),
        };
        return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
