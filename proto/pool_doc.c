#include "proto/pool_doc.h"

#include <assert.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/vocab.h"
#include "proto/hostlist.h"
#include "proto/pool_impl.h"

#define PRICE_MICRO_MAX (UINT64_C(1000000) * 1000000) /* a million an hour */

struct reader {
        const struct model_table *models;
        struct vocab *vocab;
        struct pool_doc *pool;
        struct map by_name;           /* name id -> index of the node */
        const struct doc_node *entry; /* the one that is expanded */
        struct node_desc desc;        /* what its nodes have in common */
};

/* A name that becomes a number of the vocabulary. */
static int read_word(const struct reader *reader, const struct doc_node *node, uint16_t *ret_word,
                     struct err *err)
{
        const char *text = NULL;
        int rc = doc_text(node, 1, TENANCY_WORD_MAX - 1, &text, err);

        if (rc < 0 || !text)
                return rc;
        rc = vocab_word(reader->vocab, text, err);
        if (rc < 0)
                return doc_blame(node, err);
        *ret_word = (uint16_t)rc;
        return 0;
}

/* ---- planes: {training: {}, serving: {frozen: true}} ---- */

static int read_plane(const struct reader *reader, const struct doc_node *node,
                      struct pool_plane *plane, struct err *err)
{
        static const char *const keys[] = {"frozen"};
        int rc;

        if (!str_copy(plane->name, sizeof plane->name, doc_key(node)) || !plane->name[0])
                return doc_fail(node, err, "is no name of 1 to %d bytes", TENANCY_WORD_MAX - 1);
        if ((rc = vocab_word(reader->vocab, plane->name, err)) < 0)
                return doc_blame(node, err);
        plane->word = (uint16_t)rc;
        if (doc_kind(node) == DOC_NULL)
                return 0;
        if ((rc = doc_check_keys(node, keys, ARRAY_LEN(keys), err)) < 0)
                return rc;
        return doc_bool(doc_get(node, "frozen"), &plane->frozen, err);
}

static int read_planes(const struct reader *reader, const struct doc_node *map, struct err *err)
{
        struct pool_doc *pool = reader->pool;
        int rc;

        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        if (doc_length(map) > PLANES_MAX)
                return doc_fail(map, err, "has %zu planes; at most %d are possible",
                                doc_length(map), PLANES_MAX);
        DOC_EACH(node, map) {
                if ((rc = read_plane(reader, node, &pool->planes[pool->planes_count], err)) < 0)
                        return rc;
                pool->planes_count++;
        }
        return 0;
}

/* ---- what the nodes of one entry have in common ---- */

static int read_devices(struct reader *reader, const struct doc_node *map, struct err *err)
{
        static const char *const keys[] = {"model", "count", "unhealthy"};
        struct node_desc *desc = &reader->desc;
        const struct doc_node *model, *count, *list;
        const char *text = NULL;
        uint32_t devices = 0;
        int rc;

        if (!map)
                return 0;
        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(map, "model", &model, err)) < 0 ||
            (rc = doc_text(model, 1, MODEL_NAME_MAX - 1, &text, err)) < 0 ||
            (rc = doc_need(map, "count", &count, err)) < 0 ||
            (rc = doc_u32(count, 1, NODE_DEVICES_MAX, &devices, err)) < 0)
                return rc;
        int id = model_find(reader->models, text, err);
        if (id < 0)
                return doc_blame(model, err);
        desc->model = (uint8_t)id;
        desc->devices = (uint8_t)devices;
        list = doc_get(map, "unhealthy");
        if ((rc = doc_check_list(list, 0, NODE_DEVICES_MAX, err)) < 0)
                return rc;
        DOC_EACH(node, list) {
                uint32_t device = 0;
                if ((rc = doc_u32(node, 0, devices - 1, &device, err)) < 0)
                        return rc;
                if (desc->broken >> device & 1)
                        return doc_fail(node, err, "device %u stands twice", device);
                desc->broken = (uint16_t)(desc->broken | 1u << device);
        }
        return 0;
}

/* Directly linked devices; `fabric` says it in a word, `link_group` in a number. */
static int read_fabric(struct reader *reader, const struct doc_node *map, struct err *err)
{
        static const char *const words[] = {"none", "pcie", "nvlink", "nvswitch", "xgmi"};
        struct node_desc *desc = &reader->desc;
        const struct doc_node *group = doc_get(map, "link_group");
        unsigned word = 0;
        uint32_t linked = 0;
        int rc;

        if ((rc = doc_choice(doc_get(map, "fabric"), words, ARRAY_LEN(words), &word, err)) < 0 ||
            (rc = doc_u32(group, 1, NODE_DEVICES_MAX, &linked, err)) < 0 ||
            (rc = read_word(reader, doc_get(map, "nvlink"), &desc->nvlink, err)) < 0)
                return rc;
        if (linked > desc->devices)
                return doc_fail(group, err, "%u devices are linked, but a node has %u", linked,
                                desc->devices);
        if (word == 2 && !group)
                return doc_fail(doc_get(map, "fabric"), err,
                                "'nvlink' links some devices of a node; add link_group: 2 or write "
                                "nvswitch when all are linked");
        if (word < 2 && group && doc_get(map, "fabric"))
                return doc_fail(group, err,
                                "'fabric: %s' links no devices; leave one of the two "
                                "out",
                                words[word]);
        if (word > 2 && group && linked != desc->devices)
                return doc_fail(group, err,
                                "'fabric: %s' links all devices of a node; leave link_group out or "
                                "write fabric: nvlink",
                                words[word]);
        desc->link_group = (uint8_t)(group ? linked : word > 2 ? desc->devices : 0);
        return 0;
}

static int read_labels(struct reader *reader, const struct doc_node *map, struct err *err)
{
        struct label labels[VOCAB_LABELS_MAX];
        size_t count = 0;
        int rc;

        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        if (doc_length(map) > VOCAB_LABELS_MAX)
                return doc_fail(map, err, "has %zu labels; at most %d are possible",
                                doc_length(map), VOCAB_LABELS_MAX);
        DOC_EACH(node, map) {
                const char *text = NULL;
                int key = vocab_word(reader->vocab, doc_key(node), err), value;
                if (key < 0)
                        return doc_blame(node, err);
                if ((rc = doc_text(node, 1, VOCAB_WORD_MAX - 1, &text, err)) < 0)
                        return rc;
                if ((value = vocab_word(reader->vocab, text, err)) < 0)
                        return doc_blame(node, err);
                labels[count++] = (struct label){(uint16_t)key, (uint16_t)value};
        }
        rc = vocab_labels(reader->vocab, labels, count, err);
        if (rc < 0)
                return doc_blame(map, err);
        reader->desc.labels = (uint16_t)rc;
        return 0;
}

static int read_amounts(struct reader *reader, const struct doc_node *map, struct err *err)
{
        struct node_desc *desc = &reader->desc;
        uint64_t cpu = CPU_MILLI_MAX, ram = RAM_MIB_MAX, disk = DISK_MIB_MAX;
        uint64_t network = NETWORK_MBIT_MAX;
        int rc;

        if ((rc = doc_cpu_milli(doc_get(map, "cpu"), 1, CPU_MILLI_MAX, &cpu, err)) < 0 ||
            (rc = doc_size_mib(doc_get(map, "ram"), 1, RAM_MIB_MAX, &ram, err)) < 0 ||
            (rc = doc_size_mib(doc_get(map, "disk"), 0, DISK_MIB_MAX, &disk, err)) < 0 ||
            (rc = doc_rate_mbit(doc_get(map, "network"), 0, NETWORK_MBIT_MAX, &network, err)) < 0)
                return rc;
        desc->cpu_milli = (uint32_t)cpu;
        desc->ram_mib = (uint32_t)ram;
        desc->disk_mib = (uint32_t)disk;
        desc->network_mbit = (uint32_t)network;
        return 0;
}

/* ---- nodes ---- */

static int make_room(struct pool_doc *pool, struct err *err)
{
        if (pool->nodes_count < pool->nodes_room)
                return 0;
        uint32_t room = pool->nodes_room ? pool->nodes_room * 2 : 64;
        struct node_desc *nodes = mem_resize(pool->nodes, pool->nodes_room, room, sizeof *nodes);
        if (!nodes)
                return err_set(err, ERR_NOMEM, "out of memory");
        pool->nodes = nodes;
        uint32_t *lines = mem_resize(pool->lines, pool->nodes_room, room, sizeof *lines);
        if (!lines)
                return err_set(err, ERR_NOMEM, "out of memory");
        pool->lines = lines;
        pool->nodes_room = room;
        return 0;
}

static int take_node(void *arg, const char *name, struct err *err)
{
        struct reader *reader = arg;
        struct pool_doc *pool = reader->pool;
        int id = vocab_name(reader->vocab, name, err), rc;

        if (id < 0)
                return id;
        uint32_t before = map_get(&reader->by_name, (uint64_t)id);
        if (before != MAP_NONE)
                return err_set(err, ERR_INPUT, "node '%s' stands twice (first in line %u)", name,
                               pool->lines[before]);
        if ((rc = make_room(pool, err)) < 0)
                return rc;
        if (map_set(&reader->by_name, (uint64_t)id, pool->nodes_count) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        reader->desc.name = (uint32_t)id;
        pool->nodes[pool->nodes_count] = reader->desc;
        pool->lines[pool->nodes_count++] = doc_line(reader->entry);
        unsigned broken = (unsigned)__builtin_popcount(reader->desc.broken);
        pool->devices[reader->desc.model] += reader->desc.devices - broken;
        pool->cpu_milli += reader->desc.cpu_milli;
        return 0;
}

static int read_node(struct reader *reader, const struct doc_node *map, struct err *err)
{
        static const char *const keys[] = {
                "name", "plane", "devices", "cpu",        "ram",    "disk",   "network",
                "rack", "block", "fabric",  "link_group", "nvlink", "labels", "drained",
                "drain_by",
        };
        struct node_desc *desc = &reader->desc;
        const struct doc_node *name;
        const char *text = NULL;
        int rc;

        memset(desc, 0, sizeof *desc);
        reader->entry = map;
        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(map, "name", &name, err)) < 0 ||
            (rc = doc_text(name, 1, HOSTLIST_TEXT_MAX - 1, &text, err)) < 0 ||
            (rc = pool_find_plane(reader->pool, doc_get(map, "plane"), &desc->plane, err)) < 0 ||
            (rc = read_devices(reader, doc_get(map, "devices"), err)) < 0 ||
            (rc = read_amounts(reader, map, err)) < 0 ||
            (rc = read_word(reader, doc_get(map, "rack"), &desc->rack, err)) < 0 ||
            (rc = read_word(reader, doc_get(map, "block"), &desc->block, err)) < 0 ||
            (rc = read_fabric(reader, map, err)) < 0 ||
            (rc = read_labels(reader, doc_get(map, "labels"), err)) < 0 ||
            (rc = pool_read_drain(map, desc, err)) < 0)
                return rc;
        rc = hostlist_expand(text, POOL_NODES_MAX - reader->pool->nodes_count, take_node, reader,
                             err);
        return rc < 0 ? doc_blame(name, err) : 0;
}

/* ---- prices: {H100-80: 2.40} ---- */

static int read_prices(struct reader *reader, const struct doc_node *map, struct err *err)
{
        uint64_t named = 0;
        int rc;

        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        DOC_EACH(node, map) {
                int id = model_find(reader->models, doc_key(node), err);
                if (id < 0)
                        return doc_blame(node, err);
                if (named >> id & 1)
                        return doc_fail(node, err, "is %s, which stands here already",
                                        model_get(reader->models, (unsigned)id)->name);
                named |= UINT64_C(1) << id;
                if (doc_kind(node) == DOC_NULL)
                        return doc_fail(node, err, "has no price; write for example 2.40");
                if ((rc = doc_fixed(node, 6, 0, PRICE_MICRO_MAX, &reader->pool->price_micro[id],
                                    err)) < 0)
                        return rc;
        }
        return 0;
}

static int read_currency(struct reader *reader, const struct doc_node *node, struct err *err)
{
        char *currency = reader->pool->currency;
        int rc = doc_copy(node, currency, sizeof reader->pool->currency, err);

        if (rc < 0 || !node)
                return rc;
        for (unsigned i = 0; i < 3; i++)
                if (currency[i] < 'A' || currency[i] > 'Z')
                        return doc_fail(node, err,
                                        "is no currency of three capitals; write for "
                                        "example EUR");
        return 0;
}

static int read_root(struct reader *reader, const struct doc_node *root, struct err *err)
{
        static const char *const keys[] = {"kind",        "name",   "planes",  "nodes",
                                           "maintenance", "prices", "currency"};
        static const char *const kinds[] = {"Pool"};
        const struct doc_node *kind, *nodes;
        unsigned index = 0;
        int rc;

        if ((rc = doc_need(root, "kind", &kind, err)) < 0 ||
            (rc = doc_choice(kind, kinds, ARRAY_LEN(kinds), &index, err)) < 0 ||
            (rc = doc_check_keys(root, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_copy(doc_get(root, "name"), reader->pool->name, sizeof reader->pool->name,
                           err)) < 0 ||
            (rc = read_planes(reader, doc_get(root, "planes"), err)) < 0 ||
            (rc = doc_need(root, "nodes", &nodes, err)) < 0 ||
            (rc = doc_check_list(nodes, 1, POOL_NODES_MAX, err)) < 0)
                return rc;
        DOC_EACH(node, nodes)
                if ((rc = read_node(reader, node, err)) < 0)
                        return rc;
        if ((rc = pool_read_maintenance(reader->pool, root, reader->vocab, err)) < 0)
                return rc;
        if ((rc = read_prices(reader, doc_get(root, "prices"), err)) < 0)
                return rc;
        return read_currency(reader, doc_get(root, "currency"), err);
}

int pool_doc_decode(const struct doc_node *root, const struct model_table *models,
                    struct vocab *vocab, struct pool_doc **ret_pool, struct err *err)
{
        assert(root);
        assert(models);
        assert(vocab);

        struct reader reader = {.models = models, .vocab = vocab};
        int rc;

        reader.pool = mem_new(1, sizeof *reader.pool);
        if (!reader.pool)
                return err_set(err, ERR_NOMEM, "out of memory for a pool");
        map_init(&reader.by_name, POOL_NODES_MAX);
        rc = read_root(&reader, root, err);
        map_done(&reader.by_name);
        if (rc == 0)
                *ret_pool = reader.pool;
        else
                pool_doc_free(reader.pool);
        return rc;
}

void pool_doc_free(struct pool_doc *pool)
{
        if (!pool)
                return;
        mem_free(pool->nodes);
        mem_free(pool->lines);
        mem_free(pool);
}

uint32_t pool_doc_devices(const struct pool_doc *pool)
{
        uint32_t sum = 0;

        for (unsigned m = 0; m < MODELS_MAX; m++)
                sum += pool->devices[m];
        return sum;
}
