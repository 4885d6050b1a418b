#include "tests/property/explain_world.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/accounts.h"
#include "proto/policy_doc.h"

/* ---- life and lives ---- */

bool world_open(struct world *world, const struct model_table *models, uint64_t seed)
{
        struct vocab *vocab = vocab_new();
        struct rng rng;
        bool good = vocab && case_words_enter(vocab, &world->words) >= 0;

        vocab_free(vocab);
        rng_init(&rng, seed);
        *world = (struct world){
                .seed = seed, .models = models, .words = world->words, .now_ms = DRAW_START_MS};
        do
                draw_pool(&rng, &world->words, &world->pool);
        while (world->pool.nodes_count < world->pool.models_count);
        return good;
}

void world_close(struct world *world)
{
        mem_free(world->lived);
}

bool is_foreign(const struct life *life, uint16_t tenant)
{
        const struct tenancy *tenancy = life->policy->tenancy;

        return !tenancy_is_below(tenancy, tenant, life->viewer) &&
               !tenancy_is_below(tenancy, life->viewer, tenant);
}

/* The words that stand for foreign tenants in every text. */
static void rename_foreign(struct life *life)
{
        struct tenancy *tenancy = life->policy->tenancy;

        for (uint32_t t = 0; life->prefix && t < tenancy->tenants_count; t++)
                if (is_foreign(life, (uint16_t)t))
                        snprintf(tenancy->tenants[t].path, TENANT_PATH_MAX, "%s-%u", life->prefix,
                                 t);
}

bool life_open(struct life *life, const struct world *world, uint16_t viewer, const char *prefix,
               uint64_t foreign_ids)
{
        static const struct state_bounds bounds = {.nodes_max = 32,
                                                   .workloads_max = 1024,
                                                   .members_max = 2048,
                                                   .parts_max = 8192,
                                                   .shapes_max = 1024,
                                                   .buckets_max = 2048,
                                                   .plans_max = 64};
        struct case_words words;
        struct policy placement = {.kind = (enum policy_kind)(world->seed % POLICIES_END),
                                   .seed = world->seed};

        *life = (struct life){
                .world = world, .viewer = viewer, .prefix = prefix, .foreign_ids = foreign_ids};
        life->policy = draw_policy(world->seed, world->seed, &world->pool, world->models, false);
        if (!life->policy)
                return false;
        life->viewer = (uint16_t)(viewer % life->policy->tenancy->tenants_count);
        rename_foreign(life);
        life->state = state_new(world->models, &bounds);
        life->memo = memo_new(placement, MEMO_INDEXED);
        return life->state && life->memo && case_words_enter(life->state->vocab, &words) >= 0;
}

void life_close(struct life *life)
{
        memo_free(life->memo);
        state_free(life->state);
        policy_doc_free(life->policy);
}

static uint64_t id_of(const struct life *life, uint64_t id)
{
        const struct world *world = life->world;

        for (uint32_t i = 0; life->foreign_ids && i < world->lived_count; i++)
                if (world->lived[i].input.kind == INPUT_SUBMITTED &&
                    world->lived[i].input.request.workload == id)
                        return is_foreign(life, world->lived[i].input.request.tenant)
                                       ? id + life->foreign_ids
                                       : id;
        return id;
}

static void see(void *arg, const struct fact *fact)
{
        struct life *life = arg;

        life->started += fact->kind == FACT_ALLOCATED;
        if (fact->kind == FACT_REFUSED)
                life->refused_at = fact->refused.gate;
}

int life_run(struct life *life, const struct input *input, int64_t now_ms)
{
        struct input own = *input;
        struct err err = {0};

        if (input->kind == INPUT_POLICY_SET && !input->accounts)
                own.accounts = accounts_new(life->policy->tenancy, NULL);
        if (input->kind == INPUT_SUBMITTED) {
                own.request.workload = id_of(life, input->request.workload);
                for (unsigned a = 0; a < own.request.after_count; a++)
                        own.request.after[a] = id_of(life, input->request.after[a]);
        } else if (input->kind == INPUT_HOLD_CHANGED) {
                own.hold.workload = id_of(life, input->hold.workload);
        } else if (input->kind == INPUT_USE_REPORTED) {
                own.use.workload = id_of(life, input->use.workload);
        } else if (input->kind <= INPUT_CHECKPOINTED) {
                own.workload = id_of(life, input->workload);
        }
        life->started = 0;
        int rc = engine_run(life->state, life->memo, &own, now_ms, see, life, &err);
        if (rc && input->kind == INPUT_POLICY_SET)
                accounts_free(own.accounts);
        return rc;
}

bool life_again(struct life *life, const struct world *world)
{
        for (uint32_t i = 0; i < world->lived_count; i++)
                (void)life_run(life, &world->lived[i].input, world->lived[i].now_ms);
        return true;
}

/* ---- steps ---- */

static void live(struct world *world, struct life *life, const struct input *input)
{
        struct lived *lived = mem_grow(world->lived, world->lived_count, &world->lived_room, 256,
                                       sizeof *lived);
        if (!lived)
                return;
        world->lived = lived;
        world->lived[world->lived_count++] = (struct lived){*input, world->now_ms};
        (void)life_run(life, input, world->now_ms);
}

/* A live workload, running or waiting; 0: there is none. */
static uint64_t any_of(const struct life *life, struct rng *rng, bool running)
{
        const struct state *state = life->state;
        uint64_t found = 0;
        unsigned seen = 0;

        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (workload->live && (workload->members_placed > 0) == running &&
                    draw_below(rng, ++seen) == 0)
                        found = workload->id;
        }
        return found;
}

static void stop_noticed(struct world *world, struct life *life)
{
        const struct state *state = life->state;

        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (workload->live && workload->notice_until_ms &&
                    workload->notice_until_ms <= world->now_ms)
                        live(world, life,
                             &(struct input){.kind = INPUT_STOPPED, .workload = workload->id});
        }
}

static void submit(struct world *world, struct life *life, struct rng *rng)
{
        struct input input = {.kind = INPUT_SUBMITTED};

        input.request =
                draw_work(rng, &world->pool, &world->words, life->policy->tenancy, world->now_ms);
        input.request.workload = ++world->last_id;
        input.request.once = false;
        if (draw_chance(rng, 5)) {
                input.request.array = 1 + draw_below(rng, 3);
                input.request.array_at_once = 1;
        }
        if (draw_chance(rng, 5))
                input.request.after[input.request.after_count++] = any_of(life, rng, true);
        live(world, life, &input);
}

static void change_node(struct world *world, struct life *life, struct rng *rng)
{
        struct node_desc desc = world->pool.nodes[draw_below(rng, world->pool.nodes_count)];
        struct input input = {.kind = INPUT_NODE_CHANGED, .node = desc};

        switch (draw_below(rng, 5)) {
        case 0:
                input.node.drained = true;
                break;
        case 1:
                input.node.broken = 1;
                break;
        case 2:
                input = (struct input){.kind = INPUT_NODE_FAILED, .node_name = desc.name};
                break;
        case 3:
                input = (struct input){
                        .kind = INPUT_FREEZE_SET,
                        .freeze = {world->words.planes[draw_below(rng, 2)], draw_chance(rng, 40)}};
                break;
        default:
                break;
        }
        live(world, life, &input);
}

/* Drawn apart, so that the other inputs of a seed stay as they are. */
static void draw_windows(struct world *world)
{
        struct maintenance *windows = &world->windows;
        struct rng rng;

        rng_init_stream(&rng, world->seed, 5);
        windows->count = draw_chance(&rng, 33) ? 1 + (uint32_t)draw_below(&rng, 3) : 0;
        for (uint32_t w = 0; w < windows->count; w++) {
                struct maintenance_window *window = &windows->windows[w];
                window->when.from_ms = DRAW_START_MS + draw_span(&rng, 60000, 12 * 3600000);
                window->when.until_ms =
                        window->when.from_ms + draw_span(&rng, 5 * 60000, 3600000);
                if (draw_chance(&rng, 60))
                        window->node = world->pool.nodes[draw_below(&rng,
                                                                    world->pool.nodes_count)].name;
                else if (draw_chance(&rng, 60))
                        window->plane = world->words.planes[draw_below(&rng, 2)];
        }
}

void world_step(struct world *world, struct life *life, unsigned step)
{
        static const uint64_t weights[] = {70, 12, 4, 4, 4, 10};
        struct input input = {0};
        struct rng rng;

        rng_init_stream(&rng, world->seed, 100 + step);
        if (step == 0) {
                for (unsigned n = 0; n < world->pool.nodes_count; n++)
                        live(world, life,
                             &(struct input){.kind = INPUT_NODE_JOINED,
                                             .node = world->pool.nodes[n]});
                live(world, life, &(struct input){.kind = INPUT_TICKED});
                live(world, life, &(struct input){.kind = INPUT_POLICY_SET});
                draw_windows(world);
                if (world->windows.count > 0)
                        live(world, life, &(struct input){.kind = INPUT_MAINTENANCE_SET,
                                                          .maintenance = &world->windows});
        }
        world->now_ms += draw_below(&rng, 120000);
        if (world->now_ms / 60000 > life->state->now_ms / 60000)
                live(world, life, &(struct input){.kind = INPUT_TICKED});
        stop_noticed(world, life);
        switch (rng_weighted(&rng, weights, ARRAY_LEN(weights))) {
        case 0:
                submit(world, life, &rng);
                return;
        case 1:
                input.kind = INPUT_EXITED;
                input.workload = any_of(life, &rng, true);
                break;
        case 2:
                input.kind = INPUT_CANCELLED;
                input.workload = any_of(life, &rng, false);
                break;
        case 3:
                input.kind = INPUT_HOLD_CHANGED;
                input.hold.workload = any_of(life, &rng, false);
                input.hold.held = draw_chance(&rng, 50);
                break;
        case 4:
                change_node(world, life, &rng);
                return;
        default:
                live(world, life, &(struct input){.kind = INPUT_TICKED});
                return;
        }
        if (input.workload || input.hold.workload)
                live(world, life, &input);
}
