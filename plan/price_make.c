#include "plan/price_make.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/price.h"

static const double STEP = 0.3;                 /* of tau x log(used / supply), per round */
static const double STEP_LOG_MAX = 8;
static const double CORE_STEP = 0.02;           /* of core_reward, for mu */
static const double WARM = 8;                   /* first rounds run at up to this x tau */
static const double PRIOR_WEIGHT = 3;
static const double CORE_PRICE_SPAN = 3;        /* highest level, in devices per core of demand */
static const double CROWDED_MAX = 1.5;
static const double PI_SPAN = 40;               /* x tau, beyond the reward */
static const double BLOCK_BONUS = 0.05;         /* x share of demand, devices per device kept */
static const double BLOCK_SHARE_MAX = 0.05;

/* A shape with device demand. */
struct item {
        uint64_t models;
        double cores;
        double reward;                  /* devices asked */
        double supply;                  /* members expected at `load` */
        double prior_log;
        double pi;
        double used;                    /* members placed, this round */
        uint32_t steps;                 /* of one device, or 0 */
        uint32_t size;                  /* index into sizes[], if steps > 0 */
        uint32_t devices;               /* whole devices if steps == 0 */
};

/* Weights and their use, for one kind at one core price. */
struct fill {
        double weight[PRICE_SHAPES_MAX];                /* of each item, 0 = may not */
        double share_weight[PRICE_STEPS];               /* summed over equal sizes */
        double share_used[PRICE_STEPS];                 /* expected members per node */
        double wide_weight[PRICE_DEVICES_MAX + 1];
        double wide_used[PRICE_DEVICES_MAX + 1];
        double device[PRICE_STEPS + 1];                 /* E */
        double node[PRICE_DEVICES_MAX + 1];             /* W / growth^g */
        double single;                                  /* E[100] / growth */
        double growth_log;
};

struct price_maker {
        struct price_kind kinds[PRICE_KINDS_MAX];
        double core_price[PRICE_KINDS_MAX];             /* lambda_k */
        struct item items[PRICE_SHAPES_MAX];
        uint32_t sizes[PRICE_STEPS];                    /* distinct share sizes, ascending */
        size_t kinds_len, items_len, sizes_len;
        double core_floor;                              /* mu */
        double cores_only;                              /* CPU-only cores expected */
        double devices;                                 /* of the pool */
        struct fill fill;
};

/* ---- input ---- */

int price_maker_new(const struct price_kind *kinds, size_t kinds_len,
                    struct price_maker **ret_maker, struct err *err)
{
        assert(kinds || kinds_len == 0);

        if (kinds_len < 1 || kinds_len > PRICE_KINDS_MAX)
                return err_set(err, ERR_INPUT, "%zu node kinds; 1 to %d can be priced", kinds_len,
                               PRICE_KINDS_MAX);
        for (size_t i = 0; i < kinds_len; i++)
                if (kinds[i].devices > PRICE_DEVICES_MAX || kinds[i].model >= PRICE_MODELS_MAX)
                        return err_set(err, ERR_INPUT, "node kind %zu has %u devices of model %u; "
                                       "at most %d devices and models below %d can be priced", i,
                                       kinds[i].devices, kinds[i].model, PRICE_DEVICES_MAX,
                                       PRICE_MODELS_MAX);

        struct price_maker *maker = mem_new(1, sizeof *maker);
        if (!maker)
                return err_set(err, ERR_NOMEM, "no memory to price %zu node kinds", kinds_len);
        memcpy(maker->kinds, kinds, kinds_len * sizeof *kinds);
        maker->kinds_len = kinds_len;
        for (size_t i = 0; i < kinds_len; i++)
                maker->devices += (double)kinds[i].nodes * kinds[i].devices;
        *ret_maker = maker;
        return 0;
}

void price_maker_free(struct price_maker *maker)
{
        mem_free(maker);
}

static int check_shape(const struct price_shape *shape, size_t i, struct err *err)
{
        bool is_ok = shape->devices == 0 ? shape->share_milli == 0 :
                     shape->devices == 1 ? shape->share_milli >= 1 && shape->share_milli <= 1000 :
                                           shape->share_milli == 1000;
        if (!is_ok || shape->devices > PRICE_DEVICES_MAX)
                return err_set(err, ERR_INPUT, "shape %zu asks %u devices of %u milli each", i,
                               shape->devices, shape->share_milli);
        return 0;
}

static double devices_asked(const struct price_shape *shape)
{
        return shape->devices * (shape->share_milli / 1000.0);
}

static bool can_hold(const struct price_kind *kind, const struct price_shape *shape)
{
        return kind->nodes > 0 && kind->devices >= shape->devices &&
               kind->cpu_milli >= shape->cpu_milli && (shape->models >> kind->model & 1) != 0;
}

static bool some_kind_holds(const struct price_maker *maker, const struct price_shape *shape)
{
        for (size_t k = 0; k < maker->kinds_len; k++)
                if (can_hold(&maker->kinds[k], shape))
                        return true;
        return false;
}

static void add_item(struct price_maker *maker, const struct price_shape *shape)
{
        struct item *item = &maker->items[maker->items_len++];
        *item = (struct item){ .models = shape->models, .cores = shape->cpu_milli / 1000.0,
                               .reward = devices_asked(shape), .supply = (double)shape->weight };
        if (shape->devices == 1)
                item->steps = (shape->share_milli + PRICE_STEP_MILLI - 1u) / PRICE_STEP_MILLI;
        else
                item->devices = shape->devices;
}

static void index_sizes(struct price_maker *maker)
{
        maker->sizes_len = 0;
        for (uint32_t steps = 1; steps <= PRICE_STEPS; steps++) {
                bool is_used = false;
                for (size_t i = 0; i < maker->items_len; i++) {
                        if (maker->items[i].steps != steps)
                                continue;
                        maker->items[i].size = (uint32_t)maker->sizes_len;
                        is_used = true;
                }
                if (is_used)
                        maker->sizes[maker->sizes_len++] = steps;
        }
}

/* Items of positive weight, supplies scaled to `load`. */
static int read_demand(struct price_maker *maker, const struct price_shape *shapes,
                       size_t shapes_len, double load, struct err *err)
{
        double asked = 0, members = 0, cores_only = 0;
        if (shapes_len > PRICE_SHAPES_MAX)
                return err_set(err, ERR_INPUT, "%zu shapes; at most %d can be priced", shapes_len,
                               PRICE_SHAPES_MAX);
        maker->items_len = 0;
        for (size_t i = 0; i < shapes_len; i++) {
                const struct price_shape *shape = &shapes[i];
                double weight = (double)shape->weight;
                int rc = check_shape(shape, i, err);
                if (rc)
                        return rc;
                if (shape->weight == 0 || !some_kind_holds(maker, shape))
                        continue;
                if (shape->devices == 0) {
                        cores_only += weight * shape->cpu_milli / 1000.0;
                        continue;
                }
                add_item(maker, shape);
                asked += weight * devices_asked(shape);
                members += weight;
        }
        index_sizes(maker);
        double scale = asked > 0 ? load * maker->devices / asked : 0;
        for (size_t i = 0; i < maker->items_len; i++) {
                struct item *item = &maker->items[i];
                item->prior_log = log(PRIOR_WEIGHT * item->supply / members);
                item->supply *= scale;
        }
        maker->cores_only = cores_only * scale;
        return 0;
}

/* ---- one node at one core price ---- */

static double item_log(const struct item *item, double core_price, double tau)
{
        return item->prior_log + (item->reward - item->pi - core_price * item->cores) / tau;
}

static bool may_hold(const struct price_kind *kind, const struct item *item)
{
        return (item->models >> kind->model & 1) != 0 && item->devices <= kind->devices &&
               item->cores * 1000.0 <= kind->cpu_milli;
}

static void fill_device(struct price_maker *maker, const struct price_kind *kind,
                        double core_price, double tau)
{
        struct fill *fill = &maker->fill;
        memset(fill->share_weight, 0, sizeof fill->share_weight);
        for (size_t i = 0; i < maker->items_len; i++) {
                const struct item *item = &maker->items[i];
                if (item->steps == 0)
                        continue;
                fill->weight[i] = may_hold(kind, item) ? exp(item_log(item, core_price, tau)) : 0;
                fill->share_weight[item->size] += fill->weight[i];
        }
        for (uint32_t j = 0; j <= PRICE_STEPS; j++) {
                double sum = 1;
                for (size_t z = 0; z < maker->sizes_len && maker->sizes[z] <= j; z++)
                        sum += fill->share_weight[z] * fill->device[j - maker->sizes[z]];
                fill->device[j] = sum;
        }
}

/* Scaled by growth^g so that sixteen devices do not overflow. */
static void fill_node(struct price_maker *maker, const struct price_kind *kind, double core_price,
                      double tau)
{
        struct fill *fill = &maker->fill;
        double single_log = log(fill->device[PRICE_STEPS]);
        fill->growth_log = single_log;
        for (size_t i = 0; i < maker->items_len; i++) {
                const struct item *item = &maker->items[i];
                if (item->steps > 0 || !may_hold(kind, item))
                        continue;
                double per_device = item_log(item, core_price, tau) / item->devices;
                if (fill->growth_log < per_device)
                        fill->growth_log = per_device;
        }
        memset(fill->wide_weight, 0, sizeof fill->wide_weight);
        for (size_t i = 0; i < maker->items_len; i++) {
                const struct item *item = &maker->items[i];
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

/* ln W[g]; at least what single devices alone give, should the scaled sum have vanished. */
static double node_log(const struct fill *fill, uint32_t g)
{
        double singles = g * log(fill->device[PRICE_STEPS]);
        return fmax(log(fill->node[g]) + g * fill->growth_log, singles);
}

/* Adjoint of both recursions: expected members of each size on one node. */
static void use_node(struct price_maker *maker, const struct price_kind *kind)
{
        struct fill *fill = &maker->fill;
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
                for (size_t z = 0; z < maker->sizes_len && maker->sizes[z] <= j; z++) {
                        uint32_t rest = j - maker->sizes[z];
                        fill->share_used[z] += device[j] * fill->device[rest];
                        device[rest] += device[j] * fill->share_weight[z];
                }
        }
}

/* Adds the use of all nodes of a kind to the items; returns the cores used on one node. */
static double use_items(struct price_maker *maker, const struct price_kind *kind)
{
        const struct fill *fill = &maker->fill;
        double cores = 0;
        for (size_t i = 0; i < maker->items_len; i++) {
                struct item *item = &maker->items[i];
                double used = fill->weight[i] * (item->steps > 0 ?
                              fill->share_used[item->size] : fill->wide_used[item->devices]);
                item->used += kind->nodes * used;
                cores += used * item->cores;
        }
        return cores;
}

/* ---- the dual ---- */

static double clamp(double x, double low, double high)
{
        return x < low ? low : x > high ? high : x;
}

/* One gradient step on all prices at smoothing `tau`. */
static struct price_report step_prices(struct price_maker *maker, double tau, double core_reward)
{
        struct price_report report = { 0 };
        double cores_left = 0;
        double members_per_core = 0, cores = 0;
        for (size_t i = 0; i < maker->items_len; i++) {
                struct item *item = &maker->items[i];
                report.bound += item->pi * item->supply;
                members_per_core += item->supply;
                cores += item->supply * item->cores;
                item->used = 0;
        }
        members_per_core /= fmax(cores, 1e-9);
        report.bound += (core_reward - maker->core_floor) * maker->cores_only;

        for (size_t k = 0; k < maker->kinds_len; k++) {
                const struct price_kind *kind = &maker->kinds[k];
                double have = kind->cpu_milli / 1000.0;
                double price = fmax(maker->core_price[k], maker->core_floor);
                fill_device(maker, kind, price, tau);
                fill_node(maker, kind, price, tau);
                use_node(maker, kind);
                double used = use_items(maker, kind);
                report.bound += kind->nodes *
                                (price * have + tau * node_log(&maker->fill, kind->devices));
                cores_left += kind->nodes * fmax(0, have - used);
                double pull = clamp(log((used + 1e-9) / (have + 1e-9)), -1, 1);
                maker->core_price[k] = fmax(price + STEP * tau * members_per_core * pull,
                                            maker->core_floor);
        }
        for (size_t i = 0; i < maker->items_len; i++) {
                struct item *item = &maker->items[i];
                double pull = clamp(log((item->used + 1e-9) / item->supply), -STEP_LOG_MAX,
                                    STEP_LOG_MAX);
                double pi = clamp(item->pi + STEP * tau * pull, 0,
                                  item->reward + PI_SPAN * tau);
                report.step += fabs(pi - item->pi) * item->supply;
                item->pi = pi;
        }
        double pull = clamp(log((maker->cores_only + 1) / (cores_left + 1)), -1, 1);
        maker->core_floor = clamp(maker->core_floor + CORE_STEP * core_reward * pull, 0,
                                  core_reward);
        return report;
}

static int solve(struct price_maker *maker, const struct price_options *options,
                 struct price_report *ret_report, struct err *err)
{
        maker->core_floor = 0;
        memset(maker->core_price, 0, sizeof maker->core_price);
        for (uint32_t round = 0; round < options->rounds; round++) {
                if (round % 16 == 0 && options->progress &&
                    !options->progress(options->progress_self, round, options->rounds))
                        return err_set(err, ERR_CANCELLED, "pricing was cancelled in round %u",
                                       round);
                double warm = WARM * (1 - 2.0 * round / options->rounds);
                *ret_report = step_prices(maker, options->tau * fmax(1, warm),
                                          options->core_reward);
        }
        return 0;
}

/* ---- the table ---- */

static int32_t to_units(double devices)
{
        return (int32_t)lround(clamp(devices, 0, 1000) * UNITS_DEVICE);
}

/* Level 0 is the floor; the cube puts most levels where prices differ least. */
static double level_price(const struct price_maker *maker, int level)
{
        double asked = 0, cores = 0, part = (double)level / (PRICE_LEVELS - 1);
        for (size_t i = 0; i < maker->items_len; i++) {
                asked += maker->items[i].supply * maker->items[i].reward;
                cores += maker->items[i].supply * maker->items[i].cores;
        }
        double span = CORE_PRICE_SPAN * asked / fmax(cores, asked);
        return maker->core_floor + span * part * part * part;
}

/* The widest node of a model: its tables serve all its kinds. */
static bool widest_of(const struct price_maker *maker, uint32_t model, struct price_kind *ret_kind)
{
        struct price_kind widest = { .model = (uint8_t)model };
        bool is_there = false;
        for (size_t k = 0; k < maker->kinds_len; k++) {
                const struct price_kind *kind = &maker->kinds[k];
                if (kind->model != model)
                        continue;
                is_there = true;
                if (widest.cpu_milli < kind->cpu_milli)
                        widest.cpu_milli = kind->cpu_milli;
                if (widest.devices < kind->devices)
                        widest.devices = kind->devices;
        }
        *ret_kind = widest;
        return is_there;
}

/* Demand of each width that a model may serve, as a share of all device demand. */
static void wide_shares(const struct price_maker *maker, uint32_t model,
                        double ret_shares[PRICE_DEVICES_MAX + 1])
{
        double asked = 0;
        memset(ret_shares, 0, (PRICE_DEVICES_MAX + 1) * sizeof *ret_shares);
        for (size_t i = 0; i < maker->items_len; i++) {
                const struct item *item = &maker->items[i];
                asked += item->supply * item->reward;
                if (item->models >> model & 1)
                        ret_shares[item->devices] += item->supply * item->reward;
        }
        for (uint32_t n = 0; n <= PRICE_DEVICES_MAX; n++)
                ret_shares[n] = asked > 0 ? ret_shares[n] / asked : 0;
}

/* A little more for idle devices which still make whole blocks for wide shapes: without it,
 * departures let small members nibble at blocks faster than they form again. */
static double block_bonus(const double shares[PRICE_DEVICES_MAX + 1], uint32_t g)
{
        double bonus = 0;
        for (uint32_t n = 2; n <= g; n++)
                bonus += BLOCK_BONUS * fmin(shares[n], BLOCK_SHARE_MAX) * (g / n) * n;
        return bonus;
}

static void write_model(struct price_maker *maker, const struct price_kind *widest, double tau,
                        struct price_table *table)
{
        struct price_model *model = &table->models[widest->model];
        double shares[PRICE_DEVICES_MAX + 1];
        wide_shares(maker, widest->model, shares);
        for (int l = 0; l < PRICE_LEVELS; l++) {
                double price = level_price(maker, l);
                fill_device(maker, widest, price, tau);
                fill_node(maker, widest, price, tau);
                for (uint32_t j = 0; j <= PRICE_STEPS; j++)
                        model->part[j][l] = to_units(tau * log(maker->fill.device[j]));
                for (uint32_t g = 0; g <= widest->devices; g++)
                        model->idle[g][l] = to_units(tau * node_log(&maker->fill, g) +
                                                     block_bonus(shares, g));
        }
}

/* Demand that may use a model / devices it may use, summed: 1 without constraints. */
static double crowding(const struct price_maker *maker, uint32_t model)
{
        double devices[PRICE_MODELS_MAX] = { 0 };
        double asked = 0, crowd = 0;
        for (size_t k = 0; k < maker->kinds_len; k++)
                devices[maker->kinds[k].model] +=
                        (double)maker->kinds[k].nodes * maker->kinds[k].devices;
        for (size_t i = 0; i < maker->items_len; i++) {
                const struct item *item = &maker->items[i];
                double usable = 0;
                for (uint32_t m = 0; m < PRICE_MODELS_MAX; m++)
                        if (item->models >> m & 1)
                                usable += devices[m];
                asked += item->supply * item->reward;
                if (usable > 0 && (item->models >> model & 1) != 0)
                        crowd += item->supply * item->reward / usable;
        }
        return asked > 0 ? crowd * maker->devices / asked : 0;
}

int price_maker_run(struct price_maker *maker, const struct price_shape *shapes, size_t shapes_len,
                    const struct price_options *options, struct price_table *ret_table,
                    struct price_report *ret_report, struct err *err)
{
        assert(maker);
        assert(shapes || shapes_len == 0);
        assert(options);

        struct price_report report = { 0 };
        if (!(options->tau >= 0.003 && options->tau <= 1))
                return err_set(err, ERR_INPUT, "smoothing is %g devices; 0.003 to 1 works",
                               options->tau);
        int rc = read_demand(maker, shapes, shapes_len, options->load, err);
        if (rc == 0)
                rc = solve(maker, options, &report, err);
        if (rc)
                return rc;

        memset(ret_table, 0, sizeof *ret_table);
        for (int l = 0; l < PRICE_LEVELS; l++)
                ret_table->core[l] = to_units(level_price(maker, l) * PRICE_BUCKET_MILLI / 1000);
        for (uint32_t m = 0; m < PRICE_MODELS_MAX; m++) {
                struct price_kind widest;
                if (!widest_of(maker, m, &widest))
                        continue;
                ret_table->models_len = m + 1;
                write_model(maker, &widest, options->tau, ret_table);
                ret_table->models[m].scarcity =
                        to_units(options->scarcity * fmin(CROWDED_MAX, crowding(maker, m)));
        }
        *ret_report = report;
        return 0;
}
