/* controller_sim - a whole pool with its controller, agents and network, and everything fails.
 *
 * controller_sim [FIRST..LAST | SEED]   (or BERTH_SEEDS; BERTH_CASES says how many from 1)
 *
 * A seed draws the weather of the network and some hundred steps: work is submitted and cancelled,
 * documents change; the power goes, the disk fails, clocks jump, agents and machines die, a second
 * controller opens the file. After each step the promises are checked (controller_law.c). Then the
 * weather clears, all work is cancelled, and everything must come to an end.
 */
#include "tests/property/controller_sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/alerts.h"
#include "controller/nodes.h"
#include "engine/model.h"

enum { STEPS = 120, CALM_MS = 400000 };

static const char *const step_names[] = {
        "submit",       "submit",   "submit",    "submit",    "submit",         "cancel",
        "cancel",       "policy",   "pool",      "drain",     "crash",          "disk fails",
        "clock jumps",  "agent dies", "machine reboots", "cut off", "second controller", "snapshot",
        "device breaks", "wait",    "wait",      "wait",
};
enum step {
        STEP_SUBMIT, STEP_CANCEL = 5, STEP_POLICY = 7, STEP_POOL, STEP_DRAIN, STEP_CRASH, STEP_DISK,
        STEP_CLOCK, STEP_AGENT, STEP_REBOOT, STEP_CUT, STEP_SECOND, STEP_SNAPSHOT, STEP_BREAK,
        STEP_WAIT, STEPS_END = 22
};
_Static_assert(sizeof step_names / sizeof step_names[0] == STEPS_END, "one name a step");

/* ---- time ---- */

static void start(struct sim *sim)
{
        sim->world.now_ms = sim->now_ms + sim->skew_ms;
        sim->world.steady_ms = sim->now_ms;
        sim->world.numbers = (struct numbers_wish){
                .log = rng_next(&sim->weather) | 1,
                .epoch_min = (uint64_t)sim->world.now_ms * 1000,
                .chance = (uint32_t)rng_next(&sim->weather) | NUMBERS_CHANCE_MIN};
        if (world_try_start(&sim->world) < 0) {
                sim->back_ms = sim->now_ms + 1000;      /* the disk fails still */
                if (sim->calm)
                        sim_fail(sim, "does not start: %s", sim->world.err.text);
                return;
        }
        sim->back_ms = 0;
        sim->ticked_ms = sim->now_ms;
        law_started(sim);
        law_alerts_started(sim);
}

static void controller_step(struct sim *sim)
{
        struct world *world = &sim->world;
        struct err err = {0};

        if (sim->back_ms && sim->now_ms >= sim->back_ms)
                start(sim);
        if (!world->is_up)
                return;
        world->now_ms = sim->now_ms + sim->skew_ms;
        world->steady_ms = sim->now_ms;
        if (sim->now_ms - sim->ticked_ms >= 2000) {
                sim->ticked_ms = sim->now_ms;
                if (core_may_act(world->live.core, NULL) < 0)
                        core_retry(world->live.core);
                else if (live_tick(&world->live, world->now_ms, &err) < 0)
                        sim_fail(sim, "a tick fails: %s", err.text);
                law_noted(sim);
                alerts_look(world->live.alerts, world->now_ms);
                law_alerts_looked(sim);
                law_noted(sim);
        }
        for (uint64_t n = sim->calm ? 4 : rng_below(&sim->weather, 4); n > 0; n--)
                (void)core_step(world->live.core);
        if (sim->calm || rng_below(&sim->weather, 8) > 0)
                (void)core_event(world->live.core, &err);
        net_answer_waiting(sim);
}

static void advance(struct sim *sim, int64_t ms)
{
        for (int64_t end = sim->now_ms + ms; sim->now_ms < end && !sim->failed;) {
                sim->now_ms += SIM_SLICE_MS;
                if (sim->well_ms && sim->now_ms >= sim->well_ms) {
                        sim->well_ms = 0;
                        fault_vfs_fail(sim->world.disks[sim->world.disk], FAULT_EIO, 0, 0);
                }
                for (unsigned m = 0; m < SIM_MACHINES; m++) {
                        if (sim->machines[m].cut && sim->now_ms >= sim->machines[m].cut_until_ms)
                                sim->machines[m].cut = false;
                        agent_step(sim, m);
                }
                net_step(sim);
                controller_step(sim);
        }
        law_step(sim);
        law_alerts(sim);
}

/* ---- what clients do ---- */

static bool may_act(const struct sim *sim)
{
        return sim->world.is_up && core_may_act(sim->world.live.core, NULL) == 0;
}

static void submit(struct sim *sim, struct rng *rng)
{
        static const char *const tenants[] = {"web", "lab/a", "lab/b"};
        static const char *const classes[] = {"training", "batch", "quiet"};
        static const char *const forms[] = {"members: 1", "members: 2", "members: 6", "array: 1-3",
                                            "service: {replicas: 2, port: 80}", "members: 1"};
        uint64_t form = rng_below(rng, 6), devices = 1 + rng_below(rng, 2) * rng_below(rng, 4);
        struct submitted submitted = {0};
        char text[500];

        snprintf(text, sizeof text,
                 "kind: Workload\nname: w%u\ntenant: %s\nclass: %s\n%s\n%s"
                 "each: {devices: %u, model: H100-80, cpu: 1, ram: 1Gi}\n"
                 "run: {command: [train]}\n",
                 (unsigned)rng_below(rng, 4), tenants[rng_below(rng, 3)],
                 classes[rng_below(rng, 3)], forms[form],
                 form != 4 && rng_below(rng, 3) == 0 ? "retries: 2\n" : "", (unsigned)devices);
        if (!may_act(sim))
                return;
        struct promised *promise = law_promise(sim, PROMISE_SUBMIT);
        struct submission submission = {0};
        struct world *world = &sim->world;
        int rc = submission_read(world->live.core, text, strlen(text), false, NULL,
                                 &submission, &world->err);
        if (rc == 0) {
                struct act *act = world_act(world);
                rc = submission_decide(act, world->live.core, &submission, &world->who, &submitted,
                                       &world->err);
                promise->first = submitted.first_id;
                promise->count = submitted.count;
                for (uint64_t i = 0; i < submitted.count; i++)
                        if (submitted.first_id + i < SIM_WORKS_MAX)
                                sim->works[submitted.first_id + i] =
                                        (struct sim_work){.service = form == 4};
                if (submitted.first_id + submitted.count > sim->works_high)
                        sim->works_high = submitted.first_id + submitted.count - 1;
                if (sim->works_high >= SIM_WORKS_MAX)
                        sim_fail(sim, "more than %d workloads", SIM_WORKS_MAX);
                core_commit(act, law_promise_kept, promise);
        }
        if (rc)
                sim_fail(sim, "a submission is refused: %s", world->err.text);
        submission_done(&submission);
        law_noted(sim);
}

static void cancel(struct sim *sim, uint64_t id)
{
        struct world *world = &sim->world;
        struct work *work = may_act(sim) ? world_work(world, id) : NULL;

        if (!work)
                return;
        struct promised *promise = law_promise(sim, PROMISE_CANCEL);
        struct act *act = world_act(world);
        promise->first = id;
        /* Later ones must not be started. */
        promise->epoch = numbers_epoch(core_numbers(world->live.core),
                                       core_last_seq(world->live.core));
        if (live_cancel(&world->live, act, work, &world->err) < 0)
                sim_fail(sim, "a cancel is refused: %s", world->err.text);
        core_commit(act, law_promise_kept, promise);
        law_noted(sim);
}

static void put(struct sim *sim, int kind, const char *text,
                int (*change)(struct live *, struct act *, struct document_put *, struct err *))
{
        struct world *world = &sim->world;
        struct document_put document = {.text = text};

        if (!may_act(sim))
                return;
        struct promised *promise = law_promise(sim, kind);
        struct act *act = world_act(world);
        int rc = change(&world->live, act, &document, &world->err);
        promise->first = document.revision;
        json_decref(document.warnings);
        if (rc < 0) {                   /* e.g. work runs on a node that is to go */
                promise->used = false;
                world_commit(world, act, NULL);
        } else {
                core_commit(act, law_promise_kept, promise);
        }
        law_noted(sim);
}

static void put_policy(struct sim *sim, struct rng *rng)
{
        static const char key[] = "on_lost_contact: ", was[] = "on_lost_contact: continue";
        const char *class = strstr(world_policy, was);
        char text[2048];

        snprintf(text, sizeof text, "%.*s%s%s%s%s", (int)(class - world_policy), world_policy, key,
                 rng_below(rng, 2) ? "continue" : "stop_at_lease", class + strlen(was),
                 sim_alert_rules);
        if (rng_below(rng, 2)) {
                char *at = strstr(text, "web: {protect: {H100-80: 4}}");
                at[strlen("web: {protect: {H100-80: ")] = (char)('0' + rng_below(rng, 9));
        }
        put(sim, PROMISE_POLICY, text, live_put_policy);
}

static void put_pool(struct sim *sim, struct rng *rng)
{
        char text[1024], rack[24];

        snprintf(rack, sizeof rack, "r%u", (unsigned)rng_below(rng, 3));
        snprintf(text, sizeof text,
                 "kind: Pool\nname: test\nplanes: {training: {}}\nnodes:\n"
                 "  - {name: \"n[1-%u]\", plane: training, devices: {model: H100-80, count: %u},"
                 " cpu: 64,\n     ram: 512Gi, rack: %s}\n",
                 2 + (unsigned)rng_below(rng, 3), SIM_DEVICES, rack);
        put(sim, PROMISE_POOL, text, live_put_pool);
}

static void drain(struct sim *sim, struct rng *rng)
{
        struct world *world = &sim->world;
        const char *name = sim->machines[rng_below(rng, SIM_MACHINES)].name;
        bool drained = rng_below(rng, 2);
        int64_t by_ms = rng_below(rng, 2) ? world->now_ms + 60000 : 0;
        struct node_entry *node = may_act(sim) ? nodes_find(world->live.nodes, name) : NULL;

        if (!node || !node->described)
                return;
        struct act *act = world_act(world);
        int rc = live_drain(&world->live, act, node, drained, by_ms, &world->err);
        if (rc < 0 && rc != -ERR_NOT_FOUND && rc != -ERR_INPUT)
                sim_fail(sim, "a drain is refused: %s", world->err.text);
        world_commit(world, act, NULL);
        law_noted(sim);
}

/* ---- what goes wrong ---- */

static void crash(struct sim *sim, struct rng *rng)
{
        if (!sim->world.is_up)
                return;
        sim->counts->others[SIM_CRASHES]++;
        net_drop_all(sim);
        sim->well_ms = 0;
        sim->crashing = true;
        world_crash(&sim->world, (enum fault_loss)rng_below(rng, FAULT_LOSSES_END), rng_next(rng));
        sim->crashing = false;
        sim->back_ms = sim->now_ms + 250 + (int64_t)rng_below(rng, 3) * (int64_t)rng_below(rng, 30000);
}

static void fail_disk(struct sim *sim, struct rng *rng)
{
        struct fault_vfs *disk = sim->world.disks[sim->world.disk];

        sim->counts->others[SIM_FAULTS]++;
        fault_vfs_fail(disk, rng_below(rng, 2) ? FAULT_EIO : FAULT_ENOSPC,
                       fault_vfs_operations(disk) + 1 + rng_below(rng, 20),
                       1 + rng_below(rng, 3) * rng_below(rng, 40));
        sim->well_ms = sim->now_ms + (int64_t)rng_below(rng, 10000);
}

/* Another one opens the file beside the first, takes a job and goes. Only the lock of the real one
 * keeps it out; here it is as if that had failed. */
static void second(struct sim *sim, struct rng *rng)
{
        struct world other = sim->world;
        struct submitted submitted;
        struct ack ack = {0};

        if (!may_act(sim) || sim->well_ms || rng_below(rng, 2))
                return;
        if (world_try_start(&other) < 0)
                return;
        if (world_submit(&other, "{kind: Workload, name: theirs, tenant: web,"
                         " each: {devices: 1, model: H100-80}, run: {command: [x]}}", &ack,
                         &submitted) == 0) {
                world_settle(&other);
                sim->counts->others[SIM_SECOND]++;
                /* Its records are the file's from now on: what the first has decided since fails. */
                uint64_t seq = core_last_seq(other.live.core);
                if (ack.rc == 0 && ack.calls == 1 && seq < SIM_SEQS_MAX) {
                        for (uint64_t s = core_last_seq(other.live.core); s <= sim->seen_seq; s++)
                                sim->hashes[s] = 0;
                        sim->hashes[seq] = world_hash(&other);
                        sim->seen_seq = seq > sim->seen_seq ? seq : sim->seen_seq;
                        sim->works[submitted.first_id] = (struct sim_work){.acked = true};
                        if (submitted.first_id > sim->works_high)
                                sim->works_high = submitted.first_id;
                }
        }
        live_close(&other.live);
}

static void break_device(struct sim *sim, struct rng *rng)
{
        struct machine *machine = &sim->machines[rng_below(rng, SIM_MACHINES)];

        machine->broken = rng_below(rng, 2) ? 1u << rng_below(rng, SIM_DEVICES) : 0;
        machine->news = true;
}

static void do_step(struct sim *sim, enum step what, struct rng *rng)
{
        struct machine *machine = &sim->machines[rng_below(rng, SIM_MACHINES)];

        if (what < STEP_CANCEL)
                submit(sim, rng);
        else if (what < STEP_POLICY)
                cancel(sim, 1 + rng_below(rng, sim->works_high + 1));
        switch (what) {
        case STEP_POLICY:
                put_policy(sim, rng);
                break;
        case STEP_POOL:
                put_pool(sim, rng);
                break;
        case STEP_DRAIN:
                drain(sim, rng);
                break;
        case STEP_CRASH:
                crash(sim, rng);
                break;
        case STEP_DISK:
                fail_disk(sim, rng);
                break;
        case STEP_CLOCK:
                sim->skew_ms += (int64_t)rng_below(rng, 240000) - 120000;
                sim->jumped_ms = sim->now_ms;
                break;
        case STEP_AGENT:
                machine->agent = machine->waits = false;
                machine->agent_back_ms = sim->now_ms + (int64_t)rng_below(rng, 90000);
                break;
        case STEP_REBOOT:
                machine_reboot(sim, (unsigned)(machine - sim->machines));
                break;
        case STEP_CUT:
                machine->cut = true;
                machine->cut_until_ms = sim->now_ms + (int64_t)rng_below(rng, 90000);
                break;
        case STEP_SECOND:
                second(sim, rng);
                break;
        case STEP_SNAPSHOT:
                if (may_act(sim) && core_snapshot(sim->world.live.core, NULL) == 0)
                        law_noted(sim);
                break;
        case STEP_BREAK:
                break_device(sim, rng);
                break;
        default:                        /* time passes */
                break;
        }
}

/* ---- one case ---- */

static void make_calm(struct sim *sim)
{
        sim->calm = true;
        sim->well_ms = 0;
        fault_vfs_fail(sim->world.disks[sim->world.disk], FAULT_EIO, 0, 0);
        for (unsigned m = 0; m < SIM_MACHINES; m++) {
                sim->machines[m].cut = false;
                if (!sim->machines[m].agent)
                        sim->machines[m].agent_back_ms = sim->now_ms + 1;
        }
}

/* All work is cancelled: it must end, nodes be up, and machines empty. */
static void come_to_rest(struct sim *sim)
{
        uint32_t cursor = 0;
        struct node_entry *node;

        make_calm(sim);
        for (int64_t ms = 0; ms < CALM_MS && !sim->failed; ms += 20000) {
                for (uint64_t id = 1; id <= sim->works_high; id++)
                        cancel(sim, id);
                advance(sim, 20000);
        }
        if (sim->failed)
                return;
        if (!may_act(sim))
                sim_fail(sim, "the controller takes nothing any more");
        for (uint64_t id = 1; id <= sim->works_high && may_act(sim); id++)
                if (world_work(&sim->world, id))
                        sim_fail(sim, "workload %" PRIu64 " was cancelled, and never ends (epoch %"
                                 PRIu64 ")", id, world_work(&sim->world, id)->epoch);
        while (may_act(sim) && (node = nodes_next(sim->world.live.nodes, &cursor))) {
                const struct state *state = core_state(sim->world.live.core);
                uint32_t number = node->described ? state_node(state, node->desc.name) : NONE;
                if (node->described &&
                    (number == NONE || state->nodes[number].status != NODE_UP))
                        sim_fail(sim, "node %s does not come back", node->name);
        }
        if (may_act(sim))
                law_alerts_rest(sim);
        for (unsigned m = 0; m < SIM_MACHINES; m++)
                for (unsigned r = 0; r < SIM_RUNS_MAX; r++)
                        if (sim->machines[m].runs[r].used && sim->machines[m].runs[r].alive)
                                sim_fail(sim, "processes of workload %" PRIu64 " are left on %s",
                                         sim->machines[m].runs[r].workload, sim->machines[m].name);
}

static void sim_init(struct sim *sim, uint64_t seed)
{
        char policy[2048];

        rng_init(&sim->weather, seed);
        sim->seed = seed;
        world_init(&sim->world, "sim");
        sim->world.keeps_models = true;
        sim->now_ms = WORLD_START_MS;
        sim->lose_pct = (unsigned)(rng_below(&sim->weather, 3) * rng_below(&sim->weather, 15));
        sim->double_pct = (unsigned)(rng_below(&sim->weather, 2) * rng_below(&sim->weather, 20));
        sim->late_pct = (unsigned)(rng_below(&sim->weather, 2) * rng_below(&sim->weather, 20));
        for (unsigned m = 0; m < SIM_MACHINES; m++)
                agent_init(sim, m);
        start(sim);
        put(sim, PROMISE_POOL, world_pool, live_put_pool);
        snprintf(policy, sizeof policy, "%s%s", world_policy, sim_alert_rules);
        put(sim, PROMISE_POLICY, policy, live_put_policy);
}

static void sim_done(struct sim *sim)
{
        for (unsigned i = 0; i < SIM_MESSAGES_MAX; i++)
                json_decref(sim->messages[i].body);
        world_done(&sim->world);
}

static enum step draw_step(struct rng *rng, uint64_t seed, unsigned step, int64_t *ret_ms)
{
        rng_init_stream(rng, seed, step + 1);
        *ret_ms = SIM_SLICE_MS * (int64_t)(1 + rng_below(rng, 3) * rng_below(rng, 12));
        return (enum step)rng_below(rng, STEPS_END);
}

static bool run(uint64_t seed, const struct step_set *keep, struct counts *counts, char *why,
                size_t why_size)
{
        static struct sim sim;

        sim = (struct sim){.why = why, .why_size = why_size, .counts = counts};
        sim_init(&sim, seed);
        for (unsigned s = 0; s < STEPS && !sim.failed; s++) {
                struct rng rng;
                int64_t ms;
                enum step what = draw_step(&rng, seed, s, &ms);
                counts->step = s;
                if (step_set_has(keep, s))
                        do_step(&sim, what, &rng);
                advance(&sim, ms);
                counts->steps_made++;
        }
        if (!sim.failed)
                come_to_rest(&sim);
        bool good = !sim.failed;
        sim_done(&sim);
        return good;
}

static void print(uint64_t seed, const struct step_set *keep, unsigned last)
{
        int64_t at_ms = 0, ms;

        for (unsigned s = 0; s < STEPS && s <= last; s++) {
                struct rng rng;
                enum step what = draw_step(&rng, seed, s, &ms);
                if (step_set_has(keep, s) && what < STEP_WAIT)
                        printf("%3u at %" PRId64 " ms: %s\n", s, at_ms, step_names[what]);
                at_ms += ms;
        }
}

static void summary(const struct counts *counts)
{
        static const char *const words[SIM_COUNTS_END] = {
                [SIM_CRASHES] = "crashes", [SIM_FAULTS] = "disk faults",
                [SIM_RENEWED] = "states made anew", [SIM_STARTED] = "processes started",
                [SIM_LOST] = "nodes lost", [SIM_REQUEUED] = "requeued",
                [SIM_CANCELLED] = "cancelled", [SIM_EXITED] = "ended well",
                [SIM_FAILED] = "failed or stopped", [SIM_NOTICED] = "notices",
                [SIM_REJOINED] = "nodes back", [SIM_DROPPED] = "messages lost",
                [SIM_DOUBLED] = "doubled", [SIM_LATE] = "late",
                [SIM_SECOND] = "second controllers", [SIM_ACKED] = "workloads acknowledged",
                [SIM_REFUSED] = "requests told as failed",
                [SIM_ALERTS_RAISED] = "alerts raised", [SIM_ALERTS_KEPT] = "kept over a start",
                [SIM_ALERTS_FAILED] = "looks at a failed store"};

        for (unsigned c = 0; c < SIM_COUNTS_END; c++)
                printf("%s%" PRIu64 " %s", c ? ", " : "", counts->others[c], words[c]);
        printf("\n");
}

int main(int argc, char **argv)
{
        static const struct shrink shrink = {.name = "controller_sim", .cases = 200, .run = run,
                                             .print = print, .summary = summary};

        return shrink_main(&shrink, argc, argv);
}
