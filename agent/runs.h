/* runs.h - what is to be done about the runs of a node: started, told, ended, forgotten.
 *
 * Pure: no clock, no I/O; time is an argument, and what is to be done comes out as steps. One owner
 * at a time. A state machine: runs.c holds the table of moves that are allowed.
 *
 * What holds, whatever comes in and in which order:
 *   - a run is started at most once, and never when an equal or later epoch of the same member was
 *     seen before;
 *   - nothing starts on a device while another run holds it that the list does not name;
 *   - who was given notice is not terminated before its end, unless the list no longer names it or
 *     contact was lost for the lease and its class wants that; nobody is killed before it was
 *     terminated and `kill_after_ms` went by;
 *   - until the first list after a restart nothing is started, or ended for not being named;
 *   - without contact nothing starts from runs_lease_term_ms() on, and what is to stop at its lease
 *     was killed before the lease is over: nothing of it is left when the controller, which counts
 *     from later, gives it up;
 *   - an older list than the newest changes nothing.
 *
 * Two clocks (ms): `wall` for the ends of notices, which come from elsewhere; `steady`, which no
 * one sets, for all that is measured here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/exchange.h"

struct err;
struct runs;

#define RUNS_MAX        (2 * EXCHANGE_RUNS_MAX) /* those that end stand beside those that come */
#define RUNS_FLOORS_MAX 65536                   /* members whose newest epoch is remembered */

struct runs_time {
        int64_t wall_ms, steady_ms;
};

/* NULL: out of memory. */
struct runs *runs_new(int64_t kill_after_ms);
void runs_free(struct runs *runs);                      /* NULL is fine */

/* A run as the list has it. */
struct run_wish {
        struct run_key key;
        uint64_t devices;               /* bit d: it has a part of device d */
        bool go;
        bool stops_at_lease;
        bool has_stop;
        int64_t until_ms;               /* wall */
        uint64_t notice;                /* tells one notice from another: any hash of it */
};

/* ---- after a restart ---- */

/* An epoch of this member was started once. When the table is full, the lower half of the workload
 * numbers is forgotten. 0 or -ERR_NOMEM. */
int runs_floor(struct runs *runs, struct run_key key, struct err *err);
/* A run that was there before, in a phase that was seen; `wish` is what was last wanted of it.
 * `notice` of 0: it was given none. 0, -ERR_EXISTS, -ERR_FULL, -ERR_NOMEM. */
int runs_adopt(struct runs *runs, const struct run_wish *wish, enum run_phase phase,
               struct err *err);
/* When contact was last had, if that is known: when the controller was asked what it answered. */
void runs_contact(struct runs *runs, int64_t steady_ms, int64_t lease_ms);

/* ---- what comes in ---- */

/* The list. Wishes without room in the table wait for the next list. A wish whose epoch was started
 * before and left nothing behind becomes REFUSED, and so does one that is told to stop before it
 * was started. False: the list is older than the newest, and nothing changed. */
bool runs_desire(struct runs *runs, uint64_t generation, const struct run_wish *wishes,
                 size_t count);
/* Something was seen of a run. False: it is not there, or not from its phase (a repetition, or too
 * late): nothing changed. */
bool runs_observe(struct runs *runs, struct run_key key, enum run_phase phase);

/* How long after the last contact work that stops at its lease is asked to end, and is killed. A
 * tenth of the lease (at most 10 s) is left for what KILL takes and for clocks that run unlike;
 * never before half of the lease, so a short one leaves less time between the two. */
int64_t runs_lease_term_ms(int64_t lease_ms, int64_t kill_after_ms);
int64_t runs_lease_kill_ms(int64_t lease_ms);

/* Which devices are broken (bit d: device d). What uses one ends, heard of or not: the controller
 * lets it begin anew elsewhere as soon as it knows. */
void runs_broken(struct runs *runs, uint64_t devices);

/* The agent is to leave nothing behind: from now on all runs end, and none starts. */
void runs_end_all(struct runs *runs);
/* Whether a run is there that has not ended. */
bool runs_any_live(const struct runs *runs);

/* ---- what is to be done ---- */

enum run_step_kind {
        RUN_STEP_START,         /* it is STARTING from now on; what comes of it is observed */
        RUN_STEP_GO,            /* open the barrier */
        RUN_STEP_NOTICE,        /* write the file, send the signal */
        RUN_STEP_WITHDRAW,      /* the notice no longer holds: remove the file */
        RUN_STEP_TERM,          /* ask it to end */
        RUN_STEP_KILL,
        RUN_STEP_FORGET,        /* it has ended, and nobody wants to know any more */
        RUN_STEP_KINDS_END
};

struct run_step {
        enum run_step_kind kind;
        struct run_key key;
        bool lost_contact;              /* TERM: for want of contact */
};

/* The next step, which counts as done from now on; false: there is none at this time. */
bool runs_next(struct runs *runs, struct runs_time now, struct run_step *ret_step);
/* In how many ms a step may come by time alone; -1: never. At most a minute: the wall's clock may
 * be set meanwhile. */
int64_t runs_wait_ms(const struct runs *runs, struct runs_time now);

/* ---- looking ---- */

uint64_t runs_generation(const struct runs *runs);      /* of the newest list; 0: none yet */
size_t runs_count(const struct runs *runs);
/* The run at an index, in no order that means anything. */
struct run_key runs_key(const struct runs *runs, size_t index);
enum run_phase runs_phase_at(const struct runs *runs, size_t index);
/* When it is asked to end, and killed, unless contact is had before; steady. False: it does not
 * stop for want of contact, or none is known. */
bool runs_lease(const struct runs *runs, struct run_key key, int64_t *ret_term_ms,
                int64_t *ret_kill_ms);
/* The highest epoch seen of a member; 0 = none. */
uint64_t runs_floor_of(const struct runs *runs, uint64_t workload, uint32_t member);
/* The newest epoch ever started, and the highest number of a workload that was; 0 = none. */
struct runs_newest {
        uint64_t epoch, workload;
};
struct runs_newest runs_newest(const struct runs *runs);
/* What was started, ever: the newest epoch of each member, of those remembered the `max` newest
 * ones, the newest first. Returns how many. */
size_t runs_started(const struct runs *runs, struct run_key *ret_keys, size_t max);
