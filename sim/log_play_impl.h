/* log_play_impl.h - shared by log_play.c (reads the log), log_play_jobs.c (what work does by itself
 * once it runs) and log_play_told.c (what the log tells at its time). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/log_group.h"
#include "sim/log_play.h"
#include "sim/log_pool.h"
#include "sim/log_story.h"
#include "sim/timeline.h"

struct log_replay_setup;
struct memo;
struct policy_doc;

/* Where a job is in its story. */
struct course {
        uint32_t at;                    /* the next moment, + 1; 0: none */
        uint32_t from;                  /* where its run begins, + 1: a stop goes no further back */
        uint32_t stop;                  /* its next stop, + 1; 0: none that was recorded */
        uint32_t run;                   /* number of its start; events of others are void */
        bool torn;                      /* it keeps its place until it has ended */
};

struct play {
        const struct log_replay_setup *setup;
        const struct log_story *story;
        struct log_played *played;
        struct log_pool pool;
        struct memo *memo;
        struct policy_doc *policy;      /* until it is in force */
        bool is_set;
        uint16_t *tenants, *classes;    /* of the policy, by the story's numbers */
        struct course *courses;
        struct timeline timeline;
        int64_t now_ms;
        bool failed;                    /* out of memory in a callback */
        struct logged_input input;      /* whose facts, and so words, come next */
        uint64_t input_seq;             /* its record */
        bool has_input;
};

/* Decides the input as of now; jobs see what comes of it. As decide(), or -ERR_NOMEM. */
int play_feed(struct play *play, const struct input *input, struct err *err);

/* ---- log_play_jobs.c ---- */

/* Every job as it stands where the log begins: those of its snapshot are there already. */
int play_jobs_start(struct play *play, struct err *err);
/* All that jobs do before that record of that time. */
int play_jobs_until(struct play *play, int64_t at_ms, uint64_t seq, struct err *err);
/* Behind log_runs_see(). */
void play_jobs_see(struct play *play, const struct fact *fact);
/* That failure is in force: what it took a part of, here, takes as long to end as what it took a
 * part of there. */
int play_jobs_tear(struct play *play, uint64_t failure_seq, struct err *err);

/* ---- log_play_told.c ---- */

/* An input of the log, at its time. Those that follow from running are left out. */
int play_told(struct play *play, struct input *input, struct err *err);
/* The policy that is tried; once. */
int play_set_policy(struct play *play, struct err *err);
