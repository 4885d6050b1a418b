/* Every node has exactly one reason why no member lies on it now, or FITS. */
#include "engine/explain_impl.h"
#include "engine/gang_impl.h"
#include "engine/units.h"

static bool is_too_small(const struct node_desc *desc, const struct need *need)
{
        return desc->devices < need->devices || desc->cpu_milli < need->cpu_milli ||
               desc->ram_mib < need->ram_mib || desc->disk_mib < need->disk_mib ||
               desc->network_mbit < need->network_mbit;
}

/* What is in the way of a part on a device that has no room for one. */
static enum node_code code_of_device(const struct looking *it, const struct spot *spot)
{
        const struct asking *asking = it->asking;
        const struct part_fit *fit = &asking->fits[spot->model];
        uint32_t least = asking->units[spot->model] / asking->need.devices;

        if (spot->state.broken)
                return CODE_UNHEALTHY;
        if (spot->free_units < least)
                return CODE_BUSY;
        if (spot->state.mode == DEVICE_SHARED)
                return fit->share_milli ? CODE_MEMORY : CODE_LAYOUT_CHANGE_NEEDED;
        if (fit->profiles == 0)
                return CODE_LAYOUT_CHANGE_NEEDED;
        const struct model *model = model_get(it->x->state->models, spot->model);
        return model->cut == MODEL_MODES ? CODE_LAYOUT_CHANGE_NEEDED : CODE_FRAGMENTED;
}

/* Devices are short: the code of most of those that could make up for it, or BUSY. */
static enum node_code code_of_devices(const struct looking *it, uint32_t number,
                                      const uint32_t *rooms, unsigned have)
{
        const struct node_desc *desc = &it->x->state->nodes[number].desc;
        unsigned counts[CODES_END] = {0}, best = CODE_BUSY;
        uint64_t free = 0;

        for (unsigned d = 0; d < desc->devices; d++) {
                const struct spot *spot = &it->x->memo->spots[it->x->memo->links[number].spots[d]];
                free += spot->free_units;
                if (rooms[d] == 0)
                        counts[code_of_device(it, spot)]++;
        }
        if (it->asking->need.ask == ASK_WHOLE)
                return free >= (uint64_t)it->asking->need.devices * UNITS_DEVICE ? CODE_FRAGMENTED
                                                                                 : CODE_BUSY;
        counts[CODE_BUSY] = counts[CODE_UNHEALTHY] = 0;
        for (unsigned c = 0; c < CODES_END; c++) {
                have += counts[c];
                if (counts[c] > counts[best])
                        best = c;
        }
        return have >= it->asking->need.devices ? (enum node_code)best : CODE_BUSY;
}

static enum node_code code_without_room(const struct looking *it, uint32_t number,
                                        const uint32_t *rooms)
{
        const struct node *node = &it->x->state->nodes[number];
        const struct need *need = &it->asking->need;
        unsigned have = 0;

        for (unsigned d = 0; need->devices > 0 && d < node->desc.devices; d++)
                have += rooms[d] > 0;
        if (have < need->devices)
                return code_of_devices(it, number, rooms, have);
        if (need->cpu_milli > node->cpu_free)
                return CODE_CORES;
        if (need->ram_mib > node->ram_free)
                return CODE_RAM;
        return need->disk_mib > node->disk_free ? CODE_DISK : CODE_NETWORK;
}

/* What never changes by itself; FITS: nothing of that kind. */
static enum node_code code_of_kind(struct looking *it, uint32_t number)
{
        const struct node_desc *desc = &it->x->state->nodes[number].desc;
        const struct need *need = &it->asking->need;

        if (need->devices > 0 && (desc->devices == 0 || !(need->models >> desc->model & 1)))
                return CODE_TYPE_MISMATCH;
        if (need->devices > 0 && !(it->asking->models >> desc->model & 1))
                return need->ask == ASK_PROFILE ? CODE_PROFILE_ABSENT : CODE_TOO_SMALL;
        if (need->devices > 0 && (it->barred >> desc->model & 1))
                return CODE_NOT_ALLOWED;
        if (is_too_small(desc, need))
                return CODE_TOO_SMALL;
        struct node_desc kept = *desc;
        kept.drained = false;
        return node_admits(it->x->state, &kept, need) && kind_wanted(it->x, it->asking, &kept)
                       ? CODE_FITS
                       : CODE_EXCLUDED;
}

static enum node_code code_of_health(const struct looking *it, uint32_t number)
{
        const struct node *node = &it->x->state->nodes[number];
        unsigned good = 0;

        for (unsigned d = 0; d < node->desc.devices; d++)
                good += !node_devices(it->x->state, number)[d].state.broken;
        if (node->status != NODE_UP || good < it->asking->need.devices)
                return CODE_UNHEALTHY;
        if (!node_takes_work(node))
                return CODE_DRAINING;
        if (node->frozen)
                return CODE_FROZEN;
        return closes_too_soon(it->x, it->asking, number) ? CODE_CLOSES_SOON : CODE_FITS;
}

/* Whether one group of linked devices can take a member, where that is required. */
static bool links_allow(const struct looking *it, uint32_t number, const uint32_t *rooms)
{
        const struct form *form = &it->asking->form;
        const struct node_desc *desc = &it->x->state->nodes[number].desc;
        unsigned group = gang_group_size(desc, NEAR_DEVICE_LINKS), first = 0;

        if (form->near != NEAR_DEVICE_LINKS || !form->near_required)
                return true;
        for (; first < desc->devices; first += group) {
                unsigned left = desc->devices - first;
                if (node_members(it->x, it->asking, NULL, number, first,
                                 left < group ? left : group, rooms) > 0)
                        return true;
        }
        return false;
}

/* Nodes of one class lack the same devices for the same reason: it is looked for once. */
static bool code_of_class(struct looking *it, uint32_t number, enum node_code *ret_code)
{
        uint32_t class = it->x->memo->links[number].class;

        if (class == NONE || it->x->rooms_of != it->asking->id || it->x->codes[class] == 0)
                return false;
        *ret_code = (enum node_code)(it->x->codes[class] - 1);
        return true;
}

static void keep_code_of_class(struct looking *it, uint32_t number, enum node_code code)
{
        uint32_t class = it->x->memo->links[number].class;

        if (class != NONE && it->asking->need.devices > 0 && it->x->state->plan_slots.used == 0 &&
            (code == CODE_BUSY || code == CODE_FRAGMENTED || code == CODE_LAYOUT_CHANGE_NEEDED ||
             code == CODE_MEMORY))
                it->x->codes[class] = (uint8_t)(code + 1);
}

enum node_code code_of_node(struct looking *it, uint32_t number, uint32_t *ret_members)
{
        const struct state *state = it->x->state;
        const struct node_desc *desc = &state->nodes[number].desc;
        const struct rights *rights = it->rights;
        uint32_t rooms[NODE_DEVICES_MAX] = {0}, members;
        enum node_code code = code_of_kind(it, number);

        *ret_members = 0;
        if (code != CODE_FITS || code_of_class(it, number, &code))
                return code;
        code = code_of_health(it, number);
        if (code != CODE_FITS)
                return code;
        if (it->asking->need.devices > 0)
                node_rooms(it->x, it->asking, NULL, number, 0, rooms);
        members = node_members(it->x, it->asking, NULL, number, 0, desc->devices, rooms);
        if (members == 0 && it->asking->is_isolated) {
                if (it->asking->need.devices > 0)
                        node_rooms(it->x, it->anywhere, NULL, number, 0, rooms);
                if (node_members(it->x, it->anywhere, NULL, number, 0, desc->devices, rooms) > 0)
                        return CODE_APART;
        }
        if (members == 0) {
                if (state->plan_slots.used > 0 && it->asking->need.devices > 0)
                        node_rooms(it->x, it->anywhere, NULL, number, THROUGH_LOCKS, rooms);
                if (node_members(it->x, it->anywhere, NULL, number, 0, desc->devices, rooms) > 0)
                        return CODE_HELD_FOR_OTHER;
                code = code_without_room(it, number, rooms);
                keep_code_of_class(it, number, code);
                return code;
        }
        if (!links_allow(it, number, rooms))
                return CODE_TOPOLOGY;
        if (!node_open(it->x, it->asking, number, 0))
                return CODE_HELD_FOR_OTHER;
        if (it->asking->need.devices > 0 && (rights->kept >> desc->model & 1))
                return CODE_RESERVED;
        if ((rights->limited | rights->unfunded) >>
                    (it->asking->need.devices > 0 ? desc->model : 0) &
            1)
                return CODE_QUOTA;
        if (it->near_short)
                return CODE_TOPOLOGY;
        *ret_members = members;
        return CODE_FITS;
}
