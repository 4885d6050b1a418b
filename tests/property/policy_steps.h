/* policy_steps.h - the steps of a history: what somebody does to the pool or to work, drawn.
 *
 * Some of what is drawn cannot be, and must be refused. Each step gives 1, or 0: something is
 * broken (book->why). policy_steps_work.c has work, policy_steps_pool.c the pool.
 */
#pragma once

#include "tests/property/policy_trial.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)

enum { STEP_TASKS_MAX = 4 };     /* of an array */

/* One of those in that status; NULL. */
struct book_work *step_any_work(struct book *book, struct rng *rng, enum work_status status);

int step_submit(struct trial *trial, struct rng *rng, unsigned step);
/* Exits, fails, is cancelled, held or let go. */
int step_of_work(struct trial *trial, struct rng *rng, enum input_kind kind,
                 enum work_status status);
int step_stop(struct trial *trial, struct rng *rng);
int step_ask_to_stop(struct trial *trial, struct rng *rng);
int step_move(struct trial *trial, struct rng *rng);
int step_use(struct trial *trial, struct rng *rng);
int step_lose(struct trial *trial, struct rng *rng);
int step_save(struct trial *trial, struct rng *rng);

int step_change_node(struct trial *trial, struct rng *rng);
int step_describe(struct trial *trial, struct rng *rng);
int step_silence(struct trial *trial, struct rng *rng);
int step_break(struct trial *trial, struct rng *rng);
int step_observe(struct trial *trial, struct rng *rng);
int step_freeze(struct trial *trial, struct rng *rng);
int step_policy(struct trial *trial, unsigned policy);

/* Sets of maintenance windows to choose from; the first is empty. */
void step_draw_windows(struct trial *trial);
int step_maintain(struct trial *trial, unsigned set);

/* What was taken away comes back; owners let go. */
int step_restore(struct trial *trial);
/* After that: devices that broke count as well again when what lay on them has gone. */
int step_mend(struct trial *trial);
