/* command.h - one table of commands: what they are called, take, and say about themselves.
 *
 * Options are parsed, help and usage are written from the same table, so they
 * cannot differ. Prints; no globals of its own (getopt has some: one parse at a time).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct command;
struct err;

/* What a program of ours ends with. */
enum exit_code {
        EXIT_FINE = 0,
        EXIT_TROUBLE = 1,               /* out of memory and the like */
        EXIT_BAD_INPUT = 2,             /* a document, file or option */
        EXIT_STOPPED = 130,             /* Ctrl-C */
};

#define COMMAND_OPTIONS_MAX   24
#define COMMAND_ARGUMENTS_MAX 8

struct command_option {
        const char *name;               /* "seeds"; NULL ends the list */
        char letter;                    /* 'q', or 0 */
        const char *value;              /* "A..B"; NULL: a flag */
        const char *help;
};

/* What was given. Texts are those of argv. */
struct command_call {
        const struct command *command;
        const char *values[COMMAND_OPTIONS_MAX];        /* by index of the option; a flag: "" */
        const char *arguments[COMMAND_ARGUMENTS_MAX];
        size_t arguments_count;
};

struct command {
        const char *name;               /* "replay"; NULL ends the table */
        const char *arguments;          /* "SCENARIO.yaml" */
        size_t arguments_min, arguments_max;
        const char *summary;            /* one line */
        const char *details;            /* rest of --help; ends with a line break */
        const struct command_option *options;
        int (*run)(const struct command_call *call);    /* returns an exit code */
};

extern const struct command commands[];                 /* commands.c; ends with an empty one */

/* NULL: there is none of that name; `err` lists near ones. */
const struct command *command_find(const char *name, struct err *err);

/* Parses argv[1...] (argv[0] is the command's name). 0, 1 (help was asked for), or -ERR_INPUT with
 * the way out. Options may stand before and behind arguments. */
int command_parse(const struct command *command, int argc, char **argv,
                  struct command_call *ret_call, struct err *err);

/* The value of an option ("" for a flag), or NULL when it was not given. */
const char *command_value(const struct command_call *call, const char *option);

void command_usage(const struct command *command, FILE *file);  /* one line */
void command_help(const struct command *command, FILE *file);
void command_list(FILE *file);                                  /* help of the whole program */

/* Finds the command, parses, runs. argv[0] is the program. The exit code. */
int command_main(int argc, char **argv);
