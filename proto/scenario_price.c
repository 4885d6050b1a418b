/* pool: {prices: {H100-80: 2.40}, currency: EUR}: what a device-hour of a history's pool costs. */
#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "proto/scenario_impl.h"

#define PRICE_MICRO_MAX (UINT64_C(1000000) * 1000000) /* a million an hour */

static int read_currency(const struct doc_node *node, struct scenario_pool *pool, struct err *err)
{
        int rc = doc_copy(node, pool->currency, sizeof pool->currency, err);

        if (rc < 0 || !node)
                return rc;
        for (unsigned i = 0; i < 3; i++)
                if (pool->currency[i] < 'A' || pool->currency[i] > 'Z')
                        return doc_fail(node, err,
                                        "is no currency of three capitals; write for "
                                        "example EUR");
        return 0;
}

int scenario_read_prices(const struct reader *reader, const struct model_table *models,
                         const struct doc_node *root, struct err *err)
{
        struct scenario_pool *pool = &reader->scenario->pool;
        static const char *const keys[] = {"prices", "currency"};
        const struct doc_node *map = doc_get(doc_get(root, "pool"), "prices"), *before = NULL;
        int rc;

        if (!scenario_is_history(reader->scenario))
                return scenario_refuse_keys(doc_get(root, "pool"), keys, ARRAY_LEN(keys),
                                            "prices the ledger of a history (jobs_csv, sacct); "
                                            "leave it out here",
                                            err);
        if (map && (rc = doc_check_map(map, err)) < 0)
                return rc;
        DOC_EACH(node, map) {
                int id = model_find(models, doc_key(node), err);
                if (id < 0)
                        return doc_blame(node, err);
                if (model_get(models, (unsigned)id) != reader->model)
                        return doc_fail(node, err, "has a price, but the pool's devices are %s",
                                        reader->model->name);
                if (before) /* an alias: the price of one would be lost */
                        return doc_fail(node, err, "is the same model as '%s'; name it once",
                                        doc_key(before));
                before = node;
                if (doc_kind(node) == DOC_NULL)
                        return doc_fail(node, err, "has no price; write for example 2.40");
                if ((rc = doc_fixed(node, 6, 0, PRICE_MICRO_MAX, &pool->price_micro, err)) < 0)
                        return rc;
        }
        return read_currency(doc_get(doc_get(root, "pool"), "currency"), pool, err);
}
