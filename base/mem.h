/* mem.h - the one door to the heap.
 *
 * Pure apart from the heap. Memory comes zeroed; sizes are checked for overflow;
 * NULL means out of memory (or a size beyond the address space) and is returned
 * upwards, never ignored.
 *
 * Tests make the n-th allocation fail: see mem_fail_at.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* `count` zeroed things of `size` bytes. Never NULL for lack of size: 0 counts as 1 byte. */
void *mem_new(size_t count, size_t size) __attribute__((malloc, warn_unused_result));

/* The array grown (or cut) from `old_count` to `new_count` things, new ones zeroed. NULL: out of
 * memory, and the old array is untouched and still owned. `array` may be NULL with old_count 0. */
void *mem_resize(void *array, size_t old_count, size_t new_count, size_t size)
        __attribute__((warn_unused_result));

/* The array with room for one more than the `count` in it: as it is, or with twice the room
 * (`least` at first), new things zeroed. NULL: out of memory; array and *room are untouched. */
void *mem_grow(void *array, size_t count, uint32_t *room, uint32_t least, size_t size)
        __attribute__((warn_unused_result));

void mem_free(void *memory);                            /* NULL is fine */

/* From now on, in this thread, allocation number `n` (1 = the next one) fails once; 0 = none. */
void mem_fail_at(unsigned long n);
/* Whether the failure asked for has happened: a test loops n upwards until it has not. */
int mem_fail_happened(void);
