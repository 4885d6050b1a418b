/* text.h - a text that grows.
 *
 * Pure apart from the heap. A zeroed one is empty. When memory runs out the text stays failed: ask
 * it once, at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
        char *bytes;                    /* terminated; NULL while empty. Freed by text_done() */
        size_t size, room;
        bool failed;
};

void text_done(struct text *text);                      /* a zeroed one is fine */

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

void text_add_bytes(struct text *text, const char *bytes, size_t size);
void text_add_i64(struct text *text, int64_t number); /* in decimals */

/* The text in quotes, with what JSON wants escaped; it is UTF-8. */
void text_add_json(struct text *text, const char *string);

/* One field of a line of CSV: in quotes where it must be. */
void text_add_csv(struct text *text, const char *field);

/* A whole number of up to 128 bits, in decimals. */
__extension__ typedef unsigned __int128 text_number;
void text_add_number(struct text *text, text_number number);
