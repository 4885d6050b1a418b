/* /metrics of a real berthd. */
#include "tests/unit/controller/served.h"

#include <inttypes.h>

#include "base/mem.h"

static const char pool[] = "kind: Pool\nname: small\nplanes: {training: {}}\nnodes:\n"
                           "  - {name: \"gpu-[01-02]\", plane: training,"
                           " devices: {model: H100-80, count: 8}, cpu: 96, ram: 1024Gi}\n";
static const char policy[] = "kind: Policy\npreset: equal\nclasses: {training: {rank: 1}, test: {rank: 2}}\n"
                             "default_class: training\ntenants: {web: {}}\n";

static struct served served;
static char figures[1 << 16];

static int start(void **state)
{
        (void)state;
        served_new(&served, pool, policy);
        served_start(&served, NULL);
        return 0;
}

static int stop(void **state)
{
        (void)state;
        served_done(&served);
        return 0;
}

static void scrape(void)
{
        struct asked *asked = served_ask(&served, "GET", "/metrics", "", NULL);
        assert_int_equal(asked->status, 200);
        snprintf(figures, sizeof figures, "\n%s", asked->body);
}

/* The value behind name and labels. */
static double value_of(const char *sample)
{
        char line[160];
        snprintf(line, sizeof line, "\n%s ", sample);
        const char *at = strstr(figures, line);
        if (!at)
                fail_msg("there is no '%s' in %s", sample, figures);
        return strtod(at + strlen(line), NULL);
}

/* A count of none may be left out; what is free is summed up below. */
static bool is_said(const char *sample, double value)
{
        char line[160];
        snprintf(line, sizeof line, "\n%s ", sample);
        const char *at = strstr(figures, line);
        return strstr(sample, "state=\"free\"") ||
               (at ? strtod(at + strlen(line), NULL) == value : value == 0);
}

static void figures_say_what_happened(void **state)
{
        (void)state;
        static const struct { const char *sample; double value; } rows[] = {
                {"berth_units{model=\"H100-80\",state=\"allocated\"}", 8 * 126000.},
                {"berth_units{model=\"H100-80\",state=\"free\"}", 8 * 126000.},
                {"berth_units{model=\"H100-80\",state=\"unhealthy\"}", 0},
                {"berth_nodes{state=\"up\"}", 2},
                {"berth_nodes_described", 2},
                {"berth_workloads_running", 1},
                {"berth_workloads_waiting", 2},
                {"berth_queue{class=\"training\",verdict=\"HELD\"}", 1},
                {"berth_queue{class=\"training\",verdict=\"WAIT_CAPACITY\"}", 1},
                {"berth_workloads_ended_total{cause=\"exited\"}", 1},
                {"berth_facts_total{fact=\"queued\"}", 4},
                {"berth_facts_total{fact=\"released\"}", 1},
                {"berth_inputs_total{input=\"submitted\"}", 4},
                {"berth_requests_total{operation=\"postWorkload\",status=\"201\"}", 4},
                {"berth_requests_total{operation=\"getWorkload\",status=\"404\"}", 1},
                {"berth_requests_total{operation=\"\",status=\"404\"}", 1},
                {"berth_store_up", 1},
                {"berth_policy_revision", 1},
                {"berth_table_used{table=\"workloads\"}", 3},
                {"berth_table_max{table=\"workloads\"}", 1000},
        };
        served_wait(&served, served_submit(&served, "short", "web", 1, "0.1"), "succeeded");
        served_submit(&served, "first", "web", 8, "1000");
        json_decref(served_json(&served, "POST", "/v1/nodes/gpu-02/drain", "{}", 200));
        uint64_t held = served_submit(&served, "held", "web", 2, "1000");
        served_submit(&served, "waits", "web", 2, "1000");
        char path[64];
        snprintf(path, sizeof path, "/v1/workloads/%" PRIu64 "/hold", held);
        json_decref(served_json(&served, "POST", path, "", 200));
        json_decref(served_json(&served, "GET", "/v1/workloads/999", NULL, 404));
        json_decref(served_json(&served, "GET", "/v1/nothing", NULL, 404));
        json_decref(served_json(&served, "POST", "/v1/freeze", "{\"frozen\": true}", 200));
        json_decref(served_json(&served, "POST", "/v1/nodes/gpu-02/undrain", "{}", 200));
        size_t r = 0;
        for (int waited = 0; r < ARRAY_LEN(rows); waited += 20, served_sleep_ms(20)) {
                scrape();
                for (r = 0; r < ARRAY_LEN(rows) && is_said(rows[r].sample, rows[r].value);)
                        r++;
                if (r < ARRAY_LEN(rows) && waited > SERVED_PATIENCE_MS)
                        fail_msg("%s is %g, not %g", rows[r].sample, value_of(rows[r].sample),
                                 rows[r].value);
        }
        /* A frozen plane takes nothing new: what is free there counts as draining. */
        double units = value_of("berth_units{model=\"H100-80\",state=\"free\"}") +
                       value_of("berth_units{model=\"H100-80\",state=\"draining\"}");
        assert_true(units == 8 * 126000.);
        assert_true(value_of("berth_units{model=\"H100-80\",state=\"allocated\"}") == 8 * 126000.);
        assert_true(value_of("berth_cycle_age_seconds") < 5);
        assert_true(value_of("berth_memory_resident_bytes") > 1e6);
}

static void histograms_rise_to_their_count(void **state)
{
        (void)state;
        static const char *const names[] = {"berth_decision_seconds", "berth_commit_seconds"};
        for (size_t n = 0; n < ARRAY_LEN(names); n++) {
                char name[64];
                double before = 0, bound_before = 0;
                unsigned buckets = 0;
                snprintf(name, sizeof name, "\n%s_bucket{le=\"", names[n]);
                for (const char *at = figures; (at = strstr(at, name)); at++, buckets++) {
                        const char *bound = at + strlen(name);
                        double count = strtod(strstr(bound, "} ") + 2, NULL);
                        double value = strtod(bound, NULL);     /* "+Inf" too */
                        assert_true(count >= before && value > bound_before);
                        before = count;
                        bound_before = value;
                }
                assert_true(buckets > 10);
                snprintf(name, sizeof name, "%s_count", names[n]);
                assert_true(value_of(name) == before && before > 0);
                snprintf(name, sizeof name, "%s_sum", names[n]);
                assert_true(value_of(name) > 0);
        }
}

/* Every family has a line in the page, and every name of the page is a family. */
static void the_page_names_them_all(void **state)
{
        (void)state;
        char path[512], *page, name[96];
        size_t size;
        unsigned families = 0, named = 0;
        snprintf(path, sizeof path, "%s/docs/metrics.md", getenv("BERTH_SOURCE"));
        assert_int_equal(file_read(path, 1 << 20, &page, &size, NULL), 0);
        for (const char *at = figures; (at = strstr(at, "\n# TYPE ")); at++, families++) {
                assert_int_equal(sscanf(at, "\n# TYPE %95s", name), 1);
                char wanted[128], labels[128];
                snprintf(wanted, sizeof wanted, "`%s`", name);
                snprintf(labels, sizeof labels, "`%s{", name);
                if (!strstr(page, wanted) && !strstr(page, labels))
                        fail_msg("docs/metrics.md does not name %s", name);
        }
        for (const char *at = page; (at = strstr(at, "`berth_")); at++, named++) {
                char wanted[128];
                assert_int_equal(sscanf(at, "`%95[a-z_]", name), 1);
                snprintf(wanted, sizeof wanted, "\n# TYPE %s ", name);
                if (!strstr(figures, wanted))
                        fail_msg("docs/metrics.md names %s, which is not there", name);
        }
        assert_true(families > 30);
        assert_int_equal(families, named);
        mem_free(page);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(figures_say_what_happened),
                cmocka_unit_test(histograms_rise_to_their_count),
                cmocka_unit_test(the_page_names_them_all),
        };
        return cmocka_run_group_tests(tests, start, stop);
}
