#include "engine/isolate.h"

#include "base/map.h"
#include "base/str.h"
#include "engine/accounts.h"

/* ---- what a policy comes to ---- */

static bool trusts_mix(const struct tenancy *tenancy, uint16_t a, uint16_t b)
{
        if (a >= TRUSTS_MAX || b >= TRUSTS_MAX)
                return a == b;
        return tenancy->trusts[a].with >> b & 1;
}

static bool any_trust_bars(const struct tenancy *tenancy)
{
        uint16_t own = TENANT_NONE;     /* a domain that a root has for itself */
        uint64_t named = 0;

        for (uint32_t t = 0; t < tenancy->tenants_count; t++) {
                uint16_t trust = tenancy->tenants[t].trust;
                if (trust < TRUSTS_MAX)
                        named |= UINT64_C(1) << trust;
                else if (own != TENANT_NONE && own != trust)
                        return true;
                else
                        own = trust;
        }
        for (uint64_t left = named; left; left &= left - 1)
                if (named & ~tenancy->trusts[__builtin_ctzll(left)].with)
                        return true;
        return own != TENANT_NONE && named;
}

void isolation_make(const struct tenancy *tenancy, struct isolation *ret_isolation)
{
        struct isolation isolation = {.trusts = any_trust_bars(tenancy)};

        isolation.any = isolation.trusts;
        for (uint32_t l = 0; l < tenancy->labels_count; l++) {
                const struct data_label *label = &tenancy->labels[l];
                isolation.labels |= label->apart != LABEL_APART_NONE;
                isolation.any |= isolation.labels || label->planes != UINT64_MAX ||
                                 label->nodes_count > 0;
        }
        for (uint32_t c = 0; c < tenancy->classes_count; c++) {
                const struct service_class *class = &tenancy->classes[c];
                isolation.any |= class->apart_device || class->apart_node ||
                                 class->planes != UINT64_MAX;
        }
        for (uint32_t t = 0; t < tenancy->tenants_count; t++)
                isolation.any |= tenancy->tenants[t].planes != UINT64_MAX;
        *ret_isolation = isolation;
}

void isolation_follow(struct state *state)
{
        const struct tenancy *tenancy = state->accounts->tenancy;
        struct isolation *isolation = &state->accounts->isolation;

        for (uint32_t p = 0; p < tenancy->planes_count; p++)
                if (isolation->planes[p] == 0)
                        isolation->planes[p] =
                                (uint16_t)vocab_find(state->vocab, tenancy->planes[p]);
}

/* ---- who asks ---- */

static const struct data_label *label_of(const struct tenancy *tenancy, uint16_t data)
{
        return data ? &tenancy->labels[data - 1] : NULL;
}

static bool takes_shares(const struct need *need)
{
        return need->ask == ASK_SHARE ||
               (need->ask == ASK_MEMORY && (need->methods & METHOD_BIT(METHOD_SHARE)));
}

/* Classes are apart both ways (tenancy.h), so one without anything is apart from none. */
static void settle_by_policy(const struct state *state, const struct need *need,
                             struct asker *asker)
{
        const struct isolation *isolation = &state->accounts->isolation;
        const struct tenancy *tenancy = state->accounts->tenancy;
        const struct service_class *class = &tenancy->classes[asker->class];
        const struct data_label *label = label_of(tenancy, asker->data);

        asker->shares = isolation->trusts && takes_shares(need);
        bool others = asker->group || isolation->labels || class->apart_device ||
                      class->apart_node;
        asker->holders = asker->shares || others;
        asker->only_shares = asker->shares && !others;
        asker->planes = class->planes & tenancy->tenants[asker->tenant].planes &
                        (label ? label->planes : UINT64_MAX);
        asker->kinds = asker->planes != UINT64_MAX || (label && label->nodes_count > 0);
}

static bool asker_settle(const struct state *state, const struct need *need, struct asker *asker)
{
        asker->planes = UINT64_MAX;
        if (asker->spread == SPREAD_NONE)
                asker->group = 0;
        asker->holders = asker->group != 0;
        if (state->accounts && state->accounts->isolation.any)
                settle_by_policy(state, need, asker);
        return asker->holders || asker->kinds;
}

bool asker_of_slot(const struct state *state, uint32_t slot, struct asker *ret_asker)
{
        const struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];

        *ret_asker = (struct asker){.slot = slot,
                                    .tenant = bucket->tenant,
                                    .class = bucket->class,
                                    .data = bucket->data,
                                    .group = workload->group,
                                    .spread = bucket->form.spread};
        return asker_settle(state, &state->shapes[bucket->shape].need, ret_asker);
}

bool asker_of_request(const struct state *state, const struct request *request,
                      struct asker *ret_asker)
{
        *ret_asker = (struct asker){.slot = NONE,
                                    .tenant = request->tenant,
                                    .class = request->class,
                                    .data = request->data,
                                    .group = request->group,
                                    .spread = request->form.spread};
        return asker_settle(state, &request->need, ret_asker);
}

/* ---- nodes ---- */

static bool plane_allowed(const struct state *state, const struct asker *asker, uint16_t plane)
{
        if (asker->planes == UINT64_MAX)
                return true;
        for (uint64_t left = plane ? asker->planes : 0; left; left &= left - 1)
                if (state->accounts->isolation.planes[__builtin_ctzll(left)] == plane)
                        return true;
        return false;
}

bool isolation_admits_kind(const struct state *state, const struct asker *asker,
                           const struct node_desc *desc)
{
        if (!asker->kinds)
                return true;
        const struct data_label *label = label_of(state->accounts->tenancy, asker->data);

        if (!plane_allowed(state, asker, desc->plane))
                return false;
        for (unsigned i = 0; label && i < label->nodes_count; i++)
                if (!vocab_meets_condition(state->vocab, desc->labels, label->nodes[i].key,
                                           label->nodes[i].condition))
                        return false;
        return true;
}

static bool same_rack(const struct state *state, uint32_t a, uint32_t b)
{
        uint16_t rack = state->nodes[a].desc.rack;

        return a == b || (rack != 0 && rack == state->nodes[b].desc.rack);
}

static bool lies_in_rack(const struct state *state, const struct workload *mate, uint32_t node)
{
        for (uint32_t at = mate->first_member; at != NONE; at = state->members[at].next)
                if (same_rack(state, node, state->members[at].node))
                        return true;
        if (mate->plan == 0 || (mate->members_placed > 0 &&
                                state->plans[mate->plan - 1].cause != PLAN_MOVE))
                return false;           /* where it is to go counts, too */
        for (uint32_t at = state->plans[mate->plan - 1].first_place; at != NONE;
             at = state->plan_places[at].next)
                if (same_rack(state, node, state->plan_places[at].node))
                        return true;
        return false;
}

static bool group_in_rack(const struct state *state, const struct asker *asker, uint32_t node)
{
        for (uint32_t at = map_get(state->first_of_group, asker->group); at != NONE;
             at = state->workloads[at].group_next)
                if (at != asker->slot && lies_in_rack(state, &state->workloads[at], node))
                        return true;
        return false;
}

/* ---- who lies there ---- */

enum bar { BAR_NOTHING, BAR_SHARES, BAR_DEVICES, BAR_NODE };

static enum bar bar_by_label(const struct tenancy *tenancy, uint16_t a, uint16_t b)
{
        unsigned apart = LABEL_APART_NONE;

        if (a == b)
                return BAR_NOTHING;
        if (a)
                apart = tenancy->labels[a - 1].apart;
        if (b && tenancy->labels[b - 1].apart > apart)
                apart = tenancy->labels[b - 1].apart;
        return apart == LABEL_APART_NODE     ? BAR_NODE
               : apart == LABEL_APART_DEVICE ? BAR_DEVICES
                                             : BAR_NOTHING;
}

/* What other work keeps the asker off where it lies. */
static enum bar bar_between(const struct state *state, const struct asker *asker, uint32_t slot)
{
        const struct workload *other = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[other->bucket];

        if (slot == asker->slot)
                return BAR_NOTHING;
        if (asker->group && other->group == asker->group)
                return BAR_NODE;
        if (!state->accounts)
                return BAR_NOTHING;
        const struct tenancy *tenancy = state->accounts->tenancy;
        const struct service_class *mine = &tenancy->classes[asker->class];
        if (mine->apart_node >> bucket->class & 1)
                return BAR_NODE;
        enum bar by_label = bar_by_label(tenancy, asker->data, bucket->data);
        if (by_label != BAR_NOTHING)
                return by_label == BAR_NODE ? BAR_NODE : BAR_DEVICES;
        if (mine->apart_device >> bucket->class & 1)
                return BAR_DEVICES;
        if (asker->shares && !trusts_mix(tenancy, tenancy->tenants[asker->tenant].trust,
                                         tenancy->tenants[bucket->tenant].trust))
                return BAR_SHARES;
        return BAR_NOTHING;
}

uint32_t isolation_member(const struct state *state, const struct asker *asker, uint32_t place)
{
        const struct member *member = &state->members[place];
        uint32_t bars = 0;

        if (!asker->holders)
                return 0;
        enum bar bar = bar_between(state, asker, member->workload);
        if (bar == BAR_NOTHING || bar == BAR_NODE)
                return bar == BAR_NODE ? BARRED_NODE : 0;
        for (uint32_t held = member->first_part; held != NONE; held = state->parts[held].next)
                if (bar == BAR_DEVICES || state->parts[held].part.method == METHOD_SHARE)
                        bars |= 1u << state->parts[held].part.device;
        return bars;
}

/* Places that a plan keeps: its devices are locked anyhow. */
static bool kept_places_admit(const struct state *state, const struct asker *asker, uint32_t node)
{
        const struct device *devices = node_devices(state, node);

        for (unsigned d = 0; d < state->nodes[node].desc.devices; d++)
                if (devices[d].kept_for &&
                    bar_between(state, asker,
                                state->plans[devices[d].kept_for - 1].beneficiary) == BAR_NODE)
                        return false;
        return true;
}

bool isolation_admits(const struct state *state, const struct asker *asker, uint32_t node)
{
        if (!isolation_admits_kind(state, asker, &state->nodes[node].desc))
                return false;
        if (!asker->holders)
                return true;
        if (state->plan_slots.used > 0 && !kept_places_admit(state, asker, node))
                return false;
        return asker->group == 0 || asker->spread != SPREAD_RACK ||
               !group_in_rack(state, asker, node);
}

uint32_t isolation_bars(const struct state *state, const struct asker *asker, uint32_t node)
{
        uint32_t bars = 0;

        if (!isolation_admits(state, asker, node))
                return BARRED_NODE;
        if (!asker->holders)
                return 0;
        for (uint32_t at = state->nodes[node].first_member; at != NONE;
             at = state->members[at].node_next) {
                bars |= isolation_member(state, asker, at);
                if (bars == BARRED_NODE)
                        break;
        }
        return bars;
}
