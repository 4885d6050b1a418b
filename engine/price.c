#include "engine/price.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/err.h"

static bool prices_in_bounds(const int32_t *prices, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (prices[i] > PRICE_UNITS_MAX || prices[i] < -PRICE_UNITS_MAX)
                        return false;
        return true;
}

static bool table_in_bounds(const struct price_table *table)
{
        bool good = prices_in_bounds(table->core, PRICE_LEVELS);

        for (uint32_t m = 0; good && m < table->models_len; m++) {
                const struct price_model *model = &table->models[m];
                good = prices_in_bounds(model->part[0], sizeof model->part / sizeof(int32_t)) &&
                       prices_in_bounds(model->idle[0], sizeof model->idle / sizeof(int32_t)) &&
                       prices_in_bounds(&model->scarcity, 1);
        }
        return good;
}

/* Scores add up prices and weights without looking again. */
int price_plan_check(const struct price_plan *plan, struct err *err)
{
        uint64_t weight = 0;

        if (plan->shapes_count > PRICE_SHAPES_MAX || plan->table.models_len > PRICE_MODELS_MAX)
                return err_set(err, ERR_RANGE, "a demand plan has at most %d shapes and %d models",
                               PRICE_SHAPES_MAX, PRICE_MODELS_MAX);
        for (uint32_t s = 0; s < plan->shapes_count; s++)
                if (__builtin_add_overflow(weight, plan->shapes[s].weight, &weight) ||
                    weight > PRICE_WEIGHT_MAX)
                        return err_set(err, ERR_RANGE,
                                       "the weights of a demand plan sum to more than %" PRIu64,
                                       PRICE_WEIGHT_MAX);
        if (plan->priced && !table_in_bounds(&plan->table))
                return err_set(err, ERR_RANGE, "a demand plan has prices beyond %d units",
                               PRICE_UNITS_MAX);
        return 0;
}
