#include "tests/unit/check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/folder.h"
#include "base/arena.h"
#include "base/durable.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "tests/scratch.h"

static const char *command[] = {"true"};

static int set_up(void **state)
{
        char *path = malloc(SCRATCH_MAX);

        assert_non_null(path);
        assert_non_null(scratch_folder(path, SCRATCH_MAX, "folder"));
        *state = path;
        return 0;
}

static int tear_down(void **state)
{
        char text[100];

        snprintf(text, sizeof text, "rm -rf %s", (char *)*state);
        free(*state);
        return system(text);
}

static struct run_spec spec_of(uint64_t workload)
{
        return (struct run_spec){
                .key = {workload, 0, 1},
                .name = "w",
                .tenant = "",
                .user = "",
                .run_as = "",
                .workdir = "",
                .command = command,
                .command_count = 1,
                .checkpoint_signal = "",
                .world = 1,
                .stop.signal = "",
        };
}

static int collect(void *arg, struct run_key key, struct err *err)
{
        char text[RUN_KEY_TEXT_MAX], *all = arg;

        (void)err;
        strcat(all, run_key_text(key, text));
        strcat(all, " ");
        return 0;
}

static void write_format(const char *state, const char *text)
{
        char path[200];

        snprintf(path, sizeof path, "%s/format", state);
        assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
}

static void a_folder_of_a_newer_format_is_left_alone(void **state)
{
        static const struct {
                const char *format;
                int rc;
                const char *says;
        } rows[] = {
                {"1\n", 0, NULL},
                {"2\n", 0, NULL},
                {"3\n", -ERR_INPUT, "of format 3, that of a newer berth-agent"},
                {"", -ERR_INPUT, "format: "},
                {"two\n", -ERR_INPUT, "format: "},
                {"2\n", 0, NULL},       /* nothing was done to it, and nothing holds it */
        };
        struct folder *folder;
        char path[200], *bytes;
        size_t size;

        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct err err = {0};
                write_format(*state, rows[r].format);
                int rc = folder_open(*state, &folder, &err);
                assert_int_equal(rc, rows[r].rc);
                snprintf(path, sizeof path, "%s/format", (char *)*state);
                assert_int_equal(file_read(path, 100, &bytes, &size, NULL), 0);
                assert_string_equal(bytes, rc == 0 ? "2\n" : rows[r].format);
                mem_free(bytes);
                if (rows[r].says)
                        check_has(err.text, rows[r].says);
                else
                        folder_close(folder);
        }
}

static void epochs_are_kept_and_only_the_newest(void **state)
{
        struct folder *folder;
        struct err err;
        char all[1000] = "", path[200];

        assert_int_equal(folder_open(*state, &folder, &err), 0);
        assert_int_equal(folder_epochs(folder, collect, all, &err), 0);
        assert_string_equal(all, "");
        assert_int_equal(folder_epoch_add(folder, (struct run_key){2, 0, 7}, &err), 0);
        assert_int_equal(folder_epoch_add(folder, (struct run_key){1, 3, 9}, &err), 0);
        assert_int_equal(folder_epoch_add(folder, (struct run_key){2, 0, 5}, &err), 0);
        folder_close(folder);
        /* A crash in the middle of a line. */
        snprintf(path, sizeof path, "%s/epochs", (char *)*state);
        FILE *file = fopen(path, "a");
        fputs("nonsense here\n1 0 4\n44 0 99", file);
        fclose(file);
        assert_int_equal(folder_open(*state, &folder, &err), 0);
        assert_int_equal(folder_epochs(folder, collect, all, &err), 0);
        assert_string_equal(all, "1.0.4 1.3.9 2.0.7 ");
        /* The half line does not swallow what comes next. */
        assert_int_equal(folder_epoch_add(folder, (struct run_key){3, 0, 1}, &err), 0);
        all[0] = '\0';
        assert_int_equal(folder_epochs(folder, collect, all, &err), 0);
        assert_string_equal(all, "1.0.4 1.3.9 2.0.7 3.0.1 ");
        folder_close(folder);
        folder_close(NULL);
}

static void a_run_is_made_found_and_put_aside(void **state)
{
        struct folder *folder;
        struct err err;
        struct run_spec spec = spec_of(17), again;
        struct arena *arena = arena_new(0, 0);
        char all[1000] = "", path[FOLDER_PATH_MAX];
        struct stat stat_of;

        assert_int_equal(folder_open(*state, &folder, &err), 0);
        assert_int_equal(folder_make(folder, &spec, "{}", geteuid(), &err), 0);
        assert_int_equal(folder_make(folder, &spec, "{}", geteuid(), &err), -ERR_EXISTS);
        assert_int_equal(folder_walk(folder, collect, all, &err), 0);
        assert_string_equal(all, "17.0.1 ");
        assert_int_equal(folder_spec(folder, spec.key, arena, &again, &err), 0);
        assert_string_equal(again.command[0], "true");
        assert_int_equal(folder_spec(folder, (struct run_key){1, 0, 1}, arena, &again, &err),
                         -ERR_NOT_FOUND);
        /* Others pass through, and read nothing. */
        assert_int_equal(stat(folder_path(folder, spec.key, "", path), &stat_of), 0);
        assert_int_equal(stat_of.st_mode & 0777, 0711);
        assert_int_equal(stat(folder_path(folder, spec.key, "run.json", path), &stat_of), 0);
        assert_int_equal(stat_of.st_mode & 0777, 0600);
        assert_int_equal(folder_forget(folder, spec.key, &err), 0);
        assert_int_equal(folder_forget(folder, spec.key, &err), 0); /* it is gone already */
        all[0] = '\0';
        assert_int_equal(folder_walk(folder, collect, all, &err), 0);
        assert_string_equal(all, "");
        arena_free(arena);
        folder_close(folder);
}

static void a_folder_that_names_another_run_is_not_believed(void **state)
{
        struct folder *folder;
        struct err err;
        struct run_spec spec = spec_of(17), again;
        struct arena *arena = arena_new(0, 0);
        char from[FOLDER_PATH_MAX], to[FOLDER_PATH_MAX];
        struct run_key other = {18, 0, 1};

        assert_int_equal(folder_open(*state, &folder, &err), 0);
        assert_int_equal(folder_make(folder, &spec, "{}", geteuid(), &err), 0);
        assert_int_equal(
                rename(folder_path(folder, spec.key, "", from), folder_path(folder, other, "", to)),
                0);
        assert_int_equal(folder_spec(folder, other, arena, &again, &err), -ERR_INPUT);
        arena_free(arena);
        folder_close(folder);
}

static void how_it_is_comes_back_as_it_was_written(void **state)
{
        struct folder *folder;
        struct err err;
        struct run_spec spec = spec_of(17);
        struct run_status status = {RUN_REFUSED, 1234567, 99,   3, 9,
                                    true,        "no \"such\" thing\n", true},
                          again;
        struct run_stop stop = {"preemption", 1799049600250, "USR1"}, read = {0};
        struct run_pids pids = {11, 12, 13, 14}, pids_again;
        struct folder_contact contact = {5555, 30000}, contact_again;
        struct arena *arena = arena_new(0, 0);
        char path[FOLDER_PATH_MAX];

        assert_int_equal(folder_open(*state, &folder, &err), 0);
        assert_int_equal(folder_make(folder, &spec, "{}", geteuid(), &err), 0);
        folder_path(folder, spec.key, "", path);
        assert_int_equal(status_read(path, &again, &err), 0);
        assert_int_equal(again.phase, RUN_STARTING);
        assert_int_equal(status_write(path, &status, &err), 0);
        assert_int_equal(status_read(path, &again, &err), 0);
        assert_int_equal(again.phase, RUN_REFUSED);
        assert_int_equal(again.since_ms, 1234567);
        assert_int_equal(again.exit_code, 3);
        assert_int_equal(again.signal, 9);
        assert_true(again.lost_contact);
        assert_true(again.told_to_end);
        assert_string_equal(again.reason, status.reason);

        assert_false(folder_notice_read(folder, spec.key, arena, &read));
        assert_int_equal(folder_notice_write(folder, spec.key, &stop, geteuid(), &err), 0);
        assert_true(folder_notice_read(folder, spec.key, arena, &read));
        assert_string_equal(read.cause, "preemption");
        assert_string_equal(read.signal, "USR1");
        assert_true(read.until_ms == stop.until_ms);
        folder_notice_remove(folder, spec.key);
        assert_false(folder_notice_read(folder, spec.key, arena, &read));

        assert_int_equal(pids_write(path, "boot", &pids, &err), 0);
        assert_false(pids_read(path, "another boot", &pids_again));
        assert_true(pids_read(path, "boot", &pids_again));
        assert_int_equal(pids_again.first_start, 14);

        assert_false(folder_contact_read(folder, &contact_again));
        folder_contact_write(folder, contact);
        assert_true(folder_contact_read(folder, &contact_again));
        assert_int_equal(contact_again.steady_ms, 5555);
        assert_int_equal(contact_again.lease_ms, 30000);
        arena_free(arena);
        folder_close(folder);
}

static void a_run_of_before_the_machine_was_last_started_is_known(void **state)
{
        struct folder *folder;
        struct err err;
        char ours[200];

        assert_int_equal(folder_open(*state, &folder, &err), 0);
        snprintf(ours, sizeof ours, "{\"boot\": \"%s\"}", folder_boot(folder));
        const struct {
                const char *launch;
                bool is_before;
        } rows[] = {{"{\"boot\": \"another\"}", true}, {ours, false}, {"{}", false}};
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct run_spec spec = spec_of(i + 1);
                assert_int_equal(folder_make(folder, &spec, rows[i].launch, geteuid(), &err), 0);
                assert_int_equal(folder_was_before_boot(folder, spec.key), rows[i].is_before);
        }
        assert_false(folder_was_before_boot(folder, (struct run_key){99, 0, 1}));
        folder_close(folder);
}

static void a_touched_checkpoint_is_seen(void **state)
{
        struct folder *folder;
        struct err err;
        struct run_spec spec = spec_of(17);
        char path[FOLDER_PATH_MAX];

        assert_int_equal(folder_open(*state, &folder, &err), 0);
        assert_int_equal(folder_make(folder, &spec, "{}", geteuid(), &err), 0);
        assert_true(folder_checkpoint_ns(folder, spec.key) == 0);
        usleep(20000);
        assert_int_equal(file_write(folder_path(folder, spec.key, "checkpoint", path), "", 0, &err),
                         0);
        int64_t first_ns = folder_checkpoint_ns(folder, spec.key);
        assert_true(first_ns > 0);
        folder_close(folder);
}

/* ---- what is kept ---- */

static void end_run(struct folder *folder, uint64_t workload, size_t bytes, int64_t age_s)
{
        struct run_spec spec = spec_of(workload);
        struct run_status status = {.phase = RUN_EXITED};
        char path[FOLDER_PATH_MAX];
        struct err err;
        char *output = mem_new(bytes, 1);
        struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};

        memset(output, 'x', bytes);
        assert_int_equal(folder_make(folder, &spec, "{}", geteuid(), &err), 0);
        assert_int_equal(status_write(folder_path(folder, spec.key, "", path), &status, &err), 0);
        assert_int_equal(
                file_write(folder_path(folder, spec.key, "stdout", path), output, bytes, &err), 0);
        assert_int_equal(
                utimensat(AT_FDCWD, folder_path(folder, spec.key, "status.json", path), times, 0),
                0);
        assert_int_equal(folder_forget(folder, spec.key, &err), 0);
        mem_free(output);
}

static bool is_kept(struct folder *folder, uint64_t workload)
{
        const struct exchange_want want = {.key = {workload, 0, 1}, .bytes = 10};
        struct folder_piece piece;

        if (folder_output(folder, &want, &piece, NULL) < 0)
                return false;
        assert_int_equal(piece.size, 10);
        mem_free(piece.bytes);
        return true;
}

static void old_output_goes_by_age_number_and_size(void **state)
{
        static const struct {
                struct folder_keep keep;
                const char *kept;
        } rows[] = {
                {{1000000, 100, 1 << 30}, "1111"},
                {{35000, 100, 1 << 30}, "1110"}, /* older than 35 s */
                {{1000000, 2, 1 << 30}, "1100"},
                {{1000000, 100, 150000}, "1000"}, /* 100 kB each */
                {{1000000, 0, 1 << 30}, "0000"},
        };
        struct err err;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct folder *folder;
                char path[200];
                snprintf(path, sizeof path, "%s/%zu", (char *)*state, i);
                assert_int_equal(folder_open(path, &folder, &err), 0);
                for (unsigned run = 0; run < 4; run++)
                        end_run(folder, run + 1, 100000, 10 * run + 10);
                folder_prune(folder, &rows[i].keep, (int64_t)time(NULL) * 1000);
                for (unsigned run = 0; run < 4; run++)
                        assert_int_equal(is_kept(folder, run + 1), rows[i].kept[run] == '1');
                folder_close(folder);
        }
}

static void what_cannot_be_opened_says_why(void **state)
{
        struct folder *folder, *second;
        struct err err;
        char path[200];

        assert_int_equal(folder_open("relative", &folder, &err), -ERR_RANGE);
        assert_int_equal(folder_open("/no/such/place", &folder, &err), -ERR_IO);
        assert_int_equal(folder_open(*state, &folder, &err), 0);
        assert_int_equal(folder_open(*state, &second, &err), -ERR_EXISTS);
        folder_close(folder);
        snprintf(path, sizeof path, "%s/file", (char *)*state);
        assert_int_equal(file_write(path, "", 0, &err), 0);
        assert_int_equal(folder_open(path, &folder, &err), -ERR_IO);
        assert_int_equal(durable_remove_folder("/no/such/place", &err), 0);
}

int main(void)
{
#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                IN_A_FOLDER(a_folder_of_a_newer_format_is_left_alone),
                IN_A_FOLDER(epochs_are_kept_and_only_the_newest),
                IN_A_FOLDER(a_run_is_made_found_and_put_aside),
                IN_A_FOLDER(a_folder_that_names_another_run_is_not_believed),
                IN_A_FOLDER(how_it_is_comes_back_as_it_was_written),
                IN_A_FOLDER(a_run_of_before_the_machine_was_last_started_is_known),
                IN_A_FOLDER(a_touched_checkpoint_is_seen),
                IN_A_FOLDER(old_output_goes_by_age_number_and_size),
                IN_A_FOLDER(what_cannot_be_opened_says_why),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
