/* image.h - tables of structs as bytes: what snapshots are made of.
 *
 * Pure apart from the heap. Each table says its name, its columns by name and kind, and how many
 * rows follow; a row is its columns' numbers, low end first, without a gap. A reader finds columns
 * by name: one it does not know is refused (a newer writer), one that is not there (an older one)
 * leaves its field as the caller set it up: 0. Bytes from outside are never trusted: every length
 * is checked before it is used, and lists come back no longer than there is room, words below
 * their end. What numbers mean beyond that is the caller's to check.
 */
#pragma once

#include "proto/fields.h"

struct image_in {
        const unsigned char *at, *end;
};

/* Rows of structs; nested structs and lists are columns of their own ("need.models",
 * "parts.0.device"). */
void image_write_rows(struct text *out, const char *name, const struct fields *fields,
                      const void *rows, size_t count, size_t stride);
/* One column of numbers. */
void image_write_numbers(struct text *out, const char *name, enum field_kind kind,
                         const void *numbers, size_t count);
/* Strings of bytes, one after the other. */
void image_begin_strings(struct text *out, const char *name, uint64_t count);
void image_write_string(struct text *out, const void *bytes, size_t size);

/* The table that stands next has to be of that name. Each returns 0, or -ERR_INPUT (another table,
 * other columns, damaged, or cut short), -ERR_RANGE (more rows than `count_max`), -ERR_NOMEM; what
 * `rows` holds is then of no use. Strings point into the image. */
int image_read_rows(struct image_in *in, const char *name, const struct fields *fields, void *rows,
                    size_t count_max, size_t stride, size_t *ret_count, struct err *err);
int image_read_numbers(struct image_in *in, const char *name, enum field_kind kind, void *numbers,
                       size_t count_max, size_t *ret_count, struct err *err);
int image_read_strings(struct image_in *in, const char *name, uint64_t *ret_count,
                       struct err *err);
int image_read_string(struct image_in *in, const void **ret_bytes, size_t *ret_size,
                      struct err *err);
