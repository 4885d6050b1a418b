/* tables.h - what tests ask of tables of fields: that they forget nothing; values to fill in. */
#pragma once

#include <stdlib.h>

#include "proto/fields.h"
#include "proto/log_fields.h"
#include "tests/unit/check.h"

/* Structs that stand in others. Each table is held against its own struct; where it stands in
 * another one it covers all of it, what is reserved included. */
struct nested {
        const struct fields *fields;
        size_t size;
};

static inline void cover(const struct fields *fields, const struct nested *nested,
                         unsigned char *map);

static inline void cover_struct(const struct fields *of, const struct nested *nested,
                                unsigned char *map)
{
        const struct nested *it = nested;

        while (it && it->fields && it->fields != of)
                it++;
        if (it && it->fields)
                memset(map, 1, it->size);
        else
                cover(of, nested, map);
}

static inline void cover_list(const struct field *field, const struct nested *nested,
                              unsigned char *map)
{
        memset(map + field->count_offset, 1, field_kind_bytes(field->count_kind));
        for (size_t i = 0; i < field->items_max; i++) {
                unsigned char *at = map + field->offset + i * field->stride;
                if (field->of)
                        cover_struct(field->of, nested, at);
                else
                        memset(at, 1, field_kind_bytes(field->item));
        }
}

/* Marks the bytes of the struct that its table has. `nested` ends with a row of NULL; NULL: looks
 * into every table. */
static inline void cover(const struct fields *fields, const struct nested *nested,
                         unsigned char *map)
{
        for (size_t i = 0; i < fields->count; i++) {
                const struct field *field = &fields->list[i];
                if (field->kind == FIELD_LIST)
                        cover_list(field, nested, map);
                else if (field->kind == FIELD_STRUCT)
                        cover_struct(field->of, nested, map + field->offset);
                else
                        memset(map + field->offset, 1, field_kind_bytes(field->kind));
        }
}

/* ---- every member of a struct, by the compiler ---- */

#ifdef __has_builtin
#if __has_builtin(__builtin_clear_padding)
#define KNOWS_PADDING 1
#endif
#endif
#ifdef KNOWS_PADDING
#define CLEAR_PADDING(pointer) __builtin_clear_padding(pointer)
#else
#define KNOWS_PADDING 0
#define CLEAR_PADDING(pointer) ((void)(pointer))
#endif

/* Bytes that are members are 0xff, padding is 0. */
#define ALL_MEMBERS(lvalue)                             \
        do {                                            \
                memset(&(lvalue), 0xff, sizeof(lvalue)); \
                CLEAR_PADDING(&(lvalue));               \
        } while (0)

/* A member that the table leaves out on purpose. */
#define LEFT_OUT(lvalue, member) memset(&(lvalue).member, 0, sizeof(lvalue).member)

/* gcc 12 takes some gaps in structs that hold arrays of structs for members. */
#define GAP(lvalue, member, next)                                                               \
        memset((char *)&(lvalue).member + sizeof(lvalue).member, 0,                             \
               (size_t)((char *)&(lvalue).next - (char *)&(lvalue).member) -                    \
                       sizeof(lvalue).member)

static inline void check_covered(const char *what, const unsigned char *members, size_t size,
                                 const unsigned char *map)
{
        for (size_t i = 0; i < size; i++)
                if (members[i] && !map[i])
                        fail_msg("byte %zu of struct %s is a member that no field stands for", i,
                                 what);
}

/* ---- values ---- */

/* A number that fits, other than 0, and mostly another one each time. */
static inline uint64_t fill_number(const struct field *field, enum field_kind kind, uint64_t *next)
{
        uint64_t number = ++*next;

        if (field->word)
                return 1 + number % (field->words_count - 1);
        switch (kind) {
        case FIELD_BOOL:
                return 1;
        case FIELD_U8:
                return 1 + number % UINT8_MAX;
        case FIELD_U16:
                return 1 + number * 257 % UINT16_MAX;
        case FIELD_U32:
                return 1 + number * 65537 % UINT32_MAX;
        case FIELD_I32:
                return (uint64_t) - (int64_t)(1 + number * 4099);
        case FIELD_I64:
                return (uint64_t) - (int64_t)(1 + number * INT64_C(1000000000039));
        case FIELD_U64:
                return UINT64_MAX - number * UINT64_C(1000000000039);
        case FIELD_STRUCT:
        case FIELD_LIST:
                break;
        }
        fail_msg("no number");
        return 0;
}

/* Every field is set, lists are as long as can be. */
static inline void fill(const struct fields *fields, void *to, uint64_t *next)
{
        for (size_t i = 0; i < fields->count; i++) {
                const struct field *field = &fields->list[i];
                char *at = (char *)to + field->offset;
                if (field->kind == FIELD_STRUCT) {
                        fill(field->of, at, next);
                        continue;
                }
                if (field->kind != FIELD_LIST) {
                        assert_true(field_set(at, field->kind,
                                              fill_number(field, field->kind, next)));
                        continue;
                }
                assert_true(field_set((char *)to + field->count_offset, field->count_kind,
                                      field->items_max));
                for (size_t item = 0; item < field->items_max; item++, at += field->stride)
                        if (field->of)
                                fill(field->of, at, next);
                        else
                                assert_true(field_set(at, field->item,
                                                      fill_number(field, field->item, next)));
        }
}

/* The same where the table has fields; what is between them does not matter. */
static inline void check_same(const struct fields *fields, const void *is, const void *wanted,
                              size_t size, const char *what)
{
        unsigned char *map = calloc(size, 1);

        assert_non_null(map);
        cover(fields, NULL, map);
        for (size_t i = 0; i < size; i++)
                if (map[i] && ((const char *)is)[i] != ((const char *)wanted)[i])
                        fail_msg("%s: byte %zu of the struct came back as another one", what, i);
        free(map);
}
