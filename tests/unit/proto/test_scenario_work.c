/* What arrives: recorded pods, a mix, tasks with what neighbours cost them. */
#include "tests/unit/proto/scenario.h"

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

#define BOTH \
        "    slice: {per_neighbour_pct: 1, measured: false}\n" \
        "    share: {per_neighbour_pct: 1, measured: false}\n"

static const struct refusal bad_work[] = {
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
         "s.yaml:3: field 'workload.mix.1g.6gb': is neither a profile of A100-40, nor 'whole', "
         "nor 'share:250' (thousandths of a device); did you mean '1g.5gb'"},
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
};

static void bad_work_is_refused_with_place_and_way_out(void **state)
{
        (void)state;
        check_refused(bad_work, ARRAY_LEN(bad_work));
}

static const struct refusal bad_tasks[] = {
        /* tasks */
        {TRACE "workload: {load: 1, tasks: {a: {compute: 1, memory: 1Gi}}}\n",
         "field "
         "'workload.tasks': needs a pool of one device model"},
        {"kind: Replay\npool: {nodes: 1, devices_per_node: 1, model: MYSTERY}\n"
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

static void bad_tasks_are_refused_with_place_and_way_out(void **state)
{
        (void)state;
        check_refused(bad_tasks, ARRAY_LEN(bad_tasks));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(tasks_and_their_methods_are_read),
                cmocka_unit_test(a_task_takes_the_smallest_profile_that_holds_it),
                cmocka_unit_test(bad_work_is_refused_with_place_and_way_out),
                cmocka_unit_test(bad_tasks_are_refused_with_place_and_way_out),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
