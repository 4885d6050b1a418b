/* asides.h - questions that take long are answered aside: on a thread, from the store alone; or by
 * a process, for which the thread waits.
 *
 * Not pure: libuv, threads. All calls are made by the loop's thread. `work` alone runs in a thread
 * of libuv's pool, on a connection of its own that only reads, where it reads anything.
 *
 * A question waits until all that was decided before it is durable, so that its answer has in it
 * whatever anybody was told before it was asked. It is of one moment, too: all of it is read in one
 * transaction, but where it says that it reads in pieces.
 *
 * One question of each lane is worked at; what is quick does not wait for what is slow. Of those
 * that wait, persons take turns: the second one of a person comes behind the first ones of others.
 * Each is told once how it came out, whatever happens; a client that leaves ends what is done for
 * it. A crash in the thread is blamed on the question (crash.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/crash.h"
#include "store/store.h"

struct core;
struct err;
struct uv_loop_s;

/* What is worked at side by side: how many questions there may be, and of one person. */
#define ASIDE_LANES(X)                                            \
        X(SUMS, 16, 4)                  /* usage, review */       \
        X(PAST, 8, 2)                   /* the pool as it was: the memory of one more pool */ \
        X(FORECAST, 8, 2)               /* a start foretold, by a process of its own */

enum aside_lane {
#define X(name, max, person_max) ASIDE_##name,
        ASIDE_LANES(X)
#undef X
        ASIDE_LANES_END
};

#define ASIDE_MS_MAX      INT64_C(45000)        /* of work at one; clients wait for 60 s */
#define ASIDE_RETRY_AFTER "5"                   /* seconds, for who finds a lane full */

struct aside_kind {
        enum aside_lane lane;
        bool in_pieces;                 /* else all is read in one transaction */
        bool reads_nothing;             /* `work` gets no view: another process reads for it */
        bool has_seen_state;            /* it holds what it was asked of: where that is undone, it
                                           fails; else it is answered all the same */
        const char *if_too_long;        /* what to do then, for the sentence */
        /* In the thread: what comes of it stays in `self`. Where it works long without reading, it
         * looks at `stops(stops_arg)` itself: true, and it returns -ERR_CANCELLED. 0 or what
         * failed. */
        int (*work)(void *self, struct store *view, store_stops *stops, void *stops_arg,
                    struct err *err);
        /* In the loop: nobody waits for it any more. */
        bool (*is_unwanted)(void *self);
        /* In the loop, once: `self` is the caller's again. -ERR_CANCELLED (unwanted, or the
         * controller ends), -ERR_RANGE (takes longer than ASIDE_MS_MAX), -ERR_IO, -ERR_NOMEM, or
         * what `work` returned. */
        void (*done)(void *self, int rc, const struct err *err);
};

/* Borrowed until it is done. */
struct aside {
        const struct aside_kind *kind;
        void *self;
        struct crash_request request;   /* `by`: the person whose turn it takes */
};

struct asides;

/* `core` is borrowed: until asides_free(), which is before it is freed. NULL: out of memory. */
struct asides *asides_new(struct uv_loop_s *loop, struct core *core);
/* All are done when it returns; runs the loop until the threads are. NULL is fine. */
void asides_free(struct asides *asides);

/* 0: `done` follows, also from within. Or it is not taken: -ERR_FULL (too many wait),
 * -ERR_CANCELLED (within asides_free()), -ERR_NOMEM. */
int asides_add(struct asides *asides, const struct aside *aside, struct err *err);

/* Now and then: ends what is unwanted, or `all`. NULL is fine. */
void asides_look(struct asides *asides, bool all);
