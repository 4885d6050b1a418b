/* What a worker says: its lines come back as they were said, and others are refused with a reason.
 */
#include "tests/unit/check.h"

#include "base/err.h"
#include "base/text.h"
#include "controller/worker_line.h"
#include "proto/log_group.h"

static struct worker_line parse(const char *text, size_t size)
{
        struct worker_line line;
        struct err err = {0};

        if (worker_line_parse(text, size, &line, &err) < 0)
                fail_msg("%s", err.text);
        return line;
}

static void figures_and_rates_come_back(void **state)
{
        const struct worker_figures figures = {.seq = 7, .behind = 1, .arrivals = 64,
                                               .answers = UINT64_MAX, .starts_wide = 3,
                                               .coverage_small = 100, .coverage_wide = 80};
        static struct worker_rates rates = {.since_ms = 1, .until_ms = 2, .count = 2}, again_rates;
        struct worker_figures again;
        struct text text = {0};

        (void)state;
        worker_figures_write(&figures, &text);
        struct worker_line line = parse(text.bytes, text.size - 1);
        assert_int_equal(line.word, WORKER_FIGURES);
        assert_int_equal(worker_figures_parse(&line, &again, NULL), 0);
        assert_memory_equal(&figures, &again, sizeof figures);
        text_done(&text);
        strcpy(rates.list[0].class, "training");
        strcpy(rates.list[1].class, "a \"quoted\" one");
        rates.list[1].stops = 5;
        rates.list[1].held_device_ms = 3600000;
        worker_rates_write(&rates, &text);
        line = parse(text.bytes, text.size - 1);
        assert_int_equal(worker_rates_parse(&line, &again_rates, NULL), 0);
        assert_memory_equal(&rates, &again_rates, sizeof rates);
        text_done(&text);
}

static void what_may_not_be_said_is_refused(void **state)
{
        static const struct { const char *line, *says; } rows[] = {
                {"hello", "no known word"},
                {"input ", "its record"},
                {"input 1 {}", "its time"},
                {"input x 1 {}", "x"},
                {"input 1 1 []", "no JSON object"},
                {"input 1 1 {\"input\":\"cancelled\",\"workload\":1}", "'cancelled'"},
                {"input 1 1 {\"input\":\"policy_set\",\"document\":\"x\"}", "'policy_set'"},
                {"input 1 1 {\"input\":\"demand_plan_set\"}", "'demand_plan_set'"},
                {"input 1 1 {\"input\":\"eta_set\",\"workload\":1,\"revision\":3}", "'eta_set'"},
                {"figures {", "no JSON object"},
                {"figures {\"seq\":-1}", "seq"},
                {"figures {\"coverage_small\":101}", "coverage"},
                {"rates {\"since_ms\":1,\"until_ms\":0,\"classes\":[]}", "before it begins"},
                {"rates {\"since_ms\":1,\"until_ms\":2}", "classes"},
                {"rates {\"since_ms\":1,\"until_ms\":2,\"classes\":[{}]}", "class"},
        };

        (void)state;
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                struct worker_line line;
                struct logged_input logged;
                static struct worker_rates rates;
                struct worker_figures figures;
                struct err err = {0};
                int rc = worker_line_parse(rows[r].line, strlen(rows[r].line), &line, &err);
                if (rc == 0 && line.word == WORKER_INPUT)
                        rc = worker_input_parse(&line, &logged, &err);
                else if (rc == 0 && line.word == WORKER_RATES)
                        rc = worker_rates_parse(&line, &rates, &err);
                else if (rc == 0 && line.word == WORKER_FIGURES)
                        rc = worker_figures_parse(&line, &figures, &err);
                if (rc == 0)
                        fail_msg("'%s' is taken", rows[r].line);
                check_has(err.text, rows[r].says);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(figures_and_rates_come_back),
                cmocka_unit_test(what_may_not_be_said_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
