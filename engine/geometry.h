/* geometry.h - which instances of which profiles lie side by side on one device.
 *
 * Pure, no tables of its own: everything follows from the model. A `slice_state`
 * is what placing one more instance depends on; the list of instances itself is
 * the owner's. Slots are memory slices, counted from 0.
 */
#pragma once

#include "engine/model.h"

/* The empty device is all zero. */
struct slice_state {
        uint16_t slots;         /* bit n: memory slice n is taken (or foreign) */
        uint8_t compute;        /* compute slices taken */
        uint8_t media;          /* media engines taken */
        uint8_t media_exclusive;/* 1: the one "+me" instance is there */
        uint8_t mode;           /* MODEL_MODES: index of the profile in use + 1; else 0 */
};

/* The starts (bit n = slot n) at which one more instance of `profile` may be placed. */
uint16_t slice_starts(const struct model *model, struct slice_state state, unsigned profile);

/* State after placing / removing an instance at `start`, which must fit / be there (asserted). For
 * MODEL_MODES the mode is cleared when the last part goes. */
struct slice_state slice_take(const struct model *model, struct slice_state state,
                              unsigned profile, unsigned start);
struct slice_state slice_give(const struct model *model, struct slice_state state,
                              unsigned profile, unsigned start);

/* Most further instances of `profile` that fit at once (exact). */
unsigned slice_room(const struct model *model, struct slice_state state, unsigned profile);
/* The same for a set of profiles (bit = profile), instances of which may lie side by side. */
unsigned slice_room_of(const struct model *model, struct slice_state state, uint32_t profiles);

/* Units taken; units that the best further set of instances could still take ("free");
 * the rest of the device is stranded. taken + free + stranded == UNITS_DEVICE.
 * `taken_units` is what the placed instances cost (foreign slots are not part of a state here). */
struct slice_units { uint32_t taken, free, stranded; };
struct slice_units slice_account(const struct model *model, struct slice_state state);

/* Workload-blind fragmentation of the state: sum over the base profiles of
 * (free memory slices - memory slices of the instances of that profile that still fit at once).
 * Small is good; a placement that raises it least is the gradient's choice. */
int slice_fragment(const struct model *model, struct slice_state state);

/* Enumerates every layout of base profiles (placed, the empty one included); for tests and docs. */
struct layout_counts { unsigned layouts, maximal, maximal_sets; };
struct layout_counts layout_count(const struct model *model);

/* Calls `visit` once for every layout of base profiles (each set of placed instances once).
 * `instances` holds pairs profile, start. */
struct instance { uint8_t profile, start; };
typedef void layout_visit(void *arg, struct slice_state state, const struct instance *instances,
                          unsigned count);
void layout_each(const struct model *model, layout_visit *visit, void *arg);
