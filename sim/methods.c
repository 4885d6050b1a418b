#include "sim/methods.h"

#include <assert.h>
#include <math.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/units.h"
#include "sim/rng.h"
#include "sim/runner.h"

/* A task on its device. */
struct task {
        uint64_t id;                    /* the engine's workload */
        uint32_t device;
        uint32_t next, prev;            /* holders of the device; NONE at the ends */
        uint32_t heap_at;
        uint16_t method;                /* enum method: by it neighbours slow it down */
        double start, work;
        double left, since;             /* work left at that time */
        double rate;
        double end;                     /* if its neighbours stay as they are */
};

struct kind {
        struct need need;
        uint64_t weight;
        double units;                   /* what it really needs */
};

/* Sums over the measured time. */
struct sums {
        uint64_t arrived, accepted, done;
        double arrived_units, accepted_units;
        double done_work, done_time;
        double busy_time;               /* devices x time */
};

struct bench {
        const struct scenario *scenario;
        struct replay_pool pool;
        struct replay_hooks hooks;
        struct runner runner;
        struct kind kinds[SCENARIO_MIX_MAX];
        uint64_t weights[SCENARIO_MIX_MAX];

        struct task *tasks;             /* slots */
        uint32_t *heap;                 /* slots by end, the soonest first */
        uint32_t tasks_room, tasks_high, tasks_free, running;
        uint32_t *first_holder;         /* of each device */
        uint32_t *holders;
        uint32_t devices_busy;

        double now, from, until;        /* measured: from <= time < until */
        struct sums sums;
};

/* ---- exits in order of time ---- */

static bool ends_before(const struct bench *bench, uint32_t a, uint32_t b)
{
        const struct task *x = &bench->tasks[a], *y = &bench->tasks[b];

        return x->end < y->end || (x->end <= y->end && x->id < y->id);
}

static void heap_put(struct bench *bench, uint32_t at, uint32_t slot)
{
        bench->heap[at] = slot;
        bench->tasks[slot].heap_at = at;
}

static void heap_settle(struct bench *bench, uint32_t slot)
{
        uint32_t at = bench->tasks[slot].heap_at;

        while (at > 0 && ends_before(bench, slot, bench->heap[(at - 1) / 2])) {
                heap_put(bench, at, bench->heap[(at - 1) / 2]);
                at = (at - 1) / 2;
        }
        for (;;) {
                uint32_t child = at * 2 + 1;
                if (child >= bench->running)
                        break;
                if (child + 1 < bench->running &&
                    ends_before(bench, bench->heap[child + 1], bench->heap[child]))
                        child++;
                if (!ends_before(bench, bench->heap[child], slot))
                        break;
                heap_put(bench, at, bench->heap[child]);
                at = child;
        }
        heap_put(bench, at, slot);
}

static void heap_add(struct bench *bench, uint32_t slot)
{
        heap_put(bench, bench->running++, slot);
        heap_settle(bench, slot);
}

static void heap_remove(struct bench *bench, uint32_t slot)
{
        uint32_t at = bench->tasks[slot].heap_at;
        uint32_t last = bench->heap[--bench->running];

        if (last == slot)
                return;
        heap_put(bench, at, last);
        heap_settle(bench, last);
}

/* ---- neighbours ---- */

static void advance(struct bench *bench, double time)
{
        double from = fmax(bench->now, bench->from);
        double until = fmin(time, bench->until);

        if (until > from)
                bench->sums.busy_time += bench->devices_busy * (until - from);
        bench->now = time;
}

/* Somebody came to the device or left it: all its holders go on at another rate. */
static void retime(struct bench *bench, uint32_t device)
{
        const struct scenario_interference *table = &bench->scenario->workload.interference;
        uint32_t neighbours = bench->holders[device] - 1;

        for (uint32_t slot = bench->first_holder[device]; slot != NONE;
             slot = bench->tasks[slot].next) {
                struct task *task = &bench->tasks[slot];
                double permille = table->per_neighbour_permille[task->method];
                task->left = fmax(0, task->left - (bench->now - task->since) * task->rate);
                task->since = bench->now;
                task->rate = 1 / (1 + permille * neighbours / 1000);
                task->end = bench->now + task->left / task->rate;
                heap_settle(bench, slot);
        }
}

static void link_task(struct bench *bench, uint32_t slot)
{
        struct task *task = &bench->tasks[slot];
        uint32_t first = bench->first_holder[task->device];

        task->prev = NONE;
        task->next = first;
        if (first != NONE)
                bench->tasks[first].prev = slot;
        bench->first_holder[task->device] = slot;
        bench->devices_busy += bench->holders[task->device]++ == 0;
}

static void unlink_task(struct bench *bench, uint32_t slot)
{
        const struct task *task = &bench->tasks[slot];

        if (task->prev != NONE)
                bench->tasks[task->prev].next = task->next;
        else
                bench->first_holder[task->device] = task->next;
        if (task->next != NONE)
                bench->tasks[task->next].prev = task->prev;
        bench->devices_busy -= --bench->holders[task->device] == 0;
}

/* ---- coming and going ---- */

static bool is_measured(const struct bench *bench, double time)
{
        return time >= bench->from && time < bench->until;
}

static int64_t virtual_ms(double time)
{
        return (int64_t)(time * 1000);
}

/* NONE: out of memory. */
static uint32_t new_slot(struct bench *bench)
{
        uint32_t slot = bench->tasks_free;

        if (slot != NONE) {
                bench->tasks_free = bench->tasks[slot].next;
                return slot;
        }
        if (bench->tasks_high == bench->tasks_room) {
                uint32_t room = bench->tasks_room ? bench->tasks_room * 2 : 1024;
                struct task *tasks = mem_resize(bench->tasks, bench->tasks_room, room,
                                                sizeof *tasks);
                if (!tasks)
                        return NONE;
                bench->tasks = tasks;
                uint32_t *heap = mem_resize(bench->heap, bench->tasks_room, room, sizeof *heap);
                if (!heap)
                        return NONE;
                bench->heap = heap;
                bench->tasks_room = room;
        }
        return bench->tasks_high++;
}

/* Where the engine put it. */
static void find_place(const struct bench *bench, uint64_t id, struct task *task)
{
        const struct state *state = bench->runner.state;
        uint32_t workload = state_workload(state, id);

        assert(workload != NONE);
        const struct member *member = &state->members[state->workloads[workload].first_member];
        const struct part *part = &state->parts[member->first_part].part;
        task->device = member->node * NODE_DEVICES_MAX + part->device;
        task->method = part->method;
}

static int start_task(struct bench *bench, uint64_t id, double work, struct err *err)
{
        uint32_t slot = new_slot(bench);

        if (slot == NONE)
                return err_set(err, ERR_NOMEM, "out of memory");
        struct task *task = &bench->tasks[slot];
        *task = (struct task){.id = id, .start = bench->now, .work = work, .left = work,
                              .since = bench->now, .rate = 1, .end = bench->now + work};
        find_place(bench, id, task);
        heap_add(bench, slot);
        link_task(bench, slot);
        retime(bench, task->device);
        return 0;
}

static int end_task(struct bench *bench, uint32_t slot, struct err *err)
{
        const struct task *task = &bench->tasks[slot];
        uint32_t device = task->device;
        int rc = runner_exit(&bench->runner, task->id, virtual_ms(bench->now), err);

        if (rc < 0)
                return rc;
        if (is_measured(bench, bench->now)) {
                bench->sums.done++;
                bench->sums.done_work += task->work;
                bench->sums.done_time += bench->now - task->start;
        }
        heap_remove(bench, slot);
        unlink_task(bench, slot);
        if (bench->holders[device] > 0)
                retime(bench, device);
        bench->tasks[slot].next = bench->tasks_free;
        bench->tasks_free = slot;
        return 0;
}

static int arrive(struct bench *bench, const struct kind *kind, double work, struct err *err)
{
        uint64_t id;
        int placed = runner_submit(&bench->runner, &kind->need, virtual_ms(bench->now), &id, err);

        if (placed < 0)
                return placed;
        if (is_measured(bench, bench->now)) {
                bench->sums.arrived++;
                bench->sums.arrived_units += kind->units;
                bench->sums.accepted += placed == 1;
                bench->sums.accepted_units += placed == 1 ? kind->units : 0;
        }
        return placed ? start_task(bench, id, work, err) : 0;
}

/* ---- the run ---- */

static int leave_until(struct bench *bench, double time, struct err *err)
{
        while (bench->running > 0 && bench->tasks[bench->heap[0]].end <= time) {
                uint32_t slot = bench->heap[0];
                advance(bench, bench->tasks[slot].end);
                int rc = end_task(bench, slot, err);
                if (rc < 0)
                        return rc;
        }
        advance(bench, time);
        return 0;
}

static double mean_gap(const struct bench *bench)
{
        const struct scenario_workload *work = &bench->scenario->workload;
        double weight = 0, units = 0;

        for (uint32_t k = 0; k < work->tasks_count; k++) {
                weight += (double)bench->kinds[k].weight;
                units += (double)bench->kinds[k].weight * bench->kinds[k].units;
        }
        double tasks_per_life = (double)work->load_milli / SHARE_WHOLE *
                                ((double)bench->pool.devices * UNITS_DEVICE) / (units / weight);
        return work->mean_life / tasks_per_life;
}

static int run(struct bench *bench, uint64_t seed, struct err *err)
{
        const struct scenario_workload *work = &bench->scenario->workload;
        double gap = mean_gap(bench);
        struct rng gaps, picks, works;

        /* Apart, so that nothing a method does moves what comes next. */
        rng_init_stream(&gaps, seed, 1);
        rng_init_stream(&picks, seed, 2);
        rng_init_stream(&works, seed, 3);
        bench->from = (double)work->mean_life * work->warmup_lives;
        bench->until = bench->from + (double)work->mean_life * work->measure_lives;
        for (double time = rng_exponential(&gaps, gap); time < bench->until;
             time += rng_exponential(&gaps, gap)) {
                size_t kind = rng_weighted(&picks, bench->weights, work->tasks_count);
                double length = rng_exponential(&works, work->mean_life);
                int rc = leave_until(bench, time, err);
                if (rc == 0)
                        rc = arrive(bench, &bench->kinds[kind], length, err);
                if (rc < 0)
                        return rc;
                if (runner_cancelled(&bench->runner))
                        return err_set(err, ERR_CANCELLED, "stopped");
        }
        return leave_until(bench, bench->until, err);
}

/* ---- kinds of task ---- */

static enum method method_of(const struct scenario_task *task, enum task_method method)
{
        switch (method) {
        case TASK_WHOLE:
                return METHOD_WHOLE;
        case TASK_SLICE:
                return METHOD_SLICE;
        case TASK_SHARE:
                return METHOD_SHARE;
        case TASK_MIXED:
        case TASK_METHODS_END:
                break;
        }
        return (enum method)task->mixed;
}

static int make_kind(struct bench *bench, const struct model *model,
                     const struct scenario_task *task, enum task_method method, struct kind *kind,
                     struct err *err)
{
        int profile = scenario_task_profile(model, task);

        *kind = (struct kind){
                .need = {.models = UINT64_MAX, .cpu_milli = task->cpu_milli,
                         .ram_mib = task->ram_mib, .ask = ASK_WHOLE, .devices = 1},
                .weight = task->weight_milli,
                .units = (double)UNITS_HALF * task->compute_milli / SHARE_WHOLE +
                         (double)UNITS_HALF * task->memory_mib / model->memory_mib,
        };
        if (method_of(task, method) == METHOD_SHARE) {
                kind->need.ask = ASK_SHARE;
                kind->need.share_milli = task->compute_milli;
                kind->need.memory_mib = task->memory_mib;
        }
        if (method_of(task, method) == METHOD_SLICE && profile >= 0) {
                int word = vocab_word(bench->runner.state->vocab, model->profiles[profile].name,
                                      err);
                if (word < 0)
                        return word;
                kind->need.ask = ASK_PROFILE;
                kind->need.profile = (uint16_t)word;
        }
        return 0;
}

/* ---- life ---- */

static int bench_init(struct bench *bench, const struct model_table *models,
                      struct policy placement, enum task_method method, struct err *err)
{
        const struct scenario *scenario = bench->scenario;
        int id = model_find(models, scenario->pool.model, err);
        int rc;

        if (id < 0)
                return id;
        if ((rc = replay_pool_load(&scenario->pool, models, NULL, &bench->pool, err)) < 0 ||
            (rc = runner_init(&bench->runner, &bench->pool, 1, placement, NULL, false,
                              &bench->hooks, err)) < 0)
                return rc;
        size_t devices = (size_t)bench->runner.state->bounds.nodes_max * NODE_DEVICES_MAX;
        bench->first_holder = mem_new(devices, sizeof *bench->first_holder);
        bench->holders = mem_new(devices, sizeof *bench->holders);
        if (!bench->first_holder || !bench->holders)
                return err_set(err, ERR_NOMEM, "out of memory");
        for (size_t d = 0; d < devices; d++)
                bench->first_holder[d] = NONE;
        for (uint32_t k = 0; rc == 0 && k < scenario->workload.tasks_count; k++) {
                rc = make_kind(bench, model_get(models, (unsigned)id),
                               &scenario->workload.tasks[k], method, &bench->kinds[k], err);
                bench->weights[k] = bench->kinds[k].weight;
        }
        return rc;
}

static void bench_done(struct bench *bench)
{
        runner_done(&bench->runner);
        replay_pool_done(&bench->pool);
        mem_free(bench->tasks);
        mem_free(bench->heap);
        mem_free(bench->first_holder);
        mem_free(bench->holders);
}

static double percent(double part, double whole, double otherwise)
{
        return whole > 0 ? 100 * part / whole : otherwise;
}

static void report(struct bench *bench, struct methods_figures *ret_figures)
{
        const struct sums *sums = &bench->sums;
        struct runner *runner = &bench->runner;
        double time = bench->until - bench->from;

        *ret_figures = (struct methods_figures){
                .arrived = sums->arrived,
                .accepted = sums->accepted,
                .refused = sums->arrived - sums->accepted,
                .count_pct = percent((double)sums->accepted, (double)sums->arrived, 100),
                .units_pct = percent(sums->accepted_units, sums->arrived_units, 100),
                .done_per_life = (double)sums->done / bench->scenario->workload.measure_lives,
                /* Rounding may leave a hair below 0 where nobody has neighbours. */
                .slowdown_pct = percent(fmax(0, sums->done_time - sums->done_work),
                                        sums->done_work, 0),
                .busy_pct = percent(sums->busy_time, time * bench->pool.devices, 0),
                .decided = runner->accepted,
                .decide_s = (double)runner->decide_ns / 1e9,
                .decide_p50_us = latency_us(runner->latencies_ns, runner->latencies_count, 500),
                .decide_p99_us = latency_us(runner->latencies_ns, runner->latencies_count, 990),
                .facts_hash = runner->facts_hash,
        };
}

int methods_run(const struct scenario *scenario, const struct model_table *models,
                struct policy placement, enum task_method method, uint64_t seed,
                struct methods_figures *ret_figures, const volatile int *cancel, struct err *err)
{
        assert(scenario->workload.source == WORKLOAD_TASKS);
        assert(scenario->pool.source == POOL_UNIFORM);
        assert(scenario->workload.tasks_count > 0);
        assert(method < TASK_METHODS_END);

        struct bench *bench = mem_new(1, sizeof *bench);
        if (!bench)
                return err_set(err, ERR_NOMEM, "out of memory");
        bench->scenario = scenario;
        bench->hooks.cancel = cancel;
        bench->tasks_free = NONE;
        int rc = bench_init(bench, models, placement, method, err);
        if (rc == 0)
                rc = run(bench, seed, err);
        if (rc == 0)
                report(bench, ret_figures);
        bench_done(bench);
        mem_free(bench);
        return rc;
}

double methods_over_whole_pct(const struct methods_figures *whole,
                              const struct methods_figures *method)
{
        return percent(method->done_per_life - whole->done_per_life, whole->done_per_life, 0);
}
