/* worker_forecast.h - when work that is not submitted would start: the pool as its log tells it is
 * made once more, the work is submitted there, and goes through drawn futures (plan/forward.h).
 *
 * Not pure: reads a store through a view that is the caller's, and a clock. Any thread, one owner
 * per view; meant for asides.h. All that is made is gone when the call ends; meanwhile it is the
 * memory of two more pools. (The name lets it include plan/, as the worker's files do.)
 *
 * What it assumes, and nothing measures: work runs as long as a draw from what work like it ran, or
 * to its time limit if that comes first; nothing else is submitted, breaks, or is drained. So it is
 * a best case of what is known now, and no estimate that was held against starts (plan/eta.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tenancy.h"
#include "store/store.h"

struct err;

#define FORECAST_FUTURES    10
#define FORECAST_LEAST      3           /* fewer say too little */
#define FORECAST_MS         8000        /* of time; what has not come out by then is left out */
#define FORECAST_HORIZON_MS INT64_C(86400000)
#define FORECAST_ASSUMES                                                                \
        "work runs as long as work like it ran (an hour where none did), or to its time limit," \
        " and nothing else is submitted"

struct forecast_question {
        const char *text;               /* the Workload document; terminated */
        size_t size;
        bool is_json;
        char tenant[TENANT_PATH_MAX];   /* of who submits it, where the document names none */
        int64_t now_ms;
        store_stops *stops;             /* true: it is given up. NULL: it never is */
        void *stops_arg;
};

struct forecast {
        unsigned futures, started;      /* that were drawn; in which it starts within the horizon */
        int64_t p50_ms, p90_ms;         /* from now; below 0: not within the horizon */
};

/* Of the first one, where it is several. 0, -ERR_RANGE (too few futures came out in time),
 * -ERR_INPUT (it waits for other work or its owner, or would be refused; a log that cannot be
 * read), -ERR_CANCELLED (`stops`), or what reading the document, or past_pool(), returns. */
int forecast_make(struct store *view, const struct forecast_question *question,
                  struct forecast *ret_forecast, struct err *err);
