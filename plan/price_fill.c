#include "plan/price_fill.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

void price_items_index(struct price_items *items)
{
        items->sizes_len = 0;
        for (uint32_t steps = 1; steps <= PRICE_STEPS; steps++) {
                bool is_used = false;
                for (size_t i = 0; i < items->len; i++) {
                        if (items->at[i].steps != steps)
                                continue;
                        items->at[i].size = (uint32_t)items->sizes_len;
                        is_used = true;
                }
                if (is_used)
                        items->sizes[items->sizes_len++] = steps;
        }
}

static double item_log(const struct price_item *item, double core_price, double tau)
{
        return item->prior_log + (item->reward - item->pi - core_price * item->cores) / tau;
}

static bool may_hold(const struct price_kind *kind, const struct price_item *item)
{
        return (item->models >> kind->model & 1) != 0 && item->devices <= kind->devices &&
               item->cores * 1000.0 <= kind->cpu_milli;
}

static void fill_device(struct price_fill *fill, const struct price_items *items,
                        const struct price_kind *kind, double core_price, double tau)
{
        memset(fill->share_weight, 0, sizeof fill->share_weight);
        for (size_t i = 0; i < items->len; i++) {
                const struct price_item *item = &items->at[i];
                if (item->steps == 0)
                        continue;
                fill->weight[i] = may_hold(kind, item) ? exp(item_log(item, core_price, tau)) : 0;
                fill->share_weight[item->size] += fill->weight[i];
        }
        for (uint32_t j = 0; j <= PRICE_STEPS; j++) {
                double sum = 1;
                for (size_t z = 0; z < items->sizes_len && items->sizes[z] <= j; z++)
                        sum += fill->share_weight[z] * fill->device[j - items->sizes[z]];
                fill->device[j] = sum;
        }
}

/* Scaled by growth^g so that sixteen devices do not overflow. */
static void fill_node(struct price_fill *fill, const struct price_items *items,
                      const struct price_kind *kind, double core_price, double tau)
{
        double single_log = log(fill->device[PRICE_STEPS]);
        fill->growth_log = single_log;
        for (size_t i = 0; i < items->len; i++) {
                const struct price_item *item = &items->at[i];
                if (item->steps > 0 || !may_hold(kind, item))
                        continue;
                double per_device = item_log(item, core_price, tau) / item->devices;
                if (fill->growth_log < per_device)
                        fill->growth_log = per_device;
        }
        memset(fill->wide_weight, 0, sizeof fill->wide_weight);
        for (size_t i = 0; i < items->len; i++) {
                const struct price_item *item = &items->at[i];
                if (item->steps > 0)
                        continue;
                fill->weight[i] = may_hold(kind, item) ?
                        exp(item_log(item, core_price, tau) - item->devices * fill->growth_log) : 0;
                fill->wide_weight[item->devices] += fill->weight[i];
        }
        fill->single = exp(single_log - fill->growth_log);
        fill->node[0] = 1;
        for (uint32_t g = 1; g <= kind->devices; g++) {
                double sum = fill->single * fill->node[g - 1];
                for (uint32_t n = 2; n <= g; n++)
                        sum += fill->wide_weight[n] * fill->node[g - n];
                fill->node[g] = fmax(sum, DBL_MIN);
        }
}

void price_fill_run(struct price_fill *fill, const struct price_items *items,
                    const struct price_kind *kind, double core_price, double tau)
{
        fill_device(fill, items, kind, core_price, tau);
        fill_node(fill, items, kind, core_price, tau);
}

double price_fill_device_log(const struct price_fill *fill, uint32_t steps)
{
        return log(fill->device[steps]);
}

/* At least what single devices alone give, should the scaled sum have vanished. */
double price_fill_node_log(const struct price_fill *fill, uint32_t devices)
{
        double singles = devices * log(fill->device[PRICE_STEPS]);
        return fmax(log(fill->node[devices]) + devices * fill->growth_log, singles);
}

/* Adjoint of both recursions: expected members of each size on one node. */
static void use_node(struct price_fill *fill, const struct price_items *items,
                     const struct price_kind *kind)
{
        double node[PRICE_DEVICES_MAX + 1] = { 0 };
        double device[PRICE_STEPS + 1] = { 0 };
        memset(fill->share_used, 0, sizeof fill->share_used);
        memset(fill->wide_used, 0, sizeof fill->wide_used);

        node[kind->devices] = 1 / fill->node[kind->devices];
        for (uint32_t g = kind->devices; g >= 1; g--) {
                device[PRICE_STEPS] += node[g] * fill->node[g - 1] * fill->single;
                node[g - 1] += node[g] * fill->single;
                for (uint32_t n = 2; n <= g; n++) {
                        fill->wide_used[n] += node[g] * fill->node[g - n];
                        node[g - n] += node[g] * fill->wide_weight[n];
                }
        }
        device[PRICE_STEPS] /= fill->device[PRICE_STEPS];
        for (uint32_t j = PRICE_STEPS; j >= 1; j--) {
                for (size_t z = 0; z < items->sizes_len && items->sizes[z] <= j; z++) {
                        uint32_t rest = j - items->sizes[z];
                        fill->share_used[z] += device[j] * fill->device[rest];
                        device[rest] += device[j] * fill->share_weight[z];
                }
        }
}

double price_fill_use(struct price_fill *fill, struct price_items *items,
                      const struct price_kind *kind)
{
        use_node(fill, items, kind);
        double cores = 0;
        for (size_t i = 0; i < items->len; i++) {
                struct price_item *item = &items->at[i];
                double used = fill->weight[i] * (item->steps > 0 ?
                              fill->share_used[item->size] : fill->wide_used[item->devices]);
                item->used += kind->nodes * used;
                cores += used * item->cores;
        }
        return cores;
}
