#include "tests/fuzz/engine_policy.h"

#include "proto/policy_doc.h"
#include "tests/property/policy_draw.h"

/* Neighbours have one tree of tenants, so that a policy can follow another while there is work. */
enum { OF_ONE_TREE = 8 };

/* What policies promise devices of: more than the few nodes here have, as well as less. */
static const struct draw_pool pools[] = {
        {.models_count = 1, .models = {CASE_A100_40}, .devices = {[CASE_A100_40] = 4}},
        {.models_count = 2, .models = {CASE_A100_40, CASE_T4},
         .devices = {[CASE_A100_40] = 8, [CASE_T4] = 4}},
        {.models_count = 3, .models = {CASE_A30, CASE_T4, CASE_MI300X},
         .devices = {[CASE_A30] = 2, [CASE_T4] = 2, [CASE_MI300X] = 2}},
};

const struct tenancy *fuzz_policy(uint8_t number, const struct model_table *models)
{
        static struct policy_doc *policies[UINT8_MAX + 1];
        unsigned tree = number / OF_ONE_TREE;

        if (!policies[number])
                policies[number] = draw_policy(tree, number,
                                               &pools[tree % (sizeof pools / sizeof *pools)],
                                               models, false);
        return policies[number] ? policies[number]->tenancy : NULL;
}
