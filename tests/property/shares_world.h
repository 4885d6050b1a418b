/* shares_world.h - a pool of hungry tenants: how it is drawn, what they hold, what must hold of it.
 *
 * One case at a time lies in `world`. The rules are numbered as in shares.c, which says them; a
 * broken one stands in world.play.why.
 */
#pragma once

#include "engine/tenancy.h"
#include "sim/rng.h"
#include "tests/property/page.h"
#include "tests/property/play.h"
#include "tests/property/shrink.h"

enum {
        LEAVES_MAX = 6,
        TENANTS = 2 * LEAVES_MAX,
        MODELS = 2,
        SIZES = 3
};

enum rule { RULE_START, RULE_FULL, RULE_ROOTS, RULE_SIBLINGS, RULE_TIME, RULE_PART, RULES };

struct tenant_now {
        uint64_t borrowed[MODELS], within[MODELS];
        uint64_t newest[MODELS];        /* devices of the newest start that borrowed */
        uint64_t device_ms[MODELS];     /* borrowed, since the newest turnover */
};

/* A case under way. */
struct shares_world {
        struct play play;
        struct rng rng;
        /* Drawn. */
        const struct model_table *table;        /* borrowed */
        unsigned models_count, nodes_count, leaves_count, classes_count;
        uint8_t models[MODELS];
        uint8_t node_model[PLAY_NODES], node_devices[PLAY_NODES];
        unsigned devices[MODELS];
        uint16_t leaves[LEAVES_MAX];    /* tenants that submit */
        int64_t comes_ms[LEAVES_MAX];
        bool sized[SIZES], loose;       /* sizes there are; some work may use any model */
        uint64_t largest;
        int64_t run_least_ms, run_most_ms;
        struct page policy;
        /* Now. */
        struct tenant_now tenants[TENANTS];
        bool hungry[TENANTS];
        uint64_t era, older;            /* changes so far; running work from before the newest */
        int64_t turned_ms, counted_ms;  /* since when nothing older runs */
        bool handing_over, frozen;
        struct counts *counts;
};

extern struct shares_world world;

static inline const struct tenant *tenant_of(unsigned tenant)
{
        return &play_tenancy(&world.play)->tenants[tenant];
}

static inline uint64_t weight_of(unsigned tenant)
{
        return tenant_of(tenant)->weight_milli[DIM_ANY] / 1000;
}

/* shares_draw.c: fills a zeroed world and opens its play, no node in it yet. False: play.why. */
bool shares_draw(const struct model_table *table, uint64_t seed);

/* shares_held.c: follows the facts (as fact_see of the play), and looks at each start (rule 1). */
void shares_see(void *arg, const struct fact *fact);
/* All that runs now is older; what is promised here holds again when it has ended. */
void shares_new_era(void);
/* How much is left of the promise that the tenant draws on, in devices. */
uint64_t shares_pot_left(unsigned tenant, unsigned model);
unsigned shares_free_on(uint32_t node);         /* devices */
bool shares_may_use(const struct play_work *work, unsigned model);

/* shares_bound.c: takes the time since the last call as one in which was held what is held now. */
void shares_count_time(int64_t now_ms);
/* After an input: rules 2 to 5, and that the engine's accounts agree. */
bool shares_check(void);
