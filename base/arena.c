#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(ARENA_POISON)
#define ARENA_POISON 1
#endif

#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)   ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

#define ALIGN         alignof(max_align_t)
#define CHUNK_DEFAULT (64u << 10)

struct chunk {
        struct chunk *next;
        size_t size;
        size_t used;
        alignas(max_align_t) char bytes[];
};

struct arena {
        struct chunk *first;
        struct chunk *current;          /* where the next piece is tried; later chunks are empty */
        size_t chunk_bytes;
        size_t bytes_max;
        struct arena_stats stats;
};

struct arena *arena_new(size_t chunk_bytes, size_t bytes_max)
{
        struct arena *arena = mem_new(1, sizeof *arena);
        if (arena) {
                arena->chunk_bytes = chunk_bytes ? chunk_bytes : CHUNK_DEFAULT;
                arena->bytes_max = bytes_max ? bytes_max : SIZE_MAX;
        }
        return arena;
}

void arena_free(struct arena *arena)
{
        if (!arena)
                return;
        for (struct chunk *chunk = arena->first; chunk;) {
                struct chunk *next = chunk->next;
                ASAN_UNPOISON_MEMORY_REGION(chunk->bytes, chunk->size);
                mem_free(chunk);
                chunk = next;
        }
        mem_free(arena);
}

/* A new chunk with room for `size` bytes, put behind the current one. */
static struct chunk *add_chunk(struct arena *arena, size_t size)
{
        size_t room = size > arena->chunk_bytes ? size : arena->chunk_bytes;
        size_t left = arena->bytes_max - arena->stats.held_bytes;
        if (left < sizeof(struct chunk) || room > left - sizeof(struct chunk)) {
                room = size;    /* near the bound: just what is needed, if that fits */
                if (left < sizeof(struct chunk) || room > left - sizeof(struct chunk))
                        return NULL;
        }
        size_t bytes;
        if (__builtin_add_overflow(room, sizeof(struct chunk), &bytes))
                return NULL;
        struct chunk *chunk = mem_new(1, bytes);
        if (!chunk)
                return NULL;
        chunk->size = room;
        ASAN_POISON_MEMORY_REGION(chunk->bytes, chunk->size);
        arena->stats.held_bytes += bytes;
        if (arena->current) {
                chunk->next = arena->current->next;
                arena->current->next = chunk;
        } else {
                arena->first = chunk;
        }
        return chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
        assert(arena);

        if (size > PTRDIFF_MAX - ALIGN)
                return NULL;
        size_t padded = size ? (size + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
        struct chunk *chunk = arena->current;
        while (chunk && chunk->size - chunk->used < padded && chunk->next)
                chunk = chunk->next;
        if (!chunk || chunk->size - chunk->used < padded)
                chunk = add_chunk(arena, padded);
        if (!chunk)
                return NULL;
        arena->current = chunk;

        void *piece = chunk->bytes + chunk->used;
        chunk->used += padded;
        arena->stats.used_bytes += padded;
        if (arena->stats.used_bytes > arena->stats.peak_bytes)
                arena->stats.peak_bytes = arena->stats.used_bytes;
        ASAN_UNPOISON_MEMORY_REGION(piece, size ? size : 1);
        assert((uintptr_t)piece % ALIGN == 0);
        return piece;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
        size_t bytes;
        if (__builtin_mul_overflow(count, size, &bytes))
                return NULL;
        void *array = arena_alloc(arena, bytes);
        if (array)
                memset(array, 0, bytes ? bytes : 1);
        return array;
}

char *arena_text(struct arena *arena, const char *bytes, size_t length)
{
        assert(bytes || length == 0);

        char *text = length < PTRDIFF_MAX ? arena_alloc(arena, length + 1) : NULL;
        if (text) {
                if (length > 0)
                        memcpy(text, bytes, length);
                text[length] = '\0';
        }
        return text;
}

void arena_reset(struct arena *arena)
{
        assert(arena);

        for (struct chunk *chunk = arena->first; chunk; chunk = chunk->next) {
                chunk->used = 0;
                ASAN_POISON_MEMORY_REGION(chunk->bytes, chunk->size);
        }
        arena->current = arena->first;
        arena->stats.used_bytes = 0;
}

struct arena_stats arena_stats(const struct arena *arena)
{
        assert(arena);
        return arena->stats;
}
