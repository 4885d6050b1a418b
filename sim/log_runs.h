/* log_runs.h - what became of each workload of a log, in one world: as recorded, or as tried.
 *
 * Pure apart from the heap. Floating point is fine here: nothing of it is decided on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

struct fact;
struct state;
struct workload;

#define LOG_NEVER INT64_MIN             /* a time that did not come */

struct log_run {
        int64_t first_start_ms, end_ms; /* or LOG_NEVER */
        int64_t since_ms;               /* of this run, while it runs */
        int64_t attained_ms;            /* run time that earlier runs saved */
        int64_t reached_ms;             /* the furthest that its work was, in any run */
        uint64_t units;                 /* that it holds */
        uint32_t stops;                 /* for capacity, idleness, drains; not at its own end */
        double lost_device_ms;
        bool runs, is_refused;
};

/* Runs by place; ids tell the place of a workload's number. */
struct log_runs {
        struct log_run *items;
        uint32_t count, room;
        const struct map *ids;          /* of the story */
};

void log_runs_done(struct log_runs *runs);              /* a zeroed one is fine */
/* One more, that has not started. False: out of memory. */
bool log_runs_add(struct log_runs *runs);

/* Before the fact is applied. */
void log_runs_see(struct log_runs *runs, const struct state *state, const struct fact *fact,
                  int64_t now_ms);

/* What running work holds. */
uint64_t log_units_held(const struct state *state, const struct workload *workload);

/* How far its work is, in run time. */
static inline int64_t log_run_work_ms(const struct log_run *run, int64_t now_ms)
{
        return run->attained_ms + (run->runs ? now_ms - run->since_ms : 0);
}
