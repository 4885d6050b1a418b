/* When nodes are to be empty: drained by a time, maintenance windows. */
#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/pool_impl.h"
#include "proto/when.h"
#include "proto/window.h"

int pool_read_drain(const struct doc_node *map, struct node_desc *desc, struct err *err)
{
        const struct doc_node *by = doc_get(map, "drain_by");
        int rc;

        if ((rc = doc_bool(doc_get(map, "drained"), &desc->drained, err)) < 0 ||
            (rc = when_read(by, &desc->drain_by_ms, err)) < 0)
                return rc;
        if (by && !desc->drained)
                return doc_fail(by, err,
                                "says by when the node is empty; add drained: true or leave it "
                                "out");
        return 0;
}

int pool_find_plane(const struct pool_doc *pool, const struct doc_node *node, uint16_t *ret_plane,
                    struct err *err)
{
        const char *names[PLANES_MAX];
        unsigned index = 0;
        int rc;

        if (!node)
                return 0;
        for (uint32_t p = 0; p < pool->planes_count; p++)
                names[p] = pool->planes[p].name;
        if (pool->planes_count == 0)
                return doc_fail(node, err,
                                "the pool has no planes; add for example "
                                "planes: {training: {}} or leave this out");
        if ((rc = doc_choice(node, names, pool->planes_count, &index, err)) < 0)
                return rc;
        *ret_plane = pool->planes[index].word;
        return 0;
}

/* ---- maintenance ---- */

static int find_node(const struct pool_doc *pool, const struct doc_node *node, struct vocab *vocab,
                     uint32_t *ret_node, struct err *err)
{
        const char *text = NULL;
        char show[STR_SHOW_MAX];
        int id = doc_text(node, 1, DOC_TEXT_MAX, &text, err);

        if (id < 0 || !text)
                return id;
        if ((id = vocab_name(vocab, text, err)) < 0)
                return doc_blame(node, err);
        for (uint32_t n = 0; n < pool->nodes_count; n++)
                if (pool->nodes[n].name == (uint32_t)id) {
                        *ret_node = (uint32_t)id;
                        return 0;
                }
        return doc_fail(node, err, "'%s' is no node of this pool; write one name, or a plane",
                        str_show(text, show));
}

static int read_window(struct pool_doc *pool, const struct doc_node *map, struct vocab *vocab,
                       struct maintenance_window *window, struct err *err)
{
        static const char *const keys[] = {"name", "plane", "node", "from", "until", "every",
                                           "last"};
        const struct doc_node *name, *node = doc_get(map, "node");
        int rc;

        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(map, "name", &name, err)) < 0 ||
            (rc = doc_copy(name, window->name, sizeof window->name, err)) < 0 ||
            (rc = pool_find_plane(pool, doc_get(map, "plane"), &window->plane, err)) < 0 ||
            (rc = find_node(pool, node, vocab, &window->node, err)) < 0)
                return rc;
        if (window->plane && window->node)
                return doc_fail(node, err, "stands beside a plane; leave one of the two out");
        for (uint32_t w = 0; w < pool->maintenance.count; w++)
                if (str_equal(pool->maintenance.windows[w].name, window->name))
                        return doc_fail(name, err, "'%s' stands twice; give each window a name of "
                                                   "its own",
                                        window->name);
        return window_read(map, "drained: true at the node", &window->when, err);
}

int pool_read_maintenance(struct pool_doc *pool, const struct doc_node *list, struct vocab *vocab,
                          struct err *err)
{
        struct maintenance *maintenance = &pool->maintenance;
        int rc;

        if (!list)
                return 0;
        if ((rc = doc_check_list(list, 0, MAINTENANCE_MAX, err)) < 0)
                return rc;
        DOC_EACH(map, list) {
                rc = read_window(pool, map, vocab, &maintenance->windows[maintenance->count], err);
                if (rc < 0)
                        return rc;
                maintenance->count++;
        }
        return 0;
}
