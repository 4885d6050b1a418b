/* ledger_files.h - the files of `berth replay` that a history's ledger is written to. */
#pragma once

#include <stdbool.h>

#include "sim/ledger_book.h"

struct command_call;
struct err;
struct history_result;
struct model_table;
struct scenario;

enum ledger_file { LEDGER_CSV, LEDGER_SHOWBACK, LEDGER_FACTS, LEDGER_FOCUS, LEDGER_REPORT,
                   LEDGER_FILES_END };

const char *ledger_file_option(enum ledger_file file);   /* "showback" */

struct ledger_files {
        const char *paths[LEDGER_FILES_END];    /* "-": standard output; NULL: not wanted */
        struct ledger_book book;
};

/* What the call asks for. 0, or -ERR_INPUT: with a scenario that has no such ledger. */
int ledger_files_ask(const struct command_call *call, const struct scenario *scenario,
                     struct ledger_files *ret_files, struct err *err);
void ledger_files_done(struct ledger_files *files);     /* a zeroed one is fine */

/* The book that has to be kept; NULL: none. */
struct ledger_book *ledger_files_book(struct ledger_files *files);
/* Whether one of them is standard output. */
bool ledger_files_print(const struct ledger_files *files);

/* 0, -ERR_IO or -ERR_NOMEM. */
int ledger_files_write(const struct ledger_files *files, const struct scenario *scenario,
                       const struct model_table *models, const struct history_result *result,
                       bool is_whole, struct err *err);
