/* piece.h - bytes that many streams send: kept once, and gone when the last one has sent them.
 *
 * Pure apart from the heap. One thread. The bytes never change.
 */
#pragma once

#include <stddef.h>

struct piece;

/* Copies the bytes; NULL: out of memory. Given back with piece_release(). */
struct piece *piece_new(const void *bytes, size_t size);
struct piece *piece_hold(struct piece *piece);  /* once more; returns it */
void piece_release(struct piece *piece);        /* NULL is fine */

const char *piece_bytes(const struct piece *piece);
size_t piece_size(const struct piece *piece);
