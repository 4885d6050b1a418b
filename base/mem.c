#include "base/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* For tests only: how many allocations from now the one is that fails; 0 = none does. */
static _Thread_local unsigned long fail_in;
static _Thread_local int fail_happened;

static int fails_now(void)
{
        if (fail_in == 0 || --fail_in > 0)
                return 0;
        fail_happened = 1;
        return 1;
}

void *mem_new(size_t count, size_t size)
{
        if (fails_now())
                return NULL;
        if (count == 0 || size == 0)
                return calloc(1, 1);
        return calloc(count, size);
}

void *mem_resize(void *array, size_t old_count, size_t new_count, size_t size)
{
        assert(array || old_count == 0);
        assert(size > 0);

        size_t bytes;
        if (fails_now() || __builtin_mul_overflow(new_count, size, &bytes) ||
            bytes > PTRDIFF_MAX)
                return NULL;
        char *grown = realloc(array, bytes ? bytes : 1);
        if (grown && new_count > old_count)
                memset(grown + old_count * size, 0, (new_count - old_count) * size);
        return grown;
}

void *mem_grow(void *array, size_t count, uint32_t *room, uint32_t least, size_t size)
{
        assert(count <= *room);
        assert(least > 0);

        if (count < *room)
                return array;
        if (*room > UINT32_MAX / 2)
                return NULL;
        uint32_t more = *room ? *room * 2 : least;
        void *grown = mem_resize(array, *room, more, size);
        if (grown)
                *room = more;
        return grown;
}

void mem_free(void *memory)
{
        free(memory);
}

void mem_fail_at(unsigned long n)
{
        fail_in = n;
        fail_happened = 0;
}

int mem_fail_happened(void)
{
        return fail_happened;
}
