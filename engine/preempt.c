#include "engine/preempt.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/decide_impl.h"
#include "engine/drain.h"
#include "engine/units.h"

/* ---- what a stop costs ---- */

static uint64_t units_of(const struct state *state, uint32_t slot)
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

int64_t lost_run_ms(const struct state *state, uint32_t slot, int64_t now_ms)
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
        return units_of(state, slot) *
               (uint64_t)((lost_run_ms(state, slot, now_ms) + RESTART_MS) / 1000);
}

/* ---- whether a place goes with what is there ---- */

static bool part_goes(const struct model *model, const struct device_state *device,
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
static bool has_left(uint32_t all, uint32_t held, uint64_t more)
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
        return true;
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

struct beneficiary {
        uint32_t slot, bucket;
        enum plan_cause cause;
        unsigned level;                 /* of time slices */
        int64_t now_ms;
};

static bool has_stops_left(const struct state *state, const struct workload *victim,
                           const struct service_class *class, int64_t now_ms)
{
        (void)state;
        if (class->stops_per_day == STOPS_UNLIMITED ||
            now_ms - now_ms % CALENDAR_DAY_MS != victim->stops_from_ms)
                return class->stops_per_day > 0;
        return victim->stops < class->stops_per_day;
}

/* Work of another level of the same class, small, at a moment that costs little. */
static bool may_slice(const struct state *state, uint32_t slot,
                      const struct beneficiary *beneficiary)
{
        const struct workload *victim = &state->workloads[slot];
        const struct service_class *class = class_of(state, victim->bucket);

        return state->buckets[victim->bucket].class ==
                       state->buckets[beneficiary->bucket].class &&
               !is_wide(state, &state->buckets[victim->bucket]) &&
               slice_level(class, attained_ms(state, slot, beneficiary->now_ms)) >
                       beneficiary->level &&
               lost_run_ms(state, slot, beneficiary->now_ms) <= SLICE_LOSS_MS;
}

/* Rescued work gives way to wide work only, and once a day: it starts again first of all. */
static bool may_move(const struct state *state, const struct workload *victim,
                     const struct beneficiary *beneficiary)
{
        int64_t today = beneficiary->now_ms - beneficiary->now_ms % CALENDAR_DAY_MS;

        return !victim->rescued || (is_wide(state, &state->buckets[beneficiary->bucket]) &&
                                    (victim->stops_from_ms != today || victim->stops == 0));
}

/* A gang may lie on several nodes. */
static bool is_frozen(const struct state *state, const struct workload *workload)
{
        for (uint32_t at = workload->first_member; at != NONE; at = state->members[at].next)
                if (state->nodes[state->members[at].node].frozen)
                        return true;
        return false;
}

static bool may_stop(const struct state *state, uint32_t slot,
                     const struct beneficiary *beneficiary)
{
        const struct workload *victim = &state->workloads[slot];
        const struct service_class *class = class_of(state, victim->bucket);
        const struct service_class *other = class_of(state, beneficiary->bucket);

        if (victim->notice_until_ms || victim->plan || class->stop == STOP_NEVER ||
            victim->standing == STANDING_PROTECTED ||
            beneficiary->now_ms - victim->since_ms < class->exempt_ms ||
            !has_stops_left(state, victim, class, beneficiary->now_ms) ||
            is_frozen(state, victim))
                return false;
        switch (beneficiary->cause) {
        case PLAN_PROTECT:
                return true;
        case PLAN_ORDER:
                return victim->standing == STANDING_SPARE ||
                       (class->stop == STOP_ALWAYS && class->rank > other->rank);
        case PLAN_TIME_SLICE:
                return may_move(state, victim, beneficiary) && may_slice(state, slot, beneficiary);
        case PLAN_GATHER:
                return may_move(state, victim, beneficiary) && class->rank >= other->rank &&
                       !is_wide(state, &state->buckets[victim->bucket]) &&
                       (class->time_slices_count == 0 ||
                        slice_level(class, attained_ms(state, slot, beneficiary->now_ms)) >
                                beneficiary->level);
        case PLAN_CAUSES_END:
                break;
        }
        return false;
}

/* ---- the search ---- */

struct victim {
        uint64_t loss;                  /* unit-seconds */
        uint32_t slot;
        bool needed;
};

/* What one more member on a node would cost; and the node as the plan would leave it. */
struct spare_node {
        uint32_t node;
        uint64_t cost;
        bool possible;
        bool closed;                    /* a member lies there, or near: spread */
        uint32_t cpu_held, ram_held, disk_held, network_held;
        struct device_state devices[NODE_DEVICES_MAX];
        /* Who lies there and bars the beneficiary from the node, from a device: isolate.h. */
        uint16_t bars, device_bars[NODE_DEVICES_MAX];
};

/* What a node costs at least. */
struct bound {
        uint64_t least;
        uint32_t node;
};

struct preempt_scratch {
        struct bound *bounds;
        uint32_t bounds_room;
        struct spare_node *nodes;
        uint32_t nodes_count, nodes_room;
        struct victim *victims;         /* of the plan, all */
        uint32_t victims_count, victims_room;
        struct victim *local;           /* of the node that is looked at */
        uint32_t local_count, local_room;
        struct fact_allocated *places;
        uint32_t places_count, places_room;
};

void preempt_scratch_free(struct preempt_scratch *scratch)
{
        if (!scratch)
                return;
        mem_free(scratch->bounds);
        mem_free(scratch->nodes);
        mem_free(scratch->victims);
        mem_free(scratch->local);
        mem_free(scratch->places);
        mem_free(scratch);
}

struct search {
        struct memo *memo;
        const struct state *state;
        struct preempt_scratch *scratch;
        struct beneficiary beneficiary;
        uint32_t shape;
        const struct need *need;
        uint64_t models;
        int64_t leaves_ms;              /* when it starts at the end of the longest notice */
        const struct asker *asker;      /* NULL: nothing bars it */
        bool failed;                    /* out of memory */
};

static bool is_chosen(const struct preempt_scratch *scratch, uint32_t slot)
{
        for (uint32_t v = 0; v < scratch->victims_count; v++)
                if (scratch->victims[v].slot == slot)
                        return true;
        return false;
}

static void count_bars(const struct search *search, struct spare_node *node, uint32_t place,
                       int sign)
{
        uint32_t bars = search->asker ? isolation_member(search->state, search->asker, place) : 0;

        if (bars == BARRED_NODE)
                node->bars = (uint16_t)(node->bars + sign);
        for (; bars && bars != BARRED_NODE; bars &= bars - 1) {
                uint16_t *count = &node->device_bars[__builtin_ctz(bars)];
                *count = (uint16_t)(*count + sign);
        }
}

static void give_back(const struct search *search, struct spare_node *node, uint32_t place)
{
        const struct state *state = search->state;
        const struct member *member = &state->members[place];
        const struct workload *workload = &state->workloads[member->workload];
        const struct need *need = &state->shapes[state->buckets[workload->bucket].shape].need;

        for (uint32_t held = member->first_part; held != NONE; held = state->parts[held].next)
                device_give(node_model(state, node->node),
                            &node->devices[state->parts[held].part.device],
                            &state->parts[held].part);
        node->cpu_held -= need->cpu_milli;
        node->ram_held -= need->ram_mib;
        node->disk_held -= need->disk_mib;
        node->network_held -= need->network_mbit;
        count_bars(search, node, place, -1);
}

static void give_back_all(const struct search *search, struct spare_node *node, uint32_t slot)
{
        const struct state *state = search->state;

        for (uint32_t at = state->nodes[node->node].first_member; at != NONE;
             at = state->members[at].node_next)
                if (state->members[at].workload == slot)
                        give_back(search, node, at);
}

/* The node as it is, without the victims chosen so far. Those of other plans still run: which plan
 * comes first to its hand-over is open, so their room is not counted twice. */
static void node_as_planned(const struct search *search, struct spare_node *node)
{
        const struct state *state = search->state;
        const struct node *now = &state->nodes[node->node];

        node->cpu_held = now->cpu_used + now->cpu_kept;
        node->ram_held = now->ram_used + now->ram_kept;
        node->disk_held = now->disk_used + now->disk_kept;
        node->network_held = now->network_used + now->network_kept;
        for (unsigned d = 0; d < now->desc.devices; d++) {
                const struct device *device = &node_devices(state, node->node)[d];
                node->devices[d] = device->state;
                if (device->kept_for)
                        node->devices[d].broken = 1;
        }
        node->bars = 0;
        memset(node->device_bars, 0, sizeof node->device_bars);
        for (uint32_t at = now->first_member; search->asker && at != NONE;
             at = state->members[at].node_next)
                count_bars(search, node, at, 1);
        for (uint32_t v = 0; v < search->scratch->victims_count; v++)
                give_back_all(search, node, search->scratch->victims[v].slot);
}

static bool has_room(const struct search *search, const struct spare_node *node)
{
        const struct node_desc *desc = &search->state->nodes[node->node].desc;
        const struct need *need = search->need;

        return has_left(desc->cpu_milli, node->cpu_held, need->cpu_milli) &&
               has_left(desc->ram_mib, node->ram_held, need->ram_mib) &&
               has_left(desc->disk_mib, node->disk_held, need->disk_mib) &&
               has_left(desc->network_mbit, node->network_held, need->network_mbit);
}

/* Whether a member fits on the node as it stands in `node`, and by which parts. */
static bool fits(struct search *search, const struct spare_node *node, struct move *ret_move)
{
        const struct state *state = search->state;
        const struct node *real = &state->nodes[node->node];
        struct memo *memo = search->memo;
        struct view view = {.kind = memo->links[node->node].kind,
                            .cpu_free = real->desc.cpu_milli > node->cpu_held
                                                ? real->desc.cpu_milli - node->cpu_held
                                                : 0,
                            .model = real->desc.model,
                            .count = real->desc.devices};
        struct class class;
        int64_t key;

        if (!has_room(search, node) || node->bars)
                return false;
        for (unsigned d = 0; d < real->desc.devices; d++) {
                view.spots[d] = node->device_bars[d]
                                        ? barred_spot(memo, real->desc.model)
                                        : spot_intern(memo, real->desc.model, &node->devices[d]);
                if (view.spots[d] == 0)
                        return false;
        }
        view_settle(memo, &view);
        class_make(memo, &view, &class);
        return evaluate(memo, memo->look_of[search->shape], &class, 0, &key, ret_move);
}

static int by_loss(const void *a, const void *b)
{
        const struct victim *x = a, *y = b;

        if (x->loss != y->loss)
                return x->loss < y->loss ? -1 : 1;
        return (x->slot > y->slot) - (x->slot < y->slot);
}

/* Eligible work on the node, the least lost first. */
static bool list_local(struct search *search, uint32_t node)
{
        const struct state *state = search->state;
        struct preempt_scratch *scratch = search->scratch;

        scratch->local_count = 0;
        for (uint32_t at = state->nodes[node].first_member; at != NONE;
             at = state->members[at].node_next) {
                uint32_t slot = state->members[at].workload;
                bool seen = false;
                if (!may_stop(state, slot, &search->beneficiary) || is_chosen(scratch, slot))
                        continue;
                for (uint32_t l = 0; l < scratch->local_count; l++)
                        seen |= scratch->local[l].slot == slot;
                if (seen)
                        continue;
                if (!memo_room(search->memo, &scratch->local, &scratch->local_room,
                               scratch->local_count, sizeof *scratch->local))
                        return false;
                scratch->local[scratch->local_count++] = (struct victim){
                        stop_loss(state, slot, search->beneficiary.now_ms), slot, false};
        }
        if (scratch->local_count > 1)
                qsort(scratch->local, scratch->local_count, sizeof *scratch->local, by_loss);
        return true;
}

/* Fewest devices that could come free: a cheap look before the exact one. */
static bool could_fit(const struct search *search, const struct spare_node *node)
{
        const struct state *state = search->state;
        unsigned usable = 0;

        if (search->need->ask != ASK_WHOLE)
                return true;
        for (unsigned d = 0; d < state->nodes[node->node].desc.devices; d++)
                usable += device_is_idle(&node->devices[d]);
        for (uint32_t l = 0; l < search->scratch->local_count; l++) {
                const struct workload *victim =
                        &state->workloads[search->scratch->local[l].slot];
                for (uint32_t at = victim->first_member; at != NONE;
                     at = state->members[at].next)
                        if (state->members[at].node == node->node)
                                usable += state->members[at].parts_count;
        }
        return usable >= search->need->devices;
}

/* Stops the least lost one by one until a member fits, then takes back whom it does not need.
 * Local victims that are needed stay marked. Not more than `most` may be lost. */
static bool clear_node(struct search *search, struct spare_node *node, uint64_t most,
                       uint64_t *ret_cost, struct move *ret_move)
{
        struct preempt_scratch *scratch = search->scratch;
        struct spare_node tried = *node;
        uint64_t cost = 0;
        uint32_t stopped = 0;

        while (!fits(search, &tried, ret_move)) {
                if (stopped == scratch->local_count ||
                    cost + scratch->local[stopped].loss > most)
                        return false;
                scratch->local[stopped].needed = true;
                cost += scratch->local[stopped].loss;
                give_back_all(search, &tried, scratch->local[stopped].slot);
                stopped++;
        }
        for (uint32_t l = stopped; l-- > 0;) {
                struct spare_node without = *node;
                struct move move;
                scratch->local[l].needed = false;
                for (uint32_t k = 0; k < stopped; k++)
                        if (scratch->local[k].needed)
                                give_back_all(search, &without, scratch->local[k].slot);
                if (fits(search, &without, &move)) {
                        cost -= scratch->local[l].loss;
                        tried = without;
                        *ret_move = move;
                } else {
                        scratch->local[l].needed = true;
                }
        }
        *node = tried;
        *ret_cost = cost;
        return true;
}

static bool admits(const struct search *search, uint32_t number)
{
        const struct node *node = &search->state->nodes[number];

        if (node->status != NODE_UP || node->frozen ||
            node_closes_ms(node) < search->leaves_ms ||
            (node->held_for && node->held_for != search->beneficiary.slot + 1) ||
            !node_admits(search->state, &node->desc, search->need) ||
            (search->asker && !isolation_admits(search->state, search->asker, number)))
                return false;
        return node->desc.devices == 0 || (search->models >> node->desc.model & 1);
}

/* What a member on the node would cost at most `most`. */
static void price_node(struct search *search, struct spare_node *node, uint64_t most)
{
        struct spare_node tried = *node;
        struct move move;

        node->possible = false;
        if (node->closed)
                return;
        if (!list_local(search, node->node)) {
                search->failed = true;
                return;
        }
        if (!could_fit(search, node))
                return;
        node->possible = clear_node(search, &tried, most, &node->cost, &move);
}

/* The least that anything on the node would lose; nothing fits there without a stop. */
static uint64_t least_loss(const struct search *search, uint32_t node)
{
        const struct state *state = search->state;
        uint64_t least = UINT64_MAX;

        for (uint32_t at = state->nodes[node].first_member; at != NONE;
             at = state->members[at].node_next) {
                uint32_t slot = state->members[at].workload;
                if (!may_stop(state, slot, &search->beneficiary))
                        continue;
                uint64_t loss = stop_loss(state, slot, search->beneficiary.now_ms);
                least = loss < least ? loss : least;
        }
        return least;
}

static bool add_node(struct search *search, uint32_t number, uint64_t most)
{
        struct preempt_scratch *scratch = search->scratch;

        if (!memo_room(search->memo, &scratch->nodes, &scratch->nodes_room, scratch->nodes_count,
                       sizeof *scratch->nodes))
                return false;
        struct spare_node *node = &scratch->nodes[scratch->nodes_count];
        *node = (struct spare_node){.node = number};
        node_as_planned(search, node);
        price_node(search, node, most);
        scratch->nodes_count += node->possible;
        return !search->failed;
}

/* One member: the nodes by the least that could be lost there, until none can be cheaper. */
static bool list_for_single(struct search *search, uint64_t most)
{
        struct preempt_scratch *scratch = search->scratch;
        uint32_t count = 0;

        for (uint32_t n = 0; n < search->state->node_slots.high; n++) {
                if (!admits(search, n))
                        continue;
                uint64_t least = least_loss(search, n);
                if (least >= most)
                        continue;
                if (!memo_room(search->memo, &scratch->bounds, &scratch->bounds_room, count,
                               sizeof *scratch->bounds))
                        return false;
                scratch->bounds[count++] = (struct bound){least, n};
        }
        while (count > 0) {
                uint32_t best = 0;
                for (uint32_t i = 1; i < count; i++)
                        if (scratch->bounds[i].least < scratch->bounds[best].least)
                                best = i;
                struct bound bound = scratch->bounds[best];
                if (bound.least >= most)
                        return true;
                scratch->bounds[best] = scratch->bounds[--count];
                if (!add_node(search, bound.node, most))
                        return false;
                if (scratch->nodes_count > 0 && scratch->nodes[scratch->nodes_count - 1].cost < most)
                        most = scratch->nodes[scratch->nodes_count - 1].cost;
        }
        return true;
}

static bool list_nodes(struct search *search, uint64_t most)
{
        search->scratch->nodes_count = 0;
        if (search->state->buckets[search->beneficiary.bucket].form.members == 1)
                return list_for_single(search, most);
        for (uint32_t n = 0; n < search->state->node_slots.high; n++)
                if (admits(search, n) && !add_node(search, n, most))
                        return false;
        return true;
}

static struct spare_node *cheapest(struct preempt_scratch *scratch)
{
        struct spare_node *best = NULL;

        for (uint32_t n = 0; n < scratch->nodes_count; n++)
                if (scratch->nodes[n].possible && (!best || scratch->nodes[n].cost < best->cost))
                        best = &scratch->nodes[n];
        return best;
}

static void charge(const struct search *search, struct spare_node *node)
{
        node->cpu_held += search->need->cpu_milli;
        node->ram_held += search->need->ram_mib;
        node->disk_held += search->need->disk_mib;
        node->network_held += search->need->network_mbit;
}

/* From conditions to devices, lowest number first. */
static void take_parts(const struct search *search, struct spare_node *node,
                       const struct move *move, struct fact_allocated *place)
{
        const struct model *model = node_model(search->state, node->node);
        unsigned used = 0;

        for (unsigned i = 0; i < move->count; i++) {
                struct part part = move->parts[i];
                const struct device_state *from = &search->memo->spots[move->from[i]].state;
                for (unsigned d = 0; d < search->state->nodes[node->node].desc.devices; d++) {
                        struct device_state settled = node->devices[d];
                        settled.holders = settled.holders > 0;
                        if ((used >> d & 1) || node->device_bars[d] || memcmp(&settled, from, sizeof settled) != 0)
                                continue;
                        part.device = (uint8_t)d;
                        used |= 1u << d;
                        break;
                }
                place->parts[i] = part;
                device_take(model, &node->devices[part.device], &part);
        }
        place->parts_count = move->count;
        charge(search, node);
}

/* Puts one member on the node and its victims into the plan. */
static bool place_on(struct search *search, struct spare_node *node, unsigned member)
{
        struct preempt_scratch *scratch = search->scratch;
        struct move move;
        uint64_t cost;

        if (!list_local(search, node->node) ||
            !clear_node(search, node, UINT64_MAX / 2, &cost, &move) ||
            !memo_room(search->memo, &scratch->places, &scratch->places_room,
                       scratch->places_count, sizeof *scratch->places))
                return false;
        for (uint32_t l = 0; l < scratch->local_count; l++) {
                if (!scratch->local[l].needed)
                        continue;
                if (!memo_room(search->memo, &scratch->victims, &scratch->victims_room,
                               scratch->victims_count, sizeof *scratch->victims))
                        return false;
                scratch->victims[scratch->victims_count++] = scratch->local[l];
        }
        struct fact_allocated *place = &scratch->places[scratch->places_count++];
        *place = (struct fact_allocated){.node = node->node, .member = (uint16_t)member};
        take_parts(search, node, &move, place);
        return true;
}

/* A gang that was chosen on one node has members on others: they are free there, too. */
static void reprice(struct search *search, struct spare_node *placed, uint32_t victims_before,
                    uint64_t most)
{
        const struct state *state = search->state;
        struct preempt_scratch *scratch = search->scratch;

        for (uint32_t v = victims_before; v < scratch->victims_count; v++) {
                const struct workload *victim = &state->workloads[scratch->victims[v].slot];
                if (victim->members_placed < 2)
                        continue;
                for (uint32_t n = 0; n < scratch->nodes_count; n++) {
                        struct spare_node *node = &scratch->nodes[n];
                        if (node == placed)
                                continue;
                        give_back_all(search, node, scratch->victims[v].slot);
                        price_node(search, node, most);
                }
        }
        price_node(search, placed, most);
}

static void close_for_spread(struct search *search, const struct form *form, uint32_t number)
{
        const struct node *placed = &search->state->nodes[number];

        for (uint32_t n = 0; n < search->scratch->nodes_count; n++) {
                struct spare_node *node = &search->scratch->nodes[n];
                const struct node_desc *desc = &search->state->nodes[node->node].desc;
                if (node->node == number ||
                    (form->spread == SPREAD_RACK && desc->rack != 0 &&
                     desc->rack == placed->desc.rack && desc->block == placed->desc.block)) {
                        node->possible = false;
                        node->closed = true;
                }
        }
}

/* Whether the places on the node go with what lies there without the victims. */
static bool places_fit(const struct search *search, uint32_t number)
{
        const struct preempt_scratch *scratch = search->scratch;
        const struct model *model = node_model(search->state, number);
        struct spare_node node = {.node = number};

        node_as_planned(search, &node);
        for (uint32_t p = 0; p < scratch->places_count; p++) {
                const struct fact_allocated *place = &scratch->places[p];
                if (place->node != number)
                        continue;
                if (!has_room(search, &node) || node.bars)
                        return false;
                for (unsigned i = 0; i < place->parts_count; i++) {
                        struct device_state *device = &node.devices[place->parts[i].device];
                        if (node.device_bars[place->parts[i].device] || !part_goes(model, device, &place->parts[i]))
                                return false;
                        device_take(model, device, &place->parts[i]);
                }
                charge(search, &node);
        }
        return true;
}

/* A victim of one member may have been made needless by those of another: P2 of the plan. */
static void drop_needless(struct search *search, uint64_t *cost)
{
        const struct state *state = search->state;
        struct preempt_scratch *scratch = search->scratch;

        for (uint32_t v = scratch->victims_count; v-- > 0;) {
                struct victim victim = scratch->victims[v];
                bool fits = true;
                scratch->victims[v] = scratch->victims[--scratch->victims_count];
                for (uint32_t at = state->workloads[victim.slot].first_member;
                     fits && at != NONE; at = state->members[at].next)
                        fits = places_fit(search, state->members[at].node);
                if (fits) {
                        *cost -= victim.loss;
                        continue;
                }
                scratch->victims[scratch->victims_count++] = scratch->victims[v];
                scratch->victims[v] = victim;
        }
}

/* Places all members at the least loss; false: not possible for `most`. */
static bool place_all(struct search *search, uint64_t most, uint64_t *ret_cost)
{
        const struct form *form = &search->state->buckets[search->beneficiary.bucket].form;
        struct preempt_scratch *scratch = search->scratch;
        uint64_t cost = 0;

        scratch->victims_count = scratch->places_count = 0;
        if (!list_nodes(search, most))
                return false;
        for (uint32_t m = 0; m < form->members; m++) {
                struct spare_node *node = cheapest(scratch);
                uint32_t before = scratch->victims_count;
                if (!node || cost + node->cost > most)
                        return false;
                if (!place_on(search, node, m)) {
                        search->failed = true;
                        return false;
                }
                for (uint32_t v = before; v < scratch->victims_count; v++)
                        cost += scratch->victims[v].loss;
                if (form->spread != SPREAD_NONE)
                        close_for_spread(search, form, node->node);
                if (m + 1 < form->members)
                        reprice(search, node, before, most - cost);
        }
        drop_needless(search, &cost);
        *ret_cost = cost;
        return true;
}

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
                units += units_of(state, search->scratch->victims[v].slot);
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
        struct holding holding = {0};
        struct promise promise;

        for (uint32_t p = 0; p < scratch->places_count; p++)
                holding_add(search->state, scratch->places[p].node, search->need,
                            scratch->places[p].parts, scratch->places[p].parts_count, &holding);
        enum standing standing = accounts_standing(search->state, search->beneficiary.bucket,
                                                   &holding, &promise);
        return search->beneficiary.cause == PLAN_PROTECT ? standing == STANDING_PROTECTED
                                                         : standing != STANDINGS_END;
}

/* ---- facts ---- */

static uint32_t next_plan(const struct state *state)
{
        return state->plan_slots.free != NONE ? state->plan_slots.free : state->plan_slots.high;
}

static int emit(struct search *search, enum plan_cause cause, uint64_t cost, struct err *err)
{
        const struct state *state = search->state;
        struct preempt_scratch *scratch = search->scratch;
        uint32_t plan = next_plan(state);
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
                fact = fact_add(search->memo, FACT_NOTICED);
                if (!fact)
                        return no_memory(err);
                fact->noticed.workload = victim->id;
                fact->noticed.plan = plan;
                fact->noticed.cause = NOTICE_PLAN;
                fact->noticed.leave_by_ms = 0;
                fact->noticed.until_ms = now_ms + class_of(state, victim->bucket)->notice_ms;
                fact->noticed.units = units_of(state, scratch->victims[v].slot);
        }
        return 1;
}

/* Levels that are required of a gang are not planned for: nothing is stopped in vain. */
static bool can_plan(const struct state *state, const struct bucket *bucket)
{
        return state->plan_slots.used < state->bounds.plans_max &&
               bucket->form.members <= state->plan_place_slots.max - state->plan_place_slots.used &&
               !(bucket->form.near_required && bucket->form.near != NEAR_POOL &&
                 bucket->form.near != NEAR_NONE) &&
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
                                .now_ms = now_ms},
                .shape = bucket->shape,
                .need = &state->shapes[bucket->shape].need,
                .models = models,
                .leaves_ms = leaves_ms(state, slot, now_ms) + longest_notice_ms(state)};
        uint64_t cost, most = UINT64_MAX / 2;
        struct asker asker;

        if (workload->plan || !can_plan(state, bucket))
                return 0;
        if (!memo->preempt) {
                memo->preempt = mem_new(1, sizeof *memo->preempt);
                if (!memo->preempt)
                        return no_memory(err);
        }
        if (asker_of_slot(state, slot, &asker))
                search.asker = &asker;
        search.scratch = memo->preempt;
        if (cause == PLAN_GATHER)
                most = waited_unit_s(state, &search) /
                       (class_of(state, workload->bucket)->time_slices_count > 0
                                ? GATHER_PART_SLICED
                                : GATHER_PART);
        if (!place_all(&search, most, &cost))
                return search.failed && !memo->failed ? no_memory(err) : 0;
        if (search.scratch->victims_count == 0 || !stop_rate_allows(&search) ||
            !may_hold(&search))
                return 0;
        return emit(&search, cause, cost, err);
}

int withdraw_plan(struct memo *memo, const struct state *state, uint32_t slot, struct err *err)
{
        const struct workload *workload = &state->workloads[slot];
        struct fact *fact;

        if (workload->members_placed > 0 || workload->plan == 0)
                return 0;
        fact = fact_add(memo, FACT_PLAN_ENDED);
        if (!fact)
                return no_memory(err);
        fact->plan_ended.plan = workload->plan - 1;
        fact->plan_ended.end = PLAN_WITHDRAWN;
        return 0;
}
