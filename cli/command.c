#include "cli/command.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/names.h"

#define ARGUMENT_ID 1    /* what getopt gives for one */
#define HELP_ID     1000 /* above every index of an option */

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
        for (const struct command *const *each = commands; *each; each++) {
                if (str_equal((*each)->name, name))
                        return *each;
                str_near_add(&near, (*each)->name);
        }
        err_set(err, ERR_NOT_FOUND, "there is no command '%s'; %s", str_show(name, show),
                str_near_text(&near, known, sizeof known));
        return NULL;
}

/* ---- parsing ---- */

/* What getopt_long takes, made from the table. */
struct getopt_table {
        struct option longs[COMMAND_OPTIONS_MAX + 2];
        char letters[3 * COMMAND_OPTIONS_MAX + 5];
};

static bool is_optional(const struct command_option *option)
{
        return option->value && option->value[0] == '[';
}

static void make_table(const struct command *command, struct getopt_table *ret_table)
{
        size_t count = options_count(command), at = 0;

        memset(ret_table, 0, sizeof *ret_table);
        ret_table->letters[at++] = '-'; /* arguments come in turn: "--" is not lost among them */
        ret_table->letters[at++] = ':'; /* a missing value is told apart */
        ret_table->letters[at++] = 'h';
        for (size_t i = 0; i < count; i++) {
                const struct command_option *option = &command->options[i];
                ret_table->longs[i] = (struct option){
                        option->name,
                        is_optional(option) ? optional_argument
                        : option->value     ? required_argument
                                            : no_argument,
                        NULL, (int)(HELP_ID + 1 + (int)i)};
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

bool command_option_repeats(const struct command_option *option)
{
        size_t length = option->value ? strlen(option->value) : 0;

        return length > 4 && str_equal(option->value + length - 4, " ...");
}

bool command_option_goes(const struct command *command, const struct command_option *option,
                         const char *action)
{
        const char *at = option->help;
        bool is_named = false;

        for (;;) {
                size_t length = strcspn(at, ",: ");
                bool is_action = false;
                for (const struct command_action *known = command->actions; known && known->name;
                     known++)
                        is_action = is_action || (strlen(known->name) == length &&
                                                  strncmp(known->name, at, length) == 0);
                if (!is_action)
                        return true;
                is_named =
                        is_named || (strlen(action) == length && strncmp(action, at, length) == 0);
                if (at[length] == ':')
                        return is_named;
                if (strncmp(at + length, ", ", 2) != 0)
                        return true; /* the help merely begins with such a word */
                at += length + 2;
        }
}

/* The first argument, and whether all options go with it. */
static int take_action(const struct command *command, struct command_call *call, struct err *err)
{
        struct str_near near;
        char show[STR_SHOW_MAX], known[STR_NEAR_MAX];
        const char *name = call->arguments_count > 0 ? call->arguments[0] : NULL;
        const struct command_action *action = command->actions;

        str_near_init(&near, name ? name : "");
        for (; action->name && !(name && str_equal(action->name, name)); action++)
                str_near_add(&near, action->name);
        if (!name)
                return err_set(err, ERR_INPUT, "say what to do; %s",
                               str_near_text(&near, known, sizeof known));
        if (!action->name)
                return err_set(err, ERR_INPUT, "there is no '%s'; %s", str_show(name, show),
                               str_near_text(&near, known, sizeof known));
        for (size_t i = 0; i < options_count(command); i++)
                if (call->values[i] && !command_option_goes(command, &command->options[i], name))
                        return err_set(err, ERR_INPUT, "--%s goes with %.*s only",
                                       command->options[i].name,
                                       (int)strcspn(command->options[i].help, ":"),
                                       command->options[i].help);
        call->action = action;
        call->arguments_count--;
        memmove(call->arguments, call->arguments + 1,
                call->arguments_count * sizeof *call->arguments);
        return 0;
}

bool command_ends_with(const struct command *command, enum exit_code code)
{
        const struct command_option *option = command->options;

        while (option->name && strcmp(option->name, "wait") != 0)
                option++;
        return code != EXIT_UNDONE || option->name;
}

static int check_arguments(const struct command_call *call, struct err *err)
{
        const struct command *command = call->command;
        const struct command_action *action = call->action;
        size_t min = action ? action->arguments_min : command->arguments_min;
        size_t max = action ? action->arguments_max : command->arguments_max;
        const char *arguments = action ? action->arguments : command->arguments;
        char show[STR_SHOW_MAX];

        if (call->arguments_count < min)
                return err_set(err, ERR_INPUT, "name what to work on: berth %s%s%s %s",
                               command->name, action ? " " : "", action ? action->name : "",
                               arguments);
        if (call->arguments_count > max)
                return err_set(err, ERR_INPUT, "'%s' is one argument too many",
                               str_show(call->arguments[max], show));
        return 0;
}

static int add_argument(struct command_call *call, const char *text, struct err *err)
{
        if (call->arguments_count == COMMAND_ARGUMENTS_MAX)
                return err_set(err, ERR_INPUT, "more than %d arguments; say it in several calls",
                               COMMAND_ARGUMENTS_MAX);
        call->arguments[call->arguments_count++] = text;
        return 0;
}

/* Of an option that may stand alone: what follows it, where that is meant for it. */
static const char *optional_value(const struct command_option *option, int argc, char **argv)
{
        const char *end = strrchr(option->value, '.');
        const char *next = optind < argc ? argv[optind] : "";
        size_t length = strlen(next), tail = end ? strcspn(end, "]") : 0;
        bool fits = end && length > tail && strncmp(next + length - tail, end, tail) == 0;

        if (!fits && !str_equal(next, "-"))
                return "-";
        optind++;
        return next;
}

static int take_option(struct command_call *call, int id, const char *value, int argc, char **argv,
                       struct err *err)
{
        int found = find_option(call->command, id);

        assert(found >= 0);
        size_t index = (size_t)found;
        const struct command_option *option = &call->command->options[index];
        if (is_optional(option) && !value)
                value = optional_value(option, argc, argv);
        if (!command_option_repeats(option) && call->values[index])
                return err_set(err, ERR_INPUT, "option --%s is given twice", option->name);
        if (command_option_repeats(option)) {
                if (call->repeats_count == COMMAND_REPEATS_MAX)
                        return err_set(err, ERR_INPUT, "option --%s: more than %d are given",
                                       option->name, COMMAND_REPEATS_MAX);
                call->repeats[call->repeats_count].option = index;
                call->repeats[call->repeats_count++].value = value;
        }
        call->values[index] = value ? value : "";
        return 0;
}

/* What stands behind "--": of some commands a command line, of others mere arguments. */
static int take_tail(struct command_call *call, int argc, char **argv, struct err *err)
{
        int rc = 0;

        assert(optind <= argc);
        if (call->command->tail && str_equal(argv[optind - 1], "--")) {
                call->tail = argv + optind;
                call->tail_count = (size_t)(argc - optind);
                return 0;
        }
        for (int i = optind; i < argc && rc == 0; i++)
                rc = add_argument(call, argv[i], err);
        return rc;
}

int command_parse(const struct command *command, int argc, char **argv,
                  struct command_call *ret_call, struct err *err)
{
        struct command_call call = {.command = command};
        struct getopt_table table;
        int id, rc = 0;

        make_table(command, &table);
        opterr = 0;
        optind = 0; /* start anew, whatever was parsed before */
        while (rc == 0 && (id = getopt_long(argc, argv, table.letters, table.longs, NULL)) != -1) {
                if (id == HELP_ID || id == 'h')
                        return 1;
                if (id == '?' || id == ':')
                        return fail_option(command, argv[optind - 1], id, optopt, err);
                rc = id == ARGUMENT_ID ? add_argument(&call, optarg, err)
                                       : take_option(&call, id, optarg, argc, argv, err);
        }
        if (rc < 0 || (rc = take_tail(&call, argc, argv, err)) < 0 ||
            (command->actions && (rc = take_action(command, &call, err)) < 0) ||
            (rc = check_arguments(&call, err)) < 0)
                return rc;
        *ret_call = call;
        return 0;
}

static size_t index_of(const struct command_call *call, const char *option)
{
        size_t i = 0;

        while (call->command->options[i].name && !str_equal(call->command->options[i].name, option))
                i++;
        assert(call->command->options[i].name);
        return i;
}

const char *command_value(const struct command_call *call, const char *option)
{
        return call->values[index_of(call, option)];
}

const char *command_each(const struct command_call *call, const char *option, size_t *cursor)
{
        size_t index = index_of(call, option);

        while (*cursor < call->repeats_count) {
                size_t at = (*cursor)++;
                if (call->repeats[at].option == index)
                        return call->repeats[at].value;
        }
        return NULL;
}

/* ---- the program ---- */

/* `berth --context lab status`, as one writes it for other programs, is `berth status --context
 * lab`. */
static void put_command_first(int argc, char **argv)
{
        int count = str_equal(argv[1], "--context")               ? 2
                    : strncmp(argv[1], "--context=", 10) == 0 ? 1
                                                                  : 0;

        if (count == 0 || argc <= 1 + count)
                return;
        char *option[2] = {argv[1], argv[2]}, *name = argv[1 + count];
        argv[1] = name;
        for (int i = 0; i < count; i++)
                argv[2 + i] = option[i];
}

int command_main(int argc, char **argv)
{
        struct command_call call;
        struct err err = {0};

        if (argc < 2) {
                command_list(stderr);
                return EXIT_BAD_INPUT;
        }
        put_command_first(argc, argv);
        const char *name = argv[1];
        if (str_equal(name, "--help") || str_equal(name, "-h"))
                name = "help";
        if (str_equal(name, "--version") || str_equal(name, "-V"))
                name = "version";
        const struct command *command =
                str_equal(name, names_command.name) ? &names_command : command_find(name, &err);
        if (!command) {
                if (strncmp(name, "--context", 9) == 0)
                        err_set(&err, ERR_INPUT,
                                "--context goes with a command: berth status --context NAME");
                fprintf(stderr, "berth: %s\ntry: berth help\n", err.text);
                return EXIT_BAD_INPUT;
        }
        int rc = command_parse(command, argc - 1, argv + 1, &call, &err);
        if (rc == 1) {
                command_help_show(command);
                return EXIT_FINE;
        }
        if (rc < 0) {
                fprintf(stderr, "berth %s: %s\n", command->name, err.text);
                command_usage(command, stderr);
                return EXIT_BAD_INPUT;
        }
        return call.action && call.action->run ? call.action->run(&call) : command->run(&call);
}
