/* job_record.h - what one job of a history did in one replay. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/fact.h"

#define JOB_RECORD_NEVER INT64_MIN /* a time that did not come */

struct job_record {
        uint32_t job;           /* its place in jobs.items */
        uint32_t stops;         /* how often it was preempted */
        int64_t first_start_ms; /* or JOB_RECORD_NEVER, and so end_ms: it was refused */
        int64_t end_ms;
        int64_t held_device_ms;       /* of all its runs, with what was lost */
        int64_t window_device_ms;     /* the part of that inside the replay's window */
        int64_t lost_device_ms;       /* work done and not saved when it was stopped */
        int64_t restart_device_ms;    /* starting again what had been stopped */
        int64_t waited_ms[GATES_END]; /* by the gate that held it up */
        int64_t due_ms;               /* of that, first in line for its tenant's promise */
        bool is_promised;             /* it was, or started inside it */
};

/* From ... to before ...: what utilisation is measured over. */
struct job_window {
        int64_t from_ms, until_ms;
};

/* Counts `devices` as held from `start_ms` to `end_ms`. */
static inline void job_record_hold(struct job_record *record, const struct job_window *window,
                                   uint32_t devices, int64_t start_ms, int64_t end_ms)
{
        int64_t from_ms = start_ms > window->from_ms ? start_ms : window->from_ms;
        int64_t until_ms = end_ms < window->until_ms ? end_ms : window->until_ms;

        record->held_device_ms += (end_ms - start_ms) * devices;
        if (until_ms > from_ms)
                record->window_device_ms += (until_ms - from_ms) * devices;
}
