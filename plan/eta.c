#include "plan/eta.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "engine/order.h"
#include "plan/forward.h"

#define SOFT_MS    INT64_C(60000)       /* added to both sides of a ratio: short waits vary much */
#define RATIO_MAX  1000000u             /* thousandths: a thousand times as long */

/* The last ones that started: how long they took against the raw estimate, and by what was told. */
struct resolved {
        uint32_t ratio_milli[ETA_KEPT];
        bool kept_p90[ETA_KEPT];
        uint64_t count;                 /* ever; a ring */
        uint64_t told;                  /* of them had a p90 to keep */
};

struct asked {
        uint64_t workload;
        int64_t at_ms, raw_ms, p90_ms;  /* p90 below 0: too little was known */
        uint32_t next;                  /* free one; NONE */
        uint8_t kind;
};

struct eta {
        const struct state *state;
        struct eta_options options;
        struct arrivals arrivals;
        struct forward *forward;
        struct resolved resolved[ETA_KINDS];
        struct asked *asked;
        uint32_t asked_high, asked_free;
        struct map asked_by_id;
        uint64_t questions;
};

struct eta *eta_new(const struct state *state, const struct eta_options *options)
{
        struct eta *eta = mem_new(1, sizeof *eta);

        if (!eta)
                return NULL;
        eta->state = state;
        eta->options = *options;
        if (eta->options.horizon_ms == 0)
                eta->options.horizon_ms = ETA_HORIZON_MS;
        eta->asked_free = NONE;
        map_init(&eta->asked_by_id, ETA_ASKED_MAX);
        eta->forward = forward_new(state);
        eta->asked = mem_new(ETA_ASKED_MAX, sizeof *eta->asked);
        if (eta->forward && eta->asked)
                return eta;
        eta_free(eta);
        return NULL;
}

void eta_free(struct eta *eta)
{
        if (!eta)
                return;
        forward_free(eta->forward);
        arrivals_done(&eta->arrivals);
        map_done(&eta->asked_by_id);
        mem_free(eta->asked);
        mem_free(eta);
}

int eta_arrived(struct eta *eta, const struct request *request, int64_t now_ms, struct err *err)
{
        return arrivals_add(&eta->arrivals, request, now_ms, err);
}

/* ---- what became of it ---- */

static void forget(struct eta *eta, uint32_t number)
{
        map_remove(&eta->asked_by_id, eta->asked[number].workload);
        eta->asked[number] = (struct asked){.next = eta->asked_free};
        eta->asked_free = number;
}

void eta_started(struct eta *eta, uint64_t workload, int64_t now_ms)
{
        uint32_t number = map_get(&eta->asked_by_id, workload);

        if (number == MAP_NONE)
                return;
        const struct asked *asked = &eta->asked[number];
        struct resolved *resolved = &eta->resolved[asked->kind];
        int64_t took_ms = now_ms - asked->at_ms;
        int64_t ratio = (took_ms + SOFT_MS) * 1000 / (asked->raw_ms + SOFT_MS);
        uint64_t at = resolved->count++ % ETA_KEPT;

        resolved->ratio_milli[at] = ratio < RATIO_MAX ? (uint32_t)ratio : RATIO_MAX;
        if (asked->p90_ms >= 0)
                resolved->kept_p90[resolved->told++ % ETA_KEPT] = took_ms <= asked->p90_ms;
        forget(eta, number);
}

void eta_dropped(struct eta *eta, uint64_t workload)
{
        uint32_t number = map_get(&eta->asked_by_id, workload);

        if (number != MAP_NONE)
                forget(eta, number);
}

static int note(struct eta *eta, const struct asked *asked, struct err *err)
{
        uint32_t number = eta->asked_free;

        if (map_get(&eta->asked_by_id, asked->workload) != MAP_NONE)
                return 0;
        if (number == NONE && eta->asked_high == ETA_ASKED_MAX)
                return 0;               /* one that does not count */
        if (map_set(&eta->asked_by_id, asked->workload, number == NONE ? eta->asked_high : number))
                return err_set(err, ERR_NOMEM, "out of memory");
        if (number == NONE)
                number = eta->asked_high++;
        else
                eta->asked_free = eta->asked[number].next;
        eta->asked[number] = *asked;
        return 0;
}

/* ---- answers ---- */

static int compare_numbers(const void *a, const void *b)
{
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

        return (x > y) - (x < y);
}

static int compare_times(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

        return (x > y) - (x < y);
}

static uint32_t ratio_at(const struct resolved *resolved, unsigned percent)
{
        uint32_t sorted[ETA_KEPT];
        size_t count = resolved->count < ETA_KEPT ? (size_t)resolved->count : ETA_KEPT;

        memcpy(sorted, resolved->ratio_milli, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, compare_numbers);
        return sorted[(count * percent + 99) / 100 - 1];
}

/* Of the last ones that were told a p90; 0 while nobody can say. */
static unsigned coverage_pct(const struct resolved *resolved)
{
        size_t count = resolved->told < ETA_KEPT ? (size_t)resolved->told : ETA_KEPT, kept = 0;

        if (count < ETA_ENOUGH)
                return 0;
        for (size_t i = 0; i < count; i++)
                kept += resolved->kept_p90[i];
        return (unsigned)(100 * kept / count);
}

static int64_t scaled_ms(int64_t raw_ms, uint32_t ratio_milli)
{
        int64_t scaled = (raw_ms + SOFT_MS) * ratio_milli / 1000 - SOFT_MS;

        return scaled < 0 ? 0 : scaled < RUN_MS_MAX ? scaled : RUN_MS_MAX;
}

static enum eta_kind kind_of(const struct eta *eta, uint64_t workload)
{
        const struct state *state = eta->state;
        uint32_t slot = state_workload(state, workload);

        return slot != NONE && is_wide(state, &state->buckets[state->workloads[slot].bucket])
                       ? ETA_WIDE
                       : ETA_SMALL;
}

static struct eta_set answer(const struct eta *eta, uint64_t workload, int64_t raw_ms)
{
        const struct resolved *resolved = &eta->resolved[kind_of(eta, workload)];
        struct eta_set set = {.workload = workload, .raw_ms = raw_ms};

        if (resolved->count < ETA_ENOUGH)
                return set;
        set.p50_ms = scaled_ms(raw_ms, ratio_at(resolved, 50));
        set.p90_ms = scaled_ms(raw_ms, ratio_at(resolved, 90));
        if (set.p90_ms == 0)
                set.p90_ms = 1;         /* 0: nothing was known */
        unsigned covered = coverage_pct(resolved);
        if (covered >= ETA_COVERAGE_PCT)
                set.coverage_pct = (uint8_t)covered;
        return set;
}

/* The middle of what the runs say; what does not start in them starts at their end. */
static int64_t middle_ms(int64_t after_ms[ETA_RUNS], int64_t horizon_ms)
{
        for (unsigned r = 0; r < ETA_RUNS; r++)
                if (after_ms[r] > horizon_ms)
                        after_ms[r] = horizon_ms;
        qsort(after_ms, ETA_RUNS, sizeof *after_ms, compare_times);
        return (after_ms[(ETA_RUNS - 1) / 2] + after_ms[ETA_RUNS / 2]) / 2;
}

/* By run, then by workload. */
static int run_forward(struct eta *eta, struct policy placement, int64_t now_ms,
                       const uint64_t *workloads, uint32_t count, int64_t *ret_after_ms,
                       struct err *err)
{
        struct forward_setup setup = {.state = eta->state,
                                      .arrivals = &eta->arrivals,
                                      .placement = placement,
                                      .now_ms = now_ms,
                                      .horizon_ms = eta->options.horizon_ms,
                                      .tick_ms = eta->options.tick_ms,
                                      .restart_ms = eta->options.restart_ms,
                                      .asked = workloads,
                                      .asked_count = count,
                                      .cancel = eta->options.cancel};
        int rc = 0;

        for (unsigned r = 0; rc == 0 && r < ETA_RUNS; r++) {
                setup.seed = eta->options.seed * ETA_RUNS + r + map_mix(eta->questions);
                rc = forward_run(eta->forward, &setup, ret_after_ms + (size_t)r * count, err);
        }
        eta->questions++;
        return rc;
}

int eta_answer(struct eta *eta, struct policy placement, int64_t now_ms,
               const uint64_t *workloads, uint32_t count, struct eta_set *ret_answers,
               struct err *err)
{
        int64_t *after_ms = mem_new((size_t)count * ETA_RUNS, sizeof *after_ms);
        int rc = after_ms ? run_forward(eta, placement, now_ms, workloads, count, after_ms, err)
                          : err_set(err, ERR_NOMEM, "out of memory");

        for (uint32_t w = 0; rc == 0 && w < count; w++) {
                int64_t of_one[ETA_RUNS];
                for (unsigned r = 0; r < ETA_RUNS; r++)
                        of_one[r] = after_ms[(size_t)r * count + w];
                ret_answers[w] = answer(eta, workloads[w],
                                        middle_ms(of_one, eta->options.horizon_ms));
        }
        mem_free(after_ms);
        return rc;
}

int eta_told(struct eta *eta, const struct eta_set *answer, int64_t at_ms, struct err *err)
{
        const struct asked asked = {.workload = answer->workload,
                                    .at_ms = at_ms,
                                    .raw_ms = answer->raw_ms,
                                    .p90_ms = answer->p90_ms > 0 ? answer->p90_ms : -1,
                                    .kind = (uint8_t)kind_of(eta, answer->workload)};

        return note(eta, &asked, err);
}

bool eta_was_told(const struct eta *eta, uint64_t workload)
{
        return map_get(&eta->asked_by_id, workload) != MAP_NONE;
}

struct eta_learnt eta_learnt(const struct eta *eta, enum eta_kind kind)
{
        const struct resolved *resolved = &eta->resolved[kind];

        return (struct eta_learnt){.starts = resolved->count,
                                   .told = resolved->told,
                                   .coverage_pct = coverage_pct(resolved)};
}

int eta_ask(struct eta *eta, struct policy placement, int64_t now_ms, const uint64_t *workloads,
            uint32_t count, struct eta_set *ret_answers, struct err *err)
{
        int rc = eta_answer(eta, placement, now_ms, workloads, count, ret_answers, err);

        for (uint32_t w = 0; rc == 0 && w < count; w++)
                rc = eta_told(eta, &ret_answers[w], now_ms, err);
        return rc;
}

/* ---- for replays ---- */

static int keeper_begin(void *arg, const struct state *state, int64_t tick_ms, int64_t restart_ms,
                        uint64_t seed, struct err *err)
{
        struct eta_keeper *keeper = arg;
        struct eta_options options = {.tick_ms = tick_ms, .restart_ms = restart_ms, .seed = seed};

        eta_free(keeper->eta);
        keeper->eta = eta_new(state, &options);
        return keeper->eta ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int keeper_arrived(void *arg, const struct request *request, int64_t now_ms,
                          struct err *err)
{
        const struct eta_keeper *keeper = arg;

        return eta_arrived(keeper->eta, request, now_ms, err);
}

static int keeper_ask(void *arg, struct policy placement, int64_t now_ms, uint64_t workload,
                      struct eta_set *ret_answer, struct err *err)
{
        const struct eta_keeper *keeper = arg;

        return eta_ask(keeper->eta, placement, now_ms, &workload, 1, ret_answer, err);
}

static void keeper_started(void *arg, uint64_t workload, int64_t now_ms)
{
        const struct eta_keeper *keeper = arg;

        eta_started(keeper->eta, workload, now_ms);
}

void eta_hook(struct eta_keeper *keeper, uint32_t every, struct replay_eta *ret_hook)
{
        *ret_hook = (struct replay_eta){.every = every,
                                        .arg = keeper,
                                        .begin = keeper_begin,
                                        .arrived = keeper_arrived,
                                        .ask = keeper_ask,
                                        .started = keeper_started};
}

void eta_keeper_done(struct eta_keeper *keeper)
{
        eta_free(keeper->eta);
        keeper->eta = NULL;
}
