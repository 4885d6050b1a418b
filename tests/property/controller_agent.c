/* Machines, and agents that follow docs/api.md. */
#include "tests/property/controller_sim.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"

void agent_init(struct sim *sim, unsigned m)
{
        struct machine *machine = &sim->machines[m];

        snprintf(machine->name, sizeof machine->name, "n%u", m + 1);
        machine->agent = machine->news = true;
        machine->answered_ms = sim->now_ms;
        machine->boot = 1;
}

unsigned machine_processes(const struct sim *sim, uint64_t workload, uint64_t epoch)
{
        unsigned count = 0;

        for (unsigned m = 0; m < SIM_MACHINES; m++)
                for (unsigned r = 0; r < SIM_RUNS_MAX; r++) {
                        const struct sim_run *run = &sim->machines[m].runs[r];
                        count += run->used && run->alive && run->workload == workload &&
                                 run->epoch == epoch;
                }
        return count;
}

static void ends(struct machine *machine, struct sim_run *run, int exit_code, int signal)
{
        run->alive = false;
        run->ended = true;
        run->exit_code = exit_code;
        run->signal = signal;
        machine->news = true;
}

void machine_reboot(struct sim *sim, unsigned m)
{
        struct machine *machine = &sim->machines[m];

        for (unsigned r = 0; r < SIM_RUNS_MAX; r++)
                if (machine->runs[r].used && machine->runs[r].alive)
                        ends(machine, &machine->runs[r], 0, 9);
        machine->boot++;
        machine->agent = false;
        machine->waits = false;
        machine->agent_back_ms = sim->now_ms + 5000;
}

/* ---- processes ---- */

/* What a run does is drawn from its number, not from when the agent looks. */
static uint64_t fate(const struct sim *sim, const struct sim_run *run, uint64_t what)
{
        return map_mix(map_mix(map_mix(sim->seed ^ what) ^ run->workload) ^ run->epoch);
}

static void process_step(struct sim *sim, struct machine *machine, struct sim_run *run)
{
        if (!run->alive)
                return;
        if (sim->now_ms >= run->dies_ms)
                ends(machine, run, 0, 15);
        else if (run->went && sim->now_ms >= run->ends_ms)
                ends(machine, run, fate(sim, run, 3) % 5 == 0 ? 3 : 0, 0);
}

static unsigned devices_in_use(const struct machine *machine)
{
        unsigned used = 0;

        for (unsigned r = 0; r < SIM_RUNS_MAX; r++)
                if (machine->runs[r].used && machine->runs[r].alive)
                        used |= machine->runs[r].devices;
        return used;
}

/* ---- what the agent does with them ---- */

/* TERM now; it is gone within ten seconds. */
static void terminate(struct sim *sim, struct sim_run *run)
{
        if (run->alive && run->dies_ms == INT64_MAX)
                run->dies_ms = sim->now_ms + 1 +
                               (int64_t)(fate(sim, run, 5) % (uint64_t)SIM_KILL_MS);
}

/* Else it has not heard for so long that the controller may soon think it gone: all is to be over by
 * then, and what it knows is too old to begin anything. The lease counts from when it asked. */
static bool has_lease(const struct sim *sim, const struct machine *machine)
{
        return sim->now_ms - machine->answered_ms <
               WORLD_LEASE_MS - SIM_KILL_MS - SIM_SLICE_MS;
}

static void start(struct sim *sim, unsigned m, struct sim_run *run)
{
        struct machine *machine = &sim->machines[m];

        if (run->alive || run->ended)
                return;
        if (run->stopping && run->until_ms <= sim->now_ms) {
                ends(machine, run, 0, 15);      /* it was over before it began */
                return;
        }
        /* What ends there still uses the devices. */
        if (!has_lease(sim, machine) || run->devices & devices_in_use(machine))
                return;
        law_process_starts(sim, m, run);
        if (run->epoch > machine->newest_epoch)
                machine->newest_epoch = run->epoch;
        if (run->workload > machine->newest_workload)
                machine->newest_workload = run->workload;
        run->alive = true;
        run->since_ms = sim->now_ms;
        run->ends_ms = INT64_MAX;
        machine->news = true;
}

static void go(struct sim *sim, unsigned m, struct sim_run *run)
{
        if (!run->alive || run->went)
                return;
        law_process_goes(sim, run);
        run->went = true;
        run->ends_ms = run->workload < SIM_WORKS_MAX && sim->works[run->workload].service
                               ? INT64_MAX
                               : sim->now_ms + 1000 + (int64_t)(fate(sim, run, 1) % 60000);
        sim->machines[m].news = true;
}

static void carry_out(struct sim *sim, unsigned m, struct sim_run *run)
{
        struct machine *machine = &sim->machines[m];

        if (!run->listed) {
                terminate(sim, run);
                if (!run->alive)
                        run->used = false;      /* forgotten */
                return;
        }
        start(sim, m, run);
        if (run->stopping && sim->now_ms >= run->until_ms)
                terminate(sim, run);
        else if (run->stopping && run->alive && fate(sim, run, 7) % 4 == 0)
                ends(machine, run, 0, 10);      /* the checkpoint signal killed it */
}

static void watch_devices(struct sim *sim, struct machine *machine)
{
        for (unsigned r = 0; r < SIM_RUNS_MAX; r++)
                if (machine->runs[r].used && machine->runs[r].devices & machine->broken)
                        terminate(sim, &machine->runs[r]);
}

static void watch_lease(struct sim *sim, struct machine *machine)
{
        for (unsigned r = 0; !has_lease(sim, machine) && r < SIM_RUNS_MAX; r++)
                if (machine->runs[r].used && !machine->runs[r].continues)
                        terminate(sim, &machine->runs[r]);
}

/* ---- what it says, and is told ---- */

static const char *phase_of(const struct sim_run *run)
{
        if (run->ended)
                return "exited";
        return run->went ? "running" : run->alive ? "ready" : "starting";
}

static void report(struct sim *sim, unsigned m)
{
        struct machine *machine = &sim->machines[m];
        json_t *runs = json_array(), *broken = json_array();
        char boot[16];

        for (unsigned r = 0; r < SIM_RUNS_MAX; r++) {
                const struct sim_run *run = &machine->runs[r];
                if (!run->used)
                        continue;
                json_array_append_new(
                        runs, json_pack("{s:I,s:i,s:I,s:s,s:i,s:i}", "workload",
                                        (json_int_t)run->workload, "member", (int)run->member,
                                        "epoch", (json_int_t)run->epoch, "phase", phase_of(run),
                                        "exit_code", run->exit_code, "signal", run->signal));
        }
        for (unsigned d = 0; d < SIM_DEVICES; d++)
                if (machine->broken >> d & 1)
                        json_array_append_new(broken, json_integer(d));
        snprintf(boot, sizeof boot, "b%u", machine->boot);
        machine->request++;
        machine->sent_ms = sim->now_ms;
        machine->waits = true;
        machine->news = false;
        net_send(sim, m, machine->request, false,
                 json_pack("{s:i,s:s,s:s,s:I,s:{s:I,s:I},s:o,s:o}", "protocol", 1, "agent", "sim",
                           "boot", boot, "seen", (json_int_t)machine->seen, "given", "epoch",
                           (json_int_t)machine->newest_epoch, "workload",
                           (json_int_t)machine->newest_workload, "runs", runs, "broken", broken));
}

static struct sim_run *find_run(struct machine *machine, uint64_t workload, unsigned member,
                                uint64_t epoch)
{
        for (unsigned r = 0; r < SIM_RUNS_MAX; r++) {
                struct sim_run *run = &machine->runs[r];
                if (run->used && run->workload == workload && run->member == member &&
                    run->epoch == epoch)
                        return run;
        }
        return NULL;
}

static struct sim_run *new_run(struct sim *sim, struct machine *machine)
{
        for (unsigned r = 0; r < SIM_RUNS_MAX; r++)
                if (!machine->runs[r].used)
                        return &machine->runs[r];
        sim_fail(sim, "%s remembers more than %d runs", machine->name, SIM_RUNS_MAX);
        return &machine->runs[0];
}

static uint64_t number(const json_t *object, const char *key)
{
        return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void take_run(struct sim *sim, unsigned m, const json_t *told)
{
        struct machine *machine = &sim->machines[m];
        const json_t *stop = json_object_get(told, "stop"), *devices;
        struct sim_run *run = find_run(machine, number(told, "workload"),
                                       (unsigned)number(told, "member"), number(told, "epoch"));

        if (!run) {
                run = new_run(sim, machine);
                *run = (struct sim_run){.used = true,
                                        .workload = number(told, "workload"),
                                        .member = (unsigned)number(told, "member"),
                                        .epoch = number(told, "epoch"),
                                        .world = (unsigned)number(told, "world"),
                                        .dies_ms = INT64_MAX};
                devices = json_object_get(told, "devices");
                for (size_t d = 0; d < json_array_size(devices); d++)
                        run->devices |= 1u << number(json_array_get(devices, d), "index");
                if (!json_is_array(json_object_get(told, "command")))
                        sim_fail(sim, "%s gets a run without a command", machine->name);
                machine->news = true;
        }
        run->listed = true;
        run->continues = strcmp(json_string_value(json_object_get(told, "lost_contact")),
                                "continue") == 0;
        run->stopping = json_is_object(stop);
        run->until_ms = run->stopping ? (int64_t)number(stop, "until_ms") : 0;
        if (json_is_true(json_object_get(told, "go")))
                go(sim, m, run);
}

void agent_take(struct sim *sim, unsigned m, uint64_t request, const json_t *answer)
{
        struct machine *machine = &sim->machines[m];
        size_t i;
        json_t *told;

        if (!machine->agent || !machine->waits || request != machine->request)
                return;                 /* that connection is closed */
        machine->waits = false;
        if (!json_is_object(answer))
                return;                 /* refused; it asks again */
        if (number(answer, "generation") < machine->seen)
                return;                 /* older than what it knows */
        law_answer(sim, m, answer);
        machine->answered_ms = machine->sent_ms;
        machine->seen = number(answer, "generation");
        for (unsigned r = 0; r < SIM_RUNS_MAX; r++)
                machine->runs[r].listed = false;
        json_array_foreach(json_object_get(answer, "runs"), i, told)
                take_run(sim, m, told);
}

void agent_step(struct sim *sim, unsigned m)
{
        struct machine *machine = &sim->machines[m];

        for (unsigned r = 0; r < SIM_RUNS_MAX; r++)
                if (machine->runs[r].used)
                        process_step(sim, machine, &machine->runs[r]);
        watch_lease(sim, machine);      /* without an agent the supervisors do */
        if (!machine->agent && machine->agent_back_ms && sim->now_ms >= machine->agent_back_ms) {
                machine->agent = machine->news = true;
                machine->waits = false;
        }
        if (!machine->agent)
                return;
        watch_devices(sim, machine);
        for (unsigned r = 0; r < SIM_RUNS_MAX; r++)
                if (machine->runs[r].used)
                        carry_out(sim, m, &machine->runs[r]);
        if (machine->news || !machine->waits || sim->now_ms - machine->sent_ms > SIM_GIVE_UP_MS)
                report(sim, m);
}
