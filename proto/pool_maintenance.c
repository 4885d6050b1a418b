/* When nodes are to be empty: drained by a time, maintenance windows. */
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/hostlist.h"
#include "proto/kind.h"
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

/* What the nodes of one window are added to. */
struct windows {
        struct pool_doc *pool;
        struct vocab *vocab;
        struct maintenance_window window;
        char reason[MAINTENANCE_REASON_MAX];
};

static int add_window(struct windows *windows, struct err *err)
{
        struct maintenance *maintenance = &windows->pool->maintenance;

        if (maintenance->count == MAINTENANCE_MAX)
                return err_set(err, ERR_INPUT,
                               "with '%s' there are more than %d windows, one for each node that "
                               "is named; name a plane instead",
                               windows->window.name, MAINTENANCE_MAX);
        memcpy(windows->pool->reasons[maintenance->count], windows->reason,
               sizeof windows->reason);
        maintenance->windows[maintenance->count++] = windows->window;
        return 0;
}

static int take_node(void *arg, const char *name, struct err *err)
{
        struct windows *windows = arg;
        const struct pool_doc *pool = windows->pool;
        char show[STR_SHOW_MAX];
        int id = vocab_name(windows->vocab, name, err);

        if (id < 0)
                return id;
        for (uint32_t n = 0; n < pool->nodes_count; n++)
                if (pool->nodes[n].name == (uint32_t)id) {
                        windows->window.node = (uint32_t)id;
                        return add_window(windows, err);
                }
        return err_set(err, ERR_INPUT, "'%s' is no node of this pool; write names of nodes, or a "
                                       "plane",
                       str_show(name, show));
}

static int check_name(const struct pool_doc *pool, const struct doc_node *node,
                      const struct maintenance_window *window, struct err *err)
{
        for (uint32_t w = 0; w < pool->maintenance.count; w++)
                if (str_equal(pool->maintenance.windows[w].name, window->name))
                        return doc_fail(node, err, "'%s' stands twice; give each window a name of "
                                                   "its own",
                                        window->name);
        return 0;
}

static int read_window(struct windows *windows, const struct doc_node *map, struct err *err)
{
        static const char *const keys[] = {"name",  "plane", "node", "nodes",  "from",
                                           "until", "every", "last", "reason", "kind"};
        const struct doc_node *name, *node = doc_get(map, "node"), *nodes = doc_get(map, "nodes");
        const struct doc_node *named = node ? node : nodes;
        struct maintenance_window *window = &windows->window;
        const char *text = NULL;
        /* Only as a document of its own it says its kind. */
        size_t keys_count = ARRAY_LEN(keys) - (doc_parent(map) != NULL);
        int rc;

        *window = (struct maintenance_window){0};
        windows->reason[0] = '\0';
        if ((rc = doc_check_keys(map, keys, keys_count, err)) < 0 ||
            (rc = doc_need(map, "name", &name, err)) < 0 ||
            (rc = doc_copy(name, window->name, sizeof window->name, err)) < 0 ||
            (rc = check_name(windows->pool, name, window, err)) < 0 ||
            (rc = pool_find_plane(windows->pool, doc_get(map, "plane"), &window->plane, err)) < 0 ||
            (rc = doc_text(named, 1, HOSTLIST_TEXT_MAX - 1, &text, err)) < 0 ||
            (rc = doc_copy(doc_get(map, "reason"), windows->reason, sizeof windows->reason,
                           err)) < 0 ||
            (rc = window_read(map, "drained: true at the node", &window->when, err)) < 0)
                return rc;
        if (named && (window->plane || (node && nodes)))
                return doc_fail(named, err, "stands beside %s; leave one of the two out",
                                window->plane ? "a plane" : "'nodes'");
        rc = text ? hostlist_expand(text, POOL_NODES_MAX, take_node, windows, err)
                  : add_window(windows, err);
        return rc < 0 ? doc_blame(named ? named : map, err) : 0;
}

int pool_read_maintenance(struct pool_doc *pool, const struct doc_node *root, struct vocab *vocab,
                          struct err *err)
{
        struct windows windows = {.pool = pool, .vocab = vocab};
        const struct doc_node *list = doc_get(root, "maintenance"), *beside = NULL;
        int rc = list ? doc_check_list(list, 0, MAINTENANCE_MAX, err) : 0;

        if (rc < 0)
                return rc;
        DOC_EACH(map, list)
                if ((rc = read_window(&windows, map, err)) < 0)
                        return rc;
        while ((beside = kind_beside(doc_of(root), "Maintenance", beside)))
                if ((rc = read_window(&windows, beside, err)) < 0)
                        return rc;
        return 0;
}
