/* Where a beneficiary could lie if others stopped, at the least loss. */
#include "engine/preempt_impl.h"

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
        spare_node_init(search, node);
        search_price_node(search, node, most);
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

        if (!search_list_local(search, node->node) ||
            !search_clear_node(search, node, UINT64_MAX / 2, &cost, &move) ||
            !memo_room(search->memo, &scratch->places, &scratch->places_room, scratch->places_count,
                       sizeof *scratch->places))
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
                        spare_node_without(search, node, scratch->victims[v].slot);
                        search_price_node(search, node, most);
                }
        }
        search_price_node(search, placed, most);
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

        spare_node_init(search, &node);
        for (uint32_t p = 0; p < scratch->places_count; p++) {
                const struct fact_allocated *place = &scratch->places[p];
                if (place->node != number)
                        continue;
                if (!spare_node_has_room(search, &node) || node.bars)
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
