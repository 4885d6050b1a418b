/* Who may be stopped for whom, and what a stop costs. */
#include "engine/preempt_impl.h"

#include "engine/drain.h"
#include "engine/units.h"

/* ---- what a stop costs ---- */

uint64_t units_held(const struct state *state, uint32_t slot)
{
        const struct workload *workload = &state->workloads[slot];
        uint64_t units = 0;

        for (uint32_t at = workload->first_member; at != NONE; at = state->members[at].next)
                for (uint32_t held = state->members[at].first_part; held != NONE;
                     held = state->parts[held].next)
                        units += part_units(node_model(state, state->members[at].node),
                                            &state->parts[held].part);
        return units;
}

/* Run time of this run that would be lost, if it is told now and ends after its notice. */
static int64_t lost_run_ms(const struct state *state, uint32_t slot, int64_t now_ms)
{
        const struct workload *workload = &state->workloads[slot];
        const struct service_class *class = class_of(state, workload->bucket);
        int64_t ran = now_ms - workload->since_ms;

        if (workload->checkpoint_within_ms > 0 &&
            workload->checkpoint_within_ms <= class->notice_ms)
                return workload->checkpoint_within_ms;
        return ran - workload->saved_ms;
}

uint64_t stop_loss(const struct state *state, uint32_t slot, int64_t now_ms)
{
        return units_held(state, slot) *
               (uint64_t)((lost_run_ms(state, slot, now_ms) + RESTART_MS) / 1000);
}

/* ---- whether a place goes with what is there ---- */

bool part_goes(const struct model *model, const struct device_state *device,
                      const struct part *part)
{
        struct part_fit fit = {.whole = part->method == METHOD_WHOLE};
        struct part options[PART_OPTIONS_MAX];

        if (part->method == METHOD_SLICE)
                fit.profiles = 1u << part->profile;
        if (part->method == METHOD_SHARE) {
                fit.share_milli = part->share_milli;
                fit.memory_mib = part->memory_mib;
        }
        unsigned count = part_options(model, device, &fit, options);
        for (unsigned i = 0; i < count; i++)
                if (options[i].method == part->method && options[i].profile == part->profile &&
                    options[i].start == part->start)
                        return true;
        return false;
}

/* A node that was described anew may hold more than it has. */
bool has_left(uint32_t all, uint32_t held, uint64_t more)
{
        return more == 0 || held + more <= all;
}

/* All of the plan's places on that node together. */
static bool plan_fits_node(const struct state *state, const struct plan *plan, uint32_t number,
                           int64_t now_ms)
{
        const struct workload *workload = &state->workloads[plan->beneficiary];
        const struct need *need = &state->shapes[state->buckets[workload->bucket].shape].need;
        const struct node *node = &state->nodes[number];
        struct device_state devices[NODE_DEVICES_MAX];
        uint32_t bars = 0;
        uint64_t members = 0;
        struct asker asker;

        if (asker_of_slot(state, plan->beneficiary, &asker))
                bars = isolation_bars(state, &asker, number);
        for (unsigned d = 0; d < node->desc.devices; d++)
                devices[d] = node_devices(state, number)[d].state;
        for (uint32_t at = plan->first_place; at != NONE; at = state->plan_places[at].next) {
                const struct plan_place *place = &state->plan_places[at];
                for (unsigned i = 0; place->node == number && i < place->parts_count; i++) {
                        struct device_state *device = &devices[place->parts[i].device];
                        if ((bars >> place->parts[i].device & 1) ||
                            !part_goes(node_model(state, number), device, &place->parts[i]))
                                return false;
                        device_take(node_model(state, number), device, &place->parts[i]);
                }
                members += place->node == number;
        }
        return node->status == NODE_UP && bars != BARRED_NODE &&
               node_admits(state, &node->desc, need) &&
               leaves_ms(state, plan->beneficiary, now_ms) <= node_closes_ms(node) &&
               has_left(node->desc.cpu_milli, node->cpu_used, members * need->cpu_milli) &&
               has_left(node->desc.ram_mib, node->ram_used, members * need->ram_mib) &&
               has_left(node->desc.disk_mib, node->disk_used, members * need->disk_mib) &&
               has_left(node->desc.network_mbit, node->network_used,
                        members * need->network_mbit);
}

bool plan_fits(const struct state *state, uint32_t number, int64_t now_ms)
{
        const struct plan *plan = &state->plans[number];

        for (uint32_t at = plan->first_place; at != NONE; at = state->plan_places[at].next)
                if (!plan_fits_node(state, plan, state->plan_places[at].node, now_ms))
                        return false;
        return plan_lies_well(state, plan);
}

bool plan_is_frozen(const struct state *state, uint32_t number)
{
        for (uint32_t at = state->plans[number].first_place; at != NONE;
             at = state->plan_places[at].next)
                if (state->nodes[state->plan_places[at].node].frozen)
                        return true;
        return false;
}

/* ---- who may be stopped for whom ---- */

unsigned plan_causes(const struct state *state, const struct contender *contender, int64_t now_ms,
                     enum plan_cause ret_causes[PLAN_CAUSES_END])
{
        const struct bucket *bucket = &state->buckets[contender->bucket];
        const struct service_class *class = class_of(state, contender->bucket);
        int64_t waited = waited_ms(state, contender->waiter.slot, now_ms);
        unsigned count = 0;

        if (contender->standing == STANDING_PROTECTED)
                ret_causes[count++] = PLAN_PROTECT;
        if (contender->standing != STANDING_SPARE)
                ret_causes[count++] = PLAN_ORDER;
        if (class->time_slices_count > 0 && waited >= SLICE_WAIT_MS)
                ret_causes[count++] = PLAN_TIME_SLICE;
        if (contender->standing != STANDING_SPARE && waited >= class->hold_after_ms &&
            is_wide(state, bucket))
                ret_causes[count++] = PLAN_GATHER;
        return count;
}

static bool has_stops_left(const struct workload *victim, const struct service_class *class,
                           int64_t now_ms)
{
        if (class->stops_per_day == STOPS_UNLIMITED ||
            now_ms - now_ms % CALENDAR_DAY_MS != victim->stops_from_ms)
                return class->stops_per_day > 0;
        return victim->stops < class->stops_per_day;
}

/* Work of another level of the same class, small, at a moment that costs little. Spare work stops
 * spare work only: any other would take its place back at once, and so on for ever. */
static bool may_slice(const struct state *state, uint32_t slot,
                      const struct beneficiary *beneficiary)
{
        const struct workload *victim = &state->workloads[slot];
        const struct service_class *class = class_of(state, victim->bucket);

        return (!beneficiary->spare || victim->standing == STANDING_SPARE) &&
               state->buckets[victim->bucket].class ==
                       state->buckets[beneficiary->bucket].class &&
               !is_wide(state, &state->buckets[victim->bucket]) &&
               slice_level(class, attained_ms(state, slot, beneficiary->now_ms)) >
                       beneficiary->level &&
               lost_run_ms(state, slot, beneficiary->now_ms) <= SLICE_LOSS_MS;
}

bool may_stop(const struct state *state, uint32_t slot,
                     const struct beneficiary *beneficiary)
{
        const struct workload *victim = &state->workloads[slot];
        const struct service_class *class = class_of(state, victim->bucket);
        const struct service_class *other = class_of(state, beneficiary->bucket);

        if (victim->notice_until_ms || victim->plan || class->stop == STOP_NEVER ||
            victim->standing == STANDING_PROTECTED ||
            beneficiary->now_ms - victim->since_ms < class->exempt_ms ||
            !has_stops_left(victim, class, beneficiary->now_ms) ||
            workload_is_frozen(state, victim))
                return false;
        /* It must end, as others wait for that: work that saves nothing would begin for ever. */
        if (victim->rescued && beneficiary->cause != PLAN_PROTECT)
                return false;
        switch (beneficiary->cause) {
        case PLAN_PROTECT:
                return true;
        case PLAN_ORDER:
                return victim->standing == STANDING_SPARE ||
                       (class->stop == STOP_ALWAYS && class->rank > other->rank);
        case PLAN_TIME_SLICE:
                return may_slice(state, slot, beneficiary);
        case PLAN_GATHER:
                return class->rank >= other->rank &&
                       !is_wide(state, &state->buckets[victim->bucket]) &&
                       (class->time_slices_count == 0 ||
                        slice_level(class, attained_ms(state, slot, beneficiary->now_ms)) >
                                beneficiary->level);
        case PLAN_MOVE:                 /* nobody stops for that */
        case PLAN_CAUSES_END:
                break;
        }
        return false;
}
