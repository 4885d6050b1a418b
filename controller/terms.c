#include "controller/terms.h"

#include <inttypes.h>
#include <stdio.h>

#include "controller/live.h"
#include "controller/view.h"
#include "controller/worker.h"
#include "engine/accounts.h"
#include "engine/device.h"
#include "engine/explain.h"
#include "engine/gang.h"
#include "proto/explain_text.h"
#include "proto/pool_doc.h"

#define HOUR_MS INT64_C(3600000)

__extension__ typedef unsigned __int128 price_amount;   /* units x milliseconds x millionths */

/* ---- when ---- */

static bool has_eta(const struct workload *workload)
{
        return workload->members_placed == 0 && workload->eta_at_ms > 0 &&
               workload->eta_coverage_pct >= EXPLAIN_ETA_PCT;
}

static int64_t eta_ms(const struct workload *workload, uint32_t after_s)
{
        return explain_step_up(workload->eta_at_ms + INT64_C(1000) * after_s);
}

json_t *terms_eta(const struct live *live, uint32_t slot)
{
        const struct workload *workload = &core_state(live->core)->workloads[slot];
        json_t *eta;

        if (!has_eta(workload))
                return json_null();
        eta = json_object();
        view_set(eta, "p50", view_time(eta_ms(workload, workload->eta_p50_s)));
        view_set(eta, "p90", view_time(eta_ms(workload, workload->eta_p90_s)));
        view_set(eta, "covered_pct", json_integer(workload->eta_coverage_pct));
        view_set(eta, "foretold", view_time(workload->eta_at_ms));
        return eta;
}

static json_t *span_to(const struct live *live, const struct workload *workload, uint32_t after_s,
                       bool exact)
{
        int64_t now_ms = core_now_ms(live->core);
        int64_t at_ms = exact ? workload->eta_at_ms + INT64_C(1000) * after_s
                              : eta_ms(workload, after_s);

        if (!has_eta(workload))
                return json_null();
        return json_integer(at_ms > now_ms ? at_ms - now_ms : 0);
}

void terms_eta_spans(const struct live *live, uint32_t slot, bool exact, json_t *row)
{
        const struct workload *workload = &core_state(live->core)->workloads[slot];

        view_set(row, "starts_in_ms", span_to(live, workload, workload->eta_p50_s, exact));
        view_set(row, "starts_in_p90_ms", span_to(live, workload, workload->eta_p90_s, exact));
}

static bool asks_the_same(const struct state *state, const struct bucket *bucket,
                          const struct request *request)
{
        return bucket->count > 0 && bucket->tenant == request->tenant &&
               bucket->class == request->class &&
               need_equal(&state->shapes[bucket->shape].need, &request->need) &&
               form_equal(&bucket->form, &request->form);
}

json_t *terms_like(const struct live *live, const struct request *request)
{
        const struct state *state = core_state(live->core);
        uint32_t like = NONE;

        for (uint32_t b = 0; b < state->buckets_count; b++)
                for (uint32_t at = asks_the_same(state, &state->buckets[b], request)
                                           ? state->buckets[b].head
                                           : NONE;
                     at != NONE; at = state->workloads[at].next)
                        if (has_eta(&state->workloads[at]) &&
                            (like == NONE || state->workloads[at].id > state->workloads[like].id))
                                like = at;
        if (like == NONE)
                return json_null();
        json_t *json = json_object();
        view_set(json, "workload", json_integer((json_int_t)state->workloads[like].id));
        terms_eta_spans(live, like, false, json);
        view_set(json, "eta", terms_eta(live, like));
        return json;
}

/* ---- what may stop it ---- */

static json_t *measured(const struct live *live, const char *class)
{
        int64_t since_ms = 0;
        const struct worker_rate *rate =
                live->worker ? worker_rate_of(live->worker, class, &since_ms) : NULL;
        json_t *json;

        if (!rate || rate->held_device_ms == 0)
                return json_null();
        json = json_object();
        view_set(json, "since", view_time(since_ms));
        view_set(json, "device_hours", view_device_hours(rate->held_device_ms));
        view_set(json, "stops", json_integer((json_int_t)rate->stops));
        view_set(json, "lost_device_hours", view_device_hours(rate->lost_device_ms));
        return json;
}

json_t *terms_of_class(const struct live *live, const struct request *request)
{
        const struct tenancy *tenancy = core_tenancy(live->core);
        json_t *json;

        if (!tenancy)
                return json_null();
        const struct service_class *class = &tenancy->classes[request->class];
        json = json_object();
        view_set(json, "class", json_string(class->name));
        view_set(json, "stop", json_string(stop_names[class->stop]));
        view_set(json, "notice_ms", json_integer(class->notice_ms));
        view_set(json, "exempt_ms", json_integer(class->exempt_ms));
        view_set(json, "stops_per_day",
                 class->stops_per_day == STOPS_UNLIMITED ? json_null()
                                                         : json_integer(class->stops_per_day));
        view_set(json, "time_limit_ms",
                 request->time_limit_ms ? json_integer(request->time_limit_ms) : json_null());
        view_set(json, "measured", measured(live, class->name));
        return json;
}

/* ---- what it costs ---- */

/* The least that all of it takes on the model; 0: it does not run there, or takes no device. */
static uint64_t units_on(const struct live *live, const struct request *request, unsigned number)
{
        const struct state *state = core_state(live->core);
        const struct model *model = model_get(state->models, number);
        const char *profile = request->need.profile
                                      ? vocab_text(state->vocab, request->need.profile)
                                      : NULL;
        struct part options[PART_OPTIONS_MAX];
        const struct device_state empty = {0};
        struct part_fit fit;

        if (state->capacity[number] == 0 || !(request->need.models >> number & 1) ||
            !part_fit_make(model, &request->need, profile, &fit) ||
            part_options(model, &empty, &fit, options) == 0)
                return 0;
        return (uint64_t)request->form.members * request->need.devices *
               part_units(model, &options[0]);
}

/* The models on which all of it could ever lie; where that takes several together, all it asks
 * for. */
static uint64_t models_of(const struct live *live, const struct request *request)
{
        const struct state *state = core_state(live->core);
        struct request alone = *request;
        uint64_t models = 0;

        for (unsigned m = 0; m < model_count(core_models(live->core)); m++) {
                alone.need.models = request->need.models & (UINT64_C(1) << m);
                if (state->capacity[m] > 0 && alone.need.models &&
                    request_feasible(core_memo(live->core), state, &alone, NULL) == 1)
                        models |= alone.need.models;
        }
        return models ? models : request->need.models;
}

/* To a hundredth, rounded. */
static json_t *amount(uint64_t units, int64_t ms, uint64_t price_micro)
{
        price_amount of = (price_amount)UNITS_DEVICE * (uint64_t)HOUR_MS * 10000;
        uint64_t cents = (uint64_t)(((price_amount)units * (uint64_t)ms * price_micro + of / 2) /
                                    of);
        char text[48];

        (void)snprintf(text, sizeof text, "%" PRIu64 ".%02u", cents / 100, (unsigned)(cents % 100));
        return json_string(text);
}

json_t *terms_price(const struct live *live, const struct request *request)
{
        uint64_t models = live->pool ? models_of(live, request) : 0;
        json_t *json, *rows = json_array();

        for (unsigned m = 0; live->pool && m < model_count(core_models(live->core)); m++) {
                uint64_t units = units_on(live, request, m);
                uint64_t price_micro = live->pool->price_micro[m];
                if (units == 0 || price_micro == 0 || !(models >> m & 1))
                        continue;
                json_t *row = json_object();
                view_set(row, "model", json_string(model_get(core_models(live->core), m)->name));
                view_set(row, "devices", view_devices(units));
                view_set(row, "per_hour", amount(units, HOUR_MS, price_micro));
                view_set(row, "for_time_limit",
                         request->time_limit_ms
                                 ? amount(units, request->time_limit_ms, price_micro)
                                 : json_null());
                (void)json_array_append_new(rows, row);
        }
        if (json_array_size(rows) == 0) {
                json_decref(rows);
                return json_null();
        }
        json = json_object();
        view_set(json, "currency",
                 json_string(live->pool->currency[0] ? live->pool->currency : "XXX"));
        view_set(json, "models", rows);
        return json;
}
