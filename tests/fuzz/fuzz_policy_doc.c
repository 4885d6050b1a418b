/* fuzz_policy_doc.c - what is accepted keeps the promises of engine/tenancy.h, with the pool of the
 * same file where it holds one. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "engine/units.h"
#include "engine/vocab.h"
#include "proto/kind.h"
#include "proto/policy_doc.h"
#include "proto/pool_doc.h"
#include "tests/fuzz/known_models.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *name, size_t size)
{
        assert(name[0] != '\0');
        assert(memchr(name, '\0', size));
}

static bool is_amount(uint64_t amount)
{
        return amount <= AMOUNT_MAX || amount >= AMOUNT_NONE;
}

/* The plainest way to add up: for each tenant, look at all others. */
static void check_promise(const struct tenancy *tenancy, uint32_t index, unsigned dimension)
{
        const struct tenant *tenant = &tenancy->tenants[index];
        uint64_t own = amount_number(tenant->protect[dimension]), sum = 0, any = 0;

        assert(is_amount(tenant->protect[dimension]) && is_amount(tenant->limit[dimension]));
        assert(tenant->protect[dimension] != AMOUNT_UNLIMITED);
        for (uint32_t i = index + 1; i < tenancy->tenants_count; i++)
                if (tenancy->tenants[i].parent == index) {
                        sum += amount_number(tenancy->tenants[i].protect[dimension]);
                        any += tenancy_protect_all(&tenancy->tenants[i]);
                }
        assert(sum <= own);
        assert(any <= tenancy_protect_all(tenant));
        for (uint32_t i = index; i != TENANT_NONE; i = tenancy->tenants[i].parent) {
                uint64_t limit = tenancy->tenants[i].limit[dimension];
                assert(!amount_is_number(limit) || own <= limit);
                assert(limit != AMOUNT_NONE || own == 0);
                assert(tenancy_limit(tenancy, (uint16_t)index, dimension) == AMOUNT_NONE ||
                       !amount_is_number(limit) ||
                       tenancy_limit(tenancy, (uint16_t)index, dimension) <= limit);
        }
}

static void check_tenant(const struct tenancy *tenancy, uint32_t index)
{
        const struct tenant *tenant = &tenancy->tenants[index];

        check_name(tenant->path, sizeof tenant->path);
        assert(tenancy_find(tenancy, tenant->path) == (int)index);
        assert(tenant->depth >= 1 && tenant->depth <= TENANT_DEPTH_MAX);
        assert(tenant->methods != 0 && tenant->methods <= CLASS_METHOD_ALL);
        assert(tenant->classes != 0 && tenant->planes != 0);
        assert(tenant->trust < tenancy->trusts_count || tenant->trust >= TRUSTS_MAX);
        if (tenant->parent != TENANT_NONE) {
                const struct tenant *parent = &tenancy->tenants[tenant->parent];
                assert(tenant->parent < index);
                assert(tenant->depth == parent->depth + 1);
                assert((tenant->classes & ~parent->classes) == 0);
                assert((tenant->methods & ~parent->methods) == 0);
        }
        for (unsigned d = 0; d < DIMENSIONS_END; d++)
                check_promise(tenancy, index, d);
        for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++) {
                assert(tenant->weight_milli[d] >= 1);
                assert(is_amount(tenant->lend[d]) && tenant->lend[d] != AMOUNT_ABSENT);
        }
        for (unsigned i = 0; i < tenant->budgets_count; i++) {
                assert(tenant->budgets[i].dimension <= DIM_ANY);
                assert(tenant->budgets[i].period < PERIODS_END);
                assert(tenant->budgets[i].on_empty < ON_EMPTIES_END);
        }
}

static void check_class(const struct tenancy *tenancy, uint32_t index)
{
        const struct service_class *class = &tenancy->classes[index];

        check_name(class->name, sizeof class->name);
        assert(tenancy_class_find(tenancy, class->name) == (int)index);
        assert(class->methods != 0 && class->methods <= CLASS_METHOD_ALL);
        assert(class->stop < STOPS_END && class->order < CLASS_ORDERS_END);
        assert(class->notice_ms >= 0 && class->exempt_ms >= 0 && class->hold_after_ms >= 0);
        assert(class->stop != STOP_NEVER || class->above_limit != ABOVE_LIMIT_SPARE);
        assert(class->stop != STOP_NEVER || class->idle_then != IDLE_THEN_DEMOTE);
        assert(class->stop != STOP_NEVER || class->time_slices_count == 0);
        assert((class->idle_after_ms > 0) == (class->idle_then != IDLE_THEN_NOTHING) ||
               class->idle_after_ms > 0);
        assert((class->apart_node & ~class->apart_device) == 0);
        for (uint32_t i = 0; i < CLASSES_MAX; i++)
                if (class->apart_device >> i & 1) {
                        assert(i < tenancy->classes_count);
                        assert(tenancy->classes[i].apart_device >> index & 1);
                }
        for (unsigned i = 1; i < class->time_slices_count; i++)
                assert(class->time_slice_ms[i] > class->time_slice_ms[i - 1]);
}

static void check_person_limit(uint64_t jobs)
{
        assert(jobs == AMOUNT_ABSENT || jobs == AMOUNT_UNLIMITED || amount_is_number(jobs));
}

static void check_people(const struct tenancy *tenancy)
{
        int64_t from, until;

        for (uint32_t i = 0; i < tenancy->tenants_count; i++)
                check_person_limit(tenancy->tenants[i].each_jobs);
        for (uint32_t i = 0; i < tenancy->reservations_count; i++) {
                const struct reservation *of = &tenancy->reservations[i];
                assert(of->tenant < tenancy->tenants_count);
                assert(of->models_count >= 1);
                assert(of->from_ms < of->until_ms);
                assert(reservation_window(of, of->from_ms, &from, &until));
                assert(from == of->from_ms && until == of->until_ms);
                if (reservation_window(of, of->until_ms, &from, &until)) {
                        assert(of->every_ms > 0);
                        assert(from >= of->until_ms);
                }
        }
        for (uint32_t i = 0; i < tenancy->principals_count; i++) {
                check_name(tenancy->principals[i].name, sizeof tenancy->principals[i].name);
                check_person_limit(tenancy->principals[i].jobs);
                for (unsigned k = 0; k < tenancy->principals[i].grants_count; k++) {
                        assert(tenancy->principals[i].grants[k].tenant < tenancy->tenants_count);
                        check_person_limit(tenancy->principals[i].grants[k].jobs);
                }
        }
}

static void check_retention(const struct retention *of)
{
        uint32_t months = of->spans[RETENTION_REVIEW];

        for (unsigned k = 0; k < RETENTIONS_END; k++)
                assert(of->spans[k] == RETENTION_UNSAID || of->spans[k] <= RETENTION_DAYS_MAX);
        assert(months == RETENTION_UNSAID || months == RETENTION_FOR_EVER ||
               (months >= RETENTION_MONTHS_MIN && months <= RETENTION_MONTHS_MAX));
}

static void check_policy(const struct policy_doc *policy, const struct pool_doc *pool)
{
        const struct tenancy *tenancy = policy->tenancy;
        uint64_t all = 0;

        check_retention(&policy->retention);

        assert(tenancy->tenants_count >= 1 && tenancy->classes_count >= 1);
        for (uint32_t i = 0; i < tenancy->tenants_count; i++) {
                check_tenant(tenancy, i);
                if (tenancy->tenants[i].parent == TENANT_NONE)
                        all += tenancy_protect_all(&tenancy->tenants[i]);
        }
        assert(!pool || all <= (uint64_t)pool_doc_devices(pool) * UNITS_DEVICE);
        for (uint32_t i = 0; i < tenancy->classes_count; i++)
                check_class(tenancy, i);
        check_people(tenancy);
        for (uint32_t i = 0; i < policy->warnings_count && i < POLICY_WARNINGS_MAX; i++) {
                assert(strncmp(policy->warnings[i].text, "f:", 2) == 0);
                assert(policy->warnings[i].line >= 1);
        }
}

static void check_doc(const struct doc *doc, struct vocab *vocab)
{
        const struct doc_node *root = NULL, *pool_root = NULL;
        struct policy_doc *policy = NULL;
        struct pool_doc *pool = NULL;
        struct err err = {0};
        int rc = kind_need(doc, "Policy", &root, &err);

        if (rc == 0)
                rc = kind_find(doc, "Pool", &pool_root, &err);
        if (rc == 0 && pool_root)
                rc = pool_doc_decode(pool_root, known_models(), vocab, &pool, &err);
        if (rc == 0)
                rc = policy_doc_decode(root, known_models(), pool, &policy, &err);
        if (rc == 0)
                check_policy(policy, pool);
        else
                assert(strncmp(err.text, "f:", 2) == 0);
        policy_doc_free(policy);
        pool_doc_free(pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct doc *doc;
        struct err err;

        if (doc_read_yaml("f", (const char *)data, size, &doc, &err) < 0)
                return 0;
        struct vocab *vocab = vocab_new();
        if (!vocab)
                abort();
        check_doc(doc, vocab);
        vocab_free(vocab);
        doc_free(doc);
        return 0;
}
