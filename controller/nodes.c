#include "controller/nodes.h"

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/vocab.h"
#include "proto/pool_doc.h"

struct nodes {
        struct node_entry **list;       /* each its own piece: pointers stay */
        uint32_t count, room;
        struct map by_name;
};

struct nodes *nodes_new(void)
{
        struct nodes *nodes = mem_new(1, sizeof *nodes);

        if (nodes)
                map_init(&nodes->by_name, POOL_NODES_MAX * 2);
        return nodes;
}

void nodes_free(struct nodes *nodes)
{
        if (!nodes)
                return;
        for (uint32_t n = 0; n < nodes->count; n++)
                mem_free(nodes->list[n]);
        mem_free(nodes->list);
        map_done(&nodes->by_name);
        mem_free(nodes);
}

static uint64_t name_key(const char *name)
{
        uint64_t hash = 7;

        for (const char *at = name; *at; at++)
                map_chain(&hash, (unsigned char)*at);
        return hash;
}

/* Equal hashes of different names move on to the next key. */
static struct node_entry *find(const struct nodes *nodes, const char *name, uint64_t *ret_key)
{
        for (uint64_t key = name_key(name);; key++) {
                uint32_t at = map_get(&nodes->by_name, key);
                *ret_key = key;
                if (at == MAP_NONE)
                        return NULL;
                if (str_equal(nodes->list[at]->name, name))
                        return nodes->list[at];
        }
}

struct node_entry *nodes_find(const struct nodes *nodes, const char *name)
{
        uint64_t key;

        return find(nodes, name, &key);
}

struct node_entry *nodes_next(const struct nodes *nodes, uint32_t *cursor)
{
        return *cursor < nodes->count ? nodes->list[(*cursor)++] : NULL;
}

static struct node_entry *add(struct nodes *nodes, const char *name, uint64_t key)
{
        struct node_entry *entry = mem_new(1, sizeof *entry);
        struct node_entry **grown = mem_grow(nodes->list, nodes->count, &nodes->room, 64,
                                             sizeof *grown);

        if (grown)
                nodes->list = grown;
        if (!entry || !grown || !str_copy(entry->name, sizeof entry->name, name) ||
            map_set(&nodes->by_name, key, nodes->count) != 0) {
                mem_free(entry);
                return NULL;
        }
        nodes->list[nodes->count++] = entry;
        return entry;
}

int nodes_describe(struct nodes *nodes, const struct pool_doc *pool, const struct vocab *vocab,
                   struct err *err)
{
        /* The vocabulary may be another one than before. */
        for (uint32_t n = 0; n < nodes->count; n++) {
                int name = vocab_name_find(vocab, nodes->list[n]->name);
                nodes->list[n]->described = false;
                nodes->list[n]->desc = (struct node_desc){.name = (uint32_t)name};
        }
        for (uint32_t n = 0; pool && n < pool->nodes_count; n++) {
                const char *name = vocab_name_text(vocab, pool->nodes[n].name);
                uint64_t key;
                struct node_entry *entry = find(nodes, name, &key);
                if (!entry)
                        entry = add(nodes, name, key);
                if (!entry)
                        return err_set(err, ERR_NOMEM, "out of memory");
                entry->desc = pool->nodes[n];
                entry->described = true;
        }
        return 0;
}
