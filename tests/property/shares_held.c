/* What tenants hold and who is first among them (rule 1 of shares.c), from the facts alone. */
#include <string.h>

#include "engine/units.h"
#include "tests/property/shares_world.h"

/* ---- what is held ---- */

static unsigned model_of(uint32_t node)
{
        const struct node_desc *desc = &world.play.state->nodes[node].desc;

        return world.models_count > 1 && desc->model == world.models[1];
}

static void change(const struct play_work *work, unsigned model, uint64_t devices, int sign)
{
        uint64_t by = devices * (uint64_t)(int64_t)sign;

        for (unsigned t = work->request.tenant; t != TENANT_NONE; t = tenant_of(t)->parent) {
                struct tenant_now *now = &world.tenants[t];
                if (work->standing == STANDING_PROTECTED)
                        now->within[model] += by;
                else
                        now->borrowed[model] += by;
                if (work->standing != STANDING_PROTECTED && sign > 0)
                        now->newest[model] = devices;
        }
}

/* Where it lies: one member, so one model. */
static unsigned model_held(const struct play_work *work)
{
        const struct state *state = world.play.state;
        uint32_t slot = state_workload(state, work->request.workload);

        return model_of(state->members[state->workloads[slot].first_member].node);
}

/* ---- who is first ---- */

uint64_t shares_pot_left(unsigned tenant, unsigned model)
{
        unsigned dimension = world.models[model];
        const struct tenancy *tenancy = play_tenancy(&world.play);

        while (!amount_is_number(tenant_of(tenant)->protect[dimension])) {
                if (tenant_of(tenant)->parent == TENANT_NONE)
                        return 0;
                tenant = tenant_of(tenant)->parent;
        }
        uint64_t pot = tenant_of(tenant)->protect[dimension] / UNITS_DEVICE;
        uint64_t drawn = world.tenants[tenant].within[model];
        /* Here whole promises stand at parents or at children: passed on, nothing is its own. */
        for (unsigned c = 0; c < tenancy->tenants_count; c++)
                if (tenancy->tenants[c].parent == tenant &&
                    amount_number(tenancy->tenants[c].protect[dimension]) > 0)
                        return 0;
        return pot - drawn;
}

bool shares_may_use(const struct play_work *work, unsigned model)
{
        return work->request.need.models >> world.models[model] & 1;
}

static bool could_be_protected(const struct play_work *work)
{
        for (unsigned m = 0; m < world.models_count; m++)
                if (shares_may_use(work, m) &&
                    shares_pot_left(work->request.tenant, m) >= work->request.need.devices)
                        return true;
        return false;
}

unsigned shares_free_on(uint32_t node)
{
        const struct state *state = world.play.state;
        unsigned count = 0;

        for (unsigned d = 0; d < state->nodes[node].desc.devices; d++)
                count += node_devices(state, node)[d].state.holders == 0 &&
                         node_devices(state, node)[d].kept_for == 0;
        return count;
}

/* Most free devices of a node, by model. */
static void find_room(unsigned room[MODELS])
{
        const struct state *state = world.play.state;

        memset(room, 0, MODELS * sizeof *room);
        for (uint32_t n = 0; n < state->node_slots.high; n++)
                if (shares_free_on(n) > room[model_of(n)])
                        room[model_of(n)] = shares_free_on(n);
}

static bool fits(const struct play_work *work, const unsigned room[MODELS])
{
        for (unsigned m = 0; m < world.models_count; m++)
                if (shares_may_use(work, m) && room[m] >= work->request.need.devices)
                        return true;
        return false;
}

/* Smallest borrowed / weight of the tenant over the models that the work may use. */
static uint64_t least_borrowed(unsigned tenant, const struct play_work *work)
{
        uint64_t least = UINT64_MAX;

        for (unsigned m = 0; m < world.models_count; m++)
                if (shares_may_use(work, m) && world.tenants[tenant].borrowed[m] < least)
                        least = world.tenants[tenant].borrowed[m];
        return least;
}

/* Above 0: the tenant of `a` borrowed more, on the first level where they differ. */
static int compare_shares(const struct play_work *a, const struct play_work *b)
{
        unsigned x[2] = {tenant_of(a->request.tenant)->parent, a->request.tenant};
        unsigned y[2] = {tenant_of(b->request.tenant)->parent, b->request.tenant};
        unsigned from_x = x[0] == TENANT_NONE, from_y = y[0] == TENANT_NONE;

        for (unsigned level = 0; level < 2; level++) {
                bool deep_x = from_x + level < 2, deep_y = from_y + level < 2;
                uint64_t p = deep_x ? least_borrowed(x[from_x + level], a) : 0;
                uint64_t q = deep_y ? least_borrowed(y[from_y + level], b) : 0;
                p *= deep_y ? weight_of(y[from_y + level]) : 1;
                q *= deep_x ? weight_of(x[from_x + level]) : 1;
                if (p != q)
                        return p > q ? 1 : -1;
        }
        return 0;
}

/* Rule 1. Places of a plan were decided when it was made. */
static void check_start(const struct fact_allocated *fact)
{
        const struct play_work *it = play_work(&world.play, fact->workload);
        bool covered = could_be_protected(it);
        unsigned room[MODELS];

        find_room(room);
        for (unsigned w = 0; w < world.play.high && !world.handing_over; w++) {
                const struct play_work *other = &world.play.works[w];
                if (other->status != PLAY_WAITS ||
                    other->request.tenant == it->request.tenant || !fits(other, room))
                        continue;
                bool other_covered = could_be_protected(other);
                int order = other_covered != covered ? (other_covered ? 1 : -1)
                                                     : compare_shares(it, other);
                world.counts->others[RULE_START]++;
                if (order > 0)
                        play_fail(&world.play, "tenant %s starts where %s is first",
                                  tenant_of(it->request.tenant)->path,
                                  tenant_of(other->request.tenant)->path);
        }
}

/* ---- facts ---- */

void shares_new_era(void)
{
        world.era++;
        world.older = 0;
        for (unsigned w = 0; w < world.play.high; w++)
                world.older += world.play.works[w].status == PLAY_RUNS;
}

static void ends(uint64_t id)
{
        const struct play_work *work = play_work(&world.play, id);

        if (work->status != PLAY_RUNS)
                return;
        change(work, model_held(work), work->request.need.devices, -1);
        world.older -= work->tag < world.era;
}

static void starts(const struct fact_allocated *fact)
{
        struct play_work *work = play_work(&world.play, fact->workload), now = *work;

        check_start(fact);
        work->tag = world.era;
        now.standing = (enum standing)fact->standing;
        change(&now, model_of(fact->node), fact->parts_count, 1);
        world.counts->placed++;
}

static void rises(const struct fact *fact)
{
        const struct play_work *work = play_work(&world.play, fact->standing.workload);
        struct play_work now = *work;
        unsigned model = model_held(work);

        change(work, model, work->request.need.devices, -1);
        now.standing = fact->standing.standing;
        change(&now, model, work->request.need.devices, 1);
}

void shares_see(void *arg, const struct fact *fact)
{
        (void)arg;
        switch (fact->kind) {
        case FACT_ALLOCATED:
                starts(&fact->allocated);
                break;
        case FACT_RELEASED:
                ends(fact->released.workload);
                break;
        case FACT_REQUEUED:
                ends(fact->requeued.workload);
                shares_new_era();
                world.older--;          /* itself */
                break;
        case FACT_STANDING_SET:
                rises(fact);
                break;
        case FACT_PLANNED:
                shares_new_era();
                break;
        case FACT_PLAN_ENDED:
                shares_new_era();
                world.handing_over = fact->plan_ended.end == PLAN_DONE;
                break;
        default:
                break;
        }
        if (fact->kind != FACT_ALLOCATED && fact->kind != FACT_PLAN_ENDED)
                world.handing_over = false;
}
