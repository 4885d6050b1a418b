/* memo - long random histories of middling pools, decided four ways at once.
 *
 * memo [FIRST..LAST | SEED]    (or BERTH_SEEDS; BERTH_CASES says how many from 1)
 *
 * The same inputs go to a memo that is kept all along, to one that is dropped and made anew at
 * random points, and to one that looks at every node each time; each has a state of its own. Their
 * facts must be the same, field by field, and so the states' hashes. A fourth state is only given
 * the facts, as after a restart: it must come to the same hash.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/decide.h"
#include "plan/price_make.h"
#include "tests/property/alike.h"
#include "tests/property/case.h"
#include "tests/property/shrink.h"

enum { KEPT, DROPPED, SCAN, WAYS };

static const char *const way_names[WAYS] = {"a memo kept all along", "a memo made anew",
                                            "a look at every node"};

struct trial {
        struct policy policy;
        struct state *states[WAYS];
        struct memo *memos[WAYS];
        struct state *recovered; /* gets the facts alone */
        struct case_words words;
        struct rng drops;
        int64_t now_ms;
        struct counts *counts;
        char *why;
        size_t why_size;
};

#define FAIL(trial, ...) (snprintf((trial)->why, (trial)->why_size, __VA_ARGS__), false)

static struct model_table *models;

/* ---- what is run ---- */

/* All policies in turn, and `auto` once more without any plan. */
static unsigned turn_of(uint64_t seed)
{
        return (unsigned)(seed % (POLICIES_END + 1));
}

static struct policy policy_of(uint64_t seed)
{
        unsigned turn = turn_of(seed);

        return (struct policy){.kind = turn == POLICIES_END ? POLICY_AUTO : (enum policy_kind)turn,
                               .seed = seed};
}

static struct case_size size_of(uint64_t seed)
{
        return (struct case_size){
                .nodes_min = 20,
                .nodes_max = 60,
                .devices_max = 240,
                .workloads_max = 150,
                .steps_min = 300,
                .steps_max = 700,
                .members_max = 8,
                .plans = turn_of(seed) != POLICIES_END,
        };
}

/* The first plan is random; the second is what the maker of plans makes of its demand. */
static bool price_second_plan(struct history *history)
{
        static struct price_kind kinds[PRICE_KINDS_MAX];
        struct price_plan *plan = &history->plans[1];
        struct price_options options = PRICE_OPTIONS_DEFAULT;
        struct price_report report;
        struct price_maker *maker;
        size_t count = 0;

        for (unsigned i = 0; i < history->count; i++) {
                const struct node_desc *desc = &history->steps[i].node;
                if (history->steps[i].kind != INPUT_NODE_JOINED || desc->devices == 0 ||
                    count == 40)
                        continue;
                kinds[count++] = (struct price_kind){.model = desc->model,
                                                     .devices = desc->devices,
                                                     .cpu_milli = desc->cpu_milli,
                                                     .nodes = 1};
        }
        options.rounds = 32;
        if (count == 0 || price_maker_new(kinds, count, &maker, NULL))
                return count == 0;
        int rc = price_maker_run(maker, plan->shapes, plan->shapes_count, &options, &plan->table,
                                 &report, NULL);
        price_maker_free(maker);
        plan->priced = rc == 0;
        return rc == 0;
}

static void make(struct history *history, const struct case_words *words, uint64_t seed)
{
        struct case_size size = size_of(seed);

        history_make(history, &size, words, seed);
        if (size.plans && !price_second_plan(history))
                fprintf(stderr, "seed %" PRIu64 ": its demand could not be priced\n", seed);
}

/* ---- one history ---- */

static bool same_group(struct trial *trial, unsigned way, const struct group *a,
                       const struct group *b)
{
        char texts[2][256];

        for (uint32_t i = 0; i < a->count && i < b->count; i++) {
                if (fact_same(&a->facts[i], &b->facts[i]))
                        continue;
                fact_print(texts[0], sizeof texts[0], &a->facts[i]);
                fact_print(texts[1], sizeof texts[1], &b->facts[i]);
                return FAIL(trial, "fact %u of the group is '%s' with %s, but '%s' with %s", i,
                            texts[0], way_names[KEPT], texts[1], way_names[way]);
        }
        if (a->count != b->count)
                return FAIL(trial, "%u facts with %s, but %u with %s", a->count, way_names[KEPT],
                            b->count, way_names[way]);
        return true;
}

static enum memo_mode mode_of(unsigned way)
{
        return way == SCAN ? MEMO_SCAN : MEMO_INDEXED;
}

static bool same_hashes(struct trial *trial)
{
        uint64_t hash = state_hash(trial->states[KEPT]);

        for (unsigned way = 1; way < WAYS; way++)
                if (state_hash(trial->states[way]) != hash)
                        return FAIL(trial, "the state after %s is not the one after %s",
                                    way_names[way], way_names[KEPT]);
        if (state_hash(trial->recovered) != hash)
                return FAIL(trial, "the state made from the facts alone is another one");
        return true;
}

static bool decide_all(struct trial *trial, const struct input *input, unsigned step,
                       bool *ret_more)
{
        struct group groups[WAYS] = {0};
        int rcs[WAYS];

        for (unsigned way = 0; way < WAYS; way++) {
                if (way == DROPPED && rng_below(&trial->drops, 8) == 0) {
                        memo_free(trial->memos[way]);
                        trial->memos[way] = memo_new(trial->policy, mode_of(way));
                        if (!trial->memos[way])
                                return FAIL(trial, "out of memory");
                }
                struct err err = {0};
                rcs[way] = engine_decide(trial->states[way], trial->memos[way], input,
                                         trial->now_ms, step, &groups[way], &err);
                if (rcs[way] && step > 0)
                        return FAIL(trial, "step %u fails: %s", step, err.text);
                if (rcs[way] != rcs[KEPT])
                        return FAIL(trial, "code %d with %s, but %d with %s (%s)", rcs[KEPT],
                                    way_names[KEPT], rcs[way], way_names[way], err.text);
                if (!same_group(trial, way, &groups[KEPT], &groups[way]))
                        return false;
        }
        /* `more` may differ: it is a question of when nothing follows any more. */
        *ret_more = false;
        for (unsigned way = 0; way < WAYS; way++) {
                *ret_more |= groups[way].more;
                for (uint32_t i = 0; i < groups[way].count; i++) {
                        const struct fact *fact = &groups[way].facts[i];
                        state_apply(trial->states[way], fact, trial->now_ms);
                        if (way == KEPT) {
                                state_apply(trial->recovered, fact, trial->now_ms);
                                trial->counts->placed += fact->kind == FACT_ALLOCATED;
                                trial->counts->refused += fact->kind == FACT_REFUSED;
                        }
                }
        }
        return true;
}

static bool run_step(struct trial *trial, const struct input *input)
{
        bool more = true;

        trial->now_ms += 1000;
        for (unsigned step = 0; more; step++)
                if (!decide_all(trial, input, step, &more))
                        return false;
        trial->counts->waits += trial->states[KEPT]->waiting;
        return true;
}

static struct state *open_state(struct case_words *words)
{
        static const struct state_bounds bounds = {.nodes_max = 64,
                                                   .workloads_max = 256,
                                                   .members_max = 2048,
                                                   .parts_max = 8192,
                                                   .shapes_max = 1024,
                                                   .buckets_max = 1024};
        struct state *state = state_new(models, &bounds);

        if (state && case_words_enter(state->vocab, words) < 0) {
                state_free(state);
                return NULL;
        }
        return state;
}

static bool trial_open(struct trial *trial, uint64_t seed)
{
        trial->policy = policy_of(seed);
        rng_init_stream(&trial->drops, seed, 1);
        trial->recovered = open_state(&trial->words);
        bool good = trial->recovered != NULL;
        for (unsigned way = 0; way < WAYS; way++) {
                trial->states[way] = open_state(&trial->words);
                trial->memos[way] = memo_new(trial->policy, mode_of(way));
                good &= trial->states[way] && trial->memos[way];
        }
        return good || FAIL(trial, "out of memory");
}

static bool run_case(uint64_t seed, const struct step_set *keep, struct counts *counts, char *why,
                     size_t why_size)
{
        static struct history history;
        struct trial trial = {.counts = counts, .why = why, .why_size = why_size};
        bool good = trial_open(&trial, seed);

        if (good)
                make(&history, &trial.words, seed);
        counts->steps_made = history.count;
        for (unsigned i = 0; good && i < history.count; i++) {
                if (!step_set_has(keep, i))
                        continue;
                counts->step = i;
                good = run_step(&trial, &history.steps[i]) && (i % 16 || same_hashes(&trial));
        }
        if (good) {
                state_check(trial.states[KEPT]);
                good = same_hashes(&trial);
        }
        for (unsigned way = 0; way < WAYS; way++) {
                memo_free(trial.memos[way]);
                state_free(trial.states[way]);
        }
        state_free(trial.recovered);
        return good;
}

static void print_case(uint64_t seed, const struct step_set *keep, unsigned last)
{
        static struct history history;
        struct case_words words;
        struct state *state = open_state(&words);

        if (!state)
                return;
        make(&history, &words, seed);
        printf("policy %s\n", policy_name(policy_of(seed).kind));
        shrink_print_steps(&history, keep, last, state->vocab, models);
        state_free(state);
}

int main(int argc, char **argv)
{
        static const struct shrink shrink = {
                .name = "memo", .cases = 110, .run = run_case, .print = print_case,
                .models = &models};

        return shrink_main(&shrink, argc, argv);
}
