#include "controller/worker_forecast.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/time.h"
#include "controller/past.h"
#include "engine/decide.h"
#include "engine/memo.h"
#include "engine/state.h"
#include "plan/forward.h"
#include "proto/kind.h"
#include "proto/policy_doc.h"
#include "proto/request_of_workload.h"
#include "sim/log_pool.h"

#define ID_ASKED (UINT64_C(1) << 61)    /* no work of a log has it, and no future's draws */
#define TICK_MS  60000                  /* of virtual time */

/* A store_stops, and what ends a future. */
static bool is_over(void *until_ms)
{
        return time_monotonic_ms() >= *(const int64_t *)until_ms;
}

static const struct tenancy *tenancy_of(const struct log_pool *pool)
{
        return pool->policy ? pool->policy->tenancy : NULL;
}

/* ---- the work ---- */

static int read_document(const struct forecast_question *question, const struct log_pool *pool,
                         struct workload_doc **ret_document, struct err *err)
{
        const struct doc_node *root;
        struct doc *doc;
        int rc = question->is_json
                         ? doc_read_json("workload", question->text, question->size, &doc, err)
                         : doc_read_yaml("workload", question->text, question->size, &doc, err);

        if (rc)
                return rc;
        rc = kind_need(doc, "Workload", &root, err);
        if (rc == 0)
                rc = workload_doc_decode(root, pool->models, tenancy_of(pool), pool->state->vocab,
                                         ret_document, err);
        doc_free(doc);
        return rc;
}

static int request_asked(const struct forecast_question *question, const struct log_pool *pool,
                         struct request *ret_request, struct err *err)
{
        const struct request_ids ids = {.workload = ID_ASKED, .number = UINT32_MAX};
        struct workload_doc *document = NULL;
        int rc = read_document(question, pool, &document, err);

        if (rc)
                return rc;
        if (document->after_count > 0)
                rc = err_set(err, ERR_INPUT, "it waits for the end of other work ('after')");
        else
                rc = request_of_workload(document, tenancy_of(pool), &ids, 0, ret_request, err);
        workload_doc_free(document);
        if (rc == 0 && ret_request->user_hold)
                rc = err_set(err, ERR_INPUT, "it waits until its owner releases it");
        return rc;
}

/* Into the private pool. 1: it starts at once; 0: it waits there. */
static int submit(struct log_pool *pool, const struct request *request, struct policy placement,
                  int64_t now_ms, struct err *err)
{
        const struct input input = {.kind = INPUT_SUBMITTED, .request = *request};
        struct memo *memo = memo_new(placement, MEMO_INDEXED);
        int rc = memo ? engine_run(pool->state, memo, &input, now_ms, NULL, NULL, err)
                      : err_set(err, ERR_NOMEM, "out of memory");

        memo_free(memo);
        if (rc)
                return rc;
        uint32_t slot = state_workload(pool->state, ID_ASKED);
        if (slot == NONE)
                return err_set(err, ERR_INPUT, "it would be refused");
        return pool->state->workloads[slot].members_placed > 0;
}

/* ---- futures ---- */

static int compare_times(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

        return (x > y) - (x < y);
}

/* As many as come out in time. */
static int draw(const struct log_pool *pool, int64_t *until_ms, struct policy placement,
                int64_t now_ms, int64_t after_ms[FORECAST_FUTURES], unsigned *ret_drawn,
                struct err *err)
{
        const uint64_t asked = ID_ASKED;
        const struct arrivals none = {0};
        struct forward_setup setup = {.state = pool->state,
                                      .arrivals = &none,
                                      .placement = placement,
                                      .now_ms = now_ms,
                                      .horizon_ms = FORECAST_HORIZON_MS,
                                      .tick_ms = TICK_MS,
                                      .asked = &asked,
                                      .asked_count = 1,
                                      .stops = is_over,
                                      .stops_arg = until_ms};
        struct forward *forward = forward_new(pool->state);
        int rc = forward ? 0 : err_set(err, ERR_NOMEM, "out of memory");

        *ret_drawn = 0;
        while (rc == 0 && *ret_drawn < FORECAST_FUTURES) {
                setup.seed = 1 + *ret_drawn;
                rc = forward_run(forward, &setup, &after_ms[*ret_drawn], err);
                *ret_drawn += rc == 0;
        }
        forward_free(forward);
        return rc;
}

static int64_t time_at(const int64_t *sorted, unsigned count, unsigned percent)
{
        int64_t after_ms = sorted[(count * percent + 99) / 100 - 1];

        return after_ms > FORECAST_HORIZON_MS ? -1 : after_ms;
}

static int foretell(const struct log_pool *pool, int64_t *until_ms, struct policy placement,
                    int64_t now_ms, struct forecast *ret_forecast, struct err *err)
{
        int64_t after_ms[FORECAST_FUTURES];
        unsigned drawn;
        int rc = draw(pool, until_ms, placement, now_ms, after_ms, &drawn, err);

        if (rc < 0 && rc != -ERR_CANCELLED)
                return rc;
        if (drawn < FORECAST_LEAST)
                return err_set(err, ERR_RANGE,
                               "the queue is long: %u of %d futures came out within %d s", drawn,
                               FORECAST_FUTURES, FORECAST_MS / 1000);
        qsort(after_ms, drawn, sizeof *after_ms, compare_times);
        struct forecast forecast = {.futures = drawn,
                                    .p50_ms = time_at(after_ms, drawn, 50),
                                    .p90_ms = time_at(after_ms, drawn, 90)};
        while (forecast.started < drawn && after_ms[forecast.started] <= FORECAST_HORIZON_MS)
                forecast.started++;
        *ret_forecast = forecast;
        return 0;
}

/* As the log tells it now, which is not before what the asker has seen. */
static int make_pool(struct store *store, uint64_t seq, int64_t *until_ms,
                     struct log_pool *ret_pool, struct err *err)
{
        const struct past_limits limits = {.records_max = PAST_RECORDS_MAX,
                                           .stops = is_over,
                                           .stops_arg = until_ms};
        int rc = past_pool(store, INT64_MAX - 1, &limits, ret_pool, err);

        if (rc == -ERR_CANCELLED)
                return err_set(err, ERR_RANGE,
                               "the log is long: the pool was not made anew within %d s",
                               FORECAST_MS / 1000);
        if (rc == -ERR_NOT_FOUND)
                return err_set(err, ERR_NOT_FOUND,
                               "the log was pruned, and no good snapshot of the pool was found: "
                               "try again");
        if (rc == 0 && ret_pool->seq < seq) {
                rc = err_set(err, ERR_INPUT,
                             "the store ends at record %" PRIu64 ", and the pool has come to %"
                             PRIu64 ": another store lies in its place", ret_pool->seq, seq);
                log_pool_done(ret_pool);
        }
        return rc;
}

int forecast_make(struct store *store, const struct forecast_question *question,
                  struct forecast *ret_forecast, struct err *err)
{
        const struct policy placement = {.kind = POLICY_AUTO};  /* as the live pool's */
        int64_t until_ms = time_monotonic_ms() + FORECAST_MS;
        struct request request;
        struct log_pool pool;
        int rc = make_pool(store, question->seq, &until_ms, &pool, err);

        if (rc)
                return rc;
        int64_t now_ms = question->now_ms > pool.now_ms ? question->now_ms : pool.now_ms;
        rc = request_asked(question, &pool, &request, err);
        if (rc == 0)
                rc = submit(&pool, &request, placement, now_ms, err);
        if (rc == 1)
                *ret_forecast = (struct forecast){.futures = 1, .started = 1};
        else if (rc == 0)
                rc = foretell(&pool, &until_ms, placement, now_ms, ret_forecast, err);
        log_pool_done(&pool);
        return rc < 0 ? rc : 0;
}
