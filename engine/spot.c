/* Device conditions as numbers, and what a shape makes of them. */
#include <assert.h>
#include <string.h>

#include "engine/memo_impl.h"
#include "engine/units.h"

/* Bytes of steps one memo may hold before it starts anew. */
#define STEPS_BYTES_MAX ((size_t)1 << 30)

static struct device_state settle(const struct device_state *state)
{
        struct device_state settled = *state;

        settled.holders = state->holders > 0;   /* how many hold it changes nothing to come */
        return settled;
}

static uint64_t spot_hash(unsigned model, const struct device_state *state)
{
        uint64_t words[3] = {0, 0, model + 1};

        memcpy(words, state, 16);
        memcpy((char *)&words[2] + 4, (const char *)state + 16, 4);
        return map_mix(words[0] ^ map_mix(words[1] ^ map_mix(words[2])));
}

static void spot_fill(struct memo *memo, struct spot *spot, unsigned model,
                      const struct device_state *state)
{
        const struct model *figures = model_get(memo->state->models, model);

        *spot = (struct spot){.state = *state,
                              .model = (uint8_t)model,
                              .idle = device_is_idle(state),
                              .free_milli = fragment_free_milli(state),
                              .free_units = device_free_units(figures, state),
                              .fragment = gradient_fragment(figures, state)};
        spot->order = (uint64_t)spot->free_units << 40 | spot_hash(model, state) >> 24;
        price_spot(memo, spot);
}

uint32_t spot_intern(struct memo *memo, unsigned model, const struct device_state *state)
{
        struct device_state settled = settle(state);
        uint64_t key = spot_hash(model, &settled);

        for (;; key++) {
                uint32_t number = map_get(&memo->spot_by_hash, key);
                if (number == MAP_NONE)
                        break;
                const struct spot *spot = &memo->spots[number];
                if (spot->model == model && memcmp(&spot->state, &settled, sizeof settled) == 0)
                        return number;
        }
        uint32_t number = memo->spots_count ? memo->spots_count : 1;
        if (number >= SPOTS_MAX ||
            !memo_room(memo, &memo->spots, &memo->spots_room, number, sizeof *memo->spots) ||
            map_set(&memo->spot_by_hash, key, number) != 0) {
                memo->failed = true;
                return 0;
        }
        spot_fill(memo, &memo->spots[number], model, &settled);
        memo->spots_count = number + 1;
        return number;
}

/* Fullest first; by content, so that a fresh memo orders alike. */
int spot_compare(const struct memo *memo, uint32_t a, uint32_t b)
{
        const struct spot *x = &memo->spots[a], *y = &memo->spots[b];

        if (a == b)
                return 0;
        if (x->order != y->order)
                return x->order < y->order ? -1 : 1;
        if (x->model != y->model)
                return x->model < y->model ? -1 : 1;
        return memcmp(&x->state, &y->state, sizeof x->state);
}

/* The option of fewest units; among those the policy's choice, then the first. */
static void best_option(struct memo *memo, const struct model *model,
                        const struct device_state *state, const struct part_fit *fit,
                        struct part *ret_part)
{
        struct part options[PART_OPTIONS_MAX];
        unsigned count = part_options(model, state, fit, options);
        uint32_t units = part_units(model, &options[0]);
        int64_t best = INT64_MAX;

        assert(count > 0);
        *ret_part = options[0];
        if (!memo->ops->option)
                return;
        for (unsigned i = 0; i < count && part_units(model, &options[i]) == units; i++) {
                struct device_state after = *state;
                device_take(model, &after, &options[i]);
                int64_t cost = memo->ops->option(model, &options[i], &after);
                if (cost < best) {
                        best = cost;
                        *ret_part = options[i];
                }
        }
}

static void step_fill(struct memo *memo, uint32_t look, uint32_t number, struct step *step)
{
        const struct spot *spot = &memo->spots[number];
        const struct model *model = model_get(memo->state->models, spot->model);
        struct device_state state = spot->state;
        struct part_fit fit;

        *step = (struct step){.next = STEP_NEVER};
        if (!shape_fit(memo->state, &memo->state->shapes[memo->looks[look].shape].need, spot->model,
                       &fit) ||
            !part_fits(model, &state, &fit))
                return;
        step->room = (uint16_t)part_room(model, &state, &fit);
        best_option(memo, model, &state, &fit, &step->part);
        uint8_t spot_model = spot->model;       /* spots may move below */
        device_take(model, &state, &step->part);
        step->next = spot_intern(memo, spot_model, &state);
}

const struct step *spot_step(struct memo *memo, uint32_t look, uint32_t spot)
{
        struct look *cache = &memo->looks[look];

        if (spot >= cache->steps_room &&
            (memo->bytes > STEPS_BYTES_MAX ||
             !memo_room(memo, &cache->steps, &cache->steps_room, spot, sizeof *cache->steps))) {
                memo->failed = true;
                return NULL;
        }
        struct step *step = &cache->steps[spot];
        if (step->next == STEP_UNKNOWN)
                step_fill(memo, look, spot, step);
        return step->next == STEP_UNKNOWN ? NULL : step;
}
