/* The promises of a pool, held against what the machines do. */
#include "tests/property/controller_sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "engine/vocab.h"

void sim_fail(struct sim *sim, const char *format, ...)
{
        va_list arguments;

        if (sim->failed)
                return;
        sim->failed = true;
        int length = snprintf(sim->why, sim->why_size, "at %" PRId64 " ms: ",
                              sim->now_ms - WORLD_START_MS);
        va_start(arguments, format);
        (void)vsnprintf(sim->why + length, sim->why_size - (size_t)length, format, arguments);
        va_end(arguments);
}

static const struct machine *machine_of(const struct sim *sim, const struct state *state,
                                        uint32_t node)
{
        const char *name = vocab_name_text(state->vocab, state->nodes[node].desc.name);

        for (unsigned m = 0; m < SIM_MACHINES; m++)
                if (strcmp(sim->machines[m].name, name) == 0)
                        return &sim->machines[m];
        return NULL;
}

/* ---- facts, as they are decided ---- */

/* A node that was lost is described anew: it comes back, unless the same act calls it lost again. */
static void see_join(struct sim *sim, const struct state *state, const struct fact *fact)
{
        uint32_t node = fact->node_set.node;

        if (node >= state->node_slots.high || !node_is_down(&state->nodes[node]))
                return;
        for (unsigned m = 0; m < SIM_MACHINES; m++)
                if (&sim->machines[m] == machine_of(sim, state, node))
                        sim->machines[m].joins = true;
}

/* What continues on a silent node is still the pool's. */
static bool is_kept(const struct sim *sim, const struct sim_run *run)
{
        const struct work *work = world_work(&sim->world, run->workload);

        return run->continues && work && work->epoch == run->epoch;
}

/* Nothing may run there that the pool has given up. */
static void look_at_join(struct sim *sim, struct machine *machine)
{
        const struct state *state = core_state(sim->world.live.core);
        uint32_t node = state_node(state,
                                   (unsigned)vocab_name_find(state->vocab, machine->name));

        machine->joins = false;
        if (node == NONE || state->nodes[node].status != NODE_UP)
                return;
        sim->counts->others[SIM_REJOINED]++;
        for (unsigned r = 0; r < SIM_RUNS_MAX; r++)
                if (machine->runs[r].used && machine->runs[r].alive &&
                    !is_kept(sim, &machine->runs[r]))
                        sim_fail(sim, "%s joins again while workload %" PRIu64 " still runs there",
                                 machine->name, machine->runs[r].workload);
}

/* Its processes must be gone: who was told to stop has left, or its notice is over. */
static void see_end(struct sim *sim, uint64_t id, enum release_cause cause)
{
        const struct work *work = world_work(&sim->world, id);

        if (work && work->epoch == 0)
                return;
        sim->counts->others[cause == RELEASE_CANCELLED ? SIM_CANCELLED
                            : cause == RELEASE_EXITED  ? SIM_EXITED
                                                       : SIM_FAILED]++;
        if (work && machine_processes(sim, id, work->epoch) > 0)
                sim_fail(sim, "workload %" PRIu64 " is %s, and still has processes", id,
                         release_cause_name(cause));
}

static void before(void *arg, const struct state *state, const struct fact *fact, uint64_t seq,
                   int64_t at_ms)
{
        struct sim *sim = arg;

        (void)seq;
        (void)at_ms;
        switch (fact->kind) {
        case FACT_NODE_SET:
                see_join(sim, state, fact);
                break;
        case FACT_NODE_DOWN:
                sim->counts->others[SIM_LOST]++;
                break;
        case FACT_NOTICED:
                sim->counts->others[SIM_NOTICED]++;
                break;
        case FACT_RELEASED:
                see_end(sim, fact->released.workload, fact->released.cause);
                break;
        case FACT_REQUEUED:
                sim->counts->others[SIM_REQUEUED]++;
                see_end(sim, fact->requeued.workload, fact->requeued.cause);
                break;
        default:                        /* nothing that a machine shows */
                break;
        }
}

/* ---- what comes back ---- */

static void look_at_work(struct sim *sim, uint64_t id)
{
        static const char *const legal[] = {"live", "succeeded", "failed", "cancelled", "timed_out",
                                            "lost", "stopped", "refused"};
        char state[32], detail[512];
        bool is_legal = false;

        world_row(&sim->world, id, state, detail);
        for (unsigned s = 0; s < ARRAY_LEN(legal); s++)
                is_legal |= strcmp(state, legal[s]) == 0;
        if (!is_legal)
                sim_fail(sim, "workload %" PRIu64 " was acknowledged, and is '%s'", id, state);
        if ((strcmp(state, "live") == 0) != (world_work(&sim->world, id) != NULL))
                sim_fail(sim, "workload %" PRIu64 " is '%s' in the store, and %s", id, state,
                         world_work(&sim->world, id) ? "lives" : "does not");
}

static void look_at_hash(struct sim *sim)
{
        uint64_t seq = core_last_seq(sim->world.live.core);

        if (seq >= SIM_SEQS_MAX || seq > sim->seen_seq)
                sim_fail(sim, "record %" PRIu64 " comes back; none behind %" PRIu64 " was written",
                         seq, sim->seen_seq);
        else if (seq > 0 && sim->hashes[seq] == 0)
                sim_fail(sim, "the log ends at record %" PRIu64 ", inside of an act", seq);
        else if (seq > 0 && sim->hashes[seq] != world_hash(&sim->world))
                sim_fail(sim, "the state at record %" PRIu64 " is not what it was", seq);
        if (!core_knows(sim->world.live.core, sim->started_epoch, 0))
                sim_fail(sim, "the log ends at %" PRIu64 ", and an agent has started epoch %" PRIu64,
                         seq, sim->started_epoch);
        /* What was decided behind it never was. */
        for (uint64_t s = seq + 1; s <= sim->seen_seq && s < SIM_SEQS_MAX; s++)
                sim->hashes[s] = 0;
        sim->seen_seq = seq;
}

static void look_at_all(struct sim *sim)
{
        look_at_hash(sim);
        for (uint64_t id = 1; id <= sim->works_high; id++)
                if (sim->works[id].acked)
                        look_at_work(sim, id);
        if (core_policy_revision(sim->world.live.core) < sim->policy_acked)
                sim_fail(sim, "policy %" PRIu64 " was acknowledged and is lost", sim->policy_acked);
        if (sim->world.live.pool_revision < sim->pool_acked)
                sim_fail(sim, "pool %" PRIu64 " was acknowledged and is lost", sim->pool_acked);
        state_check(core_state(sim->world.live.core));
}

static void renewed(void *arg)
{
        struct sim *sim = arg;

        sim->counts->others[SIM_RENEWED]++;
        look_at_all(sim);
}

void law_started(struct sim *sim)
{
        const struct core_watch watch = {.arg = sim, .before = before, .renewed = renewed};

        look_at_all(sim);
        core_watch(sim->world.live.core, &watch);
}

void law_noted(struct sim *sim)
{
        const struct core *core = sim->world.live.core;
        uint64_t seq = core_last_seq(core);

        for (unsigned m = 0; m < SIM_MACHINES; m++)
                if (sim->machines[m].joins)
                        look_at_join(sim, &sim->machines[m]);
        if (core_may_act((struct core *)(uintptr_t)core, NULL) < 0 || seq <= sim->seen_seq)
                return;
        if (seq >= SIM_SEQS_MAX) {
                sim_fail(sim, "more than %d records", SIM_SEQS_MAX);
                return;
        }
        sim->hashes[seq] = world_hash(&sim->world);
        sim->seen_seq = seq;
}

/* ---- what must always hold ---- */

void law_step(struct sim *sim)
{
        const struct state *state;

        if (!sim->world.is_up)
                return;
        state = core_state(sim->world.live.core);
        state_check(state);
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (!workload->live)
                        continue;
                unsigned members = state->buckets[workload->bucket].form.members;
                if (workload->members_placed != 0 && workload->members_placed != members)
                        sim_fail(sim, "workload %" PRIu64 " has %u of %u members", workload->id,
                                 workload->members_placed, members);
                if (core_may_act(sim->world.live.core, NULL) == 0 &&
                    !world_work(&sim->world, workload->id))
                        sim_fail(sim, "the engine has workload %" PRIu64 ", the controller not",
                                 workload->id);
        }
}

/* Nothing runs twice: what began earlier has ended, all of it. */
static void look_for_twins(struct sim *sim, const struct sim_run *run)
{
        for (unsigned m = 0; m < SIM_MACHINES; m++)
                for (unsigned r = 0; r < SIM_RUNS_MAX; r++) {
                        const struct sim_run *other = &sim->machines[m].runs[r];
                        if (other != run && other->used && other->alive &&
                            other->workload == run->workload &&
                            (other->epoch != run->epoch || other->member == run->member))
                                sim_fail(sim, "member %u of workload %" PRIu64
                                         " starts, and an earlier run of it is still on %s",
                                         run->member, run->workload, sim->machines[m].name);
                }
}

void law_process_starts(struct sim *sim, unsigned m, const struct sim_run *run)
{
        struct sim_work *work = &sim->works[run->workload % SIM_WORKS_MAX];
        const struct machine *machine = &sim->machines[m];

        sim->counts->others[SIM_STARTED]++;
        if (run->epoch > sim->started_epoch)
                sim->started_epoch = run->epoch;
        if (run->epoch > work->started_epoch)
                work->started = 0;
        if (run->epoch >= work->started_epoch) {
                work->started_epoch = run->epoch;
                work->started |= UINT64_C(1) << run->member % 64;
        }
        if (work->cancel_acked && run->epoch > work->last_epoch)
                sim_fail(sim, "workload %" PRIu64 " was cancelled, and starts again (epoch %" PRIu64
                         ")", run->workload, run->epoch);
        for (unsigned r = 0; r < SIM_RUNS_MAX; r++) {
                const struct sim_run *other = &machine->runs[r];
                if (other == run || !other->used || !other->alive)
                        continue;
                if (other->devices & run->devices)
                        sim_fail(sim, "two runs on a device of %s", machine->name);
        }
        look_for_twins(sim, run);
        /* The record that is its epoch is on the disk, if the controller is there to tell. */
        const struct work *known = sim->world.is_up ? world_work(&sim->world, run->workload) : NULL;
        if (sim->world.is_up && core_may_act(sim->world.live.core, NULL) == 0 &&
            (!core_knows(sim->world.live.core, run->epoch, run->workload) ||
             (known && known->epoch == run->epoch &&
              !core_is_durable(sim->world.live.core, known->placed))))
                sim_fail(sim, "workload %" PRIu64 " starts, and epoch %" PRIu64 " is not durable",
                         run->workload, run->epoch);
}

/* Past the barrier: all members must have been started. */
void law_process_goes(struct sim *sim, const struct sim_run *run)
{
        const struct sim_work *work = &sim->works[run->workload % SIM_WORKS_MAX];
        unsigned there = (unsigned)__builtin_popcountll(work->started);

        if (work->started_epoch > run->epoch)
                return;                 /* word of an older run, and late: it ends at once */
        if (there < run->world)
                sim_fail(sim, "workload %" PRIu64 " goes with %u of %u members", run->workload,
                         there, run->world);
}

void law_answer(struct sim *sim, unsigned m, const json_t *answer)
{
        const struct machine *machine = &sim->machines[m];
        unsigned used = 0;
        size_t i, d;
        json_t *run, *device;

        json_array_foreach(json_object_get(answer, "runs"), i, run) {
                json_array_foreach(json_object_get(run, "devices"), d, device) {
                        unsigned bit = 1u << json_integer_value(json_object_get(device, "index"));
                        if (used & bit)
                                sim_fail(sim, "a device of %s is given twice", machine->name);
                        used |= bit;
                }
        }
        /* Told to stop by a time, and no longer listed before it: only what ended, was cancelled or
         * lost its gang may. The facts say which (see_end); a whole list that is gone is a loss. */
}

/* ---- what was promised ---- */

struct promised *law_promise(struct sim *sim, int kind)
{
        for (unsigned p = 0; p < ARRAY_LEN(sim->promises); p++) {
                struct promised *promise = &sim->promises[p];
                if (promise->used)
                        continue;
                *promise = (struct promised){.sim = sim, .kind = kind, .used = true};
                return promise;
        }
        sim_fail(sim, "too many requests are never answered");
        return &sim->promises[0];
}

static void keep_submit(struct sim *sim, const struct promised *promise)
{
        for (uint64_t i = 0; i < promise->count; i++) {
                uint64_t id = promise->first + i;
                if (id < SIM_WORKS_MAX)
                        sim->works[id].acked = true;
        }
        sim->counts->others[SIM_ACKED] += promise->count;
}

void law_promise_kept(void *arg, int rc, const struct err *err)
{
        struct promised *promise = arg;
        struct sim *sim = promise->sim;

        promise->used = false;
        if (sim->crashing)
                return;
        if (rc < 0 && !err)
                sim_fail(sim, "a failure without a sentence");
        if (rc < 0) {
                sim->counts->others[SIM_REFUSED]++;
                return;
        }
        switch (promise->kind) {
        case PROMISE_SUBMIT:
                keep_submit(sim, promise);
                break;
        case PROMISE_CANCEL:
                sim->works[promise->first].cancel_acked = true;
                sim->works[promise->first].last_epoch = promise->epoch;
                break;
        case PROMISE_POLICY:
                sim->policy_acked = promise->first;
                break;
        case PROMISE_POOL:
                sim->pool_acked = promise->first;
                break;
        }
}
