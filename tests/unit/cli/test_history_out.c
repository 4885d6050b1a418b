#include "tests/unit/check.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/history_out.h"
#include "proto/scenario.h"
#include "sim/history.h"

static struct scenario scenario;
static struct history_result result;
static struct history_tenant tenants[1];

/* A comparison, and a policy that knows everything. */
static void set_rows(void)
{
        memset(&scenario, 0, sizeof scenario);
        memset(&result, 0, sizeof result);
        snprintf(scenario.name, sizeof scenario.name, "a history");
        scenario.workload.source = WORKLOAD_JOBS_CSV;
        scenario.workload.arrivals = ARRIVALS_RECORDED;
        scenario.pool = (struct scenario_pool){.source = POOL_UNIFORM, .nodes = 72,
                                               .devices_per_node = 8};
        scenario.seed_first = 1;
        scenario.seed_last = 3;
        scenario.policies_count = 2;
        scenario.policies[0] = (struct scenario_policy){.rule = RULE_FIFO, .name = "fifo"};
        scenario.policies[1] = (struct scenario_policy){.rule = RULE_FILE, .name = "ours.yaml"};
        result.jobs_count = 100;
        result.tenants_count = 1;
        result.left_small_tenant = 7;
        result.rows_count = 2;
        tenants[0] = (struct history_tenant){
                .name = "a/\"b\"", .jobs = 100, .wait_mean_s = 12.5, .device_hours = 7};
        for (uint32_t r = 0; r < 2; r++)
                result.rows[r] = (struct history_row){
                        .policy = r,
                        .consolidates = r == 0,
                        .placement = {POLICY_FGD, 0},
                        .seeds = 3,
                        .figures = {.jobs = 100, .wait_mean_s = 1234.5, .wait_max_s = 99999,
                                    .utilisation_pct = 79.25, .preemptions = 10.5,
                                    .tenants_count = 1, .tenants = tenants}};
        struct history_figures *all = &result.rows[1].figures;
        all->has_promises = all->has_gates = all->has_ledger = all->has_eta = true;
        all->promises_made = 4;
        all->waited_device_hours[GATE_FIT] = 3.5;
        all->eta_p90_coverage_pct = 89.5;
        all->ledger_count = 2;
        all->ledger[0] = (struct history_bucket){"delivered", (unit_ms)1 << 100};
        all->ledger[1] = (struct history_bucket){"free", 0};
}

static void each_row_is_a_line_of_json(void **state)
{
        (void)state;
        struct err err = {0};
        char *text;
        size_t size;

        set_rows();
        assert_int_equal(history_json(&scenario, &result, true, &text, &size, &err), 0);
        char *second = memchr(text, '\n', size);
        assert_non_null(second);
        *second++ = '\0';
        text[size - 1] = '\0';
        check_has(text, "{\"policy\":\"fifo\",\"placement\":\"consolidate\",\"jobs\":100,"
                        "\"wait_s\":{\"mean\":1234.5,\"p50\":0,\"p95\":0,\"p99\":0,\"max\":99999},"
                        "\"jct_s\":{\"mean\":0},\"wide_wait_s\":{\"mean\":0},\"short_wait_s\":"
                        "{\"mean\":0},\"utilisation_pct\":79.25,\"preemptions\":10.5,"
                        "\"max_stops_of_one_job\":0,\"lost_device_hours\":0,\"tenants\":"
                        "[{\"tenant\":\"a/\\\"b\\\"\",\"jobs\":100,\"wait_s\":{\"mean\":12.5},"
                        "\"device_hours\":7}]}");
        static const char *const absent[] = {"promises", "gate", "ledger", "eta", "refused",
                                             "stopped"};
        for (size_t a = 0; a < ARRAY_LEN(absent); a++)
                assert_null(strstr(text, absent[a]));
        check_has(second, "\"policy\":\"ours.yaml\",\"placement\":\"fgd\"");
        check_has(second, "\"promises\":{\"made\":4,\"broken\":0}");
        check_has(second, "\"FIT\":3.5");
        check_has(second, "\"ledger_unit_ms\":{\"delivered\":\"1267650600228229401496703205376\","
                          "\"free\":\"0\"}");
        check_has(second, "\"eta\":{\"estimated_pct\":0,\"p90_coverage_pct\":89.5,"
                          "\"median_relative_error\":0}");
        mem_free(text);
        assert_int_equal(history_json(&scenario, &result, false, &text, &size, &err), 0);
        text[size - 1] = '\0';
        check_has(text, "\"stopped\":true}");
        mem_free(text);
}

static void no_memory_is_an_error_at_every_step(void **state)
{
        (void)state;
        struct err err = {0};
        char *text;
        size_t size;

        set_rows();
        for (unsigned long n = 1;; n++) {
                mem_fail_at(n);
                int rc = history_json(&scenario, &result, true, &text, &size, &err);
                bool failed = mem_fail_happened();
                mem_fail_at(0);
                if (!failed)
                        break;
                assert_int_equal(rc, -ERR_NOMEM);
        }
        mem_free(text);
}

static void print(bool is_whole, char *ret_text, size_t size)
{
        FILE *file = fmemopen(ret_text, size, "w");
        struct err err = {0};

        assert_non_null(file);
        assert_int_equal(history_table(&scenario, &result, is_whole, 100, file, &err), 0);
        fclose(file);
}

static void tables_show_what_is_known(void **state)
{
        (void)state;
        static char text[16384];

        set_rows();
        print(true, text, sizeof text);
        check_has(text, "100 jobs of 1 tenants on 576 devices (72 nodes of 8)\n"
                        "left out: 7 of tenants with too few jobs\n");
        check_has(text, "3 seeds (1..3), means; max is of all");
        check_has(text, "1234");
        check_has(text, "ours.yaml  fgd");
        check_has(text, "by what held the jobs up");
        check_has(text, "starts foretold");
        assert_null(strstr(text, "refused"));
        assert_null(strstr(text, "STOPPED"));

        result.rows_count = 1;
        result.rows[0].seeds = 2;
        result.rows[0].figures.refused = 3;
        print(false, text, sizeof text);
        check_has(text, "STOPPED: only what was finished by then stands below; the last row has 2 "
                        "of 3 seeds");
        check_has(text, "refused: no state of the pool would fit them");
        assert_null(strstr(text, "starts foretold"));
        assert_null(strstr(text, "promises"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_row_is_a_line_of_json),
                cmocka_unit_test(no_memory_is_an_error_at_every_step),
                cmocka_unit_test(tables_show_what_is_known),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
