#include "sim/mix.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

#define SHARE_PREFIX "share:"

static int need_of_entry(const struct scenario_mix *entry, const struct model *model,
                         struct need *ret_need, struct err *err)
{
        *ret_need = (struct need){.models = UINT64_MAX, .devices = 1};
        if (str_equal(entry->name, "whole")) {
                ret_need->ask = ASK_WHOLE;
                return 0;
        }
        if (strncmp(entry->name, SHARE_PREFIX, strlen(SHARE_PREFIX)) == 0) {
                ret_need->ask = ASK_SHARE;
                ret_need->share_milli = (uint16_t)atoi(entry->name + strlen(SHARE_PREFIX));
                return 0;
        }
        int profile = profile_find(model, entry->name, err);
        if (profile < 0)
                return profile;
        ret_need->ask = ASK_PROFILE;
        ret_need->profile = (uint16_t)(profile + 1);
        return 0;
}

static int fill_entries(struct mix *mix, const struct scenario *scenario,
                        const struct replay_pool *pool, struct err *err)
{
        const struct model *model = model_get(pool->models, pool->nodes[0].model);

        mix->by_slices = mix->all_slices = model->cut != MODEL_PLAIN;
        for (uint32_t i = 0; i < scenario->workload.mix_count; i++) {
                int rc = need_of_entry(&scenario->workload.mix[i], model, &mix->needs[i], err);
                if (rc)
                        return err_prefix(err, "%s: field 'workload.mix'", scenario->file);
                mix->weights[i] = scenario->workload.mix[i].weight_milli;
                if (mix->needs[i].ask != ASK_PROFILE)
                        mix->all_slices = false;
        }
        mix->count = scenario->workload.mix_count;
        return 0;
}

int mix_setup(struct mix *mix, const struct scenario *scenario, const struct replay_pool *pool,
              const struct replay_pods *pods, const struct demand *given,
              const struct replay_hooks *hooks, struct poisson_setup *ret_setup, struct err *err)
{
        *ret_setup = (struct poisson_setup){.pool = pool,
                                            .needs = pods->needs,
                                            .needs_count = pods->count,
                                            .given = given,
                                            .learns = scenario->demand != DEMAND_NONE,
                                            .load = scenario->workload.load_milli / 1000.0,
                                            .mean_life_ms = scenario->workload.mean_life * 1000.0,
                                            .warmup_lives = scenario->workload.warmup_lives,
                                            .measure_lives = scenario->workload.measure_lives,
                                            .hooks = hooks};
        if (scenario->workload.source != WORKLOAD_MIX)
                return 0;
        int rc = fill_entries(mix, scenario, pool, err);
        ret_setup->needs = mix->needs;
        ret_setup->weights = mix->weights;
        ret_setup->needs_count = mix->count;
        ret_setup->by_slices = mix->by_slices;
        return rc;
}
