#include "tests/unit/cli/child.h"

#include "base/doc.h"
#include "cli/manual.h"

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

/* ---- actions, repeated options, what stands behind "--" ---- */

static const struct command_option more_options[] = {
        {"to", 0, "X", "set: where to"},
        {"by", 0, "X", "set, drop: by whom"},
        {"env", 'e', "K=V ...", "which may be repeated"},
        {"all", 0, NULL, "set is a word that this merely begins with"},
        {"out", 0, "[FILE.json]", "which may stand alone"},
        {0},
};
static const struct command_action actions[] = {
        {"set", "NAME", 1, 2, NULL}, {"drop", "", 0, 0, NULL}, {"list", "", 0, 0, NULL}, {0}};
static const struct command acting = {.name = "act", .details = "", .summary = "",
                                      .options = more_options, .actions = actions};
static const struct command tailed = {.name = "run", .arguments = "[FILE]", .arguments_max = 1,
                                      .tail = "COMMAND", .details = "", .summary = "",
                                      .options = more_options};

static int parse_as(const struct command *command, const char *line, struct command_call *call,
                    struct err *err)
{
        static char copy[4096];
        static char *words[512];
        int count = 0;

        snprintf(copy, sizeof copy, "%s", line);
        for (char *word = strtok(copy, " "); word && count < 511; word = strtok(NULL, " "))
                words[count++] = word;
        words[count] = NULL;
        return command_parse(command, count, words, call, err);
}

static void an_action_takes_its_own_arguments_and_options(void **state)
{
        (void)state;
        static const struct { const char *line, *sentence; size_t arguments; } rows[] = {
                {"act set a", NULL, 1},
                {"act --to x set a b --by y", NULL, 2},
                {"act drop --by x", NULL, 0},
                {"act list --all", NULL, 0},
                {"act list --env a", NULL, 0},
                {"act", "say what to do; known: 'set', 'drop', 'list'", 0},
                {"act lst", "there is no 'lst'; did you mean 'list'", 0},
                {"act set", "name what to work on: berth act set NAME", 0},
                {"act set a b c", "'c' is one argument too many", 0},
                {"act drop a", "'a' is one argument too many", 0},
                {"act drop --to x", "--to goes with set only", 0},
                {"act list --by x", "--by goes with set, drop only", 0},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct command_call call = {0};
                struct err err = {0};
                int rc = parse_as(&acting, rows[i].line, &call, &err);
                if ((rc == 0) != !rows[i].sentence)
                        fail_msg("'%s': %d %s", rows[i].line, rc, err.text);
                if (rows[i].sentence)
                        check_has(err.text, rows[i].sentence);
                assert_int_equal(call.arguments_count, rows[i].arguments);
                if (rc == 0)
                        assert_non_null(strstr(rows[i].line, call.action->name));
        }
}

static void a_value_may_be_left_out(void **state)
{
        (void)state;
        static const struct { const char *line, *value; size_t arguments; } rows[] = {
                {"run x", NULL, 1},
                {"run --out", "-", 0},
                {"run x --out", "-", 1},
                {"run --out x", "-", 1},        /* is not written over */
                {"run --out -", "-", 0},
                {"run --out --all x", "-", 1},
                {"run --out a.json x", "a.json", 1},
                {"run --out=a.db x", "a.db", 1},
                {"run --out .json", "-", 1},
                {"run --out -- x", "-", 0},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct command_call call = {0};
                struct err err = {0};
                if (parse_as(&tailed, rows[i].line, &call, &err) != 0)
                        fail_msg("'%s': %s", rows[i].line, err.text);
                const char *value = command_value(&call, "out");
                if (!value != !rows[i].value || (value && strcmp(value, rows[i].value) != 0))
                        fail_msg("'%s': '%s'", rows[i].line, value ? value : "none");
                assert_int_equal(call.arguments_count, rows[i].arguments);
        }
}

static void an_option_that_may_be_repeated_keeps_all_its_values(void **state)
{
        (void)state;
        struct command_call call;
        struct err err = {0};
        size_t cursor = 0;
        assert_int_equal(parse_as(&tailed, "run -e a=1 --env b=2 --by x -ec=3", &call, &err), 0);
        assert_string_equal(command_each(&call, "env", &cursor), "a=1");
        assert_string_equal(command_each(&call, "env", &cursor), "b=2");
        assert_string_equal(command_each(&call, "env", &cursor), "c=3");
        assert_null(command_each(&call, "env", &cursor));
        cursor = 0;
        assert_null(command_each(&call, "by", &cursor));

        char line[4096] = "run";
        for (int i = 0; i < COMMAND_REPEATS_MAX; i++)
                strcat(line, " -e x");
        assert_int_equal(parse_as(&tailed, line, &call, &err), 0);
        assert_int_equal(parse_as(&tailed, strcat(line, " -e x"), &call, &err), -ERR_INPUT);
        check_has(err.text, "option --env: more than 128 are given");
}

static void what_stands_behind_two_dashes_is_left_alone(void **state)
{
        (void)state;
        static const struct { const char *line; size_t arguments; const char *tail; } rows[] = {
                {"run -- a --by b -- c", 0, "a --by b -- c"},
                {"run file", 1, ""},
                {"run file --by x -- a", 1, "a"},
                {"run --by -- -- a", 0, "a"},
                {"run --", 0, ""},
                {"run --by --", 0, ""},
                {"run file --by --", 1, ""},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct command_call call;
                struct err err = {0};
                char tail[64] = "";
                if (parse_as(&tailed, rows[i].line, &call, &err) != 0)
                        fail_msg("'%s': %s", rows[i].line, err.text);
                for (size_t t = 0; t < call.tail_count; t++) {
                        strcat(tail, t > 0 ? " " : "");
                        strcat(tail, call.tail[t]);
                }
                assert_string_equal(tail, rows[i].tail);
                assert_int_equal(call.arguments_count, rows[i].arguments);
        }
}

static void as_many_arguments_as_fit_and_no_more(void **state)
{
        (void)state;
        static const struct command many = {.name = "many", .arguments = "X ...",
                                            .arguments_max = COMMAND_ARGUMENTS_MAX, .details = "",
                                            .summary = "", .options = more_options};
        struct command_call call;
        struct err err = {0};
        char line[4096] = "many";
        for (int i = 0; i < COMMAND_ARGUMENTS_MAX; i++)
                strcat(line, " x");
        assert_int_equal(parse_as(&many, line, &call, &err), 0);
        assert_int_equal(call.arguments_count, COMMAND_ARGUMENTS_MAX);
        assert_int_equal(parse_as(&many, strcat(line, " x"), &call, &err), -ERR_INPUT);
        check_has(err.text, "more than 256 arguments");
}

/* ---- help ---- */

static void only_what_can_wait_has_the_exit_code_of_waiting(void **state)
{
        (void)state;
        size_t waiting = 0;

        for (const struct command *const *each = commands; *each; each++) {
                const struct command_option *option = (*each)->options;
                char *help = NULL, *page = NULL;
                size_t size;
                while (option->name && strcmp(option->name, "wait") != 0)
                        option++;
                waiting += option->name != NULL;
                FILE *file = open_memstream(&help, &size);
                command_help(*each, file);
                fclose(file);
                file = open_memstream(&page, &size);
                assert_int_equal(manual_write(*each, file, NULL), 0);
                fclose(file);
                assert_int_equal(strstr(help, "\n  6    of --wait: ") != NULL,
                                 option->name != NULL);
                assert_int_equal(strstr(page, "\\fB6\\fR\nof \\-\\-wait: ") != NULL,
                                 option->name != NULL);
                assert_int_equal(strstr(help, "\n  5    nobody answered") != NULL,
                                 (*each)->is_live);
                free(help);
                free(page);
        }
        assert_int_equal(waiting, 1);           /* submit */
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
                cmocka_unit_test(an_action_takes_its_own_arguments_and_options),
                cmocka_unit_test(a_value_may_be_left_out),
                cmocka_unit_test(an_option_that_may_be_repeated_keeps_all_its_values),
                cmocka_unit_test(what_stands_behind_two_dashes_is_left_alone),
                cmocka_unit_test(as_many_arguments_as_fit_and_no_more),
                cmocka_unit_test(only_what_can_wait_has_the_exit_code_of_waiting),
                cmocka_unit_test(the_program_says_what_it_is),
                cmocka_unit_test(a_replay_prints_tables_or_nothing_but_json),
                cmocka_unit_test(an_interrupt_ends_it_cleanly),
        };
        return cmocka_run_group_tests(tests, open_folder, close_folder);
}
