#include <inttypes.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/units.h"
#include "proto/policy_impl.h"

#define WEIGHT_MILLI_MAX 1000000u               /* 1,000 */
#define HOURS_MILLI_MAX  UINT64_C(300000000000) /* 300 million device-hours: within AMOUNT_MAX ms \
                                                 */

_Static_assert(HOURS_MILLI_MAX * 3600 <= AMOUNT_MAX, "a budget is an amount");

static bool is_word(const struct doc_node *node, const char *word)
{
        return node && doc_raw(node) && str_equal(doc_raw(node), word);
}

/* ---- protect and limit: {H100-80: 8, any: 16, jobs: 200, slices: {3g.40gb: 4}} ---- */

/* The dimension of a profile that some model has. */
static int read_profile(struct policy_reader *reader, const struct doc_node *node,
                        unsigned *ret_dimension, struct err *err)
{
        struct tenancy *tenancy = reader->tenancy;
        const char *name = NULL;
        struct str_near near;
        char known[STR_NEAR_MAX];

        str_near_init(&near, doc_key(node));
        for (unsigned m = 0; m < model_count(reader->models) && !name; m++) {
                const struct model *model = model_get(reader->models, m);
                int profile = profile_find(model, doc_key(node), NULL);
                if (profile >= 0)
                        name = model->profiles[profile].name;
                for (unsigned p = 0; p < model->profiles_count; p++)
                        str_near_add(&near, model->profiles[p].name);
        }
        if (!name)
                return doc_fail(node, err, "is no profile of any device model; %s",
                                str_near_text(&near, known, sizeof known));
        for (uint32_t i = 0; i < tenancy->profiles_count; i++)
                if (str_equal_nocase(tenancy->profiles[i], name)) {
                        *ret_dimension = DIM_SLICES + i;
                        return 0;
                }
        if (tenancy->profiles_count == SLICE_LIMITS_MAX)
                return doc_fail(node, err, "is profile number %d that has limits; name fewer",
                                SLICE_LIMITS_MAX + 1);
        (void)str_copy(tenancy->profiles[tenancy->profiles_count], PROFILE_NAME_MAX, name);
        *ret_dimension = DIM_SLICES + tenancy->profiles_count++;
        return 0;
}

static int read_one(const struct doc_node *node, bool is_limit, unsigned dimension,
                    uint64_t *amounts, struct err *err)
{
        if (amounts[dimension] != AMOUNT_ABSENT)
                return doc_fail(node, err,
                                "stands twice under different names; leave one of the "
                                "two out");
        if (is_word(node, "none")) {
                amounts[dimension] = AMOUNT_NONE;
                return 0;
        }
        if (is_word(node, "unlimited") && !is_limit)
                return doc_fail(node, err, "a promise is a number or none; write for example 8");
        if (is_word(node, "unlimited")) {
                amounts[dimension] = AMOUNT_UNLIMITED;
                return 0;
        }
        return policy_read_amount(node, dimension, &amounts[dimension], err);
}

static int read_slices(struct policy_reader *reader, const struct doc_node *map, bool is_limit,
                       uint64_t *amounts, struct err *err)
{
        unsigned dimension = 0;
        int rc;

        if (!is_limit)
                return doc_fail(map, err,
                                "slices are not promised, devices are; write for example "
                                "{H100-80: 1} or move it to limit");
        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        DOC_EACH(node, map)
                if ((rc = read_profile(reader, node, &dimension, err)) < 0 ||
                    (rc = read_one(node, true, dimension, amounts, err)) < 0)
                        return rc;
        return 0;
}

static bool can_be_promised(unsigned dimension)
{
        return dimension <= DIM_ANY || dimension == DIM_CPU || dimension == DIM_TOKENS_PER_MINUTE ||
               dimension == DIM_ACTIVE_TOKENS;
}

/* `limit: unlimited`, `limit: none`, `protect: none`: one word for all of it. */
static int read_word(const struct doc_node *node, bool is_limit, uint64_t *amounts, struct err *err)
{
        bool is_unlimited = is_limit && is_word(node, "unlimited");

        if (!is_unlimited && !is_word(node, "none"))
                return doc_fail(node, err, "says not of what; write for example {any: 16}%s",
                                is_limit ? ", unlimited or none" : " or none");
        for (unsigned d = 0; d < DIMENSIONS_END; d++)
                if (is_unlimited || d <= DIM_ANY || (!is_limit && can_be_promised(d)))
                        amounts[d] = is_unlimited ? AMOUNT_UNLIMITED : AMOUNT_NONE;
        return 0;
}

static int read_amounts(struct policy_reader *reader, const struct doc_node *map, bool is_limit,
                        uint64_t *amounts, struct err *err)
{
        unsigned dimension = 0;
        int rc;

        if (!map)
                return 0;
        if (doc_kind(map) == DOC_SCALAR)
                return read_word(map, is_limit, amounts, err);
        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        DOC_EACH(node, map) {
                if (str_equal(doc_key(node), "slices")) {
                        if ((rc = read_slices(reader, node, is_limit, amounts, err)) < 0)
                                return rc;
                        continue;
                }
                if ((rc = policy_read_dimension(reader, node, true, &dimension, err)) < 0)
                        return rc;
                if (!is_limit && !can_be_promised(dimension))
                        return doc_fail(node, err,
                                        "cannot be promised, only limited; move it to "
                                        "limit");
                if ((rc = read_one(node, is_limit, dimension, amounts, err)) < 0)
                        return rc;
        }
        return 0;
}

/* ---- weight: 2, or {H100-80: 3, any: 1} ---- */

static int read_weight(struct policy_reader *reader, const struct doc_node *node,
                       struct tenant *tenant, struct err *err)
{
        uint64_t weight = 1000, named = 0;
        unsigned dimension = 0;
        int rc;

        if (!node)
                return 0;
        if (doc_kind(node) == DOC_MAP) {
                if ((rc = doc_milli(doc_get(node, "any"), 1, WEIGHT_MILLI_MAX, &weight, err)) < 0)
                        return rc;
        } else if ((rc = doc_milli(node, 1, WEIGHT_MILLI_MAX, &weight, err)) < 0) {
                return rc;
        }
        for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++)
                tenant->weight_milli[d] = (uint32_t)weight;
        if (doc_kind(node) != DOC_MAP)
                return 0;
        DOC_EACH(child, node) {
                if ((rc = policy_read_dimension(reader, child, false, &dimension, err)) < 0 ||
                    (rc = doc_milli(child, 1, WEIGHT_MILLI_MAX, &weight, err)) < 0)
                        return rc;
                if (dimension == DIM_ANY)
                        continue;
                if (named >> dimension & 1)
                        return doc_fail(child, err, "stands twice under different names");
                named |= UINT64_C(1) << dimension;
                tenant->weight_milli[dimension] = (uint32_t)weight;
        }
        return 0;
}

/* ---- lend: all, none, or {H100-80: 4} ---- */

static bool read_lend_word(const struct doc_node *node, uint64_t *ret_amount)
{
        bool is_none = is_word(node, "none");

        if (!is_none && !is_word(node, "all") && !is_word(node, "unlimited"))
                return false;
        *ret_amount = is_none ? AMOUNT_NONE : AMOUNT_UNLIMITED;
        return true;
}

static int read_lend(struct policy_reader *reader, const struct doc_node *node,
                     struct tenant *tenant, struct err *err)
{
        uint64_t amount = 0, named[2] = {0, 0};
        unsigned dimension = 0;
        int rc;

        if (!node)
                return 0;
        bool is_one_word = read_lend_word(node, &amount);
        for (unsigned d = 0; is_one_word && d < DEVICE_DIMENSIONS; d++)
                tenant->lend[d] = amount;
        if (is_one_word)
                return 0;
        if (doc_kind(node) != DOC_MAP)
                return doc_fail(node, err,
                                "is neither all, none nor amounts; write for example "
                                "{H100-80: 4}");
        DOC_EACH(child, node) {
                if ((rc = policy_read_dimension(reader, child, false, &dimension, err)) < 0)
                        return rc;
                if (named[dimension / 64] >> dimension % 64 & 1)
                        return doc_fail(child, err, "stands twice under different names");
                named[dimension / 64] |= UINT64_C(1) << dimension % 64;
                if (!read_lend_word(child, &amount) &&
                    (rc = policy_read_amount(child, dimension, &amount, err)) < 0)
                        return rc;
                tenant->lend[dimension] = amount;
        }
        return 0;
}

/* ---- budget: {device_hours: 5000, per: month, on_empty: demote}, or one per model ---- */

static int read_budget(const struct doc_node *map, unsigned dimension, struct tenant *tenant,
                       struct err *err)
{
        static const char *const keys[] = {"device_hours", "per", "on_empty"};
        static const char *const periods[] = {
#define X(name, wire) wire,
                PERIODS(X)
#undef X
        };
        const struct doc_node *hours;
        unsigned period = PERIOD_MONTH, on_empty = ON_EMPTY_WARN;
        uint64_t hours_milli = 0;
        int rc;

        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(map, "device_hours", &hours, err)) < 0)
                return rc;
        if (doc_kind(hours) == DOC_NULL)
                return doc_fail(hours, err, "has no number; write for example 5000");
        if ((rc = doc_milli(hours, 0, HOURS_MILLI_MAX, &hours_milli, err)) < 0 ||
            (rc = doc_choice(doc_get(map, "per"), periods, ARRAY_LEN(periods), &period, err)) < 0 ||
            (rc = doc_choice(doc_get(map, "on_empty"), on_empty_names, ON_EMPTIES_END, &on_empty,
                             err)) < 0)
                return rc;
        for (unsigned i = 0; i < tenant->budgets_count; i++)
                if (tenant->budgets[i].dimension == dimension)
                        return doc_fail(map, err, "stands twice under different names");
        if (tenant->budgets_count == TENANT_BUDGETS_MAX)
                return doc_fail(map, err, "is budget number %d of one tenant; write fewer",
                                TENANT_BUDGETS_MAX + 1);
        tenant->budgets[tenant->budgets_count++] = (struct budget){
                .dimension = (uint8_t)dimension,
                .period = (uint8_t)period,
                .on_empty = (uint8_t)on_empty,
                .device_ms = hours_milli * 3600,
        };
        return 0;
}

static int read_budgets(struct policy_reader *reader, const struct doc_node *map,
                        struct tenant *tenant, struct err *err)
{
        static const char *const keys[] = {"device_hours", "per", "on_empty"};
        unsigned dimension = 0;
        int rc;

        if (!map)
                return 0;
        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        bool is_single = doc_length(map) == 0;
        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
                is_single = is_single || doc_get(map, keys[i]);
        if (is_single)
                return read_budget(map, DIM_ANY, tenant, err);
        DOC_EACH(node, map)
                if ((rc = policy_read_dimension(reader, node, false, &dimension, err)) < 0 ||
                    (rc = read_budget(node, dimension, tenant, err)) < 0)
                        return rc;
        return 0;
}

/* ---- what a tenant may use ---- */

static int read_rights(struct policy_reader *reader, const struct doc_node *map,
                       struct tenant *tenant, struct err *err)
{
        uint64_t classes = UINT64_MAX, planes = UINT64_MAX;
        uint8_t methods = CLASS_METHOD_ALL;
        int rc;

        if ((rc = policy_read_classes(reader, doc_get(map, "classes"), &classes, err)) < 0 ||
            (rc = policy_read_methods(doc_get(map, "methods"), &methods, err)) < 0 ||
            (rc = policy_read_planes(reader, doc_get(map, "planes"), &planes, err)) < 0)
                return rc;
        const struct {
                const char *key;
                uint64_t own, above;
        } rows[] = {
                {"classes", classes, tenant->classes},
                {"methods", methods, tenant->methods},
                {"planes", planes, tenant->planes},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct doc_node *node = doc_get(map, rows[i].key);
                if (!node)
                        continue;
                if ((rows[i].own & rows[i].above) == 0)
                        return doc_fail(node, err,
                                        "leaves nothing: the tenant above may use none "
                                        "of these; name what it may use");
                if (rows[i].own & ~rows[i].above)
                        policy_warn(reader, node,
                                    "names what the tenant above may not use; that "
                                    "part has no effect");
        }
        tenant->classes &= classes;
        tenant->planes &= planes;
        tenant->methods &= methods;
        return 0;
}

/* ---- the tree ---- */

static void inherit(const struct tenancy *tenancy, unsigned index, struct tenant *tenant)
{
        if (tenant->parent == TENANT_NONE) {
                tenant->trust = (uint16_t)(TRUSTS_MAX + index);
                for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++)
                        tenant->lend[d] =
                                tenancy->preset == PRESET_STRICT ? AMOUNT_NONE : AMOUNT_UNLIMITED;
                return;
        }
        const struct tenant *parent = &tenancy->tenants[tenant->parent];
        tenant->trust = parent->trust;
        tenant->classes = parent->classes;
        tenant->planes = parent->planes;
        tenant->methods = parent->methods;
        for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++)
                tenant->lend[d] =
                        amount_is_number(parent->lend[d]) ? AMOUNT_UNLIMITED : parent->lend[d];
}

static int read_words(struct policy_reader *reader, const struct doc_node *map,
                      struct tenant *tenant, struct err *err)
{
        int rc;

        if ((rc = read_amounts(reader, doc_get(map, "protect"), false, tenant->protect, err)) < 0 ||
            (rc = read_amounts(reader, doc_get(map, "limit"), true, tenant->limit, err)) < 0 ||
            (rc = policy_read_person_limit(doc_get(map, "limit_each"), &tenant->each_jobs,
                                           err)) < 0 ||
            (rc = read_weight(reader, doc_get(map, "weight"), tenant, err)) < 0 ||
            (rc = read_lend(reader, doc_get(map, "lend"), tenant, err)) < 0 ||
            (rc = read_budgets(reader, doc_get(map, "budget"), tenant, err)) < 0 ||
            (rc = policy_read_trust(reader, doc_get(map, "trust"), &tenant->trust, err)) < 0)
                return rc;
        return read_rights(reader, map, tenant, err);
}

/* Recursion ends at TENANT_DEPTH_MAX, which tenancy_add() refuses to pass. */
static int read_tenants(struct policy_reader *reader, const struct doc_node *map, uint16_t parent,
                        struct err *err)
{
        static const char *const keys[] = {
                "protect", "limit",   "weight",  "lend",   "budget",
                "trust",   "classes", "methods", "planes", "tenants", "limit_each",
        };
        struct tenancy *tenancy = reader->tenancy;
        int rc;

        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        DOC_EACH(node, map) {
                int index = tenancy_add(tenancy, parent, doc_key(node), err);
                if (index < 0)
                        return doc_blame(node, err);
                reader->tenant_nodes[index] = node;
                struct tenant *tenant = &tenancy->tenants[index];
                inherit(tenancy, (unsigned)index, tenant);
                if (doc_kind(node) == DOC_NULL)
                        continue;
                if ((rc = doc_check_keys(node, keys, ARRAY_LEN(keys), err)) < 0 ||
                    (rc = read_words(reader, node, tenant, err)) < 0 ||
                    (rc = read_tenants(reader, doc_get(node, "tenants"), (uint16_t)index, err)) < 0)
                        return rc;
        }
        return 0;
}

int policy_read_tenants(struct policy_reader *reader, const struct doc_node *root, struct err *err)
{
        const struct doc_node *map;
        int rc;

        if ((rc = doc_need(root, "tenants", &map, err)) < 0 || (rc = doc_check_map(map, err)) < 0)
                return rc;
        if (doc_length(map) == 0)
                return doc_fail(map, err, "has no tenants; write for example {research: {}}");
        return read_tenants(reader, map, TENANT_NONE, err);
}

int policy_need_tenant(const struct policy_reader *reader, const struct doc_node *node,
                       const char *path, uint16_t *ret_tenant, struct err *err)
{
        const struct tenancy *tenancy = reader->tenancy;
        struct str_near near;
        char show[STR_SHOW_MAX], known[STR_NEAR_MAX];
        int index = tenancy_find(tenancy, path);

        if (index >= 0) {
                *ret_tenant = (uint16_t)index;
                return 0;
        }
        str_near_init(&near, path);
        for (uint32_t i = 0; i < tenancy->tenants_count; i++)
                str_near_add(&near, tenancy->tenants[i].path);
        return doc_fail(node, err, "there is no tenant '%s'; %s", str_show(path, show),
                        str_near_text(&near, known, sizeof known));
}
