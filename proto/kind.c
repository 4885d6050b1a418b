#include "proto/kind.h"

#include <stddef.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

static const char *const kinds[] = {"Pool",   "Policy",       "Workload",    "Replay",
                                    "DeviceModels", "Reservation", "Maintenance"};

int kind_find(const struct doc *doc, const char *kind, const struct doc_node **ret_root,
              struct err *err)
{
        const struct doc_node *found = NULL, *node;
        unsigned index = 0;
        int rc;

        for (size_t i = 0; i < doc_count(doc); i++) {
                const struct doc_node *root = doc_root(doc, i);
                if ((rc = doc_need(root, "kind", &node, err)) < 0 ||
                    (rc = doc_choice(node, kinds, ARRAY_LEN(kinds), &index, err)) < 0)
                        return rc;
                if (!str_equal(kinds[index], kind))
                        continue;
                if (found)
                        return doc_fail(root, err,
                                        "is a second document of kind %s (the first starts in "
                                        "line %u); leave one in the file",
                                        kind, doc_line(found));
                found = root;
        }
        *ret_root = found;
        return 0;
}

int kind_need(const struct doc *doc, const char *kind, const struct doc_node **ret_root,
              struct err *err)
{
        int rc = kind_find(doc, kind, ret_root, err);

        if (rc < 0 || *ret_root)
                return rc;
        return doc_fail(doc_root(doc, 0), err, "is of kind %s; write a document of kind %s",
                        doc_raw(doc_get(doc_root(doc, 0), "kind")), kind);
}

const struct doc_node *kind_beside(const struct doc *doc, const char *kind,
                                   const struct doc_node *after)
{
        bool is_behind = !after;

        for (size_t i = 0; i < doc_count(doc); i++) {
                const struct doc_node *root = doc_root(doc, i), *node = doc_get(root, "kind");
                bool is_it = node && doc_kind(node) == DOC_SCALAR && str_equal(doc_raw(node), kind);
                if (is_behind && is_it)
                        return root;
                is_behind = is_behind || root == after;
        }
        return NULL;
}
