#include "tests/unit/check.h"

#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"
#include "sim/baseline.h"
#include "sim/history_figures.h"
#include "sim/rng.h"
#include "trace/jobs.h"

#define JOBS 400

static struct job items[JOBS];
static char tenants[2][TENANT_PATH_MAX] = {"a", "b"};
static struct jobs jobs;
static struct job_record records[JOBS];

/* Jobs of {submit, duration, devices} in seconds. */
static void set_jobs(const int64_t (*rows)[3], size_t count)
{
        jobs = (struct jobs){
                .items = items, .count = count, .tenants = tenants, .tenants_count = 2};
        for (size_t j = 0; j < count; j++)
                items[j] = (struct job){.submit_ms = rows[j][0] * 1000,
                                        .duration_ms = rows[j][1] * 1000,
                                        .members = 1,
                                        .devices = (uint32_t)rows[j][2],
                                        .tenant = j % 2,
                                        .class = JOBS_NONE};
}

static void run(enum history_rule rule, uint32_t nodes, uint8_t each, uint64_t seed)
{
        struct baseline_setup setup = {.jobs = &jobs,
                                       .nodes = nodes,
                                       .devices_per_node = each,
                                       .rule = rule,
                                       .seed = seed,
                                       .window = {0, 100000}};
        struct err err = {0};

        if (baseline_run(&setup, records, &err) < 0)
                fail_msg("%s", err.text);
}

static void each_rule_starts_its_own_job_first(void **state)
{
        (void)state;
        /* One node of 8: what runs until 100, then a wide one, a long one and a short one. */
        static const int64_t rows[][3] = {{0, 100, 6}, {1, 50, 8}, {2, 40, 2}, {3, 10, 2}};
        static const struct {
                enum history_rule rule;
                int64_t starts_s[4];
        } expected[] = {
                {RULE_FIFO, {0, 100, 150, 150}},
                {RULE_FIFO_SKIP, {0, 100, 2, 42}},
                {RULE_SHORTEST, {0, 100, 2, 42}},
                {RULE_SHORTEST_SKIP, {0, 100, 2, 42}},
        };
        for (size_t e = 0; e < ARRAY_LEN(expected); e++) {
                set_jobs(rows, ARRAY_LEN(rows));
                run(expected[e].rule, 1, 8, 1);
                for (size_t j = 0; j < ARRAY_LEN(rows); j++) {
                        int64_t start_s = records[j].first_start_ms / 1000;
                        if (start_s != expected[e].starts_s[j])
                                fail_msg("rule %s, job %zu: %lld",
                                         history_rule_name(expected[e].rule), j,
                                         (long long)start_s);
                }
        }
}

static void strict_shortest_waits_for_the_shortest(void **state)
{
        (void)state;
        /* The shortest one does not fit beside the first; the longer one would. */
        static const int64_t rows[][3] = {{0, 100, 6}, {1, 10, 4}, {2, 40, 2}};

        set_jobs(rows, ARRAY_LEN(rows));
        run(RULE_SHORTEST, 1, 8, 1);
        assert_int_equal(records[1].first_start_ms, 100000);
        assert_int_equal(records[2].first_start_ms, 100000);
        run(RULE_SHORTEST_SKIP, 1, 8, 1);
        assert_int_equal(records[2].first_start_ms, 2000);
}

static void work_lands_on_the_fullest_node(void **state)
{
        (void)state;
        /* 3 and 5 leave 5 and 3 free; the 3 goes where 3 are free, so that 5 still fits. */
        static const int64_t rows[][3] = {{0, 100, 5}, {1, 100, 4}, {2, 100, 3}, {3, 100, 4}};

        for (uint64_t seed = 0; seed < 20; seed++) {
                set_jobs(rows, ARRAY_LEN(rows));
                run(RULE_FIFO, 2, 8, seed);
                assert_int_equal(records[3].first_start_ms, 3000);
        }
}

static void a_wide_job_takes_whole_nodes(void **state)
{
        (void)state;
        /* 9 devices are two nodes of 8: nothing else fits on either of them. */
        static const int64_t rows[][3] = {{0, 10, 9}, {1, 10, 1}, {2, 10, 17}};

        set_jobs(rows, ARRAY_LEN(rows));
        run(RULE_FIFO, 2, 8, 1);
        assert_int_equal(records[1].first_start_ms, 10000);
        assert_int_equal(records[0].held_device_ms, 16 * 10000);
        /* Wider than the pool: refused, and in nobody's way. */
        assert_true(records[2].first_start_ms == JOB_RECORD_NEVER);
        assert_true(records[2].end_ms == JOB_RECORD_NEVER);
}

static void work_without_devices_never_waits(void **state)
{
        (void)state;
        static const int64_t rows[][3] = {{0, 100, 8}, {1, 10, 0}};

        set_jobs(rows, ARRAY_LEN(rows));
        run(RULE_FIFO, 1, 8, 1);
        assert_int_equal(records[1].first_start_ms, 1000);
        assert_int_equal(records[1].held_device_ms, 0);
}

/* ---- against the obvious way: walk the whole queue at every moment ---- */

static bool comes_before(bool is_shortest, size_t a, size_t b)
{
        if (is_shortest && items[a].duration_ms != items[b].duration_ms)
                return items[a].duration_ms < items[b].duration_ms;
        return a < b;
}

/* The next one that waits and was not passed; `count`: none. */
static size_t plain_next(bool is_shortest, const bool *waits, const bool *passed, size_t count)
{
        size_t best = count;

        for (size_t j = 0; j < count; j++)
                if (waits[j] && !passed[j] && (best == count || comes_before(is_shortest, j, best)))
                        best = j;
        return best;
}

/* On nodes of one device, so that no tie matters. */
static void check_plain(enum history_rule rule, size_t count, uint32_t nodes)
{
        bool is_strict = rule == RULE_FIFO || rule == RULE_SHORTEST;
        bool is_shortest = rule == RULE_SHORTEST || rule == RULE_SHORTEST_SKIP;
        bool waits[JOBS] = {false}, started[JOBS] = {false}, ended[JOBS] = {false};
        uint32_t free = nodes;

        for (int64_t now_ms = 0; now_ms <= 4000000; now_ms += 1000) {
                bool passed[JOBS] = {false};
                size_t next;
                for (size_t j = 0; j < count; j++) {
                        if (started[j] && !ended[j] && records[j].end_ms <= now_ms) {
                                ended[j] = true;
                                free += items[j].devices;
                        }
                        if (!started[j] && items[j].submit_ms <= now_ms)
                                waits[j] = items[j].devices <= nodes;
                }
                while ((next = plain_next(is_shortest, waits, passed, count)) < count) {
                        passed[next] = true;
                        if (items[next].devices > free && is_strict)
                                break;
                        if (items[next].devices > free)
                                continue;
                        free -= items[next].devices;
                        waits[next] = false;
                        started[next] = true;
                        assert_int_equal(records[next].first_start_ms, now_ms);
                }
        }
        for (size_t j = 0; j < count; j++)
                assert_true(started[j] == (items[j].devices <= nodes));
}

static void the_queue_is_walked_as_if_whole(void **state)
{
        (void)state;
        struct rng rng;

        for (uint64_t seed = 1; seed <= 10; seed++) {
                rng_init(&rng, seed);
                jobs = (struct jobs){
                        .items = items, .count = 150, .tenants = tenants, .tenants_count = 2};
                int64_t at_ms = 0;
                for (size_t j = 0; j < jobs.count; j++) {
                        at_ms += (int64_t)rng_below(&rng, 10) * 1000;
                        items[j] = (struct job){.submit_ms = at_ms,
                                                .duration_ms =
                                                        1000 + (int64_t)rng_below(&rng, 60) * 1000,
                                                .members = 1,
                                                .devices = (uint32_t)(1 + rng_below(&rng, 9)),
                                                .class = JOBS_NONE};
                }
                for (int rule = RULE_FIFO; rule <= RULE_SHORTEST_SKIP; rule++) {
                        run((enum history_rule)rule, 8, 1, seed);
                        check_plain((enum history_rule)rule, jobs.count, 8);
                }
        }
}

static void figures_are_those_of_the_records(void **state)
{
        (void)state;
        static const int64_t rows[][3] = {{0, 50, 8}, {0, 50, 1}, {10, 600, 4}};
        struct job_window window = {0, 100000};
        struct history_figures one = {0}, sum = {0};
        struct err err = {0};

        set_jobs(rows, ARRAY_LEN(rows));
        run(RULE_FIFO, 1, 8, 1);
        assert_int_equal(history_figures_take(&one, &jobs, records, 8, &window, &err), 0);
        assert_true(one.jobs == 3);
        assert_true(one.wait_mean_s == 30); /* 0, 50, 40 */
        assert_true(one.wait_p50_s == 40);
        assert_true(one.wait_p99_s == 50);
        assert_true(one.wait_max_s == 50);
        assert_true(one.wide_wait_mean_s == 0);
        assert_true(one.short_wait_mean_s == 25); /* not that of 600 s */
        assert_true(one.jct_mean_s == (50 + 100 + 640) / 3.0);
        /* 8 x 50 + 1 x 50 + 4 x 50 of 8 x 100: the window ends before the last job does. */
        assert_true(one.utilisation_pct == 100 * 650 / 800.0);
        assert_int_equal(one.tenants_count, 2);
        assert_string_equal(one.tenants[0].name, "a");
        assert_true(one.tenants[0].jobs == 2);
        assert_true(one.tenants[0].wait_mean_s == 20);
        assert_true(one.tenants[0].device_hours == (8 * 50 + 4 * 600) / 3600.0);
        assert_false(one.has_gates || one.has_ledger || one.has_eta || one.has_promises);
        assert_int_equal(history_figures_add(&sum, &one, &err), 0);
        one.wait_mean_s = 50;
        one.wait_max_s = 90;
        one.max_stops_of_one_job = 3;
        assert_int_equal(history_figures_add(&sum, &one, &err), 0);
        history_figures_divide(&sum, 2);
        assert_true(sum.wait_mean_s == 40);
        assert_true(sum.wait_max_s == 90);
        assert_int_equal(sum.max_stops_of_one_job, 3);
        assert_true(sum.tenants[0].wait_mean_s == 20);
        history_figures_done(&one);
        history_figures_done(&sum);
        history_figures_done(NULL);
}

static void no_memory_is_an_error_at_every_step(void **state)
{
        (void)state;
        static const int64_t rows[][3] = {{0, 50, 8}, {0, 50, 1}, {10, 600, 4}};
        struct baseline_setup setup = {.jobs = &jobs, .nodes = 2, .devices_per_node = 8};
        struct err err = {0};

        set_jobs(rows, ARRAY_LEN(rows));
        for (unsigned long n = 1;; n++) {
                mem_fail_at(n);
                int rc = baseline_run(&setup, records, &err);
                bool failed = mem_fail_happened();
                mem_fail_at(0);
                if (!failed)
                        break;
                assert_int_equal(rc, -ERR_NOMEM);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_rule_starts_its_own_job_first),
                cmocka_unit_test(strict_shortest_waits_for_the_shortest),
                cmocka_unit_test(work_lands_on_the_fullest_node),
                cmocka_unit_test(a_wide_job_takes_whole_nodes),
                cmocka_unit_test(work_without_devices_never_waits),
                cmocka_unit_test(the_queue_is_walked_as_if_whole),
                cmocka_unit_test(figures_are_those_of_the_records),
                cmocka_unit_test(no_memory_is_an_error_at_every_step),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
