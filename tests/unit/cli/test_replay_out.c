#include "tests/unit/check.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "cli/replay_out.h"
#include "proto/scenario.h"
#include "sim/replay.h"

static struct scenario scenario;
static struct replay_result result;

static void set_curve(void)
{
        memset(&scenario, 0, sizeof scenario);
        memset(&result, 0, sizeof result);
        snprintf(scenario.name, sizeof scenario.name, "a <curve> & \"more\"");
        scenario.workload.arrive_pct = 130;
        scenario.seed_first = 42;
        scenario.seed_last = 51;
        result.runs_count = 2;
        for (uint32_t r = 0; r < 2; r++) {
                struct replay_run *run = &result.runs[r];
                run->placement.kind = r ? POLICY_RANDOM : POLICY_AUTO;
                run->placement.seed = 7;
                run->points_count = 2;
                run->points[0] = (struct replay_point){.arrived_pct = 100,
                                                       .unallocated_pct = {4.25 + r, 0.125},
                                                       .fragmented_pct = {3.5, 0.25},
                                                       .has_fragmented = r == 0};
                run->points[1] =
                        (struct replay_point){.arrived_pct = 130, .unallocated_pct = {4, 0.5}};
                run->acceptance.count_pct = (struct replay_stat){77.5, 0.5};
                run->acceptance.units_pct = (struct replay_stat){74.5, 0.25};
                run->accepted = 1234;
                run->refused = 56;
                run->decisions_per_s = 250000;
                run->decide_p50_us = 1.5;
                run->decide_p99_us = 12;
                run->peak_rss_mib = 64;
                run->facts_hash = 0xabcdef;
        }
        result.runs[0].plan_s = 2.5;
        result.runs[0].plan_priced = true;
        snprintf(result.runs[0].plan_note, sizeof result.runs[0].plan_note, "prices decide");
}

static void set_tasks(void)
{
        set_curve();
        scenario.workload.source = WORKLOAD_TASKS;
        scenario.workload.arrivals = ARRIVALS_POISSON;
        scenario.workload.load_milli = 800;
        scenario.workload.mean_life = 500;
        scenario.workload.measure_lives = 9;
        scenario.workload.tasks_count = 1;
        scenario.workload.tasks[0].mixed = METHOD_SHARE;
        struct scenario_interference *table = &scenario.workload.interference;
        table->given[METHOD_SLICE] = table->given[METHOD_SHARE] = true;
        table->per_neighbour_permille[METHOD_SLICE] = 5;
        table->per_neighbour_permille[METHOD_SHARE] = 150;
        table->measured[METHOD_SLICE] = true;
        snprintf(table->source[METHOD_SLICE], sizeof table->source[0], "our bench");
        result.runs_count = 4;
        for (uint32_t r = 0; r < 4; r++) {
                struct replay_run *run = &result.runs[r];
                *run = result.runs[1];
                run->points_count = 0;
                run->has_method = true;
                run->method = (enum task_method)r;
                run->has_benefit = true;
                run->benefit.done_per_life = (struct replay_stat){100, 1};
                run->benefit.over_whole_pct = (struct replay_stat){r == 2 ? -12.5 : 5, 1};
                run->benefit.slowdown_pct = (struct replay_stat){1.5, 0};
        }
}

/* The value at the path, "" where there is none. */
static const char *at(const struct doc *doc, const char *path)
{
        static char copy[128];
        const struct doc_node *node = doc_root(doc, 0);

        snprintf(copy, sizeof copy, "%s", path);
        for (char *word = strtok(copy, "/"); word && node; word = strtok(NULL, "/")) {
                if (doc_kind(node) != DOC_LIST) {
                        node = doc_get(node, word);
                        continue;
                }
                int index = atoi(word);
                for (node = doc_first(node); node && index > 0; index--)
                        node = doc_next(node);
        }
        return !node ? "" : doc_kind(node) == DOC_SCALAR ? doc_raw(node) : "(container)";
}

static struct doc *json(bool is_whole)
{
        char *text = NULL;
        size_t size;
        struct doc *doc = NULL;
        struct err err = {0};

        if (replay_json(&scenario, &result, is_whole, &text, &size, &err) < 0 ||
            doc_read_json("j", text, size, &doc, &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(text[size - 1], '\n');
        mem_free(text);
        return doc;
}

static void check_at(const struct doc *doc, const char *path, const char *value)
{
        if (strcmp(at(doc, path), value) != 0)
                fail_msg("%s is '%s', wanted '%s'", path, at(doc, path), value);
}

static void json_has_the_promised_shape(void **state)
{
        (void)state;
        set_curve();
        struct doc *doc = json(true);
        static const struct {
                const char *path, *value;
        } rows[] = {
                {"scenario", "a <curve> & \"more\""},
                {"runs/0/placement", "auto"},
                {"runs/0/points/0/arrived_pct", "100"},
                {"runs/0/points/0/unallocated_pct/mean", "4.25"},
                {"runs/0/points/0/unallocated_pct/sd", "0.125"},
                {"runs/0/points/0/fragmented_pct_of_capacity/mean", "3.5"},
                {"runs/0/points/1/fragmented_pct_of_capacity", ""},
                {"runs/0/acceptance/count_pct/mean", "77.5"},
                {"runs/0/acceptance/slices_pct", ""},
                {"runs/0/acceptance/units_pct/sd", "0.25"},
                {"runs/0/accepted", "1234"},
                {"runs/0/refused", "56"},
                {"runs/0/decisions_per_s", "250000.0"},
                {"runs/0/decide_us/p50", "1.5"},
                {"runs/0/decide_us/p99", "12.0"},
                {"runs/0/plan_s", "2.5"},
                {"runs/0/plan/priced", "true"},
                {"runs/0/plan/note", "prices decide"},
                {"runs/0/peak_rss_mib", "64.0"},
                {"runs/0/facts_hash", "0000000000abcdef"},
                {"runs/0/method", ""},
                {"runs/0/benefit", ""},
                {"runs/1/placement", "random:7"},
                {"runs/1/plan_s", ""},
                {"runs/1/points/0/fragmented_pct_of_capacity", ""},
                {"interference", ""},
                {"stopped", ""},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                check_at(doc, rows[i].path, rows[i].value);
        doc_free(doc);
        result.runs[0].acceptance.has_slices = true;
        result.runs[0].decisions_per_s = NAN;
        doc = json(false);
        check_at(doc, "stopped", "true");
        check_at(doc, "runs/0/acceptance/slices_pct", "(container)");
        doc_free(doc);
}

static void json_tells_benefit_and_interference(void **state)
{
        (void)state;
        set_tasks();
        struct doc *doc = json(true);
        check_at(doc, "runs/2/method", "share");
        check_at(doc, "runs/2/benefit/over_whole_pct/mean", "-12.5");
        check_at(doc, "runs/2/points", "");
        check_at(doc, "interference/slice/per_neighbour_pct", "0.5");
        check_at(doc, "interference/slice/measured", "true");
        check_at(doc, "interference/slice/source", "our bench");
        check_at(doc, "interference/share/measured", "false");
        check_at(doc, "interference/share/source", "");
        doc_free(doc);
}

static char *table(bool is_whole, size_t width)
{
        char *text = NULL;
        size_t size;
        struct err err = {0};
        FILE *file = open_memstream(&text, &size);

        if (replay_table(&scenario, &result, is_whole, width, file, &err) < 0)
                fail_msg("%s", err.text);
        fclose(file);
        return text;
}

static void tables_say_what_was_found(void **state)
{
        (void)state;
        set_curve();
        char *text = table(true, 80);
        static const char *const parts[] = {"10 seeds (42..51), mean \u00b1sd",
                                            "at 130 %",
                                            "4.25 \u00b10.12",
                                            "random:7",
                                            "77.50 \u00b10.50",
                                            "250000",
                                            "2.50",
                                            "auto: prices decide"};
        for (size_t i = 0; i < ARRAY_LEN(parts); i++)
                check_has(text, parts[i]);
        assert_null(strstr(text, "slices %"));
        assert_null(strstr(text, "STOPPED"));
        assert_null(strstr(text, "method"));
        free(text);

        scenario.seed_last = 42;
        text = table(false, 80);
        check_has(text, "STOPPED");
        assert_null(strstr(text, "\u00b1"));
        free(text);

        setlocale(LC_CTYPE, "C");
        scenario.seed_last = 43;
        text = table(true, 80);
        check_has(text, "4.25 +-0.12");
        setlocale(LC_CTYPE, "C.UTF-8");
        free(text);

        result.runs_count = 0;
        text = table(false, 80);
        check_has(text, "STOPPED");
        free(text);
}

static void tables_say_what_is_measured_and_what_assumed(void **state)
{
        (void)state;
        set_tasks();
        char *text = table(true, 100);
        static const char *const parts[] = {
                "whole (baseline)",
                "-12.5 \u00b11.00",
                "+5.0 \u00b11.00",
                "no neighbours",
                "measured",
                "assumed",
        };
        for (size_t i = 0; i < ARRAY_LEN(parts); i++)
                check_has(text, parts[i]);
        free(text);
}

static void the_curve_is_well_formed(void **state)
{
        (void)state;
        set_curve();
        char *text = NULL;
        size_t size;
        struct err err = {0};
        assert_true(replay_has_curve(&scenario, &err));
        assert_int_equal(replay_svg(&scenario, &result, true, &text, &size, &err), 0);
        assert_int_equal(strlen(text), size);
        check_has(text, "<title>a &lt;curve&gt; &amp; &quot;more&quot;</title>");
        check_has(text, "random:7");
        check_has(text, "prefers-color-scheme: dark");
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, "inf"));
        mem_free(text);

        /* Nothing finished, one point, all zero: still a picture. */
        result.runs[0].points_count = 1;
        result.runs[0].points[0].unallocated_pct = (struct replay_stat){0, 0};
        for (uint32_t count = 0; count < 2; count++) {
                result.runs_count = count;
                assert_int_equal(replay_svg(&scenario, &result, false, &text, &size, &err), 0);
                check_has(text, "(stopped before its end)");
                assert_null(strstr(text, "nan"));
                assert_null(strstr(text, "inf"));
                mem_free(text);
        }
        set_tasks();
        assert_false(replay_has_curve(&scenario, &err));
        check_has(err.text, "leave --svg out");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(json_has_the_promised_shape),
                cmocka_unit_test(json_tells_benefit_and_interference),
                cmocka_unit_test(tables_say_what_was_found),
                cmocka_unit_test(tables_say_what_is_measured_and_what_assumed),
                cmocka_unit_test(the_curve_is_well_formed),
        };
        setlocale(LC_CTYPE, "C.UTF-8");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
