/* A scenario as a whole, and its pool, demand, placements, seeds and points. */
#include "tests/unit/proto/scenario.h"

#include <stdlib.h>

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

static const struct refusal bad_documents[] = {
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
};

static void bad_documents_are_refused_with_place_and_way_out(void **state)
{
        (void)state;
        check_refused(bad_documents, ARRAY_LEN(bad_documents));
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
        static const char *const names[] = {"replay-pool", "replay-slices", "replay-methods",
                                            "history"};
        const char *source = getenv("BERTH_SOURCE");
        char path[4200];
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                struct err err = {0};
                snprintf(path, sizeof path, "%s/examples/%s.yaml", source ? source : ".", names[i]);
                if (scenario_load(path, &scenario, &err) < 0)
                        fail_msg("%s", err.text);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_openb_example_is_read),
                cmocka_unit_test(the_slices_example_is_read),
                cmocka_unit_test(what_is_absent_takes_its_default),
                cmocka_unit_test(other_forms_are_read_too),
                cmocka_unit_test(bad_documents_are_refused_with_place_and_way_out),
                cmocka_unit_test(long_paths_are_refused),
                cmocka_unit_test(the_command_line_replaces_placements_and_seeds),
                cmocka_unit_test(no_memory_is_an_error_at_every_step),
                cmocka_unit_test(a_file_that_cannot_be_read_is_named),
                cmocka_unit_test(the_examples_are_read),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
