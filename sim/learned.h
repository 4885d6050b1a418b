/* learned.h - what is asked for, as it is seen to come, and when to plan from it anew.
 *
 * Pure. Plans are due after 64, 128, 256 ... arrivals, and from LEARNED_TURN (or as many arrivals
 * as there are devices) on each time so many more came, with what was seen before counting half:
 * old work fades.
 */
#pragma once

#include <stdbool.h>

#include "sim/demand.h"

#define LEARNED_FIRST 64
#define LEARNED_TURN  4096

struct learned {
        struct demand seen;
        uint64_t arrived;
        uint64_t plan_at;               /* arrivals */
        uint64_t devices;               /* of the pool */
};

void learned_begin(struct learned *learned, uint64_t devices);
/* Goes on from a plan that was made after so many arrivals. */
void learned_resume(struct learned *learned, const struct price_plan *plan, uint64_t arrived);
/* One more arrival; whether it is time for a plan. */
bool learned_see(struct learned *learned, const struct need *need);
