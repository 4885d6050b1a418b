/* Random histories under random rules of isolation, looked at by code of its own:
 *   nothing starts beside what it must be apart from, nor where it may not lie;
 *   nobody waits who could start: the rules bar no more than they say;
 *   an index, a scan of all nodes and a memo that is dropped each time decide alike. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "engine/accounts.h"
#include "engine/decide.h"
#include "engine/explain.h"
#include "proto/model_doc.h"
#include "proto/policy_doc.h"
#include "tests/property/isolate_draw.h"
#include "tests/property/isolate_rules.h"
#include "tests/property/shrink.h"

enum { STEPS = 90, IDS = 256 };
enum { KEPT, SCANNED, DROPPED, WAYS };

static struct model_table *models;

struct trial {
        uint64_t seed;
        struct state *states[WAYS];
        struct memo *memos[WAYS];
        struct policy_doc *policy, *before;
        struct counts *counts;
        char *why;
        size_t why_size;
        int64_t now_ms;
        uint64_t started[IDS];
        unsigned started_count;
        uint64_t last_id;
};

#define FAIL(trial, ...) (snprintf((trial)->why, (trial)->why_size, __VA_ARGS__), false)

static struct policy placement(uint64_t seed)
{
        return (struct policy){.kind = (enum policy_kind)(seed % POLICIES_END), .seed = seed};
}

/* ---- what must hold ---- */

static bool check_started(struct trial *trial, uint64_t id, struct later later)
{
        const struct state *state = trial->states[KEPT];
        uint32_t slot = state_workload(state, id);

        if (slot == NONE)
                return true;
        for (uint32_t at = state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next) {
                const struct member *member = &state->members[at];
                uint32_t devices = rules_forbid(state, slot, member->node, later);
                trial->counts->placed++;
                if (devices == UINT32_MAX)
                        return FAIL(trial, "workload %" PRIu64 " may not lie on node %u", id,
                                    member->node);
                for (uint32_t p = member->first_part; p != NONE; p = state->parts[p].next)
                        if (devices >> state->parts[p].part.device & 1)
                                return FAIL(trial,
                                            "workload %" PRIu64 " may not lie on device %u of "
                                            "node %u",
                                            id, state->parts[p].part.device, member->node);
        }
        return true;
}

static bool check_waiting(struct trial *trial)
{
        const struct state *state = trial->states[KEPT];

        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *work = &state->workloads[w];
                if (!work->live || work->members_placed > 0 || work->plan ||
                    state->buckets[work->bucket].form.members > 1)
                        continue;
                trial->counts->waits++;
                for (uint32_t n = 0; state->plan_slots.used == 0 && n < state->node_slots.high;
                     n++)
                        if (rules_allow(state, w, n))
                                return FAIL(trial,
                                            "workload %" PRIu64 " waits, and could lie on node %u",
                                            work->id, n);
        }
        return true;
}

/* Who is left waiting is not said to start, and a node where its member fits is not free to it. */
static bool check_explained(struct trial *trial)
{
        static struct explanation it;
        const struct state *state = trial->states[KEPT];

        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *work = &state->workloads[w];
                struct err err = {0};
                if (!work->live || work->members_placed > 0)
                        continue;
                if (explain(trial->memos[KEPT], state, work->id, trial->now_ms, &it, &err))
                        return FAIL(trial, "%s", err.text);
                if (it.verdict == VERDICT_STARTING || it.verdict == VERDICT_RUNNING)
                        return FAIL(trial, "workload %" PRIu64 " waits, and is said to start",
                                    work->id);
                if (it.all.nodes_of[CODE_FITS] > 0 && work->plan == 0 &&
                    state->plan_slots.used + state->nodes_held == 0 &&
                    state->buckets[work->bucket].form.members == 1)
                        return FAIL(trial, "workload %" PRIu64 " waits, and fits on %u nodes",
                                    work->id, it.all.nodes_of[CODE_FITS]);
        }
        return true;
}

/* ---- steps ---- */

static void see(void *arg, const struct fact *fact)
{
        struct trial *trial = arg;

        if (fact->kind == FACT_ALLOCATED && fact->allocated.member == 0 &&
            trial->started_count < IDS)
                trial->started[trial->started_count++] = fact->allocated.workload;
        trial->counts->refused += fact->kind == FACT_REFUSED;
        trial->counts->searches += fact->kind == FACT_PLANNED;
}

static bool run(struct trial *trial, struct input *input)
{
        struct err err = {0};

        trial->started_count = 0;
        for (unsigned way = 0; way < WAYS; way++) {
                if (way == DROPPED) {
                        memo_free(trial->memos[way]);
                        trial->memos[way] = memo_new(placement(trial->seed), MEMO_INDEXED);
                }
                if (input->kind == INPUT_POLICY_SET)
                        input->accounts = accounts_new(trial->policy->tenancy, &err);
                int rc = engine_run(trial->states[way], trial->memos[way], input, trial->now_ms,
                                    way == KEPT ? see : NULL, trial, &err);
                if (rc)
                        return FAIL(trial, "%s", err.text);
        }
        uint64_t hash = state_hash(trial->states[KEPT]);
        for (unsigned way = 1; way < WAYS; way++)
                if (state_hash(trial->states[way]) != hash)
                        return FAIL(trial, "%s decides otherwise",
                                    way == SCANNED ? "a scan of all nodes" : "a fresh memo");
        for (unsigned i = 0; i < trial->started_count; i++)
                if (!check_started(trial, trial->started[i],
                                   (struct later){&trial->started[i + 1],
                                                  trial->started_count - i - 1}))
                        return false;
        return check_waiting(trial) &&
               (input->kind != INPUT_TICKED || check_explained(trial));
}

/* Some live workload; 0: there is none. */
static uint64_t draw_live(const struct state *state, struct rng *rng, bool told)
{
        uint32_t from = isolate_below(rng, state->workload_slots.high + 1);

        for (uint32_t i = 0; i < state->workload_slots.high; i++) {
                const struct workload *work =
                        &state->workloads[(from + i) % state->workload_slots.high];
                if (work->live && (!told || work->notice_until_ms))
                        return work->id;
        }
        return 0;
}

static bool step_policy(struct trial *trial, uint64_t stream)
{
        struct input input = {.kind = INPUT_POLICY_SET};

        trial->before = trial->policy;
        trial->policy = isolate_policy(models, trial->seed, stream, false);
        bool good = trial->policy && run(trial, &input);
        policy_doc_free(trial->before);
        trial->before = NULL;
        return good;
}

static bool step(struct trial *trial, unsigned number)
{
        const struct state *state = trial->states[KEPT];
        struct input input = {.kind = INPUT_SUBMITTED};
        struct rng rng;

        rng_init_stream(&rng, trial->seed, 1000 + number);
        unsigned what = isolate_below(&rng, 100);
        trial->now_ms += 1000 * (1 + isolate_below(&rng, 60));
        if (what < 55) {
                input.request = isolate_request(state, &rng, ++trial->last_id);
        } else if (what < 80) {
                uint64_t told = draw_live(state, &rng, true);
                input.kind = INPUT_CANCELLED;
                input.workload = told ? told : draw_live(state, &rng, false);
        } else if (what < 90) {
                input.kind = INPUT_TICKED;
        } else if (what < 94) {
                return step_policy(trial, 2000 + number);
        } else {
                input.kind = INPUT_NODE_CHANGED;
                input.node = isolate_node(state, &rng, isolate_below(&rng, ISOLATE_NODES));
                const struct node *now = &state->nodes[state_node(state, input.node.name)];
                input.node.model = now->desc.model;
                input.node.devices = now->desc.devices;
        }
        return (input.kind == INPUT_CANCELLED && input.workload == 0) || run(trial, &input);
}

static bool open_trial(struct trial *trial)
{
        struct state_bounds bounds = {.nodes_max = ISOLATE_NODES, .workloads_max = IDS,
                                      .members_max = 4 * IDS, .parts_max = 8 * IDS,
                                      .shapes_max = IDS, .buckets_max = IDS, .plans_max = 16};
        struct rng rng;

        for (unsigned way = 0; way < WAYS; way++) {
                trial->states[way] = state_new(models, &bounds);
                trial->memos[way] = memo_new(placement(trial->seed),
                                             way == SCANNED ? MEMO_SCAN : MEMO_INDEXED);
                if (!trial->states[way] || !trial->memos[way])
                        return FAIL(trial, "out of memory");
                isolate_learn(trial->states[way]);
        }
        if (!step_policy(trial, 1))
                return false;
        rng_init_stream(&rng, trial->seed, 2);
        for (unsigned n = 0; n < ISOLATE_NODES; n++) {
                struct input input = {.kind = INPUT_NODE_JOINED,
                                      .node = isolate_node(trial->states[KEPT], &rng, n)};
                if (!run(trial, &input))
                        return false;
        }
        return true;
}

static bool run_case(uint64_t seed, const struct step_set *keep, struct counts *counts, char *why,
                     size_t why_size)
{
        struct trial trial = {.seed = seed, .counts = counts, .why = why, .why_size = why_size,
                              .now_ms = 1000};
        bool good = open_trial(&trial);

        counts->steps_made = STEPS;
        for (unsigned i = 0; good && i < STEPS; i++) {
                if (!step_set_has(keep, i))
                        continue;
                counts->step = i;
                good = step(&trial, i);
        }
        if (good)
                state_check(trial.states[KEPT]);
        for (unsigned way = 0; way < WAYS; way++) {
                memo_free(trial.memos[way]);
                state_free(trial.states[way]);
        }
        policy_doc_free(trial.policy);
        return good;
}

static void print_case(uint64_t seed, const struct step_set *keep, unsigned last)
{
        policy_doc_free(isolate_policy(models, seed, 1, true));
        printf("steps:");
        for (unsigned i = 0; i <= last; i++)
                if (step_set_has(keep, i))
                        printf(" %u", i);
        printf("\n");
}

int main(int argc, char **argv)
{
        static const struct shrink shrink = {
                .name = "isolate", .cases = 300, .run = run_case, .print = print_case};
        struct err err = {0};

        models = model_table_new();
        if (!models || model_doc_builtin(models, &err) < 0)
                return 1;
        int rc = shrink_main(&shrink, argc, argv);
        model_table_free(models);
        return rc;
}
