#include "proto/workload_change.h"

#include <stdio.h>
#include <string.h>

#include "base/doc.h"
#include "base/doc_edit.h"
#include "base/str.h"

static void list(const char *key, char keys[WORKLOAD_KEYS_MAX])
{
        size_t used = strlen(keys);

        (void)snprintf(keys + used, WORKLOAD_KEYS_MAX - used, "%s%s", used ? ", " : "", key);
}

/* {} and nothing at all say the same. */
static bool says_nothing(const struct doc_node *node)
{
        return !node || doc_kind(node) == DOC_NULL ||
               (doc_kind(node) != DOC_SCALAR && doc_length(node) == 0);
}

static bool same(const struct doc_node *a, const struct doc_node *b)
{
        return a && b ? doc_equal(a, b) : says_nothing(a) && says_nothing(b);
}

static bool has_all_of(const struct doc_node *these, const struct doc_node *other)
{
        DOC_EACH(node, these)
                if (!str_equal(doc_key(node), "replicas") &&
                    !same(node, doc_get(other, doc_key(node))))
                        return false;
        return true;
}

/* Both are services, and alike but for their number. */
static bool is_scaled(const struct doc_node *before, const struct doc_node *after)
{
        return before && after && doc_kind(before) == DOC_MAP && doc_kind(after) == DOC_MAP &&
               has_all_of(before, after) && has_all_of(after, before);
}

static void compare(const struct doc_node *node, const struct doc_node *before,
                    const struct doc_node *after, unsigned *ret_change,
                    char ret_keys[WORKLOAD_KEYS_MAX])
{
        const char *key = doc_key(node);
        bool scales = str_equal(key, "service") && is_scaled(before, after);

        if (str_equal(key, "tenant") || same(before, after))
                return;
        list(key, ret_keys);
        if (!scales)
                *ret_change = WORKLOAD_CHANGED;
        else if (*ret_change == WORKLOAD_SAME)
                *ret_change = WORKLOAD_SCALED;
}

enum workload_change workload_compare(const struct doc_node *before, const struct doc_node *after,
                                      char ret_keys[WORKLOAD_KEYS_MAX])
{
        unsigned change = WORKLOAD_SAME;

        ret_keys[0] = '\0';
        DOC_EACH(node, before)
                compare(node, node, doc_get(after, doc_key(node)), &change, ret_keys);
        DOC_EACH(node, after)
                if (!doc_get(before, doc_key(node)))
                        compare(node, NULL, node, &change, ret_keys);
        return (enum workload_change)change;
}
