#include "plan/price_make.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/price.h"
#include "plan/price_fill.h"

static const double STEP = 0.3;                 /* of tau x log(used / supply), per round */
static const double STEP_LOG_MAX = 8;
static const double CORE_STEP = 0.02;           /* of core_reward, for mu */
static const double WARM = 8;                   /* first rounds run at up to this x tau */
static const double PRIOR_WEIGHT = 3;
static const double CORE_PRICE_SPAN = 3;        /* highest level, in devices per core of demand */
static const double CROWDED_MAX = 1.5;
static const double PI_SPAN = 40;               /* x tau, beyond the reward */
static const double BLOCK_SHARE_MAX = 0.05;

struct price_maker {
        struct price_kind kinds[PRICE_KINDS_MAX];
        double core_price[PRICE_KINDS_MAX];             /* lambda_k */
        struct price_items items;
        size_t kinds_len;
        double core_floor;                              /* mu */
        double cores_only;                              /* CPU-only cores expected */
        double devices;                                 /* of the pool */
        struct price_fill fill;
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

static int check_options(const struct price_options *options, struct err *err)
{
        if (!(options->tau >= 0.003 && options->tau <= 1))
                return err_set(err, ERR_INPUT, "smoothing is %g devices; 0.003 to 1 works",
                               options->tau);
        if (!(options->load > 0 && options->load <= 100))
                return err_set(err, ERR_INPUT, "load planned for is %g; above 0 to 100 works",
                               options->load);
        if (!(options->core_reward >= 0 && options->scarcity >= 0 && options->block >= 0))
                return err_set(err, ERR_INPUT, "core reward %g, scarcity %g and block bonus %g "
                               "must not be negative", options->core_reward, options->scarcity,
                               options->block);
        if (options->rounds < 1 || options->rounds > PRICE_ROUNDS_MAX)
                return err_set(err, ERR_INPUT, "%u rounds; 1 to %d work", options->rounds,
                               PRICE_ROUNDS_MAX);
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
        struct price_item *item = &maker->items.at[maker->items.len++];
        *item = (struct price_item){ .models = shape->models, .cores = shape->cpu_milli / 1000.0,
                               .reward = devices_asked(shape), .supply = (double)shape->weight };
        if (shape->devices == 1)
                item->steps = (shape->share_milli + PRICE_STEP_MILLI - 1u) / PRICE_STEP_MILLI;
        else
                item->devices = shape->devices;
}

/* Items of positive weight, supplies scaled to `load`. */
static int read_demand(struct price_maker *maker, const struct price_shape *shapes,
                       size_t shapes_len, double load, struct err *err)
{
        double asked = 0, members = 0, cores_only = 0;
        if (shapes_len > PRICE_SHAPES_MAX)
                return err_set(err, ERR_INPUT, "%zu shapes; at most %d can be priced", shapes_len,
                               PRICE_SHAPES_MAX);
        maker->items.len = 0;
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
        price_items_index(&maker->items);
        double scale = asked > 0 ? load * maker->devices / asked : 0;
        for (size_t i = 0; i < maker->items.len; i++) {
                struct price_item *item = &maker->items.at[i];
                item->prior_log = log(PRIOR_WEIGHT * item->supply / members);
                item->supply *= scale;
        }
        maker->cores_only = cores_only * scale;
        return 0;
}

/* ---- the dual ---- */

static double clamp(double x, double low, double high)
{
        return x < low ? low : x > high ? high : x;
}

/* Prices the cores of every kind one step further and sums the use of each item.
 * Adds the kinds' part of the bound; returns the cores no device member is expected to use. */
static double step_cores(struct price_maker *maker, double tau, double *bound)
{
        double members = 0, cores = 0, cores_left = 0;
        for (size_t i = 0; i < maker->items.len; i++) {
                struct price_item *item = &maker->items.at[i];
                members += item->supply;
                cores += item->supply * item->cores;
                item->used = 0;
        }
        double step = STEP * tau * members / fmax(cores, 1e-9);
        for (size_t k = 0; k < maker->kinds_len; k++) {
                const struct price_kind *kind = &maker->kinds[k];
                double have = kind->cpu_milli / 1000.0;
                double price = fmax(maker->core_price[k], maker->core_floor);
                price_fill_run(&maker->fill, &maker->items, kind, price, tau);
                double used = price_fill_use(&maker->fill, &maker->items, kind);
                double value = price * have +
                               tau * price_fill_node_log(&maker->fill, kind->devices);
                *bound += kind->nodes * value;
                cores_left += kind->nodes * fmax(0, have - used);
                double pull = clamp(log((used + 1e-9) / (have + 1e-9)), -1, 1);
                maker->core_price[k] = fmax(price + step * pull, maker->core_floor);
        }
        return cores_left;
}

/* Moves each price towards "used = supply"; returns how far, weighted by supply. */
static double step_items(struct price_maker *maker, double tau)
{
        double moved = 0;
        for (size_t i = 0; i < maker->items.len; i++) {
                struct price_item *item = &maker->items.at[i];
                double pull = clamp(log((item->used + 1e-9) / item->supply), -STEP_LOG_MAX,
                                    STEP_LOG_MAX);
                double pi = clamp(item->pi + STEP * tau * pull, 0,
                                  item->reward + PI_SPAN * tau);
                moved += fabs(pi - item->pi) * item->supply;
                item->pi = pi;
        }
        return moved;
}

static struct price_report step_prices(struct price_maker *maker, double tau, double core_reward)
{
        struct price_report report = { 0 };
        for (size_t i = 0; i < maker->items.len; i++)
                report.bound += maker->items.at[i].pi * maker->items.at[i].supply;
        report.bound += (core_reward - maker->core_floor) * maker->cores_only;
        double cores_left = step_cores(maker, tau, &report.bound);
        report.step = step_items(maker, tau);

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
        for (size_t i = 0; i < maker->items.len; i++) {
                asked += maker->items.at[i].supply * maker->items.at[i].reward;
                cores += maker->items.at[i].supply * maker->items.at[i].cores;
        }
        double span = asked > 0 ? CORE_PRICE_SPAN * asked / fmax(cores, asked) : 0;
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
        for (size_t i = 0; i < maker->items.len; i++) {
                const struct price_item *item = &maker->items.at[i];
                asked += item->supply * item->reward;
                if (item->models >> model & 1)
                        ret_shares[item->devices] += item->supply * item->reward;
        }
        for (uint32_t n = 0; n <= PRICE_DEVICES_MAX; n++)
                ret_shares[n] = asked > 0 ? ret_shares[n] / asked : 0;
}

/* A little more for idle devices which make, or nearly make, whole blocks for wide shapes:
 * without it, departures let small members nibble at blocks faster than they form again.
 * Convex between blocks, so the node with fewer idle devices is used first. */
static double block_bonus(const double shares[PRICE_DEVICES_MAX + 1], uint32_t g, double weight)
{
        double bonus = 0;
        for (uint32_t n = 2; n <= PRICE_DEVICES_MAX; n++) {
                double rest = g % n;
                bonus += weight * fmin(shares[n], BLOCK_SHARE_MAX) *
                         (g / n * n + rest * rest / n);
        }
        return bonus;
}

static void write_model(struct price_maker *maker, const struct price_kind *widest,
                        const struct price_options *options, struct price_table *table)
{
        struct price_model *model = &table->models[widest->model];
        double tau = options->tau;
        double shares[PRICE_DEVICES_MAX + 1];
        wide_shares(maker, widest->model, shares);
        for (int l = 0; l < PRICE_LEVELS; l++) {
                double price = level_price(maker, l);
                price_fill_run(&maker->fill, &maker->items, widest, price, tau);
                for (uint32_t j = 0; j <= PRICE_STEPS; j++)
                        model->part[j][l] = to_units(tau * price_fill_device_log(&maker->fill, j));
                for (uint32_t g = 0; g <= widest->devices; g++)
                        model->idle[g][l] = to_units(tau * price_fill_node_log(&maker->fill, g) +
                                                     block_bonus(shares, g, options->block));
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
        for (size_t i = 0; i < maker->items.len; i++) {
                const struct price_item *item = &maker->items.at[i];
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
        int rc = check_options(options, err);
        if (rc == 0)
                rc = read_demand(maker, shapes, shapes_len, options->load, err);
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
                write_model(maker, &widest, options, ret_table);
                ret_table->models[m].scarcity =
                        to_units(options->scarcity * fmin(CROWDED_MAX, crowding(maker, m)));
        }
        *ret_report = report;
        return 0;
}
