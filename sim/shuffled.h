/* shuffled.h - the published protocol of FGD (USENIX ATC'23): a pod list in random order,
 * pods drawn again until so much of the pool was asked for, nobody leaves, no second try. */
#pragma once

#include "sim/runner.h"

struct shuffled_figures {
        double unallocated_pct[SCENARIO_POINTS_MAX];
        double fragmented_pct[SCENARIO_POINTS_MAX];
        double count_pct, units_pct;            /* accepted of arrived */
        uint64_t accepted, refused;
        double placements_per_s; /* accepted ones, up to 100 % arrived (or the end) */
        double p50_us, p99_us;                  /* of submissions up to there */
        double ns_per_placement;
        struct runner_summary summary;
};

struct shuffled_setup {
        const struct replay_pool *pool;
        uint32_t copies;                        /* of every node; 1 for a scenario */
        const struct replay_pods *pods;
        const struct demand *given;             /* NULL: nothing is */
        bool learns;                            /* counts what arrives */
        const struct demand *measure;           /* fragments are measured by this; NULL: not */
        bool whole;                             /* the baseline: each on whole devices; what is not
                                                 * needed of them counts as unallocated */
        uint32_t arrive_pct;
        uint32_t points_count;
        const uint16_t *points_pct;
        const struct replay_hooks *hooks;
};

int shuffled_run(const struct shuffled_setup *setup, struct policy policy, uint64_t seed,
                 struct shuffled_figures *ret_figures, struct err *err);
