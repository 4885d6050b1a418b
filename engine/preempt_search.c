/* Where a beneficiary could lie if others stopped, at the least loss. */
#include "engine/preempt_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/gang_impl.h"

void preempt_scratch_free(struct preempt_scratch *scratch)
{
        if (!scratch)
                return;
        mem_free(scratch->bounds);
        mem_free(scratch->spots);
        mem_free(scratch->domains);
        mem_free(scratch->nodes);
        mem_free(scratch->victims);
        mem_free(scratch->local);
        mem_free(scratch->places);
        mem_free(scratch);
}

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
                if (device->kept_for || (search->shut >> d & 1))
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

/* Not where it lies already; and, where it is told, only to one node. */
static bool may_move_to(const struct search *search, uint32_t number)
{
        const struct state *state = search->state;

        for (uint32_t at = state->workloads[search->beneficiary.slot].first_member; at != NONE;
             at = state->members[at].next)
                if (state->members[at].node == number)
                        return false;
        return search->target == NONE || search->target == number;
}

bool search_admits(const struct search *search, uint32_t number)
{
        const struct node *node = &search->state->nodes[number];

        if (search->beneficiary.cause == PLAN_MOVE && !may_move_to(search, number))
                return false;
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

uint64_t search_least_loss(const struct search *search, uint32_t node)
{
        const struct state *state = search->state;
        uint64_t least = UINT64_MAX;

        if (search->beneficiary.cause == PLAN_MOVE)
                return 0;               /* only what is free is looked for */
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
                if (!search_admits(search, n))
                        continue;
                uint64_t least = search_least_loss(search, n);
                if (least >= most)
                        continue;
                if (!memo_room(search->memo, &scratch->bounds, &scratch->bounds_room, count,
                               sizeof *scratch->bounds))
                        return false;
                scratch->bounds[count++] = (struct bound){least, n};
        }
        while (count > 0) {
                uint32_t best = 0;
                for (uint32_t i = 1; i < count && scratch->bounds[best].least > 0; i++)
                        if (scratch->bounds[i].least < scratch->bounds[best].least)
                                best = i;
                struct bound bound = scratch->bounds[best];
                if (bound.least >= most)
                        return true;
                scratch->bounds[best] = scratch->bounds[--count];
                if (!add_node(search, bound.node, most))
                        return false;
                if (scratch->nodes_count > 0 &&
                    scratch->nodes[scratch->nodes_count - 1].cost < most)
                        most = scratch->nodes[scratch->nodes_count - 1].cost;
        }
        return true;
}

static bool list_domain(struct search *search, uint64_t most)
{
        const struct near_spot *spots = &search->scratch->spots[search->domain->first];

        for (uint32_t s = 0; s < search->domain->count; s++)
                if (!add_node(search, spots[s].node, most))
                        return false;
        return true;
}

static bool list_nodes(struct search *search, uint64_t most)
{
        search->scratch->nodes_count = 0;
        if (search->domain)
                return list_domain(search, most);
        if (search->state->buckets[search->beneficiary.bucket].form.members == 1)
                return list_for_single(search, most);
        for (uint32_t n = 0; n < search->state->node_slots.high; n++)
                if (search_admits(search, n) && !add_node(search, n, most))
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
                        if ((used >> d & 1) || node->device_bars[d] ||
                            memcmp(&settled, from, sizeof settled) != 0)
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
        const struct node_desc *placed = &search->state->nodes[number].desc;

        for (uint32_t n = 0; n < search->scratch->nodes_count; n++) {
                struct spare_node *node = &search->scratch->nodes[n];
                const struct node_desc *desc = &search->state->nodes[node->node].desc;
                if (node->node == number ||
                    (form->spread == SPREAD_RACK && gang_same_rack(desc, placed))) {
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
                        if (node.device_bars[place->parts[i].device] ||
                            !part_goes(model, device, &place->parts[i]))
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

bool search_places(struct search *search, uint64_t most, uint64_t *ret_cost)
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
