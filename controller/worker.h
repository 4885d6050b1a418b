/* worker.h - berthd's worker process, as berthd keeps it.
 *
 * Not pure: starts and ends a child in the loop's thread. The pool never waits for it: what it
 * tells is entered as inputs when it comes (actor "worker"), after the checks that any input goes
 * through, and without it there are no new price plans and no estimates.
 *
 * A worker that ends, is silent for longer than it may, holds too much memory, or says what it may
 * not is ended and started anew, after 1, 2, 4 ... 60 seconds. What it learnt it learns again from
 * the log.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/worker_line.h"

struct err;
struct live;
struct uv_loop_s;
struct worker;

struct worker_options {
        const char *program;            /* NULL: this one, as `worker` */
        const char *store;
        int64_t tick_ms;
        int64_t silence_ms;             /* silent for longer: it hangs */
        uint64_t memory_mib;            /* most that it may hold */
};

#define WORKER_SILENCE_MS 60000
#define WORKER_MEMORY_MIB 2048
/* From now back: an estimate of an older state is not entered. */
#define WORKER_STALE_MS   120000

/* Starts it. Options' texts, `live` and `loop` are borrowed until worker_free(). NULL: out of
 * memory. */
struct worker *worker_new(struct uv_loop_s *loop, struct live *live,
                          const struct worker_options *options);
/* Often: looks after it. */
void worker_tick(struct worker *worker);
/* Kills it; its handles close when the loop runs on, and it does not come back. NULL is fine. */
void worker_end(struct worker *worker);
/* After the loop has ended. NULL is fine. */
void worker_free(struct worker *worker);

struct worker_shown {
        bool is_up;
        int pid;                        /* 0: none */
        int64_t silent_ms;              /* since it was heard last; 0: it is not up */
        uint64_t starts, ends;          /* processes that were started, and that ended */
        uint64_t plans, estimates;      /* inputs that were entered */
        uint64_t dropped;               /* that came too late: their work has started or gone */
        uint64_t refused;               /* lines that may not be said, or that the engine refused */
        uint64_t rss_mib;
        struct worker_figures figures;  /* as it told them last */
        const char *trouble;            /* why the last one ended, or ""; lives as long as it */
};
struct worker_shown worker_shown(const struct worker *worker);

/* What is known of the class; NULL: nothing. Good until the loop runs on. */
const struct worker_rate *worker_rate_of(const struct worker *worker, const char *class,
                                         int64_t *ret_since_ms);

/* ---- worker_take.c: what is entered ---- */

struct act;

/* Enters one input of a worker; *act is begun where it is NULL, and is the caller's to commit. 1:
 * entered; 0: it came too late; -ERR_INPUT, -ERR_RANGE (it may not be entered), -ERR_IO (nothing is
 * taken now), -ERR_FULL (not in this act any more), -ERR_NOMEM. */
int worker_take(struct live *live, struct act **act, const struct worker_line *line,
                int64_t now_ms, bool *ret_is_plan, struct err *err);
