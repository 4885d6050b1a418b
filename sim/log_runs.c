#include "sim/log_runs.h"

#include "base/mem.h"
#include "engine/fact.h"
#include "engine/state.h"

void log_runs_done(struct log_runs *runs)
{
        mem_free(runs->items);
        *runs = (struct log_runs){0};
}

bool log_runs_add(struct log_runs *runs)
{
        struct log_run *grown = mem_grow(runs->items, runs->count, &runs->room, 1024,
                                         sizeof *grown);
        if (!grown)
                return false;
        runs->items = grown;
        runs->items[runs->count++] = (struct log_run){.first_start_ms = LOG_NEVER,
                                                      .end_ms = LOG_NEVER};
        return true;
}

/* NULL: the log does not tell of it. */
static struct log_run *log_runs_find(const struct log_runs *runs, uint64_t workload)
{
        uint32_t at = map_get(runs->ids, workload);

        return at < runs->count ? &runs->items[at] : NULL;
}

uint64_t log_units_held(const struct state *state, const struct workload *workload)
{
        uint64_t units = 0;

        for (uint32_t m = workload->first_member; m != NONE; m = state->members[m].next) {
                const struct member *member = &state->members[m];
                const struct model *model = node_model(state, member->node);
                for (uint32_t p = member->first_part; p != NONE; p = state->parts[p].next)
                        units += part_units(model, &state->parts[p].part);
        }
        return units;
}

static void starts(struct log_run *run, const struct state *state,
                   const struct fact_allocated *place, int64_t now_ms)
{
        const struct model *model = node_model(state, place->node);

        for (unsigned p = 0; p < place->parts_count; p++)
                run->units += part_units(model, &place->parts[p]);
        if (run->runs)
                return;                 /* a further member */
        run->runs = true;
        run->since_ms = now_ms;
        if (run->first_start_ms == LOG_NEVER)
                run->first_start_ms = now_ms;
}

static void leaves(struct log_run *run, int64_t lost_ms, int64_t now_ms)
{
        int64_t work_ms = log_run_work_ms(run, now_ms);

        if (work_ms > run->reached_ms)
                run->reached_ms = work_ms;
        run->lost_device_ms += (double)lost_ms * (double)run->units / UNITS_DEVICE;
        run->units = 0;
        run->runs = false;
}

/* An end of its own, or one that its owner asked for, is no stop: no decision took it away. */
static bool is_stop(enum release_cause cause)
{
        return cause != RELEASE_EXITED && cause != RELEASE_FAILED && cause != RELEASE_CANCELLED &&
               cause != RELEASE_TIMED_OUT && cause != RELEASE_ASKED;
}

static void sees_release(struct log_run *run, const struct fact *fact, int64_t now_ms)
{
        bool stopped = is_stop(fact->released.cause);

        run->stops += stopped;
        leaves(run, stopped ? fact->released.lost_ms : 0, now_ms);
        run->end_ms = now_ms;
}

static void sees_requeue(struct log_run *run, const struct fact_requeued *fact, int64_t now_ms)
{
        bool stopped = is_stop(fact->cause);

        run->stops += stopped;
        leaves(run, stopped ? fact->lost_ms : 0, now_ms);
        run->attained_ms = fact->attained_ms;
}

static uint64_t workload_of(const struct fact *fact)
{
        switch ((int)fact->kind) {
        case FACT_ALLOCATED:
                return fact->allocated.workload;
        case FACT_RELEASED:
                return fact->released.workload;
        case FACT_REQUEUED:
                return fact->requeued.workload;
        case FACT_REFUSED:
                return fact->refused.workload;
        default:
                return 0;
        }
}

void log_runs_see(struct log_runs *runs, const struct state *state, const struct fact *fact,
                  int64_t now_ms)
{
        uint64_t workload = workload_of(fact);
        struct log_run *run = workload ? log_runs_find(runs, workload) : NULL;

        if (!run)
                return;
        if (fact->kind == FACT_ALLOCATED)
                starts(run, state, &fact->allocated, now_ms);
        else if (fact->kind == FACT_RELEASED)
                sees_release(run, fact, now_ms);
        else if (fact->kind == FACT_REQUEUED)
                sees_requeue(run, &fact->requeued, now_ms);
        else
                run->is_refused = true;
}
