#include "tests/unit/controller/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/exchange.h"
#include "controller/nodes.h"
#include "engine/memo.h"
#include "engine/model.h"
#include "proto/model_doc.h"
#include "proto/protocol.h"
#include "store/store.h"

const char world_pool[] =
        "kind: Pool\n"
        "name: test\n"
        "planes: {training: {}}\n"
        "nodes:\n"
        "  - {name: \"n[1-3]\", plane: training, devices: {model: H100-80, count: 4}, cpu: 64,\n"
        "     ram: 512Gi, disk: 1Ti, network: 100Gb}\n";

const char world_policy[] =
        "kind: Policy\n"
        "preset: protected\n"
        "default_class: training\n"
        "classes:\n"
        "  training: {notice: 30s, exempt: 0s, stops_per_day: 1000}\n"
        "  batch: {notice: 10s, exempt: 0s, stops_per_day: 1000, stop: always}\n"
        "  quiet: {rank: 2, methods: [whole], stop: never, on_lost_contact: continue}\n"
        "tenants:\n"
        "  web: {protect: {H100-80: 4}}\n"
        "  lab: {protect: {H100-80: 2}, tenants: {a: {}, b: {}}}\n"
        "principals:\n"
        "  - {name: ana, uid: 60001, tenants: {lab/a: submitter}}\n"
        "  - {name: bob, uid: 60002, tenants: {lab: tenant-admin}}\n"
        "  - {name: eve, uid: 60003, tenants: {web: viewer}}\n"
        "  - {name: aud, uid: 60004, pool: auditor}\n";

static void must(int rc, const struct err *err, const char *what)
{
        if (rc == 0)
                return;
        fprintf(stderr, "%s: %d %s\n", what, rc, err->text);
        abort();
}

/* ---- life ---- */

static char names[16][24];              /* SQLite keeps the name of a VFS */

void world_init(struct world *world, const char *name)
{
        static unsigned count;

        *world = (struct world){.now_ms = WORLD_START_MS};
        for (unsigned d = 0; d < 2; d++) {
                char *place = names[count++ % ARRAY_LEN(names)];
                (void)snprintf(place, sizeof names[0], "%s-%u", name, d);
                world->disks[d] = fault_vfs_new(place);
        }
        (void)str_copy(world->who.name, sizeof world->who.name, "op");
        (void)str_copy(world->who.run_as, sizeof world->who.run_as, "op");
        world->who.pool_role = POOL_ROLE_OPERATOR;
}

void world_done(struct world *world)
{
        live_close(&world->live);
        model_table_free(world->models);
        for (unsigned d = 0; d < 2; d++)
                if (world->disks[d])
                        fault_vfs_free(world->disks[d]);
        *world = (struct world){0};
}

static void make_models(struct world *world)
{
        if (world->models && world->keeps_models)
                return;
        model_table_free(world->models);
        world->models = model_table_new();
        must(world->models ? model_doc_builtin(world->models, &world->err) : -ERR_NOMEM,
             &world->err, "device models");
}

static int64_t steady(void *arg)
{
        return ((const struct world *)arg)->steady_ms;
}

int world_try_start(struct world *world)
{
        struct core_setup setup = {.bounds = {.nodes_max = 16, .workloads_max = 256},
                                   .placement = {.kind = POLICY_AUTO},
                                   .is_stepped = true,
                                   .numbers = world->numbers};
        const struct store_options options = {.path = "s",
                                              .vfs = fault_vfs_name(world->disks[world->disk]),
                                              .is_unlocked = true};
        int rc = store_open(&options, &setup.store, &world->err);

        if (rc)
                return rc;
        make_models(world);
        setup.models = world->models;
        world->live = (struct live){.lease_ms = WORLD_LEASE_MS,
                                    .steady_ms = steady,
                                    .steady_arg = world};
        rc = live_open(&world->live, &setup, world->simulate, world->now_ms, &world->told,
                       &world->err);
        world->is_up = rc == 0;
        if (rc && !world->live.core)
                store_close(setup.store);
        if (rc)
                live_close(&world->live);
        return rc;
}

void world_start(struct world *world)
{
        must(world_try_start(world), &world->err, "start");
}

void world_stop(struct world *world)
{
        live_close(&world->live);
        world->is_up = false;
}

void world_crash(struct world *world, enum fault_loss loss, uint64_t seed)
{
        unsigned later = 1 - world->disk;

        fault_vfs_after_crash(world->disks[world->disk], world->disks[later], loss, seed);
        fault_vfs_fail(world->disks[later], FAULT_EIO, 0, 0);
        world_stop(world);              /* whatever that still writes is on the old disk */
        world->disk = later;
}

void world_settle(struct world *world)
{
        struct err err;                 /* not the sentence that a test looks at */

        do {
                while (core_step(world->live.core))
                        ;
                (void)core_event(world->live.core, &err);
        } while (core_step(world->live.core));
}

void world_furnish(struct world *world)
{
        world_start(world);
        must(world_put_pool(world, world_pool), &world->err, "pool");
        must(world_put_policy(world, world_policy), &world->err, "policy");
}

/* ---- acts ---- */

struct act *world_act(struct world *world)
{
        return core_begin(world->live.core, world->who.name, "", world->now_ms, &world->err);
}

static void told(void *arg, int rc, const struct err *err)
{
        struct ack *ack = arg;

        (void)err;
        if (!ack)
                return;
        ack->calls++;
        ack->rc = rc;
}

void world_commit(struct world *world, struct act *act, struct ack *ack)
{
        core_commit(act, told, ack);
        (void)world;
}

static int put(struct world *world, const char *text,
               int (*change)(struct live *, struct act *, struct document_put *, struct err *))
{
        struct document_put document = {.text = text};
        struct act *act = world_act(world);
        struct ack ack = {0};

        if (!act)
                return -ERR_IO;
        int rc = change(&world->live, act, &document, &world->err);
        world_commit(world, act, &ack);
        world_settle(world);
        json_decref(document.warnings);
        return rc ? rc : ack.rc;
}

int world_put_policy(struct world *world, const char *text)
{
        return put(world, text, live_put_policy);
}

int world_put_pool(struct world *world, const char *text)
{
        return put(world, text, live_put_pool);
}

int world_submit(struct world *world, const char *text, struct ack *ack,
                 struct submitted *ret_submitted)
{
        struct submission submission = {0};
        struct act *act;
        int rc = submission_read(world->live.core, text, strlen(text), false, NULL,
                                 &submission, &world->err);

        if (rc)
                return rc;
        act = world_act(world);
        rc = act ? submission_decide(act, world->live.core, &submission, &world->who,
                                     ret_submitted, &world->err)
                 : -ERR_IO;
        if (act)
                world_commit(world, act, rc ? NULL : ack);
        submission_done(&submission);
        return rc;
}

uint64_t world_job(struct world *world, const char *tenant, const char *name, unsigned members)
{
        struct submitted submitted = {0};
        struct ack ack = {0};
        char text[400];

        (void)snprintf(text, sizeof text,
                       "kind: Workload\nname: %s\ntenant: %s\nmembers: %u\n"
                       "each: {devices: 1, model: H100-80, cpu: 1, ram: 1Gi}\n"
                       "run: {command: [train, now]}\n",
                       name, tenant, members);
        must(world_submit(world, text, &ack, &submitted), &world->err, "submit");
        world_settle(world);
        must(ack.calls == 1 ? ack.rc : -ERR_IO, &world->err, "submit is durable");
        return submitted.first_id;
}

int world_cancel(struct world *world, uint64_t id, struct ack *ack)
{
        struct work *work = world_work(world, id);
        struct act *act = work ? world_act(world) : NULL;

        if (!act)
                return work ? -ERR_IO : -ERR_NOT_FOUND;
        int rc = live_cancel(&world->live, act, work, &world->err);
        world_commit(world, act, rc ? NULL : ack);
        return rc;
}

void world_tick(struct world *world, int64_t after_ms)
{
        world->now_ms += after_ms;
        world->steady_ms += after_ms > 0 ? after_ms : 0;        /* a clock that is set back */
        must(live_tick(&world->live, world->now_ms, &world->err), &world->err, "tick");
        world_settle(world);
}

/* ---- agents ---- */

static int take_report(struct world *world, struct node_entry *node, const json_t *report)
{
        struct act *act;
        int rc;

        if (!exchange_has_news(&world->live, node, report))
                return 0;
        act = world_act(world);
        if (!act)
                return -ERR_IO;
        rc = exchange_apply(&world->live, act, node, report, &world->err);
        world_commit(world, act, NULL);
        return rc;
}

json_t *world_exchange(struct world *world, const char *name, json_t *report)
{
        struct node_entry *node = nodes_find(world->live.nodes, name);
        uint64_t seen;
        int rc = -ERR_NOT_FOUND;

        world->err = (struct err){0};
        if (node && node->described)
                rc = exchange_given(&world->live, node, report, world->now_ms, &world->err);
        if (rc == 0)
                rc = exchange_read(node, report, world->now_ms, world->steady_ms, &seen,
                                   &world->err);
        if (rc == 0)
                rc = take_report(world, node, report);
        if (rc == 0)
                exchange_fence(&world->live, node);
        json_decref(report);
        world_settle(world);
        if (rc || !core_is_durable(world->live.core, node->changed_seq))
                return NULL;
        return exchange_answer(&world->live, node);
}

json_t *world_report(struct world *world, const char *name, const char *runs)
{
        struct node_entry *node = nodes_find(world->live.nodes, name);
        json_t *list = json_loads(runs, 0, NULL);

        if (!list)
                abort();
        return world_exchange(world, name,
                              json_pack("{s:i,s:s,s:s,s:I,s:o}", "protocol", PROTOCOL_MAX,
                                        "agent", "0.1", "boot", "b", "seen",
                                        (json_int_t)(node ? node->generation : 0), "runs", list));
}

/* ---- looking ---- */

struct work *world_work(const struct world *world, uint64_t id)
{
        return works_find(core_works(world->live.core), id);
}

void world_row(const struct world *world, uint64_t id, char ret_state[32], char ret_detail[512])
{
        struct object_copy *copy;

        (void)strcpy(ret_state, "missing");
        ret_detail[0] = '\0';
        if (objects_get(core_view(world->live.core), OBJECT_WORKLOAD, id, &copy, NULL) < 0)
                return;
        (void)str_copy(ret_state, 32, copy->object.state);
        (void)str_copy(ret_detail, 512, copy->object.detail);
        mem_free(copy);
}

uint64_t world_hash(const struct world *world)
{
        return state_hash(core_state(world->live.core));
}
