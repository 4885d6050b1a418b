/* What a supervisor is to launch, from run.json. */
#include <stdio.h>
#include <string.h>

#include "agent/supervisor_impl.h"
#include "base/arena.h"
#include "base/doc.h"
#include "base/err.h"

#define STRINGS_MAX 8192

static int no_memory(struct err *err)
{
        return err_set(err, ERR_NOMEM, "out of memory");
}

static int read_text(const struct doc_node *map, const char *key, struct arena *arena,
                     const char **ret_text, struct err *err)
{
        const struct doc_node *node;
        const char *text = "";
        int rc;

        if ((rc = doc_need(map, key, &node, err)) < 0 ||
            (rc = doc_text(node, 0, DOC_TEXT_MAX, &text, err)) < 0)
                return rc;
        *ret_text = arena_text(arena, text, strlen(text));
        return *ret_text ? 0 : no_memory(err);
}

static int read_strings(const struct doc_node *map, const char *key, size_t min,
                        struct arena *arena, char ***ret_strings, struct err *err)
{
        const struct doc_node *list;
        size_t count = 0;
        int rc;

        if ((rc = doc_need(map, key, &list, err)) < 0 ||
            (rc = doc_check_list(list, min, STRINGS_MAX, err)) < 0)
                return rc;
        char **strings = arena_array(arena, doc_length(list) + 1, sizeof *strings);
        if (!strings)
                return no_memory(err);
        DOC_EACH(node, list) {
                const char *text = "";
                if ((rc = doc_text(node, 0, DOC_TEXT_MAX, &text, err)) < 0)
                        return rc;
                strings[count] = arena_text(arena, text, strlen(text));
                if (!strings[count++])
                        return no_memory(err);
        }
        *ret_strings = strings;
        return 0;
}

/* Not in a run.json that has none, as those of older agents. */
static int read_secrets(const struct doc_node *launch, struct arena *arena,
                        struct launch_order *order, struct err *err)
{
        int rc;

        if (!doc_get(launch, "secrets"))
                return 0;
        if ((rc = read_strings(launch, "secrets", 1, arena, &order->secrets, err)) < 0 ||
            (rc = read_text(launch, "secrets_folder", arena, &order->secrets_folder, err)) < 0)
                return rc;
        return read_text(launch, "node", arena, &order->node, err);
}

static int read_order(const struct doc_node *root, struct arena *arena, struct launch_order *order,
                      struct err *err)
{
        const struct doc_node *launch, *uid, *gid;
        int rc;

        if ((rc = doc_need(root, "launch", &launch, err)) < 0 ||
            (rc = read_strings(launch, "command", 1, arena, &order->command, err)) < 0 ||
            (rc = read_strings(launch, "env", 0, arena, &order->variables, err)) < 0 ||
            (rc = read_text(launch, "workdir", arena, &order->workdir, err)) < 0 ||
            (rc = read_text(launch, "account", arena, &order->account, err)) < 0 ||
            (rc = read_text(launch, "boot", arena, &order->boot, err)) < 0 ||
            (rc = read_text(launch, "cages", arena, &order->cages, err)) < 0 ||
            (rc = read_secrets(launch, arena, order, err)) < 0 ||
            (rc = doc_need(launch, "uid", &uid, err)) < 0 ||
            (rc = doc_need(launch, "gid", &gid, err)) < 0 ||
            (rc = doc_u32(uid, 0, UINT32_MAX - 1, &order->uid, err)) < 0 ||
            (rc = doc_u32(gid, 0, UINT32_MAX - 1, &order->gid, err)) < 0 ||
            (rc = doc_u64(doc_get(launch, "cpu_milli"), 0, UINT64_MAX, &order->cpu_milli, err)) <
                    0 ||
            (rc = doc_u64(doc_get(launch, "ram_mib"), 0, UINT64_MAX, &order->ram_mib, err)) < 0 ||
            (rc = doc_bool(doc_get(launch, "go"), &order->go, err)) < 0)
                return rc;
        return doc_i64(doc_get(launch, "leftover_ms"), 0, INT32_MAX, &order->leftover_ms, err);
}

int launch_order_read(const char *run_folder, struct arena *arena, struct launch_order *ret_order,
                      struct err *err)
{
        struct launch_order order = {0};
        char path[FOLDER_PATH_MAX];
        struct doc *doc;

        snprintf(path, sizeof path, "%s/run.json", run_folder);
        int rc = doc_read_file(path, &doc, err);
        if (rc < 0)
                return rc;
        rc = read_order(doc_root(doc, 0), arena, &order, err);
        doc_free(doc);
        if (rc == 0)
                *ret_order = order;
        return rc;
}
