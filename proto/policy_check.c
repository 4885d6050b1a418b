/* What numbers must keep to each other and to the pool, and what is legal but in vain. */
#include <inttypes.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/units.h"
#include "proto/policy_impl.h"
#include "proto/pool_doc.h"

struct texts {
        char what[POLICY_TEXT_MAX], a[POLICY_TEXT_MAX], b[POLICY_TEXT_MAX];
};

static const char *what(const struct policy_reader *reader, unsigned dimension, struct texts *texts)
{
        return policy_dimension_text(reader->tenancy, reader->models, dimension, texts->what);
}

/* Where the document says `word` of the dimension for the tenant, or the nearest place above. */
static const struct doc_node *place(const struct policy_reader *reader, uint32_t tenant,
                                    const char *word, unsigned dimension)
{
        const struct doc_node *node = reader->tenant_nodes[tenant], *map = doc_get(node, word);
        unsigned found = 0;

        if (!map)
                return node;
        if (dimension >= DIM_SLICES) {
                DOC_EACH(child, doc_get(map, "slices"))
                        if (str_equal_nocase(doc_key(child),
                                             reader->tenancy->profiles[dimension - DIM_SLICES]))
                                return child;
        }
        DOC_EACH(child, map)
                if (doc_key(child) && !str_equal(doc_key(child), "slices") &&
                    policy_read_dimension(reader, child, true, &found, NULL) == 0 &&
                    found == dimension)
                        return child;
        return map;
}

/* ---- promises: children inside their parent, tenants inside their limits ---- */

static int check_sum(const struct policy_reader *reader, uint32_t parent, unsigned dimension,
                     uint64_t sum, uint64_t promised, struct err *err)
{
        struct texts texts;

        if (sum <= promised)
                return 0;
        return doc_fail(place(reader, parent, "protect", dimension), err,
                        "tenant '%s' is promised %s of %s, but the tenants below it %s together; "
                        "raise its protect or lower theirs",
                        reader->tenancy->tenants[parent].path,
                        policy_amount_unit_text(dimension, promised, texts.a),
                        what(reader, dimension, &texts),
                        policy_amount_unit_text(dimension, sum, texts.b));
}

/* What is promised of models is part of what is promised of any. */
static int check_any(const struct policy_reader *reader, uint32_t index, struct err *err)
{
        const struct tenant *tenant = &reader->tenancy->tenants[index];
        uint64_t any = tenant->protect[DIM_ANY], all = tenancy_protect_all(tenant);
        struct texts texts;

        if (!amount_is_number(any) || all <= any)
                return 0;
        return doc_fail(
                place(reader, index, "protect", DIM_ANY), err,
                "tenant '%s' is promised %s of any model, but what it and the tenants below "
                "it are promised of single models is part of that and adds up to %s; raise "
                "any or leave it out",
                tenant->path, policy_amount_unit_text(DIM_ANY, any, texts.a),
                policy_amount_text(DIM_ANY, all, texts.b));
}

/* One dimension of the whole tree; sums[] has room for every tenant. */
static int check_promises(const struct policy_reader *reader, unsigned dimension, uint64_t *sums,
                          struct err *err)
{
        const struct tenancy *tenancy = reader->tenancy;
        bool is_any = dimension == DIM_ANY;
        int rc = 0;

        for (uint32_t i = 0; is_any && i < tenancy->tenants_count; i++)
                if ((rc = check_any(reader, i, err)) < 0)
                        return rc;
        memset(sums, 0, tenancy->tenants_count * sizeof *sums);
        for (uint32_t i = 0; i < tenancy->tenants_count; i++) {
                const struct tenant *tenant = &tenancy->tenants[i];
                uint64_t own = amount_number(tenant->protect[dimension]);
                if (tenant->parent != TENANT_NONE)
                        sums[tenant->parent] += is_any ? tenancy_protect_all(tenant) : own;
        }
        for (uint32_t i = 0; i < tenancy->tenants_count && rc == 0; i++) {
                const struct tenant *tenant = &tenancy->tenants[i];
                uint64_t own = amount_number(tenant->protect[dimension]);
                rc = check_sum(reader, i, dimension, sums[i],
                               is_any ? tenancy_protect_all(tenant) : own, err);
        }
        return rc;
}

static int check_inside_limit(const struct policy_reader *reader, uint32_t index,
                              unsigned dimension, uint64_t promised, struct err *err)
{
        const struct tenancy *tenancy = reader->tenancy;
        uint64_t limit = tenancy_limit(tenancy, (uint16_t)index, dimension);
        struct texts texts;

        if (promised == 0 || limit == AMOUNT_UNLIMITED || promised <= amount_number(limit))
                return 0;
        return doc_fail(
                place(reader, index, "protect", dimension), err,
                "tenant '%s' is promised %s of %s, above its limit of %s; raise the limit "
                "or lower the protect",
                tenancy->tenants[index].path, policy_amount_unit_text(dimension, promised, texts.a),
                what(reader, dimension, &texts), policy_amount_text(dimension, limit, texts.b));
}

/* ---- limits that can never bind ---- */

static void warn_of_limit(struct policy_reader *reader, uint32_t index, unsigned dimension)
{
        const struct tenancy *tenancy = reader->tenancy;
        const struct tenant *tenant = &tenancy->tenants[index];
        uint64_t own = tenant->limit[dimension];
        struct texts texts;

        /* What strict adds by itself is not in the document. */
        if (!amount_is_number(own) || !doc_get(reader->tenant_nodes[index], "limit") ||
            (own == 0 && place(reader, index, "limit", dimension) ==
                                 doc_get(reader->tenant_nodes[index], "limit")))
                return;
        const struct doc_node *node = place(reader, index, "limit", dimension);
        policy_amount_unit_text(dimension, own, texts.a);
        what(reader, dimension, &texts);
        uint64_t above = tenant->parent == TENANT_NONE
                                 ? AMOUNT_UNLIMITED
                                 : tenancy_limit(tenancy, tenant->parent, dimension);
        if (above != AMOUNT_UNLIMITED && own > amount_number(above)) {
                policy_warn(reader, node,
                            "the limit of %s for %s can never bind: above it stands %s", texts.a,
                            texts.what, policy_amount_text(dimension, above, texts.b));
                return;
        }
        uint64_t wider = AMOUNT_UNLIMITED;
        unsigned wider_dimension = dimension == DIM_RUNNING ? DIM_JOBS : DIM_ANY;
        if (dimension < MODELS_MAX || dimension == DIM_RUNNING)
                wider = tenancy_limit(tenancy, (uint16_t)index, wider_dimension);
        if (wider != AMOUNT_UNLIMITED && own > amount_number(wider))
                policy_warn(reader, node, "the limit of %s for %s can never bind: %s stops at %s",
                            texts.a, texts.what, dimension_word(wider_dimension),
                            policy_amount_text(wider_dimension, wider, texts.b));
}

static void warn_of_lending(struct policy_reader *reader, uint32_t index)
{
        const struct tenant *tenant = &reader->tenancy->tenants[index];
        const struct doc_node *node = doc_get(reader->tenant_nodes[index], "lend");
        struct texts texts;

        if (!node)
                return;
        uint64_t all = tenancy_protect_all(tenant);
        if (all == 0 && tenant->parent == TENANT_NONE) {
                policy_warn(reader, node, "has no effect: tenant '%s' has no protect to lend of",
                            tenant->path);
                return;
        }
        for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++) {
                uint64_t promised = d == DIM_ANY ? all : amount_number(tenant->protect[d]);
                if (amount_is_number(tenant->lend[d]) && tenant->lend[d] > promised)
                        policy_warn(reader, place(reader, index, "lend", d),
                                    "lends %s of %s, more than the %s that are promised",
                                    policy_amount_text(d, tenant->lend[d], texts.a),
                                    what(reader, d, &texts),
                                    policy_amount_text(d, promised, texts.b));
        }
}

/* ---- budgets ---- */

static const int64_t period_days[PERIODS_END] = {1, 7, 31, 92, 366};

static uint64_t capacity_units(const struct pool_doc *pool, unsigned dimension)
{
        uint64_t devices =
                dimension < MODELS_MAX ? pool->devices[dimension] : pool_doc_devices(pool);

        return devices * UNITS_DEVICE;
}

static void warn_of_budgets(struct policy_reader *reader, uint32_t index)
{
        const struct tenancy *tenancy = reader->tenancy;
        const struct tenant *tenant = &tenancy->tenants[index];
        const struct doc_node *node = doc_get(reader->tenant_nodes[index], "budget");
        struct texts texts;

        for (unsigned i = 0; i < tenant->budgets_count; i++) {
                const struct budget *budget = &tenant->budgets[i];
                uint64_t most = tenancy_limit(tenancy, (uint16_t)index, budget->dimension);
                if (most == AMOUNT_NONE)
                        most = 0;
                if (reader->pool && capacity_units(reader->pool, budget->dimension) < most)
                        most = capacity_units(reader->pool, budget->dimension);
                if (most == AMOUNT_UNLIMITED)
                        continue;
                uint64_t day_ms = most / UNITS_DEVICE * CALENDAR_DAY_MS +
                                  most % UNITS_DEVICE * CALENDAR_DAY_MS / UNITS_DEVICE;
                if (budget->device_ms > day_ms * (uint64_t)period_days[budget->period])
                        policy_warn(reader, node,
                                    "the budget can never be used up: at most %s of %s at once are "
                                    "fewer device-hours in a %s",
                                    policy_amount_unit_text(budget->dimension, most, texts.a),
                                    what(reader, budget->dimension, &texts),
                                    period_name((enum period)budget->period));
        }
}

/* ---- presets ---- */

/* Devices, cores or tokens. */
static bool is_promised(const struct tenant *tenant)
{
        bool is_any = false;

        for (unsigned d = 0; d < DIM_SLICES; d++)
                is_any = is_any || amount_number(tenant->protect[d]) > 0;
        return is_any;
}

static void warn_of_preset(struct policy_reader *reader, const struct doc_node *root)
{
        const struct tenancy *tenancy = reader->tenancy;
        bool is_any_promised = false;

        for (uint32_t i = 0; i < tenancy->tenants_count; i++) {
                const struct tenant *tenant = &tenancy->tenants[i];
                bool has_promise = is_promised(tenant);
                is_any_promised = is_any_promised || has_promise;
                if (tenancy->preset == PRESET_STRICT && tenant->parent == TENANT_NONE &&
                    !has_promise && !doc_get(reader->tenant_nodes[i], "limit"))
                        policy_warn(reader, reader->tenant_nodes[i],
                                    "tenant '%s' is promised nothing, and with 'preset: strict' it "
                                    "may hold nothing else; give it a protect or a limit",
                                    tenant->path);
        }
        if (tenancy->preset == PRESET_PROTECTED && !is_any_promised)
                policy_warn(reader, doc_get(root, "preset") ? doc_get(root, "preset") : root,
                            "no tenant has a protect, so nobody is protected; add one, or write "
                            "'preset: equal'");
}

/* ---- the pool ---- */

static int fail_capacity(const struct policy_reader *reader, const struct doc_node *root,
                         unsigned dimension, uint64_t sum, uint64_t capacity, struct err *err)
{
        struct texts texts;
        const struct doc_node *tenants = doc_get(root, "tenants");

        return doc_fail(tenants, err,
                        "all promises of %s add up to %s, but the pool has %s that are healthy; "
                        "lower protects",
                        what(reader, dimension, &texts),
                        policy_amount_unit_text(dimension, sum, texts.a),
                        policy_amount_text(dimension, capacity, texts.b));
}

static int check_capacity(const struct policy_reader *reader, const struct doc_node *root,
                          struct err *err)
{
        const struct tenancy *tenancy = reader->tenancy;
        uint64_t sums[DEVICE_DIMENSIONS] = {0}, cpu = 0;

        for (uint32_t i = 0; i < tenancy->tenants_count; i++) {
                const struct tenant *tenant = &tenancy->tenants[i];
                if (tenant->parent != TENANT_NONE)
                        continue;
                for (unsigned m = 0; m < MODELS_MAX; m++)
                        sums[m] += amount_number(tenant->protect[m]);
                sums[DIM_ANY] += tenancy_protect_all(tenant);
                cpu += amount_number(tenant->protect[DIM_CPU]);
        }
        for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++)
                if (sums[d] > capacity_units(reader->pool, d))
                        return fail_capacity(reader, root, d, sums[d],
                                             capacity_units(reader->pool, d), err);
        if (cpu > reader->pool->cpu_milli)
                return fail_capacity(reader, root, DIM_CPU, cpu, reader->pool->cpu_milli, err);
        return 0;
}

static void warn_of_capacity(struct policy_reader *reader, uint32_t index)
{
        const struct tenant *tenant = &reader->tenancy->tenants[index];
        struct texts texts;

        if (!doc_get(reader->tenant_nodes[index], "limit"))
                return;
        for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++) {
                uint64_t capacity = capacity_units(reader->pool, d), own = tenant->limit[d];
                const struct doc_node *node = place(reader, index, "limit", d);
                if (!amount_is_number(own) || own == 0)
                        continue;
                what(reader, d, &texts);
                if (capacity == 0)
                        policy_warn(reader, node, "the pool has no healthy device of %s",
                                    texts.what);
                else if (own > capacity)
                        policy_warn(reader, node,
                                    "the limit of %s for %s can never bind: the pool has %s",
                                    policy_amount_unit_text(d, own, texts.a), texts.what,
                                    policy_amount_text(d, capacity, texts.b));
        }
}

/* Whether the room reserved at the start of each window is there: the first windows of all that
 * overlap it. */
static void warn_of_reservations(struct policy_reader *reader, const struct doc_node *root)
{
        const struct tenancy *tenancy = reader->tenancy;
        const struct doc_node *node = NULL;
        struct texts texts;

        for (uint32_t r = 0; r < tenancy->reservations_count; r++) {
                node = policy_next_reservation(root, node);
                uint64_t sums[DEVICE_DIMENSIONS] = {0};
                int64_t at = tenancy->reservations[r].from_ms, from, until;
                for (uint32_t o = 0; o < tenancy->reservations_count; o++) {
                        const struct reservation *other = &tenancy->reservations[o];
                        if (!reservation_window(other, at, &from, &until) || from > at)
                                continue;
                        for (unsigned i = 0; i < other->models_count; i++) {
                                sums[other->models[i]] += other->units[i];
                                if (other->models[i] != DIM_ANY)
                                        sums[DIM_ANY] += other->units[i];
                        }
                }
                for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++) {
                        uint64_t capacity = capacity_units(reader->pool, d);
                        if (sums[d] <= capacity)
                                continue;
                        policy_warn(reader, node,
                                    "when reservation '%s' begins, %s of %s are reserved in all, "
                                    "but the pool has %s",
                                    tenancy->reservations[r].name,
                                    policy_amount_unit_text(d, sums[d], texts.a),
                                    what(reader, d, &texts),
                                    policy_amount_text(d, capacity, texts.b));
                        break;
                }
        }
}

/* ---- all of it ---- */

static int check_tree(struct policy_reader *reader, struct err *err)
{
        const struct tenancy *tenancy = reader->tenancy;
        uint64_t *sums = mem_new(tenancy->tenants_count, sizeof *sums);
        int rc = 0;

        if (!sums)
                return err_set(err, ERR_NOMEM, "out of memory for a policy");
        for (unsigned d = 0; d < DIMENSIONS_END && rc == 0; d++)
                rc = check_promises(reader, d, sums, err);
        mem_free(sums);
        for (uint32_t i = 0; i < tenancy->tenants_count && rc == 0; i++) {
                const struct tenant *tenant = &tenancy->tenants[i];
                for (unsigned d = 0; d < DIMENSIONS_END && rc == 0; d++) {
                        uint64_t own = d == DIM_ANY ? tenancy_protect_all(tenant)
                                                    : amount_number(tenant->protect[d]);
                        rc = check_inside_limit(reader, i, d, own, err);
                }
        }
        return rc;
}

int policy_check(struct policy_reader *reader, const struct doc_node *root, struct err *err)
{
        const struct tenancy *tenancy = reader->tenancy;
        int rc = check_tree(reader, err);

        if (rc == 0 && reader->pool)
                rc = check_capacity(reader, root, err);
        if (rc < 0)
                return rc;
        warn_of_preset(reader, root);
        for (uint32_t i = 0; i < tenancy->tenants_count; i++) {
                for (unsigned d = 0; d < DIMENSIONS_END; d++)
                        warn_of_limit(reader, i, d);
                warn_of_lending(reader, i);
                warn_of_budgets(reader, i);
                if (reader->pool)
                        warn_of_capacity(reader, i);
        }
        if (reader->pool)
                warn_of_reservations(reader, root);
        return policy_check_persons(reader, root, err);
}
