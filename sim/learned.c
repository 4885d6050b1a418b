#include "sim/learned.h"

static uint64_t turn_of(const struct learned *learned)
{
        return learned->devices > LEARNED_TURN ? learned->devices : LEARNED_TURN;
}

void learned_begin(struct learned *learned, uint64_t devices)
{
        *learned = (struct learned){.plan_at = LEARNED_FIRST, .devices = devices};
}

void learned_resume(struct learned *learned, const struct price_plan *plan, uint64_t arrived)
{
        for (uint32_t s = 0; s < plan->shapes_count; s++)
                demand_add_shape(&learned->seen, &plan->shapes[s], plan->shapes[s].weight);
        learned->arrived = arrived;
        while (learned->plan_at <= arrived && learned->plan_at < turn_of(learned))
                learned->plan_at *= 2;
        if (learned->plan_at <= arrived)
                learned->plan_at = arrived + turn_of(learned);
}

/* Old counts fade once the pool has been asked for about once over. */
static void plan_later(struct learned *learned)
{
        if (learned->plan_at < turn_of(learned)) {
                learned->plan_at *= 2;
                return;
        }
        learned->plan_at += turn_of(learned);
        demand_halve(&learned->seen);
}

bool learned_see(struct learned *learned, const struct need *need)
{
        demand_add(&learned->seen, need, 1);
        if (++learned->arrived < learned->plan_at)
                return false;
        plan_later(learned);
        return true;
}
