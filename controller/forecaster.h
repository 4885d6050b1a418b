/* forecaster.h - forecasts of dry runs, each made by a process of its own, as berthd keeps it.
 *
 * Not pure: starts a child, waits for it, ends it. What a forecast is made of may be large, slow,
 * or meet a mistake in the engine: none of that is berthd's. A child that crashes, takes too long,
 * holds too much or says what it may not gives a sentence instead of a forecast, and a line in
 * berthd's own log. One that nobody waits for any more is killed. When forecast_ask() returns, its
 * child is gone.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "controller/forecast_line.h"
#include "store/store.h"

struct err;

#define FORECASTER_MS_MAX 20000         /* of time: it gives up by itself much earlier */

/* How they came out. */
#define FORECAST_OUTCOMES(X)                                                          \
        X(MADE,     "made")                                                           \
        X(NONE,     "none")             /* the process says why */                    \
        X(GIVEN_UP, "given_up")         /* nobody waited any more */                  \
        X(FAILED,   "failed")           /* the process did not do what it should */

enum forecast_outcome {
#define X(name, word) FORECAST_##name,
        FORECAST_OUTCOMES(X)
#undef X
        FORECAST_OUTCOMES_END
};
const char *forecast_outcome_name(enum forecast_outcome outcome);

struct forecaster {
        const char *program;            /* NULL: this one, as `forecast` */
        const char *store;              /* its path */
        uint64_t memory_mib;            /* most that the process may hold */
        int64_t ms_max;
        atomic_uint_fast64_t outcomes[FORECAST_OUTCOMES_END];   /* since the start */
};

/* Any thread, also several at once: waits. 0, -ERR_CANCELLED (`stops`), or why there is none:
 * -ERR_RANGE (the process says so), -ERR_IO (it failed), -ERR_NOMEM. */
int forecast_ask(struct forecaster *forecaster, const struct forecast_question *question,
                 store_stops *stops, void *stops_arg, struct forecast *ret_forecast,
                 struct err *err);
