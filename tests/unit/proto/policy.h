/* policy.h - reading policies from text, and what comes out of it or is refused. */
#pragma once

#include "base/doc.h"
#include "base/mem.h"
#include "engine/units.h"
#include "proto/kind.h"
#include "proto/policy_doc.h"
#include "proto/pool_doc.h"
#include "tests/unit/proto/words.h"

#define DEVICE ((uint64_t)UNITS_DEVICE)
#define MINUTE INT64_C(60000)
#define HOUR   (60 * MINUTE)

/* The head of a document, and a pool of six healthy devices to write behind it. */
#define POLICY "kind: Policy\npreset: equal\n"
#define POOL                                                                           \
        "---\nkind: Pool\nplanes: {lab: {}}\nnodes:\n"                                 \
        "  - {name: 'n[1-2]', plane: lab, cpu: 10,\n"                                  \
        "     devices: {model: T4, count: 4, unhealthy: [3]}}\n"
/* Most of a reservation. */
#define WINDOW                                                                         \
        "name: x, tenant: a, devices: {T4: 1}, from: 2027-01-01T00:00Z, "              \
        "until: 2027-01-02T00:00Z"

/* A Policy, and where the text holds one, its Pool. */
static inline int decode(const char *text, struct policy_doc **ret_policy, struct err *err)
{
        const struct doc_node *root = NULL, *pool_root = NULL;
        struct pool_doc *pool = NULL;
        struct doc *doc;
        int rc = doc_read_yaml("p.yaml", text, strlen(text), &doc, err);

        if (rc < 0)
                return rc;
        if ((rc = kind_need(doc, "Policy", &root, err)) == 0 &&
            (rc = kind_find(doc, "Pool", &pool_root, err)) == 0 && pool_root)
                rc = pool_doc_decode(pool_root, models, vocab, &pool, err);
        if (rc == 0)
                rc = policy_doc_decode(root, models, pool, ret_policy, err);
        pool_doc_free(pool);
        doc_free(doc);
        return rc;
}

static inline struct policy_doc *decode_fine(const char *text)
{
        struct policy_doc *policy = NULL;
        struct err err = {0};

        if (decode(text, &policy, &err) < 0)
                fail_msg("%s", err.text);
        return policy;
}

static inline const struct tenant *tenant_of(const struct policy_doc *policy, const char *path)
{
        int index = tenancy_find(policy->tenancy, path);

        if (index < 0)
                fail_msg("no tenant '%s'", path);
        return &policy->tenancy->tenants[index];
}

static inline const struct service_class *class_of(const struct policy_doc *policy,
                                                     const char *name)
{
        int index = tenancy_class_find(policy->tenancy, name);

        if (index < 0)
                fail_msg("no class '%s'", name);
        return &policy->tenancy->classes[index];
}

struct refusal {
        const char *text, *sentence;
};

static inline void check_refused(const struct refusal *rows, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                struct policy_doc *policy = NULL;
                struct err err = {0};
                if (decode(rows[i].text, &policy, &err) == 0)
                        fail_msg("row %zu was taken: %s", i, rows[i].text);
                assert_null(policy);
                check_has(err.text, "p.yaml:");
                check_has(err.text, rows[i].sentence);
        }
}

/* `head`, `count` times the format with its '#' as a number, `tail`. Freed with mem_free(). */
static inline char *many(const char *head, const char *format, unsigned count, const char *tail)
{
        size_t room = strlen(head) + strlen(tail) + (size_t)count * 64 + 1;
        char *text = mem_new(room, 1);
        size_t at = 0;

        assert_non_null(text);
        at += (size_t)snprintf(text, room, "%s", head);
        for (unsigned i = 0; i < count; i++) {
                const char *split = strchr(format, '#');
                at += (size_t)snprintf(text + at, room - at, "%.*s%u%s", (int)(split - format),
                                       format, i, split + 1);
        }
        snprintf(text + at, room - at, "%s", tail);
        return text;
}
