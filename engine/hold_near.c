/* Capacity holds for gangs whose nodes hang together: where the latest place is ready first. */
#include "engine/hold_impl.h"

#include <stdlib.h>
#include <string.h>

#include "engine/decide_impl.h"
#include "engine/gang_impl.h"

/* Canonical forms require no level that says nothing (need.c). */
bool hold_looks_around(const struct state *state, const struct bucket *bucket)
{
        const struct form *form = &bucket->form;
        const struct need *need = &state->shapes[bucket->shape].need;
        bool may_share = form->members > 1 && form->spread == SPREAD_NONE && need->devices > 0 &&
                         (need->ask != ASK_WHOLE || need->devices * 2u <= state->devices_max);

        return form->near_required || form->spread == SPREAD_RACK || may_share;
}

static int by_domain(const void *a, const void *b)
{
        const struct place *x = a, *y = b;

        if (x->domain != y->domain)
                return x->domain < y->domain ? -1 : 1;
        if (x->ready_ms != y->ready_ms)
                return x->ready_ms < y->ready_ms ? -1 : 1;
        return (x->node > y->node) - (x->node < y->node);
}

/* Devices of one node that so many members need, each of which takes so many parts; at least those
 * of one member, which lie on different ones. */
static unsigned devices_for(uint32_t members, unsigned each, uint32_t parts)
{
        uint32_t devices = (members * each + parts - 1) / parts;

        return devices > each ? devices : each;
}

/* What a node offers: members may share it, and parts of members a device; each is one more place,
 * ready later. Members without devices, for whose cores nothing is reckoned, take a node each. Wide
 * work on linked devices fits only where all of a node's are linked: its groups need no telling
 * apart. */
static bool add_places(struct memo *memo, const struct hold_search *search, uint32_t node,
                       enum near_level level, uint32_t *count)
{
        const struct form *form = &search->bucket->form;
        const struct need *need = &search->state->shapes[search->bucket->shape].need;
        const struct node_desc *desc = &search->state->nodes[node].desc;
        bool one = need->devices == 0 || form->spread != SPREAD_NONE;
        uint32_t most = one ? 1 : form->members;
        uint32_t parts =
                need->devices == 0 ? 1 : gang_room_when_empty(search->state, need, desc->model);

        for (uint32_t m = 1; parts > 0 && m <= most; m++) {
                unsigned devices = devices_for(m, need->devices, parts);
                int64_t ready = devices <= gang_group_size(desc, level)
                                        ? hold_ready_ms(search, node, devices)
                                        : INT64_MAX;
                if (ready == INT64_MAX)
                        return true;
                if (!memo_room(memo, &memo->hold_places, &memo->hold_places_room, *count,
                               sizeof *memo->hold_places))
                        return false;
                memo->hold_places[(*count)++] = (struct place){
                        ready, gang_domain_key(desc, node, 0, level), node};
        }
        return true;
}

static bool is_closed(const struct hold_search *search, const struct place *chosen, uint32_t count,
                      const struct place *place)
{
        const struct node *nodes = search->state->nodes;

        if (search->bucket->form.spread != SPREAD_RACK)
                return false;
        for (uint32_t c = 0; c < count; c++)
                if (gang_same_rack(&nodes[chosen[c].node].desc, &nodes[place->node].desc))
                        return true;
        return false;
}

/* The soonest of one domain's places, moved to its front. False: they are not enough. */
static bool choose_soonest(const struct hold_search *search, struct place *places, uint32_t count)
{
        uint32_t members = search->bucket->form.members, have = 0;

        for (uint32_t p = 0; p < count && have < members; p++)
                if (!is_closed(search, places, have, &places[p]))
                        places[have++] = places[p];
        return have == members;
}

/* Of the soonest places of two domains; of equals the one with the lower node. */
static bool is_sooner(const struct place *a, const struct place *b, uint32_t members)
{
        int64_t x = a[members - 1].ready_ms, y = b[members - 1].ready_ms;

        return x != y ? x < y : a->node < b->node;
}

int hold_find_near(struct memo *memo, const struct hold_search *search, struct err *err)
{
        const struct form *form = &search->bucket->form;
        uint32_t members = form->members, count = 0, best = NONE;
        enum near_level level = form->near_required ? (enum near_level)form->near : NEAR_NONE;

        for (uint32_t n = 0; n < search->state->node_slots.high; n++)
                if (!add_places(memo, search, n, level, &count))
                        return no_memory(err);
        struct place *places = memo->hold_places;
        if (count > 1)
                qsort(places, count, sizeof *places, by_domain);
        for (uint32_t first = 0, end = 0; first < count; first = end) {
                while (end < count && places[end].domain == places[first].domain)
                        end++;
                if (choose_soonest(search, &places[first], end - first) &&
                    (best == NONE || is_sooner(&places[first], &places[best], members)))
                        best = first;
        }
        if (best == NONE)
                return 0;
        memmove(places, &places[best], members * sizeof *places);
        return 1;
}
