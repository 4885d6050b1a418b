#include "base/map.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define SLOTS_MIN 8u

/* An empty slot is all zeros, as new memory comes: of a large map only what is used costs pages. */
struct map_slot {
        uint64_t key;
        uint32_t held;                  /* value + 1; 0: the slot is empty */
};

static bool is_empty(const struct map_slot *slot)
{
        return slot->held == 0;
}

void map_init(struct map *map, uint32_t entries_max)
{
        assert(entries_max >= 1);
        assert(entries_max <= MAP_ENTRIES_MAX);
        *map = (struct map){.entries_max = entries_max};
}

void map_done(struct map *map)
{
        if (!map)
                return;
        mem_free(map->slots);
        *map = (struct map){0};
}

/* The slot that holds the key, or the empty one where it belongs. There is always an empty one. */
static uint32_t find(const struct map *map, uint64_t key)
{
        uint32_t mask = map->slot_count - 1;
        uint32_t at = (uint32_t)map_mix(key) & mask;
        while (!is_empty(&map->slots[at]) && map->slots[at].key != key)
                at = (at + 1) & mask;
        return at;
}

static int resize(struct map *map, uint32_t slot_count)
{
        struct map_slot *slots = mem_new(slot_count, sizeof *slots);
        if (!slots)
                return -ERR_NOMEM;

        struct map old = *map;
        map->slots = slots;
        map->slot_count = slot_count;
        for (uint32_t i = 0; i < old.slot_count; i++)
                if (!is_empty(&old.slots[i]))
                        slots[find(map, old.slots[i].key)] = old.slots[i];
        mem_free(old.slots);
        return 0;
}

int map_reserve(struct map *map, uint32_t entries)
{
        assert(map->entries_max > 0);

        if (entries > map->entries_max)
                return -ERR_FULL;
        uint64_t slot_count = map->slot_count ? map->slot_count : SLOTS_MIN;
        while ((uint64_t)entries * 4 > slot_count * 3)
                slot_count *= 2;
        if (slot_count == map->slot_count)
                return 0;
        return resize(map, (uint32_t)slot_count);
}

int map_set(struct map *map, uint64_t key, uint32_t value)
{
        assert(value != MAP_NONE);

        uint32_t at = 0;
        if (map->slots) {
                at = find(map, key);
                if (!is_empty(&map->slots[at])) {
                        map->slots[at].held = value + 1;
                        return 0;
                }
        }
        uint32_t slot_count = map->slot_count;
        int rc = map_reserve(map, map->count + 1);
        if (rc < 0)
                return rc;
        if (map->slot_count != slot_count)
                at = find(map, key);
        map->slots[at] = (struct map_slot){.key = key, .held = value + 1};
        map->count++;
        assert(map->count < map->slot_count);
        return 0;
}

uint32_t map_get(const struct map *map, uint64_t key)
{
        /* MAP_NONE is what comes before 0. */
        return map->slots ? map->slots[find(map, key)].held - 1 : MAP_NONE;
}

uint32_t map_remove(struct map *map, uint64_t key)
{
        if (!map->slots)
                return MAP_NONE;
        uint32_t mask = map->slot_count - 1;
        uint32_t hole = find(map, key);
        if (is_empty(&map->slots[hole]))
                return MAP_NONE;
        uint32_t value = map->slots[hole].held - 1;
        map->count--;
        /* Close the gap: an entry moves into the hole unless its home lies behind the hole. */
        for (uint32_t at = (hole + 1) & mask; !is_empty(&map->slots[at]);
             at = (at + 1) & mask) {
                uint32_t home = (uint32_t)map_mix(map->slots[at].key) & mask;
                if (((at - home) & mask) >= ((at - hole) & mask)) {
                        map->slots[hole] = map->slots[at];
                        hole = at;
                }
        }
        map->slots[hole] = (struct map_slot){0};
        return value;
}

void map_clear(struct map *map)
{
        if (map->count == 0)
                return;
        memset(map->slots, 0, map->slot_count * sizeof *map->slots);
        map->count = 0;
}

bool map_next(const struct map *map, uint32_t *cursor, uint64_t *ret_key, uint32_t *ret_value)
{
        for (; *cursor < map->slot_count; ++*cursor) {
                const struct map_slot *slot = &map->slots[*cursor];
                if (is_empty(slot))
                        continue;
                *ret_key = slot->key;
                *ret_value = slot->held - 1;
                ++*cursor;
                return true;
        }
        return false;
}

size_t map_bytes(const struct map *map)
{
        return map->slot_count * sizeof(struct map_slot);
}
