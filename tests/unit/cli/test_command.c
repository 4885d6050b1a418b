#include "tests/unit/cli/child.h"

#include "base/doc.h"

#define WORDS_MAX 12

/* ---- the table and its parser ---- */

static const struct command_option options[] = {
        {"seeds", 's', "A..B", "these"},
        {"json", 0, "FILE", "there"},
        {"quiet", 'q', NULL, "still"},
        {0},
};
static const struct command example = {.name = "try", .arguments = "FILE", .arguments_min = 1,
                                       .arguments_max = 1, .summary = "tries", .details = "more\n",
                                       .options = options};

/* Splits at blanks; getopt_long may permute the words. */
static int parse(const char *line, struct command_call *call, struct err *err)
{
        static char copy[256];
        char *words[WORDS_MAX + 1];
        int count = 0;

        snprintf(copy, sizeof copy, "%s", line);
        for (char *word = strtok(copy, " "); word && count < WORDS_MAX; word = strtok(NULL, " "))
                words[count++] = word;
        words[count] = NULL;
        return command_parse(&example, count, words, call, err);
}

static void options_and_arguments_stand_in_any_order(void **state)
{
        (void)state;
        static const char *const lines[] = {
                "try file --seeds 1..2 -q", "try -q -s 1..2 file", "try --seeds=1..2 file --quiet",
                "try -s1..2 --quiet -- file", "try --se 1..2 --q file",
        };
        for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
                struct command_call call;
                struct err err = {0};
                if (parse(lines[i], &call, &err) != 0)
                        fail_msg("%s: %s", lines[i], err.text);
                assert_string_equal(call.arguments[0], "file");
                assert_string_equal(command_value(&call, "seeds"), "1..2");
                assert_string_equal(command_value(&call, "quiet"), "");
                assert_null(command_value(&call, "json"));
        }
}

static void bad_lines_are_refused_with_the_way_out(void **state)
{
        (void)state;
        static const struct { const char *line, *sentence; } rows[] = {
                {"try", "name what to work on: berth try FILE"},
                {"try a b", "'b' is one argument too many"},
                {"try a --seed-s 1", "there is no option '--seed-s'; did you mean 'seeds'"},
                {"try a -x", "there is no option '-x'"},
                {"try a --seeds", "option '--seeds' needs a value: A..B"},
                {"try a -s", "option '-s' needs a value: A..B"},
                {"try a --quiet=yes", "option '--quiet=yes' takes no value"},
                {"try a --help=yes", "option '--help=yes' takes no value"},
                {"try a -q -q", "option --quiet is given twice"},
                {"try a --json x --json y", "option --json is given twice"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct command_call call = {0};
                struct err err = {0};
                if (parse(rows[i].line, &call, &err) != -ERR_INPUT)
                        fail_msg("'%s' was not refused", rows[i].line);
                check_has(err.text, rows[i].sentence);
                assert_null(call.command);
        }
}

static void help_is_found_wherever_it_stands(void **state)
{
        (void)state;
        static const char *const lines[] = {"try --help", "try -h", "try a b --help", "try -q -h"};
        for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
                struct command_call call;
                assert_int_equal(parse(lines[i], &call, NULL), 1);
        }
}

/* ---- the whole program, in a child ---- */

static void the_program_says_what_it_is(void **state)
{
        (void)state;
        static const struct child_row rows[] = {
                {"--version", 0, "berth ", ""},
                {"help", 0, "replay", ""},
                {"--help", 0, "replay", ""},
                {"help replay", 0, "usage: berth replay SCENARIO.yaml | --log FILE [--placement P,...]", ""},
                {"replay --help", 0, "examples:", ""},
                {"help nothing", 2, "", "there is no command 'nothing'"},
                {"", 2, "", "usage: berth COMMAND"},
                {"reply", 2, "", "there is no command 'reply'; did you mean 'replay'"},
                {"replay", 2, "", "name a scenario, or a pool's log with --log FILE"},
                {"replay @/none.yaml", 2, "", "none.yaml: No such file"},
                {"replay @/bad.yaml", 2, "", "bad.yaml:3: field 'workload.openb_pod': is not known "
                 "here; did you mean 'openb_pods'"},
                {"replay @/nofile.yaml", 2, "", "missing.csv: No such file"},
                {"replay @/mix.yaml --placement best", 2, "", "--placement: there is no placement"},
                {"replay @/mix.yaml --seeds 2..1", 2, "", "--seeds: the seeds run backwards"},
                {"replay @/mix.yaml --svg @/x.svg", 2, "", "there is no curve to draw"},
                {"replay @/mix.yaml --json @/no/x.json", 2, "", "/no/x.json"},
                {"replay @/mix.yaml --json @/mix.yaml", 2, "", "mix.yaml: is read by this run"},
                {"replay @/mix.yaml --models @/none.yaml", 2, "", "none.yaml: No such file"},
        };
        put("bad.yaml", "kind: Replay\npool: {openb_nodes: n.csv}\n"
                        "workload: {openb_pod: p.csv}\n");
        put("nofile.yaml", "kind: Replay\npool: {openb_nodes: missing.csv}\n"
                           "workload: {openb_pods: p.csv}\n");
        put("mix.yaml", "kind: Replay\nname: a mix\n"
                        "pool: {nodes: 2, devices_per_node: 2, model: A100-40}\n"
                        "workload: {load: 1, mix: {1g.5gb: 1, whole: 1}, mean_life: 20}\n"
                        "placements: [first-fit, auto]\nseeds: 1..3\n");
        check_rows(rows, ARRAY_LEN(rows), folder);
}

static void a_replay_prints_tables_or_nothing_but_json(void **state)
{
        (void)state;
        struct doc *doc;
        struct err err = {0};

        assert_int_equal(run_line("replay @/mix.yaml --json @/mix.json", folder), 0);
        char *out = text_of("out"), *said = text_of("err"), *json = text_of("mix.json");
        assert_string_equal(said, "");
        check_has(out, "a mix\n");
        check_has(out, "first-fit");
        check_has(json, "\"scenario\": \"a mix\"");
        mem_free(out);
        mem_free(said);
        mem_free(json);

        assert_int_equal(run_line("replay @/mix.yaml --json - --seeds 1 --placement random:7",
                                  folder), 0);
        out = text_of("out");
        assert_int_equal(out[0], '{');
        if (doc_read_json("out", out, strlen(out), &doc, &err) < 0)
                fail_msg("%s", err.text);
        const struct doc_node *runs = doc_get(doc_root(doc, 0), "runs");
        assert_int_equal(doc_length(runs), 1);
        assert_string_equal(doc_raw(doc_get(doc_first(runs), "placement")), "random:7");
        doc_free(doc);
        mem_free(out);
}

static void an_interrupt_ends_it_cleanly(void **state)
{
        (void)state;
        const char *const args[] = {"replay", path_of("long.yaml"), "--json", path_of("long.json"),
                                    NULL};

        put("long.yaml", "kind: Replay\nname: long\n"
                         "pool: {nodes: 200, devices_per_node: 8, model: A100-40}\n"
                         "workload: {load: 1, mix: {1g.5gb: 1}, measure_lives: 1000}\n"
                         "seeds: 1..100\n");
        assert_int_equal(interrupt_child(args), EXIT_STOPPED);
        check_err("stopped");
        char *out = text_of("out"), *json = text_of("long.json");
        check_has(out, "STOPPED");
        check_has(json, "\"stopped\": true");
        mem_free(out);
        mem_free(json);
}

static int open_folder(void **state)
{
        (void)state;
        return open_child_folder();
}

static int close_folder(void **state)
{
        static const char *const names[] = {"out", "err", "bad.yaml", "nofile.yaml", "mix.yaml",
                                            "mix.json", "long.yaml", "long.json"};

        (void)state;
        return close_child_folder(names, ARRAY_LEN(names));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(options_and_arguments_stand_in_any_order),
                cmocka_unit_test(bad_lines_are_refused_with_the_way_out),
                cmocka_unit_test(help_is_found_wherever_it_stands),
                cmocka_unit_test(the_program_says_what_it_is),
                cmocka_unit_test(a_replay_prints_tables_or_nothing_but_json),
                cmocka_unit_test(an_interrupt_ends_it_cleanly),
        };
        return cmocka_run_group_tests(tests, open_folder, close_folder);
}
