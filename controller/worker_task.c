#include "controller/worker_task.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "controller/usage.h"
#include "controller/worker_follow.h"
#include "engine/state.h"
#include "plan/plan.h"
#include "proto/log_group.h"
#include "sim/pool.h"
#include "store/period.h"
#include "store/rollup.h"

#define RATES_DAYS  30
#define DAY_MS      INT64_C(86400000)
#define TOLD_AGE_MS INT64_C(900000)     /* an estimate that is older is told again */
#define NEWS_MS     INT64_C(60000)      /* less is no news ... */
#define NEWS_PART   5                   /* ... nor is less than a fifth of it */

static void add_input(const struct worker_follow *follow, const struct input *input,
                      struct text *lines)
{
        text_add(lines, "input %" PRIu64 " %" PRId64 " ", follow->pool.seq, follow->pool.now_ms);
        log_input_record(input, NULL, lines);
        text_add(lines, "\n");
}

/* ---- plans ---- */

static int compare_nodes(const void *a, const void *b)
{
        const struct replay_node *x = a, *y = b;

        if (x->model != y->model)
                return x->model < y->model ? -1 : 1;
        if (x->devices != y->devices)
                return x->devices < y->devices ? -1 : 1;
        return (x->cpu_milli > y->cpu_milli) - (x->cpu_milli < y->cpu_milli);
}

/* The nodes that take work, in an order that does not hang on names. */
static int pool_of(const struct state *state, struct replay_pool *ret_pool, struct err *err)
{
        struct replay_pool pool = {.models = state->models};

        pool.nodes = mem_new(state->node_slots.high + 1, sizeof *pool.nodes);
        if (!pool.nodes)
                return err_set(err, ERR_NOMEM, "out of memory");
        for (uint32_t n = 0; n < state->node_slots.high; n++) {
                const struct node *node = &state->nodes[n];
                if (node->status != NODE_UP || node->desc.drained)
                        continue;
                struct replay_node *it = &pool.nodes[pool.nodes_count++];
                it->model = node->desc.model;
                it->devices = node->desc.devices;
                it->cpu_milli = node->desc.cpu_milli;
                it->ram_mib = node->desc.ram_mib;
                pool.devices += it->devices;
        }
        qsort(pool.nodes, pool.nodes_count, sizeof *pool.nodes, compare_nodes);
        for (uint32_t n = 0; n < pool.nodes_count; n++)
                (void)snprintf(pool.nodes[n].name, sizeof pool.nodes[n].name, "n%" PRIu32, n);
        *ret_pool = pool;
        return 0;
}

static int make_plan(struct worker_follow *follow, struct planner *planner,
                     const struct replay_pool *pool, struct price_plan *plan, struct text *lines,
                     struct err *err)
{
        const struct state *state = follow->pool.state;
        const struct demand *seen = &follow->learned.seen;
        const struct input input = {.kind = INPUT_PLAN_SET, .plan = plan};
        char note[PLAN_NOTE_MAX];
        int rc = plan_make(planner, pool, seen->shapes, seen->count, plan, note, sizeof note, err);

        if (rc)
                return rc;
        /* A worker that comes after this one goes on from there. */
        plan->revision = follow->learned.arrived;
        plan->made_ms = follow->pool.now_ms;
        if (state->plan_set && state->plan->hash == plan->hash)
                return 0;
        add_input(follow, &input, lines);
        text_add(lines, "say after %" PRIu64 " arrivals: %s\n", follow->learned.arrived, note);
        return 0;
}

int task_plan(struct worker_follow *follow, struct planner *planner, struct text *lines,
              bool *ret_made, struct err *err)
{
        struct replay_pool pool;
        struct price_plan *plan;
        int rc = pool_of(follow->pool.state, &pool, err);

        *ret_made = false;
        if (rc)
                return rc;
        if (follow->learned.seen.count > 0 && pool.devices > 0) {
                plan = mem_new(1, sizeof *plan);
                rc = plan ? make_plan(follow, planner, &pool, plan, lines, err)
                          : err_set(err, ERR_NOMEM, "out of memory");
                *ret_made = rc == 0;
                mem_free(plan);
        }
        replay_pool_done(&pool);
        return rc;
}

/* ---- estimates ---- */

struct candidate {
        uint64_t id;
        bool told;                      /* its start is waited for */
};

/* Those that were never foretold go first. */
static int compare_candidates(const void *a, const void *b)
{
        const struct candidate *x = a, *y = b;

        if (x->told != y->told)
                return x->told ? 1 : -1;
        return x->id < y->id ? -1 : x->id > y->id;
}

static size_t find_waiting(const struct worker_follow *follow, struct candidate *list)
{
        const struct state *state = follow->pool.state;
        size_t count = 0;

        for (uint32_t slot = 0; slot < state->workload_slots.high; slot++) {
                const struct workload *workload = &state->workloads[slot];
                if (!workload->live || workload->members_placed > 0 || workload->holds)
                        continue;
                list[count++] = (struct candidate){workload->id,
                                                   eta_was_told(follow->eta, workload->id)};
        }
        qsort(list, count, sizeof *list, compare_candidates);
        return count;
}

static bool says_anything(const struct worker_follow *follow)
{
        return eta_learnt(follow->eta, ETA_SMALL).coverage_pct >= ETA_COVERAGE_PCT ||
               eta_learnt(follow->eta, ETA_WIDE).coverage_pct >= ETA_COVERAGE_PCT;
}

static unsigned choose(const struct worker_follow *follow, const struct candidate *list,
                       size_t count, unsigned most, uint64_t *cursor,
                       uint64_t ret_asked[TASK_ASKED_MAX])
{
        unsigned chosen = 0;
        size_t fresh = 0, at;

        while (fresh < count && !list[fresh].told)
                fresh++;
        for (size_t i = 0; i < fresh && chosen < most; i++)
                ret_asked[chosen++] = list[i].id;
        if (fresh == count || !says_anything(follow))
                return chosen;
        for (at = fresh; at < count && list[at].id <= *cursor; at++)
                ;
        for (size_t i = 0; i < count - fresh && chosen < most; i++, at++) {
                *cursor = list[fresh + (at - fresh) % (count - fresh)].id;
                ret_asked[chosen++] = *cursor;
        }
        return chosen;
}

/* What somebody was told of it last: is this another thing? */
static bool is_news(const struct worker_follow *follow, const struct eta_set *answer)
{
        const struct state *state = follow->pool.state;
        const struct workload *workload =
                &state->workloads[state_workload(state, answer->workload)];
        int64_t now_ms = follow->pool.now_ms;
        int64_t p90_ms = workload->eta_at_ms + INT64_C(1000) * workload->eta_p90_s - now_ms;
        int64_t off_ms = answer->p90_ms > p90_ms ? answer->p90_ms - p90_ms
                                                 : p90_ms - answer->p90_ms;

        if (!eta_was_told(follow->eta, answer->workload))
                return true;
        if (answer->coverage_pct == 0 || workload->eta_at_ms == 0)
                return answer->coverage_pct > 0 || workload->eta_at_ms > 0;
        return now_ms - workload->eta_at_ms > TOLD_AGE_MS ||
               (off_ms > NEWS_MS && off_ms > p90_ms / NEWS_PART);
}

int task_foretell(struct worker_follow *follow, unsigned most, uint64_t *cursor,
                  struct text *lines, unsigned *ret_answers, struct err *err)
{
        const struct policy placement = {.kind = POLICY_AUTO};
        struct eta_set answers[TASK_ASKED_MAX];
        uint64_t asked[TASK_ASKED_MAX];
        struct candidate *list;

        *ret_answers = 0;
        if (!follow->eta || follow->pool.state->waiting == 0)
                return 0;
        list = mem_new(follow->pool.state->workload_slots.high, sizeof *list);
        if (!list)
                return err_set(err, ERR_NOMEM, "out of memory");
        size_t count = find_waiting(follow, list);
        unsigned chosen = choose(follow, list, count,
                                 most < TASK_ASKED_MAX ? most : TASK_ASKED_MAX, cursor, asked);
        mem_free(list);
        int rc = chosen == 0 ? 0
                             : eta_answer(follow->eta, placement, follow->pool.now_ms, asked,
                                          chosen, answers, err);
        for (unsigned a = 0; rc == 0 && a < chosen; a++) {
                const struct input input = {.kind = INPUT_ETA_SET, .eta = answers[a]};
                if (!is_news(follow, &answers[a]))
                        continue;
                add_input(follow, &input, lines);
                ++*ret_answers;
        }
        return rc;
}

/* ---- rates ---- */

/* Sums in unit-milliseconds until they are whole. */
struct rates {
        struct worker_rates told;
        rollup_unit_ms held[CLASSES_MAX], lost[CLASSES_MAX];
};

static struct worker_rate *rate_of(struct rates *rates, const char *class)
{
        uint32_t at = 0;

        while (at < rates->told.count && !str_equal(rates->told.list[at].class, class))
                at++;
        if (at == CLASSES_MAX)
                return NULL;            /* of policies long gone */
        if (at == rates->told.count) {
                if (!str_copy(rates->told.list[at].class, sizeof rates->told.list[at].class, class))
                        return NULL;
                rates->told.count++;
        }
        return &rates->told.list[at];
}

static int see_sum(void *arg, const struct rollup_sum *sum, struct err *err)
{
        struct rates *rates = arg;
        struct worker_rate *rate = sum->class[0] ? rate_of(rates, sum->class) : NULL;

        (void)err;
        if (!rate)
                return 0;
        size_t at = (size_t)(rate - rates->told.list);
        if (usage_is_capacity(sum->bucket) && !str_equal(sum->bucket, "reserved_unused"))
                rates->held[at] += sum->unit_ms;
        else if (usage_is_stop(sum->bucket))
                rates->lost[at] += sum->unit_ms;
        else if (str_equal(sum->bucket, USAGE_STOPS))
                rate->stops += (uint64_t)sum->unit_ms;
        return 0;
}

static int see_first(void *arg, const struct period_row *row, struct err *err)
{
        (void)err;
        *(int64_t *)arg = row->start_ms;
        return 1;                       /* rows come by the hour */
}

int task_rates(struct worker_follow *follow, int64_t now_ms, struct text *lines, struct err *err)
{
        int64_t until_ms = (now_ms / ROLLUP_HOUR_MS + 1) * ROLLUP_HOUR_MS, first_ms = until_ms;
        struct rollup_query query = {.from_ms = until_ms - RATES_DAYS * DAY_MS,
                                     .until_ms = until_ms,
                                     .by_class = true};
        struct rates *rates = mem_new(1, sizeof *rates);
        int rc = rates ? period_each(follow->store, PERIOD_USAGE, see_first, &first_ms, err)
                       : err_set(err, ERR_NOMEM, "out of memory");

        if (rc >= 0)
                rc = rollup_sums(follow->store, &query, see_sum, rates, err);
        if (rc == 0) {
                rates->told.since_ms = first_ms > query.from_ms ? first_ms : query.from_ms;
                rates->told.until_ms = until_ms;
                for (uint32_t r = 0; r < rates->told.count; r++) {
                        rates->told.list[r].held_device_ms =
                                (uint64_t)(rates->held[r] / ROLLUP_UNITS_PER_DEVICE);
                        rates->told.list[r].lost_device_ms =
                                (uint64_t)(rates->lost[r] / ROLLUP_UNITS_PER_DEVICE);
                }
                worker_rates_write(&rates->told, lines);
        }
        mem_free(rates);
        return rc;
}
