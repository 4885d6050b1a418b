#include "engine/preempt_impl.h"

#include "base/err.h"
#include "base/mem.h"
#include "engine/decide_impl.h"
#include "engine/drain.h"

/* ---- bounds ---- */

static uint64_t waited_unit_s(const struct state *state, const struct search *search)
{
        const struct bucket *bucket = &state->buckets[search->beneficiary.bucket];
        uint64_t units = bucket_devices(state, bucket) * UNITS_DEVICE;

        return units * (uint64_t)(waited_ms(state, search->beneficiary.slot,
                                            search->beneficiary.now_ms) /
                                  1000);
}

static bool stop_rate_allows(const struct search *search)
{
        const struct state *state = search->state;
        const struct tenancy_rules *rules = &state->accounts->tenancy->rules;
        uint64_t all = 0, units = 0;

        if (rules->stop_rate_pct >= 100 || rules->stop_rate_ms <= 0)
                return true;
        for (unsigned m = 0; m < MODELS_MAX; m++)
                all += state->capacity[m];
        for (uint32_t v = 0; v < search->scratch->victims_count; v++)
                units += units_held(state, search->scratch->victims[v].slot);
        int64_t from = search->beneficiary.now_ms -
                       search->beneficiary.now_ms % rules->stop_rate_ms;
        uint64_t before = state->accounts->stopped_from_ms == from
                                  ? state->accounts->stopped_units
                                  : 0;
        /* A pool so small that one plan is above the rate may still stop one at a time. */
        return before == 0 || (before + units) * 100 <= all * rules->stop_rate_pct;
}

/* Whether it may hold these very places: what limits on memory and slices say is known only now. */
static bool may_hold(const struct search *search)
{
        const struct preempt_scratch *scratch = search->scratch;
        struct holding holding;
        struct promise promise;

        holding_clear(&holding);
        for (uint32_t p = 0; p < scratch->places_count; p++)
                holding_add(search->state, scratch->places[p].node, search->need,
                            scratch->places[p].parts, scratch->places[p].parts_count, &holding);
        enum standing standing = accounts_standing(search->state, search->beneficiary.bucket,
                                                   &holding, &promise);
        if (search->beneficiary.cause == PLAN_PROTECT)
                return standing == STANDING_PROTECTED;
        return standing < STANDING_SPARE ||
               (standing == STANDING_SPARE && search->beneficiary.spare);
}

/* ---- facts ---- */

uint32_t plan_next(const struct state *state)
{
        return state->plan_slots.free != NONE ? state->plan_slots.free : state->plan_slots.high;
}

static int emit(struct search *search, enum plan_cause cause, uint64_t cost, struct err *err)
{
        const struct state *state = search->state;
        struct preempt_scratch *scratch = search->scratch;
        uint32_t plan = plan_next(state);
        int64_t now_ms = search->beneficiary.now_ms, until = now_ms;
        struct fact *fact;

        for (uint32_t v = 0; v < scratch->victims_count; v++) {
                uint32_t bucket = state->workloads[scratch->victims[v].slot].bucket;
                int64_t end = now_ms + class_of(state, bucket)->notice_ms;
                until = end > until ? end : until;
        }
        fact = fact_add(search->memo, FACT_PLANNED);
        if (!fact)
                return no_memory(err);
        fact->planned = (struct fact_planned){
                .beneficiary = state->workloads[search->beneficiary.slot].id,
                .plan = plan,
                .cause = cause,
                .victims = scratch->victims_count,
                .places = scratch->places_count,
                .until_ms = until,
                .loss = cost};
        for (uint32_t p = 0; p < scratch->places_count; p++) {
                fact = fact_add(search->memo, FACT_PLACE_KEPT);
                if (!fact)
                        return no_memory(err);
                fact->kept.plan = plan;
                fact->kept.place = scratch->places[p];
                fact->kept.place.workload = state->workloads[search->beneficiary.slot].id;
        }
        for (uint32_t v = 0; v < scratch->victims_count; v++) {
                const struct workload *victim = &state->workloads[scratch->victims[v].slot];
                const struct fact_noticed noticed = {
                        .workload = victim->id,
                        .plan = plan,
                        .cause = NOTICE_PLAN,
                        .until_ms = now_ms + class_of(state, victim->bucket)->notice_ms,
                        .units = units_held(state, scratch->victims[v].slot)};
                int rc = notice(search->memo, &noticed, err);
                if (rc)
                        return rc;
        }
        return 1;
}

bool plan_can_be(const struct state *state, const struct bucket *bucket)
{
        return state->plan_slots.used < state->bounds.plans_max &&
               bucket->form.members <= state->plan_place_slots.max - state->plan_place_slots.used &&
               state->shapes[bucket->shape].need.devices > 0;
}

static int64_t longest_notice_ms(const struct state *state)
{
        const struct tenancy *tenancy = state->accounts->tenancy;
        int64_t longest = 0;

        for (uint32_t c = 0; c < tenancy->classes_count; c++)
                if (tenancy->classes[c].notice_ms > longest)
                        longest = tenancy->classes[c].notice_ms;
        return longest;
}

/* What several models would give may not be held together; each alone may. */
static int plan_on_one(struct memo *memo, const struct state *state, uint32_t slot,
                       uint64_t models, enum plan_cause cause, int64_t now_ms, struct err *err)
{
        int rc = 0;

        for (bool several = models & (models - 1); rc == 0 && several && models;
             models &= models - 1)
                rc = decide_plan_for(memo, state, slot, models & -models, cause, now_ms, err);
        return rc;
}

/* Whether anybody runs who could be stopped for it at all: mostly nobody, and then no node need be
 * looked at. */
static bool has_victims(const struct state *state, const struct beneficiary *beneficiary)
{
        const struct accounts *accounts = state->accounts;
        const struct service_class *own = class_of(state, beneficiary->bucket);
        bool any = false;

        for (unsigned c = 0; !any && c < accounts->tenancy->classes_count; c++) {
                const struct service_class *class = &accounts->tenancy->classes[c];
                uint32_t spare = accounts_running(accounts, c, STANDING_SPARE);
                uint32_t both = spare + accounts_running(accounts, c, STANDING_STANDARD);
                if (class->stop == STOP_NEVER)
                        continue;
                switch (beneficiary->cause) {
                case PLAN_PROTECT:
                        any = both > 0;
                        break;
                case PLAN_ORDER:
                        any = spare > 0 || (both > 0 && class->stop == STOP_ALWAYS &&
                                            class->rank > own->rank);
                        break;
                case PLAN_TIME_SLICE:
                        any = class == own && (beneficiary->spare ? spare : both) > 0;
                        break;
                case PLAN_GATHER:
                        any = class->rank >= own->rank && both > 0;
                        break;
                case PLAN_MOVE:         /* move.h: nobody but itself */
                case PLAN_CAUSES_END:
                        break;
                }
        }
        return any;
}

static bool is_spare(const struct state *state, uint32_t bucket, uint64_t models)
{
        struct admission admission;

        accounts_admit(state, bucket, &admission);
        return !(models &
                 (admission.models[STANDING_PROTECTED] | admission.models[STANDING_STANDARD]));
}

struct preempt_scratch *preempt_scratch_of(struct memo *memo)
{
        if (!memo->preempt)
                memo->preempt = mem_new(1, sizeof *memo->preempt);
        return memo->preempt;
}

int decide_plan_for(struct memo *memo, const struct state *state, uint32_t slot, uint64_t models,
                    enum plan_cause cause, int64_t now_ms, struct err *err)
{
        const struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];
        struct search search = {
                .memo = memo,
                .state = state,
                .beneficiary = {.slot = slot,
                                .bucket = workload->bucket,
                                .cause = cause,
                                .level = workload->rescued
                                                 ? 0
                                                 : slice_level(class_of(state, workload->bucket),
                                                               workload->attained_ms),
                                .spare = is_spare(state, workload->bucket, models),
                                .now_ms = now_ms},
                .shape = bucket->shape,
                .need = &state->shapes[bucket->shape].need,
                .models = models,
                .leaves_ms = leaves_ms(state, slot, now_ms) + longest_notice_ms(state)};
        uint64_t cost, most = UINT64_MAX / 2;
        struct asker asker;

        if (workload->plan || models == 0 || !plan_can_be(state, bucket) ||
            !has_victims(state, &search.beneficiary))
                return 0;
        search.scratch = preempt_scratch_of(memo);
        if (!search.scratch)
                return no_memory(err);
        if (asker_of_slot(state, slot, &asker))
                search.asker = &asker;
        if (cause == PLAN_GATHER)
                most = waited_unit_s(state, &search) /
                       (class_of(state, workload->bucket)->time_slices_count > 0
                                ? GATHER_PART_SLICED
                                : GATHER_PART);
        if (search_is_hopeless(&search, most))
                return 0;
        bool found = bucket->form.near_required ? search_near(&search, most, &cost)
                                                : search_places(&search, most, &cost);
        if (!found && !search.failed && !memo->failed)
                search_was_hopeless(&search, most);
        if (!found)
                return search.failed && !memo->failed ? no_memory(err) : 0;
        if (search.scratch->victims_count == 0 || !stop_rate_allows(&search))
                return 0;
        if (!may_hold(&search))
                return plan_on_one(memo, state, slot, models, cause, now_ms, err);
        return emit(&search, cause, cost, err);
}

int withdraw_plan(struct memo *memo, const struct state *state, uint32_t slot, struct err *err)
{
        const struct workload *workload = &state->workloads[slot];
        struct fact *fact;

        /* A victim's plan is another's, but for work that is moved. */
        if (workload->plan == 0 || (workload->members_placed > 0 &&
                                    state->plans[workload->plan - 1].beneficiary != slot))
                return 0;
        fact = fact_add(memo, FACT_PLAN_ENDED);
        if (!fact)
                return no_memory(err);
        fact->plan_ended.plan = workload->plan - 1;
        fact->plan_ended.end = PLAN_WITHDRAWN;
        return 0;
}
