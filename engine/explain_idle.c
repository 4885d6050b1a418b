/* Why devices are idle: what is known of the device comes first, then who waits for its model. */
#include <string.h>

#include "engine/explain_impl.h"
#include "engine/units.h"

/* What the waiting work that could lie on a model is stopped by. */
struct demand_of_model {
        bool fits_nowhere, barred, held;
        uint32_t loose; /* idle devices that nothing else explains */
};

static bool lies_open(const struct state *state, const struct node *node,
                      const struct device *device, enum idle_code *ret_code)
{
        (void)state;
        if (node->status != NODE_UP || device->state.broken)
                *ret_code = IDLE_UNHEALTHY;
        else if (!node_takes_work(node))
                *ret_code = IDLE_DRAINING;
        else if (node->frozen)
                *ret_code = IDLE_FROZEN;
        else if (device->kept_for)
                *ret_code = IDLE_PLAN;
        else if (node->held_for)
                *ret_code = IDLE_HOLD;
        else
                return true;
        return false;
}

static bool any_eligible(const struct state *state, const struct bucket *bucket)
{
        for (uint32_t slot = bucket->head; slot != NONE; slot = state->workloads[slot].next) {
                const struct workload *workload = &state->workloads[slot];
                uint32_t running = workload->array && workload->array_at_once
                                           ? map_get(state->array_running, workload->array)
                                           : MAP_NONE;
                if (!workload->holds && (running == MAP_NONE || running < workload->array_at_once))
                        return true;
        }
        return false;
}

static void ask_bucket(const struct state *state, uint32_t number, struct demand_of_model *demand)
{
        const struct bucket *bucket = &state->buckets[number];
        const struct shape *shape = &state->shapes[bucket->shape];
        struct admission admission = {.models = {[STANDING_STANDARD] = UINT64_MAX}};
        bool eligible = any_eligible(state, bucket);

        if (state->accounts && eligible)
                accounts_admit(state, number, &admission);
        uint64_t may =
                admission.models[0] | admission.models[1] | admission.models[2] | admission.kept;
        for (uint64_t left = shape->models; left; left &= left - 1) {
                unsigned m = (unsigned)__builtin_ctzll(left);
                if (!eligible)
                        demand[m].held = true;
                else if (may >> m & 1)
                        demand[m].fits_nowhere = true;
                else
                        demand[m].barred = true;
        }
}

static void count_devices(const struct state *state, uint32_t number, struct explained_idle *ret,
                          const uint8_t *line_of, struct demand_of_model *demand)
{
        const struct node *node = &state->nodes[number];
        unsigned model = node->desc.model;

        for (unsigned d = 0; d < node->desc.devices; d++) {
                const struct device *device = &node_devices(state, number)[d];
                uint32_t *of = ret->models[line_of[model]].of;
                enum idle_code code;
                ret->models[line_of[model]].devices++;
                if (device->state.holders > 0 || device->state.foreign_slots)
                        continue;
                ret->models[line_of[model]].idle++;
                ret->idle++;
                if (lies_open(state, node, device, &code))
                        demand[model].loose++;
                else
                        of[code]++;
        }
}

/* Devices that promises keep, as far as they lie idle; then one reason for the rest. */
static void explain_loose(const struct state *state, unsigned model,
                          const struct demand_of_model *demand, uint32_t *of)
{
        const struct accounts *accounts = state->accounts;
        uint64_t kept = accounts ? accounts->kept[model] + accounts->kept[DIM_ANY] : 0;
        uint64_t devices = (kept + UNITS_DEVICE - 1) / UNITS_DEVICE;
        uint32_t promised = devices < demand->loose ? (uint32_t)devices : demand->loose;

        of[IDLE_PROMISE] += promised;
        of[demand->fits_nowhere ? IDLE_FRAGMENTED
           : demand->barred     ? IDLE_QUOTA
           : demand->held       ? IDLE_HELD
                                : IDLE_FREE] += demand->loose - promised;
}

int explain_idle(struct memo *memo, const struct state *state, int64_t now_ms,
                 struct explained_idle *ret_idle, struct err *err)
{
        struct demand_of_model demand[MODELS_MAX] = {0};
        uint8_t line_of[MODELS_MAX];

        (void)memo;
        (void)now_ms;
        (void)err;
        memset(ret_idle, 0, sizeof *ret_idle);
        ret_idle->as_of_ms = state->now_ms;
        ret_idle->policy_revision = state->accounts ? state->accounts->tenancy->revision : 0;
        memset(line_of, 0xff, sizeof line_of);
        for (uint32_t b = 0; b < state->buckets_count; b++)
                if (state->buckets[b].count > 0)
                        ask_bucket(state, b, demand);
        for (uint32_t n = 0; n < state->node_slots.high; n++) {
                const struct node *node = &state->nodes[n];
                if (node->status == NODE_FREE_SLOT || node->desc.devices == 0)
                        continue;
                if (line_of[node->desc.model] == 0xff) {
                        line_of[node->desc.model] = (uint8_t)ret_idle->models_count;
                        ret_idle->models[ret_idle->models_count++].model = node->desc.model;
                }
                count_devices(state, n, ret_idle, line_of, demand);
        }
        for (uint32_t m = 0; m < ret_idle->models_count; m++)
                explain_loose(state, ret_idle->models[m].model, &demand[ret_idle->models[m].model],
                              ret_idle->models[m].of);
        return 0;
}
