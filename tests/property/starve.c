/* starve - under a stream that would fill the pool for ever, everybody starts within the bound.
 *
 * starve [FIRST..LAST | SEED]   (or BERTH_SEEDS; BERTH_CASES says how many from 1)
 *
 * A seed draws a pool of 4 to 24 devices, or of 112; two classes, one before the other, by weight
 * or not, shortest first, with or without time slices; a heavy and a light tenant; and a stream of
 * short narrow work of which there is always more than starts. Into it come long jobs: half a node,
 * whole nodes, gangs on two or three, single devices; of the light tenant, of the last class, spare
 * by choice as well. All work has a time limit. With
 *
 *     A = RESCUE_AFTER_MS     L = the longest time limit     T = between two ticks, and a minute
 *
 * 1. Whoever is rescued has waited for A, and longest of all; and after a tick at which somebody
 *    has waited for A, what is rescued leaves no room in RESCUE_PERCENT of the pool for the one
 *    that has waited longest.
 * 2. Who is rescued waits for at most (1 + r) (L + 2 T) more, where r others are rescued and have
 *    not ended, or are rescued meanwhile. At the next tick it has a capacity hold on the nodes that
 *    are ready soonest. By its limit all that runs now has ended after L, and nothing that starts
 *    in between stays longer than the hold says; so what is foretold comes no later from tick to
 *    tick, but where an older rescued one takes the nodes: that one starts first.
 * 3. Who is rescued runs to its end once it has started, within L and T.
 * 4. So it starts within    A + T + n (2 L + 4 T) + L + 2 T,
 *    where n others are rescued, or become it, from when it has waited for A until it starts. Of
 *    work that has not run yet they are older than itself: n does not grow with the stream.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "engine/order.h"
#include "tests/property/play.h"
#include "tests/property/policy_draw.h"
#include "tests/property/shrink.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)

enum { JOBS_MAX = 10, NODES_LARGE = 14 };

enum rule { RULE_LONGEST, RULE_FILLED, RULE_RESCUED, RULE_ENDS, RULE_STARTS, RULES };
enum figure { INPUTS = RULES, JOBS, RESCUED, LONGEST_MS, LONGEST_RESCUED_MS };

/* A long job that is watched. */
struct job {
        struct request request;
        int64_t need_ms, comes_ms;
        uint64_t id;
};

/* What is known of a workload besides the play's own. */
struct watched {
        uint64_t id;
        bool overdue;                   /* it has waited for A */
        int64_t waits_ms;               /* since when it waits rescued */
        int64_t runs_ms;                /* of a rescued one: its first start since */
        uint64_t before;                /* others rescued from then on, or then */
        uint64_t ahead;                 /* the same of who is rescued, from that on */
};

struct world {
        struct play play;
        struct rng rng;
        unsigned nodes, devices, stream, jobs_count;
        bool slices, never[2];          /* work of the class is never stopped */
        int64_t short_least_ms, short_most_ms, longest_limit_ms;
        struct job jobs[JOBS_MAX];
        struct watched watched[PLAY_WORKS];
        char policy[2048];
        struct counts *counts;
};

static struct world world;
static struct model_table *models;

static const uint8_t model = CASE_T4;

/* ---- drawing ---- */

static void draw_policy_text(struct rng *rng)
{
        static const char *const stops[] = {"never", "for_protect", "always"};
        size_t used = 0, size = sizeof world.policy;
        bool by_weight = draw_chance(rng, 50);

        world.slices = draw_chance(rng, 30);
        used += (size_t)snprintf(world.policy, size, "kind: Policy\npreset: equal\nclasses:\n");
        for (unsigned c = 0; c < 2; c++) {
                unsigned stop = world.slices ? 1 + draw_below(rng, 2) : draw_below(rng, 3);
                world.never[c] = stop == 0;
                used += (size_t)snprintf(world.policy + used, size - used,
                                         "  c%u: {rank: %u, order: %s, by_weight: %s, stop: %s, "
                                         "exempt: %um, stops_per_day: %s%s}\n",
                                         c, c, draw_chance(rng, 85) ? "shortest" : "arrival",
                                         by_weight ? "true" : "false", stops[stop],
                                         draw_below(rng, 2) * 20,
                                         draw_chance(rng, 30) ? "unlimited" : "3",
                                         world.slices ? ", time_slice: {levels: [1h, 8h]}" : "");
        }
        snprintf(world.policy + used, size - used,
                 "tenants: {heavy: {weight: 1000}, light: {weight: 0.001}}\n");
}

/* Half a node; a node; two or three halves or nodes; one device; more members than nodes. */
static void draw_form(struct rng *rng, struct request *request)
{
        unsigned half = world.devices > 1 ? world.devices / 2 : 1;
        unsigned kind = draw_below(rng, 5);

        request->form.members = 1;
        request->need.devices = (uint8_t)(kind == 1 ? world.devices : half);
        if (kind == 2) {
                request->form.members = world.nodes > 2 ? 2 + draw_below(rng, 2) : 2;
                request->need.devices = (uint8_t)(draw_chance(rng, 50) ? world.devices : half);
        }
        if (kind == 3)
                request->need.devices = 1;
        if (kind == 4 && world.devices > 1)
                request->form.members = (uint16_t)(world.nodes + 1);
}

static void draw_limits(struct rng *rng, struct request *request, int64_t need_ms)
{
        request->time_limit_ms = draw_chance(rng, 40) ? need_ms : draw_span(rng, need_ms,
                                                                            2 * need_ms);
        if (draw_chance(rng, 30))
                request->checkpoint_every_ms = draw_span(rng, 10 * MINUTE_MS, 8 * HOUR_MS);
        if (draw_chance(rng, 20))
                request->checkpoint_within_ms = MINUTE_MS;
        if (request->time_limit_ms > world.longest_limit_ms)
                world.longest_limit_ms = request->time_limit_ms;
}

static void draw_jobs(struct rng *rng)
{
        world.jobs_count = 3 + draw_below(rng, JOBS_MAX - 2);
        for (unsigned j = 0; j < world.jobs_count; j++) {
                struct job *job = &world.jobs[j];
                job->request = (struct request){.need = {.models = 1ull << model,
                                                         .ask = ASK_WHOLE},
                                                .tenant = (uint16_t)draw_below(rng, 2),
                                                .class = (uint16_t)draw_below(rng, 2)};
                draw_form(rng, &job->request);
                job->request.spare = !world.never[job->request.class] && draw_chance(rng, 15);
                job->need_ms = draw_span(rng, 6 * HOUR_MS, 36 * HOUR_MS);
                draw_limits(rng, &job->request, job->need_ms);
                job->comes_ms = DRAW_START_MS + draw_span(rng, HOUR_MS, 12 * DAY_MS);
        }
}

static bool draw_world(uint64_t seed)
{
        static const uint8_t sizes[] = {2, 4, 4, 8};
        struct rng *rng = &world.rng;
        bool large = seed % 16 == 0;

        static const int64_t ticks_ms[] = {15 * SECOND_MS, MINUTE_MS, MINUTE_MS, 10 * MINUTE_MS};

        rng_init(rng, seed);
        world.devices = large ? 8 : sizes[draw_below(rng, 4)];
        world.nodes = large ? NODES_LARGE : 2 + draw_below(rng, 24 / world.devices - 1);
        world.stream = 4 + draw_below(rng, world.nodes * world.devices);
        world.short_least_ms = (large ? 8 : 1) * HOUR_MS;
        world.short_most_ms = (large ? 16 : 4) * HOUR_MS;
        draw_policy_text(rng);
        draw_jobs(rng);
        return play_open(&world.play, models, world.policy, seed, DRAW_START_MS,
                         ticks_ms[draw_below(rng, 4)]);
}

/* ---- what is watched ---- */

static int64_t tick_ms(void)
{
        return world.play.tick_ms + MINUTE_MS;
}

static uint64_t units_of(const struct play_work *work)
{
        return (uint64_t)work->request.need.devices * work->request.form.members;
}

static struct watched *watched_of(const struct play_work *work)
{
        return &world.watched[work - world.play.works];
}

/* Rescued and not ended. */
static uint64_t rescued_now(uint64_t *ret_devices)
{
        uint64_t count = 0;

        *ret_devices = 0;
        for (unsigned w = 0; w < world.play.high; w++) {
                const struct play_work *work = &world.play.works[w];
                if (work->status == PLAY_GONE || !work->rescued)
                        continue;
                *ret_devices += units_of(work);
                count++;
        }
        return count;
}

static bool is_overdue(const struct play_work *work)
{
        return work->status == PLAY_WAITS && !work->rescued &&
               play_waited_ms(&world.play, work) >= RESCUE_AFTER_MS;
}

/* Rule 1, first half. */
static void rescues(uint64_t id)
{
        const struct play_work *it = play_work(&world.play, id);
        struct watched *watched = watched_of(it);
        uint64_t devices;

        world.counts->others[RULE_LONGEST]++;
        world.counts->others[RESCUED]++;
        if (!is_overdue(it))
                play_fail(&world.play, "workload %" PRIu64 " is rescued too early", id);
        for (unsigned w = 0; w < world.play.high; w++) {
                const struct play_work *other = &world.play.works[w];
                if (other == it || other->status != PLAY_WAITS)
                        continue;
                watched_of(other)->before++;
                watched_of(other)->ahead++;
                if (is_overdue(other) &&
                    play_waited_ms(&world.play, other) > play_waited_ms(&world.play, it))
                        play_fail(&world.play, "workload %" PRIu64 " is rescued before %" PRIu64,
                                  id, other->request.workload);
        }
        watched->waits_ms = world.play.now_ms;
        watched->ahead = rescued_now(&devices);
}

/* Rules 2 and 4. */
static void check_wait(const struct play_work *work, bool starts)
{
        const struct watched *watched = watched_of(work);
        int64_t limit = world.longest_limit_ms, tick = tick_ms();
        int64_t waited = play_waited_ms(&world.play, work);
        uint64_t *longest = &world.counts->others[LONGEST_RESCUED_MS];

        if (work->rescued) {
                int64_t more = world.play.now_ms - watched->waits_ms;
                world.counts->others[RULE_RESCUED]++;
                *longest = (uint64_t)more > *longest ? (uint64_t)more : *longest;
                if (more > (int64_t)(1 + watched->ahead) * (limit + 2 * tick))
                        play_fail(&world.play, "workload %" PRIu64 " waits rescued for %" PRId64
                                               " h, longest limit %" PRId64 " h, %" PRIu64
                                               " before it",
                                  work->request.workload, more / HOUR_MS, limit / HOUR_MS,
                                  watched->ahead);
        }
        longest = &world.counts->others[LONGEST_MS];
        *longest = (uint64_t)waited > *longest ? (uint64_t)waited : *longest;
        world.counts->others[RULE_STARTS] += starts;
        if (work->started == 0 &&
            waited > RESCUE_AFTER_MS + tick + (int64_t)watched->before * (2 * limit + 4 * tick) +
                             limit + 2 * tick)
                play_fail(&world.play, "workload %" PRIu64 " waits for %" PRId64 " h, %" PRIu64
                                       " were rescued before it",
                          work->request.workload, waited / HOUR_MS, watched->before);
}

/* Rule 3. */
static void check_run(const struct play_work *work)
{
        const struct watched *watched = watched_of(work);

        world.counts->others[RULE_ENDS]++;
        if (world.play.now_ms - watched->runs_ms > world.longest_limit_ms + tick_ms())
                play_fail(&world.play,
                          "workload %" PRIu64 " was rescued, started %" PRId64
                          " h ago and has not ended",
                          work->request.workload,
                          (world.play.now_ms - watched->runs_ms) / HOUR_MS);
}

static void starts(const struct fact_allocated *fact)
{
        struct play_work *work = play_work(&world.play, fact->workload);

        if (work->status != PLAY_WAITS)
                return;
        check_wait(work, true);
        if (work->rescued && watched_of(work)->runs_ms == 0)
                watched_of(work)->runs_ms = world.play.now_ms;
        world.counts->placed++;
}

static void see(void *arg, const struct fact *fact)
{
        (void)arg;
        if (fact->kind == FACT_ALLOCATED)
                starts(&fact->allocated);
        if (fact->kind == FACT_RESCUED)
                rescues(fact->rescued);
        if (fact->kind == FACT_REQUEUED)
                watched_of(play_work(&world.play, fact->requeued.workload))->waits_ms =
                        world.play.now_ms;
        if (fact->kind == FACT_QUEUED)
                *watched_of(play_work(&world.play, fact->queued.workload)) =
                        (struct watched){.id = fact->queued.workload};
}

/* Rule 1, second half: nobody else is added only where the one that waited longest is too much. */
static void check_filled(void)
{
        uint64_t devices, count = rescued_now(&devices);
        const struct play_work *longest = NULL;

        for (unsigned w = 0; w < world.play.high; w++) {
                const struct play_work *work = &world.play.works[w];
                if (!is_overdue(work))
                        continue;
                if (!watched_of(work)->overdue)
                        watched_of(work)->before = count;
                watched_of(work)->overdue = true;
                if (!longest ||
                    play_waited_ms(&world.play, work) > play_waited_ms(&world.play, longest))
                        longest = work;
        }
        if (!longest)
                return;
        world.counts->others[RULE_FILLED]++;
        uint64_t all = (uint64_t)world.nodes * world.devices;
        if (count == 0 || (devices + units_of(longest)) * 100 <= all * RESCUE_PERCENT)
                play_fail(&world.play,
                          "workload %" PRIu64 " is overdue, %" PRIu64 " of %" PRIu64
                          " devices are rescued work's",
                          longest->request.workload, devices, all);
}

static bool check_all(void)
{
        check_filled();
        for (unsigned w = 0; w < world.play.high; w++) {
                const struct play_work *work = &world.play.works[w];
                if (work->status == PLAY_WAITS)
                        check_wait(work, false);
                if (work->status != PLAY_GONE && work->rescued && watched_of(work)->runs_ms)
                        check_run(work);
        }
        return world.play.why[0] == '\0';
}

/* ---- what happens ---- */

static bool is_job(const struct play_work *work)
{
        return work->tag > 0;
}

static bool submit_short(void)
{
        struct rng *rng = &world.rng;
        struct request request = {.need = {.models = 1ull << model,
                                           .ask = ASK_WHOLE,
                                           .devices = draw_chance(rng, 15) ? 2 : 1},
                                  .form = {.members = 1}};
        int64_t need_ms = draw_span(rng, world.short_least_ms, world.short_most_ms);

        draw_limits(rng, &request, need_ms);
        return play_submit(&world.play, request, need_ms) != 0;
}

/* There is always more of it than starts. */
static bool feed(void)
{
        unsigned count = 0;

        for (unsigned w = 0; w < world.play.high; w++)
                count += world.play.works[w].status == PLAY_WAITS && !is_job(&world.play.works[w]);
        for (; count < world.stream; count++)
                if (!submit_short())
                        return false;
        return true;
}

static bool submit_jobs(const struct step_set *keep)
{
        for (unsigned j = 0; j < world.jobs_count; j++) {
                struct job *job = &world.jobs[j];
                if (job->id || world.play.now_ms < job->comes_ms || !step_set_has(keep, j))
                        continue;
                job->id = play_submit(&world.play, job->request, job->need_ms);
                if (job->id == 0)
                        return false;
                play_work(&world.play, job->id)->tag = j + 1;
                world.counts->others[JOBS]++;
        }
        return true;
}

/* All jobs have come, and ended. */
static bool is_over(const struct step_set *keep)
{
        for (unsigned j = 0; j < world.jobs_count; j++) {
                const struct job *job = &world.jobs[j];
                if (!step_set_has(keep, j))
                        continue;
                if (!job->id)
                        return false;
                const struct play_work *work = play_work(&world.play, job->id);
                if (work->request.workload == job->id && work->status != PLAY_GONE)
                        return false;
        }
        return true;
}

static bool run_world(const struct step_set *keep)
{
        world.play.see = see;
        for (unsigned n = 0; n < world.nodes; n++)
                if (!play_join(&world.play, n, model, world.devices))
                        return false;
        while (!is_over(keep)) {
                int64_t ticked_ms = world.play.ticked_ms;
                if (!feed() || !submit_jobs(keep) || play_step(&world.play, INT64_MAX) < 0)
                        return false;
                if (world.play.ticked_ms != ticked_ms && !check_all())
                        return false;
        }
        return true;
}

static bool run_case(uint64_t seed, const struct step_set *keep, struct counts *counts, char *why,
                     size_t why_size)
{
        memset(&world, 0, sizeof world);
        world.counts = counts;
        bool good = draw_world(seed);
        counts->steps_made = world.jobs_count;
        counts->step = world.jobs_count ? world.jobs_count - 1 : 0;
        good = good && run_world(keep);
        counts->others[INPUTS] += world.play.inputs;
        snprintf(why, why_size, "%s", world.play.why);
        play_close(&world.play);
        return good;
}

static void print_case(uint64_t seed, const struct step_set *keep, unsigned last)
{
        memset(&world, 0, sizeof world);
        (void)draw_world(seed);
        printf("%s%u nodes of %u devices, a tick each %" PRId64 " s, %u short ones wait\n",
               world.policy, world.nodes, world.devices, world.play.tick_ms / SECOND_MS,
               world.stream);
        for (unsigned j = 0; j < world.jobs_count && j <= last; j++) {
                const struct job *job = &world.jobs[j];
                if (step_set_has(keep, j))
                        printf("after %" PRId64 " h: %u x %u devices for %" PRId64
                               " h, limit %" PRId64 " h, tenant %u, class %u%s\n",
                               (job->comes_ms - DRAW_START_MS) / HOUR_MS,
                               job->request.form.members, job->request.need.devices,
                               job->need_ms / HOUR_MS, job->request.time_limit_ms / HOUR_MS,
                               job->request.tenant, job->request.class,
                               job->request.spare ? ", spare" : "");
        }
        play_close(&world.play);
}

static void summary(const struct counts *counts)
{
        static const char *const words[RULES] = {
                [RULE_LONGEST] = "who is rescued waited longest",
                [RULE_FILLED] = "somebody is rescued where one is overdue",
                [RULE_RESCUED] = "who is rescued waits within the bound",
                [RULE_ENDS] = "who is rescued ends",
                [RULE_STARTS] = "work starts within the bound",
        };
        const uint64_t *others = counts->others;

        printf("%" PRIu64 " inputs, %" PRIu64 " long jobs, %" PRIu64 " rescued; the longest wait %"
               PRIu64 " h, of rescued work %" PRIu64 " h more\n",
               others[INPUTS], others[JOBS], others[RESCUED],
               others[LONGEST_MS] / (uint64_t)HOUR_MS,
               others[LONGEST_RESCUED_MS] / (uint64_t)HOUR_MS);
        for (unsigned r = 0; r < RULES; r++)
                printf("  %10" PRIu64 "  %s\n", others[r], words[r]);
}

int main(int argc, char **argv)
{
        static const struct shrink shrink = {.name = "starve",
                                             .cases = 40,
                                             .models = &models,
                                             .run = run_case,
                                             .print = print_case,
                                             .summary = summary};

        return shrink_main(&shrink, argc, argv);
}
