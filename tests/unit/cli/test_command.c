#include "tests/unit/check.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/command.h"

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

struct outcome {
        int code;
        char *out, *err;
};

static char folder[] = "/tmp/berth-test-XXXXXX";

static char *slurp(const char *name)
{
        char path[128];
        char *bytes = NULL;
        size_t size;
        struct err err;

        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (file_read(path, 1u << 24, &bytes, &size, &err) < 0)
                fail_msg("%s", err.text);
        return bytes;
}

static void run_child(char **words, int count, unsigned interrupt_after_ms, struct outcome *outcome)
{
        char out[128], err[128];

        snprintf(out, sizeof out, "%s/out", folder);
        snprintf(err, sizeof err, "%s/err", folder);
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
                if (!freopen(out, "w", stdout) || !freopen(err, "w", stderr))
                        _exit(99);
                int code = command_main(count, words);
                fflush(NULL);
                _exit(code);
        }
        if (interrupt_after_ms > 0) {
                usleep(interrupt_after_ms * 1000);
                kill(child, SIGINT);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        outcome->code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
        outcome->out = slurp("out");
        outcome->err = slurp("err");
}

/* "@/x" in a line is the file x of the test's folder. */
static struct outcome run_line(const char *line, unsigned interrupt_after_ms)
{
        char copy[512], paths[WORDS_MAX][128];
        char *words[WORDS_MAX + 1];
        struct outcome outcome;
        int count = 0;

        snprintf(copy, sizeof copy, "berth %s", line);
        for (char *word = strtok(copy, " "); word && count < WORDS_MAX; word = strtok(NULL, " ")) {
                snprintf(paths[count], sizeof paths[count], "%s%s",
                         strncmp(word, "@/", 2) == 0 ? folder : "",
                         strncmp(word, "@/", 2) == 0 ? word + 1 : word);
                words[count] = paths[count];
                count++;
        }
        words[count] = NULL;
        run_child(words, count, interrupt_after_ms, &outcome);
        return outcome;
}

static void outcome_done(struct outcome *outcome)
{
        mem_free(outcome->out);
        mem_free(outcome->err);
}

static void write_file(const char *name, const char *text)
{
        char path[128];
        struct err err;

        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (file_write(path, text, strlen(text), &err) < 0)
                fail_msg("%s", err.text);
}

static void the_program_says_what_it_is(void **state)
{
        (void)state;
        static const struct { const char *line; int code; const char *out, *err; } rows[] = {
                {"--version", 0, "berth ", ""},
                {"help", 0, "replay", ""},
                {"--help", 0, "replay", ""},
                {"help replay", 0, "usage: berth replay SCENARIO.yaml [--placement P,...]", ""},
                {"replay --help", 0, "examples:", ""},
                {"help nothing", 2, "", "there is no command 'nothing'"},
                {"", 2, "", "usage: berth COMMAND"},
                {"reply", 2, "", "there is no command 'reply'; did you mean 'replay'"},
                {"replay", 2, "", "name what to work on: berth replay SCENARIO.yaml\n"
                 "usage: berth replay"},
                {"replay @/none.yaml", 2, "", "none.yaml: No such file"},
                {"replay @/bad.yaml", 2, "", "bad.yaml:3: field 'workload.openb_pod': is not known "
                 "here; did you mean 'openb_pods'"},
                {"replay @/nofile.yaml", 2, "", "missing.csv: No such file"},
                {"replay @/mix.yaml --placement best", 2, "", "--placement: there is no placement"},
                {"replay @/mix.yaml --seeds 2..1", 2, "", "--seeds: the seeds run backwards"},
                {"replay @/mix.yaml --svg @/x.svg", 2, "", "there is no curve to draw"},
                {"replay @/mix.yaml --json @/no/x.json", 2, "", "/no/x.json"},
                {"replay @/mix.yaml --json @/mix.yaml", 2, "", "mix.yaml: is read by this replay"},
                {"replay @/mix.yaml --models @/none.yaml", 2, "", "none.yaml: No such file"},
        };
        write_file("bad.yaml", "kind: Replay\npool: {openb_nodes: n.csv}\n"
                               "workload: {openb_pod: p.csv}\n");
        write_file("nofile.yaml", "kind: Replay\npool: {openb_nodes: missing.csv}\n"
                                  "workload: {openb_pods: p.csv}\n");
        write_file("mix.yaml", "kind: Replay\nname: a mix\n"
                               "pool: {nodes: 2, devices_per_node: 2, model: A100-40}\n"
                               "workload: {load: 1, mix: {1g.5gb: 1, whole: 1}, mean_life: 20}\n"
                               "placements: [first-fit, auto]\nseeds: 1..3\n");
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct outcome outcome = run_line(rows[i].line, 0);
                if (outcome.code != rows[i].code)
                        fail_msg("'%s' ended with %d: %s", rows[i].line, outcome.code, outcome.err);
                check_has(outcome.out, rows[i].out);
                check_has(outcome.err, rows[i].err);
                outcome_done(&outcome);
        }
}

static void a_replay_prints_tables_or_nothing_but_json(void **state)
{
        (void)state;
        struct outcome outcome = run_line("replay @/mix.yaml --json @/mix.json", 0);
        struct doc *doc;
        struct err err = {0};
        assert_int_equal(outcome.code, 0);
        assert_string_equal(outcome.err, "");
        check_has(outcome.out, "a mix\n");
        check_has(outcome.out, "first-fit");
        outcome_done(&outcome);

        outcome = run_line("replay @/mix.yaml --json - --seeds 1 --placement random:7", 0);
        assert_int_equal(outcome.code, 0);
        assert_int_equal(outcome.out[0], '{');
        if (doc_read_json("out", outcome.out, strlen(outcome.out), &doc, &err) < 0)
                fail_msg("%s", err.text);
        const struct doc_node *runs = doc_get(doc_root(doc, 0), "runs");
        assert_int_equal(doc_length(runs), 1);
        assert_string_equal(doc_raw(doc_get(doc_first(runs), "placement")), "random:7");
        doc_free(doc);
        outcome_done(&outcome);
        char *json = slurp("mix.json");
        check_has(json, "\"scenario\": \"a mix\"");
        mem_free(json);
}

static void an_interrupt_ends_it_cleanly(void **state)
{
        (void)state;
        write_file("long.yaml", "kind: Replay\nname: long\n"
                                "pool: {nodes: 200, devices_per_node: 8, model: A100-40}\n"
                                "workload: {load: 1, mix: {1g.5gb: 1}, measure_lives: 1000}\n"
                                "seeds: 1..100\n");
        struct outcome outcome = run_line("replay @/long.yaml --json @/long.json", 300);
        if (outcome.code != 130)
                fail_msg("ended with %d: %s", outcome.code, outcome.err);
        check_has(outcome.out, "STOPPED");
        check_has(outcome.err, "stopped");
        outcome_done(&outcome);
        char *json = slurp("long.json");
        check_has(json, "\"stopped\": true");
        mem_free(json);
}

static int set_up(void **state)
{
        (void)state;
        return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
        (void)state;
        static const char *const names[] = {"out", "err", "bad.yaml", "nofile.yaml", "mix.yaml",
                                            "mix.json", "long.yaml", "long.json"};
        char path[128];
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                snprintf(path, sizeof path, "%s/%s", folder, names[i]);
                unlink(path);
        }
        return rmdir(folder);
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
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
