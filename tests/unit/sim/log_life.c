#include "tests/unit/sim/log_life.h"

#include "tests/unit/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "controller/core.h"
#include "engine/contact.h"
#include "engine/price.h"
#include "store/prune.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "tests/unit/sim/log_world.h"

const char log_life_policy[] =
        "kind: Policy\n"
        "preset: protected\n"
        "tenants:\n"
        "  research: {protect: {any: 4}, tenants: {nlp: {}, vision: {}}}\n"
        "  web: {}\n";

static char folder[] = "/tmp/berth-test-XXXXXX";
static struct seal_key key;

const char *log_life_path(const char *name)
{
        static char path[4][256];
        static unsigned next;
        char *it = path[next++ % 4];
        (void)snprintf(it, sizeof path[0], "%s/%s", folder, name);
        return it;
}

int log_life_begin(void **state)
{
        (void)state;
        return mkdtemp(folder) && seal_key_load(log_life_path("key"), &key, NULL) == 0 ? 0 : -1;
}

int log_life_end(void **state)
{
        (void)state;
        unlink(log_life_path("key"));
        return rmdir(folder);
}

void log_life_remove(const char *path)
{
        static const char *const tails[] = {"", "-wal", "-shm", ".lock"};
        char it[300];
        for (size_t t = 0; t < ARRAY_LEN(tails); t++) {
                (void)snprintf(it, sizeof it, "%s%s", path, tails[t]);
                unlink(it);
        }
}

struct store *log_life_open(const char *path)
{
        struct store *store = NULL;
        struct err err = {0};
        if (store_open(&(struct store_options){.path = path}, &store, &err) < 0)
                fail_msg("%s", err.text);
        return store;
}

uint64_t log_life_prune(const char *path)
{
        struct store *store = log_life_open(path);
        struct snapshot list[8];
        struct err err = {0};
        size_t count;
        int rc;
        assert_int_equal(snapshot_list(store, list, 8, &count, NULL), 0);
        assert_true(count >= 2);
        struct prune prune = {.upto_seq = list[1].seq, .at_ms = 5, .key = &key};
        while ((rc = prune_step(&prune, store, &err)) > 0)
                ;
        if (rc < 0)
                fail_msg("%s", err.text);
        store_close(store);
        return list[1].seq;
}

/* ---- a random life ---- */

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
        seed += 0x9e3779b97f4a7c15u;
        return map_mix(seed) % below;
}

static void submit_one(struct log_world *world)
{
        static const char *const tenants[] = {"research/nlp", "research/vision", "web"};
        static const char *const classes[] = {"training", "batch", "interactive"};
        (void)log_world_submit(world, tenants[draw(3)], classes[draw(3)], (uint8_t)(1 + draw(8)),
                               draw(2) ? 600000 : 0);
}

static bool is_torn(const struct log_world *world, uint64_t workload)
{
        const struct state *state = core_state(world->core);
        return workload_is_torn(state, &state->workloads[state_workload(state, workload)]);
}

static void end_one(struct log_world *world)
{
        static const enum input_kind kinds[] = {INPUT_EXITED, INPUT_FAILED, INPUT_EXITED,
                                                INPUT_CHECKPOINTED};
        struct input input = {.workload = 1 + draw(world->workloads + 1)};
        if (!log_world_lives(world, input.workload))
                return;
        input.kind = log_world_runs(world, input.workload) ? kinds[draw(4)] : INPUT_CANCELLED;
        /* As a controller does: what lacks a part of it has not failed by itself. */
        if (input.kind == INPUT_FAILED && is_torn(world, input.workload))
                input.kind = INPUT_LOST;
        if (input.kind != INPUT_CANCELLED || draw(4) == 0)
                log_world_input(world, &input);
}

/* What a request that is only tried leaves behind: words that the log does not have yet. */
static void try_word(struct log_world *world)
{
        char word[32];
        (void)snprintf(word, sizeof word, "tried-%llu", (unsigned long long)draw(1000000));
        assert_true(vocab_word(core_state(world->core)->vocab, word, NULL) > 0);
        assert_true(vocab_name(core_state(world->core)->vocab, word, NULL) > 0);
}

/* What a worker tells: prices for a demand, or when work that waits may start. */
static void plan_demand(struct log_world *world)
{
        struct price_plan *plan = mem_new(1, sizeof *plan);
        const struct input input = {.kind = INPUT_PLAN_SET, .plan = draw(8) ? plan : NULL};
        assert_non_null(plan);
        plan->hash = draw(UINT64_MAX);
        plan->revision = world->workloads;
        plan->priced = draw(2);
        plan->shapes_count = 1 + (uint32_t)draw(3);
        for (uint32_t s = 0; s < plan->shapes_count; s++)
                plan->shapes[s] = (struct price_shape){.cpu_milli = (uint32_t)draw(9000),
                                                       .share_milli = 1000,
                                                       .devices = (uint8_t)(1 + s),
                                                       .models = UINT64_MAX,
                                                       .weight = 1 + draw(50)};
        plan->table.models_len = plan->priced ? 40 : 0;
        for (uint32_t m = 0; m < plan->table.models_len; m++)
                for (unsigned i = 0; i <= PRICE_DEVICES_MAX; i++)
                        plan->table.models[m].idle[i][0] = (int32_t)draw(126000);
        log_world_input(world, &input);
        mem_free(plan);
}

static void foretell(struct log_world *world)
{
        struct input input = {.kind = INPUT_ETA_SET};
        input.eta = (struct eta_set){.workload = 1 + draw(world->workloads + 1),
                                     .p50_ms = (int64_t)draw(100000),
                                     .p90_ms = 100000 + (int64_t)draw(100000),
                                     .coverage_pct = (uint8_t)draw(101),
                                     .raw_ms = (int64_t)draw(50000)};
        if (log_world_lives(world, input.eta.workload))
                log_world_input(world, &input);
}

/* Now and then; the life goes on as it would without. Prices say where work lies, and a policy that
 * is tried has none: that may not matter where it makes a difference what fails. */
static void be_told(struct log_world *world, bool with_prices)
{
        uint64_t kept = seed;
        uint64_t what = draw(8);
        if (what == 0 && with_prices)
                plan_demand(world);
        else if (what < 3)
                foretell(world);
        seed = kept;
}

static void live_a_step(struct log_world *world, bool with_prices)
{
        world->now_ms += (int64_t)draw(20000);
        switch (draw(10)) {
        case 0: case 1: case 2: case 3:
                submit_one(world);
                break;
        case 4: case 5: case 6:
                end_one(world);
                break;
        case 7:
                try_word(world);
                break;
        default:
                log_world_tick(world, world->now_ms);
        }
        log_world_stop_due(world);
        be_told(world, with_prices);
}

/* Agents end what a failure tore, each in its time; then its device is well again. */
static void end_torn(struct log_world *world)
{
        const struct state *state = core_state(world->core);
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *it = &state->workloads[w];
                const struct input lost = {.kind = INPUT_LOST, .workload = it->id};
                if (it->live && it->members_placed > 0 && workload_is_torn(state, it) &&
                    draw(5) == 0)
                        log_world_input(world, &lost);
        }
        for (uint32_t n = 0; n < state->node_slots.high; n++) {
                struct input well = {.kind = INPUT_NODE_CHANGED, .node = state->nodes[n].desc};
                well.node.broken &= node_devices_held(state, n);
                if (well.node.broken != state->nodes[n].desc.broken)
                        log_world_input(world, &well);
        }
}

static void fail_a_step(struct log_world *world)
{
        const struct state *state = core_state(world->core);
        const struct node *node = &state->nodes[draw(state->node_slots.high)];
        struct input fails = {.kind = INPUT_DEVICES_FAILED, .broke = {node->desc.name, 0}};
        struct input lost = {.kind = INPUT_LOST, .workload = 1 + draw(world->workloads + 1)};
        fails.broke.devices = (uint16_t)(1u << draw(node->desc.devices));
        if (draw(12) == 0)
                log_world_input(world, &fails);
        if (draw(12) == 0 && log_world_runs(world, lost.workload))
                log_world_input(world, &lost);
        end_torn(world);
}

void log_life_live(const char *path, struct log_life life)
{
        struct log_world world;
        seed = life.seed;
        log_world_open(&world, path, 64);
        if (life.seed % 3 == 0)
                log_world_note(&world, "before any input");
        log_world_policy(&world, log_life_policy);
        log_world_node(&world, "gpu-1", "H100-80", 8);
        log_world_node(&world, "gpu-2", "X100", 8);     /* that no table knows */
        for (unsigned s = 0; s < life.steps; s++) {
                live_a_step(&world, !life.with_failures);
                if (life.with_failures)
                        fail_a_step(&world);
                if (life.with_snapshots && draw(40) == 0)
                        log_world_snapshot(&world);
                if (draw(60) == 0)
                        log_world_restart(&world);
                if (s == life.steps / 2)
                        log_world_node(&world, "gpu-3", "Y200", 4);
        }
        log_world_close(&world);
}
