/* device.h - the state of one device and the parts that can be taken of it.
 *
 * Pure values and arithmetic; says what fits on one device, never which is best.
 */
#pragma once

#include "engine/geometry.h"
#include "engine/need.h"

enum device_mode { DEVICE_FREE, DEVICE_WHOLE, DEVICE_SLICED, DEVICE_SHARED };

/* Equal states are equal bytes. */
struct device_state {
        uint8_t mode;                   /* enum device_mode */
        uint8_t broken;                 /* 1: takes nothing new (unhealthy, failed layout step) */
        uint16_t share_taken_milli;     /* DEVICE_SHARED */
        uint32_t share_taken_mib;
        struct slice_state slices;      /* DEVICE_SLICED */
        uint16_t foreign_slots;         /* instances somebody else made, as the node reported */
        uint16_t holders;               /* parts placed on it */
        uint8_t reserved[2];
};
_Static_assert(sizeof(struct device_state) == 20, "a device state is compared as bytes");

/* One placed (or placeable) part of a device. */
struct part {
        uint8_t device;                 /* index on its node */
        uint8_t method;                 /* enum method */
        uint8_t profile, start;         /* METHOD_SLICE */
        uint16_t share_milli;           /* METHOD_SHARE */
        uint16_t reserved;
        uint32_t memory_mib; /* METHOD_SHARE: its limit; 0 where the model's is unknown */
};

/* What a need comes to on one model: worked out once per shape and model. */
struct part_fit {
        uint32_t profiles;              /* bit = profile of the model that meets it */
        uint32_t memory_mib;            /* share: memory taken */
        uint16_t share_milli;           /* share: compute taken; 0 = no share */
        bool whole;                     /* a whole device meets it */
};

/* False: no device of this model can ever meet the need. `profile_name` is the name behind
 * need->profile (or NULL). */
bool part_fit_make(const struct model *model, const struct need *need, const char *profile_name,
                   struct part_fit *ret_fit);

#define PART_OPTIONS_MAX (PROFILES_MAX * SLOTS_MAX + 2)
/* Every way to take one part now, smallest in units first, then profile, then start; at most
 * PART_OPTIONS_MAX. `device` of the parts is 0. Returns the number. */
unsigned part_options(const struct model *model, const struct device_state *state,
                      const struct part_fit *fit, struct part *ret_options);
bool part_fits(const struct model *model, const struct device_state *state,
               const struct part_fit *fit);
/* Most parts of this fit that the device can take at once (exact). */
unsigned part_room(const struct model *model, const struct device_state *state,
                   const struct part_fit *fit);

uint32_t part_units(const struct model *model, const struct part *part);

/* Takes or gives back a part; that it fits / is there is the caller's duty (asserted). */
void device_take(const struct model *model, struct device_state *state, const struct part *part);
void device_give(const struct model *model, struct device_state *state, const struct part *part);

/* Units nobody holds, stranded ones included; foreign slots count as held. 0 while broken, and
 * while a shared device has foreign slots: nothing new is placed there. */
uint32_t device_free_units(const struct model *model, const struct device_state *state);
bool device_is_idle(const struct device_state *state);         /* nobody on it and usable */
