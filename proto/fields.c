#include "proto/fields.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/text.h"

/* ---- numbers ---- */

size_t field_kind_bytes(enum field_kind kind)
{
        switch (kind) {
        case FIELD_BOOL:
                return sizeof(bool);
        case FIELD_U8:
                return 1;
        case FIELD_U16:
                return 2;
        case FIELD_U32:
        case FIELD_I32:
                return 4;
        case FIELD_U64:
        case FIELD_I64:
                return 8;
        case FIELD_STRUCT:
        case FIELD_LIST:
                break;
        }
        assert(false);                  /* no number */
        return 0;
}

uint64_t field_number(const void *at, enum field_kind kind)
{
        if (kind == FIELD_BOOL)
                return *(const bool *)at;
        if (kind == FIELD_I32)
                return (uint64_t)(int64_t)*(const int32_t *)at;
        if (kind == FIELD_U8)
                return *(const uint8_t *)at;
        if (kind == FIELD_U16)
                return *(const uint16_t *)at;
        if (kind == FIELD_U32)
                return *(const uint32_t *)at;
        return *(const uint64_t *)at;
}

static bool is_signed(enum field_kind kind)
{
        return kind == FIELD_I32 || kind == FIELD_I64;
}

bool field_set(void *at, enum field_kind kind, uint64_t value)
{
        size_t bytes = field_kind_bytes(kind);

        if (kind == FIELD_BOOL) {
                if (value > 1)
                        return false;
                *(bool *)at = value != 0;
                return true;
        }
        if (kind == FIELD_I32 && (uint64_t)(int64_t)(int32_t)(uint32_t)value != value)
                return false;
        if (!is_signed(kind) && bytes < 8 && value >> (8 * bytes))
                return false;
        memcpy(at, &value, bytes);      /* little end first: see the assertion below */
        return true;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are cut from their low end");

/* ---- writing ---- */

static void write_number(uint64_t value, enum field_kind kind, struct text *text)
{
        if (kind == FIELD_BOOL)
                text_add_bytes(text, value ? "true" : "false", value ? 4 : 5);
        else if (is_signed(kind))
                text_add_i64(text, (int64_t)value);
        else if (value <= INT64_MAX)
                text_add_i64(text, (int64_t)value);
        else
                text_add(text, "\"%" PRIu64 "\"", value);
}

static void write_word(const struct field *field, uint64_t value, struct text *text)
{
        assert(value < field->words_count);
        text_add(text, "\"%s\"", field->word((unsigned)value));
}

static void write_struct(const struct fields *fields, const void *from, struct text *text)
{
        size_t before = text->size;

        text_add_bytes(text, "{", 1);
        fields_write(fields, from, text);
        if (!text->failed && text->size > before + 1) { /* the first comma is one too many */
                memmove(text->bytes + before + 1, text->bytes + before + 2,
                        text->size - before - 2);
                text->size--;
        }
        text_add_bytes(text, "}", 1);
}

static void write_list(const struct field *field, const char *from, uint64_t count,
                       struct text *text)
{
        assert(count <= field->items_max);
        text_add_bytes(text, "[", 1);
        for (uint64_t i = 0; i < count; i++) {
                const char *item = from + i * field->stride;
                if (i > 0)
                        text_add_bytes(text, ",", 1);
                if (field->of)
                        write_struct(field->of, item, text);
                else
                        write_number(field_number(item, field->item), field->item, text);
        }
        text_add_bytes(text, "]", 1);
}

static void begin(const struct field *field, struct text *text)
{
        text_add_bytes(text, ",\"", 2);
        text_add_bytes(text, field->name, strlen(field->name));
        text_add_bytes(text, "\":", 2);
}

static void write_field(const struct field *field, const char *from, struct text *text)
{
        const char *at = from + field->offset;

        if (field->kind == FIELD_STRUCT) {
                begin(field, text);
                write_struct(field->of, at, text);
        } else if (field->kind == FIELD_LIST) {
                uint64_t count = field_number(from + field->count_offset, field->count_kind);
                if (count == 0)
                        return;
                begin(field, text);
                write_list(field, at, count, text);
        } else {
                uint64_t value = field_number(at, field->kind);
                if (value == 0)
                        return;
                begin(field, text);
                if (field->word)
                        write_word(field, value, text);
                else
                        write_number(value, field->kind, text);
        }
}

void fields_write(const struct fields *fields, const void *from, struct text *text)
{
        for (size_t i = 0; i < fields->count; i++)
                write_field(&fields->list[i], from, text);
}

/* ---- reading ---- */

static int wrong(const char *name, const char *wanted, struct err *err)
{
        char shown[STR_SHOW_MAX];

        return err_set(err, ERR_INPUT, "field '%s' is no %s", str_show(name, shown), wanted);
}

static bool large_number(const char *text, uint64_t *ret_value)
{
        char *end;

        errno = 0;
        *ret_value = strtoull(text, &end, 10);
        return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

static int read_number(const json_t *json, enum field_kind kind, const char *name, void *to,
                       struct err *err)
{
        uint64_t value;

        if (kind == FIELD_BOOL && json_is_boolean(json))
                value = json_is_true(json);
        else if (kind != FIELD_BOOL && json_is_integer(json))
                value = (uint64_t)json_integer_value(json);
        else if (kind != FIELD_U64 || !json_is_string(json) ||
                 !large_number(json_string_value(json), &value))
                return wrong(name, kind == FIELD_BOOL ? "truth value" : "whole number", err);
        if (!is_signed(kind) && json_is_integer(json) && json_integer_value(json) < 0)
                return wrong(name, "number of its kind: it is negative", err);
        if (!field_set(to, kind, value))
                return wrong(name, "number of its kind: it is too large", err);
        return 0;
}

static int read_word(const struct field *field, const json_t *json, void *to, struct err *err)
{
        const char *text = json_string_value(json);

        for (unsigned value = 0; text && value < field->words_count; value++)
                if (str_equal(field->word(value), text))
                        return field_set(to, field->kind, value)
                                       ? 0
                                       : wrong(field->name, "word that fits", err);
        return wrong(field->name, "word that is known", err);
}

static int read_list(const struct field *field, json_t *json, char *from, struct err *err)
{
        size_t count = json_array_size(json);

        if (!json_is_array(json) || count > field->items_max)
                return wrong(field->name, "list of a length that fits", err);
        for (size_t i = 0; i < count; i++) {
                json_t *item = json_array_get(json, i);
                char *to = from + field->offset + i * field->stride;
                int rc = field->of ? fields_read(field->of, item, NULL, to, err)
                                   : read_number(item, field->item, field->name, to, err);
                if (rc)
                        return rc;
        }
        return field_set(from + field->count_offset, field->count_kind, count)
                       ? 0
                       : wrong(field->name, "list of a length that fits", err);
}

static const struct field *find(const struct fields *fields, const char *name)
{
        for (size_t i = 0; i < fields->count; i++)
                if (str_equal(fields->list[i].name, name))
                        return &fields->list[i];
        return NULL;
}

static bool is_in(const char *const *names, const char *name)
{
        for (; names && *names; names++)
                if (str_equal(*names, name))
                        return true;
        return false;
}

static int read_field(const struct field *field, json_t *value, char *to, struct err *err)
{
        if (field->kind == FIELD_LIST)
                return read_list(field, value, to, err);
        if (field->kind == FIELD_STRUCT)
                return fields_read(field->of, value, NULL, to + field->offset, err);
        if (field->word)
                return read_word(field, value, to + field->offset, err);
        return read_number(value, field->kind, field->name, to + field->offset, err);
}

int fields_read(const struct fields *fields, json_t *object, const char *const *skip,
                void *to, struct err *err)
{
        const char *name;
        json_t *value;

        if (!json_is_object(object))
                return err_set(err, ERR_INPUT, "there is no object");
        json_object_foreach (object, name, value) {
                const struct field *field = find(fields, name);
                int rc;
                if (!field && is_in(skip, name))
                        continue;
                if (!field) {
                        char shown[STR_SHOW_MAX];
                        return err_set(err, ERR_INPUT, "field '%s' is not known here",
                                       str_show(name, shown));
                }
                rc = read_field(field, value, to, err);
                if (rc)
                        return rc;
        }
        return 0;
}
