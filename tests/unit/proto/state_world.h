/* state_world.h - a pool in which everything a snapshot keeps is there: made by the real engine. */
#pragma once

#include "engine/price.h"
#include "tests/unit/engine/pool_policy.h"

#define GPU   "V100-16"
#define SLICE "A100-40"

static const char world_policy[] =
        "kind: Policy\n"
        "preset: protected\n"
        "classes:\n"
        "  c: {rank: 2, methods: [whole, slice, share], stop: for_protect, notice: 10m,\n"
        "      exempt: 0s, hold_after: 1m, idle_after: {time: 30m, then: demote}}\n"
        "  n: {rank: 1, methods: [whole], stop: never, notice: 10m}\n"
        "rules: {stop_rate: {pct: 100, per: 10m}}\n"
        "tenants:\n"
        "  t: {protect: {V100-16: 4}, lend: unlimited,\n"
        "      budget: {device_hours: 500, per: month, on_empty: warn}}\n"
        "  u: {budget: {device_hours: 5000, per: day, on_empty: demote}, tenants: {v: {}}}\n";

static inline struct request job(uint64_t id, const char *tenant, unsigned devices)
{
        struct request request = of(ask(id, devices), tenant, "c");

        if (devices > 0)
                request.need.models = UINT64_C(1) << model_id(GPU);
        request.need.cpu_milli = 100;
        request.time_limit_ms = 48 * H;
        request.checkpoint_every_ms = 30 * M;
        return request;
}

static inline void tell(enum input_kind kind, uint64_t id)
{
        must(&(struct input){.kind = kind, .workload = id});
}

static inline void world_nodes(void)
{
        join("a", GPU, 4);
        join("b", GPU, 4);
        join("gone", GPU, 1);
        join("m", SLICE, 2);
        join("s", "T4", 2);
        struct node_desc desc = node("p", "T4", 1);
        desc.plane = word("lab");
        desc.rack = word("r1");
        must(&(struct input){.kind = INPUT_NODE_JOINED, .node = desc});
        must(&(struct input){.kind = INPUT_NODE_REMOVED, .node_name = name("gone")});
        must(&(struct input){.kind = INPUT_FREEZE_SET,
                             .freeze = {.plane = word("lab"), .frozen = true}});
}

/* Runs that ended: what run times are learned from, and free slots. */
static inline void world_past(void)
{
        for (uint64_t id = 1; id <= 4; id++)
                submit(job(id, id == 1 ? "t" : id & 1 ? "u" : "u/v", 1));
        tick_at(20 * M);
        for (uint64_t id = 1; id <= 4; id++)
                leave(INPUT_EXITED, id);
        tick_at(21 * M);
}

/* The other tenant borrows everything; slices, shares, a service, an array, one after another. */
static inline void world_work(void)
{
        struct request request;

        for (uint64_t id = 11; id <= 18; id++) {
                submit(job(id, id & 1 ? "u" : "u/v", 1));
                assert_true(is_placed(id));
        }
        submit(of(ask_slice(20, "3g.20gb"), "u", "c"));
        for (uint64_t id = 21; id <= 22; id++)
                submit(of(ask_share(id, 250), "u", "c"));
        for (uint64_t id = 23; id <= 24; id++) {
                request = job(id, "u", 0);
                request.group = 7;
                request.service = true;
                request.form.spread = SPREAD_NODE;
                submit(request);
        }
        request = job(25, "u", 0);
        request.array = 5;
        request.array_at_once = 2;
        request.retries = 3;
        submit(request);
        request = job(26, "u", 1);
        request.after_count = 2;
        request.after[0] = 11;
        request.after[1] = 12;
        submit(request);
        request = job(27, "u/v", 1);
        request.user_hold = true;
        request.start_ms = T0 + 90 * M;
        submit(request);
        tick_at(30 * M);
        tell(INPUT_CHECKPOINTED, 13);
        must(&(struct input){.kind = INPUT_USE_REPORTED,
                             .use = {.workload = 14, .idle_since_ms = T0 + 25 * M}});
}

static inline void world_set(bool priced)
{
        static struct price_plan plan;
        static struct maintenance windows;

        plan = (struct price_plan){.hash = 99, .revision = 3, .priced = priced, .shapes_count = 1};
        plan.shapes[0] = (struct price_shape){.cpu_milli = 1000,
                                              .share_milli = 1000,
                                              .devices = 1,
                                              .models = UINT64_MAX,
                                              .weight = 12};
        if (priced)
                plan.table.models_len = (uint32_t)model_count(models);
        for (unsigned l = 0; priced && l < PRICE_LEVELS; l++)
                plan.table.core[l] = 1000 + (int32_t)l;
        must(&(struct input){.kind = INPUT_PLAN_SET, .plan = &plan});
        windows = (struct maintenance){
                .count = 2,
                .windows = {{.name = "power",
                             .node = name("s"),
                             .when = {T0 + 100 * H, T0 + 101 * H, 0, 0}},
                            {.name = "yearly",
                             .plane = word("lab"),
                             .when = {T0 + 200 * H, T0 + 202 * H, 8760 * H, T0 + 99999 * H}}}};
        must(&(struct input){.kind = INPUT_MAINTENANCE_SET, .maintenance = &windows});
}

/* The promise is wanted: a plan with its notices, and its places; a wide one gets a hold. */
static inline void world_plan(void)
{
        struct request wide = job(32, "u", 4);

        wide.form.members = 2;
        submit(wide);
        submit(job(31, "t", 4));
        tick_at(40 * M);
        must(&(struct input){.kind = INPUT_ETA_SET,
                             .eta = {.workload = 32,
                                     .p50_ms = 5 * M,
                                     .p90_ms = 9 * M,
                                     .coverage_pct = 90}});
}

static inline void world_open(bool priced)
{
        open_bounded(&(struct state_bounds){.nodes_max = 8,
                                            .workloads_max = 64,
                                            .members_max = 96,
                                            .parts_max = 128,
                                            .shapes_max = 24,
                                            .buckets_max = 48,
                                            .plans_max = 4});
        world_nodes();
        set_policy(world_policy);
        tick_at(1);
        world_past();
        world_work();
        world_set(priced);
        world_plan();
}
