/* What fits where, now: counted as gang.c counts, for needs that may not be interned, and for
 * states with one thing changed. */
#include <string.h>

#include "engine/explain_impl.h"
#include "engine/gang_impl.h"

/* ---- one node ---- */

/* What is known of spots and classes is about one asking. */
static void begin(struct explainer *x, const struct asking *asking)
{
        if (x->rooms_of == asking->id)
                return;
        memset(x->rooms, 0, x->rooms_room * sizeof *x->rooms);
        memset(x->shorts, 0, x->classes_room);
        memset(x->codes, 0, x->classes_room);
        x->rooms_of = asking->id;
}

static uint32_t spot_room(struct explainer *x, const struct asking *asking, uint32_t number)
{
        const struct spot *spot = &x->memo->spots[number];

        begin(x, asking);
        if (x->rooms[number] == 0) {
                uint32_t room = 0;
                if (asking->models >> spot->model & 1)
                        room = part_room(model_get(x->state->models, spot->model), &spot->state,
                                         &asking->fits[spot->model]);
                x->rooms[number] = (uint16_t)(room + 1);
        }
        return x->rooms[number] - 1u;
}

/* Whether the nodes of a class have too few devices with room, or are not wanted at all. */
static bool class_is_short(struct explainer *x, const struct asking *asking, uint32_t number)
{
        const struct view *view = &x->memo->classes[number].view;
        unsigned have = 0;

        begin(x, asking);
        if (x->shorts[number] == 0) {
                for (unsigned d = 0; d < view->count; d++)
                        have += spot_room(x, asking, view->spots[d]) > 0;
                bool good = have >= asking->need.devices &&
                            node_admits(x->state, &x->memo->kinds[view->kind].desc, &asking->need);
                x->shorts[number] = good ? 1 : 2;
        }
        return x->shorts[number] == 2;
}

static uint32_t device_room(const struct state *state, const struct asking *asking, unsigned model,
                            const struct device_state *device)
{
        if (!(asking->models >> model & 1))
                return 0;
        return part_room(model_get(state->models, model), device, &asking->fits[model]);
}

/* As the devices would be without the parts of the work that is gone. */
static void rooms_without(const struct state *state, const struct asking *asking, uint32_t gone,
                          uint32_t number, uint32_t *rooms)
{
        struct device_state devices[NODE_DEVICES_MAX];
        unsigned model = state->nodes[number].desc.model, touched = 0;

        for (unsigned d = 0; d < state->nodes[number].desc.devices; d++)
                devices[d] = node_devices(state, number)[d].state;
        for (uint32_t at = state->workloads[gone].first_member; at != NONE;
             at = state->members[at].next) {
                if (state->members[at].node != number)
                        continue;
                for (uint32_t held = state->members[at].first_part; held != NONE;
                     held = state->parts[held].next) {
                        const struct part *part = &state->parts[held].part;
                        device_give(model_get(state->models, model), &devices[part->device], part);
                        touched |= 1u << part->device;
                }
        }
        for (unsigned d = 0; d < state->nodes[number].desc.devices; d++)
                if ((touched >> d & 1) && node_devices(state, number)[d].kept_for == 0)
                        rooms[d] = device_room(state, asking, model, &devices[d]);
}

/* What lies there and is not thought away bars the asking from devices; locks are seen through by
 * who asks for that. */
static uint32_t bars_of(const struct explainer *x, const struct asking *asking,
                        const struct what_if *what_if, uint32_t number)
{
        const struct state *state = x->state;
        uint32_t bars = 0;

        if (!asking->is_isolated)
                return 0;
        if (!isolation_admits(state, &asking->asker, number))
                return BARRED_NODE;
        for (uint32_t at = state->nodes[number].first_member; at != NONE;
             at = state->members[at].node_next)
                if (!what_if || state->members[at].workload != what_if->gone)
                        bars |= isolation_member(state, &asking->asker, at);
        return bars;
}

void node_rooms(struct explainer *x, const struct asking *asking, const struct what_if *what_if,
                uint32_t number, unsigned through, uint32_t rooms[NODE_DEVICES_MAX])
{
        const struct node *node = &x->state->nodes[number];
        const uint32_t *spots = x->memo->links[number].spots;

        for (unsigned d = 0; d < node->desc.devices; d++) {
                rooms[d] = spot_room(x, asking, spots[d]);
                if (rooms[d] > 0 || !(through & THROUGH_LOCKS) ||
                    !x->memo->spots[spots[d]].state.broken)
                        continue;
                const struct device *device = &node_devices(x->state, number)[d];
                if (device->kept_for)
                        rooms[d] = device_room(x->state, asking, node->desc.model, &device->state);
        }
        if (what_if && what_if->gone != NONE)
                rooms_without(x->state, asking, what_if->gone, number, rooms);
        uint32_t bars = bars_of(x, asking, what_if, number);
        for (unsigned d = 0; bars && d < node->desc.devices; d++)
                if (bars >> d & 1)
                        rooms[d] = 0;
}

static uint32_t limit_by(uint32_t limit, uint32_t free, uint32_t need)
{
        return need > 0 && free / need < limit ? free / need : limit;
}

/* What the work that is gone had of the node itself. */
static uint32_t members_gone(const struct state *state, const struct what_if *what_if,
                             uint32_t node, const struct need **ret_need)
{
        uint32_t count = 0;

        if (!what_if || what_if->gone == NONE)
                return 0;
        const struct workload *workload = &state->workloads[what_if->gone];
        *ret_need = &state->shapes[state->buckets[workload->bucket].shape].need;
        for (uint32_t at = workload->first_member; at != NONE; at = state->members[at].next)
                count += state->members[at].node == node;
        return count;
}

static uint32_t left_of(uint32_t total, uint32_t used, uint32_t back)
{
        used -= back;
        return total > used ? total - used : 0;
}

uint32_t node_members(struct explainer *x, const struct asking *asking,
                      const struct what_if *what_if, uint32_t number, unsigned first,
                      unsigned count, const uint32_t *rooms)
{
        const struct node *node = &x->state->nodes[number];
        const struct need *need = &asking->need, *gone = need;
        uint32_t back = members_gone(x->state, what_if, number, &gone);
        uint32_t limit = asking->form.spread != SPREAD_NONE ? 1 : asking->form.members;

        if (need->devices == 0 && bars_of(x, asking, what_if, number) == BARRED_NODE)
                return 0;
        uint32_t cpu = node->cpu_used + node->cpu_kept, ram = node->ram_used + node->ram_kept;
        uint32_t disk = node->disk_used + node->disk_kept;
        uint32_t network = node->network_used + node->network_kept;
        limit = limit_by(limit, left_of(node->desc.cpu_milli, cpu, back * gone->cpu_milli),
                         need->cpu_milli);
        limit = limit_by(limit, left_of(node->desc.ram_mib, ram, back * gone->ram_mib),
                         need->ram_mib);
        limit = limit_by(limit, left_of(node->desc.disk_mib, disk, back * gone->disk_mib),
                         need->disk_mib);
        limit = limit_by(limit,
                         left_of(node->desc.network_mbit, network, back * gone->network_mbit),
                         need->network_mbit);
        return site_limit_by_devices(limit, rooms + first, count, need->devices);
}

/* ---- which nodes ---- */

static bool meets(struct explainer *x, unsigned labels, unsigned where)
{
        if (where == 0)
                return true;
        if (x->where_labels != (labels << 16 | where) + 1) {
                x->where_labels = (labels << 16 | where) + 1;
                x->where_meets = vocab_meets(x->state->vocab, labels, where);
        }
        return x->where_meets;
}

bool kind_wanted(const struct explainer *x, const struct asking *asking,
                 const struct node_desc *desc)
{
        return !asking->is_isolated || isolation_admits_kind(x->state, &asking->asker, desc);
}

/* As node_admits(), for needs whose labels are asked about many times. */
bool node_wanted(struct explainer *x, const struct asking *asking, uint32_t number)
{
        const struct node_desc *desc = &x->state->nodes[number].desc;
        const struct need *need = &asking->need;

        return !desc->drained && need->devices <= desc->devices &&
               (need->devices == 0 || (need->models >> desc->model & 1)) &&
               (need->plane == 0 || need->plane == desc->plane) &&
               meets(x, desc->labels, need->where) && kind_wanted(x, asking, desc);
}

bool closes_too_soon(const struct explainer *x, const struct asking *asking, uint32_t number)
{
        return x->state->nodes_closing > 0 &&
               node_closes_ms(&x->state->nodes[number]) < asking->leaves_ms;
}

/* Whether work may go there: nodes stay open until it is gone; on held ones, who holds them, and
 * single work that is gone in time. */
bool node_open(const struct explainer *x, const struct asking *asking, uint32_t number,
               unsigned through)
{
        const struct node *node = &x->state->nodes[number];

        if (node->status != NODE_UP || node->frozen || closes_too_soon(x, asking, number))
                return false;
        if (node->held_for == 0 || node->held_for == asking->slot + 1 || (through & THROUGH_HOLDS))
                return true;
        return !form_is_gang(&asking->form) && asking->gone_ms <= node->held_until_ms;
}

/* ---- all of them ---- */

struct sum {
        struct explainer *x;
        const struct asking *asking;
        enum near_level level;
        uint32_t most; /* in one domain */
};

/* As gang_room.c keys domains. */
static uint64_t domain_key(const struct node_desc *desc, uint32_t node, unsigned first,
                           enum near_level level)
{
        uint64_t own = 1ull << 40 | (uint64_t)node << 8;
        uint16_t name = level == NEAR_NVLINK  ? desc->nvlink
                        : level == NEAR_RACK  ? desc->rack
                        : level == NEAR_BLOCK ? desc->block
                                              : 0;

        if (level == NEAR_NONE || level == NEAR_POOL)
                return 0;
        if (level == NEAR_DEVICE_LINKS)
                return own | first;
        return name ? name : own;
}

static uint64_t *sum_of(struct explainer *x, uint64_t key)
{
        uint32_t at = map_get(&x->domains, key);

        if (at == MAP_NONE) {
                at = x->domains.count;
                if (!memo_room(x->memo, &x->sums, &x->sums_room, at, sizeof *x->sums) ||
                    map_set(&x->domains, key, at) != 0) {
                        x->failed = true;
                        return NULL;
                }
                x->sums[at] = 0;
        }
        return &x->sums[at];
}

/* With `spread: rack`, only one member of each rack and domain counts. */
static bool is_new_rack(struct explainer *x, const struct node_desc *desc, uint32_t node,
                        uint64_t domain)
{
        uint64_t rack = domain_key(desc, node, 0, NEAR_RACK);
        uint64_t key = map_mix(map_mix(rack + 1) ^ domain) | 1ull << 63;
        uint64_t *seen = sum_of(x, key);

        if (!seen || *seen > 0)
                return false;
        *seen = 1;
        return true;
}

static void sum_add(struct sum *sum, uint32_t node, unsigned first, uint32_t members)
{
        const struct node_desc *desc = &sum->x->state->nodes[node].desc;
        uint64_t key = domain_key(desc, node, first, sum->level);
        uint64_t *at;

        if (sum->level == NEAR_NONE && sum->asking->form.spread != SPREAD_RACK) {
                sum->most += members;
                return;
        }
        if (sum->asking->form.spread == SPREAD_RACK) {
                if (!is_new_rack(sum->x, desc, node, key))
                        return;
                members = 1;
        }
        at = sum_of(sum->x, key);
        if (!at)
                return;
        *at += members;
        if (*at > sum->most)
                sum->most =
                        *at > sum->asking->form.members ? sum->asking->form.members : (uint32_t)*at;
}

static void sum_node(struct sum *sum, const struct what_if *what_if, uint32_t number,
                     unsigned through)
{
        const struct node_desc *desc = &sum->x->state->nodes[number].desc;
        unsigned group = gang_group_size(desc, sum->level), first = 0;
        uint32_t rooms[NODE_DEVICES_MAX];

        if (sum->asking->need.devices > 0)
                node_rooms(sum->x, sum->asking, what_if, number, through, rooms);
        do {
                unsigned left = desc->devices - first, count = left < group ? left : group;
                uint32_t members =
                        node_members(sum->x, sum->asking, what_if, number, first, count, rooms);
                if (members > 0)
                        sum_add(sum, number, first, members);
                first += group;
        } while (group > 0 && first < desc->devices);
}

uint32_t members_fit(struct explainer *x, const struct asking *asking,
                     const struct what_if *what_if, uint64_t models, unsigned through)
{
        const struct state *state = x->state;
        struct sum sum = {.x = x, .asking = asking, .level = (enum near_level)asking->form.near};

        /* A preferred level loosens up to the pool. */
        if (!asking->form.near_required || sum.level == NEAR_POOL)
                sum.level = NEAR_NONE;
        /* Locks, and work that is thought away, make room that a class does not show. */
        bool by_class = through == 0 && (!what_if || what_if->gone == NONE);
        map_clear(&x->domains);
        for (uint32_t n = 0; n < state->node_slots.high; n++) {
                const struct node_desc *desc = &state->nodes[n].desc;
                if (by_class && x->memo->links[n].class != NONE &&
                    class_is_short(x, asking, x->memo->links[n].class))
                        continue;
                if (models != UINT64_MAX && (desc->devices == 0 || !(models >> desc->model & 1)))
                        continue;
                if (!node_open(x, asking, n, through) || !node_wanted(x, asking, n))
                        continue;
                sum_node(&sum, what_if, n, through);
                if (sum.most >= asking->form.members)
                        return asking->form.members;
        }
        return sum.most;
}

/* ---- what could ever fit ---- */

static uint32_t members_when_empty(const struct asking *asking, const struct node_desc *desc,
                                   unsigned devices, uint32_t room)
{
        const struct need *need = &asking->need;
        uint32_t limit = asking->form.spread != SPREAD_NONE ? 1 : asking->form.members;
        uint32_t rooms[NODE_DEVICES_MAX];

        for (unsigned d = 0; d < devices; d++)
                rooms[d] = room;
        limit = limit_by(limit, desc->cpu_milli, need->cpu_milli);
        limit = limit_by(limit, desc->ram_mib, need->ram_mib);
        limit = limit_by(limit, desc->disk_mib, need->disk_mib);
        limit = limit_by(limit, desc->network_mbit, need->network_mbit);
        return site_limit_by_devices(limit, rooms, devices, need->devices);
}

static void sum_empty_node(struct sum *sum, uint32_t number, uint32_t room)
{
        const struct node_desc *desc = &sum->x->state->nodes[number].desc;
        unsigned group = gang_group_size(desc, sum->level), first = 0;

        do {
                unsigned left = desc->devices - first;
                uint32_t members =
                        members_when_empty(sum->asking, desc, left < group ? left : group, room);
                if (members > 0)
                        sum_add(sum, number, first, members);
                first += group;
        } while (group > 0 && first < desc->devices);
}

bool could_ever_fit(struct explainer *x, const struct asking *asking)
{
        const struct state *state = x->state;
        struct sum sum = {.x = x, .asking = asking};
        struct device_state empty = {0};
        uint32_t rooms[MODELS_MAX] = {0};

        if (asking->form.near_required && asking->form.near != NEAR_POOL)
                sum.level = (enum near_level)asking->form.near;
        for (uint64_t left = asking->models; left; left &= left - 1) {
                unsigned m = (unsigned)__builtin_ctzll(left);
                rooms[m] = part_room(model_get(state->models, m), &empty, &asking->fits[m]);
        }
        map_clear(&x->domains);
        for (uint32_t n = 0; n < state->node_slots.high && sum.most < asking->form.members; n++) {
                struct node_desc desc = state->nodes[n].desc;
                desc.drained = false;
                if (state->nodes[n].status != NODE_FREE_SLOT &&
                    node_admits(state, &desc, &asking->need) && kind_wanted(x, asking, &desc))
                        sum_empty_node(&sum, n, rooms[desc.model]);
        }
        return sum.most >= asking->form.members;
}
