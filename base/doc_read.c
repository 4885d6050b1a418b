#include "base/doc.h"

#include <assert.h>
#include <string.h>

#include "base/doc_build.h"
#include "base/err.h"
#include "base/num.h"
#include "base/str.h"

static const char *const kind_names[] = {
        [DOC_NULL] = "nothing",
        [DOC_SCALAR] = "a single value",
        [DOC_LIST] = "a list",
        [DOC_MAP] = "a map",
};

int doc_check_map(const struct doc_node *node, struct err *err)
{
        if (!node || node->kind == DOC_MAP)
                return 0;
        return doc_fail(node, err, "is %s; write a map of 'key: value'", kind_names[node->kind]);
}

int doc_check_list(const struct doc_node *node, size_t min, size_t max, struct err *err)
{
        assert(min <= max);

        if (!node)
                return 0;
        if (node->kind != DOC_LIST)
                return doc_fail(node, err, "is %s; write a list, [a, b] or '- a' lines",
                                kind_names[node->kind]);
        if (node->length < min || node->length > max)
                return doc_fail(node, err, "has %u entries; write %zu to %zu",
                                (unsigned)node->length, min, max);
        return 0;
}

int doc_check_keys(const struct doc_node *map, const char *const *names, size_t count,
                   struct err *err)
{
        int rc = doc_check_map(map, err);
        if (rc < 0)
                return rc;
        DOC_EACH (child, map) {
                size_t i = 0;
                while (i < count && !str_equal(child->key, names[i]))
                        i++;
                char near[STR_NEAR_MAX];
                if (i == count)
                        return doc_fail(child, err, "is not known here; %s",
                                        str_near(names, count, child->key, near, sizeof near));
        }
        return 0;
}

int doc_need(const struct doc_node *map, const char *key, const struct doc_node **ret_node,
             struct err *err)
{
        assert(map);

        int rc = doc_check_map(map, err);
        if (rc < 0)
                return rc;
        const struct doc_node *node = doc_get(map, key);
        if (!node)
                return doc_fail(map, err, "field '%s' is missing; add it", key);
        *ret_node = node;
        return 0;
}

/* The text of a scalar that is there. Without `quotes_fit`, one in quotes is refused. */
static int scalar(const struct doc_node *node, bool quotes_fit, const char **ret_text,
                  struct err *err)
{
        if (node->kind == DOC_NULL)
                return doc_fail(node, err, "has no value; write one or leave the field out");
        if (node->kind != DOC_SCALAR)
                return doc_fail(node, err, "is %s; write a single value", kind_names[node->kind]);
        if (node->is_quoted && !quotes_fit) {
                char show[STR_SHOW_MAX];
                return doc_fail(node, err, "'%s' stands in quotes; write it without",
                                str_show(node->text, show));
        }
        *ret_text = node->text;
        return 0;
}

int doc_text(const struct doc_node *node, size_t min_bytes, size_t max_bytes,
             const char **ret_text, struct err *err)
{
        assert(min_bytes <= max_bytes);

        if (!node)
                return 0;
        const char *text = NULL;
        int rc = scalar(node, true, &text, err);
        if (rc < 0)
                return rc;
        size_t length = strlen(text);
        if (length == 0 && min_bytes > 0)
                return doc_fail(node, err, "is empty; write a text");
        if (length < min_bytes || length > max_bytes)
                return doc_fail(node, err, "is %zu bytes long; write %zu to %zu", length, min_bytes,
                                max_bytes);
        *ret_text = text;
        return 0;
}

int doc_copy(const struct doc_node *node, char *ret_copy, size_t size, struct err *err)
{
        assert(size >= 2);

        const char *text = NULL;
        int rc = doc_text(node, 1, size - 1, &text, err);
        if (rc == 0 && text)
                memcpy(ret_copy, text, strlen(text) + 1);
        return rc;
}

int doc_bool(const struct doc_node *node, bool *ret_value, struct err *err)
{
        if (!node)
                return 0;
        const char *text = NULL;
        int rc = scalar(node, false, &text, err);
        if (rc < 0)
                return rc;
        bool is_true = str_equal(text, "true");
        if (!is_true && !str_equal(text, "false")) {
                char show[STR_SHOW_MAX];
                return doc_fail(node, err, "'%s' is neither true nor false; write one of the two",
                                str_show(text, show));
        }
        *ret_value = is_true;
        return 0;
}

/* One getter per kind of number: the scalar, decoded by num.h, its sentence put in its place. */
#define GETTER(name, type, quotes_fit)                                                          \
        int doc_##name(const struct doc_node *node, type min, type max, type *ret_value,        \
                       struct err *err)                                                         \
        {                                                                                       \
                if (!node)                                                                      \
                        return 0;                                                               \
                const char *text = NULL;                                                        \
                int rc = scalar(node, quotes_fit, &text, err);                                  \
                if (rc < 0)                                                                     \
                        return rc;                                                              \
                rc = num_##name(text, min, max, ret_value, err);                                \
                if (rc < 0)                                                                     \
                        doc_blame(node, err);                                                   \
                return rc;                                                                      \
        }

GETTER(u64, uint64_t, false)
GETTER(i64, int64_t, false)
GETTER(milli, uint64_t, false)
GETTER(size_mib, uint64_t, true)
GETTER(rate_mbit, uint64_t, true)
GETTER(duration_ms, int64_t, true)
GETTER(cpu_milli, uint64_t, true)

int doc_u32(const struct doc_node *node, uint32_t min, uint32_t max, uint32_t *ret_value,
            struct err *err)
{
        uint64_t value = 0;
        int rc = doc_u64(node, min, max, &value, err);
        if (rc == 0 && node)
                *ret_value = (uint32_t)value;
        return rc;
}

int doc_fixed(const struct doc_node *node, unsigned digits, uint64_t min, uint64_t max,
              uint64_t *ret_value, struct err *err)
{
        if (!node)
                return 0;
        const char *text = NULL;
        int rc = scalar(node, false, &text, err);
        if (rc < 0)
                return rc;
        rc = num_fixed(text, digits, min, max, ret_value, err);
        if (rc < 0)
                doc_blame(node, err);
        return rc;
}

int doc_choice(const struct doc_node *node, const char *const *names, size_t count,
               unsigned *ret_index, struct err *err)
{
        if (!node)
                return 0;
        const char *text = NULL;
        int rc = scalar(node, true, &text, err);
        if (rc < 0)
                return rc;
        for (unsigned i = 0; i < count; i++)
                if (str_equal(text, names[i])) {
                        *ret_index = i;
                        return 0;
                }
        char show[STR_SHOW_MAX];
        char near[STR_NEAR_MAX];
        return doc_fail(node, err, "'%s' is not known here; %s", str_show(text, show),
                        str_near(names, count, text, near, sizeof near));
}
