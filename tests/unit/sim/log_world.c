#include "tests/unit/sim/log_world.h"

#include "tests/unit/check.h"

#include "base/err.h"
#include "controller/core.h"
#include "engine/accounts.h"
#include "engine/state.h"
#include "proto/log_brought.h"
#include "proto/model_doc.h"
#include "proto/policy_doc.h"
#include "store/objects.h"
#include "store/store.h"

static void must(int rc, const struct err *err)
{
        if (rc < 0)
                fail_msg("%s", err->text);
}

static void open_core(struct log_world *world, uint32_t nodes_max)
{
        struct core_setup setup = {.models = world->models,
                                   .bounds = {.nodes_max = nodes_max, .workloads_max = 4096},
                                   .placement = {.kind = POLICY_AUTO},
                                   .is_stepped = true};
        const struct store_options options = {.path = world->path, .is_unsafe = true};
        struct core_recovery told;
        struct err err = {0};

        must(store_open(&options, &setup.store, &err), &err);
        must(core_open(&setup, &world->core, &told, &err), &err);
}

/* A restarted daemon knows no more than the models that are built in. */
static void new_models(struct log_world *world)
{
        struct err err = {0};

        world->models = model_table_new();
        assert_non_null(world->models);
        must(model_doc_builtin(world->models, &err), &err);
}

void log_world_open(struct log_world *world, const char *path, uint32_t nodes_max)
{
        *world = (struct log_world){.path = path, .now_ms = LOG_WORLD_START_MS};
        new_models(world);
        open_core(world, nodes_max);
}

void log_world_close(struct log_world *world)
{
        core_free(world->core);
        model_table_free(world->models);
}

void log_world_restart(struct log_world *world)
{
        log_world_close(world);
        new_models(world);
        open_core(world, 1);            /* the pool keeps the bounds that it began with */
}

static void settle(struct log_world *world)
{
        struct err err = {0};

        while (core_step(world->core))
                ;
        must(core_event(world->core, &err), &err);
}

void log_world_snapshot(struct log_world *world)
{
        struct err err = {0};

        must(core_snapshot(world->core, &err), &err);
        settle(world);
}

static void ignore(void *arg, int rc, const struct err *err)
{
        (void)arg;
        (void)err;
        assert_int_equal(rc, 0);
}

static struct act *begin(struct log_world *world)
{
        struct err err = {0};
        struct act *act = core_begin(world->core, "test", "", world->now_ms, &err);

        if (!act)
                fail_msg("%s", err.text);
        return act;
}

static void commit(struct log_world *world, struct act *act)
{
        core_commit(act, ignore, NULL);
        settle(world);
}

static void decide(struct act *act, const struct input *input,
                   const struct core_document *document)
{
        struct err err = {0};

        must(core_input(act, input, document, &err), &err);
}

void log_world_policy(struct log_world *world, const char *text)
{
        const struct core_document document = {.text = text, .revision = world->revision + 1};
        const struct object object = {.kind = OBJECT_POLICY, .id = world->revision + 1,
                                      .tenant = "", .name = "policy", .class = "", .owner = "",
                                      .state = "set", .detail = "", .created_ms = world->now_ms,
                                      .updated_ms = world->now_ms, .body = text,
                                      .size = strlen(text)};
        struct input input = {.kind = INPUT_POLICY_SET};
        struct policy_doc *policy;
        struct act *act = begin(world);
        struct err err = {0};

        world->revision++;
        must(log_policy_read(text, world->revision, world->models, &policy, &err), &err);
        input.accounts = accounts_new(policy->tenancy, &err);
        assert_non_null(input.accounts);
        decide(act, &input, &document);
        core_policy_set(world->core, policy, world->revision);
        must(core_put(act, &object, &err), &err);
        commit(world, act);
}

void log_world_note(struct log_world *world, const char *text)
{
        struct act *act = begin(world);
        struct err err = {0};

        must(core_note(act, text, &err), &err);
        commit(world, act);
}

void log_world_input(struct log_world *world, const struct input *input)
{
        struct act *act = begin(world);

        decide(act, input, NULL);
        commit(world, act);
}

void log_world_node(struct log_world *world, const char *name, const char *model,
                    uint8_t devices)
{
        struct input input = {.kind = INPUT_NODE_JOINED};
        int number = model_add_unlisted(world->models, model, NULL);

        assert_true(number >= 0);
        input.node = (struct node_desc){.model = (uint8_t)number, .devices = devices,
                                        .cpu_milli = 64000, .ram_mib = 1u << 20};
        input.node.name = (uint32_t)vocab_name(core_state(world->core)->vocab, name, NULL);
        log_world_input(world, &input);
}

void log_world_tick(struct log_world *world, int64_t now_ms)
{
        const struct input input = {.kind = INPUT_TICKED};

        world->now_ms = now_ms;
        log_world_input(world, &input);
}

uint64_t log_world_submit(struct log_world *world, const char *tenant, const char *class,
                          uint8_t devices, int64_t limit_ms)
{
        const struct tenancy *tenancy = core_tenancy(world->core);
        struct input input = {.kind = INPUT_SUBMITTED};
        int at = tenancy_find(tenancy, tenant), of = tenancy_class_find(tenancy, class);

        assert_true(at >= 0);
        assert_true(of >= 0);
        input.request = (struct request){.workload = ++world->workloads,
                                         .need = {.models = UINT64_MAX, .ask = ASK_WHOLE,
                                                  .devices = devices},
                                         .form = {.members = 1},
                                         .tenant = (uint16_t)at,
                                         .class = (uint16_t)of,
                                         .time_limit_ms = limit_ms};
        log_world_input(world, &input);
        return world->workloads;
}

static const struct workload *find(const struct log_world *world, uint64_t workload)
{
        const struct state *state = core_state(world->core);
        uint32_t slot = state_workload(state, workload);

        return slot == NONE ? NULL : &state->workloads[slot];
}

void log_world_stop_due(struct log_world *world)
{
        for (uint64_t id = 1; id <= world->workloads; id++) {
                const struct workload *it = find(world, id);
                const struct input input = {.kind = INPUT_STOPPED, .workload = id};
                if (it && it->notice_until_ms && it->notice_until_ms <= world->now_ms)
                        log_world_input(world, &input);
        }
}

bool log_world_runs(const struct log_world *world, uint64_t workload)
{
        const struct workload *it = find(world, workload);

        return it && it->members_placed > 0;
}

bool log_world_lives(const struct log_world *world, uint64_t workload)
{
        return find(world, workload) != NULL;
}
