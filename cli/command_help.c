/* Help and usage, from the table of commands. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/screen.h"

#define USAGE_WIDTH 80
#define LEFT_WIDTH  24

/* ---- usage ---- */

/* Where the line stands, so that it is broken in time. */
struct usage_line {
        FILE *file;
        int used, indent;
};

static void usage_word(struct usage_line *line, const char *text)
{
        int length = (int)strlen(text);

        if (line->used > line->indent && line->used + 1 + length > USAGE_WIDTH) {
                fprintf(line->file, "\n%*s", line->indent, "");
                line->used = line->indent;
        } else if (line->used > line->indent) {
                fputc(' ', line->file);
                line->used++;
        }
        fputs(text, line->file);
        line->used += length;
}

static void usage_of(const struct command *command, const struct command_action *action,
                     const char *start, FILE *file)
{
        struct usage_line line = {.file = file, .indent = 11};
        const char *arguments = action ? action->arguments : command->arguments;
        char word[96];

        line.used = fprintf(file, "%s berth %s", start, command->name);
        if (action)
                usage_word(&line, action->name);
        if (arguments[0])
                usage_word(&line, arguments);
        for (const struct command_option *option = command->options; option->name; option++) {
                if (action && !command_option_goes(command, option, action->name))
                        continue;
                snprintf(word, sizeof word, "[--%s%s%s]", option->name, option->value ? " " : "",
                         option->value ? option->value : "");
                usage_word(&line, word);
        }
        if (command->tail) {
                snprintf(word, sizeof word, "[-- %s]", command->tail);
                usage_word(&line, word);
        }
        fputc('\n', file);
}

void command_usage(const struct command *command, FILE *file)
{
        const struct command_action *action = command->actions;

        if (!action)
                usage_of(command, NULL, "usage:", file);
        for (; action && action->name; action++)
                usage_of(command, action, action == command->actions ? "usage:" : "      ", file);
}

/* ---- help ---- */

static void option_line(const struct command_option *option, FILE *file)
{
        char left[64];
        char letter[] = "    ";

        if (option->letter)
                snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name, option->value ? " " : "",
                 option->value ? option->value : "");
        fprintf(file, "  %-*s %s\n", LEFT_WIDTH, left, option->help);
}

static void put_exit_codes(const struct command *command, FILE *file)
{
        fputs("\nexit status:\n", file);
#define X(name, code, help)                             \
        if (command_ends_with(command, code))           \
                fprintf(file, "  %-4d %s\n", code, help);
        EXIT_CODES(X)
#undef X
}

void command_help(const struct command *command, FILE *file)
{
        static const struct command_option help = {"help", 'h', NULL, "this text"};

        command_usage(command, file);
        fprintf(file, "\n%s\n\n", command->summary);
        for (const struct command_option *option = command->options; option->name; option++)
                option_line(option, file);
        option_line(&help, file);
        if (command->details[0])
                fprintf(file, "\n%s", command->details);
        if (command->is_live)
                put_exit_codes(command, file);
}

void command_list(FILE *file)
{
        static const char *const titles[] = {
#define X(name, title) title,
                COMMAND_GROUPS(X)
#undef X
        };

        fputs("usage: berth COMMAND ...\n\n"
              "berth shares a pool of accelerators between teams.\n",
              file);
        for (int group = 0; group < COMMAND_GROUPS_END; group++) {
                fprintf(file, "\n%s\n", titles[group]);
                for (const struct command *const *each = commands; *each; each++)
                        if ((int)(*each)->group == group)
                                fprintf(file, "  %-11s %s\n", (*each)->name, (*each)->summary);
        }
        fputs("\n  berth COMMAND --help   options and examples of a command\n"
              "  berth --version        which version this is\n",
              file);
}

void command_help_show(const struct command *command)
{
        struct screen screen = screen_look();
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);

        if (command)
                command_help(command, file ? file : stdout);
        else
                command_list(file ? file : stdout);
        if (!file)
                return;                 /* memory is short: as wide as it is */
        if (fclose(file) == 0)
                screen_put_wrapped(text, screen_join_wide(text, size, screen.width), screen.width,
                                   stdout);
        free(text);
}
