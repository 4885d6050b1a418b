/* What a submission would come to: the verdict, the terms, the price; and when it would start. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/forecaster.h"
#include "controller/live.h"
#include "controller/submit.h"
#include "controller/terms.h"
#include "controller/view.h"
#include "engine/explain.h"
#include "proto/explain_json.h"
#include "proto/explain_text.h"
#include "proto/workload_doc.h"

/* ---- the forecast, which a process makes ---- */

struct dry_run {
        struct api_aside aside;
        struct forecaster *forecaster;
        struct forecast_question question;
        struct forecast forecast;
        bool exact;                     /* for who sees the whole pool */
        int64_t now_ms;
        json_t *json;                   /* the rest of the answer: the loop's */
        char document[];                /* a copy */
};

#define ASSUMES                                                                                 \
        "work runs as long as work like it ran (an hour where none did), or to its time limit," \
        " and nothing else is submitted"

static json_t *none(const char *why)
{
        return json_pack("{s:n, s:n, s:n, s:n, s:i, s:i, s:I, s:s, s:s?}", "starts", "starts_p90",
                         "starts_in_ms", "starts_in_p90_ms", "futures", 0, "started", 0,
                         "horizon_ms", (json_int_t)FORECAST_HORIZON_MS, "assumes",
                         ASSUMES, "none", why);
}

/* A time that follows from others' work is told in steps (docs/explain.md, V4). */
static void set_time(json_t *json, const struct dry_run *it, const char *key, const char *key_ms,
                     int64_t after_ms)
{
        int64_t at_ms = it->now_ms + after_ms;

        if (after_ms > 0 && !it->exact)
                at_ms = explain_step_up(at_ms);
        view_set(json, key, after_ms < 0 ? json_null() : view_time(at_ms));
        view_set(json, key_ms, after_ms < 0 ? json_null() : json_integer(at_ms - it->now_ms));
}

static json_t *forecast_json(const struct dry_run *it)
{
        json_t *json = none(NULL);

        set_time(json, it, "starts", "starts_in_ms", it->forecast.p50_ms);
        set_time(json, it, "starts_p90", "starts_in_p90_ms", it->forecast.p90_ms);
        view_set(json, "futures", json_integer(it->forecast.futures));
        view_set(json, "started", json_integer(it->forecast.started));
        return json;
}

/* In the thread, which waits for a process. */
static int work_at(void *self, struct store *view, store_stops *stops, void *stops_arg,
                   struct err *err)
{
        struct dry_run *it = self;

        (void)view;
        return forecast_ask(it->forecaster, &it->question, stops, stops_arg, &it->forecast, err);
}

/* Whatever came of the forecast, the rest is answered. */
static void done(void *self, int rc, const struct err *err)
{
        struct dry_run *it = self;
        struct err mine;

        view_set(it->json, "forecast", rc == 0 ? forecast_json(it) : none(err->text));
        rc = api_aside_json(&it->aside, it->json, &mine);
        api_aside_done(it, rc, &mine);
}

static const struct aside_kind forecast_kind = {.lane = ASIDE_FORECAST,
                                                .reads_nothing = true,
                                                .has_seen_state = true,
                                                .if_too_long = "the queue is long",
                                                .work = work_at,
                                                .is_unwanted = api_aside_is_unwanted,
                                                .done = done};

static struct dry_run *dry_run_new(const struct call *call, const struct submission *submission,
                                   json_t *json)
{
        size_t size = strlen(submission->text);
        struct dry_run *it = mem_new(1, sizeof *it + size + 1);

        if (!it)
                return NULL;
        memcpy(it->document, submission->text, size + 1);
        it->forecaster = call->live->forecaster;
        it->now_ms = api_now_ms();
        it->question = (struct forecast_question){.text = it->document,
                                                  .size = size,
                                                  .is_json = api_body_is_json(call),
                                                  .seq = core_last_seq(call->live->core),
                                                  .now_ms = it->now_ms};
        it->exact = access_may(&call->who, ACTION_SEE_ALL, NULL);
        it->json = json;
        return it;
}

/* ---- the rest ---- */

static json_t *answer_of(struct call *call, const struct explanation *record, json_t *explained)
{
        const struct explain_names names = {.state = core_state(call->live->core), .clock = true};
        char text[EXPLAIN_TEXT_MAX];
        json_t *json = json_object();

        view_set(json, "dry_run", json_true());
        view_set(json, "verdict", json_string(verdict_name(record->verdict)));
        view_set(json, "summary", json_string(explain_summary(record, &names, text)));
        view_set(json, "standing",
                 record->standing == STANDINGS_END ? json_null()
                                                   : json_string(standing_name(record->standing)));
        view_set(json, "like", terms_like(call->live, &record->request));
        view_set(json, "forecast", json_null());
        view_set(json, "terms", terms_of_class(call->live, &record->request));
        view_set(json, "price", terms_price(call->live, &record->request));
        view_set(json, "explanation", explained);
        return json;
}

/* Whether it would wait for something that time brings. */
static bool would_wait(enum verdict verdict)
{
        switch (verdict) {
        case VERDICT_WAIT_QUOTA:
        case VERDICT_WAIT_BUDGET:
        case VERDICT_HELD:
        case VERDICT_WAIT_ORDER:
        case VERDICT_WAIT_CAPACITY:
        case VERDICT_WAIT_PREEMPTION:
                return true;
        case VERDICT_REFUSED:
        case VERDICT_NEVER:
        case VERDICT_STARTING:
        case VERDICT_RUNNING:
        case VERDICT_UNKNOWN:
        case VERDICTS_END:
                break;
        }
        return false;
}

static int explain_it(struct call *call, struct submission *submission,
                      struct explanation *record, char **ret_explained, struct err *err)
{
        const struct explain_names names = {.state = core_state(call->live->core), .clock = true};
        int rc = submission_check_limits(call->live->core, submission, &call->who,
                                         submission->count, 0, err);

        if (rc == 0)
                rc = submission_explain(call->live->core, submission, api_now_ms(), record, err);
        return rc < 0 ? rc : explain_json(record, &names, ret_explained, err);
}

void api_dry_run(struct call *call, struct submission *submission)
{
        struct explanation *record = mem_new(1, sizeof *record);
        bool wants_forecast = true, waits = false;
        char *explained = NULL;
        struct err err = {ERR_NOMEM, "out of memory"};
        json_t *json = NULL;

        if (!api_query_flag(call, "forecast", &wants_forecast)) {
                mem_free(record);
                return;
        }
        if (record && explain_it(call, submission, record, &explained, &err) == 0) {
                waits = wants_forecast && call->live->forecaster && would_wait(record->verdict);
                json = answer_of(call, record, json_loads(explained, 0, NULL));
        }
        free(explained);
        mem_free(record);
        if (!json) {
                api_fail(call, &err);
                return;
        }
        struct dry_run *it = waits ? dry_run_new(call, submission, json) : NULL;
        if (!waits) {
                api_reply(call, 200, json);
                return;
        }
        if (!it)
                json_decref(json);
        api_answer_aside(call, &forecast_kind, it ? &it->aside : NULL);
}
