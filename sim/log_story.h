/* log_story.h - what the work of a log is by itself: who came when, and how each job goes once it
 * runs, whatever is decided for it.
 *
 * Pure apart from the heap and the reading.
 */
#pragma once

#include <stdint.h>

#include "base/map.h"
#include "sim/log_runs.h"
#include "sim/log_torn.h"
#include "trace/jobs.h"

struct err;
struct log_replay_setup;

/* What running work does at a point of its own run time. */
enum moment_kind {
        MOMENT_EXITED,
        MOMENT_FAILED,
        MOMENT_CHECKPOINTED,
        MOMENT_USE,
        MOMENT_TAKEN,                   /* nothing: the run was stopped, or lost. What follows is of
                                           the next one, and came no sooner in this one */
        MOMENT_STOPPED,                 /* work_ms: how long after the notice's end it was gone */
};

struct moment {
        uint64_t seq;                   /* record that told it: orders what comes at one time */
        int64_t work_ms;                /* run time of all runs that it comes at */
        int64_t idle_ms;                /* USE: so long its devices are idle by then; -1: in use.
                                           CHECKPOINTED: so long ago it was safe */
        uint32_t next;                  /* of the same job, + 1; 0: none */
        uint8_t kind;                   /* enum moment_kind */
};

struct story_job {
        uint64_t id;
        int64_t submit_ms;
        uint32_t tenant;                /* number of names.tenants */
        uint32_t class;                 /* of names.classes; JOBS_NONE */
        char label[TENANCY_WORD_MAX];   /* its data label; "" none */
        uint32_t first, last;           /* moments, + 1 */
        uint32_t first_stop, last_stop; /* the same of its stops after a notice */
        uint32_t torn;                  /* its tearing that has not ended, + 1; 0: it is not torn */
};

struct log_story {
        struct story_job *items;
        uint32_t count, room;
        struct map ids;                 /* workload: its place */
        struct jobs names;              /* tenants and classes only */
        struct moment *moments;
        uint32_t moments_count, moments_room;
        struct log_torn torn;
        struct log_runs runs;           /* as recorded */
        uint64_t from_seq, last_seq;    /* it begins behind a snapshot; 0: at the start */
        int64_t from_ms, until_ms;
        uint32_t policies;              /* that the log set */
        uint32_t never_ended;           /* jobs whose end the log does not tell */
};

/* Reads the whole log; ends that it does not tell are guessed (log_story_guess). As
 * log_replay_check(). *ret_story is ended by log_story_done() in any case. */
int log_story_read(const struct log_replay_setup *setup, struct log_story *ret_story,
                   struct err *err);
/* An end for each job that has none: log_guess.c says how. 0 or -ERR_NOMEM. */
int log_story_guess(struct log_story *story, struct err *err);
int log_story_add_moment(struct log_story *story, uint32_t place, const struct moment *moment,
                         struct err *err);
void log_story_done(struct log_story *story);           /* a zeroed one is fine */
