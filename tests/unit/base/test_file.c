#include "tests/scratch.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"

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
        static char path[256];
        snprintf(path, sizeof path, "%s/%s", folder, name);
        return path;
}

static void what_is_written_is_read_back_unchanged(void **state)
{
        (void)state;
        static const size_t sizes[] = {0, 1, 2, 65534, 65535, 65536, 65537, 300000};
        char *bytes = malloc(300000);
        assert_non_null(bytes);
        for (size_t i = 0; i < 300000; i++)
                bytes[i] = (char)(i * 7 + i / 256);
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
                struct err err = {0};
                char *back;
                size_t size;
                assert_int_equal(file_write(path_of("a"), bytes, sizes[i], &err), 0);
                assert_int_equal(file_read(path_of("a"), sizes[i], &back, &size, &err), 0);
                assert_int_equal(size, sizes[i]);
                assert_memory_equal(back, bytes, size);
                assert_int_equal(back[size], 0);
                mem_free(back);
        }
        free(bytes);
        unlink(path_of("a"));
}

static void a_file_above_the_bound_is_refused(void **state)
{
        (void)state;
        struct err err = {0};
        char *back = NULL;
        size_t size = 77;
        assert_int_equal(file_write(path_of("a"), "0123456789", 10, &err), 0);
        assert_int_equal(file_read(path_of("a"), 9, &back, &size, &err), -ERR_RANGE);
        check_has(err.text, "has 10 bytes; at most 9 are read");
        assert_null(back);
        assert_int_equal(size, 77);
        unlink(path_of("a"));
        /* A device has no size to ask for. */
        assert_int_equal(file_read("/dev/zero", 100000, &back, &size, &err), -ERR_RANGE);
        check_has(err.text, "/dev/zero: is larger than the 100000 bytes");
        assert_null(back);
}

static void refusals_name_the_path_and_the_cause(void **state)
{
        (void)state;
        struct err err = {0};
        char *back;
        size_t size;
        assert_int_equal(file_read(path_of("none"), 10, &back, &size, &err), -ERR_NOT_FOUND);
        check_has(err.text, "/none: No such file or directory");
        assert_int_equal(file_read(folder, 10, &back, &size, &err), -ERR_IO);
        check_has(err.text, "is a directory; name a file in it");
        assert_int_equal(file_write(path_of("none/a"), "x", 1, &err), -ERR_NOT_FOUND);
        check_has(err.text, "No such file or directory");
        assert_true(file_write(folder, "x", 1, &err) < 0);
        assert_int_equal(file_write("/dev/full", "x", 1, &err), -ERR_IO);
        check_has(err.text, "/dev/full: No space left on device");
}

static void no_memory_is_an_error_like_others(void **state)
{
        (void)state;
        struct err err = {0};
        char *back;
        size_t size;
        assert_int_equal(file_write(path_of("a"), "x", 1, &err), 0);
        mem_fail_at(1);
        assert_int_equal(file_read(path_of("a"), 10, &back, &size, &err), -ERR_NOMEM);
        mem_fail_at(1);
        assert_int_equal(file_write(path_of("a"), "y", 1, &err), -ERR_NOMEM);
        mem_fail_at(0);
        assert_int_equal(file_read(path_of("a"), 10, &back, &size, &err), 0);
        assert_string_equal(back, "x");
        mem_free(back);
        unlink(path_of("a"));
}

static void writing_follows_the_umask(void **state)
{
        (void)state;
        struct err err = {0};
        mode_t old = umask(027);
        assert_int_equal(file_write(path_of("a"), "x", 1, &err), 0);
        umask(old);
        struct stat stat_of;
        assert_int_equal(stat(path_of("a"), &stat_of), 0);
        assert_int_equal(stat_of.st_mode & 0777, 0640);
        unlink(path_of("a"));
}

static void paths_are_seen_from_the_file_that_names_them(void **state)
{
        (void)state;
        static const struct { const char *beside, *path, *joined; } rows[] = {
                {"a/b.yaml", "c.csv", "a/c.csv"},
                {"b.yaml", "c.csv", "c.csv"},
                {"/a/b.yaml", "../c.csv", "/a/../c.csv"},
                {"a/b.yaml", "/c.csv", "/c.csv"},
                {"/b.yaml", "c.csv", "/c.csv"},
                {"", "c.csv", "c.csv"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char *joined = file_beside(rows[i].beside, rows[i].path);
                assert_string_equal(joined, rows[i].joined);
                mem_free(joined);
        }
}

static void clocks_go_forward(void **state)
{
        (void)state;
        int64_t start = time_monotonic_ns();
        int64_t cpu = time_cpu_ns();
        for (volatile int i = 0; i < 1000000; i++)
                ;
        assert_true(time_monotonic_ns() > start);
        assert_true(time_cpu_ns() > cpu);
        assert_true(time_peak_rss_mib() > 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_written_is_read_back_unchanged),
                cmocka_unit_test(a_file_above_the_bound_is_refused),
                cmocka_unit_test(refusals_name_the_path_and_the_cause),
                cmocka_unit_test(no_memory_is_an_error_like_others),
                cmocka_unit_test(writing_follows_the_umask),
                cmocka_unit_test(paths_are_seen_from_the_file_that_names_them),
                cmocka_unit_test(clocks_go_forward),
        };
        return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
