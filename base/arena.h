/* arena.h - memory that is given back all at once.
 *
 * Pure apart from the heap (mem.h). One owner at a time. Pieces are aligned for
 * any type and live until arena_reset or arena_free. Grows by chunks up to the
 * bound given at its start; a reset keeps the chunks for the next round.
 */
#pragma once

#include <stddef.h>

struct arena;

struct arena_stats {
        size_t used_bytes;              /* handed out since the last reset, padding included */
        size_t held_bytes;              /* taken from the heap */
        size_t peak_bytes;              /* the most used_bytes ever was */
};

/* Chunks of `chunk_bytes` (a larger piece gets its own), never more than `bytes_max` held.
 * 0 means the default: 64 KiB and no bound. NULL: out of memory. */
struct arena *arena_new(size_t chunk_bytes, size_t bytes_max);
void arena_free(struct arena *arena);                   /* NULL is fine */

/* `size` bytes, not cleared; NULL: out of memory or above the bound. */
void *arena_alloc(struct arena *arena, size_t size) __attribute__((warn_unused_result));
/* `count` x `size` bytes, zeroed; NULL also when the product overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size)
        __attribute__((warn_unused_result));
/* A terminated copy of `length` bytes. */
char *arena_text(struct arena *arena, const char *bytes, size_t length)
        __attribute__((warn_unused_result));

/* Everything handed out is gone; the memory stays for the next round. */
void arena_reset(struct arena *arena);

struct arena_stats arena_stats(const struct arena *arena);
