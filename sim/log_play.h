/* log_play.h - plays the work of a log (log_story.h) under another policy.
 *
 * Pure apart from the heap and the reading.
 */
#pragma once

#include <stdint.h>

#include "sim/history_figures.h"
#include "sim/log_runs.h"

struct err;
struct log_replay_setup;
struct log_story;

struct log_played {
        struct log_runs runs;           /* by place of the story's jobs */
        struct history_gap gap;
        uint32_t inputs_left_out;
};

/* *ret_played is ended by log_runs_done() of its runs in any case. 0, -ERR_CANCELLED, and what
 * policy_load() and log_replay_check() return. */
int log_play(const struct log_replay_setup *setup, const struct log_story *story,
             const char *policy, struct log_played *ret_played, struct err *err);
