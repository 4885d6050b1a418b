#include "tests/unit/cli/child.h"

static const char history[] = JOBS_SCENARIO "policies: [ours.yaml]\n";

static const char ours[] = "kind: Policy\n"
                           "preset: protected\n"
                           "tenants: {a: {protect: {V100: 8}}}\n";

static const char sacct[] =
        "JobID|Account|QOS|State|Submit|Start|End|ElapsedRaw|AllocTRES|NNodes\n"
        "1|a|long|COMPLETED|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T08:10:00|600|"
        "cpu=8,gres/gpu=3,node=2|2\n"
        "2|b|long|COMPLETED|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T08:10:00|600|"
        "cpu=8,gres/gpu:a100_3g.20gb=1,gres/gpu=1,node=1|1\n";

static const char *const names[] = {"jobs.csv", "history.yaml", "ours.yaml", "sacct.txt",
                                    "sacct.yaml", "out", "err", "json", "report", "ledger"};

static int open_folder(void **state)
{
        (void)state;
        if (open_child_folder() < 0)
                return -1;
        put_many_jobs();
        put("history.yaml", history);
        put("ours.yaml", ours);
        put("sacct.txt", sacct);
        put("sacct.yaml", "kind: Replay\npool: {nodes: 2, devices_per_node: 8, model: V100}\n"
                          "workload: {sacct: sacct.txt}\npolicies: [ours.yaml]\n");
        return 0;
}

static int close_folder(void **state)
{
        (void)state;
        return close_child_folder(names, ARRAY_LEN(names));
}

/* `berth replay history.yaml` with up to four words more. */
static int replay(const char *a, const char *b, const char *c, const char *d)
{
        const char *const args[] = {"replay", path_of("history.yaml"), a, b, c, d, NULL};

        return end_child(start_child(args));
}

static void outputs_that_cannot_be_written_are_refused_before_the_run(void **state)
{
        (void)state;
        const struct {
                const char *a, *b, *c, *d, *sentence;
        } rows[] = {
                {"--json", path_of("json"), "--ledger", path_of("json"),
                 "--json and --ledger name the same file; write two"},
                {"--showback", path_of("json"), "--report", path_of("./json"),
                 "--showback and --report name the same file"},
                {"--json", "-", "--facts", "-",
                 "--json and --facts both go to standard output; name a file for one"},
                {"--report", folder, NULL, NULL, ": is a directory; name a file in it"},
                {"--report", "/nowhere/at/all", NULL, NULL, "there is no folder '/nowhere/at'"},
                {"--report", "", NULL, NULL, "--report: an empty file name; write one, or -"},
                {"--json", path_of("jobs.csv"), NULL, NULL, "is read by this run"},
                {"--ledger", path_of("ours.yaml"), NULL, NULL, "is read by this run"},
                {"--seeds", "1..2", "--focus", path_of("json"), "and here are 2 runs; name one"},
                {"--explain-at", "2023-11-14T23:00Z", "--ledger", path_of("json"),
                 "--ledger is written at the end of a replay, and --explain-at ends it before"},
                {"--explain-at", "2023-11-14T23:00Z", "--json", path_of("json"),
                 "--json goes to standard output only; write --json -"},
        };

        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                int code = replay(rows[r].a, rows[r].b, rows[r].c, rows[r].d);
                assert_int_equal(code, EXIT_BAD_INPUT);
                check_err(rows[r].sentence);
                assert_int_equal(access(path_of("json"), F_OK), -1);
        }
        assert_int_equal(access(path_of("jobs.csv"), F_OK), 0);
}

/* It is nobody's mistake, so it is not said to be one; other files are whole. */
static void a_full_disk_is_trouble_and_no_bad_input(void **state)
{
        (void)state;
        if (access("/dev/full", W_OK) < 0)
                skip();
        assert_int_equal(replay("--json", "/dev/full", "--ledger", path_of("ledger")),
                         EXIT_TROUBLE);
        check_err("/dev/full: No space left on device");
        char *text = text_of("ledger");
        check_has(text, "\ntotal,ours.yaml,consolidate,1,V100-16,");
        mem_free(text);
        unlink(path_of("ledger"));
}

static void notes_are_said_once_on_standard_error(void **state)
{
        (void)state;
        const char *const args[] = {"replay", path_of("sacct.yaml"), "--json", "-", NULL};

        assert_int_equal(end_child(start_child(args)), EXIT_FINE);
        check_err("/sacct.txt: 1 jobs with devices of no named type, taken as whole ones; 1 jobs "
                  "uneven over their nodes, rounded up\n");
        check_err("/sacct.txt: 1 jobs had slices or shares; here each of them holds whole devices");
        check_err("note: ours.yaml does not name 1 of the history's 2 tenants (b ...); they are "
                  "promised nothing\n");
        check_err("note: ours.yaml does not name 1 of the history's classes (long ...)");
        char *text = text_of("out");
        assert_true(text[0] == '{');
        mem_free(text);
}

static void interrupted_it_keeps_what_was_finished(void **state)
{
        (void)state;
        const char *const args[] = {"replay", path_of("history.yaml"), "--seeds", "1..1000",
                                    "--json", path_of("json"), "--report", path_of("report"), NULL};

        assert_int_equal(interrupt_child(args), EXIT_STOPPED);
        check_err("berth replay: stopped; what was finished is above");
        char *text = text_of("out"), *json = text_of("json"), *report = text_of("report");
        check_has(text, "STOPPED: only what was finished by then stands below");
        if (json[0]) {
                check_has(json, "\"stopped\":true}\n");
                check_has(text, "of 1000 seeds");
        }
        check_has(report, "STOPPED");
        mem_free(text);
        mem_free(json);
        mem_free(report);
}

static void interrupted_before_the_look_it_is_stopped_too(void **state)
{
        (void)state;
        const char *const args[] = {"replay", path_of("history.yaml"), "--seeds", "1..1000",
                                    "--explain-at", "2100-01-01T00:00Z", NULL};

        assert_int_equal(interrupt_child(args), EXIT_STOPPED);
        check_err("berth replay: stopped\n");
}

static void the_scenarios_eta_is_taken_and_the_option_goes_before_it(void **state)
{
        (void)state;
        char text[1024];

        snprintf(text, sizeof text, "%seta: 1000000\n", history);
        put("history.yaml", text);
        assert_int_equal(replay("--seeds", "1", NULL, NULL), EXIT_FINE);
        char *out = text_of("out");
        check_has(out, "starts foretold to jobs that had to wait");
        mem_free(out);
        assert_int_equal(replay("--eta", "0", NULL, NULL), EXIT_BAD_INPUT);
        check_err("--eta: '0' is out of range; write 1 to 1000000");
        put("history.yaml", history);
        assert_int_equal(replay("--eta", "999999", "--seeds", "1"), EXIT_FINE);
        out = text_of("out");
        check_has(out, "starts foretold");
        mem_free(out);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(outputs_that_cannot_be_written_are_refused_before_the_run),
                cmocka_unit_test(a_full_disk_is_trouble_and_no_bad_input),
                cmocka_unit_test(notes_are_said_once_on_standard_error),
                cmocka_unit_test(interrupted_it_keeps_what_was_finished),
                cmocka_unit_test(interrupted_before_the_look_it_is_stopped_too),
                cmocka_unit_test(the_scenarios_eta_is_taken_and_the_option_goes_before_it),
        };
        return cmocka_run_group_tests(tests, open_folder, close_folder);
}
