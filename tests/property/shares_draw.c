/* Pool, policy and work of a seed. */
#include "engine/model.h"
#include "tests/property/policy_draw.h"
#include "tests/property/shares_world.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)

struct shares_world world;

static void draw_pool_of(struct rng *rng)
{
        static const uint8_t counts[] = {2, 4, 5, 8, 8};
        static const uint8_t all[] = {CASE_T4, CASE_A30, CASE_A100_40};
        unsigned wanted = 10 + draw_below(rng, 51), have = 0, first = draw_below(rng, 3);

        world.models_count = wanted >= 20 && draw_chance(rng, 40) ? 2 : 1;
        for (unsigned m = 0; m < world.models_count; m++)
                world.models[m] = all[(first + m) % 3];
        /* A node of 8 of each model: nothing is wide, and the largest work fits. */
        while (have < wanted) {
                unsigned n = world.nodes_count++;
                uint8_t count = n < world.models_count ? 8 : counts[draw_below(rng, 5)];
                unsigned m = n < world.models_count ? n : draw_below(rng, world.models_count);
                world.node_model[n] = (uint8_t)m;
                world.node_devices[n] = count;
                world.devices[m] += count;
                have += count;
        }
}

static void put_protect(struct rng *rng, unsigned shares)
{
        for (unsigned m = 0; m < world.models_count; m++)
                put(&world.policy, "%s%s: %u", m ? ", " : ", protect: {",
                    model_get(world.table, world.models[m])->name,
                    draw_below(rng, world.devices[m] / shares + 1));
        put(&world.policy, "}");
}

/* A tenant with what stands above its children; its own promise, or theirs. */
static void put_tenant(struct rng *rng, unsigned number, unsigned children, bool protects)
{
        bool own = protects && (children == 0 || draw_chance(rng, 40));

        put(&world.policy, "  r%u: {lend: all, weight: %u", number, 1 + draw_below(rng, 4));
        if (own)
                put_protect(rng, LEAVES_MAX + 1);
        for (unsigned c = 0; c < children; c++) {
                put(&world.policy, "%sc%u: {weight: %u", c ? ", " : ", tenants: {", c,
                    1 + draw_below(rng, 4));
                if (protects && !own)
                        put_protect(rng, LEAVES_MAX + 1);
                put(&world.policy, "}");
        }
        put(&world.policy, children ? "}}\n" : "}\n");
}

static void draw_policy_text(struct rng *rng)
{
        static const unsigned exempts[] = {0, 60, 1200};
        unsigned leaves = 2 + draw_below(rng, LEAVES_MAX - 1), left = leaves;
        bool tree = draw_chance(rng, 40), protects = draw_chance(rng, 40);

        world.classes_count = 1 + draw_below(rng, 2);
        put(&world.policy, "kind: Policy\npreset: protected\n"
                           "rules: {stop_rate: {pct: 100, per: 10m}}\nclasses:\n");
        for (unsigned c = 0; c < world.classes_count; c++)
                put(&world.policy,
                    "  c%u: {rank: 1, by_weight: true, order: %s, notice: %um, exempt: %us, "
                    "stops_per_day: unlimited, hold_after: 30d}\n",
                    c, draw_chance(rng, 50) ? "arrival" : "shortest", draw_below(rng, 6),
                    exempts[draw_below(rng, 3)]);
        put(&world.policy, "tenants:\n");
        for (unsigned number = 0; left > 0; number++) {
                unsigned children = tree && draw_chance(rng, 70) ? 1 + draw_below(rng, left) : 0;
                if (number == 0 && children == leaves && draw_chance(rng, 70))
                        children--;     /* mostly there are other roots */
                put_tenant(rng, number, children, protects);
                left -= children ? children : 1;
        }
}

static void draw_work_kinds(struct rng *rng)
{
        world.sized[0] = true;
        world.sized[1] = draw_chance(rng, 60);
        world.sized[2] = draw_chance(rng, 60);
        world.largest = world.sized[2] ? 4 : world.sized[1] ? 2 : 1;
        world.loose = world.models_count > 1 && draw_chance(rng, 40);
        world.run_least_ms = draw_span(rng, 5 * MINUTE_MS, HOUR_MS);
        world.run_most_ms = draw_chance(rng, 15) ? world.run_least_ms : 4 * HOUR_MS;
}

bool shares_draw(const struct model_table *table, uint64_t seed)
{
        struct rng *rng = &world.rng;

        world.table = table;
        rng_init(rng, seed);
        draw_pool_of(rng);
        draw_policy_text(rng);
        draw_work_kinds(rng);
        if (!play_open(&world.play, table, world.policy.text, seed, DRAW_START_MS,
                       draw_chance(rng, 20) ? 15 * SECOND_MS : MINUTE_MS))
                return false;
        const struct tenancy *tenancy = play_tenancy(&world.play);
        for (unsigned t = 0; t < tenancy->tenants_count; t++) {
                bool above = false;
                for (unsigned c = 0; c < tenancy->tenants_count; c++)
                        above |= tenancy->tenants[c].parent == t;
                if (!above)
                        world.leaves[world.leaves_count++] = (uint16_t)t;
        }
        for (unsigned l = 0; l < world.leaves_count; l++)
                world.comes_ms[l] = DRAW_START_MS + (l == 0 || draw_chance(rng, 65)
                                                             ? 0
                                                             : draw_span(rng, HOUR_MS, DAY_MS));
        return true;
}
