#include "tests/unit/check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "proto/model_doc.h"
#include "sim/history.h"

static char folder[] = "/tmp/berth-history-XXXXXX";
static struct scenario scenario;
static struct history_result result;
static struct model_table *models;

static int open_folder(void **state)
{
        (void)state;
        models = model_table_new();
        if (!models || model_doc_builtin(models, NULL) < 0)
                return -1;
        return mkdtemp(folder) ? 0 : -1;
}

static int close_folder(void **state)
{
        (void)state;
        model_table_free(models);
        return rmdir(folder);
}

static const char table[] = "at,ran,gpus,team\n"
                            "2025-01-01 00:00:00,100,8,a\n"
                            "2025-01-01 00:00:01,50,8,b\n"
                            "2025-01-01 00:00:02,10,4,a\n"
                            "2025-01-01 00:00:03,10,40,a\n"
                            "2025-01-01 00:00:04,0,1,a\n"
                            "2025-02-01 00:00:00,10,1,a\n";

#define SCENARIO                                                                              \
        "kind: Replay\n"                                                                      \
        "pool: {nodes: 1, devices_per_node: 8, model: V100}\n"                                \
        "workload: {jobs_csv: h.csv, columns: {submit: at, duration: ran, devices: gpus, "    \
        "tenant: team}, from: 2025-01-01, until: 2025-02-01, timezone: Europe/Berlin}\n"      \
        "seeds: 1..2\n"

static int run(const char *text, const struct replay_hooks *hooks, struct err *err)
{
        char path[64], file[64];
        int rc;

        snprintf(path, sizeof path, "%s/s.yaml", folder);
        snprintf(file, sizeof file, "%s/h.csv", folder);
        if ((rc = file_write(file, table, sizeof table - 1, err)) < 0)
                return rc;
        rc = scenario_decode(path, text, strlen(text), &scenario, err);
        if (rc == 0)
                rc = history_run_scenario(&scenario, models, hooks, &result, err);
        unlink(file);
        return rc;
}

static void every_comparison_has_one_row(void **state)
{
        (void)state;
        struct err err = {0};

        if (run(SCENARIO "policies: [fifo, shortest]\nplacements: [auto, consolidate]\n", NULL,
                &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(result.jobs_count, 4);
        assert_int_equal(result.tenants_count, 2);
        assert_int_equal(result.left_never_ran, 1);
        assert_int_equal(result.left_out_of_window, 1);
        assert_int_equal(result.rows_count, 2);
        for (uint32_t r = 0; r < 2; r++) {
                const struct history_row *row = &result.rows[r];
                assert_int_equal(row->policy, r);
                assert_true(row->consolidates);
                assert_int_equal(row->seeds, 2);
                assert_true(row->figures.jobs == 3);
                assert_true(row->figures.refused == 1);
        }
        /* fifo: 0, 99, 148; shortest: the job of 10 s goes before that of 50 s. */
        assert_true(result.rows[0].figures.wait_mean_s == 247 / 3.0);
        assert_true(result.rows[1].figures.wait_mean_s == (98 + 109) / 3.0);
        assert_string_equal(result.rows[0].figures.tenants[0].name, "a");
        history_result_done(&result);
        history_result_done(&result);
}

static void what_cannot_be_read_is_named(void **state)
{
        (void)state;
        struct err err = {0};

        assert_int_equal(run("kind: Replay\npool: {nodes: 1, devices_per_node: 8, model: T4}\n"
                             "workload: {jobs_csv: h.csv, columns: {submit: at, duration: ran, "
                             "devices: gpus, tenant: group}}\npolicies: [fifo]\n", NULL, &err),
                         -ERR_INPUT);
        check_has(err.text, "/h.csv:1: column 'group' is not among the columns");
        assert_int_equal(result.rows_count, 0);
        history_result_done(&result);
        assert_int_equal(run("kind: Replay\npool: {nodes: 1, devices_per_node: 8, model: T4}\n"
                             "workload: {sacct: nothing.txt}\npolicies: [fifo]\n", NULL, &err),
                         -ERR_NOT_FOUND);
        check_has(err.text, "/nothing.txt: ");
        history_result_done(&result);
}

static void no_memory_is_an_error_at_every_step(void **state)
{
        (void)state;
        struct err err = {0};

        if (run(SCENARIO "policies: [fifo]\n", NULL, &err) < 0)
                fail_msg("%s", err.text);
        history_result_done(&result);
        char file[64];
        snprintf(file, sizeof file, "%s/h.csv", folder);
        assert_int_equal(file_write(file, table, sizeof table - 1, &err), 0);
        for (unsigned long n = 1;; n++) {
                mem_fail_at(n);
                int rc = history_run_scenario(&scenario, models, NULL, &result, &err);
                bool failed = mem_fail_happened();
                mem_fail_at(0);
                history_result_done(&result);
                if (!failed)
                        break;
                assert_int_equal(rc, -ERR_NOMEM);
        }
        unlink(file);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_comparison_has_one_row),
                cmocka_unit_test(what_cannot_be_read_is_named),
                cmocka_unit_test(no_memory_is_an_error_at_every_step),
        };
        return cmocka_run_group_tests(tests, open_folder, close_folder);
}
