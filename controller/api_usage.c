/* Usage: sums of the store's hours, and what they cost. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/live.h"
#include "controller/usage.h"
#include "controller/view.h"
#include "engine/model.h"
#include "proto/pool_doc.h"
#include "store/rollup.h"

#define DEVICE_HOUR   ((rollup_unit_ms)ROLLUP_UNITS_PER_DEVICE * ROLLUP_HOUR_MS)
__extension__ typedef __int128 signed_amount;   /* unit-milliseconds x millionths of the currency */
#define USAGE_ROWS_MAX 50000            /* of one answer */

/* ---- what is asked for ---- */

static int take_by(const char *by, struct rollup_query *query, struct err *err)
{
        const struct api_word words[] = {{"tenant", &query->by_tenant},
                                         {"class", &query->by_class},
                                         {"model", &query->by_model},
                                         {"method", &query->by_method},
                                         {"hour", &query->by_hour},
                                         {"day", &query->by_day}};
        int rc = api_take_words("by", by, words, ARRAY_LEN(words), err);

        if (rc == 0 && query->by_hour && query->by_day)
                rc = err_set(err, ERR_INPUT, "query 'by': hour or day, not both");
        return rc;
}

/* What lies within an hour is not told apart in the store. */
static bool take_time(struct call *call, const char *name, bool up, int64_t *ret_ms)
{
        const struct api_whole hours = {ROLLUP_HOUR_MS, up, "the start of an hour"};

        return api_query_whole(call, name, &hours, ret_ms);
}

/* ---- rows ---- */

struct table {
        struct api_aside aside;
        struct model_table *models;     /* a copy: pool documents add to the live one */
        uint64_t price_micro[MODELS_MAX];
        char currency[sizeof((struct pool_doc *)NULL)->currency];
        char tenant[TENANT_PATH_MAX];
        int64_t counted_until_ms;
        bool by_model;
        json_t *rows;
        json_t *last;                   /* the row that the next sum may belong to */
        rollup_unit_ms unit_ms;         /* of it */
        signed_amount cost;             /* of it */
        struct rollup_query query;
        int64_t start_ms;
        char names[4][256], bucket[64];
        bool is_held;
};

static uint64_t price_of(const struct table *table, const char *model)
{
        int number = model_find(table->models, model, NULL);

        return number >= 0 ? table->price_micro[number] : 0;
}

/* To a hundredth, rounded. */
static json_t *cost_text(signed_amount cost)
{
        signed_amount of = (signed_amount)DEVICE_HOUR * 10000;
        bool negative = cost < 0;
        uint64_t cents = (uint64_t)(((negative ? -cost : cost) + of / 2) / of);
        char text[48];

        (void)snprintf(text, sizeof text, "%s%" PRIu64 ".%02u", negative && cents ? "-" : "",
                       cents / 100, (unsigned)(cents % 100));
        return json_string(text);
}

static json_t *unit_ms_text(rollup_unit_ms amount)
{
        char text[48], *at = text + sizeof text - 1;

        *at = '\0';
        do
                *--at = (char)('0' + (int)(amount % 10));
        while ((amount /= 10) > 0);
        return json_string(at);
}

static void end_row(struct table *table)
{
        if (!table->last)
                return;
        view_set(table->last, "device_hours",
                 view_devices((uint64_t)((table->unit_ms + ROLLUP_HOUR_MS / 2) / ROLLUP_HOUR_MS)));
        view_set(table->last, "unit_ms", unit_ms_text(table->unit_ms));
        view_set(table->last, "cost", cost_text(table->cost));
        (void)json_array_append_new(table->rows, table->last);
        table->last = NULL;
}

static bool is_same_row(const struct table *table, const struct rollup_sum *sum)
{
        return table->last && !table->by_model && table->start_ms == sum->start_ms &&
               table->is_held == sum->is_held && str_equal(table->bucket, sum->bucket) &&
               str_equal(table->names[0], sum->tenant) && str_equal(table->names[1], sum->class) &&
               str_equal(table->names[2], sum->method);
}

static void begin_row(struct table *table, const struct rollup_sum *sum)
{
        const struct rollup_query *query = &table->query;
        json_t *row = json_object();

        if (query->by_hour || query->by_day)
                view_set(row, query->by_hour ? "hour" : "day", view_time(sum->start_ms));
        if (query->by_tenant)
                view_set(row, "tenant", sum->is_held ? json_string(sum->tenant) : json_null());
        if (query->by_class)
                view_set(row, "class", sum->class[0] ? json_string(sum->class) : json_null());
        if (query->by_method)
                view_set(row, "method", sum->method[0] ? json_string(sum->method) : json_null());
        if (table->by_model)
                view_set(row, "model", json_string(sum->model));
        view_set(row, "held", json_boolean(sum->is_held));
        view_set(row, "bucket", json_string(sum->bucket));
        table->last = row;
        table->unit_ms = 0;
        table->cost = 0;
        table->start_ms = sum->start_ms;
        table->is_held = sum->is_held;
        (void)str_copy(table->bucket, sizeof table->bucket, sum->bucket);
        (void)str_copy(table->names[0], sizeof table->names[0], sum->tenant);
        (void)str_copy(table->names[1], sizeof table->names[1], sum->class);
        (void)str_copy(table->names[2], sizeof table->names[2], sum->method);
}

/* What a tenant held is charged; what the pool cost it is given back. */
static int see_sum(void *arg, const struct rollup_sum *sum, struct err *err)
{
        struct table *table = arg;
        signed_amount cost = (signed_amount)sum->unit_ms *
                             (signed_amount)price_of(table, sum->model);

        if (str_equal(sum->bucket, USAGE_STOPS))
                return 0;               /* a count, and no time */
        if (!is_same_row(table, sum)) {
                end_row(table);
                if (json_array_size(table->rows) >= USAGE_ROWS_MAX)
                        return err_set(err, ERR_RANGE,
                                       "more than %d rows: ask for less time, or by less",
                                       USAGE_ROWS_MAX);
                begin_row(table, sum);
        }
        table->unit_ms += sum->unit_ms;
        if (sum->is_held && usage_is_capacity(sum->bucket))
                table->cost += cost;
        else if (usage_is_refund(sum->bucket))
                table->cost -= cost;
        return 0;
}

/* In the thread. */
static int work_at(void *self, struct store *view, store_stops *stops, void *stops_arg,
                   struct err *err)
{
        struct table *table = self;
        struct rollup_query query = table->query;
        json_t *json = json_object();

        (void)stops;
        (void)stops_arg;
        query.by_model = true;          /* prices differ */
        table->rows = json_array();
        int rc = rollup_sums(view, &query, see_sum, table, err);
        if (rc) {
                json_decref(table->last);
                json_decref(table->rows);
                json_decref(json);
                return rc;
        }
        end_row(table);
        view_set(json, "from", view_time(query.from_ms));
        view_set(json, "until", view_time(query.until_ms));
        view_set(json, "counted_until", view_time(table->counted_until_ms));
        view_set(json, "currency", json_string(table->currency));
        view_set(json, "rows", table->rows);
        return api_aside_json(&table->aside, json, err);
}

static void done(void *self, int rc, const struct err *err)
{
        struct table *table = self;

        model_table_free(table->models);
        api_aside_done(self, rc, err);
}

static const struct aside_kind usage_kind = {.lane = ASIDE_SUMS,
                                             .if_too_long = "ask for less time",
                                             .work = work_at,
                                             .is_unwanted = api_aside_is_unwanted,
                                             .done = done};

/* What it takes from the pool of now. NULL: out of memory. */
static struct table *table_new(const struct live *live, const char *tenant,
                               const struct rollup_query *query)
{
        struct table *table = mem_new(1, sizeof *table);

        if (!table)
                return NULL;
        (void)str_copy(table->tenant, sizeof table->tenant, tenant);
        table->query = *query;
        table->query.tenant = tenant[0] ? table->tenant : NULL;
        table->by_model = query->by_model;
        table->models = model_table_copy(core_models(live->core));
        if (!table->models) {
                mem_free(table);
                return NULL;
        }
        table->counted_until_ms = usage_until_ms(live->usage);
        (void)str_copy(table->currency, sizeof table->currency,
                       live->pool && live->pool->currency[0] ? live->pool->currency : "XXX");
        if (live->pool)
                memcpy(table->price_micro, live->pool->price_micro, sizeof table->price_micro);
        return table;
}

void get_usage(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char tenant[TENANT_PATH_MAX], by[64] = "tenant";
        struct call call;
        struct err err;

        if (!api_begin(arg, exchange, match, &call) || !api_tenant(&call, tenant) ||
            !api_query(&call, "by", by, sizeof by))
                return;
        int64_t until_ms = (api_now_ms() / ROLLUP_HOUR_MS + 1) * ROLLUP_HOUR_MS;
        struct rollup_query query = {.until_ms = until_ms};
        if (!take_time(&call, "until", true, &query.until_ms))
                return;
        if (query.until_ms > 24 * ROLLUP_HOUR_MS)
                query.from_ms = query.until_ms - 24 * ROLLUP_HOUR_MS;
        if (!take_time(&call, "from", false, &query.from_ms))
                return;
        if (api_check_span(query.from_ms, query.until_ms, &err) < 0 ||
            take_by(by, &query, &err) < 0) {
                api_fail(&call, &err);
                return;
        }
        struct table *table = table_new(call.live, tenant, &query);
        api_answer_aside(&call, &usage_kind, table ? &table->aside : NULL);
}
