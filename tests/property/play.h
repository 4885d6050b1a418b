/* play.h - work under one policy in virtual time, on the real engine.
 *
 * The test joins nodes, submits requests and says how long each runs. Work that runs ends when that
 * is over, saves as its request says, and is stopped when the notice it got is; the clock ticks. A
 * tick comes after all that happens at the same time. Every fact is shown to the test before it is
 * applied; what the play itself knows of a workload is older still.
 */
#pragma once

#include "engine/decide.h"
#include "engine/state.h"

struct policy_doc;
struct tenancy;

enum { PLAY_WORKS = 1024, PLAY_NODES = 64, PLAY_WHY = 512 };

enum play_status { PLAY_GONE, PLAY_WAITS, PLAY_RUNS };

struct play_work {
        struct request request;
        enum play_status status;
        enum standing standing;         /* while it runs */
        struct promise promise;
        bool rescued;
        int64_t need_ms;                /* run time in all */
        int64_t since_ms;               /* waits, or runs */
        int64_t waited_ms;              /* before since_ms */
        int64_t attained_ms, saved_ms;  /* of earlier runs; of this one */
        int64_t notice_until_ms;        /* 0: none */
        uint64_t started;               /* how often */
        uint64_t tag;                   /* the test's own */
};

struct play {
        const struct model_table *models;       /* borrowed */
        struct policy_doc *policy;
        struct state *state;
        struct memo *memo;
        int64_t now_ms, tick_ms, ticked_ms;
        uint64_t submitted, inputs;
        unsigned high;                          /* places of `works` that were ever used */
        struct play_work works[PLAY_WORKS];     /* an id names its place: play_work() */
        fact_see *see;                          /* NULL: nobody */
        void *arg;
        char why[PLAY_WHY];                     /* what is broken; "": nothing yet */
};

/* Virtual time begins at `now_ms`. False: play->why. */
bool play_open(struct play *play, const struct model_table *models, const char *policy,
               uint64_t seed, int64_t now_ms, int64_t tick_ms);
void play_close(struct play *play);             /* a zeroed one is fine */

const struct tenancy *play_tenancy(const struct play *play);
struct play_work *play_work(struct play *play, uint64_t id);

/* One input now, to its end. False: it failed, or the test found something (play->why). */
bool play_input(struct play *play, const struct input *input);
bool play_join(struct play *play, unsigned number, unsigned model, unsigned devices);
/* Sets the id. 0: false as above, or refused. */
uint64_t play_submit(struct play *play, struct request request, int64_t need_ms);

/* The next thing that happens up to that time. 1; 0: nothing, and it is that time; -1: broken. */
int play_step(struct play *play, int64_t until_ms);

int64_t play_waited_ms(const struct play *play, const struct play_work *work);

/* Keeps the first reason. False, for a return. */
bool play_fail(struct play *play, const char *format, ...) __attribute__((format(printf, 2, 3)));
