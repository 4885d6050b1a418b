#include "base/csv.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

#define ABSENT UINT8_MAX
#define NAME_SHOWN_MAX 120              /* of a file name in a sentence */

struct csv {
        const char *name;
        const char *bytes;
        size_t size;
        size_t at;                      /* the next row starts here */
        unsigned line;                  /* the line `at` is in */
        unsigned row_line;
        const struct csv_column *columns;
        uint8_t columns_count;
        uint8_t field_of[CSV_COLUMNS_MAX];      /* by column: the field's place, or ABSENT */
        uint8_t fields_wanted;          /* as many as the header has; 0 while reading it */
        unsigned fields_count;          /* of this row */
        uint32_t starts[CSV_COLUMNS_MAX];       /* of each field in `row` */
        char *row;                      /* the fields without quotes, each ended by NUL */
        size_t row_room;
        bool has_failed;
        struct err failure;             /* told again at each further csv_next() */
};

static int fail_at(const struct csv *csv, unsigned line, struct err *err, const char *format,
                   va_list args) __attribute__((format(printf, 4, 0)));

static int fail_at(const struct csv *csv, unsigned line, struct err *err, const char *format,
                   va_list args)
{
        char sentence[sizeof err->text];
        vsnprintf(sentence, sizeof sentence, format, args);
        size_t length = strlen(csv->name);
        bool is_long = length > NAME_SHOWN_MAX;
        return err_set(err, ERR_INPUT, "%s%s:%u: %s", is_long ? "..." : "",
                       csv->name + (is_long ? length - NAME_SHOWN_MAX : 0), line, sentence);
}

static int fail_line(const struct csv *csv, unsigned line, struct err *err, const char *format,
                     ...) __attribute__((format(printf, 4, 5)));

static int fail_line(const struct csv *csv, unsigned line, struct err *err, const char *format,
                     ...)
{
        va_list args;
        va_start(args, format);
        int rc = fail_at(csv, line, err, format, args);
        va_end(args);
        return rc;
}

int csv_fail_row(const struct csv *csv, struct err *err, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        int rc = fail_at(csv, csv->row_line, err, format, args);
        va_end(args);
        return rc;
}

int csv_fail(const struct csv *csv, unsigned column, struct err *err, const char *format, ...)
{
        assert(column < csv->columns_count);

        char sentence[sizeof err->text];
        va_list args;
        va_start(args, format);
        vsnprintf(sentence, sizeof sentence, format, args);
        va_end(args);
        return csv_fail_row(csv, err, "column '%s': %s", csv->columns[column].name, sentence);
}

/* Room for a row of `length` bytes without quotes and the NULs between its fields. */
static int make_room(struct csv *csv, size_t length, struct err *err)
{
        if (length <= csv->row_room)
                return 0;
        size_t room = length > 2 * csv->row_room ? length : 2 * csv->row_room;
        char *row = mem_resize(csv->row, csv->row_room, room, 1);
        if (!row)
                return err_set(err, ERR_NOMEM, "%s: out of memory", csv->name);
        csv->row = row;
        csv->row_room = room;
        return 0;
}

/* The end of the row that starts at csv->at, behind its line break. A quote opens or closes; so
 * does each half of a doubled one, which leaves the answer the same. */
static int find_end(const struct csv *csv, size_t *ret_end, struct err *err)
{
        size_t left = csv->size - csv->at;
        size_t bound = left < CSV_ROW_BYTES_MAX ? left : CSV_ROW_BYTES_MAX;
        const char *start = csv->bytes + csv->at;
        bool in_quotes = false;
        unsigned line = csv->line;
        unsigned quote_line = line;
        for (size_t i = 0; i < bound; i++) {
                if (start[i] == '"') {
                        in_quotes = !in_quotes;
                        quote_line = line;
                } else if (start[i] == '\n') {
                        if (!in_quotes) {
                                *ret_end = csv->at + i + 1;
                                return 0;
                        }
                        line++;
                }
        }
        if (bound < left)
                return fail_line(csv, csv->line, err,
                                 "the row is longer than %u bytes; is a line break or a closing "
                                 "quote missing?", CSV_ROW_BYTES_MAX);
        if (in_quotes)
                return fail_line(csv, quote_line, err, "a quote is opened and never closed");
        *ret_end = csv->size;
        return 0;
}

/* Copies one field, without its quotes, to row[*used]; `at` moves behind it, to a comma, a line
 * break or the end. */
static int read_field(struct csv *csv, size_t *at, size_t end, size_t *used, struct err *err)
{
        const char *bytes = csv->bytes;
        size_t i = *at;
        size_t out = *used;
        if (i < end && bytes[i] == '"') {
                for (i++;; i++) {
                        assert(i < end);        /* find_end saw the quotes closed */
                        if (bytes[i] == '"') {
                                if (i + 1 >= end || bytes[i + 1] != '"')
                                        break;
                                i++;
                        } else if (bytes[i] == '\n') {
                                csv->line++;
                        }
                        csv->row[out++] = bytes[i];
                }
                i++;
                if (i < end && bytes[i] != ',' && bytes[i] != '\n' && bytes[i] != '\r')
                        return fail_line(csv, csv->line, err,
                                         "text follows a closing quote; put the whole field in "
                                         "quotes and double the ones inside");
        } else {
                for (; i < end && bytes[i] != ',' && bytes[i] != '\n' && bytes[i] != '\r'; i++) {
                        if (bytes[i] == '"')
                                return fail_line(csv, csv->line, err,
                                                 "a quote stands inside a field; put the whole "
                                                 "field in quotes and double the ones inside");
                        csv->row[out++] = bytes[i];
                }
        }
        csv->row[out++] = '\0';
        *at = i;
        *used = out;
        return 0;
}

/* Takes the row at csv->at apart. 1, or 0 at the end, or an error. */
static int read_row(struct csv *csv, struct err *err)
{
        if (csv->at >= csv->size)
                return 0;
        csv->row_line = csv->line;
        size_t end = 0;
        int rc = find_end(csv, &end, err);
        /* Each field ends with a comma or a line break, or is the last: one NUL instead of it. */
        if (rc < 0 || (rc = make_room(csv, end - csv->at + 1, err)) < 0)
                return rc;

        size_t at = csv->at;
        size_t used = 0;
        csv->fields_count = 0;
        for (;;) {
                size_t start = used;
                rc = read_field(csv, &at, end, &used, err);
                if (rc < 0)
                        return rc;
                if (csv->fields_count < CSV_COLUMNS_MAX)
                        csv->starts[csv->fields_count] = (uint32_t)start;
                csv->fields_count++;
                if (at >= end || csv->bytes[at] != ',')
                        break;
                at++;
        }
        if (at < end && csv->bytes[at] == '\r') {
                at++;
                if (at >= end || csv->bytes[at] != '\n')
                        return fail_line(csv, csv->line, err,
                                         "a CR stands without LF; end lines with LF or CRLF");
        }
        if (at < end) {
                assert(csv->bytes[at] == '\n');
                at++;
                csv->line++;
        }
        assert(at == end);
        assert(used <= csv->row_room);
        if (csv->fields_count == 1 && csv->row[0] == '\0' && csv->bytes[csv->at] != '"')
                return csv_fail_row(csv, err, "the line is empty; take it out");
        csv->at = end;
        return 1;
}

static const char *field(const struct csv *csv, unsigned index)
{
        return csv->row + csv->starts[index];
}

static int fail_unknown(const struct csv *csv, const char *name, struct err *err)
{
        struct str_near near;
        char buf[STR_NEAR_MAX];
        char show[STR_SHOW_MAX];
        str_near_init(&near, name);
        for (unsigned i = 0; i < csv->columns_count; i++)
                str_near_add(&near, csv->columns[i].name);
        return csv_fail_row(csv, err, "column '%s' is not known here; %s", str_show(name, show),
                            str_near_text(&near, buf, sizeof buf));
}

/* The column named `name`, or columns_count. */
static unsigned find_column(const struct csv *csv, const char *name)
{
        unsigned column = 0;
        while (column < csv->columns_count && !str_equal(name, csv->columns[column].name))
                column++;
        return column;
}

/* Near are only names that mean nothing here: one of them may be the misspelt column. */
static int fail_missing(const struct csv *csv, unsigned column, struct err *err)
{
        struct str_near near;
        char buf[STR_NEAR_MAX] = "add it";
        str_near_init(&near, csv->columns[column].name);
        for (unsigned i = 0; i < csv->fields_count; i++)
                if (find_column(csv, field(csv, i)) == csv->columns_count)
                        str_near_add(&near, field(csv, i));
        if (near.best[0])
                str_near_text(&near, buf, sizeof buf);
        return csv_fail_row(csv, err, "column '%s' is not among the columns that the line names; "
                            "%s", csv->columns[column].name, buf);
}

static int map_columns(struct csv *csv, struct err *err)
{
        if (csv->fields_count > CSV_COLUMNS_MAX)
                return csv_fail_row(csv, err, "has %u columns; at most %d are read",
                                    csv->fields_count, CSV_COLUMNS_MAX);
        memset(csv->field_of, ABSENT, sizeof csv->field_of);
        for (unsigned i = 0; i < csv->fields_count; i++) {
                unsigned column = find_column(csv, field(csv, i));
                if (column == csv->columns_count)
                        continue;
                if (csv->field_of[column] != ABSENT)
                        return csv_fail_row(csv, err, "column '%s' stands twice; keep one",
                                            csv->columns[column].name);
                csv->field_of[column] = (uint8_t)i;
        }
        /* What is missing first: a misspelt required column is then told as the missing one. */
        for (unsigned column = 0; column < csv->columns_count; column++)
                if (csv->columns[column].need == CSV_REQUIRED &&
                    csv->field_of[column] == ABSENT)
                        return fail_missing(csv, column, err);
        bool takes_rest = find_column(csv, CSV_REST) < csv->columns_count;
        for (unsigned i = 0; i < csv->fields_count && !takes_rest; i++) {
                unsigned column = 0;
                while (column < csv->columns_count && csv->field_of[column] != i)
                        column++;
                if (column == csv->columns_count)
                        return fail_unknown(csv, field(csv, i), err);
        }
        csv->fields_wanted = (uint8_t)csv->fields_count;
        return 0;
}

static unsigned count_lines(const char *bytes, size_t size)
{
        unsigned line = 1;
        for (size_t i = 0; i < size; i++)
                line += bytes[i] == '\n';
        return line;
}

static int check_bytes(const struct csv *csv, struct err *err)
{
        size_t offset;
        if (!str_is_utf8(csv->bytes, csv->size, &offset))
                return fail_line(csv, count_lines(csv->bytes, offset), err,
                                 "byte 0x%02x is not UTF-8; save the file as UTF-8",
                                 (unsigned char)csv->bytes[offset]);
        const char *nul = csv->size > 0 ? memchr(csv->bytes, 0, csv->size) : NULL;
        if (nul)
                return fail_line(csv, count_lines(csv->bytes, (size_t)(nul - csv->bytes)), err,
                                 "holds a NUL byte; is this a text file?");
        return 0;
}

static int read_header(struct csv *csv, struct err *err)
{
        int rc = check_bytes(csv, err);
        if (rc < 0)
                return rc;
        if (csv->size >= 3 && memcmp(csv->bytes, "\xef\xbb\xbf", 3) == 0)
                csv->at = 3;
        rc = read_row(csv, err);
        if (rc < 0)
                return rc;
        if (rc == 0)
                return fail_line(csv, 1, err, "is empty; the first line names the columns, "
                                 "starting with '%s'", csv->columns[0].name);
        return map_columns(csv, err);
}

int csv_new(const char *name, const char *bytes, size_t size, const struct csv_column *columns,
            size_t columns_count, struct csv **ret_csv, struct err *err)
{
        assert(name);
        assert(bytes || size == 0);
        assert(columns_count >= 1);
        assert(columns_count <= CSV_COLUMNS_MAX);

        struct csv *csv = mem_new(1, sizeof *csv);
        if (!csv)
                return err_set(err, ERR_NOMEM, "%s: out of memory", name);
        csv->name = name;
        csv->bytes = bytes;
        csv->size = size;
        csv->line = 1;
        csv->columns = columns;
        csv->columns_count = (uint8_t)columns_count;
        int rc = read_header(csv, err);
        if (rc < 0) {
                csv_free(csv);
                return rc;
        }
        *ret_csv = csv;
        return 0;
}

void csv_free(struct csv *csv)
{
        if (!csv)
                return;
        mem_free(csv->row);
        mem_free(csv);
}

int csv_next(struct csv *csv, struct err *err)
{
        assert(csv);

        if (csv->has_failed) {
                if (err)
                        *err = csv->failure;
                return -(int)csv->failure.code;
        }
        int rc = read_row(csv, &csv->failure);
        if (rc > 0 && csv->fields_count != csv->fields_wanted)
                rc = csv_fail_row(csv, &csv->failure,
                                  "the row has %u fields and the first line names %u columns",
                                  csv->fields_count, csv->fields_wanted);
        if (rc < 0) {
                csv->has_failed = true;
                if (err)
                        *err = csv->failure;
        }
        return rc;
}

unsigned csv_line(const struct csv *csv)
{
        return csv->row_line;
}

bool csv_has(const struct csv *csv, unsigned column)
{
        assert(column < csv->columns_count);
        return csv->field_of[column] != ABSENT;
}

const char *csv_raw(const struct csv *csv, unsigned column)
{
        return csv_has(csv, column) ? field(csv, csv->field_of[column]) : "";
}

int csv_text(const struct csv *csv, unsigned column, size_t min_bytes, size_t max_bytes,
             const char **ret_text, struct err *err)
{
        assert(min_bytes <= max_bytes);

        if (!csv_has(csv, column))
                return 0;
        const char *text = csv_raw(csv, column);
        size_t length = strlen(text);
        if (length == 0 && min_bytes > 0)
                return csv_fail(csv, column, err, "is empty; write a text");
        if (length < min_bytes || length > max_bytes)
                return csv_fail(csv, column, err, "is %zu bytes long; write %zu to %zu", length,
                                min_bytes, max_bytes);
        *ret_text = text;
        return 0;
}

/* One getter per kind of number: decoded by num.h, its sentence put in its place. */
#define GETTER(name, type)                                                                      \
        int csv_##name(const struct csv *csv, unsigned column, type min, type max,              \
                       type *ret_value, struct err *err)                                        \
        {                                                                                       \
                if (!csv_has(csv, column))                                                      \
                        return 0;                                                               \
                struct err why = {0};                                                           \
                int rc = num_##name(csv_raw(csv, column), min, max, ret_value, &why);           \
                if (rc < 0) {                                                                   \
                        csv_fail(csv, column, err, "%s", why.text);                             \
                        if (err)                                                                \
                                err->code = why.code;                                           \
                }                                                                               \
                return rc;                                                                      \
        }

GETTER(u64, uint64_t)
GETTER(i64, int64_t)
GETTER(milli, uint64_t)

int csv_u32(const struct csv *csv, unsigned column, uint32_t min, uint32_t max,
            uint32_t *ret_value, struct err *err)
{
        uint64_t value = 0;
        int rc = csv_u64(csv, column, min, max, &value, err);
        if (rc == 0 && csv_has(csv, column))
                *ret_value = (uint32_t)value;
        return rc;
}
