/* exact - thousands of small random histories, each decision checked against brute force.
 *
 * exact [FIRST..LAST | SEED]   (or BERTH_SEEDS; BERTH_CASES says how many from 1; default 10000)
 *
 * On a failure it says the seed and the shortest list of steps that still fails. The cases run in
 * a child process, so that an assert or a sanitizer's finding is shrunk like any other failure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/decide.h"
#include "tests/property/brute.h"
#include "tests/property/case.h"
#include "tests/property/shrink.h"

static const struct case_size small = {
        .nodes_min = 1,
        .nodes_max = 4,
        .devices_max = 6,
        .workloads_max = 5,
        .steps_min = 4,
        .steps_max = 26,
        .members_max = 4,
        .plans = true,
};

/* One history under way. */
struct trial {
        struct state *state;
        struct memo *memo;
        struct case_words words;
        struct brute brute;
        const struct input *input;
        int64_t now_ms;
        struct counts *counts;
        char *why;
        size_t why_size;
};

#define FAIL(trial, ...) (snprintf((trial)->why, (trial)->why_size, __VA_ARGS__), false)

/* 1, 0; a search that grew too big counts as `otherwise`, and is counted. */
static bool could(struct trial *trial, const struct request *request, enum brute_pool pool,
                  bool otherwise)
{
        int rc = brute_could(&trial->brute, request, pool);

        trial->counts->searches++;
        if (rc < 0)
                trial->counts->undecided++;
        return rc < 0 ? otherwise : rc == 1;
}

static bool goes_before(const struct brute_work *a, const struct brute_work *b)
{
        if (a->request.priority != b->request.priority)
                return a->request.priority > b->request.priority;
        return a->arrival < b->arrival;
}

/* ---- facts ---- */

static bool check_turn(struct trial *trial, const struct fact_allocated *fact)
{
        const struct brute_work *taken = brute_work(&trial->brute, fact->workload);

        if (fact->member != 0 || !taken)
                return true;
        for (unsigned i = 0; i < BRUTE_WORKS; i++) {
                const struct brute_work *other = &trial->brute.works[i];
                if (!other->live || other->placed || !goes_before(other, taken))
                        continue;
                if (could(trial, &other->request, BRUTE_NOW, false))
                        return FAIL(trial,
                                    "workload %" PRIu64 " is placed before workload %" PRIu64
                                    ", which waits in front of it and fits",
                                    fact->workload, other->request.workload);
        }
        trial->counts->placed++;
        return true;
}

static bool check_nearest(struct trial *trial, const struct fact_refused *fact)
{
        struct request nearest = fact->nearest;
        struct err err = {0};
        char text[512];

        if (!fact->has_nearest)
                return true;
        request_print(text, sizeof text, &nearest, trial->state->vocab);
        if (request_settle(&nearest, &err))
                return FAIL(trial, "the nearest request (%s) is not a valid one: %s", text,
                            err.text);
        if (!could(trial, &nearest, BRUTE_EMPTY, true))
                return FAIL(trial, "the nearest request (%s) does not fit into the empty pool",
                            text);
        return true;
}

static bool check_refused(struct trial *trial, const struct fact_refused *fact)
{
        struct request request = trial->input->request;

        trial->counts->refused++;
        if (trial->input->kind != INPUT_SUBMITTED || fact->workload != request.workload)
                return FAIL(trial, "workload %" PRIu64 " is refused out of the blue",
                            fact->workload);
        if (request_settle(&request, NULL))
                return FAIL(trial, "a request that is not valid is refused, and not an error");
        switch (fact->gate) {
        case GATE_FIT:
                if (!request.once)
                        return FAIL(trial, "a workload that may wait is refused");
                if (could(trial, &request, BRUTE_NOW, false))
                        return FAIL(trial, "workload %" PRIu64 " is refused (FIT), and it fits now",
                                    fact->workload);
                return true;
        case GATE_ALLOWED:
        case GATE_FEASIBLE:
                trial->counts->infeasible++;
                if (could(trial, &request, BRUTE_EMPTY, false))
                        return FAIL(trial,
                                    "workload %" PRIu64 " is refused (%s), and fits into the "
                                    "empty pool",
                                    fact->workload, gate_name(fact->gate));
                return check_nearest(trial, fact);
        case GATE_JOBS:
        case GATE_LIMIT:
        case GATE_BUDGET:
        case GATE_HOLD:
        case GATE_ORDER:
        case GATE_TABLE:
        case GATES_END:
                break;
        }
        return FAIL(trial, "workload %" PRIu64 " is refused by gate %s, and nothing calls for it",
                    fact->workload, gate_name(fact->gate));
}

static bool check_fact(struct trial *trial, const struct fact *fact)
{
        if (fact->kind == FACT_ALLOCATED)
                return check_turn(trial, &fact->allocated);
        if (fact->kind == FACT_REFUSED)
                return check_refused(trial, &fact->refused);
        if (fact->kind == FACT_QUEUED && !could(trial, &fact->queued, BRUTE_EMPTY, true))
                return FAIL(trial,
                            "workload %" PRIu64 " is queued, and no state of the pool could "
                            "hold it (FEASIBLE)",
                            fact->queued.workload);
        return true;
}

/* A level that is only preferred is reached all the same where that is possible. */
static bool prefers_and_could(struct trial *trial, const struct brute_work *work)
{
        struct request strict = work->request;

        if (work->placed || work->request.form.near == NEAR_NONE)
                return false;
        strict.form.near_required = 1;
        return could(trial, &strict, BRUTE_NOW, false);
}

static bool check_group(struct trial *trial, const struct group *group)
{
        const struct brute_work *placed = NULL;
        bool near = false;

        for (uint32_t i = 0; i < group->count; i++) {
                const struct fact *fact = &group->facts[i];
                if (fact->kind == FACT_ALLOCATED && !placed) {
                        placed = brute_work(&trial->brute, fact->allocated.workload);
                        near = placed && prefers_and_could(trial, placed);
                }
                if (!check_fact(trial, fact) ||
                    !brute_apply(&trial->brute, fact, trial->input, trial->why, trial->why_size))
                        return false;
                if (fact->kind == FACT_ALLOCATED) {
                        const struct brute_work *work =
                                brute_work(&trial->brute, fact->allocated.workload);
                        if (placed != work)
                                return FAIL(trial, "one group places two workloads");
                }
                state_apply(trial->state, fact, trial->now_ms);
        }
        state_check(trial->state);
        if (placed && !brute_placed_well(&trial->brute, placed, near, trial->why, trial->why_size))
                return false;
        return brute_group_ends(&trial->brute, trial->why, trial->why_size);
}

/* ---- steps ---- */

static bool is_live(struct trial *trial, uint64_t id)
{
        return brute_work(&trial->brute, id) != NULL;
}

/* An input fails when it cannot be meant: that is what these say, the others may. */
static bool check_failure(struct trial *trial, int rc, uint64_t hash_before, const struct err *err)
{
        struct request request = trial->input->request;

        if (err->text[0] == '\0' || err->code != (enum err_code) - rc)
                return FAIL(trial, "the input fails with code %d and no sentence for it", rc);
        if (state_hash(trial->state) != hash_before)
                return FAIL(trial, "the input fails (%s), and the state is another", err->text);
        if (trial->input->kind == INPUT_SUBMITTED && !is_live(trial, request.workload) &&
            request_settle(&request, NULL) == 0)
                return FAIL(trial, "a valid submission fails: %s", err->text);
        return true;
}

static bool check_accepted(struct trial *trial, bool was_live)
{
        struct request request = trial->input->request;

        switch (trial->input->kind) {
        case INPUT_SUBMITTED:
                if (was_live)
                        return FAIL(trial, "a workload that is there is submitted again");
                if (request_settle(&request, NULL))
                        return FAIL(trial, "a request that is not valid is taken");
                break;
        case INPUT_CANCELLED:
        case INPUT_EXITED:
                if (!was_live)
                        return FAIL(trial, "a workload ends that was never there");
                if (is_live(trial, trial->input->workload))
                        return FAIL(trial, "a workload that ended is still there");
                break;
        default:
                break;
        }
        return true;
}

/* After the queue had its turn, nobody waits who fits. */
static bool check_queue(struct trial *trial)
{
        for (unsigned i = 0; i < BRUTE_WORKS; i++) {
                const struct brute_work *work = &trial->brute.works[i];
                if (!work->live || work->placed)
                        continue;
                trial->counts->waits++;
                if (work->request.once)
                        return FAIL(trial,
                                    "workload %" PRIu64 " was to be placed now or never, "
                                    "and waits",
                                    work->request.workload);
                if (could(trial, &work->request, BRUTE_NOW, false))
                        return FAIL(trial, "workload %" PRIu64 " waits, and it fits now",
                                    work->request.workload);
        }
        return true;
}

static bool run_step(struct trial *trial, const struct input *input)
{
        uint64_t hash = state_hash(trial->state);
        uint64_t id = input->kind == INPUT_SUBMITTED ? input->request.workload : input->workload;
        bool was_live = is_live(trial, id);

        trial->input = input;
        trial->now_ms += 1000;
        for (unsigned step = 0; step < 64; step++) {
                struct group group;
                struct err err = {0};
                int rc = engine_decide(trial->state, trial->memo, input, trial->now_ms, step,
                                       &group, &err);
                if (rc && step > 0)
                        return FAIL(trial, "step %u of the input fails: %s", step, err.text);
                if (rc)
                        return check_failure(trial, rc, hash, &err);
                if (!check_group(trial, &group))
                        return false;
                if (step == 0 && !check_accepted(trial, was_live))
                        return false;
                if (!group.more)
                        return check_queue(trial);
        }
        return FAIL(trial, "the queue never comes to an end");
}

/* ---- cases ---- */

static struct model_table *models;

static struct policy policy_of(uint64_t seed)
{
        return (struct policy){.kind = (enum policy_kind)(seed % POLICIES_END), .seed = seed};
}

static enum memo_mode mode_of(uint64_t seed)
{
        return seed / POLICIES_END % 5 == 4 ? MEMO_SCAN : MEMO_INDEXED;
}

static bool trial_open(struct trial *trial, uint64_t seed)
{
        static const struct state_bounds bounds = {.nodes_max = 8,
                                                   .workloads_max = 16,
                                                   .members_max = 64,
                                                   .parts_max = 256,
                                                   .shapes_max = 64,
                                                   .buckets_max = 64};

        trial->state = state_new(models, &bounds);
        trial->memo = memo_new(policy_of(seed), mode_of(seed));
        if (!trial->state || !trial->memo ||
            case_words_enter(trial->state->vocab, &trial->words) < 0)
                return FAIL(trial, "out of memory");
        brute_init(&trial->brute, models, trial->state->vocab);
        return true;
}

static bool run_case(uint64_t seed, const struct step_set *keep, struct counts *counts, char *why,
                     size_t why_size)
{
        static struct history history;
        static struct trial trial;
        memset(&trial, 0, sizeof trial);
        trial.why = why;
        trial.why_size = why_size;
        trial.counts = counts;
        bool good = trial_open(&trial, seed);

        if (good)
                history_make(&history, &small, &trial.words, seed);
        counts->steps_made = history.count;
        for (unsigned i = 0; good && i < history.count; i++)
                if (step_set_has(keep, i)) {
                        counts->step = i;
                        good = run_step(&trial, &history.steps[i]);
                }
        memo_free(trial.memo);
        state_free(trial.state);
        return good;
}

static void print_case(uint64_t seed, const struct step_set *keep, unsigned last)
{
        static struct history history;
        struct state *state = state_new(models, &(struct state_bounds){.nodes_max = 8});
        struct case_words words;

        if (!state || case_words_enter(state->vocab, &words) < 0)
                return;
        history_make(&history, &small, &words, seed);
        printf("policy %s, %s\n", policy_name(policy_of(seed).kind),
               mode_of(seed) == MEMO_SCAN ? "all nodes looked at" : "indexed");
        shrink_print_steps(&history, keep, last, state->vocab, models);
        state_free(state);
}

int main(int argc, char **argv)
{
        static const struct shrink shrink = {
                .name = "exact", .cases = 10000, .run = run_case, .print = print_case,
                .models = &models};

        return shrink_main(&shrink, argc, argv);
}
