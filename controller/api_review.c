/* The review: what happened by the day, and what was lost by it, from the store's sums. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/live.h"
#include "controller/tally.h"
#include "controller/usage.h"
#include "controller/view.h"
#include "store/review.h"

#define REVIEW_ROWS_MAX 20000           /* of one answer */
#define DAYS_USUAL      30
#define LOST            "lost_"

struct page {
        struct api_aside aside;
        struct review_query query;
        char tenant[TENANT_PATH_MAX];
        int64_t counted_until_ms;
        json_t *rows;                   /* by what tells them apart */
};

/* ---- what is asked for ---- */

static int take_by(const char *by, struct review_query *query, struct err *err)
{
        const struct api_word words[] = {{"tenant", &query->by_tenant},
                                         {"class", &query->by_class},
                                         {"model", &query->by_model},
                                         {"day", &query->by_day}};

        return api_take_words("by", by, words, ARRAY_LEN(words), err);
}

/* What lies within a day is not told apart in the store. */
static bool take_day(struct call *call, const char *name, bool up, int64_t *ret_ms)
{
        const struct api_whole days = {REVIEW_DAY_MS, up, "the start of a day (UTC)"};

        return api_query_whole(call, name, &days, ret_ms);
}

/* ---- rows ---- */

static json_t *name_json(const char *name)
{
        return name[0] ? json_string(name) : json_null();
}

/* NULL: there are too many, or no memory. */
static json_t *row_of(struct page *page, int64_t day_ms, const char *tenant, const char *class,
                      const char *model, struct err *err)
{
        char key[800];

        (void)snprintf(key, sizeof key, "%020" PRId64 " %s %s %s", day_ms, tenant, class, model);
        json_t *row = json_object_get(page->rows, key);
        if (row)
                return row;
        if (json_object_size(page->rows) >= REVIEW_ROWS_MAX) {
                (void)err_set(err, ERR_RANGE, "more than %d rows: ask for less time, or by less",
                              REVIEW_ROWS_MAX);
                return NULL;
        }
        row = json_object();
        if (page->query.by_day)
                view_set(row, "day", view_time(day_ms));
        if (page->query.by_tenant)
                view_set(row, "tenant", name_json(tenant));
        if (page->query.by_class)
                view_set(row, "class", name_json(class));
        if (page->query.by_model)
                view_set(row, "model", name_json(model));
        for (unsigned m = 0; m < TALLY_MEASURES_END; m++)
                if (m != TALLY_RESERVED)
                        view_set(row, tally_measure_name(m),
                                 m == TALLY_WAITS_BELOW || m == TALLY_REFUSED ||
                                                 m == TALLY_ENDED || m == TALLY_STOPPED
                                         ? json_object()
                                         : json_integer(0));
        view_set(row, "reserved", json_object());
        view_set(row, "lost", json_object());
        if (json_object_set_new(page->rows, key, row) == 0)
                return row;
        (void)err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
}

static json_t *device_hours(rollup_unit_ms amount)
{
        return view_devices((uint64_t)((amount + ROLLUP_HOUR_MS / 2) / ROLLUP_HOUR_MS));
}

static int see_review(void *arg, const struct review_sum *sum, struct err *err)
{
        struct page *page = arg;
        json_t *row = row_of(page, sum->day_ms, sum->tenant, sum->class, sum->model, err);
        bool is_reserved = str_equal(sum->measure, tally_measure_name(TALLY_RESERVED));
        json_t *value = is_reserved ? device_hours(sum->amount)
                                    : json_integer((json_int_t)sum->amount);

        if (!row) {
                json_decref(value);
                return -(int)err->code;
        }
        if (sum->detail[0])
                view_set(json_object_get(row, sum->measure), sum->detail, value);
        else
                view_set(row, sum->measure, value);
        return 0;
}

static int see_usage(void *arg, const struct rollup_sum *sum, struct err *err)
{
        struct page *page = arg;
        bool is_lost = strncmp(sum->bucket, LOST, strlen(LOST)) == 0;
        bool is_caused = str_equal(sum->bucket, "caused_loss");
        bool is_lent = str_equal(sum->bucket, "lent");
        json_t *row;

        if (!sum->is_held || !(is_lost || is_caused || is_lent))
                return 0;
        row = row_of(page, sum->start_ms, sum->tenant, sum->class, sum->model, err);
        if (!row)
                return -(int)err->code;
        if (is_lost)
                view_set(json_object_get(row, "lost"), sum->bucket + strlen(LOST),
                         device_hours(sum->unit_ms));
        else
                view_set(row, sum->bucket, device_hours(sum->unit_ms));
        return 0;
}

static int fill(struct page *page, struct store *view, struct err *err)
{
        const struct review_query *query = &page->query;
        const struct rollup_query used = {.from_ms = query->from_ms, .until_ms = query->until_ms,
                                          .tenant = query->tenant, .by_tenant = query->by_tenant,
                                          .by_class = query->by_class,
                                          .by_model = query->by_model, .by_day = query->by_day};
        int rc = review_sums(view, query, see_review, page, err);

        return rc ? rc : rollup_sums(view, &used, see_usage, page, err);
}

static int compare(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In the order of their keys. NULL: no memory. */
static json_t *in_order(json_t *rows)
{
        const char **keys = mem_new(json_object_size(rows) + 1, sizeof *keys), *key;
        json_t *list = json_array(), *row;
        size_t count = 0;

        if (!keys) {
                json_decref(list);
                return NULL;
        }
        json_object_foreach(rows, key, row)
                keys[count++] = key;
        qsort(keys, count, sizeof *keys, compare);
        for (size_t k = 0; k < count; k++)
                (void)json_array_append(list, json_object_get(rows, keys[k]));
        mem_free(keys);
        return list;
}

/* In the thread. */
static int work_at(void *self, struct store *view, store_stops *stops, void *stops_arg,
                   struct err *err)
{
        struct page *page = self;
        json_t *json = json_object();

        (void)stops;
        (void)stops_arg;
        page->rows = json_object();
        int rc = fill(page, view, err);
        if (rc == 0) {
                view_set(json, "from", view_time(page->query.from_ms));
                view_set(json, "until", view_time(page->query.until_ms));
                view_set(json, "counted_until", view_time(page->counted_until_ms));
                view_set(json, "rows", in_order(page->rows));
        }
        json_decref(page->rows);
        if (rc == 0)
                return api_aside_json(&page->aside, json, err);
        json_decref(json);
        return rc;
}

static const struct aside_kind review_kind = {.lane = ASIDE_SUMS,
                                              .if_too_long = "ask for less time",
                                              .work = work_at,
                                              .is_unwanted = api_aside_is_unwanted,
                                              .done = api_aside_done};

void get_review(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char tenant[TENANT_PATH_MAX], by[64] = "tenant";
        struct review_query query = {0};
        struct call call;
        struct err err;

        if (!api_begin(arg, exchange, match, &call) || !api_tenant(&call, tenant) ||
            !api_query(&call, "by", by, sizeof by))
                return;
        query.until_ms = (api_now_ms() / REVIEW_DAY_MS + 1) * REVIEW_DAY_MS;
        if (!take_day(&call, "until", true, &query.until_ms))
                return;
        if (query.until_ms > DAYS_USUAL * REVIEW_DAY_MS)
                query.from_ms = query.until_ms - DAYS_USUAL * REVIEW_DAY_MS;
        if (!take_day(&call, "from", false, &query.from_ms))
                return;
        if (api_check_span(query.from_ms, query.until_ms, &err) < 0 ||
            take_by(by, &query, &err) < 0) {
                api_fail(&call, &err);
                return;
        }
        struct page *page = mem_new(1, sizeof *page);
        if (page) {
                memcpy(page->tenant, tenant, sizeof tenant);
                page->query = query;
                page->query.tenant = tenant[0] ? page->tenant : NULL;
                page->counted_until_ms = usage_until_ms(call.live->usage);
        }
        api_answer_aside(&call, &review_kind, page ? &page->aside : NULL);
}
