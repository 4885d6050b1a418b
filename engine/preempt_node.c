/* One node of a search: who would have to stop there for one more member, at the least loss. */
#include "engine/preempt_impl.h"

#include <stdlib.h>
#include <string.h>


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

void spare_node_without(const struct search *search, struct spare_node *node, uint32_t slot)
{
        const struct state *state = search->state;

        for (uint32_t at = state->nodes[node->node].first_member; at != NONE;
             at = state->members[at].node_next)
                if (state->members[at].workload == slot)
                        give_back(search, node, at);
}

/* The node as it is, without the victims chosen so far. Those of other plans still run: which plan
 * comes first to its hand-over is open, so their room is not counted twice. */
void spare_node_init(const struct search *search, struct spare_node *node)
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
                spare_node_without(search, node, search->scratch->victims[v].slot);
}

bool spare_node_has_room(const struct search *search, const struct spare_node *node)
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

        if (!spare_node_has_room(search, node) || node->bars)
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
bool search_list_local(struct search *search, uint32_t node)
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
bool search_clear_node(struct search *search, struct spare_node *node, uint64_t most,
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
                spare_node_without(search, &tried, scratch->local[stopped].slot);
                stopped++;
        }
        for (uint32_t l = stopped; l-- > 0;) {
                struct spare_node without = *node;
                struct move move;
                scratch->local[l].needed = false;
                for (uint32_t k = 0; k < stopped; k++)
                        if (scratch->local[k].needed)
                                spare_node_without(search, &without, scratch->local[k].slot);
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

/* What a member on the node would cost at most `most`. */
void search_price_node(struct search *search, struct spare_node *node, uint64_t most)
{
        struct spare_node tried = *node;
        struct move move;

        node->possible = false;
        if (node->closed)
                return;
        if (!search_list_local(search, node->node)) {
                search->failed = true;
                return;
        }
        if (!could_fit(search, node))
                return;
        node->possible = search_clear_node(search, &tried, most, &node->cost, &move);
}
