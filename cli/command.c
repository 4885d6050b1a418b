#include "cli/command.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

#define HELP_ID 1000 /* above every index of an option */

static size_t options_count(const struct command *command)
{
        size_t count = 0;

        while (command->options[count].name)
                count++;
        assert(count <= COMMAND_OPTIONS_MAX);
        return count;
}

const struct command *command_find(const char *name, struct err *err)
{
        struct str_near near;
        char show[STR_SHOW_MAX], known[STR_NEAR_MAX];

        str_near_init(&near, name);
        for (const struct command *command = commands; command->name; command++) {
                if (str_equal(command->name, name))
                        return command;
                str_near_add(&near, command->name);
        }
        err_set(err, ERR_NOT_FOUND, "there is no command '%s'; %s", str_show(name, show),
                str_near_text(&near, known, sizeof known));
        return NULL;
}

/* ---- parsing ---- */

/* What getopt_long takes, made from the table. */
struct getopt_table {
        struct option longs[COMMAND_OPTIONS_MAX + 2];
        char letters[3 * COMMAND_OPTIONS_MAX + 4];
};

static void make_table(const struct command *command, struct getopt_table *ret_table)
{
        size_t count = options_count(command), at = 0;

        memset(ret_table, 0, sizeof *ret_table);
        ret_table->letters[at++] = ':'; /* a missing value is told apart */
        ret_table->letters[at++] = 'h';
        for (size_t i = 0; i < count; i++) {
                const struct command_option *option = &command->options[i];
                ret_table->longs[i] = (struct option){
                        option->name, option->value ? required_argument : no_argument, NULL,
                        (int)(HELP_ID + 1 + (int)i)};
                if (!option->letter)
                        continue;
                ret_table->letters[at++] = option->letter;
                if (option->value)
                        ret_table->letters[at++] = ':';
        }
        ret_table->longs[count] = (struct option){"help", no_argument, NULL, HELP_ID};
}

static int find_option(const struct command *command, int id)
{
        if (id > HELP_ID)
                return id - HELP_ID - 1;
        for (size_t i = 0; i < options_count(command); i++)
                if (command->options[i].letter == id)
                        return (int)i;
        return -1;
}

static int fail_option(const struct command *command, const char *text, int id, int letter,
                       struct err *err)
{
        struct str_near near;
        char show[STR_SHOW_MAX], known[STR_NEAR_MAX];
        int index = letter ? find_option(command, letter) : -1;

        if (id == ':')
                return err_set(err, ERR_INPUT, "option '%s' needs a value: %s",
                               str_show(text, show),
                               index >= 0 ? command->options[index].value : "see --help");
        if (letter >= HELP_ID)
                return err_set(err, ERR_INPUT, "option '%s' takes no value", str_show(text, show));
        str_near_init(&near, text + strspn(text, "-"));
        for (size_t i = 0; i < options_count(command); i++)
                str_near_add(&near, command->options[i].name);
        return err_set(err, ERR_INPUT, "there is no option '%s'; %s", str_show(text, show),
                       str_near_text(&near, known, sizeof known));
}

static int take_arguments(const struct command *command, int argc, char **argv,
                          struct command_call *call, struct err *err)
{
        size_t count = (size_t)(argc - optind);
        char show[STR_SHOW_MAX];

        assert(command->arguments_max <= COMMAND_ARGUMENTS_MAX);
        if (count < command->arguments_min)
                return err_set(err, ERR_INPUT, "name what to work on: berth %s %s", command->name,
                               command->arguments);
        if (count > command->arguments_max)
                return err_set(err, ERR_INPUT, "'%s' is one argument too many",
                               str_show(argv[(size_t)optind + command->arguments_max], show));
        for (size_t i = 0; i < count; i++)
                call->arguments[i] = argv[(size_t)optind + i];
        call->arguments_count = count;
        return 0;
}

int command_parse(const struct command *command, int argc, char **argv,
                  struct command_call *ret_call, struct err *err)
{
        struct command_call call = {.command = command};
        struct getopt_table table;
        int id;

        make_table(command, &table);
        opterr = 0;
        optind = 0; /* start anew, whatever was parsed before */
        while ((id = getopt_long(argc, argv, table.letters, table.longs, NULL)) != -1) {
                if (id == HELP_ID || id == 'h')
                        return 1;
                if (id == '?' || id == ':')
                        return fail_option(command, argv[optind - 1], id, optopt, err);
                int index = find_option(command, id);
                assert(index >= 0);
                if (call.values[index])
                        return err_set(err, ERR_INPUT, "option --%s is given twice",
                                       command->options[index].name);
                call.values[index] = optarg ? optarg : "";
        }
        int rc = take_arguments(command, argc, argv, &call, err);
        if (rc == 0)
                *ret_call = call;
        return rc;
}

const char *command_value(const struct command_call *call, const char *option)
{
        size_t i = 0;

        while (call->command->options[i].name && !str_equal(call->command->options[i].name, option))
                i++;
        assert(call->command->options[i].name);
        return call->values[i];
}

/* ---- help ---- */

void command_usage(const struct command *command, FILE *file)
{
        fprintf(file, "usage: berth %s %s", command->name, command->arguments);
        for (const struct command_option *option = command->options; option->name; option++)
                fprintf(file, " [--%s%s%s]", option->name, option->value ? " " : "",
                        option->value ? option->value : "");
        fputc('\n', file);
}

static void option_line(const struct command_option *option, FILE *file)
{
        char left[48];
        char letter[] = "    ";

        if (option->letter)
                snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name, option->value ? " " : "",
                 option->value ? option->value : "");
        fprintf(file, "  %-24s %s\n", left, option->help);
}

void command_help(const struct command *command, FILE *file)
{
        static const struct command_option help = {"help", 'h', NULL, "this text"};

        command_usage(command, file);
        fprintf(file, "\n%s\n\n", command->summary);
        for (const struct command_option *option = command->options; option->name; option++)
                option_line(option, file);
        option_line(&help, file);
        fprintf(file, "\n%s", command->details);
}

void command_list(FILE *file)
{
        fputs("usage: berth COMMAND ...\n\n"
              "berth shares a pool of accelerators between teams.\n\n",
              file);
        for (const struct command *command = commands; command->name; command++)
                fprintf(file, "  %-10s %s\n", command->name, command->summary);
        fputs("\n  berth COMMAND --help   options and examples of a command\n"
              "  berth --version        which version this is\n",
              file);
}

int command_main(int argc, char **argv)
{
        struct command_call call;
        struct err err = {0};

        if (argc < 2) {
                command_list(stderr);
                return EXIT_BAD_INPUT;
        }
        const char *name = argv[1];
        if (str_equal(name, "--help") || str_equal(name, "-h"))
                name = "help";
        if (str_equal(name, "--version") || str_equal(name, "-V"))
                name = "version";
        const struct command *command = command_find(name, &err);
        if (!command) {
                fprintf(stderr, "berth: %s\ntry: berth help\n", err.text);
                return EXIT_BAD_INPUT;
        }
        int rc = command_parse(command, argc - 1, argv + 1, &call, &err);
        if (rc == 1) {
                command_help(command, stdout);
                return EXIT_FINE;
        }
        if (rc < 0) {
                fprintf(stderr, "berth %s: %s\n", command->name, err.text);
                command_usage(command, stderr);
                return EXIT_BAD_INPUT;
        }
        return command->run(&call);
}
