#include "tests/property/isolate_rules.h"

#include "engine/accounts.h"

struct lying {
        const struct workload *work;
        const struct bucket *bucket;
        const struct need *need;
        const struct tenant *tenant;
        const struct service_class *class;
        const struct data_label *label;
};

static struct lying lying_of(const struct state *state, uint32_t slot)
{
        const struct tenancy *tenancy = state->accounts->tenancy;
        const struct workload *work = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[work->bucket];

        return (struct lying){work,
                              bucket,
                              &state->shapes[bucket->shape].need,
                              &tenancy->tenants[bucket->tenant],
                              &tenancy->classes[bucket->class],
                              bucket->data ? &tenancy->labels[bucket->data - 1] : NULL};
}

static bool may_share(const struct tenancy *tenancy, const struct lying *a, const struct lying *b)
{
        if (a->tenant->trust == b->tenant->trust)
                return true;
        return a->tenant->trust < TRUSTS_MAX && b->tenant->trust < TRUSTS_MAX &&
               (tenancy->trusts[a->tenant->trust].with >> b->tenant->trust & 1);
}

static unsigned apart_of(const struct lying *it)
{
        return it->label ? it->label->apart : LABEL_APART_NONE;
}

static bool node_forbids(const struct lying *a, const struct lying *b)
{
        if (a->work->group && a->work->group == b->work->group &&
            a->bucket->form.spread != SPREAD_NONE)
                return true;
        return (a->class->apart_node >> b->bucket->class & 1) ||
               (a->label != b->label &&
                (apart_of(a) == LABEL_APART_NODE || apart_of(b) == LABEL_APART_NODE));
}

static bool device_forbids(const struct tenancy *tenancy, const struct lying *a,
                           const struct lying *b, unsigned method)
{
        return (a->class->apart_device >> b->bucket->class & 1) ||
               (a->label != b->label &&
                (apart_of(a) != LABEL_APART_NONE || apart_of(b) != LABEL_APART_NONE)) ||
               (method == METHOD_SHARE && !may_share(tenancy, a, b));
}

static bool plane_forbids(const struct state *state, const struct lying *a,
                          const struct node_desc *desc)
{
        const struct tenancy *tenancy = state->accounts->tenancy;
        uint64_t planes = a->class->planes & a->tenant->planes &
                          (a->label ? a->label->planes : UINT64_MAX);

        for (uint32_t p = 0; p < tenancy->planes_count; p++)
                if (desc->plane && desc->plane == vocab_find(state->vocab, tenancy->planes[p]))
                        return !(planes >> p & 1);
        return planes != UINT64_MAX;
}

static bool zone_forbids(const struct state *state, const struct lying *a,
                         const struct node_desc *desc)
{
        struct where where;

        for (unsigned i = 0; a->label && i < a->label->nodes_count; i++) {
                (void)vocab_where_parse(state->vocab, a->label->nodes[i].key,
                                        a->label->nodes[i].condition, &where, NULL);
                int wheres = vocab_wheres(state->vocab, &where, 1, NULL);
                if (!vocab_meets(state->vocab, desc->labels, (unsigned)wheres))
                        return true;
        }
        return false;
}

static bool is_later(struct later later, uint64_t id)
{
        for (unsigned i = 0; i < later.count; i++)
                if (later.ids[i] == id)
                        return true;
        return false;
}

static bool rack_forbids(const struct state *state, uint32_t slot, uint32_t node,
                         struct later later)
{
        const struct workload *work = &state->workloads[slot];

        if (work->group == 0 || state->buckets[work->bucket].form.spread != SPREAD_RACK)
                return false;
        for (uint32_t m = 0; m < state->workload_slots.high; m++) {
                const struct workload *mate = &state->workloads[m];
                if (m == slot || !mate->live || mate->group != work->group ||
                    is_later(later, mate->id))
                        continue;
                for (uint32_t at = mate->first_member; at != NONE; at = state->members[at].next) {
                        uint16_t rack = state->nodes[state->members[at].node].desc.rack;
                        if (rack && rack == state->nodes[node].desc.rack)
                                return true;
                }
        }
        return false;
}

uint32_t rules_forbid(const struct state *state, uint32_t slot, uint32_t node, struct later later)
{
        struct lying a = lying_of(state, slot);
        const struct node_desc *desc = &state->nodes[node].desc;
        uint32_t devices = 0;

        if (plane_forbids(state, &a, desc) || zone_forbids(state, &a, desc) ||
            rack_forbids(state, slot, node, later))
                return UINT32_MAX;
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                if (w == slot || !state->workloads[w].live ||
                    is_later(later, state->workloads[w].id))
                        continue;
                struct lying b = lying_of(state, w);
                for (uint32_t at = b.work->first_member; at != NONE;
                     at = state->members[at].next) {
                        if (state->members[at].node != node)
                                continue;
                        if (node_forbids(&a, &b))
                                return UINT32_MAX;
                        for (uint32_t p = state->members[at].first_part; p != NONE;
                             p = state->parts[p].next)
                                if (device_forbids(state->accounts->tenancy, &a, &b,
                                                   state->parts[p].part.method))
                                        devices |= 1u << state->parts[p].part.device;
                }
        }
        return devices;
}

bool rules_allow(const struct state *state, uint32_t slot, uint32_t number)
{
        struct lying it = lying_of(state, slot);
        const struct node *node = &state->nodes[number];
        uint32_t devices = rules_forbid(state, slot, number, (struct later){NULL, 0});
        unsigned room = 0;
        struct part_fit fit;

        if (node->status != NODE_UP || node->held_for || devices == UINT32_MAX ||
            !node_admits(state, &node->desc, it.need) || !node_has_room(node, it.need))
                return false;
        if (it.need->devices == 0)
                return true;
        if (!shape_fit(state, it.need, node->desc.model, &fit))
                return false;
        for (unsigned d = 0; d < node->desc.devices; d++) {
                const struct device *device = &node_devices(state, number)[d];
                room += !(devices >> d & 1) && device->kept_for == 0 &&
                        part_fits(node_model(state, number), &device->state, &fit);
        }
        return room >= it.need->devices;
}
