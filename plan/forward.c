#include "plan/forward.h"

#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "engine/accounts.h"
#include "engine/decide.h"
#include "engine/order.h"
#include "engine/state_clone.h"
#include "sim/timeline.h"

#define ARRIVALS_LEAST_MS INT64_C(3600000)      /* what came in less does not come again sooner */
#define STEP_PART         32            /* a tick lasts such a part of the time since now */
#define ID_DRAWN (UINT64_C(1) << 62)    /* work of the future bears numbers from here on */

/* At one time: what frees room first, as in sim/policy_run.c. */
enum { EVENT_STOP, EVENT_EXIT, EVENT_CHECKPOINT };

struct forward {
        struct state *clone;
        struct timeline timeline;
        int64_t *total_ms;              /* by workload slot: its whole run time; 0: not drawn */
        uint32_t *run;                  /* by slot: number of its start; others' events are void */
        uint32_t slots_used;
        /* Of the run under way: */
        const struct forward_setup *setup;
        struct memo *memo;
        int64_t *after_ms;
        uint32_t missing;               /* asked ones that have not started */
        uint64_t next_arrival, drawn;
        int64_t arrivals_shift_ms;      /* from then to its time in this future */
        int64_t now_ms, ticked_ms;
        bool failed;                    /* out of memory in a callback */
};

/* ---- arrivals ---- */

int arrivals_add(struct arrivals *arrivals, const struct request *request, int64_t now_ms,
                 struct err *err)
{
        if (!arrivals->items) {
                arrivals->items = mem_new(ARRIVALS_MAX, sizeof *arrivals->items);
                arrivals->since_ms = now_ms;
        }
        if (!arrivals->items)
                return err_set(err, ERR_NOMEM, "out of memory");
        arrivals->items[arrivals->added++ % ARRIVALS_MAX] = (struct arrival){now_ms, *request};
        return 0;
}

void arrivals_done(struct arrivals *arrivals)
{
        mem_free(arrivals->items);
        *arrivals = (struct arrivals){0};
}

/* The first of the last day's; their number where there is none. */
static uint64_t first_arrival(const struct arrivals *arrivals, int64_t now_ms)
{
        uint64_t low = arrivals->added > ARRIVALS_MAX ? arrivals->added - ARRIVALS_MAX : 0;
        uint64_t high = arrivals->added;

        while (low < high) {
                uint64_t middle = (low + high) / 2;
                if (arrivals->items[middle % ARRIVALS_MAX].at_ms > now_ms - ARRIVALS_MS)
                        high = middle;
                else
                        low = middle + 1;
        }
        return low;
}

/* The time that the arrivals stand for, and after which they come again. */
static int64_t arrivals_span_ms(const struct forward *forward)
{
        const struct forward_setup *setup = forward->setup;
        const struct arrivals *arrivals = setup->arrivals;
        uint64_t first = first_arrival(arrivals, setup->now_ms);
        int64_t span = setup->now_ms - arrivals->since_ms;

        if (first > 0 && arrivals->added - first == ARRIVALS_MAX)
                span = setup->now_ms - arrivals->items[first % ARRIVALS_MAX].at_ms;
        else if (span > ARRIVALS_MS)
                span = ARRIVALS_MS;
        return span > ARRIVALS_LEAST_MS ? span : ARRIVALS_LEAST_MS;
}

static const struct arrival *arrival_next(const struct forward *forward)
{
        const struct arrivals *arrivals = forward->setup->arrivals;

        return forward->next_arrival < arrivals->added
                       ? &arrivals->items[forward->next_arrival % ARRIVALS_MAX]
                       : NULL;
}

static void arrivals_go_on(struct forward *forward)
{
        if (++forward->next_arrival < forward->setup->arrivals->added)
                return;
        forward->next_arrival = first_arrival(forward->setup->arrivals, forward->setup->now_ms);
        forward->arrivals_shift_ms += arrivals_span_ms(forward);
}

/* ---- how long work runs ---- */

static void add_event(struct forward *forward, uint32_t slot, unsigned kind, int64_t at_ms)
{
        struct event event = {.at_ms = at_ms,
                              .kind = kind,
                              .what = slot,
                              .run = forward->run[slot]};

        if (!timeline_add(&forward->timeline, event))
                forward->failed = true;
}

/* One of the run times that are known of its kind, above what it ran; within its limit. */
static int64_t draw_total(const struct forward *forward, uint32_t slot, int64_t attained)
{
        const struct state *state = forward->clone;
        const struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];
        uint64_t draw = map_mix(workload->id + map_mix(forward->setup->seed + 1));
        int64_t limit = workload->time_limit_ms, total = RUN_TIME_UNKNOWN_MS;

        if (workload->service)
                return INT64_MAX / 4;
        if (state->accounts)
                total = run_times_expect(state->accounts->times, bucket->tenant,
                                         run_times_width(bucket_devices(state, bucket)),
                                         1 + (unsigned)(draw % 100), attained);
        if (limit > 0 && total > limit)
                total = limit;
        return total > attained ? total : attained + 1000;
}

/* It starts, or runs already: what will become of this run. */
static void expect(struct forward *forward, uint32_t slot, int64_t attained, int64_t at_ms)
{
        const struct workload *workload = &forward->clone->workloads[slot];
        int64_t every = workload->checkpoint_every_ms;

        if (forward->total_ms[slot] <= attained)
                forward->total_ms[slot] = draw_total(forward, slot, attained);
        add_event(forward, slot, EVENT_EXIT, at_ms + forward->total_ms[slot] - attained);
        if (every <= 0)
                return;
        int64_t first = at_ms + every;
        if (workload->members_placed > 0 && workload->since_ms + workload->saved_ms + every > at_ms)
                first = workload->since_ms + workload->saved_ms + every;
        add_event(forward, slot, EVENT_CHECKPOINT, first);
}

static void starts(struct forward *forward, uint64_t id)
{
        uint32_t slot = state_workload(forward->clone, id);
        const struct workload *workload = &forward->clone->workloads[slot];
        bool again = workload->attained_ms > 0 || workload->stops > 0;

        forward->run[slot]++;
        expect(forward, slot, workload->attained_ms,
               forward->now_ms + (again ? forward->setup->restart_ms : 0));
        for (uint32_t a = 0; id < ID_DRAWN && a < forward->setup->asked_count; a++)
                if (forward->setup->asked[a] == id && forward->after_ms[a] == FORWARD_NEVER) {
                        forward->after_ms[a] = forward->now_ms - forward->setup->now_ms;
                        forward->missing--;
                }
}

static void see(void *arg, const struct fact *fact)
{
        struct forward *forward = arg;
        uint32_t slot;

        switch (fact->kind) {
        case FACT_ALLOCATED:
                if (fact->allocated.member == 0)
                        starts(forward, fact->allocated.workload);
                break;
        case FACT_REQUEUED:
                forward->run[state_workload(forward->clone, fact->requeued.workload)]++;
                break;
        case FACT_RELEASED:
                slot = state_workload(forward->clone, fact->released.workload);
                forward->run[slot]++;
                forward->total_ms[slot] = 0;
                break;
        case FACT_NOTICED:
                if (fact->noticed.cause != NOTICE_TIME_LIMIT)
                        add_event(forward, state_workload(forward->clone, fact->noticed.workload),
                                  EVENT_STOP, fact->noticed.until_ms);
                break;
        default:
                break;
        }
}

static int feed(struct forward *forward, const struct input *input, struct err *err)
{
        int rc = engine_run(forward->clone, forward->memo, input, forward->now_ms, see, forward,
                            err);

        if (rc == 0 && forward->failed)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        /* What a full table or a name that came twice refuses does not come in this future. */
        return rc == -ERR_NOMEM ? rc : 0;
}

/* ---- time ---- */

/* Dependencies and arrays were of that day; the rest comes as it came. */
static int arrive(struct forward *forward, struct err *err)
{
        const struct arrival *arrival = arrival_next(forward);
        struct input input = {.kind = INPUT_SUBMITTED, .request = arrival->request};
        struct request *request = &input.request;

        request->workload = ID_DRAWN + forward->drawn++;
        request->after_count = 0;
        request->array = request->array_at_once = request->group = 0;
        request->user_hold = false;
        if (request->start_ms > 0)
                request->start_ms += forward->arrivals_shift_ms;
        arrivals_go_on(forward);
        return feed(forward, &input, err);
}

static int happen(struct forward *forward, struct event event, struct err *err)
{
        const struct workload *workload = &forward->clone->workloads[event.what];
        struct input input = {.workload = workload->id};

        if (forward->run[event.what] != event.run || !workload->live ||
            workload->members_placed == 0)
                return 0;
        if (event.kind == EVENT_STOP) {
                if (workload->notice_until_ms == 0 || workload->notice_until_ms > forward->now_ms)
                        return 0;
                input.kind = INPUT_STOPPED;
        } else if (event.kind == EVENT_EXIT) {
                input.kind = INPUT_EXITED;
        } else {
                input.kind = INPUT_CHECKPOINTED;
                add_event(forward, event.what, EVENT_CHECKPOINT,
                          forward->now_ms + workload->checkpoint_every_ms);
        }
        return feed(forward, &input, err);
}

/* The further ahead, the rarer: what happens in hours is not known to seconds anyway. */
static int64_t step_ms(const struct forward *forward)
{
        int64_t tick = forward->setup->tick_ms;
        int64_t ahead_ms = forward->ticked_ms - forward->setup->now_ms;

        return ahead_ms > tick ? tick * (1 + ahead_ms / tick / STEP_PART) : tick;
}

static bool is_over(const struct forward_setup *setup)
{
        return (setup->cancel && *setup->cancel) ||
               (setup->stops && setup->stops(setup->stops_arg));
}

/* Ticks up to that time; while nothing waits, one is enough. */
static int tick_until(struct forward *forward, int64_t at_ms, struct err *err)
{
        const struct input input = {.kind = INPUT_TICKED};
        int64_t last = at_ms - at_ms % forward->setup->tick_ms;

        while (forward->missing > 0 && forward->ticked_ms < last) {
                bool waits = forward->clone->waiting > 0 || forward->clone->noticed > 0;
                int64_t next = waits ? forward->ticked_ms + step_ms(forward) : last;
                const struct event *event = timeline_first(&forward->timeline);
                if (next > last || (event && event->at_ms < next))
                        return 0;
                if (is_over(forward->setup))
                        return err_set(err, ERR_CANCELLED, "the forward run was ended");
                forward->now_ms = forward->ticked_ms = next;
                int rc = feed(forward, &input, err);
                if (rc)
                        return rc;
        }
        return 0;
}

static int play(struct forward *forward, struct err *err)
{
        int64_t end_ms = forward->setup->now_ms + forward->setup->horizon_ms;

        while (forward->missing > 0) {
                const struct arrival *arrival = arrival_next(forward);
                const struct event *event = timeline_first(&forward->timeline);
                if (is_over(forward->setup))
                        return err_set(err, ERR_CANCELLED, "the forward run was ended");
                int64_t comes_ms = arrival ? arrival->at_ms + forward->arrivals_shift_ms
                                           : INT64_MAX;
                int64_t at_ms = event && event->at_ms < comes_ms ? event->at_ms : comes_ms;
                int rc = tick_until(forward, at_ms < end_ms ? at_ms : end_ms, err);

                event = timeline_first(&forward->timeline);     /* a tick may have brought one */
                if (event && event->at_ms < at_ms)
                        at_ms = event->at_ms;
                if (rc || forward->missing == 0 || at_ms > end_ms)
                        return rc;
                forward->now_ms = at_ms > forward->now_ms ? at_ms : forward->now_ms;
                if (event && event->at_ms == at_ms) {
                        struct event happens = *event;
                        timeline_pop(&forward->timeline);
                        rc = happen(forward, happens, err);
                } else {
                        rc = arrive(forward, err);
                }
                if (rc)
                        return rc;
        }
        return 0;
}

/* ---- life ---- */

struct forward *forward_new(const struct state *state)
{
        struct forward *forward = mem_new(1, sizeof *forward);

        if (!forward)
                return NULL;
        forward->clone = state_clone_new(state);
        forward->total_ms = mem_new(state->bounds.workloads_max, sizeof *forward->total_ms);
        forward->run = mem_new(state->bounds.workloads_max, sizeof *forward->run);
        if (forward->clone && forward->total_ms && forward->run)
                return forward;
        forward_free(forward);
        return NULL;
}

void forward_free(struct forward *forward)
{
        if (!forward)
                return;
        state_clone_free(forward->clone);
        timeline_done(&forward->timeline);
        mem_free(forward->total_ms);
        mem_free(forward->run);
        mem_free(forward);
}

/* What runs goes on running; what has been told to stop stops. */
static void take_over(struct forward *forward)
{
        const struct state *clone = forward->clone;

        for (uint32_t slot = 0; slot < clone->workload_slots.high; slot++) {
                const struct workload *workload = &clone->workloads[slot];
                if (!workload->live || workload->members_placed == 0)
                        continue;
                expect(forward, slot, attained_ms(clone, slot, forward->now_ms), forward->now_ms);
                if (workload->notice_until_ms > 0 && workload->notice_cause != NOTICE_TIME_LIMIT)
                        add_event(forward, slot, EVENT_STOP, workload->notice_until_ms);
        }
}

static int begin(struct forward *forward, const struct forward_setup *setup, int64_t *after_ms,
                 struct err *err)
{
        int rc = state_clone_take(forward->clone, setup->state, err);

        if (rc)
                return rc;
        memset(forward->total_ms, 0, forward->slots_used * sizeof *forward->total_ms);
        memset(forward->run, 0, forward->slots_used * sizeof *forward->run);
        forward->timeline.count = 0;
        forward->setup = setup;
        forward->after_ms = after_ms;
        forward->missing = setup->asked_count;
        forward->now_ms = setup->now_ms;
        forward->ticked_ms = setup->now_ms - setup->now_ms % setup->tick_ms;
        forward->drawn = 0;
        forward->failed = false;
        forward->next_arrival = first_arrival(setup->arrivals, setup->now_ms);
        forward->arrivals_shift_ms = arrivals_span_ms(forward);
        for (uint32_t a = 0; a < setup->asked_count; a++)
                after_ms[a] = FORWARD_NEVER;
        forward->memo = memo_new(setup->placement, MEMO_INDEXED);
        if (!forward->memo)
                return err_set(err, ERR_NOMEM, "out of memory");
        take_over(forward);
        return 0;
}

int forward_run(struct forward *forward, const struct forward_setup *setup, int64_t *ret_after_ms,
                struct err *err)
{
        int rc = begin(forward, setup, ret_after_ms, err);

        if (rc == 0)
                rc = play(forward, err);
        forward->slots_used = forward->clone->workload_slots.high;
        memo_free(forward->memo);
        forward->memo = NULL;
        return rc;
}
