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

#include "tests/property/policy_draw.h"
#include "tests/property/shares_world.h"

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS   (60 * MINUTE_MS)

enum {
        ONES_WAITING = 14,              /* more than one input can free */
        FREED_FROZEN = 8,
        FREEZES = 6,
        STEPS = LEAVES_MAX + FREEZES    /* tenants that come later; freezes */
};

static const uint8_t sizes[SIZES] = {1, 2, 4};

static struct model_table *models;

/* Waiting work that names one model, by that and its devices. */
static void count_waiting(unsigned tenant, unsigned counts[MODELS][5])
{
        memset(counts, 0, MODELS * sizeof *counts);
        for (unsigned w = 0; w < world.play.high; w++) {
                const struct play_work *work = &world.play.works[w];
                uint64_t named = work->request.need.models;
                if (work->status == PLAY_WAITS && work->request.tenant == tenant &&
                    (named & (named - 1)) == 0)
                        counts[shares_may_use(work, 0) ? 0 : 1][work->request.need.devices]++;
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
                        shares_new_era();
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

        shares_count_time(world.play.now_ms);
        *ret_more = rc > 0;
        return rc >= 0 && (world.frozen || feed_all(keep)) && shares_check();
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
                        count += shares_free_on(n);
        }
        if (!set_frozen(false))
                return false;
        shares_new_era();
        return feed_all(keep) && shares_check();
}

static bool begin(const struct step_set *keep)
{
        world.play.see = shares_see;
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
        shares_new_era();
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
        bool good = shares_draw(models, seed) && run_world(keep);
        counts->others[RULES] += world.play.inputs;
        snprintf(why, why_size, "%s", world.play.why);
        play_close(&world.play);
        return good;
}

static void print_case(uint64_t seed, const struct step_set *keep, unsigned last)
{
        (void)last;
        memset(&world, 0, sizeof world);
        bool good = shares_draw(models, seed);
        printf("%s", world.policy.text);
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
