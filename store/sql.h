/* sql.h - the few things done with SQLite over and over, for store/ only.
 *
 * Not pure; threads as the connection. Texts of SQL are always constants of this program; what
 * comes from outside is bound.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;
struct sqlite3;
struct sqlite3_stmt;

/* The path of the main file, for sentences. */
const char *sql_path(struct sqlite3 *db);

/* -ERR_NOMEM, -ERR_INPUT (no file of SQLite's), -ERR_CANCELLED (store_view_stops()) or -ERR_IO with
 * path, what SQLite says, and what the system said if it did. */
int sql_fail(struct sqlite3 *db, struct err *err);

/* One or more statements, results dropped. 0, -ERR_IO, -ERR_NOMEM. */
int sql_run(struct sqlite3 *db, const char *sql, struct err *err);

/* The first column of the one row. 0, -ERR_NOT_FOUND (no row), -ERR_IO, -ERR_NOMEM. */
int sql_number(struct sqlite3 *db, const char *sql, int64_t *ret_number, struct err *err);

int sql_prepare(struct sqlite3 *db, const char *sql, struct sqlite3_stmt **ret_statement,
                struct err *err);

/* Binding from 1. What is bound lives until the statement is reset; NULL with size 0 is "". */
void sql_bind_i64(struct sqlite3_stmt *statement, int index, int64_t value);
void sql_bind_text(struct sqlite3_stmt *statement, int index, const char *text);
void sql_bind_blob(struct sqlite3_stmt *statement, int index, const void *bytes, size_t size);

/* 1: a row; 0: the end, and the statement is reset; -ERR_IO, -ERR_NOMEM, reset too. */
int sql_step(struct sqlite3_stmt *statement, struct err *err);
void sql_reset(struct sqlite3_stmt *statement);

/* Runs a statement that gives no rows. */
int sql_done(struct sqlite3_stmt *statement, struct err *err);

/* A blob of exactly `size` bytes from a column; -ERR_IO when it has another size. */
int sql_blob(struct sqlite3_stmt *statement, int column, void *ret_bytes, size_t size,
             struct err *err);
