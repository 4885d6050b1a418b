/* The one place where somebody's view is made: V1 to V7 and V9 of facts/policy.md 4.3. What remains
 * in the record may be shown; whoever prints it takes nothing else from the state but its own
 * names. */
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "engine/explain.h"

#define TIME_STEP_MS INT64_C(300000) /* V4: times that follow from others' work */

struct looker {
        const struct tenancy *tenancy;
        uint16_t tenant;
        bool publishes; /* siblings' numbers are open: V7 */
};

/* V1: itself and all below it. */
static bool is_own(const struct looker *looker, uint16_t tenant)
{
        return !looker->tenancy ||
               (tenant != TENANT_NONE && tenancy_is_below(looker->tenancy, tenant, looker->tenant));
}

int64_t explain_step_up(int64_t ms)
{
        return (ms + TIME_STEP_MS - 1) / TIME_STEP_MS * TIME_STEP_MS;
}

/* V7: numbers of a tenant above its own hold what siblings use; the pool's hold what all use. */
static void view_gate(const struct looker *looker, struct explained_gate *gate)
{
        if (gate->dimension == DIMENSIONS_END || is_own(looker, gate->tenant) ||
            (looker->publishes && gate->tenant != TENANT_NONE))
                return;
        gate->hidden = true;
        gate->used = gate->limit = gate->after = 0;
}

/* V1, V2: only its own stay. */
static uint32_t view_others(const struct looker *looker, struct explained_other *others,
                            uint32_t count)
{
        uint32_t kept = 0;

        for (uint32_t i = 0; i < count; i++)
                if (is_own(looker, others[i].tenant))
                        others[kept++] = others[i];
        memset(others + kept, 0, (count - kept) * sizeof *others);
        return kept;
}

static uint32_t rounded(uint32_t count)
{
        uint32_t power = 1;

        while (count >= 2 * power)
                power *= 2;
        return count == 0 ? 0 : power;
}

/* V5: what is free of a group says how big somebody's work is, when few share the group. */
static void view_group(const struct looker *looker, struct explained_group *group)
{
        bool foreign = false;

        for (unsigned t = 0; t < group->used_by; t++)
                foreign |= !is_own(looker, group->tenants[t]);
        if (foreign && group->used_by < 3) {
                group->rounded = true;
                group->free_devices = rounded(group->free_devices);
                group->largest_free = rounded(group->largest_free);
                group->members = rounded(group->members);
        }
        group->used_by = 0;
        memset(group->tenants, 0, sizeof group->tenants);
        group->blockers_count = view_others(looker, group->blockers, group->blockers_count);
}

/* So that what was rounded cannot be had by taking the others away. */
static void view_sums(struct explanation *explanation)
{
        struct explained_group *all = &explanation->all;

        all->free_devices = all->largest_free = all->members = 0;
        all->used_by = 0;
        for (uint32_t g = 0; g < explanation->groups_count; g++) {
                const struct explained_group *group = &explanation->groups[g];
                all->rounded |= group->rounded;
                all->free_devices += group->free_devices;
                all->members += group->members;
                if (group->largest_free > all->largest_free)
                        all->largest_free = group->largest_free;
        }
}

/* V3: over the whole pool, and in buckets. */
static void view_position(const struct looker *looker, struct explained_position *position)
{
        position->ahead_exact = 0;
        position->ahead_device_ms = 0;
        position->first_count = view_others(looker, position->first, position->first_count);
}

static void view_unblock(const struct looker *looker, struct explained_unblock *unblock)
{
        if (unblock->kind == UNBLOCK_PLAN)
                unblock->at_ms = explain_step_up(unblock->at_ms);
        for (uint32_t r = 0; r < unblock->raises_count; r++) {
                struct limit_raise *raise = &unblock->raises[r];
                if (!is_own(looker, raise->tenant) && !looker->publishes)
                        raise->from = raise->to = 0;
        }
}

int explain_view(struct explanation *explanation, const struct state *state, struct viewer viewer,
                 struct err *err)
{
        const struct tenancy *tenancy = state->accounts ? state->accounts->tenancy : NULL;
        struct looker looker = {tenancy, viewer.tenant, tenancy && tenancy->rules.publish_quota};

        if (viewer.is_operator)
                return 0;
        if (!is_own(&looker, explanation->request.tenant))
                return err_set(err, ERR_NOT_FOUND, "there is no workload %" PRIu64,
                               explanation->workload);
        for (unsigned g = 0; g < EXPLAIN_GATES; g++)
                view_gate(&looker, &explanation->gates[g]);
        for (uint32_t g = 0; g < explanation->groups_count; g++)
                view_group(&looker, &explanation->groups[g]);
        view_sums(explanation);
        view_position(&looker, &explanation->position);
        for (uint32_t n = 0; n < explanation->nearest_count; n++)
                view_unblock(&looker, &explanation->nearest[n]);
        explanation->victims = explanation->victims > 0;
        explanation->eta_p50_ms = explain_step_up(explanation->eta_p50_ms);
        explanation->eta_p90_ms = explain_step_up(explanation->eta_p90_ms);
        if (explanation->verdict == VERDICT_WAIT_PREEMPTION ||
            explanation->verdict == VERDICT_STARTING)
                explanation->until_ms = explain_step_up(explanation->until_ms);
        return 0;
}
