/* Histories of jobs, the policies they are replayed under, and prices. */
#include "tests/unit/proto/scenario.h"

#define HISTORY_POOL "kind: Replay\npool: {nodes: 72, devices_per_node: 8, model: V100}\n"
#define COLUMNS      "columns: {submit: s, duration: d, devices: n, tenant: t}"
#define HISTORY      HISTORY_POOL "workload: {jobs_csv: h.csv, " COLUMNS "}\n"

static void a_history_is_read(void **state)
{
        (void)state;
        decode_fine("kind: Replay\n"
                    "name: philly 576\n"
                    "pool:     {nodes: 72, devices_per_node: 8, model: V100}\n"
                    "workload: {jobs_csv: philly.csv, columns: {submit: timestamp, duration: "
                    "duration, devices: num_gpus, tenant: cluster}, timezone: "
                    "America/Los_Angeles,\n"
                    "           from: 2017-10-01, until: 2017-12-01, tenants_at_least_jobs: 10, "
                    "limit_factor: none,\n"
                    "           checkpoint: {every: 30m, restart: 60s, share_pct: 75}}\n"
                    "policies: [default.yaml, sliced.yaml, fifo-skip, default]\n"
                    "placements: [consolidate, auto]\n"
                    "durations: oracle\n"
                    "seeds: 1..3\n");
        const struct scenario_history *history = &scenario.workload.history;
        assert_true(scenario_is_history(&scenario));
        assert_int_equal(scenario.workload.source, WORKLOAD_JOBS_CSV);
        assert_int_equal(scenario.workload.arrivals, ARRIVALS_RECORDED);
        assert_string_equal(history->file, "runs/philly.csv");
        assert_string_equal(history->columns[JOB_COLUMN_SUBMIT], "timestamp");
        assert_string_equal(history->columns[JOB_COLUMN_TENANT], "cluster");
        assert_string_equal(history->columns[JOB_COLUMN_LIMIT], "");
        assert_string_equal(history->timezone, "America/Los_Angeles");
        assert_true(history->has_from && history->has_until);
        assert_true(history->from_ms == INT64_C(1506841200000));        /* 07:00Z: summer time */
        assert_true(history->until_ms == INT64_C(1512115200000));       /* 08:00Z */
        assert_int_equal(history->tenants_at_least_jobs, 10);
        assert_false(history->has_limit_factor);
        assert_true(history->has_checkpoint);
        assert_int_equal(history->checkpoint_every_ms, 1800000);
        assert_int_equal(history->checkpoint_restart_ms, 60000);
        assert_int_equal(history->checkpoint_share_pct, 75);
        assert_int_equal(scenario.policies_count, 4);
        assert_int_equal(scenario.policies[0].rule, RULE_FILE);
        assert_string_equal(scenario.policies[0].name, "default.yaml");
        assert_string_equal(scenario.policies[0].path, "runs/default.yaml");
        assert_int_equal(scenario.policies[2].rule, RULE_FIFO_SKIP);
        assert_int_equal(scenario.policies[3].rule, RULE_DEFAULT);
        assert_int_equal(scenario.placements_count, 2);
        assert_true(scenario.consolidates[0]);
        assert_false(scenario.consolidates[1]);
        assert_int_equal(scenario.placements[1].kind, POLICY_AUTO);
        assert_int_equal(scenario.durations, DURATIONS_ORACLE);
        assert_int_equal(scenario.points_count, 0);
        assert_int_equal(scenario.eta_every, 0);

        decode_fine(HISTORY "policies: [fifo, a.yaml]\neta: 40\n");
        assert_int_equal(scenario.eta_every, 40);
        assert_true(scenario_has_policy(&scenario));
        decode_fine(HISTORY "policies: [fifo, shortest-skip]\n");
        assert_false(scenario_has_policy(&scenario));
        decode_fine(HISTORY);
        assert_string_equal(history->timezone, "UTC");
        assert_false(history->has_from || history->has_until || history->has_checkpoint);
        assert_true(history->from_ms == INT64_MIN);
        assert_true(history->until_ms == INT64_MAX);
        assert_int_equal(scenario.policies_count, 1);
        assert_int_equal(scenario.policies[0].rule, RULE_DEFAULT);
        assert_int_equal(scenario.placements_count, 1);
        assert_true(scenario.consolidates[0]);
        assert_int_equal(scenario.durations, DURATIONS_LEARNED);

        decode_fine(HISTORY_POOL "workload: {sacct: jobs.txt, limit_factor: [1, 2.5]}\n"
                                 "durations: limit\n");
        assert_int_equal(scenario.workload.source, WORKLOAD_SACCT);
        assert_true(history->has_limit_factor);
        assert_int_equal(history->limit_factor_milli[0], 1000);
        assert_int_equal(history->limit_factor_milli[1], 2500);
}

#define PRICED(prices)                                                                           \
        "kind: Replay\npool: {nodes: 1, devices_per_node: 8, model: V100, prices: " prices "}\n" \
        "workload: {sacct: s.txt}\n"
#define WORK(keys) HISTORY_POOL "workload: {jobs_csv: h.csv, " COLUMNS ", " keys "}\n"
static const struct refusal bad_histories[] = {
        {TRACE "workload: {jobs_csv: h.csv, " COLUMNS "}\n",
         "field 'workload.jobs_csv': needs a pool of equal nodes; write pool: {nodes:"},
        {HISTORY_POOL "workload: {jobs_csv: h.csv, sacct: s.txt}\n",
         "field 'workload.sacct': stands beside 'jobs_csv'"},
        {HISTORY_POOL "workload: {jobs_csv: , " COLUMNS "}\n", "names no file"},
        {HISTORY_POOL "workload: {jobs_csv: h.csv}\n", "field 'columns' is missing"},
        {HISTORY_POOL "workload: {jobs_csv: h.csv, columns: {submit: s, duration: d, "
                      "devices: n}}\n",
         "field 'tenant' is missing"},
        {HISTORY_POOL "workload: {jobs_csv: h.csv, columns: {submit: s, duration: s, "
                      "devices: n, tenant: t}}\n",
         "field 'workload.columns.duration': is the column of 'submit' already"},
        {HISTORY_POOL "workload: {jobs_csv: h.csv, columns: {submit: s, durations: d}}\n",
         "did you mean 'duration'"},
        {HISTORY_POOL "workload: {sacct: s.txt, " COLUMNS "}\n",
         "field 'workload.columns': goes with jobs_csv only"},
        {WORK("load: 1"), "field 'workload.load': does not go with a history"},
        {WORK("timezone: Mars/Olympus"),
         "s.yaml:3: field 'workload.timezone': there is no time zone 'Mars/Olympus'"},
        {WORK("timezone: ../UTC"), "'../UTC' is no name of a time zone"},
        {WORK("from: yesterday"),
         "field 'workload.from': 'yesterday' is no time; write for example 2027-01-04"},
        {WORK("from: 2017-10-02, until: 2017-10-02"),
         "field 'workload.until': does not lie behind 'from'"},
        {WORK("tenants_at_least_jobs: -1"), "'-1' is negative"},
        {WORK("limit_factor: 3"), "field 'workload.limit_factor': is neither none nor two "
                                  "factors; write for example [1, 10]"},
        {WORK("limit_factor: [1]"), "has 1 entries; write 2 to 2"},
        {WORK("limit_factor: [0.5, 2]"), "'0.5' is out of range"},
        {WORK("limit_factor: [2, 1]"), "is less than the factor before it"},
        {WORK("checkpoint: {restart: 60s}"), "field 'every' is missing"},
        {WORK("checkpoint: {every: 0s}"), "out of range"},
        {WORK("checkpoint: {every: 30}"), "field 'workload.checkpoint.every': '30'"},
        {WORK("checkpoint: {every: 1h, share_pct: 101}"), "'101' is out of range"},
        {HISTORY "policies: []\n", "has 0 entries"},
        {HISTORY "policies: [fifo-skp]\n",
         "field 'policies[0]': 'fifo-skp' is neither a policy file (.yaml, .yml, .json) "
         "nor known; did you mean 'fifo-skip'"},
        {HISTORY "policies: [fifo, fifo]\n", "'fifo' stands twice; name it once"},
        {HISTORY "policies: [a.yaml, ./a.yml, a.yaml]\n",
         "field 'policies[2]': 'a.yaml' stands twice"},
        {HISTORY "policies: [a.yaml, b.yaml, c.yaml, d.yaml, e.yaml, f.yaml, g.yaml, "
                 "h.yaml, i.yaml]\n",
         "has 9 entries; write 1 to 8"},
        {HISTORY "eta: 0\n",
         "s.yaml:4: field 'eta': '0' is out of range; write 1 to 1000000"},
        {HISTORY "eta: 1000001\n", "field 'eta': '1000001' is out of range"},
        {HISTORY "eta:\n", "field 'eta': has no value; write one or leave the field out"},
        {HISTORY "policies: [fifo, shortest]\neta: 40\n",
         "field 'eta': needs a policy: comparisons (fifo, shortest ...) foretell nothing"},
        {OPENB "eta: 40\n", "field 'eta': goes with a history only"},
        {PRICED("{V100-16: 1, V100: 2}"),
         "s.yaml:2: field 'pool.prices.V100': is the same model as 'V100-16'; name it "
         "once"},
        {PRICED("{V100: -1}"), "field 'pool.prices.V100': '-1' is negative"},
        {PRICED("{V100: 0.0000001}"), "has more than 6 digits after the point"},
        {PRICED("{T4: 1}"), "field 'pool.prices.T4': has a price, but the pool's devices "
                            "are V100-16"},
        {HISTORY "durations: guessed\n", "'guessed' is not known here"},
        {HISTORY "durations: limit\n", "no job has a limit here; add "
                                       "workload.columns.limit"},
        {HISTORY "placements: [consolidate, consolidate]\n",
         "placement 'consolidate' stands twice"},
        {HISTORY "demand: same\n", "field 'demand': is learned from the history itself"},
        {HISTORY "report_at_pct: [50]\n", "those of a history are recorded"},
        {HISTORY "methods: [whole]\n", "goes with workload.tasks only"},
        {OPENB "policies: [fifo]\n", "field 'policies': goes with a history only"},
        {OPENB "durations: oracle\n", "field 'durations': goes with a history only"},
        {OPENB "placements: [consolidate]\n", "there is no placement 'consolidate'"},
        {TRACE "workload: {openb_pods: p.csv, timezone: UTC}\n",
         "field 'workload.timezone': goes with workload.jobs_csv and workload.sacct only"},
};
#undef WORK
#undef PRICED

static void bad_histories_are_refused_with_place_and_way_out(void **state)
{
        (void)state;
        check_refused(bad_histories, ARRAY_LEN(bad_histories));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_history_is_read),
                cmocka_unit_test(bad_histories_are_refused_with_place_and_way_out),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
