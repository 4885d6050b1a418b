#include "store/sums.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "store/sql.h"

#define START_BYTES 8
#define KEY_MAX     (START_BYTES + SUMS_NAMES_MAX * (ROLLUP_NAME_MAX + 1))
#define ROOM_FIRST  256u

/* Its key: the start, in bytes that compare as the number does, and the texts, each with its NUL.
 * So the order of keys as bytes is that of the sums. */
struct entry {
        const uint8_t *key;
        size_t size;
        rollup_unit_ms amount;
        int64_t first_ms, last_ms;
        uint32_t next;                  /* another one with the same hash; MAP_NONE: none */
};

struct sums {
        struct entry *entries;
        uint32_t count, room;
        struct map by_hash;
        struct arena *keys;
        unsigned names;
};

/* ---- keys ---- */

static void put_start(int64_t start_ms, uint8_t ret_bytes[START_BYTES])
{
        uint64_t number = (uint64_t)start_ms ^ (UINT64_C(1) << 63);

        for (unsigned b = 0; b < START_BYTES; b++)
                ret_bytes[b] = (uint8_t)(number >> (56 - 8 * b));
}

static int64_t get_start(const uint8_t bytes[START_BYTES])
{
        uint64_t number = 0;

        for (unsigned b = 0; b < START_BYTES; b++)
                number = number << 8 | bytes[b];
        return (int64_t)(number ^ (UINT64_C(1) << 63));
}

static uint64_t hash_of(const uint8_t *key, size_t size)
{
        uint64_t hash = size, word;

        for (; size >= sizeof word; key += sizeof word, size -= sizeof word) {
                memcpy(&word, key, sizeof word);
                map_chain(&hash, word);
        }
        word = 0;
        memcpy(&word, key, size);
        map_chain(&hash, word);
        return hash;
}

/* Of the statement's row. */
static int read_key(const struct sums *sums, sqlite3_stmt *row, uint8_t ret_key[KEY_MAX],
                    size_t *ret_size, struct err *err)
{
        size_t size = START_BYTES;

        put_start(sqlite3_column_int64(row, 0), ret_key);
        for (unsigned n = 0; n < sums->names; n++) {
                const unsigned char *text = sqlite3_column_text(row, 3 + (int)n);
                size_t length = (size_t)sqlite3_column_bytes(row, 3 + (int)n);
                if (!text)
                        return err_set(err, ERR_NOMEM, "out of memory");
                if (length > ROLLUP_NAME_MAX || memchr(text, '\0', length))
                        return err_set(err, ERR_IO, "%s: a name in it is none of ours: check the "
                                       "store", sql_path(sqlite3_db_handle(row)));
                memcpy(ret_key + size, text, length + 1);
                size += length + 1;
        }
        *ret_size = size;
        return 0;
}

/* ---- entries ---- */

static struct entry *find(const struct sums *sums, uint64_t hash, const uint8_t *key, size_t size)
{
        uint32_t at = map_get(&sums->by_hash, hash);

        while (at != MAP_NONE && (sums->entries[at].size != size ||
                                  memcmp(sums->entries[at].key, key, size) != 0))
                at = sums->entries[at].next;
        return at == MAP_NONE ? NULL : &sums->entries[at];
}

static int grow(struct sums *sums, struct err *err)
{
        if (sums->count == SUMS_MAX)
                return err_set(err, ERR_RANGE, "more than %u sums: ask for less time, or by less",
                               SUMS_MAX);
        struct entry *grown = mem_grow(sums->entries, sums->count, &sums->room, ROOM_FIRST,
                                       sizeof *grown);
        if (!grown)
                return err_set(err, ERR_NOMEM, "out of memory");
        sums->entries = grown;
        return 0;
}

static int add_entry(struct sums *sums, uint64_t hash, const uint8_t *key, size_t size,
                     struct entry **ret_entry, struct err *err)
{
        int rc = grow(sums, err);
        uint8_t *copy = rc == 0 ? arena_alloc(sums->keys, size) : NULL;
        uint32_t before = map_get(&sums->by_hash, hash);

        if (rc)
                return rc;
        if (!copy || map_set(&sums->by_hash, hash, sums->count) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        memcpy(copy, key, size);
        *ret_entry = &sums->entries[sums->count++];
        **ret_entry = (struct entry){.key = copy, .size = size, .first_ms = INT64_MAX,
                                     .last_ms = INT64_MIN, .next = before};
        return 0;
}

static int add_row(struct sums *sums, sqlite3_stmt *row, struct err *err)
{
        uint8_t key[KEY_MAX];
        size_t size = 0;
        int64_t at_ms = sqlite3_column_int64(row, 1);
        int rc = read_key(sums, row, key, &size, err);

        if (rc)
                return rc;
        uint64_t hash = hash_of(key, size);
        struct entry *entry = find(sums, hash, key, size);
        if (!entry && (rc = add_entry(sums, hash, key, size, &entry, err)) < 0)
                return rc;
        entry->amount += (uint64_t)sqlite3_column_int64(row, 2);
        if (at_ms < entry->first_ms)
                entry->first_ms = at_ms;
        if (at_ms > entry->last_ms)
                entry->last_ms = at_ms;
        return 0;
}

/* ---- what comes of them ---- */

static int compare(const void *a, const void *b)
{
        const struct entry *one = a, *other = b;
        size_t size = one->size < other->size ? one->size : other->size;

        return memcmp(one->key, other->key, size);      /* no key begins with another one */
}

static int show(struct sums *sums, sums_see *see, void *self, struct err *err)
{
        int rc = 0;

        if (sums->count > 0)
                qsort(sums->entries, sums->count, sizeof *sums->entries, compare);
        for (uint32_t e = 0; rc == 0 && e < sums->count; e++) {
                const struct entry *entry = &sums->entries[e];
                const char *name = (const char *)entry->key + START_BYTES;
                struct sum sum = {.start_ms = get_start(entry->key), .amount = entry->amount,
                                  .first_ms = entry->first_ms, .last_ms = entry->last_ms};
                for (unsigned n = 0; n < sums->names; n++, name += strlen(name) + 1)
                        sum.names[n] = name;
                rc = see(self, &sum, err);
        }
        return rc;
}

int sums_read(struct sqlite3_stmt *rows, unsigned names, sums_see *see, void *self,
              struct err *err)
{
        struct sums sums = {.names = names, .keys = arena_new(0, 0)};
        int rc = sums.keys ? 0 : err_set(err, ERR_NOMEM, "out of memory");

        assert(names <= SUMS_NAMES_MAX);
        map_init(&sums.by_hash, SUMS_MAX);
        while (rc == 0 && (rc = sql_step(rows, err)) > 0)
                rc = add_row(&sums, rows, err);
        if (rc == 0)
                rc = show(&sums, see, self, err);
        sql_reset(rows);
        map_done(&sums.by_hash);
        arena_free(sums.keys);
        mem_free(sums.entries);
        return rc;
}
