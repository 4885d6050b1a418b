#include "engine/device.h"

#include <assert.h>
#include <string.h>

#include "engine/units.h"

/* ---- what a need comes to on a model ---- */

static uint16_t milli_of_memory(const struct model *model, uint32_t memory_mib)
{
        uint64_t milli = ((uint64_t)memory_mib * SHARE_WHOLE + model->memory_mib - 1) /
                         model->memory_mib;
        return (uint16_t)(milli < 1 ? 1 : milli);
}

/* Who names only compute or only memory takes the other in the same proportion. */
static bool fit_share(const struct model *model, const struct need *need, struct part_fit *fit)
{
        if (need->memory_mib > 0 && need->memory_mib > model->memory_mib)
                return false;           /* also where the model's memory is not known */
        fit->memory_mib = need->memory_mib;
        fit->share_milli = need->share_milli;
        if (need->share_milli == 0)
                fit->share_milli = milli_of_memory(model, need->memory_mib);
        else if (need->memory_mib == 0)
                fit->memory_mib = (uint32_t)((uint64_t)model->memory_mib * need->share_milli /
                                             SHARE_WHOLE);
        return true;
}

static uint32_t profiles_named(const struct model *model, const char *name)
{
        for (unsigned p = 0; p < model->profiles_count; p++)
                if (strcmp(model->profiles[p].name, name) == 0)
                        return 1u << p;
        return 0;
}

/* Attributes (+me, +gfx) are never given to who only asked for memory. */
static uint32_t profiles_with_memory(const struct model *model, uint32_t memory_mib)
{
        uint32_t mask = 0;

        for (unsigned p = 0; p < model->profiles_count; p++)
                if (model->profiles[p].base && model->profiles[p].memory_mib >= memory_mib)
                        mask |= 1u << p;
        return mask;
}

bool part_fit_make(const struct model *model, const struct need *need, const char *profile_name,
                   struct part_fit *ret_fit)
{
        struct part_fit fit = {0};

        switch ((enum ask)need->ask) {
        case ASK_NOTHING:
                break;
        case ASK_WHOLE:
                fit.whole = true;
                break;
        case ASK_PROFILE:
                fit.profiles = profile_name ? profiles_named(model, profile_name) : 0;
                break;
        case ASK_MEMORY:
                if (need->methods & METHOD_BIT(METHOD_SLICE))
                        fit.profiles = profiles_with_memory(model, need->memory_mib);
                if (need->methods & METHOD_BIT(METHOD_WHOLE))
                        fit.whole = model->memory_mib >= need->memory_mib;
                if (need->methods & METHOD_BIT(METHOD_SHARE))
                        (void)fit_share(model, need, &fit);
                break;
        case ASK_SHARE:
                (void)fit_share(model, need, &fit);
                break;
        }
        if (!fit.whole && fit.profiles == 0 && fit.share_milli == 0)
                return false;
        *ret_fit = fit;
        return true;
}

/* ---- what fits now ---- */

bool device_is_idle(const struct device_state *state)
{
        return state->holders == 0 && !state->broken && state->foreign_slots == 0;
}

static bool share_fits(const struct model *model, const struct device_state *state,
                       const struct part_fit *fit)
{
        if (fit->share_milli == 0)
                return false;
        if (state->mode == DEVICE_SHARED && state->foreign_slots == 0)
                return fit->share_milli <= SHARE_WHOLE - state->share_taken_milli &&
                       fit->memory_mib <= model->memory_mib - state->share_taken_mib;
        return device_is_idle(state);
}

/* The slices a device offers: none while it is held whole or shared. */
static bool slices_of(const struct model *model, const struct device_state *state,
                      struct slice_state *ret_slices)
{
        if (model->cut == MODEL_PLAIN || state->mode == DEVICE_WHOLE ||
            state->mode == DEVICE_SHARED)
                return false;
        /* Which mode a stranger's parts need is not known: nothing is placed beside them. */
        if (model->cut == MODEL_MODES && state->foreign_slots)
                return false;
        *ret_slices = state->slices;
        ret_slices->slots |= state->foreign_slots;
        return true;
}

bool part_fits(const struct model *model, const struct device_state *state,
               const struct part_fit *fit)
{
        struct slice_state slices;

        if (state->broken)
                return false;
        if (fit->whole && device_is_idle(state))
                return true;
        if (share_fits(model, state, fit))
                return true;
        if (fit->profiles && slices_of(model, state, &slices))
                for (unsigned p = 0; p < model->profiles_count; p++)
                        if ((fit->profiles >> p & 1) && slice_starts(model, slices, p))
                                return true;
        return false;
}

/* Insertion by units keeps equal ones in order of profile and start. */
static unsigned option_insert(const struct model *model, struct part *options, unsigned count,
                              struct part option)
{
        uint32_t units = part_units(model, &option);
        unsigned at = count;

        assert(count < PART_OPTIONS_MAX);
        for (; at > 0 && part_units(model, &options[at - 1]) > units; at--)
                options[at] = options[at - 1];
        options[at] = option;
        return count + 1;
}

static unsigned slice_options(const struct model *model, const struct device_state *state,
                              uint32_t profiles, struct part *options, unsigned count)
{
        struct slice_state slices;

        if (!slices_of(model, state, &slices))
                return count;
        for (unsigned p = 0; p < model->profiles_count; p++) {
                if (!(profiles >> p & 1))
                        continue;
                uint16_t starts = slice_starts(model, slices, p);
                for (unsigned start = 0; start < SLOTS_MAX; start++)
                        if (starts >> start & 1)
                                count = option_insert(model, options, count,
                                                      (struct part){.method = METHOD_SLICE,
                                                                    .profile = (uint8_t)p,
                                                                    .start = (uint8_t)start});
        }
        return count;
}

unsigned part_options(const struct model *model, const struct device_state *state,
                      const struct part_fit *fit, struct part *ret_options)
{
        unsigned count = 0;

        if (state->broken)
                return 0;
        if (fit->profiles)
                count = slice_options(model, state, fit->profiles, ret_options, count);
        if (share_fits(model, state, fit))
                count = option_insert(model, ret_options, count,
                                      (struct part){.method = METHOD_SHARE,
                                                    .share_milli = fit->share_milli,
                                                    .memory_mib = fit->memory_mib});
        if (fit->whole && device_is_idle(state))
                count = option_insert(model, ret_options, count,
                                      (struct part){.method = METHOD_WHOLE});
        return count;
}

static unsigned share_room(const struct model *model, const struct device_state *state,
                           const struct part_fit *fit)
{
        if (!share_fits(model, state, fit))
                return 0;
        unsigned milli = SHARE_WHOLE - state->share_taken_milli;
        uint32_t mib = model->memory_mib - state->share_taken_mib;
        unsigned room = milli / fit->share_milli;
        if (fit->memory_mib > 0 && mib / fit->memory_mib < room)
                room = mib / fit->memory_mib;
        return room;
}

/* A base profile as small as another in everything makes the other useless for counting. */
static uint32_t profiles_useful(const struct model *model, uint32_t profiles)
{
        uint32_t useful = profiles;

        for (unsigned a = 0; a < model->profiles_count; a++) {
                for (unsigned b = 0; b < model->profiles_count; b++) {
                        const struct profile *big = &model->profiles[a];
                        const struct profile *small = &model->profiles[b];
                        if (a == b || !(useful >> a & 1) || !(useful >> b & 1))
                                continue;
                        if (model->cut == MODEL_SLICES && small->base &&
                            small->memory_slices <= big->memory_slices &&
                            small->compute_slices <= big->compute_slices &&
                            small->media <= big->media &&
                            (big->starts & ~small->starts) == 0 &&
                            small->max_count >= big->max_count)
                                useful &= ~(1u << a);
                }
        }
        return useful;
}

unsigned part_room(const struct model *model, const struct device_state *state,
                   const struct part_fit *fit)
{
        struct slice_state slices;
        unsigned room = 0;

        if (state->broken)
                return 0;
        if (fit->whole && device_is_idle(state))
                room = 1;
        unsigned shares = share_room(model, state, fit);
        if (shares > room)
                room = shares;
        if (fit->profiles && slices_of(model, state, &slices)) {
                unsigned instances = slice_room_of(model, slices,
                                                   profiles_useful(model, fit->profiles));
                if (instances > room)
                        room = instances;
        }
        return room;
}

/* ---- taking and giving ---- */

uint32_t part_units(const struct model *model, const struct part *part)
{
        switch ((enum method)part->method) {
        case METHOD_WHOLE:
                return UNITS_DEVICE;
        case METHOD_SLICE:
                return profile_units(model, &model->profiles[part->profile]);
        case METHOD_SHARE: {
                uint32_t compute = (uint32_t)part->share_milli * (UNITS_HALF / SHARE_WHOLE);
                if (model->memory_mib == 0)
                        return compute * 2;
                return compute + (uint32_t)((uint64_t)part->memory_mib * UNITS_HALF /
                                            model->memory_mib);
        }
        case METHODS_END:
                break;
        }
        assert(false);
        return 0;
}

void device_take(const struct model *model, struct device_state *state, const struct part *part)
{
        assert(!state->broken);
        switch ((enum method)part->method) {
        case METHOD_WHOLE:
                assert(device_is_idle(state));
                state->mode = DEVICE_WHOLE;
                break;
        case METHOD_SLICE:
                assert(state->mode == DEVICE_FREE || state->mode == DEVICE_SLICED);
                state->mode = DEVICE_SLICED;
                state->slices = slice_take(model, state->slices, part->profile, part->start);
                break;
        case METHOD_SHARE:
                assert(state->mode == DEVICE_FREE || state->mode == DEVICE_SHARED);
                assert(part->share_milli <= SHARE_WHOLE - state->share_taken_milli);
                assert(part->memory_mib <= model->memory_mib - state->share_taken_mib);
                state->mode = DEVICE_SHARED;
                state->share_taken_milli = (uint16_t)(state->share_taken_milli +
                                                      part->share_milli);
                state->share_taken_mib += part->memory_mib;
                break;
        case METHODS_END:
                assert(false);
        }
        state->holders++;
}

void device_give(const struct model *model, struct device_state *state, const struct part *part)
{
        assert(state->holders > 0);
        switch ((enum method)part->method) {
        case METHOD_WHOLE:
                assert(state->mode == DEVICE_WHOLE);
                break;
        case METHOD_SLICE:
                assert(state->mode == DEVICE_SLICED);
                state->slices = slice_give(model, state->slices, part->profile, part->start);
                break;
        case METHOD_SHARE:
                assert(state->mode == DEVICE_SHARED);
                assert(state->share_taken_milli >= part->share_milli);
                assert(state->share_taken_mib >= part->memory_mib);
                state->share_taken_milli = (uint16_t)(state->share_taken_milli -
                                                      part->share_milli);
                state->share_taken_mib -= part->memory_mib;
                break;
        case METHODS_END:
                assert(false);
        }
        state->holders--;
        if (state->holders == 0)
                state->mode = DEVICE_FREE;
}

static uint32_t slots_units(const struct model *model, uint16_t slots)
{
        return (uint32_t)__builtin_popcount(slots) * model->memory_slice_units;
}

uint32_t device_free_units(const struct model *model, const struct device_state *state)
{
        if (state->broken)
                return 0;
        switch ((enum device_mode)state->mode) {
        case DEVICE_FREE:
                return UNITS_DEVICE - slots_units(model, state->foreign_slots);
        case DEVICE_WHOLE:
                return 0;
        case DEVICE_SLICED:
                return UNITS_DEVICE - state->slices.compute * model->compute_slice_units -
                       slots_units(model, state->slices.slots | state->foreign_slots);
        case DEVICE_SHARED: {
                if (state->foreign_slots)
                        return 0;
                struct part taken = {.method = METHOD_SHARE,
                                     .share_milli = state->share_taken_milli,
                                     .memory_mib = state->share_taken_mib};
                return UNITS_DEVICE - part_units(model, &taken);
        }
        }
        assert(false);
        return 0;
}
