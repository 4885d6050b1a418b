#include "cli/changes.h"

#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "cli/policy_out.h"
#include "proto/kind.h"
#include "proto/model_doc.h"
#include "proto/pool_doc.h"

#define NAMES_SHOWN 8

/* Two versions of a document, read alike. */
struct versions {
        struct model_table *models;
        struct vocab *vocab;
        struct pool_doc *pools[2];
        struct policy_doc *policies[2];
};

static int read_version(struct versions *versions, unsigned v, const char *kind,
                        struct text_of text)
{
        const struct doc_node *root;
        struct doc *doc;
        int rc = doc_read_yaml("", text.bytes, text.size, &doc, NULL);

        if (rc < 0)
                return rc;
        rc = kind_need(doc, kind, &root, NULL);
        if (rc == 0 && strcmp(kind, "Pool") == 0)
                rc = pool_doc_decode(root, versions->models, versions->vocab, &versions->pools[v],
                                     NULL);
        else if (rc == 0)
                rc = policy_doc_decode(root, versions->models, NULL, &versions->policies[v], NULL);
        doc_free(doc);
        return rc;
}

static int read_versions(struct versions *versions, const char *kind, struct text_of before,
                         struct text_of after)
{
        versions->models = model_table_new();
        versions->vocab = vocab_new();
        if (!versions->models || !versions->vocab)
                return -ERR_NOMEM;
        int rc = model_doc_builtin(versions->models, NULL);
        if (rc == 0)
                rc = read_version(versions, 0, kind, before);
        if (rc == 0)
                rc = read_version(versions, 1, kind, after);
        return rc;
}

static void versions_done(struct versions *versions)
{
        for (unsigned v = 0; v < 2; v++) {
                policy_doc_free(versions->policies[v]);
                pool_doc_free(versions->pools[v]);
        }
        vocab_free(versions->vocab);
        model_table_free(versions->models);
}

void changes_of_policy(struct text_of before, struct text_of after, FILE *file)
{
        struct versions versions = {0};

        if (before.size > 0 && read_versions(&versions, "Policy", before, after) == 0)
                policy_print_diff(versions.policies[0], versions.policies[1], versions.models,
                                  file);
        versions_done(&versions);
}

/* ---- pools ---- */

static bool is_same_node(const struct node_desc *a, const struct node_desc *b)
{
        return a->plane == b->plane && a->labels == b->labels && a->nvlink == b->nvlink &&
               a->rack == b->rack && a->block == b->block && a->model == b->model &&
               a->devices == b->devices && a->link_group == b->link_group &&
               a->drained == b->drained && a->drain_by_ms == b->drain_by_ms &&
               a->broken == b->broken && a->cpu_milli == b->cpu_milli && a->ram_mib == b->ram_mib &&
               a->disk_mib == b->disk_mib && a->network_mbit == b->network_mbit &&
               a->artifacts == b->artifacts;
}

/* "2 nodes come: gpu-05, gpu-06" */
struct names {
        const struct vocab *vocab;
        const char *verb;
        uint32_t count;
        uint32_t shown[NAMES_SHOWN];
};

static void names_add(struct names *names, const struct node_desc *node)
{
        if (names->count < NAMES_SHOWN)
                names->shown[names->count] = node->name;
        names->count++;
}

static void names_print(const struct names *names, FILE *file)
{
        if (names->count == 0)
                return;
        fprintf(file, "%u node%s %s", names->count, names->count == 1 ? "" : "s", names->verb);
        for (uint32_t i = 0; i < names->count && i < NAMES_SHOWN; i++)
                fprintf(file, "%s%s", i == 0 ? ": " : ", ",
                        vocab_name_text(names->vocab, names->shown[i]));
        if (names->count > NAMES_SHOWN)
                fprintf(file, " and %u more", names->count - NAMES_SHOWN);
        fputc('\n', file);
}

/* Where each node's name stands. */
static int index_nodes(const struct pool_doc *pool, struct map *map)
{
        int rc = 0;

        map_init(map, POOL_NODES_MAX);
        for (uint32_t n = 0; n < pool->nodes_count && rc == 0; n++)
                rc = map_set(map, pool->nodes[n].name, n);
        return rc;
}

static int print_nodes(const struct versions *versions, FILE *file)
{
        const struct pool_doc *before = versions->pools[0], *after = versions->pools[1];
        struct names come = {versions->vocab, "to come", 0, {0}};
        struct names go = {versions->vocab, "to leave", 0, {0}};
        struct names other = {versions->vocab, "to change", 0, {0}};
        struct map old = {0}, new = {0};
        int rc = index_nodes(before, &old);

        if (rc == 0)
                rc = index_nodes(after, &new);
        for (uint32_t n = 0; rc == 0 && n < after->nodes_count; n++) {
                uint32_t at = map_get(&old, after->nodes[n].name);
                if (at == MAP_NONE)
                        names_add(&come, &after->nodes[n]);
                else if (!is_same_node(&before->nodes[at], &after->nodes[n]))
                        names_add(&other, &after->nodes[n]);
        }
        for (uint32_t n = 0; rc == 0 && n < before->nodes_count; n++)
                if (map_get(&new, before->nodes[n].name) == MAP_NONE)
                        names_add(&go, &before->nodes[n]);
        names_print(&come, file);
        names_print(&other, file);
        names_print(&go, file);
        if (rc == 0 && come.count + go.count + other.count == 0)
                fputs("no node changes\n", file);
        map_done(&old);
        map_done(&new);
        return rc;
}

void changes_of_pool(struct text_of before, struct text_of after, FILE *file)
{
        struct versions versions = {0};

        if (before.size > 0 && read_versions(&versions, "Pool", before, after) == 0)
                (void)print_nodes(&versions, file);
        versions_done(&versions);
}
