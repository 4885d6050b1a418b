/* Nodes by device model, plane and rack, as far as that many groups can be read; and who is there.
 */
#include <string.h>

#include "engine/explain_impl.h"

struct grouping {
        struct looking at;
        struct explanation *ret;
        uint32_t best[EXPLAIN_GROUPS_MAX]; /* node + 1 that lacks least */
        uint32_t best_free[EXPLAIN_GROUPS_MAX];
        uint32_t looked[EXPLAIN_GROUPS_MAX]; /* members */
};

/* ---- groups ---- */

enum { BY_RACK, BY_PLANE, BY_MODEL, GROUPINGS };

static uint64_t group_key(const struct node_desc *desc, unsigned by)
{
        uint64_t model = desc->devices ? desc->model : EXPLAIN_NO_MODEL;

        return model << 32 | (by < BY_MODEL ? (uint64_t)desc->plane << 16 : 0) |
               (by < BY_PLANE ? desc->rack : 0);
}

/* Numbers the groups; false: there are more than can be shown. */
static bool number_groups(struct explainer *x, unsigned by)
{
        uint64_t last = UINT64_MAX;

        map_clear(&x->domains);
        for (uint32_t n = 0; n < x->state->node_slots.high; n++) {
                if (x->state->nodes[n].status == NODE_FREE_SLOT)
                        continue;
                uint64_t key = group_key(&x->state->nodes[n].desc, by);
                if (key == last)
                        continue;
                last = key;
                if (map_get(&x->domains, key) != MAP_NONE)
                        continue;
                if (x->domains.count == EXPLAIN_GROUPS_MAX)
                        return false;
                if (map_set(&x->domains, key, x->domains.count) != 0)
                        x->failed = true;
        }
        return true;
}

/* One of the last resort: what is beyond goes to the last group. */
static uint32_t group_of(const struct explainer *x, const struct node_desc *desc, unsigned by)
{
        uint32_t at = map_get(&x->domains, group_key(desc, by));

        return at == MAP_NONE ? EXPLAIN_GROUPS_MAX - 1 : at;
}

static void count_tenants(struct grouping *it, uint32_t group, uint32_t number)
{
        const struct state *state = it->at.x->state;
        struct explained_group *ret = &it->ret->groups[group];

        for (uint32_t at = state->nodes[number].first_member;
             at != NONE && ret->used_by < 3 && it->looked[group] < 64;
             at = state->members[at].node_next) {
                const struct workload *workload = &state->workloads[state->members[at].workload];
                uint16_t tenant = state->buckets[workload->bucket].tenant;
                bool seen = false;
                it->looked[group]++;
                for (unsigned t = 0; t < ret->used_by; t++)
                        seen |= ret->tenants[t] == tenant;
                if (!seen)
                        ret->tenants[ret->used_by++] = tenant;
        }
}

static uint32_t idle_of(const struct grouping *it, uint32_t number)
{
        const struct node *node = &it->at.x->state->nodes[number];
        uint32_t idle = 0;

        if (!node_takes_work(node))
                return 0;
        if (it->at.x->memo->links[number].class != NONE)
                return it->at.x->memo->classes[it->at.x->memo->links[number].class].view.idle;
        for (unsigned d = 0; d < node->desc.devices; d++)
                idle += it->at.x->memo->spots[it->at.x->memo->links[number].spots[d]].idle;
        return idle;
}

static void add_node(struct grouping *it, uint32_t group, uint32_t number)
{
        struct explained_group *ret = &it->ret->groups[group];
        const struct node_desc *desc = &it->at.x->state->nodes[number].desc;
        uint32_t idle = idle_of(it, number), members;
        enum node_code code = code_of_node(&it->at, number, &members);

        ret->nodes++;
        ret->nodes_of[code]++;
        ret->devices += desc->devices;
        ret->free_devices += idle;
        if (idle > ret->largest_free)
                ret->largest_free = idle;
        ret->members += members;
        if ((code == CODE_BUSY || code == CODE_FRAGMENTED) &&
            (it->best[group] == 0 || idle > it->best_free[group])) {
                it->best[group] = number + 1;
                it->best_free[group] = idle;
        }
        count_tenants(it, group, number);
}

static void name_group(const struct grouping *it, const struct node_desc *desc, unsigned by,
                       struct explained_group *ret)
{
        (void)it;
        ret->model = desc->devices ? desc->model : EXPLAIN_NO_MODEL;
        ret->plane = by < BY_MODEL ? desc->plane : 0;
        ret->rack = by < BY_PLANE ? desc->rack : 0;
        ret->all_racks = by >= BY_PLANE;
        ret->all_planes = by >= BY_MODEL;
}

/* FITS where a node has room; else what most nodes have. Free devices that lie apart are no use. */
static uint8_t code_of_group(const struct grouping *it, const struct explained_group *group)
{
        const struct need *need = &it->at.asking->need;
        unsigned best = 0;

        if (group->nodes_of[CODE_FITS] > 0)
                return CODE_FITS;
        for (unsigned c = 1; c < CODES_END; c++)
                if (best == 0 || group->nodes_of[c] > group->nodes_of[best])
                        best = c;
        if (best == CODE_BUSY && need->ask == ASK_WHOLE && group->free_devices >= need->devices &&
            group->largest_free < need->devices)
                best = CODE_FRAGMENTED;
        return (uint8_t)best;
}

/* ---- who is in the way ---- */

static bool may_ever_be_stopped(const struct state *state, const struct workload *workload)
{
        return state->accounts && class_of(state, workload->bucket)->stop != STOP_NEVER &&
               workload->standing != STANDING_PROTECTED;
}

static struct explained_other other_of(const struct explainer *x, uint32_t slot)
{
        const struct state *state = x->state;
        const struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];

        return (struct explained_other){
                .workload = workload->id,
                .tenant = bucket->tenant,
                .class = bucket->class,
                .devices = (uint32_t)bucket_devices(state, bucket),
                .standing = workload->standing,
                .may_be_stopped = may_ever_be_stopped(state, workload),
                .end_ms = workload->service ? 0
                                            : x->now_ms + expected_left_ms(state, slot, END_PERCENT,
                                                                           x->now_ms)};
}

static void list_blockers(const struct grouping *it, uint32_t number, struct explained_group *ret)
{
        const struct state *state = it->at.x->state;

        for (uint32_t at = state->nodes[number].first_member;
             at != NONE && ret->blockers_count < EXPLAIN_BLOCKERS_MAX;
             at = state->members[at].node_next) {
                struct explained_other other = other_of(it->at.x, state->members[at].workload);
                bool seen = false;
                for (uint32_t b = 0; b < ret->blockers_count; b++)
                        seen |= ret->blockers[b].workload == other.workload;
                if (!seen)
                        ret->blockers[ret->blockers_count++] = other;
        }
}

/* ---- all ---- */

static uint64_t barred_models(const struct state *state, const struct asking *asking)
{
        uint64_t barred = 0;

        for (size_t m = 0; state->accounts && m < model_count(state->models); m++)
                if (tenancy_limit(state->accounts->tenancy, asking->tenant, (unsigned)m) ==
                            AMOUNT_NONE ||
                    tenancy_limit(state->accounts->tenancy, asking->tenant, DIM_ANY) == AMOUNT_NONE)
                        barred |= 1ull << m;
        return barred;
}

/* Whether it would fit if its members could lie anywhere. */
static bool is_near_short(struct explainer *x, const struct asking *asking,
                          const struct explanation *ret)
{
        struct asking anywhere = *asking;

        if (ret->gates[GATE_FIT].passed ||
            (asking->form.spread == SPREAD_NONE && !asking->form.near_required))
                return false;
        anywhere.form.near = NEAR_NONE;
        anywhere.form.near_required = 0;
        anywhere.form.spread = SPREAD_NONE;
        return members_fit(x, &anywhere, NULL, UINT64_MAX, 0) >= asking->form.members;
}

static void sum_groups(const struct grouping *it)
{
        struct explained_group *all = &it->ret->all;

        for (uint32_t g = 0; g < it->ret->groups_count; g++) {
                struct explained_group *group = &it->ret->groups[g];
                if (group->members > it->at.asking->form.members)
                        group->members = it->at.asking->form.members;
                all->nodes += group->nodes;
                all->devices += group->devices;
                all->free_devices += group->free_devices;
                all->members += group->members;
                if (group->largest_free > all->largest_free)
                        all->largest_free = group->largest_free;
                for (unsigned c = 0; c < CODES_END; c++)
                        all->nodes_of[c] += group->nodes_of[c];
                group->code = code_of_group(it, group);
                if (it->best[g])
                        list_blockers(it, it->best[g] - 1, group);
        }
        all->used_by = 3;
        all->code = code_of_group(it, all);
}

int explain_groups(struct explainer *x, const struct asking *asking, const struct rights *rights,
                   struct explanation *ret, struct err *err)
{
        struct asking anywhere = *asking;
        struct grouping it = {.at = {.x = x,
                                     .asking = asking,
                                     .anywhere = &anywhere,
                                     .rights = rights,
                                     .barred = barred_models(x->state, asking)},
                              .ret = ret};
        unsigned by = BY_RACK;

        (void)err;
        anywhere.is_isolated = false;
        it.at.near_short = is_near_short(x, asking, ret);
        while (!number_groups(x, by) && by < BY_MODEL)
                by++;
        ret->groups_count = x->domains.count;
        for (uint32_t n = 0; n < x->state->node_slots.high; n++) {
                const struct node_desc *desc = &x->state->nodes[n].desc;
                if (x->state->nodes[n].status == NODE_FREE_SLOT)
                        continue;
                uint32_t group = group_of(x, desc, by);
                if (ret->groups[group].nodes == 0)
                        name_group(&it, desc, by, &ret->groups[group]);
                add_node(&it, group, n);
        }
        sum_groups(&it);
        return 0;
}
