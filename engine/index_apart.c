/* Nodes with devices that somebody may not use: the best move without them, where the best of all
 * would take one. */
#include <assert.h>

#include "engine/isolate.h"
#include "engine/memo_impl.h"

bool move_lay(const struct memo *memo, uint32_t node, uint32_t bars, struct move *move)
{
        const struct node_link *link = &memo->links[node];
        const struct device *devices = node_devices(memo->state, node);
        unsigned count = memo->state->nodes[node].desc.devices;
        uint32_t used = bars;

        for (unsigned i = 0; i < move->count; i++) {
                bool slice = move->parts[i].method == METHOD_SLICE;
                unsigned chosen = NODE_DEVICES_MAX;
                for (unsigned d = 0; d < count; d++) {
                        if ((used >> d & 1) || link->spots[d] != move->from[i])
                                continue;
                        bool suits = devices[d].cut == slice;
                        if (chosen == NODE_DEVICES_MAX || suits)
                                chosen = d;
                        if (suits)
                                break;
                }
                if (chosen == NODE_DEVICES_MAX)
                        return false;
                used |= 1u << chosen;
                move->parts[i].device = (uint8_t)chosen;
        }
        return true;
}

uint32_t barred_spot(struct memo *memo, unsigned model)
{
        struct device_state barred = {.broken = 1};

        return spot_intern(memo, model, &barred);
}

/* Places of barred devices in the sorted view; of equal ones the last. */
static uint32_t places_of(const struct memo *memo, uint32_t node, const struct view *view,
                          uint32_t bars)
{
        uint32_t places = 0;

        for (unsigned d = 0; d < view->count; d++) {
                unsigned at = view->count;
                if (!(bars >> d & 1))
                        continue;
                do {
                        assert(at > 0);
                        at--;
                } while ((places >> at & 1) || view->spots[at] != memo->links[node].spots[d]);
                places |= 1u << at;
        }
        return places;
}

/* `key` and `move` are those of the class. False: not without the barred devices. */
static bool settle_for(struct memo *memo, uint32_t shape, uint32_t node, const struct class *class,
                       const struct asker *asker, int64_t *key, struct move *move)
{
        uint32_t bars = isolation_bars(memo->state, asker, node);
        int64_t found;

        if (bars == BARRED_NODE)
                return false;
        if (move_lay(memo, node, bars, move))
                return true;
        uint32_t places = places_of(memo, node, &class->view, bars);
        if (!evaluate(memo, memo->look_of[shape], class, places, &found, move))
                return false;
        bool laid = move_lay(memo, node, bars, move);
        assert(laid);
        (void)laid;
        if (found < *key)
                *key = found;
        return true;
}

bool barred_best(struct memo *memo, uint32_t shape, uint32_t node, const struct class *class,
                 const struct asker *asker, int64_t *ret_key, struct move *ret_move)
{
        return evaluate(memo, memo->look_of[shape], class, 0, ret_key, ret_move) &&
               settle_for(memo, shape, node, class, asker, ret_key, ret_move);
}

bool barred_draw(struct memo *memo, uint32_t shape, uint32_t node, const struct asker *asker,
                 uint64_t draw, struct move *ret_move)
{
        const struct class *class = &memo->classes[memo->links[node].class];
        uint32_t bars = isolation_bars(memo->state, asker, node);

        return bars != BARRED_NODE &&
               draw_move(memo, memo->look_of[shape], class,
                         places_of(memo, node, &class->view, bars), draw, ret_move) &&
               move_lay(memo, node, bars, ret_move);
}

/* A node where nothing of the best move is barred is as good as its class, and better than all
 * below it. */
uint32_t barred_first(struct memo *memo, uint32_t shape, uint32_t number, int64_t key,
                      const struct asker *asker, int64_t *ret_key)
{
        const struct class *class = &memo->classes[number];
        const struct need *need = &memo->state->shapes[shape].need;
        uint32_t best = NONE, node = class->root;
        struct move all;
        int64_t same;

        if (!evaluate(memo, memo->look_of[shape], class, 0, &same, &all))
                return NONE;
        while (node != NONE) {
                bool later = best != NONE && *ret_key == key &&
                             memo->ranks[node] > memo->ranks[best];
                struct move move = all;
                int64_t found = key;
                bool fits = !later && node_has_room(&memo->state->nodes[node], need) &&
                            settle_for(memo, shape, node, class, asker, &found, &move);
                if (fits && (best == NONE || found > *ret_key ||
                             (found == *ret_key && memo->ranks[node] < memo->ranks[best]))) {
                        best = node;
                        *ret_key = found;
                }
                node = class_next(memo, node, !later && !(fits && found == key));
        }
        return best;
}
