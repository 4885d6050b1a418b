#include "tests/scratch.h"
#include "tests/unit/models.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "sim/history.h"
#include "sim/ledger_book.h"

static char folder[SCRATCH_MAX];
static struct scenario scenario;
static struct history_result result;

static int open_folder(void **state)
{
        models_load(state);
        return scratch_folder(folder, sizeof folder, "history") ? 0 : -1;
}

static int close_folder(void **state)
{
        models_drop(state);
        return rmdir(folder);
}

static const char small[] = "at,ran,gpus,team\n"
                            "2025-01-01 00:00:00,100,8,a\n"
                            "2025-01-01 00:00:01,50,8,b\n"
                            "2025-01-01 00:00:02,10,4,a\n"
                            "2025-01-01 00:00:03,10,40,a\n"
                            "2025-01-01 00:00:04,0,1,a\n"
                            "2025-02-01 00:00:00,10,1,a\n";

static const char *table = small;

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
        if ((rc = file_write(file, table, strlen(table), err)) < 0)
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

/* With the table of rows under the usual columns, in a pool of `nodes` nodes. */
static int run_rows(const char *rows, unsigned nodes, const char *more,
                    const struct replay_hooks *hooks, struct err *err)
{
        char text[1024];

        table = rows;
        snprintf(text, sizeof text,
                 "kind: Replay\n"
                 "pool: {nodes: %u, devices_per_node: 8, model: V100}\n"
                 "workload: {jobs_csv: h.csv, columns: {submit: at, duration: ran, devices: gpus, "
                 "tenant: team, limit: most}, %s\n",
                 nodes, more);
        int rc = run(text, hooks, err);
        table = small;
        return rc;
}

#define HEAD "at,ran,gpus,team,most\n"

/* Once: the policy was freed twice. */
static void a_tenant_that_no_policy_can_name_is_refused_with_its_line(void **state)
{
        (void)state;
        struct err err = {0};

        assert_int_equal(run_rows(HEAD "100,10,1,a,\n90,10,1,a b,\n", 1, "limit_factor: none}",
                                  NULL, &err),
                         -ERR_INPUT);
        check_has(err.text, "/h.csv:3: tenant 'a b': 'a b' is no name; write letters");
        history_result_done(&result);
}

static void a_job_of_too_many_nodes_is_refused_as_far_as_the_pool_is_small(void **state)
{
        (void)state;
        static const char rows[] = HEAD "100,10,1,a,\n101,10,1000000,a,\n";
        struct err err = {0};

        if (run_rows(rows, 1, "limit_factor: none}", NULL, &err) < 0)
                fail_msg("%s", err.text);
        assert_true(result.rows[0].figures.refused == 1);
        assert_true(result.rows[0].figures.jobs == 1);
        history_result_done(&result);
        assert_int_equal(run_rows(rows, 125000, "limit_factor: none}", NULL, &err), -ERR_RANGE);
        check_has(err.text, "/h.csv:3: the job takes 125000 nodes");
        history_result_done(&result);
}

static void a_window_of_centuries_is_refused_with_the_way_out(void **state)
{
        (void)state;
        struct err err = {0};

        assert_int_equal(run_rows(HEAD "0,10,1,a,\n253402300799,10,1,a,\n", 1,
                                  "limit_factor: none}", NULL, &err),
                         -ERR_RANGE);
        check_has(err.text, "/s.yaml: the window of the history is longer than 36600 days; write "
                            "workload.from and workload.until");
        history_result_done(&result);
}

/* A policy's file may hold its pool too, in either order. */
static void what_a_policy_does_not_name_is_counted(void **state)
{
        (void)state;
        static const char policy[] =
                "kind: Pool\nnodes: [{name: n, devices: {model: V100, count: 8}}]\n"
                "---\nkind: Policy\npreset: protected\ntenants: {a: {protect: {V100: 8}}}\n";
        struct err err = {0};
        char path[64];

        snprintf(path, sizeof path, "%s/p.yaml", folder);
        assert_int_equal(file_write(path, policy, strlen(policy), &err), 0);
        int rc = run_rows(HEAD "100,10,1,a,\n101,10,1,A,\n102,10,1,b/c,\n", 1,
                          "limit_factor: none}\npolicies: [p.yaml, default]", NULL, &err);
        unlink(path);
        if (rc < 0)
                fail_msg("%s", err.text);
        assert_int_equal(result.rows[0].figures.gap.tenants, 2);
        assert_string_equal(result.rows[0].figures.gap.tenant, "A");
        assert_int_equal(result.rows[0].figures.gap.classes, 0);
        history_result_done(&result);
}

/* ---- limits that a seed draws ---- */

/* One device's worth of jobs, each as wide as the pool, all there before the first has ended. */
static char *queue_of(unsigned jobs, const char *limit)
{
        static char text[32768];
        size_t used = (size_t)snprintf(text, sizeof text, HEAD);

        for (unsigned j = 0; j < jobs; j++)
                used += (size_t)snprintf(text + used, sizeof text - used, "%u,%u,8,a,%s\n",
                                         1700000000 + j, 600 + j * 7, limit);
        return text;
}

/* Shortest first by the limits: who waits how long says what was drawn. */
static double mean_wait(const char *rows, const char *factor, unsigned seed)
{
        static const char policy[] =
                "kind: Policy\npreset: protected\ntenants: {a: {}}\n"
                "classes: {training: {order: shortest, hold_after: 7d, exempt: 0s}}\n";
        char path[64], more[256];
        struct err err = {0};

        snprintf(path, sizeof path, "%s/p.yaml", folder);
        assert_int_equal(file_write(path, policy, strlen(policy), &err), 0);
        snprintf(more, sizeof more,
                 "limit_factor: %s}\npolicies: [p.yaml]\ndurations: limit\nseeds: %u", factor,
                 seed);
        int rc = run_rows(rows, 1, more, NULL, &err);
        unlink(path);
        if (rc < 0)
                fail_msg("%s", err.text);
        assert_true(result.rows[0].figures.jobs == 40);
        double wait = result.rows[0].figures.wait_mean_s;
        history_result_done(&result);
        return wait;
}

static void limits_are_drawn_by_the_seed_where_none_is_recorded(void **state)
{
        (void)state;
        const char *rows = queue_of(40, "");
        double once = mean_wait(rows, "[1, 1]", 1);

        /* Limits of once the duration: the order is the true one, whatever the seed. */
        assert_true(mean_wait(rows, "[1, 1]", 2) == once);
        /* Of up to ten times: a worse order, the same for the same seed, another for another. */
        double first = mean_wait(rows, "[1, 10]", 1);
        assert_true(first > once);
        assert_true(mean_wait(rows, "[1, 10]", 1) == first);
        assert_true(mean_wait(rows, "[1, 10]", 2) != first);
        /* A recorded limit is not drawn anew. */
        rows = queue_of(40, "90000");
        assert_true(mean_wait(rows, "[1, 10]", 1) == mean_wait(rows, "[1, 10]", 2));
}

/* ---- stopping ---- */

struct stop_after {
        unsigned steps;         /* of progress, that still go by */
        volatile int asked;
};

static void count_down(void *arg, const char *what, uint64_t done, uint64_t total)
{
        struct stop_after *stop = arg;

        (void)what;
        (void)done;
        (void)total;
        if (stop->steps == 0 || --stop->steps == 0)
                stop->asked = 1;
}

/* Of 300 jobs a run shows its progress once. */
static int stop_at(unsigned steps, const char *seeds, struct ledger_book *book)
{
        struct stop_after stop = {.steps = steps};
        struct replay_hooks hooks = {.progress = count_down,
                                     .progress_arg = &stop,
                                     .cancel = &stop.asked,
                                     .ledger = book};
        struct err err = {0};
        char more[128];

        snprintf(more, sizeof more, "limit_factor: [1, 10]}\nplacements: [consolidate, fgd]\n"
                                    "seeds: %s", seeds);
        return run_rows(queue_of(300, ""), 1, more, &hooks, &err);
}

static void a_stopped_history_keeps_the_seeds_that_were_finished(void **state)
{
        (void)state;
        struct ledger_book book = {0};

        assert_int_equal(stop_at(1000, "1..1", NULL), 0);
        assert_int_equal(result.rows_count, 2);
        double alone = result.rows[0].figures.wait_mean_s;
        history_result_done(&result);

        assert_int_equal(stop_at(2, "1..3", &book), -ERR_CANCELLED);
        assert_int_equal(result.rows_count, 1);
        assert_int_equal(result.rows[0].seeds, 1);
        assert_true(result.rows[0].figures.wait_mean_s == alone);
        assert_true(result.rows[0].figures.jobs == 300);
        assert_int_equal(book.runs_count, 1); /* not the one that was stopped */
        history_result_done(&result);
        ledger_book_done(&book);

        /* In the first seed of the second placement; in the very first one. */
        assert_int_equal(stop_at(4, "1..3", NULL), -ERR_CANCELLED);
        assert_int_equal(result.rows_count, 1);
        assert_int_equal(result.rows[0].seeds, 3);
        history_result_done(&result);
        assert_int_equal(stop_at(1, "1..3", NULL), -ERR_CANCELLED);
        assert_int_equal(result.rows_count, 0);
        history_result_done(&result);
}

/* ---- what a reader of sacct noted ---- */

static void notes_of_the_reader_come_with_the_result(void **state)
{
        (void)state;
        static const char text[] =
                "JobID|Account|State|Submit|Start|End|ElapsedRaw|AllocTRES|NNodes\n"
                "1|a|COMPLETED|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T08:10:00|600|"
                "cpu=8,gres/gpu=3,node=2|2\n"
                "2|a|COMPLETED|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T08:10:00|600|"
                "cpu=8,gres/gpu:a100_3g.20gb=1,gres/gpu=1,node=1|1\n";
        struct err err = {0};

        table = text;
        int rc = run("kind: Replay\npool: {nodes: 1, devices_per_node: 8, model: V100}\n"
                     "workload: {sacct: h.csv}\npolicies: [fifo]\n", NULL, &err);
        table = small;
        if (rc < 0)
                fail_msg("%s", err.text);
        assert_int_equal(result.sacct.rows, 2);
        assert_int_equal(result.sacct.uneven, 1);
        assert_int_equal(result.sacct.untyped, 1);
        assert_int_equal(result.parts_as_whole, 1);
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
        assert_int_equal(file_write(file, table, strlen(table), &err), 0);
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
                cmocka_unit_test(a_tenant_that_no_policy_can_name_is_refused_with_its_line),
                cmocka_unit_test(a_job_of_too_many_nodes_is_refused_as_far_as_the_pool_is_small),
                cmocka_unit_test(a_window_of_centuries_is_refused_with_the_way_out),
                cmocka_unit_test(what_a_policy_does_not_name_is_counted),
                cmocka_unit_test(limits_are_drawn_by_the_seed_where_none_is_recorded),
                cmocka_unit_test(a_stopped_history_keeps_the_seeds_that_were_finished),
                cmocka_unit_test(notes_of_the_reader_come_with_the_result),
                cmocka_unit_test(no_memory_is_an_error_at_every_step),
        };
        return cmocka_run_group_tests(tests, open_folder, close_folder);
}
