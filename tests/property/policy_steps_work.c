/* What is done with work: submitted, stopped, moved, told of. */
#include "tests/property/policy_steps.h"

#include <inttypes.h>
#include <stdio.h>

/* One of those in that status; NULL. */
struct book_work *step_any_work(struct book *book, struct rng *rng, enum work_status status)
{
        unsigned count = 0;

        for (uint64_t w = 1; w <= book->last_id; w++)
                count += book->works[w].status == status;
        if (count == 0)
                return NULL;
        unsigned wanted = draw_below(rng, count);
        for (uint64_t w = 1;; w++)
                if (book->works[w].status == status && wanted-- == 0)
                        return &book->works[w];
}

/* One that runs, as often as that; else one that waits. NULL. */
static struct book_work *mostly_runs(struct book *book, struct rng *rng, unsigned percent)
{
        return step_any_work(book, rng, draw_chance(rng, percent) ? WORK_RUNS : WORK_WAITS);
}

/* Checkpoints are told of some time after they were made, and before the next one is due. */
static void live(struct book_work *work, struct rng *rng, int64_t every_ms)
{
        if (every_ms > 0 && draw_chance(rng, 40))
                work->age_ms = (int64_t)rng_below(rng, (uint64_t)every_ms);
        work->need_ms = draw_span(rng, 30 * SECOND_MS, 4 * HOUR_MS);
        work->delay_ms = draw_chance(rng, 60) ? 0 : (int64_t)draw_below(rng, 20000);
        work->fails = draw_chance(rng, 8);
}

/* Taken where it may be, refused where not. */
static int ask(struct trial *trial, const struct input *input, uint64_t id, bool may,
               enum promise_kind promise)
{
        int rc = trial_run(trial, input);

        trial->book->checked[promise]++;
        return rc == 0           ? 0
               : may == (rc > 0) ? 1
                                 : BOOK_FAIL(trial->book, "%s of workload %" PRIu64 " is %s",
                                             input_name(input->kind), id,
                                             may ? "refused" : "taken, and cannot be");
}

int step_submit(struct trial *trial, struct rng *rng, unsigned step)
{
        struct book *book = trial->book;
        struct input input = {.kind = INPUT_SUBMITTED};
        struct request request = draw_work(rng, &trial->pool, &trial->words, book->tenancy,
                                           book->now_ms);
        unsigned tasks = draw_chance(rng, 15) ? 2 + draw_below(rng, STEP_TASKS_MAX - 1) : 1;
        uint64_t id = 1 + (uint64_t)step * STEP_TASKS_MAX;

        if (tasks > 1) {
                request.array = step + 1;
                request.array_at_once = draw_below(rng, 3);
        }
        while (draw_chance(rng, 8) && request.after_count < 3) {
                struct book_work *other = mostly_runs(book, rng, 50);
                if (other)
                        request.after[request.after_count++] = other->request.workload;
        }
        for (unsigned t = 0; t < tasks; t++) {
                input.request = request;
                input.request.workload = id + t;
                live(&book->works[id + t], rng, request.checkpoint_every_ms);
                if (!trial_try(trial, &input))
                        return 0;
        }
        return 1;
}

/* Nobody takes away what does not run, or was not told to stop: the engine says so. What was told
 * may leave before its notice is over. */
int step_stop(struct trial *trial, struct rng *rng)
{
        struct book *book = trial->book;
        struct book_work *work = mostly_runs(book, rng, 90);

        if (!work)
                return 1;
        bool may = work->notice_until_ms != 0;
        int rc = trial_run(trial, &(struct input){.kind = INPUT_STOPPED,
                                                  .workload = work->request.workload});
        book->checked[PROMISE_NOTICE]++;
        return rc == 0   ? 0
               : rc < 0  ? 1
               : may     ? 1
                         : BOOK_FAIL(book, "workload %" PRIu64 " may be stopped untold",
                                     work->request.workload);
}

int step_of_work(struct trial *trial, struct rng *rng, enum input_kind kind,
                 enum work_status status)
{
        struct book_work *work = step_any_work(trial->book, rng, status);

        if (!work)
                return 1;
        struct input input = {.kind = kind, .workload = work->request.workload};
        if (kind == INPUT_HOLD_CHANGED) {
                input.hold.workload = work->request.workload;
                input.hold.held = !work->user_held;
        }
        return trial_try(trial, &input);
}

/* Of what idleness made spare, or told to stop, half is used again. */
static struct book_work *any_told_idle(struct book *book, struct rng *rng)
{
        unsigned start = draw_below(rng, (unsigned)book->last_id + 1);

        for (uint64_t i = 0; i <= book->last_id; i++) {
                struct book_work *work = &book->works[(start + i) % (book->last_id + 1)];
                if (work->status == WORK_RUNS && (work->demoted || work->told_idle))
                        return work;
        }
        return NULL;
}

/* Some reports are old, a few cannot be: from before it started, or from the future. */
int step_use(struct trial *trial, struct rng *rng)
{
        struct book *book = trial->book;
        struct book_work *told = draw_chance(rng, 50) ? any_told_idle(book, rng) : NULL;
        struct book_work *work = told ? told : mostly_runs(book, rng, 97);
        struct input input = {.kind = INPUT_USE_REPORTED};

        if (!work)
                return 1;
        input.use.workload = work->request.workload;
        int64_t ran_ms = book->now_ms - work->since_ms;
        if (draw_chance(rng, told ? 25 : 80))
                input.use.idle_since_ms = book->now_ms;
        if (input.use.idle_since_ms && draw_chance(rng, 60) && ran_ms > 0)
                input.use.idle_since_ms -= (int64_t)rng_below(rng, (uint64_t)ran_ms);
        if (draw_chance(rng, 3))
                input.use.idle_since_ms = draw_chance(rng, 50) ? work->since_ms - 1
                                                               : book->now_ms + 1;
        bool may = work->status == WORK_RUNS &&
                   (input.use.idle_since_ms == 0 || (input.use.idle_since_ms >= work->since_ms &&
                                                     input.use.idle_since_ms <= book->now_ms));
        return ask(trial, &input, input.use.workload, may, PROMISE_IDLE);
}

/* Mostly as long as its class says; a few cannot be. */
static int64_t draw_notice(const struct book *book, struct rng *rng, const struct book_work *work)
{
        switch (draw_below(rng, 20)) {
        case 0:
                return -1;
        case 1:
                return RUN_MS_MAX + 1;
        case 2:
        case 3:
        case 4:
                return 0;
        case 5:
        case 6:
                return draw_span(rng, SECOND_MS, 2 * HOUR_MS);
        default:
                return book_class(book, work)->notice_ms;
        }
}

/* Whether somebody may want that it stops. */
static bool may_be_asked(const struct book_work *work, int64_t notice_ms)
{
        return work->status == WORK_RUNS && !work->notice_until_ms && notice_ms >= 0 &&
               notice_ms <= RUN_MS_MAX;
}

int step_ask_to_stop(struct trial *trial, struct rng *rng)
{
        struct book_work *work = mostly_runs(trial->book, rng, 90);
        struct input input = {.kind = INPUT_STOP_ASKED};

        if (!work)
                return 1;
        input.stop.workload = work->request.workload;
        input.stop.notice_ms = draw_notice(trial->book, rng, work);
        return ask(trial, &input, input.stop.workload, may_be_asked(work, input.stop.notice_ms),
                   PROMISE_ASKED);
}

/* Some where it lies already, some that do not run: refused, and nothing changes. Others are where
 * there is no room. */
int step_move(struct trial *trial, struct rng *rng)
{
        struct book *book = trial->book;
        struct book_work *work = mostly_runs(book, rng, 95);
        struct input input = {.kind = INPUT_MOVE_ASKED};

        if (!work)
                return 1;
        input.move.workload = work->request.workload;
        input.move.notice_ms = draw_notice(book, rng, work);
        if (draw_chance(rng, 40))
                input.move.node = trial->pool.nodes[draw_below(rng,
                                                               trial->pool.nodes_count)].name;
        bool may = may_be_asked(work, input.move.notice_ms) && work->request.need.devices > 0 &&
                   !book_lies_frozen(book, work);
        int rc = trial_run(trial, &input);
        return rc <= 0 ? rc != 0
               : may   ? 1
                       : BOOK_FAIL(book, "workload %" PRIu64 " is moved, and cannot be",
                                   input.move.workload);
}

/* Its agent says that it ended for want of contact. */
int step_lose(struct trial *trial, struct rng *rng)
{
        struct book_work *work = mostly_runs(trial->book, rng, 90);

        if (!work)
                return 1;
        const struct input input = {.kind = INPUT_LOST, .workload = work->request.workload};
        return ask(trial, &input, input.workload, work->status == WORK_RUNS, PROMISE_LOST);
}

/* Word of a checkpoint: new or late, from before the newest or the run, a few from no time. */
int step_save(struct trial *trial, struct rng *rng)
{
        struct book *book = trial->book;
        struct book_work *work = mostly_runs(book, rng, 95);
        struct input input = {.kind = INPUT_CHECKPOINTED};

        if (!work)
                return 1;
        int64_t ran_ms = book->now_ms - work->since_ms, age_ms = 0, before_ms = work->saved_ms;
        unsigned kind = draw_below(rng, 20);
        if (kind >= 5)
                age_ms = (int64_t)rng_below(rng, (uint64_t)ran_ms + 1);
        if (kind >= 15)
                age_ms += draw_span(rng, SECOND_MS, HOUR_MS);
        if (kind == 18)
                age_ms = -1;
        if (kind == 19)
                age_ms = RUN_MS_MAX + 1;
        input.checkpoint.workload = work->request.workload;
        input.checkpoint.age_ms = age_ms;
        bool may = work->status == WORK_RUNS && age_ms >= 0 && age_ms <= RUN_MS_MAX;
        if (!ask(trial, &input, input.checkpoint.workload, may, PROMISE_SAVED))
                return 0;
        int64_t saved_ms = may && ran_ms - age_ms > before_ms ? ran_ms - age_ms : before_ms;
        return work->saved_ms == saved_ms ||
               BOOK_FAIL(book, "workload %" PRIu64 " has saved %" PRId64 " ms of its run, and %"
                               PRId64 " ms are kept",
                         input.checkpoint.workload, saved_ms, work->saved_ms);
}
