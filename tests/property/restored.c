/* restored - a pool whose store is put back to older copies of itself, again and again.
 *
 * restored [FIRST..LAST | SEED]
 *
 * The real core and live pool over a disk in memory, and of each node the real state machine of its
 * agent (agent/runs.h), which outlives all of it. A seed draws some hundred steps: work comes and
 * ends, nodes speak or are silent, copies are made and put back, the clock is set back with them.
 * What must hold: no node is ever given one key (workload, member, epoch) for two different pieces
 * of work, nothing is started twice under one, and nothing new is refused for what was started
 * before. At the end every node takes new work at once.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/runs.h"
#include "base/str.h"
#include "controller/nodes.h"
#include "sim/rng.h"
#include "tests/property/shrink.h"
#include "tests/unit/controller/world.h"

enum { STEPS = 150, NODES = 3, LIVES_MAX = 1024, COPIES = 2 };

enum count {
        COUNT_STARTED, COUNT_COPIES, COUNT_RESTORED, COUNT_SET_BACK, COUNT_BEYOND, COUNT_AHEAD,
        COUNT_RECALLED, COUNT_SUPERSEDED, COUNT_ENDED_UNKNOWN, COUNTS_END
};

/* What was started on a node once, and how it ended. */
struct life {
        struct run_key key;
        char name[16];
        bool ended, told_to_end, recalled;
};

/* A node, as long as all of it lasts. */
struct seat {
        char name[8];
        struct runs *runs;
        struct life lives[LIVES_MAX];
        unsigned lives_count;
        uint64_t seen;
        char log[NUMBERS_LOG_TEXT_MAX];
};

struct sim {
        struct world world;
        struct fault_vfs *copies[COPIES];
        bool has_copy[COPIES];
        struct seat nodes[NODES];
        struct rng rng;
        int64_t skew_ms;                /* of the clock by which the controller starts */
        unsigned named;                 /* pieces of work, in all histories */
        struct counts *counts;
        bool failed;
        char *why;
        size_t why_size;
};

static void fail(struct sim *sim, const char *what, const struct seat *node, struct run_key key,
                 const char *more)
{
        char text[RUN_KEY_TEXT_MAX];

        if (!sim->failed)
                snprintf(sim->why, sim->why_size, "%s: %s, %s %s", what, node->name,
                         run_key_text(key, text), more);
        sim->failed = true;
}

static struct life *find_life(struct seat *node, struct run_key key)
{
        for (unsigned i = 0; i < node->lives_count; i++)
                if (run_key_equal(node->lives[i].key, key))
                        return &node->lives[i];
        return NULL;
}

/* ---- the controller ---- */

static void start(struct sim *sim)
{
        struct world *world = &sim->world;

        world->numbers = (struct numbers_wish){
                .log = rng_next(&sim->rng) | 1,
                .epoch_min = (uint64_t)(world->now_ms + sim->skew_ms) * 1000,
                .chance = (uint32_t)rng_next(&sim->rng) | NUMBERS_CHANCE_MIN};
        world_start(world);
}

static void copy(struct sim *sim)
{
        uint64_t c = rng_below(&sim->rng, COPIES);

        sim->counts->others[COUNT_COPIES]++;
        fault_vfs_after_crash(sim->world.disks[sim->world.disk], sim->copies[c], FAULT_LOSE_ALL, 1);
        sim->has_copy[c] = true;
}

static void restore(struct sim *sim)
{
        struct world *world = &sim->world;
        uint64_t c = rng_below(&sim->rng, COPIES);

        if (!sim->has_copy[c])
                return;
        sim->counts->others[COUNT_RESTORED]++;
        world_stop(world);
        world->disk = 1 - world->disk;
        fault_vfs_after_crash(sim->copies[c], world->disks[world->disk], FAULT_LOSE_ALL, 1);
        world->now_ms += 1 + (int64_t)rng_below(&sim->rng, 20000);
        if (rng_below(&sim->rng, 2)) {
                sim->skew_ms -= (int64_t)rng_below(&sim->rng, 100000000);
                sim->counts->others[COUNT_SET_BACK]++;
        }
        start(sim);
}

static void submit(struct sim *sim)
{
        char text[300];
        struct submitted submitted;

        snprintf(text, sizeof text,
                 "kind: Workload\nname: j%u\ntenant: web\n"
                 "each: {devices: 1, model: H100-80, cpu: 1, ram: 1Gi}\nrun: {command: [x]}\n",
                 ++sim->named);
        if (world_submit(&sim->world, text, NULL, &submitted) < 0)
                abort();
        world_settle(&sim->world);
}

/* ---- a node ---- */

static json_t *run_of(struct sim *sim, struct seat *node, size_t index)
{
        struct run_key key = runs_key(node->runs, index);
        enum run_phase phase = runs_phase_at(node->runs, index);
        const struct life *life = find_life(node, key);
        uint64_t floor = runs_floor_of(node->runs, key.workload, key.member);
        json_t *run = json_pack("{s:I,s:i,s:I,s:s,s:i,s:i}", "workload", (json_int_t)key.workload,
                                "member", (int)key.member, "epoch", (json_int_t)key.epoch, "phase",
                                run_phase_name(phase), "exit_code", 0, "signal", 0);

        if (phase == RUN_REFUSED && floor > key.epoch) {
                json_object_set_new(run, "superseded", json_true());
                sim->counts->others[COUNT_SUPERSEDED]++;
        }
        if (phase == RUN_REFUSED && floor <= key.epoch)
                fail(sim, "new work is refused", node, key, life ? life->name : "never started");
        if (phase == RUN_EXITED && life && life->told_to_end)
                json_object_set_new(run, "told_to_end", json_true());
        if (phase == RUN_EXITED && life && life->recalled)
                json_object_set_new(run, "recalled", json_true());
        return run;
}

static json_t *report_of(struct sim *sim, struct seat *node)
{
        struct runs_newest newest = runs_newest(node->runs);
        json_t *runs = json_array();
        json_t *given = json_pack("{s:I,s:I}", "epoch", (json_int_t)newest.epoch, "workload",
                                  (json_int_t)newest.workload);

        if (node->log[0])
                json_object_set_new(given, "log", json_string(node->log));
        for (size_t i = 0; i < runs_count(node->runs); i++)
                if (runs_phase_at(node->runs, i) != RUN_WANTED)
                        json_array_append_new(runs, run_of(sim, node, i));
        if (core_is_beyond(sim->world.live.core, newest.epoch, newest.workload))
                sim->counts->others[COUNT_BEYOND]++;
        return json_pack("{s:i,s:s,s:s,s:I,s:o,s:o}", "protocol", 1, "agent", "0", "boot", "b",
                         "seen", (json_int_t)node->seen, "given", given, "runs", runs);
}

static uint64_t number(const json_t *map, const char *key)
{
        return (uint64_t)json_integer_value(json_object_get(map, key));
}

/* As agent_run.c does. */
static void recall(struct sim *sim, struct seat *node, const struct run_wish *wish)
{
        struct life *life = find_life(node, wish->key);

        if (!life || !life->ended || runs_adopt(node->runs, wish, RUN_EXITED, NULL) < 0)
                return;
        life->recalled = true;
        sim->counts->others[COUNT_RECALLED]++;
}

static void desire(struct sim *sim, struct seat *node, const json_t *answer)
{
        static struct run_wish wishes[EXCHANGE_RUNS_MAX];
        size_t i, d, count = 0;
        json_t *run, *device;

        json_array_foreach(json_object_get(answer, "runs"), i, run) {
                struct run_wish *wish = &wishes[count++];
                *wish = (struct run_wish){
                        .key = {number(run, "workload"), (uint32_t)number(run, "member"),
                                number(run, "epoch")},
                        .go = json_is_true(json_object_get(run, "go")),
                        .has_stop = json_is_object(json_object_get(run, "stop"))};
                json_array_foreach(json_object_get(run, "devices"), d, device)
                        wish->devices |= UINT64_C(1) << number(device, "index");
                const char *name = json_string_value(json_object_get(run, "name"));
                const struct life *life = find_life(node, wish->key);
                if (life && !str_equal(life->name, name))
                        fail(sim, "one key for two pieces of work", node, wish->key, name);
                recall(sim, node, wish);
        }
        node->seen = number(answer, "generation");
        if (!runs_desire(node->runs, node->seen, wishes, count))
                fail(sim, "an older list comes", node, (struct run_key){0}, "");
}

static const char *name_of(const json_t *answer, struct run_key key)
{
        size_t i;
        json_t *run;

        json_array_foreach(json_object_get(answer, "runs"), i, run)
                if (number(run, "workload") == key.workload && number(run, "epoch") == key.epoch)
                        return json_string_value(json_object_get(run, "name"));
        return "";
}

static void begin_life(struct sim *sim, struct seat *node, struct run_key key, const char *name)
{
        if (find_life(node, key) || node->lives_count == LIVES_MAX) {
                fail(sim, "started twice", node, key, name);
                return;
        }
        struct life *life = &node->lives[node->lives_count++];
        *life = (struct life){.key = key};
        (void)str_copy(life->name, sizeof life->name, name);
        (void)runs_observe(node->runs, key, RUN_RUNNING);
        sim->counts->others[COUNT_STARTED]++;
}

static void end_life(struct seat *node, struct run_key key, bool told)
{
        struct life *life = find_life(node, key);

        if (!life || life->ended)
                return;
        life->ended = true;
        life->told_to_end = told;
        (void)runs_observe(node->runs, key, RUN_EXITED);
}

static void exchange(struct sim *sim, struct seat *node)
{
        struct world *world = &sim->world;
        struct run_step step;
        json_t *answer = world_exchange(world, node->name, report_of(sim, node));

        sim->counts->others[COUNT_AHEAD] += nodes_find(world->live.nodes, node->name)->is_ahead;
        if (!answer) {
                fail(sim, "an exchange is refused", node, (struct run_key){0}, world->err.text);
                return;
        }
        const char *log = json_string_value(json_object_get(answer, "log"));
        if (log)
                (void)str_copy(node->log, sizeof node->log, log);
        desire(sim, node, answer);
        while (!sim->failed &&
               runs_next(node->runs, (struct runs_time){world->now_ms, world->steady_ms}, &step)) {
                if (step.kind == RUN_STEP_START)
                        begin_life(sim, node, step.key, name_of(answer, step.key));
                else if (step.kind == RUN_STEP_TERM || step.kind == RUN_STEP_KILL)
                        end_life(node, step.key, true);
                sim->counts->others[COUNT_ENDED_UNKNOWN] += step.kind == RUN_STEP_TERM;
        }
        json_decref(answer);
}

static void end_one(struct sim *sim, struct seat *node)
{
        for (unsigned i = 0; i < node->lives_count; i++)
                if (!node->lives[i].ended && rng_below(&sim->rng, 3) == 0)
                        end_life(node, node->lives[i].key, false);
}

/* ---- one case ---- */

static void do_step(struct sim *sim)
{
        struct seat *node = &sim->nodes[rng_below(&sim->rng, NODES)];
        uint64_t what = rng_below(&sim->rng, 24);

        if (what < 6)
                submit(sim);
        else if (what < 14)
                exchange(sim, node);
        else if (what < 17)
                world_tick(&sim->world, (int64_t)rng_below(&sim->rng, 8000));
        else if (what < 19)
                end_one(sim, node);
        else if (what == 19)
                copy(sim);
        else if (what == 20)
                restore(sim);
        else if (what == 21)
                (void)core_snapshot(sim->world.live.core, NULL);
        else if (what == 22) {
                world_crash(&sim->world, FAULT_LOSE_ALL, 1);
                start(sim);
        }
        world_settle(&sim->world);
}

static void exchange_all(struct sim *sim)
{
        for (unsigned round = 0; round < 4 && !sim->failed; round++) {
                for (unsigned n = 0; n < NODES && !sim->failed; n++)
                        exchange(sim, &sim->nodes[n]);
                world_tick(&sim->world, 1000);
        }
}

/* All ends; then new work begins with the first word of its node. */
static void come_to_rest(struct sim *sim)
{
        unsigned before = sim->named;

        for (unsigned round = 0; round < 100 && !sim->failed; round++) {
                exchange_all(sim);
                bool any = works_count(core_works(sim->world.live.core)) > 0;
                for (unsigned n = 0; n < NODES; n++)
                        for (unsigned i = 0; i < sim->nodes[n].lives_count; i++)
                                end_life(&sim->nodes[n], sim->nodes[n].lives[i].key, false);
                if (!any)
                        break;
        }
        if (!sim->failed && works_count(core_works(sim->world.live.core)) > 0)
                fail(sim, "work never ends", &sim->nodes[0], (struct run_key){0}, "");
        for (unsigned j = 0; j < 12 && !sim->failed; j++)
                submit(sim);
        uint64_t started = sim->counts->others[COUNT_STARTED];
        for (unsigned n = 0; n < NODES && !sim->failed; n++)
                exchange(sim, &sim->nodes[n]);
        if (!sim->failed && sim->counts->others[COUNT_STARTED] - started != sim->named - before)
                fail(sim, "new work does not begin at once", &sim->nodes[0], (struct run_key){0},
                     "");
}

static void sim_init(struct sim *sim, uint64_t seed)
{
        rng_init(&sim->rng, seed);
        world_init(&sim->world, "restored");
        sim->world.keeps_models = true;
        for (unsigned c = 0; c < COPIES; c++)
                sim->copies[c] = fault_vfs_new(c ? "copy-1" : "copy-0");
        for (unsigned n = 0; n < NODES; n++) {
                snprintf(sim->nodes[n].name, sizeof sim->nodes[n].name, "n%u", n + 1);
                sim->nodes[n].runs = runs_new(0);
                if (!sim->nodes[n].runs)
                        abort();
        }
        start(sim);
        if (world_put_pool(&sim->world, world_pool) < 0 ||
            world_put_policy(&sim->world, world_policy) < 0)
                abort();
        copy(sim);
}

static void sim_done(struct sim *sim)
{
        world_done(&sim->world);
        for (unsigned c = 0; c < COPIES; c++)
                fault_vfs_free(sim->copies[c]);
        for (unsigned n = 0; n < NODES; n++)
                runs_free(sim->nodes[n].runs);
}

static bool run(uint64_t seed, const struct step_set *keep, struct counts *counts, char *why,
                size_t why_size)
{
        static struct sim sim;

        sim = (struct sim){.counts = counts, .why = why, .why_size = why_size};
        sim_init(&sim, seed);
        for (unsigned s = 0; s < STEPS && !sim.failed; s++) {
                counts->step = s;
                rng_init_stream(&sim.rng, seed, s + 1);
                if (step_set_has(keep, s))
                        do_step(&sim);
                counts->steps_made++;
        }
        if (!sim.failed)
                come_to_rest(&sim);
        sim_done(&sim);
        return !sim.failed;
}

static void print(uint64_t seed, const struct step_set *keep, unsigned last)
{
        printf("seed %" PRIu64 ", steps", seed);
        for (unsigned s = 0; s < STEPS && s <= last; s++)
                if (step_set_has(keep, s))
                        printf(" %u", s);
        printf("\n");
}

static void summary(const struct counts *counts)
{
        static const char *const words[COUNTS_END] = {
                [COUNT_STARTED] = "runs started", [COUNT_COPIES] = "copies made",
                [COUNT_RESTORED] = "put back", [COUNT_SET_BACK] = "clocks set back with them",
                [COUNT_BEYOND] = "reports beyond the log", [COUNT_AHEAD] = "of nodes ahead of it",
                [COUNT_RECALLED] = "runs recalled", [COUNT_SUPERSEDED] = "superseded",
                [COUNT_ENDED_UNKNOWN] = "told to end"};

        for (unsigned c = 0; c < COUNTS_END; c++)
                printf("%s%" PRIu64 " %s", c ? ", " : "", counts->others[c], words[c]);
        printf("\n");
}

int main(int argc, char **argv)
{
        static const struct shrink shrink = {.name = "restored", .cases = 12, .run = run,
                                             .print = print, .summary = summary};

        return shrink_main(&shrink, argc, argv);
}
