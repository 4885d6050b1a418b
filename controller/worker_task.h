/* worker_task.h - what the worker works at: price plans, estimates, rates of stops.
 *
 * Not pure: reads the store. Each makes lines for berthd (worker_line.h) and can be ended by the
 * flag that struct worker_follow's options point to. One owner.
 */
#pragma once

#include "controller/worker_line.h"

struct err;
struct planner;
struct text;
struct worker_follow;

#define TASK_ASKED_MAX 48               /* workloads that one question is about */

/* Plans for the demand seen so far; adds the plan's input, unless the state has that plan.
 * *ret_made: there is one. 0, -ERR_CANCELLED, -ERR_INPUT, -ERR_NOMEM. */
int task_plan(struct worker_follow *follow, struct planner *planner, struct text *lines,
              bool *ret_made, struct err *err);

/* Foretells waiting workloads, up to `most` (TASK_ASKED_MAX at most): first those that were never
 * foretold, the oldest first; then the others in turn, behind *cursor. Adds what is new to be told.
 * 0, -ERR_CANCELLED, -ERR_NOMEM. */
int task_foretell(struct worker_follow *follow, unsigned most, uint64_t *cursor,
                  struct text *lines, unsigned *ret_answers, struct err *err);

/* The last 30 days of the store's hours. 0, -ERR_IO, -ERR_NOMEM. */
int task_rates(struct worker_follow *follow, int64_t now_ms, struct text *lines, struct err *err);
