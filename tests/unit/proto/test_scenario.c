#include "tests/unit/check.h"

#include <stdlib.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "proto/model_doc.h"
#include "proto/scenario.h"

static struct scenario scenario; /* of the test that runs; too large for a stack frame */
static struct model_table *models;

static int decode(const char *text, struct err *err)
{
        struct doc *doc;
        int rc = doc_read_yaml("runs/s.yaml", text, strlen(text), &doc, err);

        if (rc < 0)
                return rc;
        rc = scenario_decode_doc("runs/s.yaml", doc, models, &scenario, err);
        doc_free(doc);
        return rc;
}

static void decode_fine(const char *text)
{
        struct err err = {0};

        memset(&scenario, 0xee, sizeof scenario);
        if (decode(text, &err) < 0)
                fail_msg("%s", err.text);
}

#define OPENB \
        "kind: Replay\n" \
        "pool: {openb_nodes: n.csv}\n" \
        "workload: {openb_pods: p.csv}\n"

static void the_openb_example_is_read(void **state)
{
        (void)state;
        decode_fine("kind: Replay\n"
                    "name: openb default\n"
                    "pool:       {openb_nodes: openb_node_list_gpu_node.csv}\n"
                    "workload:   {openb_pods: openb_pod_list_default.csv, arrive_pct: 130}\n"
                    "demand:     same            # same: the list's own popularity, as FGD has it "
                    "| learned: arrivals so far | {openb_pods: FILE}\n"
                    "placements: [auto, fgd, best-fit]\n"
                    "seeds:      42..51\n"
                    "report_at_pct: [50, 80, 90, 95, 100, 130]\n");
        assert_string_equal(scenario.file, "runs/s.yaml");
        assert_string_equal(scenario.name, "openb default");
        assert_int_equal(scenario.pool.source, POOL_OPENB);
        assert_string_equal(scenario.pool.openb_nodes, "runs/openb_node_list_gpu_node.csv");
        assert_int_equal(scenario.workload.source, WORKLOAD_OPENB);
        assert_int_equal(scenario.workload.arrivals, ARRIVALS_SHUFFLED);
        assert_string_equal(scenario.workload.openb_pods, "runs/openb_pod_list_default.csv");
        assert_int_equal(scenario.workload.arrive_pct, 130);
        assert_int_equal(scenario.demand, DEMAND_SAME);
        assert_int_equal(scenario.placements_count, 3);
        assert_int_equal(scenario.placements[0].kind, POLICY_AUTO);
        assert_int_equal(scenario.placements[1].kind, POLICY_FGD);
        assert_int_equal(scenario.placements[2].kind, POLICY_BEST_FIT);
        assert_int_equal(scenario.seed_first, 42);
        assert_int_equal(scenario.seed_last, 51);
        assert_int_equal(scenario.points_count, 6);
        assert_int_equal(scenario.points_pct[0], 50);
        assert_int_equal(scenario.points_pct[5], 130);
        assert_int_equal(scenario.methods_count, 0);
}

static void the_slices_example_is_read(void **state)
{
        (void)state;
        decode_fine("kind: Replay\n"
                    "name: slices, uniform mix\n"
                    "pool:       {nodes: 100, devices_per_node: 1, model: A100-40}\n"
                    "workload:   {arrivals: poisson, load: 1.0, mean_life: 500, warmup_lives: 3, "
                    "measure_lives: 9,\n"
                    "             mix: {1g.5gb: 1, 1g.10gb: 1, 2g.10gb: 1, 3g.20gb: 1, 4g.20gb: 1, "
                    "7g.40gb: 1}}\n"
                    "placements: [auto, gradient, best-fit, first-fit, worst-fit, random]\n"
                    "seeds:      1..8\n");
        assert_int_equal(scenario.pool.source, POOL_UNIFORM);
        assert_int_equal(scenario.pool.nodes, 100);
        assert_int_equal(scenario.pool.devices_per_node, 1);
        assert_string_equal(scenario.pool.model, "A100-40");
        assert_int_equal(scenario.pool.cpu_milli, CPU_MILLI_MAX);
        assert_int_equal(scenario.pool.ram_mib, RAM_MIB_MAX);
        assert_int_equal(scenario.workload.source, WORKLOAD_MIX);
        assert_int_equal(scenario.workload.arrivals, ARRIVALS_POISSON);
        assert_int_equal(scenario.workload.load_milli, 1000);
        assert_int_equal(scenario.workload.mean_life, 500);
        assert_int_equal(scenario.workload.warmup_lives, 3);
        assert_int_equal(scenario.workload.measure_lives, 9);
        assert_int_equal(scenario.workload.mix_count, 6);
        assert_string_equal(scenario.workload.mix[0].name, "1g.5gb");
        assert_int_equal(scenario.workload.mix[5].weight_milli, 1000);
        assert_int_equal(scenario.demand, DEMAND_NONE);
        assert_int_equal(scenario.placements_count, 6);
        assert_int_equal(scenario.placements[5].kind, POLICY_RANDOM);
        assert_int_equal(scenario.points_count, 0);
}

#define TASKS \
        "kind: Replay\n" \
        "pool: {nodes: 2, devices_per_node: 4, model: A100-40, cpu: 64, ram: 512Gi}\n" \
        "workload:\n" \
        "  load: 0.75\n" \
        "  tasks:\n" \
        "    small: {weight: 0.5, compute: 0.1, memory: 4Gi, cpu: 500m, ram: 8Gi, mixed: share}\n" \
        "    large: {compute: 1, memory: 40Gi, mixed: whole}\n" \
        "  interference:\n"

static void tasks_and_their_methods_are_read(void **state)
{
        (void)state;
        decode_fine(TASKS "    slice: {per_neighbour_pct: 0.5, measured: true, source: our bench}\n"
                          "    share: {per_neighbour_pct: 12, measured: false}\n"
                          "methods: [whole, slice, share, mixed]\n");
        const struct scenario_workload *work = &scenario.workload;
        assert_int_equal(work->source, WORKLOAD_TASKS);
        assert_int_equal(work->arrivals, ARRIVALS_POISSON);
        assert_int_equal(work->load_milli, 750);
        assert_int_equal(work->tasks_count, 2);
        assert_string_equal(work->tasks[0].name, "small");
        assert_int_equal(work->tasks[0].weight_milli, 500);
        assert_int_equal(work->tasks[0].compute_milli, 100);
        assert_int_equal(work->tasks[0].memory_mib, 4096);
        assert_int_equal(work->tasks[0].cpu_milli, 500);
        assert_int_equal(work->tasks[0].ram_mib, 8192);
        assert_int_equal(work->tasks[0].mixed, METHOD_SHARE);
        assert_int_equal(work->tasks[1].weight_milli, 1000);
        assert_int_equal(work->tasks[1].cpu_milli, 0);
        assert_int_equal(work->tasks[1].mixed, METHOD_WHOLE);
        assert_int_equal(work->interference.per_neighbour_permille[METHOD_WHOLE], 0);
        assert_int_equal(work->interference.per_neighbour_permille[METHOD_SLICE], 5);
        assert_int_equal(work->interference.per_neighbour_permille[METHOD_SHARE], 120);
        assert_true(work->interference.measured[METHOD_SLICE]);
        assert_string_equal(work->interference.source[METHOD_SLICE], "our bench");
        assert_false(work->interference.measured[METHOD_SHARE]);
        assert_int_equal(scenario.methods_count, 4);
        assert_int_equal(scenario.methods[3], TASK_MIXED);
        assert_string_equal(task_method_name(TASK_MIXED), "mixed");
}

static void a_task_takes_the_smallest_profile_that_holds_it(void **state)
{
        (void)state;
        const struct model *model =
                model_get(models, (unsigned)model_find(models, "A100-40", NULL));
        static const struct {
                uint16_t compute_milli;
                uint32_t memory_mib;
                const char *profile;
        } rows[] = {
                {1, 1, "1g.5gb"},         {142, 4864, "1g.5gb"}, /* 1/7 is 142.86 thousandths */
                {143, 4864, "2g.10gb"},   {100, 4865, "1g.10gb"},  {286, 1000, "3g.20gb"},
                {429, 1000, "4g.20gb"},   {572, 19968, "7g.40gb"}, {1, 19969, "7g.40gb"},
                {1000, 40192, "7g.40gb"}, {1, 40193, NULL},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct scenario_task task = {.compute_milli = rows[i].compute_milli,
                                             .memory_mib = rows[i].memory_mib};
                int profile = scenario_task_profile(model, &task);
                if (!rows[i].profile)
                        assert_int_equal(profile, -1);
                else
                        assert_string_equal(model->profiles[profile].name, rows[i].profile);
        }
}

static void what_is_absent_takes_its_default(void **state)
{
        (void)state;
        static const uint16_t points[] = {50, 80, 90, 95, 100, 130};
        decode_fine(OPENB);
        assert_string_equal(scenario.name, "s.yaml");
        static const struct { const char *file, *name; } files[] = {
                {"a/b\x1b[1m\n.yaml", "b?[1m?.yaml"},
                {"caf\xe9.yaml", "caf?.yaml"},
        };
        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
                struct err err = {0};
                assert_int_equal(scenario_decode(files[i].file, OPENB, strlen(OPENB), &scenario,
                                                 &err), 0);
                assert_string_equal(scenario.name, files[i].name);
        }
        assert_int_equal(scenario.workload.arrive_pct, 130);
        assert_int_equal(scenario.demand, DEMAND_SAME);
        assert_int_equal(scenario.placements_count, 1);
        assert_int_equal(scenario.placements[0].kind, POLICY_AUTO);
        assert_int_equal(scenario.seed_first, 1);
        assert_int_equal(scenario.seed_last, 1);
        assert_int_equal(scenario.points_count, ARRAY_LEN(points));
        assert_memory_equal(scenario.points_pct, points, sizeof points);

        decode_fine("kind: Replay\npool: {openb_nodes: n.csv}\n"
                    "workload: {openb_pods: p.csv, arrive_pct: 99}\n");
        assert_int_equal(scenario.points_count, 4);
        decode_fine("kind: Replay\npool: {openb_nodes: n.csv}\n"
                    "workload: {openb_pods: p.csv, arrive_pct: 20}\n");
        assert_int_equal(scenario.points_count, 1);
        assert_int_equal(scenario.points_pct[0], 20);

        decode_fine("kind: Replay\npool: {nodes: 1, devices_per_node: 1, model: T4}\n"
                    "workload: {load: 0.5, mix: {whole: 0.05, 'share:250': 1}}\n");
        assert_int_equal(scenario.workload.mean_life, 500);
        assert_int_equal(scenario.workload.warmup_lives, 3);
        assert_int_equal(scenario.workload.measure_lives, 9);
        assert_int_equal(scenario.workload.mix[0].weight_milli, 50);
        assert_string_equal(scenario.workload.mix[1].name, "share:250");
        assert_int_equal(scenario.demand, DEMAND_NONE);
}

static void other_forms_are_read_too(void **state)
{
        (void)state;
        decode_fine("kind: Replay\npool: {openb_nodes: /abs/n.csv}\nseeds: 7\n"
                    "workload: {openb_pods: ../p.csv, arrivals: poisson, load: 0.95, "
                    "measure_lives: 1000, warmup_lives: 0}\n"
                    "demand: {openb_pods: other.csv}\nplacements: [random:1, random:2]\n");
        assert_string_equal(scenario.pool.openb_nodes, "/abs/n.csv");
        assert_string_equal(scenario.workload.openb_pods, "runs/../p.csv");
        assert_int_equal(scenario.workload.arrivals, ARRIVALS_POISSON);
        assert_int_equal(scenario.workload.load_milli, 950);
        assert_int_equal(scenario.workload.measure_lives, 1000);
        assert_int_equal(scenario.workload.warmup_lives, 0);
        assert_int_equal(scenario.demand, DEMAND_OPENB);
        assert_string_equal(scenario.demand_pods, "runs/other.csv");
        assert_int_equal(scenario.seed_first, 7);
        assert_int_equal(scenario.seed_last, 7);
        assert_int_equal(scenario.placements[1].seed, 2);

        decode_fine(OPENB "demand: learned\nseeds: '9223372036854774808..9223372036854775807'\n");
        assert_int_equal(scenario.demand, DEMAND_LEARNED);
        assert_true(scenario.seed_last == INT64_MAX);
        decode_fine(OPENB "demand: none\n");
        assert_int_equal(scenario.demand, DEMAND_NONE);
}

#define POOL  "kind: Replay\npool: {nodes: 1, devices_per_node: 2, model: A100-40}\n"
#define TRACE "kind: Replay\npool: {openb_nodes: n.csv}\n"
#define BOTH \
        "    slice: {per_neighbour_pct: 1, measured: false}\n" \
        "    share: {per_neighbour_pct: 1, measured: false}\n"

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

static void bad_histories_are_refused_with_place_and_way_out(void **state)
{
        (void)state;
#define PRICED(prices)                                                                     \
        "kind: Replay\npool: {nodes: 1, devices_per_node: 8, model: V100, prices: " prices "}\n" \
        "workload: {sacct: s.txt}\n"
#define WORK(keys) HISTORY_POOL "workload: {jobs_csv: h.csv, " COLUMNS ", " keys "}\n"
        static const struct {
                const char *text, *sentence;
        } rows[] = {
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
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct err err = {0};
                if (decode(rows[r].text, &err) == 0)
                        fail_msg("row %zu was accepted: %s", r, rows[r].sentence);
                check_has(err.text, rows[r].sentence);
        }
}

static void bad_documents_are_refused_with_place_and_way_out(void **state)
{
        (void)state;
        static const struct {
                const char *text, *sentence;
        } rows[] = {
                /* the document */
                {"[]\n", "s.yaml:1: is a list; write a map"},
                {"{}\n", "s.yaml:1: field 'kind' is missing; add it"},
                {"kind: Pool\n", "field 'kind': 'Pool' is not known here; known: 'Replay'"},
                {"kind: replay\n", "did you mean 'Replay'?"},
                {"kind: Replay\n", "field 'pool' is missing"},
                {TRACE, "field 'workload' is missing"},
                {OPENB "placement: [auto]\n", "s.yaml:4: field 'placement': is not known here; did "
                                              "you mean 'placements'"},
                {OPENB "seeds: 1\nseeds: 2\n", "s.yaml:5: field 'seeds': stands here a "
                                               "second time (first in line 4)"},
                {OPENB "---\nkind: Replay\n", "a second document starts here"},
                {OPENB "name: ''\n", "field 'name': is empty"},
                {OPENB "name: [a]\n", "field 'name': is a list"},
                {OPENB "name: \"a\\tb\"\n", "field 'name': holds a control character"},
                {OPENB
                 "name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                 "aaaaaaaaaaaaaaaaaaaaaaaa\n",
                 "bytes long; write 1 to 95"},
                {"kind: &a Replay\n", "s.yaml:1:"},
                {"kind: Replay\npool: {openb_nodes: n.csv\n", "s.yaml:"},
                /* pool */
                {"kind: Replay\npool:\n", "s.yaml:2: field 'pool': is nothing; write a map"},
                {"kind: Replay\npool: {}\n",
                 "field 'pool': describes no nodes; write {openb_nodes:"},
                {"kind: Replay\npool: {openb_nodes: n.csv, nodes: 3}\n",
                 "field 'pool.nodes': stands "
                 "beside 'openb_nodes'"},
                {"kind: Replay\npool: {openb_nodes: 3.csv, cpu: 4}\n", "field 'pool.cpu': stands"},
                {"kind: Replay\npool: {openb_nodes: ''}\n", "field 'pool.openb_nodes': is empty"},
                {"kind: Replay\npool: {openb_nodes: {}}\n", "field 'pool.openb_nodes': is a map"},
                {"kind: Replay\npool: {openb_node: n.csv}\n", "did you mean 'openb_nodes'"},
                {"kind: Replay\npool: {nodes: 0, devices_per_node: 1, model: T4}\n",
                 "'0' is out of "
                 "range; write 1 to 1000000"},
                {"kind: Replay\npool: {nodes: -1, devices_per_node: 1, model: T4}\n", "'-1' is "
                                                                                      "negative"},
                {"kind: Replay\npool: {nodes: 99999999999999999999, model: T4}\n", "out of range"},
                {"kind: Replay\npool: {nodes: 1.5}\n", "'1.5' is not a whole number"},
                {"kind: Replay\npool: {nodes: '5'}\n", "'5' stands in quotes"},
                {"kind: Replay\npool: {nodes: 5}\n", "field 'devices_per_node' is missing"},
                {"kind: Replay\npool: {nodes: 5, devices_per_node: 17}\n", "write 1 to 16"},
                {"kind: Replay\npool: {nodes: 5, devices_per_node: 1}\n",
                 "field 'model' is missing"},
                {"kind: Replay\npool: {nodes: 5, devices_per_node: 1, model: A100-41}\n",
                 "s.yaml:2: "
                 "field 'pool.model': "},
                {"kind: Replay\npool: {nodes: 5, devices_per_node: 1, model: A100-41}\n",
                 "did you "
                 "mean 'A100-40'"},
                {"kind: Replay\npool: {nodes: 5, devices_per_node: 1, model: T4, cpu: 0}\n",
                 "field "
                 "'pool.cpu': '0' is out of range"},
                {"kind: Replay\npool: {nodes: 5, devices_per_node: 1, model: T4, ram: 4GB}\n",
                 "'4GB' "
                 "is not a size"},
                {"kind: Replay\npool: {nodes: 5, devices_per_node: 1, model: T4, ram: 65Ti}\n",
                 "out of range"},
                /* workload */
                {TRACE "workload: p.csv\n", "field 'workload': is a single value; write a map"},
                {TRACE "workload: {}\n", "says not what arrives; write one of openb_pods, mix, "
                                         "tasks, jobs_csv and sacct"},
                {TRACE "workload: {openb_pods: p.csv, mix: {whole: 1}}\n",
                 "field 'workload.mix': "
                 "stands beside 'openb_pods'"},
                {TRACE "workload: {openb_pods: p.csv, arrive_pct: 0}\n", "'0' is out of range"},
                {TRACE "workload: {openb_pods: p.csv, arrive_pct: 130%}\n",
                 "'130%' is not a whole"},
                {TRACE "workload: {openb_pods: p.csv, arrival: poisson}\n",
                 "did you mean 'arrivals'"},
                {TRACE "workload: {openb_pods: p.csv, arrivals: uniform}\n",
                 "'uniform' is not known"},
                {TRACE "workload: {openb_pods: p.csv, load: 1.0}\n",
                 "field 'workload.load': goes with "
                 "'arrivals: poisson' only"},
                {TRACE "workload: {openb_pods: p.csv, measure_lives: 2}\n", "goes with 'arrivals: "
                                                                            "poisson' only"},
                {TRACE
                 "workload: {openb_pods: p.csv, arrivals: poisson, load: 1, arrive_pct: 130}\n",
                 "goes with 'arrivals: shuffled' only"},
                {TRACE "workload: {openb_pods: p.csv, arrivals: poisson}\n", "field 'load' is "
                                                                             "missing"},
                {TRACE "workload: {openb_pods: p.csv, arrivals: poisson, load: 0}\n",
                 "out of range; "
                 "write 0.001 to 100"},
                {TRACE "workload: {openb_pods: p.csv, arrivals: poisson, load: 1e3}\n", "'1e3' is "
                                                                                        "not"},
                {TRACE "workload: {openb_pods: p.csv, arrivals: poisson, load: 0.0005}\n",
                 "0.0005"},
                {TRACE "workload: {openb_pods: p.csv, arrivals: poisson, load: 1, mean_life: 0}\n",
                 "field 'workload.mean_life': '0' is out of range"},
                {TRACE
                 "workload: {openb_pods: p.csv, arrivals: poisson, load: 1, measure_lives: 1001"
                 "}\n",
                 "write 1 to 1000"},
                {TRACE "workload: {openb_pods: p.csv, interference: {}}\n", "goes with "
                                                                            "workload.tasks only"},
                /* mix */
                {TRACE "workload: {load: 1, mix: {1g.5gb: 1}}\n",
                 "field 'workload.mix': needs a pool "
                 "of one device model"},
                {POOL "workload: {load: 1, mix: {}}\n", "field 'workload.mix': has 0 entries"},
                {POOL "workload: {load: 1, mix: [1g.5gb]}\n", "is a list; write a map"},
                {POOL "workload: {load: 1, mix: {1g.6gb: 1}}\n",
                 "s.yaml:3: field 'workload.mix."
                 "1g.6gb': is neither a profile of A100-40, nor 'whole', nor 'share:250' (thousandths of a device); did you mean "
                 "'1g.5gb'"},
                {POOL "workload: {load: 1, mix: {1g.5gb: -1}}\n", "'-1' is negative"},
                {POOL "workload: {load: 1, mix: {1g.5gb: }}\n", "has no weight"},
                {POOL "workload: {load: 1, mix: {1g.5gb: much}}\n", "'much' is not"},
                {POOL "workload: {load: 1, mix: {1g.5gb: 0, whole: 0}}\n", "has only weights of 0"},
                {POOL "workload: {load: 1, mix: {1g.5gb: 0.0001}}\n", "0.0001"},
                {POOL "workload: {load: 1, mix: {1g.5gb: 9999999999}}\n", "out of range"},
                {POOL "workload: {load: 1, mix: {1g.5gb: 1, 1g.5gb: 1}}\n", "1g.5gb"},
                {POOL "workload: {load: 1, mix: {'share:0': 1}}\n",
                 "thousandths of a device: '0' is "
                 "out of range"},
                {POOL "workload: {load: 1, mix: {'share:1001': 1}}\n", "out of range"},
                {POOL "workload: {load: 1, mix: {'share:': 1}}\n",
                 "thousandths of a device: is empty"},
                {POOL "workload: {arrivals: shuffled, load: 1, mix: {whole: 1}}\n",
                 "'shuffled' goes "
                 "with openb_pods only"},
                {POOL "workload: {load: 1, mix: {whole: 1}}\ndemand: same\n",
                 "s.yaml:4: field "
                 "'demand': an expected demand is used for 'openb_pods' only"},
                {POOL "workload: {load: 1, mix: {whole: 1}}\nreport_at_pct: [50]\n",
                 "goes with "
                 "shuffled arrivals only"},
                {POOL "workload: {load: 1, mix: {whole: 1}}\nmethods: [whole]\n",
                 "field 'methods': "
                 "goes with workload.tasks only"},
                /* demand, placements, seeds, points */
                {OPENB "demand: sane\n", "'sane' is not known here; did you mean 'same'"},
                {OPENB "demand: {openb_nodes: x}\n", "did you mean 'openb_pods'"},
                {OPENB "demand: {}\n", "field 'openb_pods' is missing"},
                {OPENB "demand: [same]\n", "field 'demand': is a list"},
                {OPENB "placements: auto\n", "field 'placements': is a single value; write a list"},
                {OPENB "placements: []\n", "has 0 entries"},
                {OPENB "placements: [auto, bestfit]\n",
                 "s.yaml:4: field 'placements[1]': there is no "
                 "placement 'bestfit'; did you mean 'best-fit'"},
                {OPENB "placements: [auto, auto]\n", "placement 'auto' stands twice"},
                {OPENB "placements: [auto:1]\n", "takes no seed"},
                {OPENB "placements: [random:x]\n", "'x' is not a whole number"},
                {OPENB "seeds: 51..42\n", "s.yaml:4: field 'seeds': the seeds run backwards; write "
                                          "42..51"},
                {OPENB "seeds: -1\n", "'-1' is negative"},
                {OPENB "seeds: 1..\n", "is empty"},
                {OPENB "seeds: 1...3\n", "'.3' is not"},
                {OPENB "seeds: 1-3\n", "seeds are a number or a range such as 42..51"},
                {OPENB "seeds: [1, 2]\n", "field 'seeds': is a list"},
                {OPENB "seeds: 1..1001\n", "more than 1000 seeds"},
                {OPENB "seeds: 9223372036854775808\n", "out of range"},
                {OPENB "seeds: 1..18446744073709551616\n", "out of range"},
                {OPENB "report_at_pct: []\n", "has 0 entries; write 1 to 64"},
                {OPENB "report_at_pct: 100\n", "is a single value; write a list"},
                {OPENB "report_at_pct: [50, 50]\n",
                 "field 'report_at_pct[1]': 50 does not rise above "
                 "the 50"},
                {OPENB "report_at_pct: [90, 50]\n", "50 does not rise"},
                {OPENB "report_at_pct: [0]\n", "'0' is out of range"},
                {OPENB "report_at_pct: [131]\n", "131 lies beyond arrive_pct (130)"},
                {OPENB "report_at_pct: [fifty]\n", "'fifty' is not a whole number"},
                {OPENB "methods: [whole]\n", "goes with workload.tasks only"},
                /* tasks */
                {TRACE "workload: {load: 1, tasks: {a: {compute: 1, memory: 1Gi}}}\n",
                 "field "
                 "'workload.tasks': needs a pool of one device model"},
                {"kind: Replay\npool: {nodes: 1, devices_per_node: 1, model: UNKNOWN}\n"
                 "workload: {load: 1, tasks: {a: {compute: 1, memory: 1Gi}}}\n",
                 "needs a device model "
                 "of known memory"},
                {POOL "workload: {load: 1, tasks: {}}\n", "has 0 entries"},
                {POOL "workload: {load: 1, tasks: {a: 1}}\n",
                 "field 'workload.tasks.a': is a single"},
                {POOL "workload: {load: 1, tasks: {a: {memory: 1Gi}}}\n",
                 "field 'compute' is missing"},
                {POOL "workload: {load: 1, tasks: {a: {compute: 1}}}\n",
                 "field 'memory' is missing"},
                {POOL "workload: {load: 1, tasks: {a: {compute: 1.1, memory: 1Gi}}}\n",
                 "out of range; "
                 "write 0.001 to 1"},
                {POOL "workload: {load: 1, tasks: {a: {compute: 1, memory: 41Gi}}}\n",
                 "41984 MiB is more than A100-40 has; write at most 40960Mi"},
                {POOL "workload: {load: 1, tasks: {a: {compute: 1, memory: 1Gi, ncpu: 1}}}\n",
                 "did you "
                 "mean 'cpu'"},
                {POOL "workload: {load: 1, tasks: {a: {compute: 1, memory: 1Gi, mixed: serve}}}\n",
                 "'serve' is not known here"},
                {POOL "workload: {load: 1, tasks: {a: {weight: 0, compute: 1, memory: 1Gi}}}\n",
                 "has "
                 "only weights of 0"},
                {POOL "workload: {load: 1, tasks: {a: {compute: 1, memory: 1Gi}}}\n",
                 "field 'methods' "
                 "is missing"},
                {POOL "workload: {load: 1, tasks: {a: {compute: 1, memory: 1Gi}}}\nmethods: []\n",
                 "has 0 entries"},
                {POOL "workload: {load: 1, tasks: {a: {compute: 1, memory: 1Gi}}}\n"
                      "methods: [whole, whole]\n",
                 "method 'whole' stands twice"},
                {POOL "workload: {load: 1, tasks: {a: {compute: 1, memory: 1Gi}}}\n"
                      "methods: [whole, slices]\n",
                 "did you mean 'slice'"},
                {POOL "workload: {load: 1, tasks: {a: {compute: 1, memory: 1Gi}}}\n"
                      "methods: [mixed]\n",
                 "field 'workload.tasks.a': does not say how method 'mixed'"},
                {POOL "workload: {load: 1, tasks: {a: {compute: 1, memory: 1Gi}}}\n"
                      "methods: [share]\n",
                 "lacks how much neighbours cost with method share; add "
                 "interference: share:"},
                {"kind: Replay\npool: {nodes: 1, devices_per_node: 1, model: T4}\nworkload: {load: 1, "
                 "tasks: {a: {compute: 1, memory: 1Gi}}}\nmethods: [slice]\n",
                 "T4 cannot be cut into "
                 "slices"},
                {"kind: Replay\npool: {nodes: 1, devices_per_node: 1, model: T4}\nworkload: {load: 1, "
                 "tasks: {a: {compute: 1, memory: 1Gi, mixed: slice}}}\nmethods: [mixed]\n",
                 "field "
                 "'workload.tasks.a.mixed': T4 cannot be cut"},
                {"kind: Replay\npool: {nodes: 1, devices_per_node: 1, model: T4, cpu: 4}\nworkload: {"
                 "load: 1, tasks: {a: {compute: 1, memory: 1Gi, cpu: 5}}}\nmethods: [whole]\n",
                 "field "
                 "'workload.tasks.a.cpu': is more than a node has"},
                /* interference */
                {TASKS "    share: {per_neighbour_pct: 1, measured: true}\nmethods: [whole]\n",
                 "add "
                 "'source: where and how'"},
                {TASKS "    share: {measured: true}\nmethods: [whole]\n", "'per_neighbour_pct' is "
                                                                          "missing"},
                {TASKS "    share: {per_neighbour_pct: 1}\nmethods: [whole]\n",
                 "field 'measured' is "
                 "missing"},
                {TASKS "    share: {per_neighbour_pct: -1, measured: false}\nmethods: [whole]\n",
                 "'-1' is negative"},
                {TASKS "    share: {per_neighbour_pct: 1.25, measured: false}\nmethods: [whole]\n",
                 "1.25"},
                {TASKS "    share: {per_neighbour_pct: 1, measured: maybe}\nmethods: [whole]\n",
                 "'maybe' is neither true nor false"},
                {TASKS "    whole: {per_neighbour_pct: 1, measured: false}\nmethods: [whole]\n",
                 "field "
                 "'workload.interference.whole': is not known here"},
                {TASKS
                 "    slice: {per_neighbour_pct: 1, measured: false}\nmethods: [slice, mixed]\n",
                 "field 'workload.interference': lacks how much neighbours cost with method share"},
                {TASKS BOTH "methods: [whole]\ndemand: learned\n", "used for 'openb_pods' only"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                memset(&scenario, 0xee, sizeof scenario);
                int rc = decode(rows[i].text, &err);
                if (rc != -ERR_INPUT && rc != -ERR_RANGE && rc != -ERR_NOT_FOUND)
                        fail_msg("'%s' was not refused: %d", rows[i].text, rc);
                check_has(err.text, "runs/s.yaml:");
                check_has(err.text, rows[i].sentence);
                assert_int_equal(scenario.placements_count, 0xeeeeeeee);
        }
}

static void long_paths_are_refused(void **state)
{
        (void)state;
        char text[3000];
        struct err err = {0};
        snprintf(text, sizeof text, "kind: Replay\npool: {openb_nodes: %0*d}\n", 1023, 1);
        assert_true(decode(text, &err) < 0);
        check_has(err.text, "with the document's folder in front");
        snprintf(text, sizeof text, "kind: Replay\npool: {openb_nodes: %0*d}\n", 1024, 1);
        assert_true(decode(text, &err) < 0);
        check_has(err.text, "1024 bytes long; write 1 to 1023");
        snprintf(text, sizeof text,
                 "kind: Replay\npool: {openb_nodes: %0*d}\n"
                 "workload: {openb_pods: p}\n",
                 1018, 1);
        decode_fine(text);
        assert_int_equal(strlen(scenario.pool.openb_nodes), 1023);
}

static void the_command_line_replaces_placements_and_seeds(void **state)
{
        (void)state;
        struct err err = {0};
        decode_fine(OPENB "placements: [fgd]\nseeds: 1..9\n");
        assert_int_equal(scenario_parse_placements("auto,random:7", &scenario, &err), 0);
        assert_int_equal(scenario.placements_count, 2);
        assert_int_equal(scenario.placements[1].seed, 7);
        assert_int_equal(scenario_parse_seeds("3..4", &scenario, &err), 0);
        assert_int_equal(scenario.seed_first, 3);
        assert_int_equal(scenario.seed_last, 4);

        static const char *const placements[] = {"",          "auto,",         ",auto",
                                                 "auto,,fgd", "auto,auto",     "auto fgd",
                                                 "nothing",   "auto,random:-1"};
        for (size_t i = 0; i < ARRAY_LEN(placements); i++) {
                assert_true(scenario_parse_placements(placements[i], &scenario, &err) < 0);
                assert_true(err.text[0] != '\0');
                assert_int_equal(scenario.placements_count, 2);
        }
        char many[400] = "random:0";
        for (unsigned i = 1; i < SCENARIO_PLACEMENTS_MAX; i++)
                snprintf(many + strlen(many), 16, ",random:%u", i);
        assert_int_equal(scenario_parse_placements(many, &scenario, &err), 0);
        assert_int_equal(scenario.placements_count, SCENARIO_PLACEMENTS_MAX);
        snprintf(many + strlen(many), 16, ",auto");
        assert_true(scenario_parse_placements(many, &scenario, &err) < 0);
        check_has(err.text, "more than 16 placements");

        static const char *const seeds[] = {
                "",    "..",    "1..",
                "..2", "2..1",  "1..2..3",
                "x",   "1 ..2", "00000000000000000000000000000000000000001"};
        for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
                assert_true(scenario_parse_seeds(seeds[i], &scenario, &err) < 0);
                assert_true(err.text[0] != '\0');
                assert_int_equal(scenario.seed_first, 3);
        }
        assert_int_equal(scenario_parse_seeds("5", &scenario, &err), 0);
        assert_int_equal(scenario.seed_last, 5);
        assert_int_equal(scenario_parse_seeds("1..1000", &scenario, &err), 0);
        assert_true(scenario_parse_seeds("1..1001", &scenario, &err) < 0);
}

static void no_memory_is_an_error_at_every_step(void **state)
{
        (void)state;
        for (unsigned long n = 1;; n++) {
                struct err err = {0};
                mem_fail_at(n);
                int rc = scenario_decode("s.yaml", OPENB, strlen(OPENB), &scenario, &err);
                bool happened = mem_fail_happened();
                mem_fail_at(0);
                assert_int_equal(rc, happened ? -ERR_NOMEM : 0);
                if (!happened)
                        break;
        }
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
        (void)state;
        struct err err = {0};
        assert_int_equal(scenario_load("/no/such.yaml", &scenario, &err), -ERR_NOT_FOUND);
        check_has(err.text, "/no/such.yaml");
}

/* The bundled ones, beside the source. */
static void the_examples_are_read(void **state)
{
        (void)state;
        static const char *const names[] = {"replay-pool", "replay-slices", "replay-methods"};
        const char *source = getenv("BERTH_SOURCE");
        char path[4200];
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                struct err err = {0};
                snprintf(path, sizeof path, "%s/examples/%s.yaml", source ? source : ".", names[i]);
                if (scenario_load(path, &scenario, &err) < 0)
                        fail_msg("%s", err.text);
        }
}

static int set_up(void **state)
{
        (void)state;
        struct err err;
        struct model unknown = {.name = "UNKNOWN"};
        models = model_table_new();
        return models && model_doc_builtin(models, &err) == 0 &&
                               model_add(models, &unknown, &err) >= 0
                       ? 0
                       : -1;
}

static int tear_down(void **state)
{
        (void)state;
        model_table_free(models);
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_openb_example_is_read),
                cmocka_unit_test(the_slices_example_is_read),
                cmocka_unit_test(tasks_and_their_methods_are_read),
                cmocka_unit_test(a_task_takes_the_smallest_profile_that_holds_it),
                cmocka_unit_test(what_is_absent_takes_its_default),
                cmocka_unit_test(other_forms_are_read_too),
                cmocka_unit_test(a_history_is_read),
                cmocka_unit_test(bad_histories_are_refused_with_place_and_way_out),
                cmocka_unit_test(bad_documents_are_refused_with_place_and_way_out),
                cmocka_unit_test(long_paths_are_refused),
                cmocka_unit_test(the_command_line_replaces_placements_and_seeds),
                cmocka_unit_test(no_memory_is_an_error_at_every_step),
                cmocka_unit_test(a_file_that_cannot_be_read_is_named),
                cmocka_unit_test(the_examples_are_read),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
