/* What is counted as facts come, and of the queue as it is. */
#include "controller/metrics_impl.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "controller/api.h"
#include "controller/core.h"
#include "controller/live.h"
#include "engine/accounts.h"

/* ---- facts ---- */

static void count_lost(struct metrics *metrics, const struct state *state, uint64_t workload,
                       enum release_cause cause, int64_t lost_ms)
{
        uint32_t slot = state_workload(state, workload);

        if (slot == NONE || lost_ms <= 0)
                return;
        metrics->lost_device_ms[cause] +=
                bucket_devices(state, &state->buckets[state->workloads[slot].bucket]) *
                (uint64_t)lost_ms;
}

static void on_fact(void *arg, const struct state *state, const struct fact *fact, uint64_t seq,
                    int64_t at_ms)
{
        struct metrics *metrics = arg;

        (void)seq;
        (void)at_ms;
        metrics->facts[fact->kind]++;
        switch (fact->kind) {
        case FACT_RELEASED:
                metrics->ended[fact->released.cause]++;
                count_lost(metrics, state, fact->released.workload, fact->released.cause,
                           fact->released.lost_ms);
                break;
        case FACT_REQUEUED:
                metrics->stopped[fact->requeued.cause]++;
                count_lost(metrics, state, fact->requeued.workload, fact->requeued.cause,
                           fact->requeued.lost_ms);
                break;
        case FACT_NOTICED:
                metrics->noticed[fact->noticed.cause]++;
                break;
        case FACT_PLANNED:
                metrics->planned[fact->planned.cause]++;
                break;
        default:                        /* its number says all */
                break;
        }
}

void metrics_watch(struct metrics *metrics)
{
        const struct core_watch watch = {.arg = metrics, .before = on_fact};

        core_watch(metrics->live->core, &watch);
}

void metrics_answered(void *arg, const char *operation, unsigned status)
{
        struct metrics *metrics = arg;
        size_t route = 0;

        while (route < api_routes_count &&
               !(operation && str_equal(operation, api_routes[route].operation)))
                route++;
        metrics->requests[route][status < STATUS_MAX ? status : 0]++;
}

/* ---- the queue ---- */

/* The first one that nothing holds speaks for its bucket. */
static enum verdict verdict_of(struct metrics *metrics, const struct bucket *bucket,
                               int64_t now_ms, struct explanation *scratch)
{
        const struct state *state = core_state(metrics->live->core);

        for (uint32_t at = bucket->head; at != NONE; at = state->workloads[at].next) {
                if (state->workloads[at].holds)
                        continue;
                if (explain_briefly(core_memo(metrics->live->core), state, state->workloads[at].id,
                                    now_ms, scratch, NULL) < 0)
                        break;
                return scratch->verdict;
        }
        return VERDICT_UNKNOWN;
}

static bool room_for_verdicts(struct metrics *metrics, const struct state *state)
{
        if (metrics->verdicts && metrics->policy_version != state->policy_version)
                memset(metrics->verdicts, VERDICT_UNKNOWN, metrics->verdicts_count);
        metrics->policy_version = state->policy_version;
        if (state->buckets_count <= metrics->verdicts_count)
                return true;
        uint32_t room = state->buckets_count * 2;
        uint8_t *grown = mem_resize(metrics->verdicts, metrics->verdicts_count, room, 1);
        if (!grown)
                return false;
        memset(grown + metrics->verdicts_count, VERDICT_UNKNOWN, room - metrics->verdicts_count);
        metrics->verdicts = grown;
        metrics->verdicts_count = room;
        return true;
}

/* Goes round all buckets, as far as the time of this scrape allows. */
static void look_at_buckets(struct metrics *metrics, const struct state *state, int64_t now_ms)
{
        int64_t until_ns = time_monotonic_ns() + METRICS_VERDICTS_MS * INT64_C(1000000);
        struct explanation *scratch = mem_new(1, sizeof *scratch);

        for (uint32_t n = 0; scratch && n < state->buckets_count; n++) {
                uint32_t b = metrics->next_bucket++ % state->buckets_count;
                if (state->buckets[b].count == 0)
                        continue;
                metrics->verdicts[b] = (uint8_t)verdict_of(metrics, &state->buckets[b], now_ms,
                                                           scratch);
                if (time_monotonic_ns() > until_ns)
                        break;
        }
        mem_free(scratch);
}

static unsigned class_of_bucket(const struct state *state, const struct bucket *bucket)
{
        return state->accounts && bucket->class < CLASSES_MAX ? bucket->class : CLASSES_MAX;
}

void metrics_count_queue(struct metrics *metrics, int64_t now_ms)
{
        const struct state *state = core_state(metrics->live->core);

        memset(metrics->queue, 0, sizeof metrics->queue);
        if (!room_for_verdicts(metrics, state))
                return;
        look_at_buckets(metrics, state, now_ms);
        for (uint32_t b = 0; b < state->buckets_count; b++) {
                const struct bucket *bucket = &state->buckets[b];
                uint64_t *counts = metrics->queue[class_of_bucket(state, bucket)];
                for (uint32_t at = bucket->head; at != NONE; at = state->workloads[at].next)
                        counts[state->workloads[at].holds ? VERDICT_HELD
                                                          : metrics->verdicts[b]]++;
        }
}
