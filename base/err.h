/* err.h - one error: a code for the program, a sentence for the person.
 *
 * Pure. A function that can fail returns 0 or a negative code of this list and
 * takes a `struct err *` as its last argument, which may be NULL.
 */
#pragma once

#include <stdarg.h>

#define ERR_CODES(X)                            \
        X(NOMEM,     "out_of_memory")           \
        X(INPUT,     "invalid_input")           \
        X(NOT_FOUND, "not_found")               \
        X(EXISTS,    "already_exists")          \
        X(FULL,      "table_full")              \
        X(RANGE,     "out_of_range")            \
        X(IO,        "io_error")                \
        X(DENIED,    "denied")                  \
        X(CANCELLED, "cancelled")               \
        X(QUARANTINED, "quarantined")           \
        X(LIMIT,     "limit_reached")

enum err_code {
        ERR_OK = 0,
#define X(name, wire) ERR_##name,
        ERR_CODES(X)
#undef X
        ERR_CODES_END
};

struct err {
        enum err_code code;
        char text[480];
};

/* Writes code and sentence (cut at the end of the buffer, always terminated);
 * returns -code, so that refusing is one line. `err` may be NULL. */
int err_set(struct err *err, enum err_code code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " in front of the sentence; the code stays. Returns -code. */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The wire name of a code ("invalid_input"); takes it with either sign. */
const char *err_code_name(int code);
