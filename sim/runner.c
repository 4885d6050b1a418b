#include "sim/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/time.h"

/* ---- what is known of the demand ---- */

/* The given popularity, scaled to KNOWLEDGE_PRIOR arrivals, and what was seen. Weights are in
 * thousandths of an arrival, so that rare shapes keep theirs. */
static void blend(const struct runner *runner, struct demand *ret_demand)
{
        uint64_t total = 0;

        *ret_demand = (struct demand){0};
        if (runner->given)
                *ret_demand = *runner->given;
        for (uint32_t s = 0; s < ret_demand->count; s++)
                total += ret_demand->shapes[s].weight;
        for (uint32_t s = 0; s < ret_demand->count; s++) {
                uint64_t scaled = ret_demand->shapes[s].weight * 1000 * KNOWLEDGE_PRIOR / total;
                ret_demand->shapes[s].weight = scaled ? scaled : 1;
        }
        for (uint32_t s = 0; s < runner->learned.seen.count; s++)
                demand_add_shape(ret_demand, &runner->learned.seen.shapes[s],
                                 runner->learned.seen.shapes[s].weight * 1000);
}

static int set_plan(struct runner *runner, const struct demand *demand, int64_t now_ms,
                    struct err *err)
{
        struct input input = {.kind = INPUT_PLAN_SET, .plan = runner->plan};
        const struct replay_hooks *hooks = runner->hooks;
        int64_t start_ns = time_monotonic_ns();
        int rc = 0;

        runner->plan->shapes_count = demand->count;
        runner->plan->priced = false;
        memcpy(runner->plan->shapes, demand->shapes, demand->count * sizeof *demand->shapes);
        if (runner->policy.kind == POLICY_AUTO && hooks && hooks->make_plan)
                rc = hooks->make_plan(hooks->plan_arg, runner->pool, demand->shapes, demand->count,
                                      runner->plan, runner->plan_note, sizeof runner->plan_note,
                                      err);
        runner->plan_s += (double)(time_monotonic_ns() - start_ns) / 1e9;
        if (rc)
                return rc;
        return engine_run(runner->state, runner->memo, &input, now_ms, NULL, NULL, err);
}

static int learn(struct runner *runner, const struct need *need, int64_t now_ms, struct err *err)
{
        struct demand *demand;

        if (!learned_see(&runner->learned, need))
                return 0;
        demand = mem_new(1, sizeof *demand);
        if (!demand)
                return err_set(err, ERR_NOMEM, "out of memory");
        blend(runner, demand);
        int rc = demand->count ? set_plan(runner, demand, now_ms, err) : 0;
        mem_free(demand);
        return rc;
}

/* ---- life ---- */

int runner_init(struct runner *runner, const struct replay_pool *pool, uint32_t copies,
                struct policy policy, const struct demand *given, bool learns,
                const struct replay_hooks *hooks, struct err *err)
{
        *runner = (struct runner){.pool = pool,
                                  .hooks = hooks,
                                  .policy = policy,
                                  .given = given,
                                  .learns = learns,
                                  .next_id = 1,
                                  .facts_hash = 1};
        learned_begin(&runner->learned, (uint64_t)pool->devices * copies);
        /* The published policies do not doubt what they are given. */
        if (given && policy.kind != POLICY_AUTO)
                runner->learns = false;
        runner->state = replay_state_new(pool, copies, err);
        if (!runner->state)
                return -ERR_NOMEM;
        runner->memo = memo_new(policy, MEMO_INDEXED);
        runner->plan = mem_new(1, sizeof *runner->plan);
        if (!runner->memo || !runner->plan)
                return err_set(err, ERR_NOMEM, "out of memory");
        return given && given->count ? set_plan(runner, given, 0, err) : 0;
}

void runner_done(struct runner *runner)
{
        memo_free(runner->memo);
        state_free(runner->state);
        mem_free(runner->plan);
        mem_free(runner->latencies_ns);
        *runner = (struct runner){0};
}

void runner_sum_up(const struct runner *runner, struct runner_summary *ret_summary)
{
        *ret_summary = (struct runner_summary){.facts_hash = runner->facts_hash,
                                               .plan_s = runner->plan_s,
                                               .plan_priced = runner->plan->priced};
        memcpy(ret_summary->plan_note, runner->plan_note, sizeof ret_summary->plan_note);
}

bool runner_cancelled(const struct runner *runner)
{
        return runner->hooks && runner->hooks->cancel && *runner->hooks->cancel;
}

/* ---- driving ---- */

struct watch {
        uint64_t hash;
        bool placed;
        bool table_is_full;
};

static void see_fact(void *arg, const struct fact *fact)
{
        struct watch *watch = arg;

        map_chain(&watch->hash, (uint64_t)fact->kind);
        if (fact->kind == FACT_REFUSED)
                watch->table_is_full = fact->refused.gate == GATE_TABLE;
        if (fact->kind != FACT_ALLOCATED)
                return;
        watch->placed = true;
        map_chain(&watch->hash, fact->allocated.workload);
        map_chain(&watch->hash, (uint64_t)fact->allocated.node << 16 | fact->allocated.member);
        for (unsigned i = 0; i < fact->allocated.parts_count; i++) {
                const struct part *part = &fact->allocated.parts[i];
                map_chain(&watch->hash, (uint64_t)part->device << 48 |
                                                (uint64_t)part->profile << 40 |
                                                (uint64_t)part->start << 32 | part->share_milli);
        }
}

static bool record(struct runner *runner, int64_t ns)
{
        uint32_t *grown = mem_grow(runner->latencies_ns, runner->latencies_count,
                                   &runner->latencies_room, 16384, sizeof *grown);
        if (!grown)
                return false;
        runner->latencies_ns = grown;
        runner->latencies_ns[runner->latencies_count++] = ns < UINT32_MAX ? (uint32_t)ns
                                                                         : UINT32_MAX;
        runner->decide_ns += ns;
        return true;
}

int runner_submit(struct runner *runner, const struct need *need, int64_t now_ms, uint64_t *ret_id,
                  struct err *err)
{
        struct watch watch = {.hash = runner->facts_hash};
        struct input input = {.kind = INPUT_SUBMITTED,
                              .request = {.workload = runner->next_id,
                                          .need = *need,
                                          .form = {.members = 1},
                                          .once = true}};
        int64_t start_ns = time_monotonic_ns();
        int rc = engine_run(runner->state, runner->memo, &input, now_ms, see_fact, &watch, err);

        if (rc)
                return rc;
        /* Nothing was decided then: counted as a refusal it would falsify every figure. */
        if (watch.table_is_full)
                return err_set(err, ERR_FULL,
                               "more different requests, or more at once, than a replay can hold "
                               "(%u and %u); write fewer distinct rows, or larger requests",
                               runner->state->bounds.shapes_max,
                               runner->state->bounds.workloads_max);
        if (!record(runner, time_monotonic_ns() - start_ns))
                return err_set(err, ERR_NOMEM, "out of memory");
        runner->facts_hash = watch.hash;
        runner->arrived++;
        runner->accepted += watch.placed;
        *ret_id = runner->next_id++;
        rc = runner->learns ? learn(runner, need, now_ms, err) : 0;
        return rc ? rc : watch.placed;
}

int runner_exit(struct runner *runner, uint64_t id, int64_t now_ms, struct err *err)
{
        struct watch watch = {.hash = runner->facts_hash};
        struct input input = {.kind = INPUT_EXITED, .workload = id};
        int rc = engine_run(runner->state, runner->memo, &input, now_ms, see_fact, &watch, err);

        runner->facts_hash = watch.hash;
        return rc;
}

static int compare_u32(const void *a, const void *b)
{
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

        return x < y ? -1 : x > y;
}

double latency_us(uint32_t *latencies_ns, size_t count, unsigned p)
{
        if (count == 0)
                return 0;
        qsort(latencies_ns, count, sizeof *latencies_ns, compare_u32);
        size_t at = count * p / 1000;
        return (double)latencies_ns[at < count ? at : count - 1] / 1000.0;
}
