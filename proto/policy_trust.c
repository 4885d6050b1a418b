/* Trust domains (whose work may share a device) and data labels (where work may run at all). */
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/policy_impl.h"

/* ---- trust: {internal: {with: [partner]}} ---- */

static int find_trust(const struct tenancy *tenancy, const char *name)
{
        for (uint32_t i = 0; i < tenancy->trusts_count; i++)
                if (str_equal(tenancy->trusts[i].name, name))
                        return (int)i;
        return -1;
}

static int add_trust(struct tenancy *tenancy, const struct doc_node *node, const char *name,
                     uint16_t *ret_trust, struct err *err)
{
        if (tenancy->trusts_count == TRUSTS_MAX)
                return doc_fail(node, err, "is trust domain number %d; name fewer", TRUSTS_MAX + 1);
        struct trust_domain *trust = &tenancy->trusts[tenancy->trusts_count];
        int rc = policy_copy_name(node, name, trust->name, err);
        if (rc < 0)
                return rc;
        trust->with = UINT64_C(1) << tenancy->trusts_count;
        *ret_trust = (uint16_t)tenancy->trusts_count++;
        return 0;
}

int policy_read_trust(struct policy_reader *reader, const struct doc_node *node,
                      uint16_t *ret_trust, struct err *err)
{
        struct tenancy *tenancy = reader->tenancy;
        const char *name = NULL;
        const char *names[TRUSTS_MAX];
        unsigned index = 0;
        int rc = doc_text(node, 1, DOC_TEXT_MAX, &name, err);

        if (rc < 0 || !name)
                return rc;
        int found = find_trust(tenancy, name);
        if (found < 0 && !reader->trusts_listed)
                return add_trust(tenancy, node, name, ret_trust, err);
        for (uint32_t i = 0; i < tenancy->trusts_count; i++)
                names[i] = tenancy->trusts[i].name;
        if ((rc = doc_choice(node, names, tenancy->trusts_count, &index, err)) < 0)
                return rc;
        *ret_trust = (uint16_t)index;
        return 0;
}

int policy_read_trusts(struct policy_reader *reader, const struct doc_node *map, struct err *err)
{
        static const char *const keys[] = {"with"};
        struct tenancy *tenancy = reader->tenancy;
        uint16_t trust = 0, other = 0;
        int rc;

        if (!map)
                return 0;
        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        DOC_EACH(node, map)
                if ((rc = add_trust(tenancy, node, doc_key(node), &trust, err)) < 0)
                        return rc;
        reader->trusts_listed = true;
        trust = 0;
        DOC_EACH(node, map) {
                const struct doc_node *with = doc_get(node, "with");
                if (doc_kind(node) != DOC_NULL &&
                    ((rc = doc_check_keys(node, keys, ARRAY_LEN(keys), err)) < 0 ||
                     (rc = doc_check_list(with, 0, TRUSTS_MAX, err)) < 0))
                        return rc;
                DOC_EACH(name, with) {
                        if ((rc = policy_read_trust(reader, name, &other, err)) < 0)
                                return rc;
                        tenancy->trusts[trust].with |= UINT64_C(1) << other;
                        tenancy->trusts[other].with |= UINT64_C(1) << trust;
                }
                trust++;
        }
        return 0;
}

/* ---- data: {secret: {methods: [whole], planes: [training], trust: [internal], apart: node}} ----
 */

static int read_label_trusts(struct policy_reader *reader, const struct doc_node *list,
                             uint64_t *ret_trusts, struct err *err)
{
        uint64_t trusts = 0;
        uint16_t trust = 0;
        int rc;

        if (!list)
                return 0;
        if ((rc = doc_check_list(list, 1, TRUSTS_MAX, err)) < 0)
                return rc;
        DOC_EACH(node, list) {
                if ((rc = policy_read_trust(reader, node, &trust, err)) < 0)
                        return rc;
                trusts |= UINT64_C(1) << trust;
        }
        *ret_trusts = trusts;
        return 0;
}

static int read_label_nodes(const struct doc_node *map, struct data_label *label, struct err *err)
{
        int rc;

        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        if (doc_length(map) > LABEL_NODES_MAX)
                return doc_fail(map, err, "has %zu conditions; write at most %d", doc_length(map),
                                LABEL_NODES_MAX);
        DOC_EACH(node, map) {
                unsigned i = label->nodes_count++;
                if (!doc_key(node)[0] ||
                    !str_copy(label->nodes[i].key, sizeof label->nodes[i].key, doc_key(node)))
                        return doc_fail(node, err, "is no node label of 1 to 63 bytes");
                if ((rc = doc_copy(node, label->nodes[i].condition,
                                   sizeof label->nodes[i].condition, err)) < 0)
                        return rc;
                if (!label->nodes[i].condition[strspn(label->nodes[i].condition, "<>!= ")])
                        return doc_fail(
                                node, err,
                                "has no value to compare with; write for example \">=550\"");
        }
        return 0;
}

int policy_read_labels(struct policy_reader *reader, const struct doc_node *map, struct err *err)
{
        static const char *const keys[] = {"methods", "planes", "trust", "apart", "nodes"};
        struct tenancy *tenancy = reader->tenancy;
        int rc;

        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        if (doc_length(map) > DATA_LABELS_MAX)
                return doc_fail(map, err, "has %zu data labels; write at most %d", doc_length(map),
                                DATA_LABELS_MAX);
        DOC_EACH(node, map) {
                struct data_label *label = &tenancy->labels[tenancy->labels_count++];
                unsigned apart = LABEL_APART_NONE;
                label->methods = CLASS_METHOD_ALL;
                label->planes = label->trusts = UINT64_MAX;
                if ((rc = policy_copy_name(node, doc_key(node), label->name, err)) < 0)
                        return rc;
                if (doc_kind(node) == DOC_NULL)
                        continue;
                if ((rc = doc_check_keys(node, keys, ARRAY_LEN(keys), err)) < 0 ||
                    (rc = policy_read_methods(doc_get(node, "methods"), &label->methods, err)) <
                            0 ||
                    (rc = policy_read_planes(reader, doc_get(node, "planes"), &label->planes,
                                             err)) < 0 ||
                    (rc = read_label_trusts(reader, doc_get(node, "trust"), &label->trusts, err)) <
                            0 ||
                    (rc = doc_choice(doc_get(node, "apart"), label_apart_names, LABEL_APARTS_END,
                                     &apart, err)) < 0 ||
                    (rc = read_label_nodes(doc_get(node, "nodes"), label, err)) < 0)
                        return rc;
                label->apart = (uint8_t)apart;
        }
        return 0;
}
