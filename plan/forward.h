/* forward.h - one drawn future: a clone of a state goes on alone until what is asked for starts.
 *
 * Off the decision path; nothing comes back but times. Work runs as long as a draw from what the
 * state has learned of its kind says (given how long it ran already, and within its time limit);
 * what came during the last day comes again. A seed names a future: the same one, the same times.
 * One owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/need.h"
#include "engine/policy.h"

struct err;
struct state;

#define FORWARD_NEVER INT64_MAX

/* The newest submissions: those of a day, as far as ARRIVALS_MAX holds them. */
#define ARRIVALS_MAX 16384u
#define ARRIVALS_MS  INT64_C(86400000)

struct arrival {
        int64_t at_ms;
        struct request request;
};

struct arrivals {
        struct arrival *items;          /* a ring of ARRIVALS_MAX */
        uint64_t added;
        int64_t since_ms;               /* the first one's time */
};

/* Notes a submission; times do not go back. 0 or -ERR_NOMEM. */
int arrivals_add(struct arrivals *arrivals, const struct request *request, int64_t now_ms,
                 struct err *err);
void arrivals_done(struct arrivals *arrivals);          /* a zeroed one is fine */

struct forward_setup {
        const struct state *state;      /* between two inputs; the one forward_new() was given */
        const struct arrivals *arrivals;
        struct policy placement;
        int64_t now_ms;
        int64_t horizon_ms;             /* the run ends then at the latest */
        int64_t tick_ms;
        int64_t restart_ms;             /* that stopped work needs to start again */
        uint64_t seed;
        const uint64_t *asked;          /* waiting workloads */
        uint32_t asked_count;
        const volatile int *cancel;     /* non-zero: stop soon; NULL: never */
        bool (*stops)(void *arg);       /* the same, asked at each step; NULL: never */
        void *stops_arg;
};

struct forward;

/* For runs of this state, which must outlive it. NULL: out of memory. */
struct forward *forward_new(const struct state *state);
void forward_free(struct forward *forward);             /* NULL is fine */

/* From now until each of them starts first; FORWARD_NEVER: not within the horizon. 0,
 * -ERR_CANCELLED or -ERR_NOMEM. */
int forward_run(struct forward *forward, const struct forward_setup *setup, int64_t *ret_after_ms,
                struct err *err);
