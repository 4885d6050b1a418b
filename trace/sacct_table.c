#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "trace/sacct_impl.h"

#define NAME_SHOWN_MAX 64 /* of a file name in a sentence: the command must fit behind it */

static const char *const column_names[SACCT_COLUMNS_END] = {
#define X(name, wire) wire,
        SACCT_COLUMNS(X)
#undef X
};

_Static_assert(SACCT_COLUMNS_END <= 32, "a set of columns is one uint32_t");

/* The name, or its end when it is long. */
static const char *shown_name(const struct sacct_table *table)
{
        size_t length = strlen(table->name);

        return table->name + (length > NAME_SHOWN_MAX ? length - NAME_SHOWN_MAX : 0);
}

int sacct_fail_row(const struct sacct_table *table, struct err *err, const char *format, ...)
{
        char sentence[sizeof err->text];
        va_list args;

        va_start(args, format);
        vsnprintf(sentence, sizeof sentence, format, args);
        va_end(args);
        return err_set(err, ERR_INPUT, "%s:%u: %s", shown_name(table), table->line, sentence);
}

int sacct_fail(const struct sacct_table *table, enum sacct_column column, struct err *err,
               const char *format, ...)
{
        char sentence[sizeof err->text];
        va_list args;

        va_start(args, format);
        vsnprintf(sentence, sizeof sentence, format, args);
        va_end(args);
        return sacct_fail_row(table, err, "column '%s': %s", column_names[column], sentence);
}

int sacct_blame(const struct sacct_table *table, enum sacct_column column, struct err *err)
{
        return err_prefix(err, "%s:%u: column '%s'", shown_name(table), table->line,
                          column_names[column]);
}

bool sacct_has(const struct sacct_table *table, enum sacct_column column)
{
        return table->field_of[column] >= 0;
}

const char *sacct_field(const struct sacct_table *table, enum sacct_column column)
{
        return sacct_has(table, column) ? table->row + table->starts[table->field_of[column]] : "";
}

/* The next line that is not empty, without its end: 1, 0 at the end, or an error. */
static int next_line(struct sacct_table *table, const char **ret_line, size_t *ret_length,
                     struct err *err)
{
        while (table->at < table->size) {
                const char *line = table->bytes + table->at;
                size_t left = table->size - table->at;
                size_t bound = left < SACCT_ROW_BYTES_MAX ? left : SACCT_ROW_BYTES_MAX;
                const char *end = memchr(line, '\n', bound);

                table->line = table->next_line;
                if (!end && bound < left)
                        return sacct_fail_row(table, err, "is longer than %u bytes",
                                              SACCT_ROW_BYTES_MAX);
                size_t length = end ? (size_t)(end - line) : left;
                table->at += length + (end != NULL);
                table->next_line++;
                if (memchr(line, 0, length))
                        return sacct_fail_row(table, err,
                                              "holds a NUL byte; is this what sacct printed?");
                if (length > 0 && line[length - 1] == '\r')
                        length--;
                if (length == 0)
                        continue;
                *ret_line = line;
                *ret_length = length;
                return 1;
        }
        return 0;
}

/* Copies the line into `row` and ends each field there; returns how many, -ERR_NOMEM. */
static int split(struct sacct_table *table, const char *line, size_t length, struct err *err)
{
        int count = 0;

        if (length + 1 > table->row_room) {
                char *row = mem_resize(table->row, table->row_room, length + 256, 1);
                if (!row)
                        return err_set(err, ERR_NOMEM, "%s: out of memory", shown_name(table));
                table->row = row;
                table->row_room = length + 256;
        }
        memcpy(table->row, line, length);
        table->row[length] = '\0';
        for (size_t start = 0; start <= length; count++) {
                const char *bar = memchr(line + start, '|', length - start);
                size_t end = bar ? (size_t)(bar - line) : length;
                if (count < SACCT_COLUMNS_MAX)
                        table->starts[count] = (uint32_t)start;
                table->row[end] = '\0';
                start = end + 1;
        }
        return count;
}

static int fail_missing(const struct sacct_table *table, uint32_t missing, struct err *err)
{
        char list[200] = "";
        size_t used = 0;

        for (unsigned c = 0; c < SACCT_COLUMNS_END; c++)
                if (missing >> c & 1 && used < sizeof list)
                        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                                 used ? ", " : "", column_names[c]);
        return sacct_fail_row(table, err, "lacks the columns %s; print them with: %s", list,
                              SACCT_COMMAND);
}

static int map_columns(struct sacct_table *table, uint32_t wanted, struct err *err)
{
        uint32_t missing = 0;

        for (unsigned c = 0; c < SACCT_COLUMNS_END; c++)
                table->field_of[c] = -1;
        for (unsigned f = 0; f < table->fields_count; f++)
                for (unsigned c = 0; c < SACCT_COLUMNS_END; c++) {
                        if (!str_equal_nocase(table->row + table->starts[f], column_names[c]))
                                continue;
                        if (table->field_of[c] >= 0)
                                return sacct_fail_row(table, err,
                                                      "column '%s' stands twice; keep one",
                                                      column_names[c]);
                        table->field_of[c] = (int16_t)f;
                }
        for (unsigned c = 0; c < SACCT_COLUMNS_END; c++)
                if (wanted >> c & 1 && table->field_of[c] < 0)
                        missing |= UINT32_C(1) << c;
        /* Either of two names will do for these. */
        if (table->field_of[SACCT_ELAPSED_RAW] < 0 && table->field_of[SACCT_ELAPSED] < 0)
                missing |= UINT32_C(1) << SACCT_ELAPSED_RAW;
        if (table->field_of[SACCT_NODES] < 0 && table->field_of[SACCT_NODE_LIST] < 0)
                missing |= UINT32_C(1) << SACCT_NODES;
        return missing ? fail_missing(table, missing, err) : 0;
}

int sacct_table_open(struct sacct_table *table, const char *name, const char *bytes, size_t size,
                     uint32_t wanted, struct err *err)
{
        size_t skipped = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

        *table = (struct sacct_table){.name = name,
                                      .bytes = bytes,
                                      .size = size,
                                      .at = skipped,
                                      .line = 1,
                                      .next_line = 1};
        int rc = next_line(table, &table->header, &table->header_size, err);
        if (rc < 0)
                return rc;
        if (rc == 0)
                return sacct_fail_row(table, err, "is empty; fill it with: %s", SACCT_COMMAND);
        rc = split(table, table->header, table->header_size, err);
        if (rc < 0)
                return rc;
        if (rc > SACCT_COLUMNS_MAX)
                return sacct_fail_row(table, err, "names %d columns; at most %d are read", rc,
                                      SACCT_COLUMNS_MAX);
        table->fields_count = (unsigned)rc;
        if (rc > 1 && table->row[table->starts[rc - 1]] == '\0')
                table->fields_count--;
        return map_columns(table, wanted, err);
}

void sacct_table_done(struct sacct_table *table)
{
        mem_free(table->row);
        *table = (struct sacct_table){0};
}

/* Whether the row is a first line again: its JobID is "JobID". */
static bool names_columns(const struct sacct_table *table, unsigned count)
{
        unsigned field = (unsigned)table->field_of[SACCT_JOB_ID];

        return (field < count && str_equal_nocase(table->row + table->starts[field], "JobID")) ||
               str_equal_nocase(table->row, "JobID");
}

int sacct_table_next(struct sacct_table *table, struct err *err)
{
        const char *line = NULL;
        size_t length = 0;
        int rc;

        do {
                if ((rc = next_line(table, &line, &length, err)) <= 0)
                        return rc;
        } while (length == table->header_size && memcmp(line, table->header, length) == 0);
        if ((rc = split(table, line, length, err)) < 0)
                return rc;
        unsigned count = (unsigned)rc;
        if (names_columns(table, count))
                return sacct_fail_row(table, err,
                                      "names columns again, other ones than the first line; read "
                                      "the files one by one, or print them with the same command");
        if (count == table->fields_count + 1 && length > 0 && line[length - 1] == '|')
                count--;
        if (count != table->fields_count)
                return sacct_fail_row(table, err,
                                      "has %u fields and the first line names %u columns; a '|' or "
                                      "a line break in a job's name or comment does that. Leave "
                                      "such columns out: %s",
                                      count, table->fields_count, SACCT_COMMAND);
        return 1;
}
