/* poisson.h - work that comes and goes: Poisson arrivals, exponential lives.
 *
 * Load is offered capacity over the pool's: memory slices where the pool's model can be cut,
 * else thousandths of devices. What does not fit at once is refused.
 * Arrivals, kinds and lives are streams of the seed alone: every policy meets the same.
 */
#pragma once

#include "sim/runner.h"

#define POISSON_WINDOWS_MAX 1024

/* One mean life of the measured time. */
struct poisson_window {
        double count_pct, size_pct;             /* accepted of arrived, by number and by size */
        double p50_us, p99_us;
        uint64_t memory_bytes;                  /* the memo's, when the window ends */
};

struct poisson_figures {
        double count_pct, size_pct, units_pct;  /* over the measured time */
        uint64_t accepted, refused;
        double placements_per_s, p50_us, p99_us;
        struct runner_summary summary;
        uint32_t windows_count;
        struct poisson_window windows[POISSON_WINDOWS_MAX];
};

struct poisson_setup {
        const struct replay_pool *pool;
        const struct need *needs;               /* what may arrive; profiles as in mix.h */
        const uint64_t *weights;                /* of each; NULL: all alike */
        uint32_t needs_count;
        const struct demand *given;
        bool learns;
        bool whole;                             /* the baseline: each on a whole device */
        bool by_slices; /* load counts memory slices of the first node's model */
        double load;                            /* 1.0 = all of the pool */
        double mean_life_ms;
        uint32_t warmup_lives, measure_lives;
        const struct replay_hooks *hooks;
};

int poisson_run(const struct poisson_setup *setup, struct policy policy, uint64_t seed,
                struct poisson_figures *ret_figures, struct err *err);
