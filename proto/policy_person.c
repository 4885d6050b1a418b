/* How many live workloads one person may have: in all, in a tenant, and each person of a tenant. */
#include <inttypes.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/policy_impl.h"

/* ---- reading ---- */

int policy_read_person_jobs(const struct doc_node *node, uint64_t *ret_jobs, struct err *err)
{
        if (!node)
                return 0;
        if (doc_raw(node) && str_equal(doc_raw(node), "unlimited")) {
                *ret_jobs = AMOUNT_UNLIMITED;
                return 0;
        }
        return policy_read_amount(node, DIM_JOBS, ret_jobs, err);
}

/* What the limit of a tenant counts beside jobs. */
static bool is_counted(const char *key)
{
        for (unsigned d = DIM_ANY; d < DIM_SLICES; d++)
                if (d != DIM_JOBS && str_equal(key, dimension_word(d)))
                        return true;
        return str_equal(key, "slices");
}

int policy_read_person_limit(const struct doc_node *map, uint64_t *ret_jobs, struct err *err)
{
        static const char *const keys[] = {"jobs"};
        const struct doc_node *jobs;
        int rc;

        if (!map)
                return 0;
        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        DOC_EACH(node, map)
                if (is_counted(doc_key(node)))
                        return doc_fail(node, err,
                                        "is not counted by person, only jobs are; write it in the "
                                        "limit of a tenant");
        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(map, "jobs", &jobs, err)) < 0)
                return rc;
        return policy_read_person_jobs(jobs, ret_jobs, err);
}

/* ---- limits that can never bind ---- */

static bool is_above(uint64_t own, uint64_t bound)
{
        return amount_is_number(own) && amount_is_number(bound) && own > bound;
}

/* How many live workloads the tenant itself takes; where more may wait, that is no bound. */
static uint64_t tenant_takes(const struct tenancy *tenancy, uint16_t tenant)
{
        uint64_t limit = tenancy_limit(tenancy, tenant, DIM_JOBS);

        if (limit == AMOUNT_NONE)
                return 0;
        return tenancy->rules.over_jobs == OVER_JOBS_REFUSE ? limit : AMOUNT_UNLIMITED;
}

static void warn_of_bound(struct policy_reader *reader, const struct doc_node *node, uint64_t own,
                          uint64_t bound, const char *whose)
{
        policy_warn(reader, node,
                    "the limit of %" PRIu64 " jobs can never bind: %s stops at %" PRIu64, own,
                    whose, bound);
}

/* Tenants in which some person has a word of their own: not all stop at limit_each there. */
static bool *find_exceptions(const struct tenancy *tenancy)
{
        bool *exceptions = mem_new(tenancy->tenants_count, sizeof *exceptions);

        for (uint32_t p = 0; exceptions && p < tenancy->principals_count; p++) {
                const struct principal *principal = &tenancy->principals[p];
                for (unsigned g = 0; g < principal->grants_count; g++)
                        if (principal->grants[g].jobs != AMOUNT_ABSENT)
                                exceptions[principal->grants[g].tenant] = true;
        }
        return exceptions;
}

static void check_each(struct policy_reader *reader, uint16_t index, const bool *exceptions)
{
        const struct tenancy *tenancy = reader->tenancy;
        const struct tenant *tenant = &tenancy->tenants[index];
        const struct doc_node *node = doc_get(doc_get(reader->tenant_nodes[index], "limit_each"),
                                              "jobs");
        uint64_t takes = tenant_takes(tenancy, index);

        if (!node)
                return;
        if (is_above(tenant->each_jobs, takes)) {
                warn_of_bound(reader, node, tenant->each_jobs, takes, "the tenant's own limit");
                return;
        }
        for (uint16_t at = tenant->parent; at != TENANT_NONE; at = tenancy->tenants[at].parent) {
                const struct tenant *above = &tenancy->tenants[at];
                if (!is_above(tenant->each_jobs, above->each_jobs) || exceptions[at])
                        continue;
                warn_of_bound(reader, node, tenant->each_jobs, above->each_jobs,
                              "limit_each of a tenant above it");
                return;
        }
}

/* Whether they may submit to the tenant, or to one below it. */
static bool may_submit(const struct tenancy *tenancy, const struct principal *principal,
                       uint16_t tenant)
{
        if (principal->pool_role == POOL_ROLE_OPERATOR)
                return true;
        for (unsigned g = 0; g < principal->grants_count; g++) {
                uint16_t other = principal->grants[g].tenant;
                if (principal->grants[g].role >= ROLE_SUBMITTER &&
                    (tenancy_is_below(tenancy, tenant, other) ||
                     tenancy_is_below(tenancy, other, tenant)))
                        return true;
        }
        return false;
}

static void check_grant(struct policy_reader *reader, const struct principal *principal,
                        unsigned g, const struct doc_node *node)
{
        const struct tenancy *tenancy = reader->tenancy;
        uint64_t own = principal->grants[g].jobs;
        uint16_t tenant = principal->grants[g].tenant;
        uint64_t takes = tenant_takes(tenancy, tenant);

        if (!node)
                return;
        if (!may_submit(tenancy, principal, tenant)) {
                policy_warn(reader, node, "has no effect: '%s' may submit nothing there",
                            principal->name);
                return;
        }
        if (is_above(own, principal->jobs)) {
                warn_of_bound(reader, node, own, principal->jobs,
                              "the person's own of all tenants");
                return;
        }
        if (is_above(own, takes)) {
                warn_of_bound(reader, node, own, takes, "the tenant's own limit");
                return;
        }
        for (unsigned o = 0; o < principal->grants_count; o++)
                if (o != g && is_above(own, principal->grants[o].jobs) &&
                    tenancy_is_below(tenancy, tenant, principal->grants[o].tenant)) {
                        warn_of_bound(reader, node, own, principal->grants[o].jobs,
                                      "the person's of a tenant above it");
                        return;
                }
}

static void check_principal(struct policy_reader *reader, const struct principal *principal,
                            const struct doc_node *map)
{
        const struct doc_node *limit = doc_get(map, "limit");
        bool submits = principal->pool_role == POOL_ROLE_OPERATOR;
        unsigned g = 0;

        DOC_EACH(node, doc_get(map, "tenants"))
                check_grant(reader, principal, g++, doc_get(node, "jobs"));
        for (g = 0; g < principal->grants_count; g++)
                submits = submits || principal->grants[g].role >= ROLE_SUBMITTER;
        if (limit && !submits)
                policy_warn(reader, limit, "has no effect: '%s' may submit nothing",
                            principal->name);
}

int policy_check_persons(struct policy_reader *reader, const struct doc_node *root,
                         struct err *err)
{
        const struct tenancy *tenancy = reader->tenancy;
        bool *exceptions = find_exceptions(tenancy);
        uint32_t p = 0;

        if (!exceptions)
                return err_set(err, ERR_NOMEM, "out of memory");
        for (uint32_t i = 0; i < tenancy->tenants_count; i++)
                check_each(reader, (uint16_t)i, exceptions);
        mem_free(exceptions);
        DOC_EACH(node, doc_get(root, "principals"))
                check_principal(reader, &tenancy->principals[p++], node);
        return 0;
}
