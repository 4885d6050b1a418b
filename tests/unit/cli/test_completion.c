/* What is written from the table of commands holds all of it. */
#include "tests/scratch.h"
#include "tests/unit/cli/child.h"

#include <sys/stat.h>

#include "cli/completion.h"
#include "cli/manual.h"

static char *script_of(const char *shell)
{
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);

        assert_non_null(file);
        assert_true(completion_write(shell, file));
        fclose(file);
        return text;
}

/* The part of a script that is about a command: from its start to the end mark. Freed. */
static char *part_of(const char *script, const char *start, const char *end)
{
        const char *from = strstr(script, start);

        if (!from)
                fail_msg("there is no '%s'", start);
        const char *to = strstr(from, end);
        assert_non_null(to);
        return strndup(from, (size_t)(to - from));
}

/* Whoever prints something prints it for programs, too: but a stream of bytes, what other programs
 * read anyway (completion, man), and what has one line to say. */
static void every_command_has_json(void **state)
{
        (void)state;
        static const char *const apart[] = {"logs", "attach",  "completion",
                                            "man",  "version", "help"};
        for (const struct command *const *each = commands; *each; each++) {
                bool has = false, is_apart = false;
                for (const struct command_option *option = (*each)->options; option->name; option++)
                        has = has || strcmp(option->name, "json") == 0;
                for (size_t a = 0; a < ARRAY_LEN(apart); a++)
                        is_apart = is_apart || strcmp(apart[a], (*each)->name) == 0;
                if (!has && !is_apart)
                        fail_msg("%s has no --json", (*each)->name);
        }
}

static void bash_offers_every_option_and_action(void **state)
{
        (void)state;
        char *script = script_of("bash"), start[64], wanted[64];
        for (const struct command *const *each = commands; *each; each++) {
                snprintf(start, sizeof start, "\n    %s)\n", (*each)->name);
                char *part = part_of(script, start, ";;\n");
                for (const struct command_option *option = (*each)->options; option->name;
                     option++) {
                        snprintf(wanted, sizeof wanted, "--%s ", option->name);
                        check_has(part, wanted);
                }
                for (const struct command_action *action = (*each)->actions; action && action->name;
                     action++) {
                        snprintf(wanted, sizeof wanted, "%s ", action->name);
                        check_has(part, wanted);
                }
                free(part);
        }
        free(script);
}

static void zsh_and_fish_offer_every_option_and_action(void **state)
{
        (void)state;
        char *zsh = script_of("zsh"), *fish = script_of("fish"), wanted[128];
        for (const struct command *const *each = commands; *each; each++) {
                snprintf(wanted, sizeof wanted, "\n    %s)\n", (*each)->name);
                char *part = part_of(zsh, wanted, ";;\n");
                for (const struct command_option *option = (*each)->options; option->name;
                     option++) {
                        snprintf(wanted, sizeof wanted, "--%s%s[", option->name,
                                 option->value && option->value[0] != '[' ? "=" : "");
                        check_has(part, wanted);
                        snprintf(wanted, sizeof wanted, "'__fish_seen_subcommand_from %s' -l %s",
                                 (*each)->name, option->name);
                        check_has(fish, wanted);
                }
                snprintf(wanted, sizeof wanted, "'__fish_seen_subcommand_from %s; and not ",
                         (*each)->name);
                char *actions = (*each)->actions ? part_of(fish, wanted, "\n") : NULL;
                for (const struct command_action *action = (*each)->actions; action && action->name;
                     action++) {
                        check_has(part, action->name);
                        snprintf(wanted, sizeof wanted, " %s", action->name);
                        check_has(actions, wanted);
                }
                free(actions);
                free(part);
        }
        assert_false(completion_write("csh", stdout));
        free(zsh);
        free(fish);
}

/* What bash itself offers for the words; the last one is completed. */
static void bash_completes(void **state)
{
        (void)state;
        static const struct {
                const char *words, *offered;
        } rows[] = {
                {"berth stat", "status\n"},          {"berth submit --ti", "--time-limit\n"},
                {"berth policy roll", "rollback\n"}, {"berth help usa", "usage\n"},
                {"berth submit --name x", "\n"},     {"berth nothing --x", "\n"},
        };
        char *script = script_of("bash"), line[512];
        put("berth.bash", script);
        free(script);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                snprintf(
                        line, sizeof line,
                        "bash -c 'source %s; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); "
                        "_berth; echo \"${COMPREPLY[*]}\"' > %s 2>&1",
                        path_of("berth.bash"), rows[i].words, path_of("out"));
                assert_int_equal(system(line), 0);
                char *out = text_of("out");
                assert_string_equal(out, rows[i].offered);
                mem_free(out);
        }
        unlink(path_of("berth.bash"));
}

/* Those shells that are installed say whether the script is one. */
static void shells_can_read_their_scripts(void **state)
{
        (void)state;
        static const char *const shells[] = {"bash", "zsh", "fish"};
        char line[256];
        for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
                snprintf(line, sizeof line, "command -v %s > /dev/null", shells[i]);
                if (system(line) != 0)
                        continue;
                char *script = script_of(shells[i]);
                put("script", script);
                free(script);
                snprintf(line, sizeof line, "%s -n %s", shells[i], path_of("script"));
                assert_int_equal(system(line), 0);
        }
        unlink(path_of("script"));
}

static void every_command_has_examples_and_one_order_of_options(void **state)
{
        (void)state;
        for (const struct command *const *each = commands; *each; each++) {
                const struct command *command = *each;
                size_t json = SIZE_MAX, context = SIZE_MAX, count = 0;
                check_has(command->details, "examples:\n  ");
                check_has(command->details, command->name);
                assert_true(command->run || command->actions);
                assert_true(command->arguments || command->actions);
                for (; command->options[count].name; count++) {
                        if (strcmp(command->options[count].name, "json") == 0)
                                json = count;
                        if (strcmp(command->options[count].name, "context") == 0)
                                context = count;
                        assert_null(strchr(command->options[count].help, '\n'));
                }
                assert_true(count <= COMMAND_OPTIONS_MAX);
                if (!command->is_live)
                        continue;
                assert_int_equal(context, count - 1);
                assert_true(json == SIZE_MAX || json == count - 2);
        }
}

static void all_pages_are_written_as_files(void **state)
{
        (void)state;
        char into[SCRATCH_MAX], path[256];
        struct err err = {0};
        struct stat is;
        assert_non_null(scratch_folder(into, sizeof into, "pages"));
        assert_int_equal(manual_write_all(into, &err), 0);
        for (size_t c = 0; c == 0 || commands[c - 1]; c++) {
                snprintf(path, sizeof path, "%s/berth%s%s.1", into, c > 0 ? "-" : "",
                         c > 0 ? commands[c - 1]->name : "");
                assert_int_equal(stat(path, &is), 0);
                assert_true(is.st_size > 100);
                assert_int_equal(unlink(path), 0);
        }
        assert_int_equal(rmdir(into), 0);     /* nothing else lies there */
        assert_int_equal(manual_write_all(into, &err), -ERR_IO);
        check_has(err.text, into);
}

/* Lines that roff would take for requests are those that we mean. */
static void pages_hold_every_option_and_no_stray_request(void **state)
{
        (void)state;
        static const char *const requests[] = {".TH ", ".SH ", ".SS ", ".TP", ".PP",
                                               ".nf",  ".fi",  ".EX",  ".EE"};
        for (const struct command *const *each = commands; *each; each++) {
                char *text = NULL, wanted[64];
                size_t size = 0;
                struct err err = {0};
                FILE *file = open_memstream(&text, &size);
                assert_int_equal(manual_write(*each, file, &err), 0);
                fclose(file);
                for (const struct command_option *option = (*each)->options; option->name;
                     option++) {
                        int length = snprintf(wanted, sizeof wanted, "\\fB\\-\\-%s", option->name);
                        /* "-" within a name is escaped; its first word suffices. */
                        wanted[6 + strcspn(wanted + 9, "-") + 3] = '\0';
                        assert_true(length > 0);
                        check_has(text, wanted);
                }
                for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
                        bool is_known = *line != '.' && *line != '\'';
                        for (size_t r = 0; r < ARRAY_LEN(requests); r++)
                                is_known = is_known ||
                                           strncmp(line, requests[r], strlen(requests[r])) == 0;
                        if (!is_known)
                                fail_msg("%s: '%.40s'", (*each)->name, line);
                }
                check_has(text, ".SH EXAMPLES\n");
                free(text);
        }
}

static int open_folder(void **state)
{
        (void)state;
        return open_child_folder();
}

static int close_folder(void **state)
{
        (void)state;
        static const char *const names[] = {"out"};
        return close_child_folder(names, ARRAY_LEN(names));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_command_has_json),
                cmocka_unit_test(bash_offers_every_option_and_action),
                cmocka_unit_test(zsh_and_fish_offer_every_option_and_action),
                cmocka_unit_test(bash_completes),
                cmocka_unit_test(shells_can_read_their_scripts),
                cmocka_unit_test(every_command_has_examples_and_one_order_of_options),
                cmocka_unit_test(all_pages_are_written_as_files),
                cmocka_unit_test(pages_hold_every_option_and_no_stray_request),
        };
        return cmocka_run_group_tests(tests, open_folder, close_folder);
}
