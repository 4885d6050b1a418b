/* shares - what tenants that are always hungry borrow stays within a bound of their weights.
 *
 * shares [FIRST..LAST | SEED]   (or BERTH_SEEDS; BERTH_CASES says how many from 1)
 *
 * A seed draws a pool of 10 to 60 devices of one or two models, two to six tenants (some below
 * others), weights, promises, and work of 1, 2 and 4 devices. Every tenant always has work waiting,
 * of one device among it; so whenever a device is free, all of them want it. Some come later than
 * others, and now and then the pool is frozen while work ends. Capacity holds are off (hold_after):
 * they keep devices from all but one. In devices of one
 * model, with
 *
 *     share(t) = borrowed(t) / weight(t)        borrowed: what no promise covers
 *     d        = the devices of the largest work
 *     d(t)     = those of the newest work that t started and no promise covered
 *     L(t)     = tenants below the parent of t, t itself included
 *
 * 1. Every start goes to who is first: no hungry tenant whose waiting work fits on what is free
 *    could have had it as protected where this is not, or has a smaller share. Down the tree:
 *    roots are compared first. Of work that may use several models the smallest share counts.
 *
 * The rest holds where work names one model, from when all that ran at the last change (a tenant
 * came, a thaw, a plan) has ended, after every input:
 *
 * 2. Nothing is free, and every promise is in full use.
 * 3. Between roots       share(a) - share(b) <= d(a) / weight(a).
 *    Let m be the smallest share. It never falls: an input frees devices of one root only, so only
 *    that root can come to lie below m; then each start is its own, until it is back at m or has
 *    got back all that it lost. And a started last as the smallest: share(a) - d(a) / weight(a)
 *    was m then. (What a promise takes over after an end is less than was freed, and goes the same
 *    way.) Hence also: no root's borrowed falls by more than d below what it ever was since.
 * 4. Between siblings    share(a) - share(b) <= d(a) / weight(a) + L(b) d / weight(b).
 *    Here the smallest share may fall, as what one sibling frees may go to another root. Let M be
 *    the largest that it was. Nobody is more than d / weight above M. At that moment the root
 *    borrowed M times all weights or more, so now, by 3, at most d less; what siblings lack of M,
 *    in devices, is at most that d and what the others, L - 1, are above M.
 * 5. The same of device time: integrals of 3 and 4; and of k roots with weights of W in all, each
 *    has, of what all borrowed together, its part by weight: at most d more, and at most (k - 1) d
 *    weight / W less.
 *
 * All of this in integers, and from the facts alone; the engine's accounts must agree.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "engine/accounts.h"
#include "tests/property/play.h"
#include "tests/property/policy_draw.h"
#include "tests/property/shrink.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)

enum {
        LEAVES_MAX = 6,
        TENANTS = 2 * LEAVES_MAX,
        MODELS = 2,
        SIZES = 3,
        ONES_WAITING = 14,              /* more than one input can free */
        FREED_FROZEN = 8,
        FREEZES = 6,
        STEPS = LEAVES_MAX + FREEZES    /* tenants that come later; freezes */
};

static const uint8_t sizes[SIZES] = {1, 2, 4};

enum rule { RULE_START, RULE_FULL, RULE_ROOTS, RULE_SIBLINGS, RULE_TIME, RULE_PART, RULES };

struct tenant_now {
        uint64_t borrowed[MODELS], within[MODELS];
        uint64_t newest[MODELS];        /* devices of the newest start that borrowed */
        uint64_t device_ms[MODELS];     /* borrowed, since the newest turnover */
};

struct world {
        struct play play;
        struct rng rng;
        /* Drawn. */
        unsigned models_count, nodes_count, leaves_count, classes_count;
        uint8_t models[MODELS];
        uint8_t node_model[PLAY_NODES], node_devices[PLAY_NODES];
        unsigned devices[MODELS];
        uint16_t leaves[LEAVES_MAX];    /* tenants that submit */
        int64_t comes_ms[LEAVES_MAX];
        bool sized[SIZES], loose;       /* sizes there are; some work may use any model */
        uint64_t largest;
        int64_t run_least_ms, run_most_ms;
        char policy[4096];
        /* Now. */
        struct tenant_now tenants[TENANTS];
        bool hungry[TENANTS];
        uint64_t era, older;            /* changes so far; running work from before the newest */
        int64_t turned_ms, counted_ms;  /* since when nothing older runs */
        bool handing_over, frozen;
        struct counts *counts;
};

static struct world world;
static struct model_table *models;

static const struct tenant *tenant_of(unsigned tenant)
{
        return &play_tenancy(&world.play)->tenants[tenant];
}

static uint64_t weight_of(unsigned tenant)
{
        return tenant_of(tenant)->weight_milli[DIM_ANY] / 1000;
}

/* ---- drawing ---- */

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

static size_t put_protect(struct rng *rng, char *text, size_t size, unsigned shares)
{
        size_t used = 0;

        for (unsigned m = 0; m < world.models_count; m++)
                used += (size_t)snprintf(text + used, size - used, "%s%s: %u",
                                         m ? ", " : ", protect: {",
                                         model_get(models, world.models[m])->name,
                                         draw_below(rng, world.devices[m] / shares + 1));
        return used + (size_t)snprintf(text + used, size - used, "}");
}

/* A tenant with what stands above its children; its own promise, or theirs. */
static size_t put_tenant(struct rng *rng, char *text, size_t size, unsigned number,
                         unsigned children, bool protects)
{
        bool own = protects && (children == 0 || draw_chance(rng, 40));
        size_t used = (size_t)snprintf(text, size, "  r%u: {lend: all, weight: %u", number,
                                       1 + draw_below(rng, 4));

        if (own)
                used += put_protect(rng, text + used, size - used, LEAVES_MAX + 1);
        for (unsigned c = 0; c < children; c++) {
                used += (size_t)snprintf(text + used, size - used, "%sc%u: {weight: %u",
                                         c ? ", " : ", tenants: {", c, 1 + draw_below(rng, 4));
                if (protects && !own)
                        used += put_protect(rng, text + used, size - used, LEAVES_MAX + 1);
                used += (size_t)snprintf(text + used, size - used, "}");
        }
        return used + (size_t)snprintf(text + used, size - used, children ? "}}\n" : "}\n");
}

static void draw_policy_text(struct rng *rng)
{
        static const unsigned exempts[] = {0, 60, 1200};
        unsigned leaves = 2 + draw_below(rng, LEAVES_MAX - 1), left = leaves;
        bool tree = draw_chance(rng, 40), protects = draw_chance(rng, 40);
        size_t used = 0, size = sizeof world.policy;

        world.classes_count = 1 + draw_below(rng, 2);
        used += (size_t)snprintf(world.policy, size,
                                 "kind: Policy\npreset: protected\n"
                                 "rules: {stop_rate: {pct: 100, per: 10m}}\nclasses:\n");
        for (unsigned c = 0; c < world.classes_count; c++)
                used += (size_t)snprintf(world.policy + used, size - used,
                                         "  c%u: {rank: 1, by_weight: true, order: %s, notice: "
                                         "%um, exempt: %us, stops_per_day: unlimited, "
                                         "hold_after: 30d}\n",
                                         c, draw_chance(rng, 50) ? "arrival" : "shortest",
                                         draw_below(rng, 6), exempts[draw_below(rng, 3)]);
        used += (size_t)snprintf(world.policy + used, size - used, "tenants:\n");
        for (unsigned number = 0; left > 0; number++) {
                unsigned children = tree && draw_chance(rng, 70) ? 1 + draw_below(rng, left) : 0;
                if (number == 0 && children == leaves && draw_chance(rng, 70))
                        children--;     /* mostly there are other roots */
                used += put_tenant(rng, world.policy + used, size - used, number, children,
                                   protects);
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

static bool draw_world(uint64_t seed)
{
        struct rng *rng = &world.rng;

        rng_init(rng, seed);
        draw_pool_of(rng);
        draw_policy_text(rng);
        draw_work_kinds(rng);
        if (!play_open(&world.play, models, world.policy, seed, DRAW_START_MS,
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

/* ---- what is held, from the facts ---- */

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

/* Whose promise the tenant draws on, and how much of it is left. */
static uint64_t pot_left(unsigned tenant, unsigned model)
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

static bool may_use(const struct play_work *work, unsigned model)
{
        return work->request.need.models >> world.models[model] & 1;
}

static bool could_be_protected(const struct play_work *work)
{
        for (unsigned m = 0; m < world.models_count; m++)
                if (may_use(work, m) &&
                    pot_left(work->request.tenant, m) >= work->request.need.devices)
                        return true;
        return false;
}

static unsigned free_on(uint32_t node)
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
                if (free_on(n) > room[model_of(n)])
                        room[model_of(n)] = free_on(n);
}

static bool fits(const struct play_work *work, const unsigned room[MODELS])
{
        for (unsigned m = 0; m < world.models_count; m++)
                if (may_use(work, m) && room[m] >= work->request.need.devices)
                        return true;
        return false;
}

/* Smallest borrowed / weight of the tenant over the models that the work may use. */
static uint64_t least_borrowed(unsigned tenant, const struct play_work *work)
{
        uint64_t least = UINT64_MAX;

        for (unsigned m = 0; m < world.models_count; m++)
                if (may_use(work, m) && world.tenants[tenant].borrowed[m] < least)
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

/* All that runs now is older; what is promised here holds again when it has ended. */
static void new_era(void)
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

static void see(void *arg, const struct fact *fact)
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
                new_era();
                world.older--;          /* itself */
                break;
        case FACT_STANDING_SET:
                rises(fact);
                break;
        case FACT_PLANNED:
                new_era();
                break;
        case FACT_PLAN_ENDED:
                new_era();
                world.handing_over = fact->plan_ended.end == PLAN_DONE;
                break;
        default:
                break;
        }
        if (fact->kind != FACT_ALLOCATED && fact->kind != FACT_PLAN_ENDED)
                world.handing_over = false;
}

/* ---- what holds after an input ---- */

static bool check_accounts(void)
{
        const struct accounts *accounts = world.play.state->accounts;

        for (unsigned t = 0; t < accounts->tenants; t++)
                for (unsigned m = 0; m < world.models_count; m++) {
                        unsigned dimension = world.models[m];
                        uint64_t within = *account(accounts->within, t, dimension);
                        uint64_t borrowed = *account_held(accounts, t, dimension) - within +
                                            *account(accounts->spare, t, dimension);
                        if (borrowed != world.tenants[t].borrowed[m] * UNITS_DEVICE ||
                            within != world.tenants[t].within[m] * UNITS_DEVICE)
                                return play_fail(&world.play, "the accounts of %s are wrong",
                                                 tenant_of(t)->path);
                }
        return true;
}

/* Rule 2. */
static bool check_full(void)
{
        const struct state *state = world.play.state;

        world.counts->others[RULE_FULL]++;
        for (uint32_t n = 0; n < state->node_slots.high; n++)
                if (free_on(n) > 0)
                        return play_fail(&world.play, "a device of node %u is idle", n);
        for (unsigned l = 0; l < world.leaves_count; l++)
                for (unsigned m = 0; m < world.models_count && world.hungry[world.leaves[l]]; m++)
                        if (pot_left(world.leaves[l], m) > 0)
                                return play_fail(&world.play, "what %s is promised is not used",
                                                 tenant_of(world.leaves[l])->path);
        return true;
}

static unsigned hungry_siblings(unsigned tenant)
{
        unsigned count = 0;

        for (unsigned t = 0; t < play_tenancy(&world.play)->tenants_count; t++)
                count += world.hungry[t] && tenant_of(t)->parent == tenant_of(tenant)->parent;
        return count;
}

/* d(a) / weight(a), and for siblings L(b) d / weight(b): times both weights. */
static uint64_t bound(unsigned a, unsigned b, uint64_t devices_of_a)
{
        uint64_t by_start = devices_of_a * weight_of(b);

        if (tenant_of(a)->parent == TENANT_NONE)
                return by_start;
        return by_start + hungry_siblings(b) * world.largest * weight_of(a);
}

/* Rules 3, 4 and the first half of 5. */
static bool check_pair(unsigned a, unsigned b, unsigned model)
{
        const struct tenant_now *x = &world.tenants[a], *y = &world.tenants[b];
        bool roots = tenant_of(a)->parent == TENANT_NONE;
        uint64_t span_ms = (uint64_t)(world.counted_ms - world.turned_ms);

        world.counts->others[roots ? RULE_ROOTS : RULE_SIBLINGS]++;
        if (x->borrowed[model] * weight_of(b) >
            y->borrowed[model] * weight_of(a) + bound(a, b, x->newest[model]))
                return play_fail(&world.play,
                                 "%s has borrowed %" PRIu64 " with weight %" PRIu64
                                 " (newest %" PRIu64 "), %s %" PRIu64 " with %" PRIu64,
                                 tenant_of(a)->path, x->borrowed[model], weight_of(a),
                                 x->newest[model], tenant_of(b)->path, y->borrowed[model],
                                 weight_of(b));
        world.counts->others[RULE_TIME]++;
        if (x->device_ms[model] * weight_of(b) >
            y->device_ms[model] * weight_of(a) + bound(a, b, world.largest) * span_ms)
                return play_fail(&world.play, "%s has borrowed longer than %s may lack",
                                 tenant_of(a)->path, tenant_of(b)->path);
        return true;
}

/* The second half of 5. */
static bool check_part(unsigned model)
{
        uint64_t all_ms = 0, weights = 0, roots = 0;
        uint64_t span_ms = (uint64_t)(world.counted_ms - world.turned_ms);
        unsigned count = play_tenancy(&world.play)->tenants_count;

        for (unsigned t = 0; t < count; t++) {
                if (!world.hungry[t] || tenant_of(t)->parent != TENANT_NONE)
                        continue;
                all_ms += world.tenants[t].device_ms[model];
                weights += weight_of(t);
                roots++;
        }
        for (unsigned t = 0; t < count; t++) {
                if (!world.hungry[t] || tenant_of(t)->parent != TENANT_NONE)
                        continue;
                uint64_t has = world.tenants[t].device_ms[model] * weights;
                uint64_t part = all_ms * weight_of(t);
                world.counts->others[RULE_PART]++;
                if (has > part + world.largest * span_ms * weights ||
                    has + (roots - 1) * world.largest * span_ms * weight_of(t) < part)
                        return play_fail(&world.play, "%s has not had its part",
                                         tenant_of(t)->path);
        }
        return true;
}

static bool check_shares(void)
{
        unsigned count = play_tenancy(&world.play)->tenants_count;

        for (unsigned m = 0; m < world.models_count; m++) {
                for (unsigned a = 0; a < count; a++)
                        for (unsigned b = 0; b < count; b++)
                                if (a != b && world.hungry[a] && world.hungry[b] &&
                                    tenant_of(a)->parent == tenant_of(b)->parent &&
                                    !check_pair(a, b, m))
                                        return false;
                if (!check_part(m))
                        return false;
        }
        return true;
}

/* Device time up to now; from the turnover on. */
static void count_time(int64_t now_ms)
{
        for (unsigned t = 0; t < TENANTS; t++)
                for (unsigned m = 0; m < MODELS; m++)
                        world.tenants[t].device_ms[m] +=
                                world.tenants[t].borrowed[m] *
                                (uint64_t)(now_ms - world.counted_ms);
        world.counted_ms = now_ms;
}

static void turn_over(void)
{
        world.turned_ms = world.counted_ms = world.play.now_ms;
        for (unsigned t = 0; t < TENANTS; t++)
                memset(world.tenants[t].device_ms, 0, sizeof world.tenants[t].device_ms);
}

static bool check_all(void)
{
        if (!check_accounts())
                return false;
        if (world.frozen || world.older > 0) {
                world.turned_ms = 0;
                return true;
        }
        if (world.turned_ms == 0)
                turn_over();
        if (world.play.state->plan_slots.used > 0)
                return true;            /* what it locked is idle */
        return world.loose || (check_full() && check_shares());
}

/* ---- what happens ---- */

/* Waiting work that names one model, by that and its devices. */
static void count_waiting(unsigned tenant, unsigned counts[MODELS][5])
{
        memset(counts, 0, MODELS * sizeof *counts);
        for (unsigned w = 0; w < world.play.high; w++) {
                const struct play_work *work = &world.play.works[w];
                uint64_t named = work->request.need.models;
                if (work->status == PLAY_WAITS && work->request.tenant == tenant &&
                    (named & (named - 1)) == 0)
                        counts[may_use(work, 0) ? 0 : 1][work->request.need.devices]++;
        }
}

static bool submit(unsigned leaf, unsigned model, unsigned devices, bool any)
{
        struct rng *rng = &world.rng;
        struct request request = {.tenant = world.leaves[leaf],
                                  .class = (uint16_t)draw_below(rng, world.classes_count),
                                  .form = {.members = 1},
                                  .need = {.models = 1ull << world.models[model],
                                           .ask = ASK_WHOLE,
                                           .devices = (uint8_t)devices}};

        if (any)
                request.need.models |= 1ull << world.models[1 - model];
        if (draw_chance(rng, 30))
                request.checkpoint_every_ms = draw_span(rng, 5 * MINUTE_MS, HOUR_MS);
        return play_submit(&world.play, request,
                           draw_span(rng, world.run_least_ms, world.run_most_ms)) != 0;
}

static bool feed(unsigned leaf)
{
        unsigned counts[MODELS][5];

        count_waiting(world.leaves[leaf], counts);
        for (unsigned m = 0; m < world.models_count; m++)
                for (unsigned s = 0; s < SIZES; s++) {
                        unsigned want = !world.sized[s] ? 0 : s == 0 ? ONES_WAITING : 2;
                        for (unsigned have = counts[m][sizes[s]]; have < want; have++)
                                if (!submit(leaf, m, sizes[s], false))
                                        return false;
                }
        while (world.loose && draw_chance(&world.rng, 20) && world.play.state->waiting < 700)
                if (!submit(leaf, draw_below(&world.rng, 2),
                            world.largest > 1 ? 1 + draw_below(&world.rng, 2) : 1, true))
                        return false;
        return true;
}

/* Who is there eats again; who comes now makes a new era. */
static bool feed_all(const struct step_set *keep)
{
        for (unsigned l = 0; l < world.leaves_count; l++) {
                unsigned leaf = world.leaves[l];
                bool late = world.comes_ms[l] > DRAW_START_MS;
                if (world.play.now_ms < world.comes_ms[l] || (late && !step_set_has(keep, l)))
                        continue;
                if (!world.hungry[leaf])
                        new_era();
                world.hungry[leaf] = true;
                if (tenant_of(leaf)->parent != TENANT_NONE)
                        world.hungry[tenant_of(leaf)->parent] = true;
                if (!feed(l))
                        return false;
        }
        return true;
}

static bool set_frozen(bool frozen)
{
        world.frozen = frozen;
        return play_input(&world.play, &(struct input){.kind = INPUT_FREEZE_SET,
                                                       .freeze = {.frozen = frozen}});
}

static bool once(const struct step_set *keep, int64_t until_ms, bool *ret_more)
{
        int rc = play_step(&world.play, until_ms);

        count_time(world.play.now_ms);
        *ret_more = rc > 0;
        return rc >= 0 && (world.frozen || feed_all(keep)) && check_all();
}

static bool run_until(const struct step_set *keep, int64_t until_ms)
{
        for (bool more = true; more;)
                if (!once(keep, until_ms, &more))
                        return false;
        return true;
}

/* Until so much has come free that larger work fits as well. */
static bool freeze(const struct step_set *keep)
{
        int64_t until_ms = world.play.now_ms + 2 * HOUR_MS;
        bool more = true;

        if (!set_frozen(true))
                return false;
        for (unsigned count = 0; more && count < FREED_FROZEN;) {
                if (!once(keep, until_ms, &more))
                        return false;
                count = 0;
                for (uint32_t n = 0; n < world.play.state->node_slots.high; n++)
                        count += free_on(n);
        }
        if (!set_frozen(false))
                return false;
        new_era();
        return feed_all(keep) && check_all();
}

static bool begin(const struct step_set *keep)
{
        world.play.see = see;
        world.turned_ms = 0;
        world.counted_ms = DRAW_START_MS;
        for (unsigned n = 0; n < world.nodes_count; n++) {
                if (!play_join(&world.play, n, world.models[world.node_model[n]],
                               world.node_devices[n]))
                        return false;
                /* Work for a model is refused before a node of it is there. */
                if (n + 1 >= world.models_count && !feed_all(keep))
                        return false;
        }
        new_era();
        return true;
}

static bool run_world(const struct step_set *keep)
{
        if (!begin(keep))
                return false;
        for (unsigned f = 0; f < FREEZES; f++) {
                int64_t span_ms = draw_span(&world.rng, 2 * HOUR_MS, 16 * HOUR_MS);
                if (!run_until(keep, world.play.now_ms + span_ms) ||
                    (step_set_has(keep, LEAVES_MAX + f) && !freeze(keep)))
                        return false;
        }
        return run_until(keep, world.play.now_ms + 12 * HOUR_MS);
}

static bool run_case(uint64_t seed, const struct step_set *keep, struct counts *counts, char *why,
                     size_t why_size)
{
        memset(&world, 0, sizeof world);
        world.counts = counts;
        counts->steps_made = STEPS;
        counts->step = STEPS - 1;
        bool good = draw_world(seed) && run_world(keep);
        counts->others[RULES] += world.play.inputs;
        snprintf(why, why_size, "%s", world.play.why);
        play_close(&world.play);
        return good;
}

static void print_case(uint64_t seed, const struct step_set *keep, unsigned last)
{
        (void)last;
        memset(&world, 0, sizeof world);
        bool good = draw_world(seed);
        printf("%s", world.policy);
        for (unsigned n = 0; n < world.nodes_count; n++)
                printf("node %u: %u %s\n", n, world.node_devices[n],
                       model_get(models, world.models[world.node_model[n]])->name);
        for (unsigned l = 0; good && l < world.leaves_count; l++)
                if (world.comes_ms[l] == DRAW_START_MS || step_set_has(keep, l))
                        printf("%s comes after %" PRId64 " s\n", tenant_of(world.leaves[l])->path,
                               (world.comes_ms[l] - DRAW_START_MS) / 1000);
        play_close(&world.play);
}

static void summary(const struct counts *counts)
{
        static const char *const words[RULES] = {
                [RULE_START] = "who starts is first",
                [RULE_FULL] = "nothing is free, promises are in use",
                [RULE_ROOTS] = "share of two roots within the bound",
                [RULE_SIBLINGS] = "share of two siblings within the bound",
                [RULE_TIME] = "device time of two within the bound",
                [RULE_PART] = "device time of a root near its part",
        };

        printf("%" PRIu64 " inputs, %" PRIu64 " starts\n", counts->others[RULES], counts->placed);
        for (unsigned r = 0; r < RULES; r++)
                printf("  %10" PRIu64 "  %s\n", counts->others[r], words[r]);
}

int main(int argc, char **argv)
{
        static const struct shrink shrink = {.name = "shares",
                                             .cases = 30,
                                             .models = &models,
                                             .run = run_case,
                                             .print = print_case,
                                             .summary = summary};

        return shrink_main(&shrink, argc, argv);
}
