/* Who asks, and whether it would start: without looking at who else waits. */
#include <string.h>

#include "engine/drain.h"
#include "engine/explain_impl.h"
#include "engine/rights.h"

/* ---- who asks ---- */

static int8_t counted_profile(const struct state *state, const struct model *model,
                              const struct part *part)
{
        const struct tenancy *tenancy = state->accounts ? state->accounts->tenancy : NULL;

        for (uint32_t p = 0; tenancy && p < tenancy->profiles_count; p++)
                if (strcmp(tenancy->profiles[p], model->profiles[part->profile].name) == 0)
                        return (int8_t)p;
        return -1;
}

static uint32_t part_memory(const struct model *model, const struct part *part)
{
        if (part->method == METHOD_SHARE)
                return part->memory_mib;
        return part->method == METHOD_SLICE ? model->profiles[part->profile].memory_mib : 0;
}

/* The ways it could lie on an empty device of the model. */
static void prepare_model(const struct state *state, unsigned number, struct asking *asking)
{
        const struct model *model = model_get(state->models, number);
        struct part options[PART_OPTIONS_MAX];
        struct device_state empty = {0};
        unsigned devices = asking->need.devices;
        unsigned count = part_options(model, &empty, &asking->fits[number], options);

        asking->profile[number] = -1;
        for (unsigned i = 0; i < count; i++) {
                uint32_t units = part_units(model, &options[i]);
                uint32_t memory_mib = part_memory(model, &options[i]);
                if (i == 0) {
                        asking->units[number] = devices * units;
                        asking->memory_mib[number] = devices * memory_mib;
                        if (options[i].method == METHOD_SLICE)
                                asking->profile[number] =
                                        counted_profile(state, model, &options[i]);
                }
                if (devices * units > asking->units_most[number])
                        asking->units_most[number] = devices * units;
                if (devices * memory_mib > asking->memory_most[number])
                        asking->memory_most[number] = devices * memory_mib;
        }
}

static void prepare(const struct state *state, struct asking *asking)
{
        const struct need *need = &asking->need;
        const char *profile = need->profile ? vocab_text(state->vocab, need->profile) : NULL;

        asking->models = 0;
        for (unsigned m = 0; need->devices > 0 && m < model_count(state->models); m++) {
                if (!(need->models >> m & 1) ||
                    !part_fit_make(model_get(state->models, m), need, profile, &asking->fits[m]))
                        continue;
                asking->models |= 1ull << m;
                prepare_model(state, m, asking);
        }
}

void asking_of_slot(struct explainer *x, uint32_t slot, struct asking *ret_asking)
{
        const struct workload *workload = &x->state->workloads[slot];
        const struct bucket *bucket = &x->state->buckets[workload->bucket];

        *ret_asking = (struct asking){.id = ++x->asked,
                                      .need = x->state->shapes[bucket->shape].need,
                                      .form = bucket->form,
                                      .priority = bucket->priority,
                                      .tenant = bucket->tenant,
                                      .class = bucket->class,
                                      .spare = bucket->spare,
                                      .slot = slot,
                                      .gone_ms = INT64_MAX,
                                      .leaves_ms = leaves_ms(x->state, slot, x->now_ms)};
        ret_asking->is_isolated = asker_of_slot(x->state, slot, &ret_asking->asker);
        if (!workload->service)
                ret_asking->gone_ms =
                        x->now_ms + expected_left_ms(x->state, slot, BACKFILL_PERCENT, x->now_ms);
        prepare(x->state, ret_asking);
}

void asking_of_request(struct explainer *x, const struct request *request, uint32_t slot,
                       struct asking *ret_asking)
{
        *ret_asking = (struct asking){.id = ++x->asked,
                                      .need = request->need,
                                      .form = request->form,
                                      .priority = request->priority,
                                      .tenant = request->tenant,
                                      .class = request->class,
                                      .spare = request->spare,
                                      .slot = slot,
                                      .gone_ms = INT64_MAX,
                                      .leaves_ms =
                                              request_leaves_ms(x->state, request, x->now_ms)};
        ret_asking->is_isolated = asker_of_request(x->state, request, &ret_asking->asker);
        if (!request->service)
                ret_asking->gone_ms =
                        x->now_ms + request_left_ms(x->state, request, BACKFILL_PERCENT);
        prepare(x->state, ret_asking);
}

/* ---- whether it would start ---- */

bool may_come(const struct state *state, struct request *request)
{
        struct explained_gate gate;

        if (state->workload_slots.used >= state->bounds.workloads_max ||
            state->shapes_count >= state->bounds.shapes_max ||
            state->buckets_count >= state->bounds.buckets_max ||
            rights_narrow(state, request) != RIGHT_ALL)
                return false;
        if (state->accounts &&
            accounts_budget_empty(state, request->tenant, request->need.models, ON_EMPTY_REFUSE))
                return false;
        return !refuses_more_jobs(state, request->tenant, &gate);
}

bool tables_hold_asking(const struct state *state, const struct asking *asking)
{
        uint64_t members = asking->form.members;

        return members <= state->bounds.members_max - state->member_slots.used &&
               members * asking->need.devices <= state->bounds.parts_max - state->part_slots.used;
}

bool is_certain(const struct state *state, const struct asking *asking)
{
        struct rights rights[2];

        rights_of(state, asking, NULL, MEASURE_LEAST, &rights[0]);
        rights_of(state, asking, NULL, MEASURE_MOST, &rights[1]);
        return memcmp(rights[0].models, rights[1].models, sizeof rights[0].models) == 0;
}

bool would_start(struct explainer *x, const struct asking *asking, const struct what_if *what_if,
                 bool sure, enum standing *ret_standing)
{
        struct rights rights, seen;

        if (!tables_hold_asking(x->state, asking))
                return false;
        rights_of(x->state, asking, what_if, sure ? MEASURE_MOST : MEASURE_LEAST, &rights);
        if (rights.jobs || rights.refused)
                return false;
        if (sure) {
                /* The engine would choose among these; none may turn out to stand otherwise. */
                rights_of(x->state, asking, what_if, MEASURE_LEAST, &seen);
                if (memcmp(seen.models, rights.models, sizeof seen.models) != 0)
                        return false;
        }
        /* As the queue tries: members of a gang may need models of different standings. */
        bool gang = form_is_gang(&asking->form);
        uint64_t models = 0;
        for (unsigned s = 0; s < STANDINGS_END; s++) {
                if (rights.models[s] == 0)
                        continue;
                bool across = gang && models != 0;
                models = rights.models[s] | (gang ? models : 0);
                if (members_fit(x, asking, what_if, models, 0) < asking->form.members)
                        continue;
                *ret_standing = (enum standing)s;
                /* Members on different models may draw on no one promise, or go above a limit. */
                bool mixed = asking->form.members > 1 && (models & (models - 1));
                return !(sure && mixed && (across || s == STANDING_PROTECTED));
        }
        return false;
}
