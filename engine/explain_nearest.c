/* What else would let it start: each is offered only when it is sure to, whatever the order of the
 * others does. Where that cannot be seen from here, nothing is offered. */
#include <string.h>

#include "engine/explain_impl.h"
#include "engine/preempt.h"
#include "engine/hold.h"

struct explained_unblock *nearest_add(struct explanation *ret, enum unblock_kind kind,
                                      enum standing standing)
{
        if (ret->nearest_count == EXPLAIN_NEAREST_MAX)
                return NULL;
        struct explained_unblock *unblock = &ret->nearest[ret->nearest_count++];
        *unblock = (struct explained_unblock){.kind = kind, .standing = standing};
        return unblock;
}

/* Whether these gates are the only ones that fail. */
static bool only_fail(const struct explanation *ret, unsigned gates)
{
        for (unsigned g = 0; g < EXPLAIN_GATES; g++)
                if (!ret->gates[g].passed && !(gates >> g & 1))
                        return false;
        return !ret->table_full;
}

static bool is_frozen(const struct state *state)
{
        return state->frozen || state->frozen_planes_count > 0;
}

/* ---- its own hold, its start time, its plan ---- */

static void try_let_go(struct explainer *x, const struct asking *asking, struct explanation *ret)
{
        enum standing standing;

        if (ret->holds == HOLD_USER && only_fail(ret, 1u << GATE_HOLD) &&
            would_start(x, asking, NULL, true, &standing))
                (void)nearest_add(ret, UNBLOCK_LET_GO, standing);
}

/* Whether time alone changes nothing else that matters until then: no window begins or ends, no
 * budgets, no reservations, no idle work, nobody who would get a capacity hold or come first. */
static bool time_is_quiet(const struct explainer *x, const struct asking *asking,
                          int64_t start_ms)
{
        const struct accounts *accounts = x->state->accounts;

        if (x->rivals.held > 0 || x->rivals.timed > 0 || x->rivals.barred > 0 ||
            x->state->plan_slots.used > 0 || x->state->nodes_held > 0 ||
            x->state->maintenance_due_ms <= start_ms)
                return false;
        if (!accounts)
                return true;
        if (accounts->tenancy->reservations_count > 0 || x->state->idle > 0)
                return false;
        for (uint32_t t = asking->tenant; t != TENANT_NONE;
             t = accounts->tenancy->tenants[t].parent)
                if (accounts->tenancy->tenants[t].budgets_count > 0)
                        return false;
        return true;
}

static void try_time(struct explainer *x, const struct asking *asking, struct explanation *ret)
{
        struct explained_unblock *unblock;
        struct asking then = *asking;
        enum standing standing;

        then.leaves_ms += ret->start_ms - x->now_ms;
        if (ret->holds != HOLD_START || !only_fail(ret, 1u << GATE_HOLD) ||
            !time_is_quiet(x, asking, ret->start_ms) ||
            !would_start(x, &then, NULL, true, &standing))
                return;
        unblock = nearest_add(ret, UNBLOCK_TIME, standing);
        if (unblock)
                unblock->at_ms = ret->start_ms;
}

/* Not while its places are frozen: nobody knows until when. */
static void try_plan(const struct explainer *x, const struct asking *asking,
                     struct explanation *ret)
{
        if (ret->verdict != VERDICT_WAIT_PREEMPTION ||
            plan_is_frozen(x->state, x->state->workloads[asking->slot].plan - 1))
                return;
        struct explained_unblock *unblock = nearest_add(ret, UNBLOCK_PLAN, ret->standing);
        if (unblock)
                unblock->at_ms = ret->until_ms;
}

/* ---- a limit that is raised ---- */

/* Whether promises may keep room free: a new policy counts them anew. */
static bool any_unlent(const struct accounts *accounts)
{
        for (uint32_t t = 0; t < accounts->tenants; t++)
                for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++)
                        if (accounts->tenancy->tenants[t].lend[d] != AMOUNT_UNLIMITED &&
                            *account(accounts->pot, t, d) > 0)
                                return true;
        return accounts->tenancy->reservations_count > 0;
}

static bool raise_is_sure(const struct explainer *x, const struct asking *asking)
{
        const struct accounts *accounts = x->state->accounts;
        uint16_t root = accounts->root[asking->tenant];

        /* Spare work of its own tree would be the first to use a higher limit. */
        if (x->rivals.barred_in_tree + x->rivals.ahead_in_tree > 0 ||
            *account(accounts->spare, root, DIM_ANY) > 0 || accounts->dirty_count > 0 ||
            any_unlent(accounts))
                return false;
        for (uint32_t t = asking->tenant; t != TENANT_NONE;
             t = accounts->tenancy->tenants[t].parent)
                if (accounts->tenancy->tenants[t].budgets_count > 0)
                        return false;
        return x->state->plan_slots.used == 0 && x->state->nodes_held == 0;
}

static void try_raise(struct explainer *x, const struct asking *asking, unsigned model,
                      struct explanation *ret)
{
        struct limit_raise raises[EXPLAIN_RAISES_MAX];
        struct what_if what_if = {.raises = raises, .gone = NONE};
        enum standing standing;

        if (!ret->gates[GATE_JOBS].passed) {
                what_if.raises_count = raises_of_jobs(x->state, asking->tenant, raises);
                if (what_if.raises_count == 0 || what_if.raises_count > EXPLAIN_RAISES_MAX)
                        return;
        }
        if (!ret->gates[GATE_LIMIT].passed)
                what_if.raises_count =
                        raises_needed(x->state, asking, model, what_if.raises_count, raises);
        if (what_if.raises_count == 0 || what_if.raises_count > EXPLAIN_RAISES_MAX ||
            !would_start(x, asking, &what_if, true, &standing))
                return;
        struct explained_unblock *unblock = nearest_add(ret, UNBLOCK_QUOTA, standing);
        if (!unblock)
                return;
        unblock->raises_count = what_if.raises_count;
        memcpy(unblock->raises, raises, what_if.raises_count * sizeof *raises);
}

static void try_quota(struct explainer *x, const struct asking *asking, struct explanation *ret)
{
        uint32_t before = ret->nearest_count;

        if (!x->state->accounts ||
            (ret->gates[GATE_JOBS].passed && ret->gates[GATE_LIMIT].passed) ||
            !only_fail(ret, 1u << GATE_JOBS | 1u << GATE_LIMIT) || is_frozen(x->state) ||
            !raise_is_sure(x, asking))
                return;
        if (asking->need.devices == 0)
                try_raise(x, asking, 0, ret);
        for (uint64_t left = asking->models; left && ret->nearest_count == before;
             left &= left - 1) {
                unsigned m = (unsigned)__builtin_ctzll(left);
                if (x->state->capacity[m] > 0)
                        try_raise(x, asking, m, ret);
        }
}

/* ---- the end of its tenant's own work ---- */

#define OWN_LOOKED_AT 256
#define OWN_TRIED     6

struct ending {
        int64_t end_ms;
        uint32_t slot;
};

/* Whether nobody else would take what its end frees, or change what it frees. */
static bool end_is_sure(const struct explainer *x, const struct asking *asking, uint32_t slot)
{
        const struct state *state = x->state;
        const struct accounts *accounts = state->accounts;
        const struct workload *workload = &state->workloads[slot];
        uint64_t kept = 0;

        if (workload->plan || workload->notice_until_ms || workload->first_after ||
            workload->array || x->rivals.ahead_cpu > 0 ||
            x->rivals.barred_in_tree + x->rivals.ahead_in_tree + x->rivals.swayed > 0 ||
            accounts->demoted[accounts->root[asking->tenant]] > 0)
                return false;
        for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++)
                kept += accounts->kept[d];
        if (kept > 0 && (x->rivals.barred > 0 || workload->standing == STANDING_PROTECTED))
                return false;
        if (workload->standing == STANDING_PROTECTED &&
            (accounts->standard[accounts->root[asking->tenant]] > 0 || any_unlent(accounts)))
                return false;
        for (uint32_t at = workload->first_member; at != NONE; at = state->members[at].next) {
                const struct node_desc *desc = &state->nodes[state->members[at].node].desc;
                if (desc->devices > 0 && x->rivals.ahead_on[desc->model] > 0)
                        return false;
        }
        return true;
}

/* The soonest few to end. */
static unsigned list_endings(const struct explainer *x, const struct asking *asking,
                             struct ending *list)
{
        const struct state *state = x->state;
        unsigned count = 0, looked = 0;

        for (uint32_t slot = state->accounts->first[state->accounts->root[asking->tenant]];
             slot != NONE && looked < OWN_LOOKED_AT; slot = state->workloads[slot].next) {
                const struct workload *workload = &state->workloads[slot];
                if (state->buckets[workload->bucket].tenant != asking->tenant || workload->service)
                        continue;
                struct ending ending = {.slot = slot};
                ending.end_ms = x->now_ms + expected_left_ms(state, slot, END_PERCENT, x->now_ms);
                looked++;
                if (count == OWN_TRIED && ending.end_ms >= list[count - 1].end_ms)
                        continue;
                unsigned at = count < OWN_TRIED ? count++ : count - 1;
                for (; at > 0 && list[at - 1].end_ms > ending.end_ms; at--)
                        list[at] = list[at - 1];
                list[at] = ending;
        }
        return count;
}

static void try_own_end(struct explainer *x, const struct asking *asking, struct explanation *ret)
{
        struct ending list[OWN_TRIED];
        unsigned mine = 1u << GATE_JOBS | 1u << GATE_LIMIT | 1u << GATE_ORDER | 1u << GATE_FIT;

        if (!x->state->accounts || !only_fail(ret, mine) || x->state->accounts->dirty_count > 0 ||
            ret->nearest_count == EXPLAIN_NEAREST_MAX || ret->position.in_tenant > 1)
                return;
        unsigned count = list_endings(x, asking, list);
        for (unsigned i = 0; i < count; i++) {
                enum standing standing;
                if (!end_is_sure(x, asking, list[i].slot))
                        continue;
                struct what_if what_if = what_if_gone(x->state, list[i].slot);
                if (!would_start(x, asking, &what_if, true, &standing))
                        continue;
                struct explained_unblock *unblock = nearest_add(ret, UNBLOCK_OWN_END, standing);
                unblock->workload = x->state->workloads[list[i].slot].id;
                unblock->at_ms = list[i].end_ms;
                return;
        }
}

void nearest_others(struct explainer *x, const struct asking *asking, struct explanation *ret)
{
        if (asking->slot == NONE)
                return;
        try_let_go(x, asking, ret);
        try_time(x, asking, ret);
        try_plan(x, asking, ret);
        if (x->failed || x->state->workloads[asking->slot].plan)
                return;
        try_quota(x, asking, ret);
        try_own_end(x, asking, ret);
}
