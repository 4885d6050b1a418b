/* csv.h - comma-separated tables, strictly.
 *
 * Pure apart from the heap. One owner at a time. Reads from memory, one row at a
 * time; a field's text lives until the next csv_next().
 *
 * RFC 4180: fields apart by commas, "quotes" around a field that holds commas,
 * quotes (doubled) or line breaks; LF or CRLF; the last line may end without one.
 * A byte order mark is skipped. The first row names the columns: their order is
 * free. Refused: a missing, unknown or repeated column, a row that is too short
 * or too long, an empty line, a lone quote or CR, NUL, bytes that are not UTF-8,
 * a row above CSV_ROW_BYTES_MAX. Sentences read "pods.csv:12: column 'gpu_milli': ...".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct csv;

#define CSV_COLUMNS_MAX   64
#define CSV_ROW_BYTES_MAX (1u << 20)    /* the row's end included */

enum csv_need {
        CSV_REQUIRED,
        CSV_OPTIONAL,   /* may be absent from the header; csv_has() tells */
        CSV_IGNORED,    /* known, and never read */
};

/* A column of this name, CSV_IGNORED, stands for all that the other entries do not name. */
#define CSV_REST "*"

struct csv_column {
        const char *name;
        enum csv_need need;
};

/* Reads the header. `columns` says what the caller knows; its index is the column's number in all
 * calls below. `name`, `bytes` and `columns` are borrowed until csv_free().
 * 0, -ERR_INPUT or -ERR_NOMEM. */
int csv_new(const char *name, const char *bytes, size_t size, const struct csv_column *columns,
            size_t columns_count, struct csv **ret_csv, struct err *err);
void csv_free(struct csv *csv);                         /* NULL is fine */

/* The next row: 1, or 0 at the end, or -ERR_INPUT (and again at each further call). */
int csv_next(struct csv *csv, struct err *err);

unsigned csv_line(const struct csv *csv);               /* line the row starts at, from 1 */
bool csv_has(const struct csv *csv, unsigned column);   /* the header names it */

/* The field; "" when the column is absent. Valid after csv_next() returned 1. */
const char *csv_raw(const struct csv *csv, unsigned column);

/* Decoding a field of a present column: 0, -ERR_INPUT or -ERR_RANGE; see num.h. An empty field is
 * no number. For an absent column: 0, and *ret_x stays. */
int csv_text(const struct csv *csv, unsigned column, size_t min_bytes, size_t max_bytes,
             const char **ret_text, struct err *err);
int csv_u64(const struct csv *csv, unsigned column, uint64_t min, uint64_t max,
            uint64_t *ret_value, struct err *err);
int csv_u32(const struct csv *csv, unsigned column, uint32_t min, uint32_t max,
            uint32_t *ret_value, struct err *err);
int csv_i64(const struct csv *csv, unsigned column, int64_t min, int64_t max, int64_t *ret_value,
            struct err *err);
int csv_milli(const struct csv *csv, unsigned column, uint64_t min_milli, uint64_t max_milli,
              uint64_t *ret_milli, struct err *err);

/* Refuses the row ("file:line: sentence") or one field of it; returns -ERR_INPUT. */
int csv_fail_row(const struct csv *csv, struct err *err, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
int csv_fail(const struct csv *csv, unsigned column, struct err *err, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
