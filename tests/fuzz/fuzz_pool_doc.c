/* fuzz_pool_doc.c - a pool that is accepted is one the engine could be told, node by node. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "engine/vocab.h"
#include "proto/kind.h"
#include "proto/pool_doc.h"
#include "tests/fuzz/known_models.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_node(const struct node_desc *desc, const struct vocab *vocab)
{
        const char *name = vocab_name_text(vocab, desc->name);

        assert(name[0] != '\0' && strlen(name) < 64);
        assert(strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
               strlen(name));
        assert(desc->devices <= NODE_DEVICES_MAX);
        assert(desc->link_group <= desc->devices);
        assert(desc->devices == 0 || desc->model < model_count(known_models()));
        assert((uint32_t)desc->broken >> desc->devices == 0);
        assert(desc->cpu_milli >= 1 && desc->cpu_milli <= CPU_MILLI_MAX);
        assert(desc->ram_mib >= 1 && desc->ram_mib <= RAM_MIB_MAX);
        assert(desc->disk_mib <= DISK_MIB_MAX && desc->network_mbit <= NETWORK_MBIT_MAX);
        assert(desc->drain_by_ms >= 0 && desc->drain_by_ms <= CALENDAR_MS_MAX);
        assert(desc->drained || desc->drain_by_ms == 0);
        (void)vocab_meets(vocab, desc->labels, 0);
}

static void check_pool(const struct pool_doc *pool, const struct vocab *vocab)
{
        uint64_t devices[MODELS_MAX] = {0};

        assert(pool->nodes_count >= 1 && pool->nodes_count <= POOL_NODES_MAX);
        for (uint32_t i = 0; i < pool->nodes_count; i++) {
                const struct node_desc *desc = &pool->nodes[i];
                check_node(desc, vocab);
                devices[desc->model] += desc->devices - (unsigned)__builtin_popcount(desc->broken);
                bool has_plane = desc->plane == 0;
                for (uint32_t p = 0; p < pool->planes_count; p++)
                        has_plane = has_plane || pool->planes[p].word == desc->plane;
                assert(has_plane);
                /* Names are new ones in the order of the document: no two are equal. */
                assert(i == 0 || desc->name > pool->nodes[i - 1].name);
        }
        for (unsigned m = 0; m < MODELS_MAX; m++)
                assert(pool->devices[m] == devices[m]);
        assert(maintenance_check(&pool->maintenance, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct doc_node *root = NULL;
        struct pool_doc *pool = NULL;
        struct doc *doc;
        struct err err = {0};

        if (doc_read_yaml("f", (const char *)data, size, &doc, &err) < 0)
                return 0;
        struct vocab *vocab = vocab_new();
        if (!vocab)
                abort();
        if (kind_need(doc, "Pool", &root, &err) < 0 ||
            pool_doc_decode(root, known_models(), vocab, &pool, &err) < 0)
                assert(strncmp(err.text, "f:", 2) == 0);
        else
                check_pool(pool, vocab);
        pool_doc_free(pool);
        vocab_free(vocab);
        doc_free(doc);
        return 0;
}
