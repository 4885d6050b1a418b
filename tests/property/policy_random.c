/* policy_random - random histories under random policies: every promise is checked at every step.
 *
 * policy_random [FIRST..LAST | SEED]   (or BERTH_SEEDS; BERTH_CASES says how many from 1)
 *
 * A seed draws a pool, three policies and some hundred steps in virtual time. Work ends, saves,
 * fails and stops as drawn; time ticks each minute. Then nothing more is submitted, all that was
 * taken away comes back, and everybody who waits for nothing but others must start.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/accounts.h"
#include "engine/gang.h"
#include "proto/policy_doc.h"
#include "tests/property/policy_steps.h"
#include "tests/property/shrink.h"

/* What is counted among the others of shrink.h, behind the promises: each of them first. */
enum {
        COUNT_DRAINED_MIN = PROMISES_END,       /* the longest until the last one started */
        COUNT_WAIT_ON,                          /* for a limit, a budget or a promise */
        COUNT_PLANS,                            /* by cause */
        COUNT_REQUEUED = COUNT_PLANS + PLAN_CAUSES_END,
        COUNT_RAISED, COUNT_RESCUED, COUNT_HELD, COUNT_POLICIES, COUNT_WITHDRAWN,
        COUNT_IDLE,                             /* reports, and what was done, by word */
        COUNT_USED_AGAIN = COUNT_IDLE + IDLE_THENS_END,
        COUNT_INPUTS,
        COUNTS_END
};
_Static_assert(COUNTS_END <= sizeof((struct counts *)0)->others / sizeof(uint64_t),
               "shrink.h has room for what is counted");

static struct book book;
static struct model_table *models;

static int64_t to_next_tick(int64_t now_ms)
{
        return now_ms - now_ms % MINUTE_MS + MINUTE_MS;
}

/* ---- what work does ---- */

static int64_t end_ms(const struct book_work *work)
{
        int64_t left = work->need_ms - work->attained_ms;

        return work->since_ms + (left > SECOND_MS ? left : SECOND_MS);
}

static int64_t saves_ms(const struct book_work *work)
{
        int64_t every = work->request.checkpoint_every_ms;

        return every > 0 ? work->since_ms + work->saved_ms + every : INT64_MAX;
}

/* The next thing that running work does, and when. */
static int64_t next_of(const struct book_work *work, struct input *ret_input)
{
        int64_t at = end_ms(work), saves = saves_ms(work);

        *ret_input = (struct input){.kind = work->fails ? INPUT_FAILED : INPUT_EXITED,
                                    .workload = work->request.workload};
        if (work->notice_until_ms && work->notice_until_ms + work->delay_ms <= at) {
                at = work->notice_until_ms + work->delay_ms;
                ret_input->kind = INPUT_STOPPED;
        }
        if (saves < at) {
                at = saves;
                ret_input->kind = INPUT_CHECKPOINTED;
                ret_input->checkpoint.age_ms = work->age_ms;
        }
        return at;
}

/* The next event of all; ticks come first. */
static int64_t next_event(struct input *ret_input)
{
        int64_t first = INT64_MAX;

        for (uint64_t w = 1; w <= book.last_id; w++) {
                struct input input;
                if (book.works[w].status != WORK_RUNS)
                        continue;
                int64_t at = next_of(&book.works[w], &input);
                if (at < first) {
                        first = at;
                        *ret_input = input;
                }
        }
        return first;
}

/* 1, or 0: something is broken. */
static int run_at(struct trial *trial, int64_t at_ms, const struct input *input)
{
        book_time(&book, at_ms > book.now_ms ? at_ms : book.now_ms);
        int rc = trial_run(trial, input);
        if (rc == 0)
                return 0;
        if (rc < 0)
                return BOOK_FAIL(&book, "%s of workload %" PRIu64 " fails with %d",
                                 input_name(input->kind), input->workload, rc);
        struct book_work *work = input->kind == INPUT_FAILED
                                         ? book_work(&book, input->workload)
                                         : NULL;
        if (work)
                work->fails = false;
        return 1;
}

static int tick(struct trial *trial, int64_t at_ms)
{
        return run_at(trial, at_ms, &(struct input){.kind = INPUT_TICKED}) &&
               law_all_told(&book) && law_all_idle(&book) && trial_holds_well(trial);
}

/* Up to the time: what is due happens, and the clock ticks each minute. */
static int advance(struct trial *trial, int64_t until_ms)
{
        for (;;) {
                struct input input = {0};
                int64_t at = next_event(&input), ticks = to_next_tick(book.now_ms);
                if (at > until_ms && ticks > until_ms) {
                        book_time(&book, until_ms);
                        return 1;
                }
                int good = ticks <= at ? tick(trial, ticks) : run_at(trial, at, &input);
                if (!good)
                        return 0;
        }
}

/* ---- steps ---- */

static int run_step(struct trial *trial, unsigned step)
{
        enum { SUBMIT, WAIT, CANCEL, HOLD, STOP, CHANGE, OBSERVE, FREEZE, MAINTAIN, POLICY, EXIT,
               FAIL, USE, MOVE, LOSE, ASK, SAVE, DESCRIBE, SILENCE, BREAK, KINDS };
        static const uint64_t weights[KINDS] = {54, 12, 4, 4, 5, 8, 4, 4, 2, 1, 4, 2, 16, 6,
                                                3,  5,  5, 3, 3, 3};
        struct rng rng;
        int64_t span;

        rng_init_stream(&rng, trial->seed, 10 + step);
        unsigned size = draw_below(&rng, 20);
        span = size < 14   ? draw_below(&rng, 40000)
               : size < 19 ? draw_below(&rng, 180000)
                           : draw_span(&rng, 3 * MINUTE_MS, HOUR_MS);
        if (!advance(trial, book.now_ms + span))
                return 0;
        switch (rng_weighted(&rng, weights, KINDS)) {
        case SUBMIT:
                return step_submit(trial, &rng, step);
        case CANCEL:
                return step_of_work(trial, &rng, INPUT_CANCELLED,
                                    draw_chance(&rng, 60) ? WORK_WAITS : WORK_RUNS);
        case HOLD:
                return step_of_work(trial, &rng, INPUT_HOLD_CHANGED,
                                    draw_chance(&rng, 80) ? WORK_WAITS : WORK_RUNS);
        case STOP:
                return step_stop(trial, &rng);
        case CHANGE:
                return step_change_node(trial, &rng);
        case OBSERVE:
                return step_observe(trial, &rng);
        case FREEZE:
                return step_freeze(trial, &rng);
        case MAINTAIN:
                return step_maintain(trial, draw_below(&rng, TRIAL_WINDOWS));
        case POLICY:
                return step_policy(trial, draw_below(&rng, TRIAL_POLICIES));
        case EXIT:
                return step_of_work(trial, &rng, INPUT_EXITED, WORK_RUNS);
        case USE:
                return step_use(trial, &rng);
        case MOVE:
                return step_move(trial, &rng);
        case LOSE:
                return step_lose(trial, &rng);
        case ASK:
                return step_ask_to_stop(trial, &rng);
        case SAVE:
                return step_save(trial, &rng);
        case DESCRIBE:
                return step_describe(trial, &rng);
        case SILENCE:
                return step_silence(trial, &rng);
        case BREAK:
                return step_break(trial, &rng);
        case FAIL:
                return step_of_work(trial, &rng, INPUT_FAILED, WORK_RUNS);
        default:
                return 1;
        }
}

/* ---- the end: everybody starts ---- */

static unsigned count_of(enum work_status status)
{
        unsigned count = 0;

        for (uint64_t w = 1; w <= book.last_id; w++)
                count += book.works[w].status == status;
        return count;
}

/* What is held of memory and slices is known of a place only: such a limit may forbid all of them,
 * and the gates do not say so. */
static bool has_late_limit(const struct book_work *work)
{
        bool late = false;

        for (uint16_t t = work->request.tenant; t != TENANT_NONE;
             t = book.tenancy->tenants[t].parent)
                for (unsigned d = DIM_MEMORY; d < DIMENSIONS_END; d++)
                        late |= (d == DIM_MEMORY || d >= DIM_SLICES) &&
                                amount_is_number(book.tenancy->tenants[t].limit[d]);
        return late;
}

/* Models that one workload may lie on together: where nothing is kept for promises and it would be
 * standard on each, or spare. One promise pays for all of a workload: of others it needs one model
 * that holds it alone. */
static uint64_t mixture(const struct state *state, const struct admission *admission)
{
        const uint64_t *as = admission->models;

        if (state->accounts->kept_in_all > 0 || as[STANDING_PROTECTED])
                return 0;
        return as[STANDING_STANDARD] && as[STANDING_SPARE]
                       ? 0
                       : as[STANDING_STANDARD] | as[STANDING_SPARE];
}

static bool could_lie(struct trial *trial, struct need need, const struct book_work *work,
                      uint64_t allowed)
{
        need.models &= allowed;
        return need.models &&
               gang_feasible(trial->memos[TRIAL_KEPT], trial->states[TRIAL_KEPT], &need,
                             &work->request.form, NULL) == 1;
}

/* Whether it waits although nothing but others was in its way, and there is nobody else. */
static bool is_starved(struct trial *trial, const struct book_work *work)
{
        const struct state *state = trial->states[TRIAL_KEPT];
        uint32_t slot = state_workload(state, work->request.workload);
        struct admission admission;
        struct need need = work->request.need;

        if (state->workloads[slot].holds || has_late_limit(work))
                return false;
        accounts_admit(state, state->workloads[slot].bucket, &admission);
        if (admission.gate != GATE_FIT)
                return false;           /* a limit, a budget, or kept for others' promises */
        if (need.devices == 0)
                return could_lie(trial, need, work, need.models);
        uint64_t mixed = mixture(state, &admission), allowed = 0;
        for (unsigned s = 0; s < STANDINGS_END; s++)
                allowed |= admission.models[s];
        for (uint64_t left = allowed & need.models & ~mixed; left; left &= left - 1)
                if (could_lie(trial, need, work, left & -left))
                        return true;
        return mixed && could_lie(trial, need, work, mixed);
}

static int drain(struct trial *trial, struct counts *counts)
{
        int64_t begin = book.now_ms, idle = 0;

        if (!step_restore(trial))
                return 0;
        while (count_of(WORK_WAITS) > 0 || count_of(WORK_RUNS) > 0) {
                struct input input = {0};
                int64_t at = next_event(&input);
                bool runs = at != INT64_MAX;
                if (runs && (!run_at(trial, at, &input) || !step_mend(trial)))
                        return 0;
                if (!tick(trial, to_next_tick(book.now_ms)))
                        return 0;
                idle = runs ? 0 : idle + 1;
                if (idle > 3)
                        break;
                if (book.now_ms - begin > 90 * DAY_MS)
                        return BOOK_FAIL(&book, "after 90 days without submissions %u wait and %u "
                                                "run",
                                         count_of(WORK_WAITS), count_of(WORK_RUNS));
        }
        int64_t took = (book.now_ms - begin) / MINUTE_MS;
        if (counts->others[COUNT_DRAINED_MIN] < (uint64_t)took)
                counts->others[COUNT_DRAINED_MIN] = (uint64_t)took;
        for (uint64_t w = 1; w <= book.last_id; w++) {
                if (book.works[w].status != WORK_WAITS)
                        continue;
                book.checked[PROMISE_STARTS]++;
                counts->others[COUNT_WAIT_ON]++;
                if (is_starved(trial, &book.works[w]))
                        return BOOK_FAIL(&book, "workload %" PRIu64 " waits for ever in a pool "
                                                "without work",
                                         w);
        }
        return 1;
}

/* ---- cases ---- */

static int open_pool(struct trial *trial)
{
        step_draw_windows(trial);
        book_time(&book, DRAW_START_MS);
        for (unsigned n = 0; n < trial->pool.nodes_count; n++)
                if (!trial_try(trial, &(struct input){.kind = INPUT_NODE_JOINED,
                                                .node = trial->pool.nodes[n]}))
                        return 0;
        return tick(trial, DRAW_START_MS) && step_policy(trial, 0);
}

static bool verbose;

static bool run_case(uint64_t seed, const struct step_set *keep, struct counts *counts, char *why,
                     size_t why_size)
{
        struct trial trial = {.book = &book, .verbose = verbose};
        struct rng rng;
        int good = trial_open(&trial, models, seed) && open_pool(&trial);

        rng_init_stream(&rng, seed, 2);
        unsigned steps = 100 + draw_below(&rng, 400);
        counts->steps_made = steps;
        for (unsigned i = 0; good && i < steps; i++) {
                counts->step = i;
                if (step_set_has(keep, i))
                        good = run_step(&trial, i);
        }
        if (good)
                good = drain(&trial, counts) && trial_replays(&trial);
        for (unsigned p = 0; p < PROMISES_END; p++)
                counts->others[p] += book.checked[p];
        counts->placed += book.seen[FACT_ALLOCATED];
        counts->refused += book.seen[FACT_REFUSED];
        for (unsigned c = 0; c < PLAN_CAUSES_END; c++)
                counts->others[COUNT_PLANS + c] += book.causes[c];
        static const uint8_t facts[] = {FACT_REQUEUED, FACT_STANDING_SET, FACT_RESCUED,
                                        FACT_NODE_HELD, FACT_POLICY_IN, FACT_NOTICE_WITHDRAWN};
        for (unsigned f = 0; f < ARRAY_LEN(facts); f++)
                counts->others[COUNT_REQUEUED + f] += book.seen[facts[f]];
        for (unsigned t = 0; t < IDLE_THENS_END; t++)
                counts->others[COUNT_IDLE + t] += book.idle[t];
        counts->others[COUNT_IDLE] += book.seen[FACT_USE_SET];
        counts->others[COUNT_USED_AGAIN] += book.rises;
        counts->others[COUNT_INPUTS] += trial.log_count;
        snprintf(why, why_size, "%s", book.why);
        trial_close(&trial);
        return good;
}

static void print_case(uint64_t seed, const struct step_set *keep, unsigned last)
{
        struct counts counts = {0};
        char why[512];

        fflush(stdout);
        pid_t child = fork();
        if (child < 0)
                return;
        if (child > 0) {
                waitpid(child, NULL, 0);
                return;
        }
        setvbuf(stdout, NULL, _IOLBF, 0);
        verbose = true;
        run_case(seed, keep, &counts, why, sizeof why);
        printf("step %u: %s\n", last + 1, why);
        _exit(0);
}

static void summary(const struct counts *counts)
{
        static const char *const words[PROMISES_END] = {
#define X(name, text) [PROMISE_##name] = text,
                PROMISES(X)
#undef X
        };
        const uint64_t *others = counts->others;
        uint64_t all = 0;

        for (unsigned p = 0; p < PROMISES_END; p++)
                all += others[p];
        printf("%" PRIu64 " inputs, %" PRIu64 " members placed, %" PRIu64 " refused, %" PRIu64
               " queued again, %" PRIu64 " raised, %" PRIu64 " rescued, %" PRIu64
               " nodes held, %" PRIu64 " policies, %" PRIu64 " notices withdrawn\n",
               others[COUNT_INPUTS], counts->placed, counts->refused, others[COUNT_REQUEUED],
               others[COUNT_RAISED], others[COUNT_RESCUED], others[COUNT_HELD],
               others[COUNT_POLICIES], others[COUNT_WITHDRAWN]);
        printf("  plans:");
        for (unsigned c = 0; c < PLAN_CAUSES_END; c++)
                printf(" %" PRIu64 " %s", others[COUNT_PLANS + c],
                       plan_cause_name((enum plan_cause)c));
        printf("; the last one started within %" PRIu64 " minutes after the last submission; "
               "%" PRIu64 " wait for a limit, a budget or a promise\n",
               others[COUNT_DRAINED_MIN], others[COUNT_WAIT_ON]);
        printf("  idle: %" PRIu64 " reports, %" PRIu64 " warned, %" PRIu64 " made spare, %" PRIu64
               " told to stop, %" PRIu64 " no longer spare\n",
               others[COUNT_IDLE], others[COUNT_IDLE + IDLE_THEN_WARN],
               others[COUNT_IDLE + IDLE_THEN_DEMOTE], others[COUNT_IDLE + IDLE_THEN_STOP],
               others[COUNT_USED_AGAIN]);
        for (unsigned p = 0; p < PROMISES_END; p++)
                printf("  %10" PRIu64 "  %s\n", others[p], words[p]);
        printf("checked %" PRIu64 " promises, 0 broken\n", all);
}

int main(int argc, char **argv)
{
        static const struct shrink shrink = {.name = "policy_random",
                                             .cases = 200,
                                             .models = &models,
                                             .run = run_case,
                                             .print = print_case,
                                             .summary = summary};

        return shrink_main(&shrink, argc, argv);
}
