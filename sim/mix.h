/* mix.h - the kinds of work that come and go in a Poisson scenario, as needs. */
#pragma once

#include "sim/poisson.h"

/* Needs are the mix's own; pods of an openb list are borrowed. */
struct mix {
        struct need needs[SCENARIO_MIX_MAX];
        uint64_t weights[SCENARIO_MIX_MAX];
        uint32_t count;
        bool by_slices;                 /* sizes are memory slices */
        bool all_slices;                /* and nothing but slices comes */
};

/* A need of ASK_PROFILE holds its profile's index + 1 as `profile`: poisson_run() enters the name
 * into the vocabulary of each state it makes. */

/* Translates the scenario's mix (or takes the pods) into what poisson_run() wants; the setup
 * borrows from the mix, pool and pods. 0 or -ERR_INPUT / -ERR_NOT_FOUND naming the profile. */
int mix_setup(struct mix *mix, const struct scenario *scenario, const struct replay_pool *pool,
              const struct replay_pods *pods, const struct demand *given,
              const struct replay_hooks *hooks, struct poisson_setup *ret_setup, struct err *err);
