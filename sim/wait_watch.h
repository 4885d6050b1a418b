/* wait_watch.h - at each tick: what holds waiting jobs up, and whose promise is due. */
#pragma once

#include <stdint.h>

#include "sim/history_figures.h"
#include "sim/job_record.h"

struct err;
struct jobs;
struct state;

/* Each waiting workload waited `by_ms` longer, for what holds it up now. Of each tenant one waiting
 * workload at a time is due its promise: the first to come of those that could start inside it.
 * `records` by workload - 1. 0 or -ERR_NOMEM. */
int wait_watch_tick(const struct state *state, struct job_record *records, int64_t by_ms,
                    struct err *err);

/* Promises made and broken, in devices, of all and by tenant. After history_figures_take(). */
void wait_watch_promises(struct history_figures *figures, const struct jobs *jobs,
                         const struct job_record *records);
