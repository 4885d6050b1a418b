/* command.h - one table of commands: what they are called, take, and say about themselves.
 *
 * Options are parsed, and help, usage, completion (completion.h) and manual pages (manual.h)
 * written, from the same table, so they cannot differ. Prints; no globals of its own (getopt has
 * some: one parse at a time).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct command;
struct err;

/* What the program ends with. */
#define EXIT_CODES(X)                                                                           \
        X(FINE, 0, "fine")                                                                      \
        X(TROUBLE, 1, "out of memory, or the output could not be written")                      \
        X(BAD_INPUT, 2, "an option, a file or a document is wrong")                             \
        X(NOT_FOUND, 3, "there is no such thing, or you may not see it")                        \
        X(REFUSED, 4, "the pool refused: not allowed, or in conflict with what is there")       \
        X(NO_ANSWER, 5, "nobody answered, or not in time; try again")                           \
        X(UNDONE, 6, "of --wait: the work ended without an exit code of its own")               \
        X(STOPPED, 130, "stopped by Ctrl-C")

enum exit_code {
#define X(name, code, help) EXIT_##name = (code),
        EXIT_CODES(X)
#undef X
};

#define COMMAND_OPTIONS_MAX   24
#define COMMAND_ARGUMENTS_MAX 256
#define COMMAND_REPEATS_MAX   128

struct command_option {
        const char *name;               /* "seeds"; NULL ends the list */
        char letter;                    /* 'q', or 0 */
        const char *value;              /* "A..B"; "K=V ..." (a blank and three dots): it may be
                                           given several times; "[FILE.json]": it may be left
                                           out, and is "-" then; what follows it is one only if
                                           it is "-" or ends as that does; NULL: a flag */
        const char *help;               /* "check, try: what it does" where it goes with these
                                           actions only */
};

/* What was given. Texts are those of argv. */
struct command_call {
        const struct command *command;
        const struct command_action *action;            /* NULL: the command has none */
        const char *values[COMMAND_OPTIONS_MAX];        /* by index of the option; a flag: "" */
        const char *arguments[COMMAND_ARGUMENTS_MAX];   /* without the action's name */
        size_t arguments_count;
        struct {
                size_t option;
                const char *value;
        } repeats[COMMAND_REPEATS_MAX];                 /* of options that may be repeated */
        size_t repeats_count;
        char **tail;                    /* what stands behind "--", where the command takes that */
        size_t tail_count;
};

/* `berth policy check`: a command whose first argument says what to do. */
struct command_action {
        const char *name;               /* NULL ends the list */
        const char *arguments;          /* "FILE" */
        size_t arguments_min, arguments_max;
        int (*run)(const struct command_call *call);
};

/* Help shows the commands in these groups. */
#define COMMAND_GROUPS(X)                       \
        X(WORK, "your work")                    \
        X(POOL, "the pool")                     \
        X(OPERATE, "for operators")             \
        X(PLAN, "without a pool")               \
        X(SELF, "the command itself")

enum command_group {
#define X(name, title) GROUP_##name,
        COMMAND_GROUPS(X)
#undef X
        COMMAND_GROUPS_END
};

struct command {
        const char *name;               /* "replay" */
        enum command_group group;
        bool is_live;                   /* speaks to a pool: help says how it is found */
        const char *arguments;          /* "SCENARIO.yaml"; NULL where there are actions */
        size_t arguments_min, arguments_max;
        const char *tail;               /* "COMMAND": takes what stands behind "--" */
        const char *summary;            /* one line */
        const char *details;            /* rest of --help; ends with a line break */
        const struct command_option *options;
        const struct command_action *actions;           /* NULL: none */
        int (*run)(const struct command_call *call);    /* returns an exit code */
};

extern const struct command *const commands[];          /* commands.c; NULL ends it */

/* Each live command's table of options ends with these two. */
#define COMMAND_LIVE_OPTIONS                                                                    \
        {"json", 0, NULL, "print the server's JSON as it came"},                                \
        {"context", 0, "NAME", "which pool, of those that `berth context list` shows"}

/* NULL: there is none of that name; `err` lists near ones. */
const struct command *command_find(const char *name, struct err *err);

/* Parses argv[1...] (argv[0] is the command's name). 0, 1 (help was asked for), or -ERR_INPUT with
 * the way out. Options may stand before and behind arguments. */
int command_parse(const struct command *command, int argc, char **argv,
                  struct command_call *ret_call, struct err *err);

/* The value of an option ("" for a flag), or NULL when it was not given. */
const char *command_value(const struct command_call *call, const char *option);
/* The values of an option that may be repeated, in turn: start with *cursor = 0; NULL: no more. */
const char *command_each(const struct command_call *call, const char *option, size_t *cursor);

bool command_option_repeats(const struct command_option *option);
/* Whether it goes with that action; all do that name none. */
bool command_option_goes(const struct command *command, const struct command_option *option,
                         const char *action);

/* Whether help says that it may end with that code: what is of --wait goes with those that have
 * it. */
bool command_ends_with(const struct command *command, enum exit_code code);

/* Finds the command, parses, runs. argv[0] is the program. The exit code. */
int command_main(int argc, char **argv);

/* ---- help (command_help.c) ---- */

void command_usage(const struct command *command, FILE *file);  /* a line for each action */
void command_help(const struct command *command, FILE *file);
/* The same, or with NULL command_list(), to standard output, no wider than it is. */
void command_help_show(const struct command *command);
void command_list(FILE *file);                                  /* help of the whole program */
