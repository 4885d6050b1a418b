/* worker_forecast.h - when work that is not submitted would start: the pool as its log tells it is
 * made once more, the work is submitted there, and goes through drawn futures (plan/forward.h).
 *
 * Not pure: reads a store that is the caller's, and a clock. One owner per store. All that is made
 * is gone when the call ends; meanwhile it is the memory of two more pools: it is called by the
 * process that makes a forecast (worker_forecast_run.h), which berthd keeps (forecaster.h). (The
 * name lets it include plan/, as the worker's files do.)
 *
 * What it assumes, and nothing measures: work runs as long as a draw from what work like it ran, or
 * to its time limit if that comes first; nothing else is submitted, breaks, or is drained. So it is
 * a best case of what is known now, and no estimate that was held against starts (plan/eta.h).
 */
#pragma once

#include "controller/forecast_line.h"

struct err;
struct store;

#define FORECAST_LEAST 3                /* futures; fewer say too little */
#define FORECAST_MS    8000             /* of time; what has not come out by then is left out */

/* Of the first one, where it is several. 0, -ERR_RANGE (too few futures came out in time),
 * -ERR_INPUT (it waits for other work or its owner, or would be refused; a log that cannot be
 * read, or is older than the question), or what reading the document, or past_pool(), returns. */
int forecast_make(struct store *store, const struct forecast_question *question,
                  struct forecast *ret_forecast, struct err *err);
