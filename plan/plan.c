#include "plan/plan.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/price.h"
#include "plan/price_make.h"
#include "plan/self_check.h"

#define MAKER_VERSION 1                 /* part of a plan's hash: raise it when plans change */
#define REMEMBERED    8

struct remembered {
        struct price_plan plan;
        char note[PLAN_NOTE_MAX];
};

struct planner {
        const struct replay_hooks *hooks;
        struct remembered *plans;       /* REMEMBERED of them, a ring */
        uint64_t made;                  /* and the revision of the newest */
};

struct planner *planner_new(void)
{
        struct planner *planner = mem_new(1, sizeof *planner);

        if (!planner)
                return NULL;
        planner->plans = mem_new(REMEMBERED, sizeof *planner->plans);
        if (!planner->plans) {
                planner_free(planner);
                return NULL;
        }
        return planner;
}

void planner_free(struct planner *planner)
{
        if (!planner)
                return;
        mem_free(planner->plans);
        mem_free(planner);
}

void planner_watch(struct planner *planner, const struct replay_hooks *hooks)
{
        planner->hooks = hooks;
}

/* Nodes of one model, device count and cores are one kind; the pool's order puts them together. */
static size_t kinds_of(const struct replay_pool *pool, struct price_kind *ret_kinds)
{
        size_t count = 0;

        for (uint32_t n = 0; n < pool->nodes_count; n++) {
                const struct replay_node *node = &pool->nodes[n];
                struct price_kind *last = count ? &ret_kinds[count - 1] : NULL;
                if (last && last->model == node->model && last->devices == node->devices &&
                    last->cpu_milli == node->cpu_milli) {
                        last->nodes++;
                        continue;
                }
                if (count == PRICE_KINDS_MAX)
                        return 0;
                ret_kinds[count++] = (struct price_kind){.model = node->model,
                                                         .devices = node->devices,
                                                         .cpu_milli = node->cpu_milli,
                                                         .nodes = 1};
        }
        return count;
}

static uint64_t plan_hash(const struct price_kind *kinds, size_t kinds_count,
                          const struct price_shape *shapes, uint32_t count)
{
        uint64_t numbers[PRICE_KINDS_MAX * 4 + PRICE_SHAPES_MAX * 5];
        size_t at = 0;

        for (size_t k = 0; k < kinds_count; k++) {
                numbers[at++] = kinds[k].model;
                numbers[at++] = kinds[k].devices;
                numbers[at++] = kinds[k].cpu_milli;
                numbers[at++] = kinds[k].nodes;
        }
        for (uint32_t s = 0; s < count; s++) {
                numbers[at++] = shapes[s].cpu_milli;
                numbers[at++] = shapes[s].share_milli;
                numbers[at++] = shapes[s].devices;
                numbers[at++] = shapes[s].models;
                numbers[at++] = shapes[s].weight;
        }
        return XXH3_64bits_withSeed(numbers, at * sizeof *numbers, MAKER_VERSION);
}

static bool go_on(void *self, uint32_t round, uint32_t rounds)
{
        const struct planner *planner = self;

        if (planner->hooks && planner->hooks->progress)
                planner->hooks->progress(planner->hooks->progress_arg, "plan", round, rounds);
        return !(planner->hooks && planner->hooks->cancel && *planner->hooks->cancel);
}

/* Smoothings that are tried, in devices; the first one wins a tie. */
static const double smoothings[] = {0.0125, 0.05};

static int make_prices(struct planner *planner, struct price_maker *maker, double smoothing,
                       struct price_plan *plan, struct err *err)
{
        struct price_options options = PRICE_OPTIONS_DEFAULT;
        struct price_report report;

        options.tau = smoothing;
        options.progress = go_on;
        options.progress_self = planner;
        return price_maker_run(maker, plan->shapes, plan->shapes_count, &options, &plan->table,
                               &report, err);
}

/* Makes and tries a plan for each smoothing; leaves the best table in the plan. */
static int choose_prices(struct planner *planner, const struct replay_pool *pool,
                         struct price_maker *maker, struct price_plan *plan,
                         struct self_check *ret_best, struct err *err)
{
        const volatile int *cancel = planner->hooks ? planner->hooks->cancel : NULL;
        struct price_table *best = mem_new(1, sizeof *best);
        int rc = best ? 0 : err_set(err, ERR_NOMEM, "out of memory");

        for (unsigned i = 0; rc == 0 && i < ARRAY_LEN(smoothings); i++) {
                struct self_check check;
                rc = make_prices(planner, maker, smoothings[i], plan, err);
                if (rc == 0)
                        rc = self_check_run(pool, plan, i == 0, cancel, &check, err);
                if (rc)
                        break;
                if (i > 0)
                        check.plain_pct = ret_best->plain_pct;
                if (i == 0 || check.priced_pct < ret_best->priced_pct) {
                        *ret_best = check;
                        *best = plan->table;
                }
        }
        if (rc == 0)
                plan->table = *best;
        mem_free(best);
        return rc;
}

static int make_and_try(struct planner *planner, const struct replay_pool *pool,
                        const struct price_kind *kinds, size_t kinds_count,
                        struct remembered *made, struct err *err)
{
        struct price_maker *maker;
        struct self_check check = {0};
        int rc = price_maker_new(kinds, kinds_count, &maker, err);

        if (rc)
                return rc;
        rc = choose_prices(planner, pool, maker, &made->plan, &check, err);
        price_maker_free(maker);
        if (rc)
                return rc;
        made->plan.priced = check.priced_pct + PLAN_MARGIN_PCT < check.plain_pct;
        snprintf(
                made->note, sizeof made->note,
                "last plan (%08llx): in a trial on the empty pool prices left %.2f %% and fgd "
                "%.2f %% unallocated, so it goes by %s",
                (unsigned long long)made->plan.hash >> 32, check.priced_pct, check.plain_pct,
                made->plan.priced ? "prices" : "fragments");
        return 0;
}

static bool asks_for_devices(const struct price_shape *demand, uint32_t count)
{
        for (uint32_t s = 0; s < count; s++)
                if (demand[s].devices > 0 && demand[s].weight > 0)
                        return true;
        return false;
}

static struct remembered *recall(struct planner *planner, uint64_t hash)
{
        for (unsigned i = 0; i < REMEMBERED; i++)
                if (planner->plans[i].plan.revision > 0 && planner->plans[i].plan.hash == hash)
                        return &planner->plans[i];
        return NULL;
}

int plan_make(void *arg, const struct replay_pool *pool, const struct price_shape *demand,
              uint32_t demand_count, struct price_plan *ret_plan, char *ret_note, size_t note_size,
              struct err *err)
{
        struct planner *planner = arg;
        struct price_kind kinds[PRICE_KINDS_MAX];
        size_t kinds_count = kinds_of(pool, kinds);
        int rc;

        if (demand_count > PRICE_SHAPES_MAX)
                return err_set(err, ERR_INPUT,
                               "a demand of %u shapes; at most %d can be planned for", demand_count,
                               PRICE_SHAPES_MAX);
        uint64_t hash = plan_hash(kinds, kinds_count, demand, demand_count);
        struct remembered *known = recall(planner, hash);

        if (known) {
                *ret_plan = known->plan;
                snprintf(ret_note, note_size, "%s", known->note);
                return 0;
        }
        known = &planner->plans[planner->made % REMEMBERED];
        known->plan = (struct price_plan){.hash = hash, .shapes_count = demand_count};
        memcpy(known->plan.shapes, demand, demand_count * sizeof *demand);
        if (!asks_for_devices(demand, demand_count)) {
                snprintf(known->note, sizeof known->note,
                         "no prices: the demand asks for no device, so it goes by fragments");
        } else if (kinds_count == 0) {
                snprintf(
                        known->note, sizeof known->note,
                        "no prices: the pool has more than %d kinds of node, so it goes by "
                        "fragments",
                        PRICE_KINDS_MAX);
        } else {
                rc = make_and_try(planner, pool, kinds, kinds_count, known, err);
                if (rc)
                        return rc;
        }
        known->plan.revision = ++planner->made;
        *ret_plan = known->plan;
        snprintf(ret_note, note_size, "%s", known->note);
        return 0;
}
