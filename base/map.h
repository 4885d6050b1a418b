/* map.h - hash map from 64-bit keys to 32-bit values (indexes).
 *
 * Pure. Open addressing, power-of-two slots, at most 3/4 full; removal leaves no
 * tombstones, so a map that churns for ever does not slow down. Never holds more
 * than the bound given at its start. The order of map_next depends on the keys,
 * their history and the capacity: no decision may depend on it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX             /* "not there"; cannot be stored as a value */
#define MAP_ENTRIES_MAX (1u << 30)

struct map_slot;

struct map {
        struct map_slot *slots;         /* NULL until the first entry */
        uint32_t slot_count;            /* 0 or a power of two */
        uint32_t count;                 /* entries */
        uint32_t entries_max;
};

/* An empty map for at most `entries_max` (1 to MAP_ENTRIES_MAX) entries; allocates nothing yet. */
void map_init(struct map *map, uint32_t entries_max);
void map_done(struct map *map);                         /* a zeroed map is fine */

/* Makes room, so that map_set cannot fail while there are at most `entries` entries.
 * 0, -ERR_NOMEM, or -ERR_FULL (above entries_max). Unchanged on failure. */
int map_reserve(struct map *map, uint32_t entries);

/* Adds or replaces. 0, -ERR_NOMEM or -ERR_FULL; unchanged on failure. */
int map_set(struct map *map, uint64_t key, uint32_t value);

/* The value, or MAP_NONE. */
uint32_t map_get(const struct map *map, uint64_t key);

/* Removes; the value that stood there, or MAP_NONE. */
uint32_t map_remove(struct map *map, uint64_t key);

/* Empties it and keeps the memory. */
void map_clear(struct map *map);

/* Walks all entries: start with *cursor = 0; false at the end. No change to the map meanwhile. */
bool map_next(const struct map *map, uint32_t *cursor, uint64_t *ret_key, uint32_t *ret_value);

size_t map_bytes(const struct map *map);                /* memory held */

/* The mixer, for whoever needs one: every input bit moves every output bit; a bijection. */
static inline uint64_t map_mix(uint64_t x)
{
        x ^= x >> 32;
        x *= 0xd6e8feb86659fd93u;
        x ^= x >> 32;
        x *= 0xd6e8feb86659fd93u;
        x ^= x >> 32;
        return x;
}

/* Chains a value onto a hash, so that order counts. */
static inline void map_chain(uint64_t *hash, uint64_t value)
{
        *hash = map_mix(*hash ^ value) + 1;
}
