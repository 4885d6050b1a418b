#include "proto/image.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#define NAME_MAX_BYTES 64
#define COLUMNS_MAX    512

/* ---- columns ---- */

struct column {
        char name[NAME_MAX_BYTES];
        size_t offset;
        size_t bytes;
        enum field_kind kind;
        uint64_t most;                  /* the largest number that may stand there */
};

struct columns {
        size_t room, count, row_bytes;
        struct column list[];
};

/* NULL: out of memory. */
static struct columns *columns_new(size_t room)
{
        struct columns *columns = mem_new(1, sizeof *columns + room * sizeof *columns->list);

        if (columns)
                columns->room = room;
        return columns;
}

static void keep_column(struct columns *columns, const struct column *column)
{
        assert(columns->count < columns->room);
        columns->list[columns->count++] = *column;
        columns->row_bytes += column->bytes;
}

static void add_column(struct columns *columns, const char *prefix, const char *name,
                       size_t offset, enum field_kind kind, uint64_t most)
{
        struct column column = {.offset = offset,
                                .bytes = field_kind_bytes(kind),
                                .kind = kind,
                                .most = kind == FIELD_BOOL ? 1 : most};
        int length = snprintf(column.name, sizeof column.name, "%s%s", prefix, name);

        assert(length > 0);
        assert((size_t)length < sizeof column.name);
        keep_column(columns, &column);
}

static size_t count_columns(const struct fields *fields)
{
        size_t count = 0;

        for (size_t i = 0; i < fields->count; i++) {
                const struct field *field = &fields->list[i];
                size_t each = field->of ? count_columns(field->of) : 1;
                count += field->kind == FIELD_LIST ? 1 + field->items_max * each : each;
        }
        return count;
}

static void add_columns(struct columns *columns, const char *prefix, const struct fields *fields,
                        size_t base);

static void add_list(struct columns *columns, const char *prefix, const struct field *field,
                     size_t base)
{
        char name[NAME_MAX_BYTES];

        (void)snprintf(name, sizeof name, "%s.count", field->name);
        add_column(columns, prefix, name, base + field->count_offset, field->count_kind,
                   field->items_max);
        for (size_t i = 0; i < field->items_max; i++) {
                size_t at = base + field->offset + i * field->stride;
                if (field->of) {
                        (void)snprintf(name, sizeof name, "%s%s.%zu.", prefix, field->name, i);
                        add_columns(columns, name, field->of, at);
                } else {
                        (void)snprintf(name, sizeof name, "%s.%zu", field->name, i);
                        add_column(columns, prefix, name, at, field->item, UINT64_MAX);
                }
        }
}

static void add_columns(struct columns *columns, const char *prefix, const struct fields *fields,
                        size_t base)
{
        char name[NAME_MAX_BYTES];

        for (size_t i = 0; i < fields->count; i++) {
                const struct field *field = &fields->list[i];
                if (field->kind == FIELD_STRUCT) {
                        (void)snprintf(name, sizeof name, "%s%s.", prefix, field->name);
                        add_columns(columns, name, field->of, base + field->offset);
                } else if (field->kind == FIELD_LIST) {
                        add_list(columns, prefix, field, base);
                } else {
                        add_column(columns, prefix, field->name, base + field->offset,
                                   field->kind,
                                   field->word ? field->words_count - 1 : UINT64_MAX);
                }
        }
}

/* NULL: out of memory. */
static struct columns *columns_of(const struct fields *fields)
{
        size_t count = count_columns(fields);
        struct columns *columns = columns_new(count);

        assert(count <= COLUMNS_MAX);
        if (columns)
                add_columns(columns, "", fields, 0);
        return columns;
}

static struct columns *one_column(enum field_kind kind)
{
        struct columns *columns = columns_new(1);

        if (columns)
                add_column(columns, "", "number", 0, kind, UINT64_MAX);
        return columns;
}

/* ---- writing ---- */

static void write_u64(struct text *out, uint64_t number)
{
        text_add_bytes(out, (const char *)&number, sizeof number);
}

static void write_name(struct text *out, const char *name)
{
        unsigned char length = (unsigned char)strlen(name);

        assert(strlen(name) < NAME_MAX_BYTES);
        text_add_bytes(out, (const char *)&length, 1);
        text_add_bytes(out, name, length);
}

static void write_head(struct text *out, const char *name, const struct columns *columns,
                       uint64_t count)
{
        write_name(out, name);
        write_u64(out, columns->count);
        for (size_t c = 0; c < columns->count; c++) {
                char kind = (char)columns->list[c].kind;
                write_name(out, columns->list[c].name);
                text_add_bytes(out, &kind, 1);
        }
        write_u64(out, count);
}

static void write_rows(struct text *out, const char *name, const struct columns *columns,
                       const void *rows, size_t count, size_t stride)
{
        write_head(out, name, columns, count);
        for (size_t r = 0; r < count; r++) {
                const char *row = (const char *)rows + r * stride;
                for (size_t c = 0; c < columns->count; c++)
                        text_add_bytes(out, row + columns->list[c].offset,
                                       columns->list[c].bytes);
        }
}

void image_write_rows(struct text *out, const char *name, const struct fields *fields,
                      const void *rows, size_t count, size_t stride)
{
        struct columns *columns = columns_of(fields);

        if (columns)
                write_rows(out, name, columns, rows, count, stride);
        else
                out->failed = true;
        mem_free(columns);
}

void image_write_numbers(struct text *out, const char *name, enum field_kind kind,
                         const void *numbers, size_t count)
{
        struct columns *columns = one_column(kind);

        if (!columns) {
                out->failed = true;
                return;
        }
        write_head(out, name, columns, count);
        text_add_bytes(out, numbers, count * field_kind_bytes(kind));
        mem_free(columns);
}

void image_begin_strings(struct text *out, const char *name, uint64_t count)
{
        write_name(out, name);
        write_u64(out, 0);
        write_u64(out, count);
}

void image_write_string(struct text *out, const void *bytes, size_t size)
{
        write_u64(out, size);
        text_add_bytes(out, bytes, size);
}

/* ---- reading ---- */

static int cut_short(const char *name, struct err *err)
{
        return err_set(err, ERR_INPUT, "snapshot: table '%s' is cut short", name);
}

static bool take(struct image_in *in, void *to, size_t size)
{
        if ((size_t)(in->end - in->at) < size)
                return false;
        memcpy(to, in->at, size);
        in->at += size;
        return true;
}

static bool take_name(struct image_in *in, char name[NAME_MAX_BYTES])
{
        unsigned char length;

        if (!take(in, &length, 1) || length >= NAME_MAX_BYTES || !take(in, name, length))
                return false;
        name[length] = '\0';
        return true;
}

static int take_table(struct image_in *in, const char *name, uint64_t *ret_columns,
                      struct err *err)
{
        char found[NAME_MAX_BYTES];

        if (!take_name(in, found) || strcmp(found, name) != 0)
                return err_set(err, ERR_INPUT, "snapshot: table '%s' is not where it belongs",
                               name);
        return take(in, ret_columns, sizeof *ret_columns) ? 0 : cut_short(name, err);
}

static const struct column *find(const struct columns *columns, const char *name, size_t near)
{
        for (size_t i = 0; i < columns->count; i++) {
                const struct column *it = &columns->list[(near + i) % columns->count];
                if (strcmp(it->name, name) == 0)
                        return it;
        }
        return NULL;
}

static int not_known(const char *name, const char *column, struct err *err)
{
        char shown[STR_SHOW_MAX];

        return err_set(err, ERR_INPUT,
                       "snapshot: column '%s' of table '%s' is not known: it was made by a newer "
                       "version",
                       str_show(column, shown), name);
}

/* The columns as they stand in the image, with where their numbers go. */
static int take_columns(struct image_in *in, const char *name, const struct columns *known,
                        struct columns *found, struct err *err)
{
        for (size_t c = 0; c < found->room; c++) {
                char column_name[NAME_MAX_BYTES];
                unsigned char kind;
                if (!take_name(in, column_name) || !take(in, &kind, 1))
                        return cut_short(name, err);
                const struct column *column = find(known, column_name, c);
                if (!column || column->kind != kind)
                        return not_known(name, column_name, err);
                if (find(found, column_name, 0))
                        return err_set(err, ERR_INPUT,
                                       "snapshot: column '%s' of table '%s' stands twice",
                                       column_name, name);
                keep_column(found, column);
        }
        return 0;
}

static int take_row(struct image_in *in, const char *name, const struct columns *columns,
                    char *row, struct err *err)
{
        for (size_t c = 0; c < columns->count; c++) {
                const struct column *column = &columns->list[c];
                if (column->most < UINT64_MAX) {
                        uint64_t number = 0;
                        memcpy(&number, in->at, column->bytes);
                        if (number > column->most)
                                return err_set(err, ERR_INPUT,
                                               "snapshot: table '%s' is damaged: its '%s' is "
                                               "%" PRIu64,
                                               name, column->name, number);
                }
                memcpy(row + column->offset, in->at, column->bytes);
                in->at += column->bytes;
        }
        return 0;
}

static int take_rows(struct image_in *in, const char *name, const struct columns *columns,
                     char *rows, size_t count_max, size_t stride, size_t *ret_count,
                     struct err *err)
{
        uint64_t count;
        int rc = 0;

        if (!take(in, &count, sizeof count))
                return cut_short(name, err);
        if (count > count_max)
                return err_set(err, ERR_RANGE,
                               "snapshot: table '%s' has %" PRIu64 " rows; there is room for %zu",
                               name, count, count_max);
        if ((size_t)(in->end - in->at) / columns->row_bytes < count)
                return cut_short(name, err);
        for (uint64_t r = 0; rc == 0 && r < count; r++)
                rc = take_row(in, name, columns, rows + r * stride, err);
        if (rc == 0)
                *ret_count = (size_t)count;
        return rc;
}

static int read_table(struct image_in *in, const char *name, const struct columns *known,
                      void *rows, size_t count_max, size_t stride, size_t *ret_count,
                      struct err *err)
{
        uint64_t count;
        int rc = take_table(in, name, &count, err);

        if (rc)
                return rc;
        if (count == 0 || count > COLUMNS_MAX)
                return err_set(err, ERR_INPUT, "snapshot: table '%s' has %s", name,
                               count ? "too many columns" : "no columns");
        struct columns *found = columns_new((size_t)count);
        if (!found)
                return err_set(err, ERR_NOMEM, "out of memory");
        rc = take_columns(in, name, known, found, err);
        if (rc == 0)
                rc = take_rows(in, name, found, rows, count_max, stride, ret_count, err);
        mem_free(found);
        return rc;
}

int image_read_rows(struct image_in *in, const char *name, const struct fields *fields, void *rows,
                    size_t count_max, size_t stride, size_t *ret_count, struct err *err)
{
        struct columns *known = columns_of(fields);
        int rc;

        if (!known)
                return err_set(err, ERR_NOMEM, "out of memory");
        rc = read_table(in, name, known, rows, count_max, stride, ret_count, err);
        mem_free(known);
        return rc;
}

int image_read_numbers(struct image_in *in, const char *name, enum field_kind kind, void *numbers,
                       size_t count_max, size_t *ret_count, struct err *err)
{
        struct columns *known = one_column(kind);
        int rc;

        if (!known)
                return err_set(err, ERR_NOMEM, "out of memory");
        rc = read_table(in, name, known, numbers, count_max, field_kind_bytes(kind), ret_count,
                        err);
        mem_free(known);
        return rc;
}

int image_read_strings(struct image_in *in, const char *name, uint64_t *ret_count,
                       struct err *err)
{
        uint64_t columns;
        int rc = take_table(in, name, &columns, err);

        if (rc)
                return rc;
        if (columns != 0)
                return err_set(err, ERR_INPUT, "snapshot: table '%s' holds no strings", name);
        return take(in, ret_count, sizeof *ret_count) ? 0 : cut_short(name, err);
}

int image_read_string(struct image_in *in, const void **ret_bytes, size_t *ret_size,
                      struct err *err)
{
        uint64_t size;

        if (!take(in, &size, sizeof size) || size > (size_t)(in->end - in->at))
                return err_set(err, ERR_INPUT, "snapshot: a string is cut short");
        *ret_bytes = in->at;
        *ret_size = (size_t)size;
        in->at += size;
        return 0;
}
