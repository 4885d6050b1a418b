#include "cli/completion.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/completion_impl.h"

static const struct command_option no_options[] = {{0}};

static const char details[] =
        "Prints a script for the shell; a shell's start file reads it. Commands, options and\n"
        "files are offered, and the names of live work, nodes, tenants, classes and contexts:\n"
        "for those the pool is asked, for 300 ms at most (or what BERTH_COMPLETE_MS says).\n"
        "\n"
        "examples:\n"
        "  eval \"$(berth completion bash)\"                         in ~/.bashrc\n"
        "  berth completion zsh > \"${fpath[1]}/_berth\"             once\n"
        "  berth completion fish > ~/.config/fish/completions/berth.fish\n";

const char *completion_needed(const struct command_option *option)
{
        return option->value && option->value[0] != '[' ? option->value : NULL;
}

bool completion_is_file(const char *value)
{
        static const char *const names[] = {"FILE", "SCENARIO", "POLICY"};

        for (size_t i = 0; value && i < ARRAY_LEN(names); i++)
                if (strncmp(value, names[i], strlen(names[i])) == 0)
                        return true;
        return false;
}

bool completion_takes_file(const struct command *command)
{
        if (command->arguments && strstr(command->arguments, "FILE"))
                return true;
        if (command->arguments && strstr(command->arguments, "SCENARIO"))
                return true;
        for (const struct command_action *action = command->actions; action && action->name;
             action++)
                if (completion_is_file(action->arguments) || strstr(action->arguments, "FILE"))
                        return true;
        return false;
}

bool completion_takes_command(const struct command *command)
{
        return command->arguments && str_equal(command->arguments, "[COMMAND]");
}

/* ---- live names ---- */

enum names_kind completion_of_option(const struct command *command,
                                     const struct command_option *option)
{
        static const struct {
                const char *option, *value; /* option NULL: any */
                enum names_kind kind;
        } rows[] = {
                {"tenant", "PATH", NAMES_TENANTS},   {"class", "NAME", NAMES_CLASSES},
                {"context", "NAME", NAMES_CONTEXTS}, {NULL, "MODEL", NAMES_MODELS},
                {NULL, "PLANE", NAMES_PLANES},       {NULL, "NODE", NAMES_NODES},
        };

        for (size_t i = 0; command->is_live && option->value && i < ARRAY_LEN(rows); i++)
                if ((!rows[i].option || str_equal(rows[i].option, option->name)) &&
                    str_equal(rows[i].value, option->value))
                        return rows[i].kind;
        return NAMES_KINDS_END;
}

enum names_kind completion_of_argument(const struct command *command,
                                       const struct command_action *action)
{
        static const struct {
                const char *command, *action; /* action NULL: any that takes a name */
                enum names_kind kind;
        } rows[] = {
                {"context", NULL, NAMES_CONTEXTS},
                {"reservation", "delete", NAMES_RESERVATIONS},
                {"maintenance", "delete", NAMES_MAINTENANCE},
        };
        static const char *const past[] = {"status", "explain", "logs"};
        const char *takes = action ? action->arguments : command->arguments;

        for (size_t i = 0; action && str_equal(takes, "NAME") && i < ARRAY_LEN(rows); i++)
                if (str_equal(rows[i].command, command->name) &&
                    (!rows[i].action || str_equal(rows[i].action, action->name)))
                        return rows[i].kind;
        if (!takes || !command->is_live)
                return NAMES_KINDS_END;
        if (str_equal(takes, "NODE"))
                return NAMES_NODES;
        if (!strstr(takes, "ID|NAME"))
                return NAMES_KINDS_END;
        for (size_t i = 0; i < ARRAY_LEN(past); i++)
                if (str_equal(past[i], command->name))
                        return NAMES_HISTORY;
        return NAMES_WORKLOADS;
}

size_t completion_names_most(const struct command *command)
{
        return strstr(command->arguments, "KEY=VALUE") ? 1 : command->arguments_max;
}

/* The help text up to its first line break, quotes made harmless within '...' . */
static void put_help(const char *help, const char *escape, FILE *file)
{
        for (; *help && *help != '\n'; help++) {
                if (*help == '\'')
                        fputs("'\\''", file);
                else if (strchr(escape, *help))
                        fprintf(file, "\\%c", *help);
                else
                        fputc(*help, file);
        }
}

/* ---- zsh ---- */

/* What _arguments is to do for a value. The blank: it is called as it stands. */
static void put_zsh_value(const struct command *command, const struct command_option *option,
                          FILE *file)
{
        enum names_kind kind = completion_of_option(command, option);

        if (!completion_needed(option))
                return;
        fprintf(file, ":%s:", option->name);
        if (kind != NAMES_KINDS_END)
                fprintf(file, " _berth_known %s", names_word(kind));
        else if (completion_is_file(completion_needed(option)))
                fputs("_files", file);
}

static void put_zsh_option(const struct command *command, const struct command_option *option,
                           FILE *file)
{
        const char *many = command_option_repeats(option) ? "*" : "";

        fprintf(file, " \\\n            '%s--%s%s[", many, option->name,
                completion_needed(option) ? "=" : "");
        put_help(option->help, "[]:\\", file);
        fputc(']', file);
        put_zsh_value(command, option, file);
        fputc('\'', file);
        if (!option->letter)
                return;
        fprintf(file, " \\\n            '%s-%c%s[", many, option->letter,
                completion_needed(option) ? "+" : "");
        put_help(option->help, "[]:\\", file);
        fputc(']', file);
        put_zsh_value(command, option, file);
        fputc('\'', file);
}

static void put_zsh_names(const struct command *command, FILE *file)
{
        enum names_kind kind =
                command->actions ? NAMES_KINDS_END : completion_of_argument(command, NULL);
        bool any = false;

        if (kind != NAMES_KINDS_END)
                fprintf(file, " \\\n            '%s:name: _berth_known %s'",
                        completion_names_most(command) > 1 ? "*" : "1", names_word(kind));
        for (const struct command_action *action = command->actions; action && action->name;
             action++) {
                if ((kind = completion_of_argument(command, action)) == NAMES_KINDS_END)
                        continue;
                fprintf(file, "%s%s) _berth_known %s;; ",
                        any ? "" : " \\\n            '2:name:{ case $words[2] in ", action->name,
                        names_word(kind));
                any = true;
        }
        fputs(any ? "esac }'" : "", file);
}

static void put_zsh_command(const struct command *command, FILE *file)
{
        fprintf(file, "    %s)\n        _arguments -s", command->name);
        for (const struct command_option *option = command->options; option->name; option++)
                put_zsh_option(command, option, file);
        fputs(" \\\n            '--help[this text]'", file);
        if (command->actions) {
                fputs(" \\\n            '1:what to do:(", file);
                for (const struct command_action *action = command->actions; action->name; action++)
                        fprintf(file, "%s%s", action == command->actions ? "" : " ", action->name);
                fputs(")'", file);
        }
        put_zsh_names(command, file);
        if (completion_takes_command(command))
                fputs(" \\\n            '1:command:_berth_commands'", file);
        if (completion_takes_file(command))
                fputs(" \\\n            '*:file:_files'", file);
        fputs("\n        ;;\n", file);
}

static void put_zsh(FILE *file)
{
        fputs("#compdef berth\n"
              "_berth_commands() {\n"
              "    local -a all=(\n",
              file);
        for (const struct command *const *each = commands; *each; each++) {
                fprintf(file, "        '%s:", (*each)->name);
                put_help((*each)->summary, ":\\", file);
                fputs("'\n", file);
        }
        fputs("    )\n"
              "    _describe command all\n"
              "}\n"
              "_berth_known() {\n"
              "    local -a names shown\n"
              "    local name about\n"
              "    while IFS=$'\\t' read -r name about; do\n"
              "        names+=(\"$name\")\n"
              "        shown+=(\"$name${about:+  -- $about}\")\n"
              "    done < <(berth __complete $1 -- \"${(Q)PREFIX}\" \"${words[@]}\" 2>/dev/null)\n"
              "    compadd -l -d shown -a names\n"
              "}\n"
              "_berth() {\n"
              "    if (( CURRENT == 2 )); then\n"
              "        _berth_commands\n"
              "        return\n"
              "    fi\n"
              "    shift words\n"
              "    (( CURRENT-- ))\n"
              "    case $words[1] in\n",
              file);
        for (const struct command *const *each = commands; *each; each++)
                put_zsh_command(*each, file);
        fputs("    esac\n"
              "}\n"
              "if [ \"$funcstack[1]\" = _berth ]; then _berth \"$@\"\n"
              "else compdef _berth berth; fi\n",
              file);
}

/* ---- fish ---- */

static void put_fish_names(const struct command *command, FILE *file)
{
        enum names_kind kind =
                command->actions ? NAMES_KINDS_END : completion_of_argument(command, NULL);

        if (kind != NAMES_KINDS_END)
                fprintf(file,
                        "complete -c berth -n '__fish_seen_subcommand_from %s' "
                        "-a '(__berth_known %s)'\n",
                        command->name, names_word(kind));
        for (const struct command_action *action = command->actions; action && action->name;
             action++)
                if ((kind = completion_of_argument(command, action)) != NAMES_KINDS_END)
                        fprintf(file,
                                "complete -c berth -n '__fish_seen_subcommand_from %s; and "
                                "__fish_seen_subcommand_from %s' -a '(__berth_known %s)'\n",
                                command->name, action->name, names_word(kind));
}

static void put_actions(const struct command *command, FILE *file)
{
        for (const struct command_action *action = command->actions; action->name; action++)
                fprintf(file, " %s", action->name);
}

static void put_fish_command(const struct command *command, FILE *file)
{
        const char *name = command->name;

        fprintf(file, "complete -c berth -n __fish_use_subcommand -a %s -d '", name);
        put_help(command->summary, "\\", file);
        fputs("'\n", file);
        for (const struct command_option *option = command->options; option->name; option++) {
                fprintf(file, "complete -c berth -n '__fish_seen_subcommand_from %s' -l %s", name,
                        option->name);
                if (option->letter)
                        fprintf(file, " -s %c", option->letter);
                if (completion_needed(option))
                        fputs(completion_is_file(completion_needed(option)) ? " -r -F" : " -x",
                              file);
                if (completion_of_option(command, option) != NAMES_KINDS_END)
                        fprintf(file, " -a '(__berth_known %s)'",
                                names_word(completion_of_option(command, option)));
                fputs(" -d '", file);
                put_help(option->help, "\\", file);
                fputs("'\n", file);
        }
        if (command->actions) {
                fprintf(file,
                        "complete -c berth -n '__fish_seen_subcommand_from %s; and not "
                        "__fish_seen_subcommand_from",
                        name);
                put_actions(command, file);
                fputs("' -a '", file);
                put_actions(command, file);
                fputs("'\n", file);
        }
        put_fish_names(command, file);
        if (completion_takes_file(command))
                fprintf(file, "complete -c berth -n '__fish_seen_subcommand_from %s' -F\n", name);
}

static void put_fish(FILE *file)
{
        fputs("# fish completion of berth\n"
              "function __berth_known\n"
              "    berth __complete $argv[1] -- (commandline -ct) (commandline -opc)[2..-1] "
              "2>/dev/null\n"
              "end\n"
              "complete -c berth -f\n"
              "complete -c berth -l help -s h -d 'options and examples'\n",
              file);
        for (const struct command *const *each = commands; *each; each++)
                put_fish_command(*each, file);
        fputs("complete -c berth -n '__fish_seen_subcommand_from help man' -a '", file);
        for (const struct command *const *each = commands; *each; each++)
                fprintf(file, "%s%s", each == commands ? "" : " ", (*each)->name);
        fputs("'\n", file);
}

/* ---- the command ---- */

bool completion_write(const char *shell, FILE *file)
{
        static const struct {
                const char *shell;
                void (*put)(FILE *file);
        } rows[] = {{"bash", completion_put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                if (!str_equal(rows[i].shell, shell))
                        continue;
                rows[i].put(file);
                return true;
        }
        return false;
}

static int run(const struct command_call *call)
{
        completion_write(call->action->name, stdout);
        return EXIT_FINE;
}

static const struct command_action actions[] = {
        {"bash", "", 0, 0, run},
        {"zsh", "", 0, 0, run},
        {"fish", "", 0, 0, run},
        {0},
};

const struct command completion_command = {
        .name = "completion",
        .group = GROUP_SELF,
        .summary = "print what a shell needs to complete command lines",
        .details = details,
        .options = no_options,
        .actions = actions,
};
