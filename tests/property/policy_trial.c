#include "tests/property/policy_trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/accounts.h"
#include "proto/policy_doc.h"
#include "tests/property/alike.h"
#include "tests/property/policy_log.h"

struct logged {
        struct input input;
        int64_t now_ms;
        unsigned policy;
        uint64_t hash_after;
};

/* ---- life ---- */

static struct state *open_state(const struct model_table *models, struct case_words *words)
{
        static const struct state_bounds bounds = {.nodes_max = BOOK_NODES,
                                                   .workloads_max = 1024,
                                                   .members_max = 2048,
                                                   .parts_max = 8192,
                                                   .shapes_max = 1024,
                                                   .buckets_max = 2048,
                                                   .plans_max = BOOK_PLANS};
        struct state *state = state_new(models, &bounds);

        if (state && case_words_enter(state->vocab, words) < 0) {
                state_free(state);
                return NULL;
        }
        return state;
}

bool trial_open(struct trial *trial, const struct model_table *models, uint64_t seed)
{
        struct rng rng;
        bool good = true;

        rng_init(&rng, seed);
        rng_init_stream(&trial->drops, seed, 1);
        trial->seed = seed;
        trial->placement = (struct policy){.kind = (enum policy_kind)(seed % POLICIES_END),
                                           .seed = seed};
        for (unsigned s = 0; s < TRIAL_STATES; s++)
                good &= (trial->states[s] = open_state(models, &trial->words)) != NULL;
        for (unsigned m = 0; m < TRIAL_REBUILT; m++)
                good &= (trial->memos[m] = memo_new(trial->placement, MEMO_INDEXED)) != NULL;
        good = good && trial_ledger_open(&trial->ledger, trial->states[TRIAL_KEPT],
                                         DRAW_START_MS);
        if (!good)
                return BOOK_FAIL(trial->book, "out of memory");
        book_init(trial->book, models, trial->states[0]->vocab);
        draw_pool(&rng, &trial->words, &trial->pool);
        uint64_t tree = rng_next(&rng);
        for (unsigned p = 0; p < TRIAL_POLICIES; p++) {
                uint64_t numbers = rng_next(&rng);
                trial->policies[p] = draw_policy(draw_chance(&rng, 80) ? tree : numbers, numbers,
                                                 &trial->pool, models, trial->verbose);
                if (!trial->policies[p])
                        return BOOK_FAIL(trial->book, "no policy could be drawn");
        }
        return true;
}

void trial_close(struct trial *trial)
{
        trial_ledger_close(&trial->ledger);
        for (unsigned m = 0; m < TRIAL_REBUILT; m++)
                memo_free(trial->memos[m]);
        for (unsigned s = 0; s < TRIAL_STATES; s++)
                state_free(trial->states[s]);
        for (unsigned p = 0; p < TRIAL_POLICIES; p++)
                policy_doc_free(trial->policies[p]);
        mem_free(trial->log);
}

/* ---- one input ---- */

static bool keep_input(struct trial *trial, const struct input *input)
{
        struct logged *log = mem_grow(trial->log, trial->log_count, &trial->log_room, 1024,
                                      sizeof *log);
        if (!log)
                return BOOK_FAIL(trial->book, "out of memory");
        trial->log = log;
        trial->log[trial->log_count++] = (struct logged){*input, trial->book->now_ms,
                                                         trial->policy, 0};
        return true;
}

static struct accounts *new_accounts(const struct trial *trial)
{
        return accounts_new(trial->policies[trial->policy]->tenancy, NULL);
}

static bool drop_memo(struct trial *trial)
{
        if (rng_below(&trial->drops, 6) != 0)
                return true;
        memo_free(trial->memos[TRIAL_DROPPED]);
        trial->memos[TRIAL_DROPPED] = memo_new(trial->placement, MEMO_INDEXED);
        return trial->memos[TRIAL_DROPPED] || BOOK_FAIL(trial->book, "out of memory");
}

static void say(const struct trial *trial, const struct input *input, unsigned step,
                const struct group *group)
{
        char text[1024];

        if (!trial->verbose)
                return;
        if (step == 0) {
                step_print(text, sizeof text, input, trial->states[0]->vocab,
                           trial->states[0]->models);
                printf("%" PRId64 " s: %s\n", (trial->book->now_ms - DRAW_START_MS) / 1000, text);
                if (input->kind == INPUT_SUBMITTED)
                        printf("        tenant %u class %u%s%s\n", input->request.tenant,
                               input->request.class, input->request.spare ? ", spare" : "",
                               input->request.service ? ", service" : "");
        }
        for (uint32_t i = 0; i < group->count; i++) {
                fact_print(text, sizeof text, &group->facts[i]);
                printf("        %u: %s\n", step, text);
        }
}

static bool same_groups(struct trial *trial, const struct group groups[TRIAL_REBUILT])
{
        struct book *book = trial->book;
        char texts[2][256];

        book->checked[PROMISE_ALIKE]++;
        for (uint32_t i = 0; i < groups[0].count && i < groups[1].count; i++) {
                if (fact_same(&groups[0].facts[i], &groups[1].facts[i]))
                        continue;
                for (unsigned w = 0; w < 2; w++)
                        fact_print(texts[w], sizeof texts[w], &groups[w].facts[i]);
                return BOOK_FAIL(book, "fact %u is '%s' with a memo that was kept, and '%s' with "
                                       "one made anew",
                                 i, texts[0], texts[1]);
        }
        if (groups[0].count == groups[1].count)
                return true;
        bool kept_more = groups[0].count > groups[1].count;
        fact_print(texts[0], sizeof texts[0],
                   &groups[!kept_more].facts[groups[kept_more].count]);
        return BOOK_FAIL(book, "%u facts with a memo that was kept, and %u with one made anew; "
                               "the next is '%s'",
                         groups[0].count, groups[1].count, texts[0]);
}

static bool apply_groups(struct trial *trial, const struct input *input,
                         const struct group groups[TRIAL_REBUILT])
{
        struct book *book = trial->book;

        trial_ledger_time(&trial->ledger, book);
        if (!book_group(book, input, groups[0].facts, groups[0].count))
                return false;
        for (unsigned w = 0; w < TRIAL_REBUILT; w++)
                for (uint32_t i = 0; i < groups[w].count; i++) {
                        if (w == TRIAL_KEPT)
                                ledger_see(trial->ledger.ledger, trial->states[w],
                                           &groups[w].facts[i], book->now_ms);
                        state_apply(trial->states[w], &groups[w].facts[i], book->now_ms);
                }
        for (uint32_t i = 0; i < groups[0].count; i++) {
                struct fact fact = groups[0].facts[i];
                if (fact.kind == FACT_POLICY_IN && !(fact.accounts = new_accounts(trial)))
                        return BOOK_FAIL(book, "out of memory");
                if (!log_told(book, &fact))
                        return false;
                state_apply(trial->states[TRIAL_REBUILT], &fact, book->now_ms);
                if (fact.kind == FACT_POLICY_IN &&
                    !book_standings(book, trial->states[TRIAL_KEPT]))
                        return false;
        }
        return true;
}

/* Whoever decides with a memo that is often made anew goes on from a snapshot. */
static bool restore(struct trial *trial)
{
        memo_free(trial->memos[TRIAL_DROPPED]);
        trial->memos[TRIAL_DROPPED] = memo_new(trial->placement, MEMO_INDEXED);
        if (!trial->memos[TRIAL_DROPPED])
                return BOOK_FAIL(trial->book, "out of memory");
        return log_restored(trial->book, &trial->states[TRIAL_DROPPED]);
}

static bool check_states(struct trial *trial)
{
        struct book *book = trial->book;
        uint64_t hash = state_hash(trial->states[TRIAL_KEPT]);

        state_check(trial->states[TRIAL_KEPT]);
        book->checked[PROMISE_CHECKED]++;
        if (trial->log_count % 8 != 0)
                return true;
        if (!trial_ledger_holds(&trial->ledger, trial->states[TRIAL_KEPT], book))
                return false;
        book->checked[PROMISE_REBUILT]++;
        if (state_hash(trial->states[TRIAL_DROPPED]) != hash)
                return BOOK_FAIL(book, "the states differ, and their facts did not");
        if (trial->log_count % 32 == 0 && !restore(trial))
                return false;
        return state_hash(trial->states[TRIAL_REBUILT]) == hash ||
               BOOK_FAIL(book, "the state made from the facts alone is another one");
}

static void count_tick(struct book *book)
{
        for (uint32_t t = 0; t < book->tenancy->tenants_count; t++)
                for (unsigned b = 0; b < TENANT_BUDGETS_MAX; b++)
                        book->budgets[t][b].used_at_tick = book->budgets[t][b].used;
}

/* A failed input has a sentence, fails in all ways, and has changed nothing. */
static int check_failure(struct trial *trial, const struct input *input, uint64_t hash_before,
                         const int rcs[TRIAL_REBUILT], const struct err *err,
                         struct input ways[TRIAL_REBUILT])
{
        for (unsigned w = 0; w < TRIAL_REBUILT; w++)
                if (input->kind == INPUT_POLICY_SET)
                        accounts_free(ways[w].accounts);
        if (trial->verbose)
                printf("        fails: %s\n", err->text);
        if (rcs[0] != rcs[1])
                return BOOK_FAIL(trial->book, "an input fails in one way only (%d, %d)", rcs[0],
                                 rcs[1]);
        if (err->text[0] == '\0')
                return BOOK_FAIL(trial->book, "an input fails without a sentence");
        if (state_hash(trial->states[0]) != hash_before)
                return BOOK_FAIL(trial->book, "an input fails and changes the state");
        return rcs[0];
}

int trial_run(struct trial *trial, const struct input *input)
{
        struct input ways[TRIAL_REBUILT] = {*input, *input};
        uint64_t hash = state_hash(trial->states[0]);
        bool more = true;

        if (!keep_input(trial, input))
                return 0;
        for (unsigned w = 0; w < TRIAL_REBUILT && input->kind == INPUT_POLICY_SET; w++)
                if (!(ways[w].accounts = new_accounts(trial)))
                        return BOOK_FAIL(trial->book, "out of memory");
        for (unsigned step = 0; more; step++) {
                struct group groups[TRIAL_REBUILT] = {0};
                struct err errs[TRIAL_REBUILT] = {0};
                int rcs[TRIAL_REBUILT];
                if (!drop_memo(trial))
                        return 0;
                for (unsigned w = 0; w < TRIAL_REBUILT; w++)
                        rcs[w] = engine_decide(trial->states[w], trial->memos[w], &ways[w],
                                               trial->book->now_ms, step, &groups[w], &errs[w]);
                say(trial, input, step, &groups[0]);
                if (rcs[0] || rcs[1]) {
                        trial->log[trial->log_count - 1].hash_after = hash;
                        if (step > 0)
                                return BOOK_FAIL(trial->book, "step %u fails: %s", step,
                                                 errs[rcs[0] == 0].text);
                        return check_failure(trial, input, hash, rcs, &errs[rcs[0] == 0], ways);
                }
                if (!same_groups(trial, groups)) {
                        if (trial->verbose)
                                printf("    with a memo made anew:\n");
                        say(trial, input, step, &groups[1]);
                        return 0;
                }
                if (!apply_groups(trial, input, groups))
                        return 0;
                more = groups[0].more || groups[1].more;
                if (step > 5000)
                        return BOOK_FAIL(trial->book, "the queue's turn does not end");
        }
        if (input->kind == INPUT_TICKED && trial->book->tenancy)
                count_tick(trial->book);
        trial->log[trial->log_count - 1].hash_after = state_hash(trial->states[TRIAL_KEPT]);
        return check_states(trial);
}

int trial_try(struct trial *trial, const struct input *input)
{
        return trial_run(trial, input) != 0;
}

/* ---- once more ---- */

struct retold {
        char text[4096];                /* the newest input's facts, as many as it holds */
        size_t used;
};

static void retell(void *arg, const struct fact *fact)
{
        struct retold *retold = arg;
        char text[1024];

        fact_print(text, sizeof text, fact);
        size_t left = sizeof retold->text - retold->used;
        int length = snprintf(retold->text + retold->used, left, "        %s\n", text);
        retold->used += (size_t)length < left ? (size_t)length : left - 1;
}

static bool run_again(struct trial *trial, struct state *state, struct memo *memo,
                      struct logged *logged)
{
        struct retold retold = {.used = 0};

        trial->policy = logged->policy;
        if (logged->input.kind == INPUT_POLICY_SET)
                logged->input.accounts = new_accounts(trial);
        int rc = engine_run(state, memo, &logged->input, logged->now_ms,
                            trial->verbose ? retell : NULL, &retold, NULL);
        if (rc && logged->input.kind == INPUT_POLICY_SET)
                accounts_free(logged->input.accounts);
        if (state_hash(state) == logged->hash_after)
                return true;
        if (trial->verbose)
                printf("    when every node is looked at:\n%s", retold.text);
        return BOOK_FAIL(trial->book,
                         "%s at %" PRId64 " s makes another state when every node is looked at",
                         input_name(logged->input.kind),
                         (logged->now_ms - DRAW_START_MS) / 1000);
}

bool trial_replays(struct trial *trial)
{
        struct case_words words;
        struct state *state = open_state(trial->states[0]->models, &words);
        struct memo *memo = memo_new(trial->placement, MEMO_SCAN);
        bool good = state && memo;

        for (uint32_t i = 0; good && i < trial->log_count; i++)
                good = run_again(trial, state, memo, &trial->log[i]);
        trial->book->checked[PROMISE_REPLAYED] += good;
        memo_free(memo);
        state_free(state);
        return good;
}

bool trial_holds_well(const struct trial *trial)
{
        const struct state *state = trial->states[TRIAL_KEPT];

        for (uint32_t n = 0; n < state->node_slots.high; n++) {
                uint32_t held_for = state->nodes[n].held_for;
                struct book_place held[BOOK_NODES] = {0};
                unsigned count = 0;
                if (held_for == 0)
                        continue;
                for (uint32_t k = 0; k < state->node_slots.high; k++)
                        if (state->nodes[k].held_for == held_for)
                                held[count++].node = k;
                uint32_t bucket = state->workloads[held_for - 1].bucket;
                trial->book->checked[PROMISE_HELD]++;
                if (!book_lies_as_wished(trial->book, &state->buckets[bucket].form, held, count))
                        return BOOK_FAIL(trial->book, "nodes held for workload %" PRIu64
                                                      " lie not as it must",
                                         state->workloads[held_for - 1].id);
        }
        return true;
}
