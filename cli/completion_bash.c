/* What bash reads. */
#include "cli/completion_impl.h"

/* " --tenant:tenants -t:tenants ", and of arguments " use:contexts " or "nodes". */
static void put_bash_names(const struct command *command, FILE *file)
{
        enum names_kind kind;

        fputs("        known=' ", file);
        for (const struct command_option *option = command->options; option->name; option++) {
                if ((kind = completion_of_option(command, option)) == NAMES_KINDS_END)
                        continue;
                fprintf(file, "--%s:%s ", option->name, names_word(kind));
                if (option->letter)
                        fprintf(file, "-%c:%s ", option->letter, names_word(kind));
        }
        for (const struct command_action *action = command->actions; action && action->name;
             action++)
                if ((kind = completion_of_argument(command, action)) != NAMES_KINDS_END)
                        fprintf(file, "%s:%s ", action->name, names_word(kind));
        fputs("'\n", file);
        if (!command->actions && (kind = completion_of_argument(command, NULL)) != NAMES_KINDS_END)
                fprintf(file, "        named=%s most=%zu\n", names_word(kind),
                        completion_names_most(command));
}

static void put_bash_command(const struct command *command, FILE *file)
{
        fprintf(file, "    %s)\n        words='", command->name);
        for (const struct command *const *each = commands;
             completion_takes_command(command) && *each; each++)
                fprintf(file, "%s ", (*each)->name);
        for (const struct command_action *action = command->actions; action && action->name;
             action++)
                fprintf(file, "%s ", action->name);
        fputs("'\n        options='", file);
        for (const struct command_option *option = command->options; option->name; option++)
                fprintf(file, "--%s ", option->name);
        fputs("--help'\n        values='", file);
        for (const struct command_option *option = command->options; option->name; option++) {
                if (completion_needed(option))
                        fprintf(file, "--%s ", option->name);
                if (completion_needed(option) && option->letter)
                        fprintf(file, "-%c ", option->letter);
        }
        fputs("'\n        files='", file);
        for (const struct command_option *option = command->options; option->name; option++)
                if (completion_is_file(completion_needed(option)))
                        fprintf(file, "--%s ", option->name);
        fprintf(file, "%s'\n", completion_takes_file(command) ? "argument" : "");
        put_bash_names(command, file);
        fputs("        ;;\n", file);
}

/* What comes before and behind the table of commands. The words of bash end at every '=' and ':':
 * they are put together again, and what is offered lacks what stands before the last of them. */
static const char bash_begin[] =
        "# bash completion of berth\n"
        "_berth_line() {\n"
        "    local word is_sign glue=''\n"
        "    line=() n=0\n"
        "    for word in \"${COMP_WORDS[@]:0:COMP_CWORD+1}\"; do\n"
        "        is_sign=''\n"
        "        case $word in '' | *[!:=]*) ;; *) is_sign=1;; esac\n"
        "        if [ \"$n\" -gt 0 ] && [ -n \"$glue$is_sign\" ]; then line[n-1]+=$word\n"
        "        else line[n++]=$word; fi\n"
        "        glue=$is_sign\n"
        "    done\n"
        "}\n"
        "_berth_known() {\n"
        "    local name about quoted\n"
        "    while IFS=$'\\t' read -r name about; do\n"
        "        printf -v quoted %q \"$name\"\n"
        "        COMPREPLY+=(\"$quoted\")\n"
        "    done < <(berth __complete \"$1\" -- \"${cur#[\\\"\\']}\" \"${line[@]:1}\" "
        "2>/dev/null)\n"
        "    compopt +o filenames 2>/dev/null\n"
        "}\n"
        "_berth_count() {\n"
        "    local i skip=''\n"
        "    count=0\n"
        "    for ((i = 2; i < n - 1; i++)); do\n"
        "        if [ -n \"$skip\" ]; then skip=''; continue; fi\n"
        "        case ${line[i]} in\n"
        "        --) count=1000;;\n"
        "        -*) case \" $values \" in *\" ${line[i]} \"*) skip=1;; esac;;\n"
        "        *) ((count++));;\n"
        "        esac\n"
        "    done\n"
        "}\n"
        "_berth_offer() {\n"
        "    local words='' options='' values='' files='' known='' named='' most=0 count kind\n"
        "    local prev=${line[n-2]}\n"
        "    if [ \"$n\" -eq 2 ]; then\n"
        "        COMPREPLY=($(compgen -W '";

static const char bash_end[] =
        "    esac\n"
        "    case $cur in --*=*) prev=${cur%%=*} cur=${cur#*=};; esac\n"
        "    case \" $files \" in *\" $prev \"*) COMPREPLY=($(compgen -f -- \"$cur\")); return;; "
        "esac\n"
        "    case \" $values \" in *\" $prev \"*)\n"
        "        case $known in *\" $prev:\"*)\n"
        "            kind=${known#*\" $prev:\"}\n"
        "            _berth_known \"${kind%% *}\";;\n"
        "        esac\n"
        "        return;;\n"
        "    esac\n"
        "    case $cur in\n"
        "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"));;\n"
        "    *)\n"
        "        [ -n \"$words\" ] && [ \"$n\" -eq 3 ] &&\n"
        "            COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) && return\n"
        "        _berth_count\n"
        "        if [ -n \"$words\" ] && [ \"$count\" -eq 1 ]; then\n"
        "            case $known in *\" ${line[2]}:\"*)\n"
        "                kind=${known#*\" ${line[2]}:\"}\n"
        "                _berth_known \"${kind%% *}\";;\n"
        "            esac\n"
        "        elif [ -n \"$named\" ] && [ \"$count\" -lt \"$most\" ]; then\n"
        "            _berth_known \"$named\"\n"
        "        fi\n"
        "        case \" $files \" in *' argument '*) COMPREPLY+=($(compgen -f -- \"$cur\"));; "
        "esac\n"
        "        ;;\n"
        "    esac\n"
        "}\n"
        "_berth() {\n"
        "    local -a line\n"
        "    local n cur head i\n"
        "    COMPREPLY=()\n"
        "    _berth_line\n"
        "    cur=${line[n-1]}\n"
        "    head=${cur%\"${cur##*:}\"}\n"
        "    case $head in --*=*) head=${head#*=};; esac\n"
        "    _berth_offer\n"
        "    case $COMP_WORDBREAKS in *:*)\n"
        "        for i in \"${!COMPREPLY[@]}\"; do COMPREPLY[i]=${COMPREPLY[i]#\"$head\"}; done;;\n"
        "    esac\n"
        "}\n"
        "complete -o filenames -F _berth berth\n";

void completion_put_bash(FILE *file)
{
        fputs(bash_begin, file);
        for (const struct command *const *each = commands; *each; each++)
                fprintf(file, "%s ", (*each)->name);
        fputs("' -- \"$cur\"))\n"
              "        return\n"
              "    fi\n"
              "    case ${line[1]} in\n",
              file);
        for (const struct command *const *each = commands; *each; each++)
                put_bash_command(*each, file);
        fputs(bash_end, file);
}
