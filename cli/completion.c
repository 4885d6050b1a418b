#include "cli/completion.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static const struct command_option no_options[] = {{0}};

static const char details[] =
        "Prints a script for the shell; a shell's start file reads it.\n"
        "\n"
        "examples:\n"
        "  eval \"$(berth completion bash)\"                         in ~/.bashrc\n"
        "  berth completion zsh > \"${fpath[1]}/_berth\"             once\n"
        "  berth completion fish > ~/.config/fish/completions/berth.fish\n";

/* The value that an option needs: NULL where it has none, or may stand alone. */
static const char *needed(const struct command_option *option)
{
        return option->value && option->value[0] != '[' ? option->value : NULL;
}

/* What a value may be: a file, or words that the shell cannot know. */
static bool is_file(const char *value)
{
        static const char *const names[] = {"FILE", "SCENARIO", "POLICY"};

        for (size_t i = 0; value && i < ARRAY_LEN(names); i++)
                if (strncmp(value, names[i], strlen(names[i])) == 0)
                        return true;
        return false;
}

static bool takes_file(const struct command *command)
{
        if (command->arguments && strstr(command->arguments, "FILE"))
                return true;
        if (command->arguments && strstr(command->arguments, "SCENARIO"))
                return true;
        for (const struct command_action *action = command->actions; action && action->name;
             action++)
                if (is_file(action->arguments) || strstr(action->arguments, "FILE"))
                        return true;
        return false;
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

/* ---- bash ---- */

/* Those whose argument is a command. */
static bool takes_command(const struct command *command)
{
        return command->arguments && str_equal(command->arguments, "[COMMAND]");
}

static void put_bash_command(const struct command *command, FILE *file)
{
        fprintf(file, "    %s)\n        words='", command->name);
        for (const struct command *const *each = commands; takes_command(command) && *each; each++)
                fprintf(file, "%s ", (*each)->name);
        for (const struct command_action *action = command->actions; action && action->name;
             action++)
                fprintf(file, "%s ", action->name);
        fputs("'\n        options='", file);
        for (const struct command_option *option = command->options; option->name; option++)
                fprintf(file, "--%s ", option->name);
        fputs("--help'\n        values='", file);
        for (const struct command_option *option = command->options; option->name; option++) {
                if (needed(option))
                        fprintf(file, "--%s ", option->name);
                if (needed(option) && option->letter)
                        fprintf(file, "-%c ", option->letter);
        }
        fputs("'\n        files='", file);
        for (const struct command_option *option = command->options; option->name; option++)
                if (is_file(needed(option)))
                        fprintf(file, "--%s ", option->name);
        fprintf(file, "%s'\n        ;;\n", takes_file(command) ? "argument" : "");
}

static void put_bash(FILE *file)
{
        fputs("# bash completion of berth\n"
              "_berth() {\n"
              "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
              "    local words='' options='' values='' files=''\n"
              "    COMPREPLY=()\n"
              "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
              "        COMPREPLY=($(compgen -W '",
              file);
        for (const struct command *const *each = commands; *each; each++)
                fprintf(file, "%s ", (*each)->name);
        fputs("' -- \"$cur\"))\n"
              "        return\n"
              "    fi\n"
              "    case ${COMP_WORDS[1]} in\n",
              file);
        for (const struct command *const *each = commands; *each; each++)
                put_bash_command(*each, file);
        fputs("    esac\n"
              "    case \" $files \" in *\" $prev \"*) COMPREPLY=($(compgen -f -- \"$cur\")); "
              "return;; esac\n"
              "    case \" $values \" in *\" $prev \"*) return;; esac\n"
              "    case $cur in\n"
              "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"));;\n"
              "    *)\n"
              "        [ -n \"$words\" ] && [ \"$COMP_CWORD\" -eq 2 ] &&\n"
              "            COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) && return\n"
              "        case \" $files \" in *' argument '*) COMPREPLY=($(compgen -f -- "
              "\"$cur\"));; esac\n"
              "        ;;\n"
              "    esac\n"
              "}\n"
              "complete -o filenames -F _berth berth\n",
              file);
}

/* ---- zsh ---- */

static void put_zsh_option(const struct command_option *option, FILE *file)
{
        const char *many = command_option_repeats(option) ? "*" : "";

        fprintf(file, " \\\n            '%s--%s%s[", many, option->name, needed(option) ? "=" : "");
        put_help(option->help, "[]:\\", file);
        fputc(']', file);
        if (needed(option))
                fprintf(file, ":%s:%s", option->name, is_file(needed(option)) ? "_files" : "");
        fputc('\'', file);
        if (!option->letter)
                return;
        fprintf(file, " \\\n            '%s-%c%s[", many, option->letter,
                needed(option) ? "+" : "");
        put_help(option->help, "[]:\\", file);
        fputc(']', file);
        if (needed(option))
                fprintf(file, ":%s:%s", option->name, is_file(needed(option)) ? "_files" : "");
        fputc('\'', file);
}

static void put_zsh_command(const struct command *command, FILE *file)
{
        fprintf(file, "    %s)\n        _arguments -s", command->name);
        for (const struct command_option *option = command->options; option->name; option++)
                put_zsh_option(option, file);
        fputs(" \\\n            '--help[this text]'", file);
        if (command->actions) {
                fputs(" \\\n            '1:what to do:(", file);
                for (const struct command_action *action = command->actions; action->name; action++)
                        fprintf(file, "%s%s", action == command->actions ? "" : " ", action->name);
                fputs(")'", file);
        }
        if (takes_command(command))
                fputs(" \\\n            '1:command:_berth_commands'", file);
        if (takes_file(command))
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
                if (needed(option))
                        fputs(is_file(needed(option)) ? " -r -F" : " -x", file);
                fputs(" -d '", file);
                put_help(option->help, "\\", file);
                fputs("'\n", file);
        }
        for (const struct command_action *action = command->actions; action && action->name;
             action++)
                fprintf(file, "complete -c berth -n '__fish_seen_subcommand_from %s' -a %s\n", name,
                        action->name);
        if (takes_file(command))
                fprintf(file, "complete -c berth -n '__fish_seen_subcommand_from %s' -F\n", name);
}

static void put_fish(FILE *file)
{
        fputs("# fish completion of berth\n"
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
        } rows[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};

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
