/* methods.h - one demand of tasks, served whole, sliced, shared or mixed.
 *
 * Runs the real engine in virtual time: tasks arrive by chance (Poisson) with so
 * much work (exponential), are placed by the method under test, slow each other
 * down by the scenario's interference table, and leave when their work is done.
 * What does not fit at once is refused. Arrivals, kinds and work depend on the
 * seed alone, so every method and placement meets the same ones.
 *
 * Not thread safe per call; calls share nothing. Reads the clock only to time
 * decisions. `whole` takes one device; `slice` the smallest profile of the pool's
 * model that has the task's compute and memory (a task that no profile holds
 * takes a device); `share` its thousandths and memory; `mixed` what the task's
 * own `mixed` says.
 */
#pragma once

#include <stdint.h>

#include "engine/policy.h"
#include "proto/scenario.h"

struct err;
struct model_table;

/* What happened in the measured time, which starts when the warm-up is over. A task counts as
 * arrived when it came in that time, as done when it left in it. */
struct methods_figures {
        uint64_t arrived, accepted, refused;    /* tasks; arrived == accepted + refused */
        double count_pct;                       /* accepted of arrived; 100 when nothing arrived */
        double units_pct;                       /* the same by units of what each task needs */
        double done_per_life;                   /* tasks finished per mean life */
        double slowdown_pct;                    /* time beyond the work of the finished tasks */
        double busy_pct;                        /* devices with at least one holder, mean in time */
        uint64_t decided;                       /* placements of the whole run, warm-up included */
        double decide_s;                        /* decide + apply of those, exits not counted */
        double decide_p50_us, decide_p99_us;    /* one submission, refused ones too */
        uint64_t facts_hash;                    /* chain over all facts */
};

/* Serves the scenario's tasks on a pool of its own. The scenario must be WORKLOAD_TASKS on
 * POOL_UNIFORM, as decoding leaves it. `load_milli` is what the tasks really need (half compute,
 * half memory), offered per mean life, against what the pool has. 0, -ERR_NOT_FOUND (the model is
 * not in the table), -ERR_CANCELLED, -ERR_NOMEM. *ret_figures only on success. */
int methods_run(const struct scenario *scenario, const struct model_table *models,
                struct policy placement, enum task_method method, uint64_t seed,
                struct methods_figures *ret_figures, const volatile int *cancel, struct err *err);

/* What `method` brought over `whole` at the same placement and seed: tasks done, in per cent more
 * (less when negative). 0 when whole did nothing. */
double methods_over_whole_pct(const struct methods_figures *whole,
                              const struct methods_figures *method);
