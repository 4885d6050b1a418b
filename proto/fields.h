/* fields.h - a struct as a table of its fields: written as JSON, and read back.
 *
 * Pure apart from the heap. The log keeps facts and inputs so, and snapshots their tables
 * (image.h). A field that is 0 (false, an empty list) is left out and comes back as 0, so that a
 * struct may gain fields and older logs still mean the same. An unknown field is refused: it would
 * be lost. Whole numbers above INT64_MAX are written as text.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct text;

enum field_kind {
        FIELD_BOOL,
        FIELD_U8,
        FIELD_U16,
        FIELD_U32,
        FIELD_U64,
        FIELD_I32,
        FIELD_I64,
        FIELD_STRUCT,
        FIELD_LIST,     /* of numbers or structs */
};

/* The wire name of a number; NULL: it is none. */
typedef const char *field_word(unsigned value);

struct field {
        const char *name;
        size_t offset;
        enum field_kind kind;
        field_word *word;               /* a number written as a word, below `words_count` */
        unsigned words_count;
        const struct fields *of;        /* STRUCT, and LIST of structs */
        enum field_kind item;           /* LIST of numbers */
        size_t stride, items_max;       /* LIST */
        size_t count_offset;            /* LIST: where its length stands ... */
        enum field_kind count_kind;
};

struct fields {
        const struct field *list;
        size_t count;
};

#define FIELDS(table) {(table), sizeof(table) / sizeof *(table)}

/* The kind of a number by its type. */
#define FIELD_KIND(lvalue)                                                                        \
        _Generic((lvalue),                                                                        \
                bool: FIELD_BOOL,                                                                 \
                uint8_t: FIELD_U8,                                                                \
                uint16_t: FIELD_U16,                                                              \
                uint32_t: FIELD_U32,                                                              \
                uint64_t: FIELD_U64,                                                              \
                int32_t: FIELD_I32,                                                               \
                int64_t: FIELD_I64)

#define FIELD_OF(type, member) FIELD_KIND(((struct type *)NULL)->member)
#define FIELD_NAMED(wire, type, member)                                                           \
        {.name = (wire), .offset = offsetof(struct type, member), .kind = FIELD_OF(type, member)}
#define FIELD(type, member) FIELD_NAMED(#member, type, member)
#define FIELD_WORD(type, member, word_of, end)                                                    \
        {.name = #member, .offset = offsetof(struct type, member), .kind = FIELD_OF(type, member), \
         .word = (word_of), .words_count = (end)}
#define FIELD_STRUCT_OF(type, member, fields)                                                     \
        {.name = #member, .offset = offsetof(struct type, member), .kind = FIELD_STRUCT,          \
         .of = &(fields)}
#define FIELD_LIST_OF(type, member, length, fields)                                               \
        {.name = #member, .offset = offsetof(struct type, member), .kind = FIELD_LIST,            \
         .of = &(fields), .stride = sizeof(((struct type *)NULL)->member[0]),                     \
         .items_max = sizeof(((struct type *)NULL)->member) /                                     \
                      sizeof(((struct type *)NULL)->member[0]),                                   \
         .count_offset = offsetof(struct type, length), .count_kind = FIELD_OF(type, length)}
#define FIELD_LIST_OF_NUMBERS(type, member, length)                                               \
        {.name = #member, .offset = offsetof(struct type, member), .kind = FIELD_LIST,            \
         .item = FIELD_OF(type, member[0]), .stride = sizeof(((struct type *)NULL)->member[0]),   \
         .items_max = sizeof(((struct type *)NULL)->member) /                                     \
                      sizeof(((struct type *)NULL)->member[0]),                                   \
         .count_offset = offsetof(struct type, length), .count_kind = FIELD_OF(type, length)}

size_t field_kind_bytes(enum field_kind kind);          /* of a number */
uint64_t field_number(const void *at, enum field_kind kind);    /* signed ones as two's complement */
/* Whether the value can stand there; it is written only then. */
bool field_set(void *at, enum field_kind kind, uint64_t value);

/* Adds "name":value of all fields that are not 0, each behind a comma: the caller has begun the
 * object with a member of its own, and ends it. */
void fields_write(const struct fields *fields, const void *from, struct text *text);

/* Reads the members of the object that are not in `skip` (a list that ends with NULL; NULL: none)
 * into `to`, which is zeroed. 0, or -ERR_INPUT naming the field. */
int fields_read(const struct fields *fields, json_t *object, const char *const *skip,
                void *to, struct err *err);
