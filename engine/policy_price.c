/* Prices: a placement costs what the free room of its node loses in worth for the demand that the
 * plan expects. The worth is a minimum of few straight lines, one per price of cores, so a
 * candidate is scored in some tens of instructions, whatever the plan took to make. */
#include "engine/memo_impl.h"
#include "engine/units.h"

/* Room for shares is the scarcer of compute and memory. */
static unsigned price_step(const struct memo *memo, const struct spot *spot)
{
        const struct model *model = model_get(memo->state->models, spot->model);
        unsigned milli = spot->free_milli;

        if (spot->state.mode == DEVICE_SHARED && model->memory_mib > 0) {
                uint64_t left = model->memory_mib - spot->state.share_taken_mib;
                unsigned by_memory = (unsigned)((left * SHARE_WHOLE + SHARE_WHOLE - 1) /
                                                model->memory_mib);
                milli = by_memory < milli ? by_memory : milli;
        }
        return milli / PRICE_STEP_MILLI;
}

/* A cut device is priced by what is free of it less what of that is fragments. */
static int32_t price_of_cut(const struct memo *memo, const struct spot *spot)
{
        const struct model *model = model_get(memo->state->models, spot->model);
        int32_t fragments = spot->fragment * (UNITS_DEVICE / SHARE_WHOLE) /
                            (model->profiles_count ? model->profiles_count : 1);

        return (int32_t)spot->free_units - fragments;
}

void price_spot(const struct memo *memo, struct spot *spot)
{
        const struct price_plan *plan = memo->state->plan;
        bool priced = memo->state->plan_set && plan->priced && spot->model < plan->table.models_len;

        for (unsigned l = 0; l < PRICE_LEVELS; l++) {
                if (!priced || spot->idle)
                        spot->price[l] = 0;
                else if (spot->state.mode == DEVICE_SLICED ||
                         (spot->state.mode == DEVICE_FREE && spot->state.foreign_slots))
                        spot->price[l] = price_of_cut(memo, spot);
                else
                        spot->price[l] =
                                plan->table.models[spot->model].part[price_step(memo, spot)][l];
        }
}

static const int32_t *idle_price(const struct price_table *table, unsigned model, unsigned idle)
{
        static const int32_t nothing[PRICE_LEVELS];

        return model < table->models_len ? table->models[model].idle[idle] : nothing;
}

/* The lowest line is the price of the cores that suits the room best. */
static int64_t lowest(const int32_t *line, const int32_t *core, int32_t buckets)
{
        int64_t value[PRICE_LEVELS], low;

        for (unsigned l = 0; l < PRICE_LEVELS; l++)
                value[l] = line[l] + (int64_t)core[l] * buckets;
        low = value[0];
        for (unsigned l = 1; l < PRICE_LEVELS; l++)
                low = value[l] < low ? value[l] : low;
        return low;
}

static int64_t price_value(const struct memo *memo, struct class *class)
{
        const struct price_table *table = &memo->state->plan->table;
        const struct view *view = &class->view;
        const int32_t *idle = idle_price(table, view->model, view->idle);

        for (unsigned l = 0; l < PRICE_LEVELS; l++)
                class->price[l] = idle[l];
        for (unsigned i = 0; i < view->count; i++)
                for (unsigned l = 0; l < PRICE_LEVELS; l++)
                        class->price[l] += memo->spots[view->spots[i]].price[l];
        return lowest(class->price, table->core, (int32_t)(view->cpu_free / PRICE_BUCKET_MILLI));
}

/* Scarce models cost extra, by the device-worth taken: spare them for who can use no other. */
static int64_t scarcity_of(const struct memo *memo, int32_t scarcity, const struct move *move)
{
        int64_t units = 0;

        for (unsigned i = 0; i < move->count; i++)
                units += (int64_t)memo->spots[move->from[i]].free_units -
                         memo->spots[move->next[i]].free_units;
        return scarcity * units / UNITS_DEVICE;
}

/* Worths closer than this are equal: the fuller node wins then, not a rounding of the plan. */
#define GAIN_BITS 9
#define GAIN_STEP (1 << GAIN_BITS)

static int64_t score_price(const struct memo *memo, const struct need *need,
                           const struct class *class, const struct move *move)
{
        const struct price_table *table = &memo->state->plan->table;
        const struct view *view = &class->view;
        uint32_t cpu = view->cpu_free > need->cpu_milli ? view->cpu_free - need->cpu_milli : 0;
        unsigned idle = view->idle;
        int32_t line[PRICE_LEVELS];

        for (unsigned l = 0; l < PRICE_LEVELS; l++)
                line[l] = class->price[l];
        for (unsigned i = 0; i < move->count; i++) {
                const struct spot *before = &memo->spots[move->from[i]];
                const struct spot *after = &memo->spots[move->next[i]];
                for (unsigned l = 0; l < PRICE_LEVELS; l++)
                        line[l] += after->price[l] - before->price[l];
                idle -= before->idle && !after->idle;
        }
        if (idle != view->idle) {
                const int32_t *old = idle_price(table, view->model, view->idle);
                const int32_t *new = idle_price(table, view->model, idle);
                for (unsigned l = 0; l < PRICE_LEVELS; l++)
                        line[l] += new[l] - old[l];
        }
        int64_t gain = lowest(line, table->core, (int32_t)(cpu / PRICE_BUCKET_MILLI)) -
                       class->value;
        if (view->model < table->models_len)
                gain -= scarcity_of(memo, table->models[view->model].scarcity, move);
        return ((gain + GAIN_STEP / 2) >> GAIN_BITS) * (1 << 20) + tie_by_fullness(view);
}

const struct policy_ops policy_price = {.bucket_milli = PRICE_BUCKET_MILLI,
                                        .value = price_value,
                                        .score = score_price,
                                        .option = option_by_gradient};
