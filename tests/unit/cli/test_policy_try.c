#include "tests/unit/cli/child.h"

/* One node of eight devices: what is tenant a's by promise is held by b when a comes. */
static const char jobs[] = "at,ran,gpus,team\n"
                           "2026-01-05 08:00:00,7200,8,b\n"
                           "2026-01-05 08:01:00,600,8,a\n"
                           "2026-01-05 08:02:00,600,1,b\n";

static const char ours[] = "kind: Policy\n"
                           "preset: protected\n"
                           "rules: {stop_rate: {pct: 100, per: 10m}}\n"
                           "tenants: {a: {protect: {V100: 8}}, b: {}}\n";

static int open_folder(void **state)
{
        (void)state;
        if (open_child_folder() < 0)
                return -1;
        put("jobs.csv", jobs);
        put("history.yaml", JOBS_SCENARIO);
        put("ours.yaml", ours);
        return 0;
}

static int close_folder(void **state)
{
        static const char *const names[] = {"jobs.csv", "history.yaml", "ours.yaml",
                                            "long.yaml", "out", "err", "json"};

        (void)state;
        return close_child_folder(names, ARRAY_LEN(names));
}

/* `berth policy try ours.yaml --history history.yaml ...`; its exit code. */
static int try(const char *against, const char *json)
{
        const char *args[12] = {"policy", "try", path_of("ours.yaml"), "--history",
                                path_of("history.yaml")};
        unsigned count = 5;

        if (against) {
                args[count++] = "--against";
                args[count++] = against;
        }
        char output[300];
        if (json) {                     /* of any name: what ends in .json may stand apart */
                snprintf(output, sizeof output, "--json=%s", json);
                args[count++] = output;
        }
        return end_child(start_child(args));
}

static void before_and_after_stand_side_by_side(void **state)
{
        (void)state;
        assert_int_equal(try("fifo-skip", NULL), EXIT_FINE);
        char *text = text_of("out");

        check_has(text, "small: 3 jobs of 2 tenants, 1 seed\n");
        check_has(text, "fifo-skip -> ");
        check_has(text, "tenant  jobs");
        check_has(text, "promises broken");
        check_has(text, "\nb          2");
        check_has(text, "\na          1");
        check_has(text, "\nall        3");
        check_has(text, "the mean wait of a job is ");
        check_has(text, "Work is stopped 1 times instead of 0");
        check_has(text, "promised devices");
        check_has(text, "before, none was promised");
        mem_free(text);
}

/* It waits for the exempt time and the notice, not for the end of what is in its place. */
static void a_promise_shortens_its_tenants_wait(void **state)
{
        (void)state;
        assert_int_equal(try("fifo-skip", path_of("json")), EXIT_FINE);
        char *text = text_of("json");

        check_has(text, "\"history\": \"small\"");
        check_has(text, "\"before\": \"fifo-skip\"");
        check_has(text, "\"tenant\": \"a\",\n      \"before\": {\n        \"jobs\": 1,\n"
                        "        \"wait_s\": {\n          \"mean\": 7140,");
        check_has(text, "\"promises_broken\": null");
        check_has(text, "\"stops\": 1,");
        mem_free(text);
}

static void what_cannot_be_tried_is_said(void **state)
{
        (void)state;
        assert_int_equal(try("fifoskip", NULL), EXIT_BAD_INPUT);
        check_err("did you mean 'fifo-skip'");
        assert_int_equal(try(path_of("ours.yaml"), NULL), EXIT_BAD_INPUT);
        check_err("tried against itself");
        assert_int_equal(try(path_of("./ours.yaml"), NULL), EXIT_BAD_INPUT);
        check_err("tried against itself");
        assert_int_equal(try("none.yaml", NULL), EXIT_BAD_INPUT);
}

static void an_output_that_would_lose_something_is_refused_before_the_run(void **state)
{
        (void)state;
        assert_int_equal(try("fifo-skip", path_of("jobs.csv")), EXIT_BAD_INPUT);
        check_err("/jobs.csv: is read by this run and would be written over");
        assert_int_equal(try("fifo-skip", path_of("ours.yaml")), EXIT_BAD_INPUT);
        assert_int_equal(try("fifo-skip", "/nowhere/x"), EXIT_BAD_INPUT);
        check_err("there is no folder '/nowhere'");
        assert_int_equal(try("fifo-skip", folder), EXIT_BAD_INPUT);
        check_err("is a directory");
        if (access("/dev/full", W_OK) == 0)
                assert_int_equal(try("fifo-skip", "/dev/full"), EXIT_TROUBLE);
}

/* In the first policy there is nothing to compare; in the second one, what both have. */
static void interrupted_it_shows_what_can_be_compared(void **state)
{
        (void)state;
        char output[300];
        const char *const args[] = {"policy", "try", path_of("ours.yaml"), "--history",
                                    path_of("long.yaml"), "--seeds", "1..1000", output, NULL};

        snprintf(output, sizeof output, "--json=%s", path_of("json"));
        put_many_jobs();
        put("long.yaml", JOBS_SCENARIO);
        unlink(path_of("json"));
        int code = interrupt_child(args);
        put("jobs.csv", jobs);
        assert_int_equal(code, EXIT_STOPPED);
        check_err("berth policy: stopped; ");
        char *out = text_of("out"), *said = text_of("err");
        if (strstr(said, "nothing can be compared yet")) {
                assert_true(out[0] == '\0');
                assert_int_equal(access(path_of("json"), F_OK), -1);
        } else {
                check_has(out, "STOPPED: of ");
                check_has(out, " of 1000 seeds\n");
        }
        mem_free(out);
        mem_free(said);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(before_and_after_stand_side_by_side),
                cmocka_unit_test(a_promise_shortens_its_tenants_wait),
                cmocka_unit_test(what_cannot_be_tried_is_said),
                cmocka_unit_test(an_output_that_would_lose_something_is_refused_before_the_run),
                cmocka_unit_test(interrupted_it_shows_what_can_be_compared),
        };
        return cmocka_run_group_tests(tests, open_folder, close_folder);
}
