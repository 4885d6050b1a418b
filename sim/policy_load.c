#include "sim/policy_load.h"

#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/str.h"
#include "proto/kind.h"
#include "proto/policy_doc.h"
#include "proto/scenario.h"
#include "sim/history_figures.h"
#include "trace/jobs.h"

/* What `berth` ships: no promises, all classes of the preset. */
static const char shipped[] = "kind: Policy\n"
                              "preset: protected\n"
                              "tenants: {everybody: {}}\n";

static int read_policy(const struct scenario_policy *policy, const struct model_table *models,
                       struct policy_doc **ret_policy, struct err *err)
{
        const struct doc_node *root;
        struct doc *doc;
        int rc = policy->rule == RULE_FILE
                         ? doc_read_file(policy->path, &doc, err)
                         : doc_read_yaml("default", shipped, sizeof shipped - 1, &doc, err);

        if (rc < 0)
                return rc;
        if ((rc = kind_need(doc, "Policy", &root, err)) == 0)
                rc = policy_doc_decode(root, models, NULL, ret_policy, err);
        doc_free(doc);
        return rc;
}

/* The path level by level; what is there already stays. */
static int add_path(struct tenancy *tenancy, const char *path, struct err *err)
{
        char above[TENANT_PATH_MAX];
        uint32_t known = tenancy->tenants_count;
        unsigned root = 0;
        int parent = -1;

        for (const char *at = path;; at++) {
                const char *end = strchr(at, '/');
                size_t length = end ? (size_t)(end - path) : strlen(path);
                memcpy(above, path, length);
                above[length] = '\0';
                int found = tenancy_find(tenancy, above);
                if (found < 0)
                        found = tenancy_add(tenancy, parent < 0 ? TENANT_NONE : (uint16_t)parent,
                                            strrchr(above, '/') ? strrchr(above, '/') + 1 : above,
                                            err);
                if (found < 0)
                        return found;
                if (parent < 0)
                        root = (unsigned)found;
                if (found + 1 == (int)tenancy->tenants_count && known < tenancy->tenants_count)
                        tenancy->tenants[found].trust = (uint16_t)(TRUSTS_MAX + root);
                parent = found;
                if (!end)
                        return found;
                at = end;
        }
}

static uint16_t class_of_none(const struct tenancy *tenancy)
{
        int training = tenancy_class_find(tenancy, "training");

        if (tenancy->default_class != CLASS_NONE)
                return tenancy->default_class;
        return (uint16_t)(training >= 0 ? training : 0);
}

/* Where the history names it first, in front of what is wrong with it. */
static int blame_tenant(const char *file, const struct jobs *jobs, uint32_t tenant, struct err *err)
{
        uint32_t line = UINT32_MAX;
        char show[STR_SHOW_MAX];

        for (size_t j = 0; j < jobs->count; j++)
                if (jobs->items[j].tenant == tenant && jobs->items[j].line < line)
                        line = jobs->items[j].line;
        return err_prefix(err, "%s:%u: tenant '%s'", file, line,
                          str_show(jobs->tenants[tenant], show));
}

static void note_gap(uint32_t *count, char *first, size_t size, const char *name)
{
        if ((*count)++ == 0)
                (void)str_copy(first, size, name);
}

int policy_load(const struct scenario_policy *policy, const struct model_table *models,
                const char *file, const struct jobs *jobs, struct policy_doc **ret_policy,
                uint16_t *ret_tenants, uint16_t *ret_classes, struct history_gap *ret_gap,
                struct err *err)
{
        struct policy_doc *doc;
        int rc = read_policy(policy, models, &doc, err);

        if (rc < 0)
                return rc;
        struct tenancy *tenancy = doc->tenancy;
        uint32_t named = tenancy->tenants_count;
        for (uint32_t t = 0; t < jobs->tenants_count; t++) {
                int tenant = add_path(tenancy, jobs->tenants[t], err);
                if (tenant < 0) {
                        policy_doc_free(doc);
                        return blame_tenant(file, jobs, t, err);
                }
                ret_tenants[t] = (uint16_t)tenant;
                if ((uint32_t)tenant >= named)
                        note_gap(&ret_gap->tenants, ret_gap->tenant, sizeof ret_gap->tenant,
                                 jobs->tenants[t]);
        }
        for (uint32_t c = 0; c < jobs->classes_count; c++) {
                int class = tenancy_class_find(tenancy, jobs->classes[c]);
                ret_classes[c] = class < 0 ? class_of_none(tenancy) : (uint16_t)class;
                if (class < 0)
                        note_gap(&ret_gap->classes, ret_gap->class, sizeof ret_gap->class,
                                 jobs->classes[c]);
        }
        ret_classes[jobs->classes_count] = class_of_none(tenancy);
        *ret_policy = doc;
        return 0;
}
