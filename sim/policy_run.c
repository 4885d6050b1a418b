/* One history, one policy, one seed: jobs come, run, save, are stopped and end, in virtual time. */
#include "sim/policy_run.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/accounts.h"
#include "engine/decide.h"
#include "proto/policy_doc.h"
#include "sim/eta_watch.h"
#include "sim/ledger_watch.h"
#include "sim/policy_load.h"
#include "sim/pool.h"
#include "sim/rng.h"
#include "sim/timeline.h"
#include "sim/wait_watch.h"
#include "trace/jobs.h"

#define TICK_MS INT64_C(15000)

enum { STREAM_CHECKPOINTS = 0x636870, STREAM_NODES = 0x6e6f64 };

/* At one time: what frees room first. */
enum event_kind { EVENT_STOP, EVENT_EXIT, EVENT_CHECKPOINT, EVENT_KINDS_END };

/* A job as it really is; the engine knows less. */
struct running {
        int64_t left_ms;                /* of its work, from its newest checkpoint */
        int64_t since_ms;               /* of this run */
        int64_t restart_ms;             /* that this run spends on starting again */
        int64_t saved_ms;               /* work of this run that is safe */
        uint32_t run;                   /* number of its start; events of others are void */
        uint32_t devices;               /* that it holds when it runs */
        bool saves, runs, done;
};

struct policy_run {
        const struct policy_run_setup *setup;
        const struct scenario_history *spec;
        struct replay_pool pool;
        struct policy_doc *policy;
        uint16_t *tenants, *classes;
        struct state *state;
        struct memo *memo;
        struct timeline timeline;
        struct running *running;
        struct job_record *records;
        struct ledger_watch ledger;
        struct eta_watch eta;
        struct policy placement;
        size_t next_job;
        int64_t now_ms, ticked_ms;
        bool failed;                    /* out of memory in a callback */
};

/* ---- what the facts mean for a job; ids are places in jobs->items, from 1 ---- */

static void add_event(struct policy_run *run, uint32_t job, enum event_kind kind, int64_t at_ms)
{
        struct event event = {.at_ms = at_ms,
                              .kind = kind,
                              .what = job,
                              .run = run->running[job].run};

        if (!timeline_add(&run->timeline, event))
                run->failed = true;
}

static void job_starts(struct policy_run *run, uint32_t job)
{
        struct running *it = &run->running[job];
        struct job_record *record = &run->records[job];
        bool again = record->first_start_ms != JOB_RECORD_NEVER;

        it->run++;
        it->runs = true;
        it->since_ms = run->now_ms;
        it->saved_ms = 0;
        it->restart_ms = again ? run->spec->checkpoint_restart_ms : 0;
        if (!again) {
                record->first_start_ms = run->now_ms;
                eta_watch_started(&run->eta, job + 1, run->now_ms);
        }
        record->restart_device_ms += it->restart_ms * it->devices;
        if (it->restart_ms > 0)
                ledger_watch_overhead(&run->ledger, run->state, job + 1, run->now_ms,
                                      run->now_ms + it->restart_ms);
        add_event(run, job, EVENT_EXIT, run->now_ms + it->restart_ms + it->left_ms);
        if (it->saves && run->spec->checkpoint_every_ms < it->left_ms)
                add_event(run, job, EVENT_CHECKPOINT,
                          run->now_ms + it->restart_ms + run->spec->checkpoint_every_ms);
}

static void job_leaves(struct policy_run *run, uint32_t job)
{
        struct running *it = &run->running[job];

        it->runs = false;
        job_record_hold(&run->records[job], &run->setup->window, it->devices, it->since_ms,
                        run->now_ms);
}

static void job_is_stopped(struct policy_run *run, uint32_t job)
{
        struct running *it = &run->running[job];
        struct job_record *record = &run->records[job];
        int64_t worked = run->now_ms - it->since_ms - it->restart_ms;

        job_leaves(run, job);
        it->left_ms -= it->saved_ms;
        record->stops++;
        if (worked > it->saved_ms)
                record->lost_device_ms += (worked - it->saved_ms) * it->devices;
}

static void see(void *arg, const struct fact *fact)
{
        struct policy_run *run = arg;

        ledger_watch_see(&run->ledger, run->state, fact, run->now_ms);
        switch (fact->kind) {
        case FACT_ALLOCATED:
                if (fact->allocated.standing == STANDING_PROTECTED)
                        run->records[fact->allocated.workload - 1].is_promised = true;
                if (fact->allocated.member == 0)
                        job_starts(run, (uint32_t)fact->allocated.workload - 1);
                break;
        case FACT_REQUEUED:
                job_is_stopped(run, (uint32_t)fact->requeued.workload - 1);
                break;
        case FACT_RELEASED:
                job_leaves(run, (uint32_t)fact->released.workload - 1);
                run->records[fact->released.workload - 1].end_ms = run->now_ms;
                run->running[fact->released.workload - 1].done = true;
                break;
        case FACT_NOTICED:
                /* A recorded job ends by itself: a restart may put it a little over its limit. */
                if (fact->noticed.cause != NOTICE_TIME_LIMIT)
                        add_event(run, (uint32_t)fact->noticed.workload - 1, EVENT_STOP,
                                  fact->noticed.until_ms);
                break;
        default:
                break;
        }
}

static int feed(struct policy_run *run, const struct input *input, struct err *err)
{
        int rc = ledger_watch_until(&run->ledger, run->state, run->now_ms, err);

        if (rc == 0)
                rc = engine_run(run->state, run->memo, input, run->now_ms, see, run, err);
        return rc == 0 && run->failed ? err_set(err, ERR_NOMEM, "out of memory") : rc;
}

/* ---- what comes in ---- */

/* On as many nodes as it takes; more than one node: whole ones. */
static void shape_of(const struct policy_run *run, const struct job *job, struct request *request)
{
        uint32_t on_node = run->setup->scenario->pool.devices_per_node;
        uint32_t devices = job->devices, members = job->members ? job->members : 1;

        if (devices > on_node) {
                members *= (devices + on_node - 1) / on_node;
                devices = on_node;
        }
        request->form.members = members;
        request->need = (struct need){.models = UINT64_MAX,
                                      .cpu_milli = devices > 0 ? 0 : 1,
                                      .ask = devices > 0 ? ASK_WHOLE : ASK_NOTHING,
                                      .devices = (uint8_t)devices};
}

/* When it will start, where somebody wants to know. */
static int foretell(struct policy_run *run, uint64_t workload, struct err *err)
{
        struct input input;
        bool told;
        int rc = eta_watch_ask(&run->eta, run->state, run->placement, workload, run->now_ms, &told,
                               &input, err);

        return rc == 0 && told ? feed(run, &input, err) : rc;
}

/* The engine takes no such work; where the pool is too small for it anyway, it is refused. */
static int submit_too_wide(const struct policy_run *run, const struct job *job, uint32_t members,
                           struct err *err)
{
        if (members > run->setup->scenario->pool.nodes)
                return 0;
        return err_set(err, ERR_RANGE,
                       "%s:%u: the job takes %u nodes, and a policy can place at most %d for one; "
                       "leave it out, or describe larger nodes in pool.devices_per_node",
                       run->spec->file, job->line, members, MEMBERS_MAX);
}

static int submit(struct policy_run *run, uint32_t number, struct err *err)
{
        const struct job *job = &run->setup->jobs->items[number];
        struct running *it = &run->running[number];
        uint32_t class = job->class < run->setup->jobs->classes_count
                                 ? job->class
                                 : run->setup->jobs->classes_count;
        struct input input = {.kind = INPUT_SUBMITTED};
        struct request *request = &input.request;

        *request = (struct request){.workload = number + 1,
                                    .tenant = run->tenants[job->tenant],
                                    .class = run->classes[class],
                                    .array = job->array,
                                    .array_at_once = job->array_at_once,
                                    .time_limit_ms = run->setup->limits_ms[number]};
        if (run->setup->scenario->durations == DURATIONS_ORACLE)
                request->time_limit_ms = job->duration_ms;
        if (it->saves)
                request->checkpoint_every_ms = run->spec->checkpoint_every_ms;
        if (job->eligible_ms > job->submit_ms)
                request->start_ms = job->eligible_ms;
        shape_of(run, job, request);
        if (request->form.members > MEMBERS_MAX)
                return submit_too_wide(run, job, request->form.members, err);
        it->devices = request->form.members * request->need.devices;
        it->left_ms = job->duration_ms;
        int rc = eta_watch_arrived(&run->eta, request, run->now_ms, err);
        if (rc == 0)
                rc = feed(run, &input, err);
        return rc ? rc : foretell(run, number + 1, err);
}

static int happen(struct policy_run *run, struct event event, struct err *err)
{
        struct running *it = &run->running[event.what];
        struct input input = {.workload = event.what + 1};

        if (!it->runs || it->run != event.run)
                return 0;
        if (event.kind == EVENT_STOP) {
                uint32_t slot = state_workload(run->state, input.workload);
                /* The plan may have been withdrawn, and another one made since. */
                if (run->state->workloads[slot].notice_until_ms == 0 ||
                    run->state->workloads[slot].notice_until_ms > run->now_ms)
                        return 0;
                input.kind = INPUT_STOPPED;
        } else if (event.kind == EVENT_EXIT) {
                input.kind = INPUT_EXITED;
        } else {
                input = (struct input){.kind = INPUT_CHECKPOINTED};
                input.checkpoint.workload = event.what + 1;
                it->saved_ms = run->now_ms - it->since_ms - it->restart_ms;
                if (it->saved_ms + run->spec->checkpoint_every_ms < it->left_ms)
                        add_event(run, event.what, EVENT_CHECKPOINT,
                                  run->now_ms + run->spec->checkpoint_every_ms);
        }
        return feed(run, &input, err);
}

/* ---- time ---- */

static int tick(struct policy_run *run, int64_t at_ms, struct err *err)
{
        struct input input = {.kind = INPUT_TICKED};
        int rc = 0;

        run->now_ms = at_ms;
        if (run->state->waiting > 0)
                rc = wait_watch_tick(run->state, run->records, TICK_MS, err);
        run->ticked_ms = at_ms;
        return rc ? rc : feed(run, &input, err);
}

/* Ticks up to that time; while nothing waits, one is enough. */
static int tick_until(struct policy_run *run, int64_t at_ms, struct err *err)
{
        int64_t last = at_ms - at_ms % TICK_MS;

        while (run->ticked_ms < last) {
                bool waits = run->state->waiting > 0 || run->state->noticed > 0;
                int64_t next = waits ? run->ticked_ms + TICK_MS : last;
                const struct event *event = timeline_first(&run->timeline);
                if (event && event->at_ms < next)
                        return 0;
                int rc = tick(run, next, err);
                if (rc)
                        return rc;
        }
        return 0;
}

static bool is_cancelled(const struct policy_run *run)
{
        const struct replay_hooks *hooks = run->setup->hooks;

        return hooks && hooks->cancel && *hooks->cancel;
}

static void show_progress(const struct policy_run *run)
{
        const struct replay_hooks *hooks = run->setup->hooks;

        if (hooks && hooks->progress && run->next_job % 256 == 0)
                hooks->progress(hooks->progress_arg, run->setup->policy->name, run->next_job,
                                run->setup->jobs->count);
}

/* Whether somebody wants to see the pool before the time of what happens next. */
static struct replay_look *look_before(const struct policy_run *run, int64_t at_ms)
{
        const struct replay_hooks *hooks = run->setup->hooks;
        struct replay_look *look = hooks ? hooks->look : NULL;

        return look && !look->seen && at_ms > look->at_ms ? look : NULL;
}

static int show_pool(struct policy_run *run, struct replay_look *look, struct err *err)
{
        look->seen = true;
        int rc = look->look(look->arg, run->state, run->memo, run->now_ms, err);
        return rc ? rc : -ERR_CANCELLED;
}

static int play(struct policy_run *run, struct err *err)
{
        const struct jobs *jobs = run->setup->jobs;

        for (;;) {
                const struct event *event = timeline_first(&run->timeline);
                bool comes = run->next_job < jobs->count;
                if (!event && !comes)
                        return 0;
                int64_t at_ms = event ? event->at_ms : INT64_MAX;
                if (comes && jobs->items[run->next_job].submit_ms < at_ms)
                        at_ms = jobs->items[run->next_job].submit_ms;
                struct replay_look *look = look_before(run, at_ms);
                if (look)
                        at_ms = look->at_ms > run->now_ms ? look->at_ms : run->now_ms;
                int rc = tick_until(run, at_ms, err);
                if (rc)
                        return rc;
                event = timeline_first(&run->timeline); /* a tick may have brought one */
                if (event && event->at_ms < at_ms)
                        at_ms = event->at_ms;
                run->now_ms = at_ms;
                if (event && event->at_ms == at_ms) {
                        struct event happens = *event;
                        timeline_pop(&run->timeline);
                        rc = happen(run, happens, err);
                } else if (look && at_ms >= look->at_ms) {
                        return show_pool(run, look, err);
                } else {
                        rc = submit(run, (uint32_t)run->next_job++, err);
                        show_progress(run);
                }
                if (rc)
                        return rc;
                if (is_cancelled(run))
                        return -ERR_CANCELLED;
        }
}

/* ---- life ---- */

/* Nodes join in another order with each seed: that is all that ties between them depend on. */
static int make_pool(struct policy_run *run, struct err *err)
{
        const struct policy_run_setup *setup = run->setup;
        struct rng rng;
        int rc = replay_pool_load(&setup->scenario->pool, setup->models, NULL, &run->pool, err);

        if (rc)
                return rc;
        rng_init_stream(&rng, setup->seed, STREAM_NODES);
        for (uint32_t n = run->pool.nodes_count; n > 1; n--) {
                uint32_t other = (uint32_t)rng_below(&rng, n);
                struct replay_node node = run->pool.nodes[n - 1];
                run->pool.nodes[n - 1] = run->pool.nodes[other];
                run->pool.nodes[other] = node;
        }
        run->state = replay_state_new(&run->pool, 1, err);
        return run->state ? 0 : -ERR_NOMEM;
}

static int set_policy(struct policy_run *run, struct history_gap *ret_gap, struct err *err)
{
        const struct jobs *jobs = run->setup->jobs;
        struct input input = {.kind = INPUT_POLICY_SET};
        int rc;

        run->tenants = mem_new(jobs->tenants_count + 1, sizeof *run->tenants);
        run->classes = mem_new(jobs->classes_count + 1, sizeof *run->classes);
        if (!run->tenants || !run->classes)
                return err_set(err, ERR_NOMEM, "out of memory");
        rc = policy_load(run->setup->policy, run->setup->models, run->spec->file, jobs,
                         &run->policy, run->tenants, run->classes, ret_gap, err);
        if (rc)
                return rc;
        input.accounts = accounts_new(run->policy->tenancy, err);
        if (!input.accounts)
                return -ERR_NOMEM;
        rc = feed(run, &input, err);
        if (rc && run->state->accounts != input.accounts)
                accounts_free(input.accounts);
        return rc;
}

static int start(struct policy_run *run, struct history_figures *ret_figures, struct err *err)
{
        const struct policy_run_setup *setup = run->setup;
        const struct jobs *jobs = setup->jobs;
        struct rng rng;
        int rc;

        run->placement = setup->consolidates ? (struct policy){.kind = POLICY_BEST_FIT}
                                             : setup->placement;
        run->memo = memo_new(run->placement, MEMO_INDEXED);
        run->running = mem_new(jobs->count, sizeof *run->running);
        if (!run->memo || !run->running)
                return err_set(err, ERR_NOMEM, "out of memory");
        rc = make_pool(run, err);
        run->now_ms = jobs->items[0].submit_ms - jobs->items[0].submit_ms % TICK_MS;
        run->ticked_ms = run->now_ms;
        if (rc == 0)
                rc = ledger_watch_start(&run->ledger, run->state, &setup->window, setup->ledger,
                                        err);
        if (rc == -ERR_RANGE)
                err_prefix(err, "%s", setup->scenario->file);
        if (rc == 0)
                rc = set_policy(run, &ret_figures->gap, err);
        if (rc == 0)
                rc = eta_watch_start(&run->eta, setup->hooks, run->state, TICK_MS,
                                     run->spec->checkpoint_restart_ms, setup->seed, err);
        rng_init_stream(&rng, setup->seed, STREAM_CHECKPOINTS);
        for (size_t j = 0; j < jobs->count; j++)
                run->running[j].saves = rng_below(&rng, 100) < run->spec->checkpoint_share_pct &&
                                        run->spec->has_checkpoint;
        return rc;
}

static void done(struct policy_run *run)
{
        ledger_watch_done(&run->ledger);
        eta_watch_done(&run->eta);
        memo_free(run->memo);
        state_free(run->state);
        policy_doc_free(run->policy);
        replay_pool_done(&run->pool);
        timeline_done(&run->timeline);
        mem_free(run->running);
        mem_free(run->tenants);
        mem_free(run->classes);
}

int history_policy_run(const struct policy_run_setup *setup, struct job_record *ret_records,
                       struct history_figures *ret_figures, struct err *err)
{
        struct policy_run run = {.setup = setup,
                                 .spec = &setup->scenario->workload.history,
                                 .records = ret_records};
        int rc = start(&run, ret_figures, err);

        if (rc == 0)
                rc = play(&run, err);
        if (rc == 0)
                rc = ledger_watch_end(&run.ledger, run.state, ret_figures, err);
        if (rc == 0)
                rc = eta_watch_end(&run.eta, ret_records, ret_figures, err);
        ret_figures->has_gates = ret_figures->has_promises = true;
        done(&run);
        return rc;
}
