/* explain - random histories, and every waiting workload of them explained.
 *
 * explain [FIRST..LAST | SEED]    (or BERTH_SEEDS; BERTH_CASES says how many from 1)
 *
 * What is checked: the state stays as it is and what is decided later, too; a verdict each, and
 * none says STARTING of what the queue's turn has left waiting; nodes add up; the place in the
 * order is the one that order_before() gives; every nearest unblock, carried out on the same
 * history lived once more, starts the workload, and the line to copy says that; what
 * explain_request() and explain_fits() say of a
 * request is what becomes of it; a tenant's text holds no foreign name, and does not change when
 * they do.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/explain.h"
#include "engine/explain_line.h"
#include "engine/gang.h"
#include "proto/explain_text.h"
#include "proto/policy_doc.h"
#include "tests/property/explain_try.h"
#include "tests/property/explain_world.h"

static struct model_table *models;
static struct explanation record; /* large */

enum { TRIED = 47 };                    /* in counts->others: lines that changed a document */

struct judge {
        struct world *world;
        struct life *life;
        struct counts *counts;
        char *why;
        size_t why_size;
        struct rng rng;
};

static bool fail(struct judge *judge, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

static bool fail(struct judge *judge, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        vsnprintf(judge->why, judge->why_size, format, args);
        va_end(args);
        return false;
}

/* ---- the same history once more ---- */

static bool branch(struct judge *judge, struct life *ret_life)
{
        return (life_open(ret_life, judge->world, judge->life->viewer, NULL, 0) &&
                life_again(ret_life, judge->world)) ||
               fail(judge, "out of memory");
}

static bool runs(const struct life *life, uint64_t id)
{
        uint32_t slot = state_workload(life->state, id);

        return slot != NONE && life->state->workloads[slot].members_placed > 0;
}

/* Whether somebody could start already, whom the queue looks at only when something is freed. */
static bool is_late(struct judge *judge)
{
        struct input nothing = {.kind = INPUT_FREEZE_SET};
        struct life life;
        bool late = branch(judge, &life) && life_run(&life, &nothing, judge->world->now_ms) == 0 &&
                    life.started > 0;

        life_close(&life);
        return late;
}

/* ---- the nearest unblocks ---- */

static int raise_limits(struct life *life, const struct explained_unblock *unblock, int64_t now_ms)
{
        struct tenancy *tenancy = life->policy->tenancy;
        struct input input = {.kind = INPUT_POLICY_SET};

        for (uint32_t r = 0; r < unblock->raises_count; r++)
                tenancy->tenants[unblock->raises[r].tenant].limit[unblock->raises[r].dimension] =
                        unblock->raises[r].to;
        return life_run(life, &input, now_ms);
}

static int stop_victims(struct life *life, uint64_t id, int64_t at_ms)
{
        uint32_t slot = state_workload(life->state, id);
        uint32_t plan = life->state->workloads[slot].plan;

        for (uint32_t w = 0; w < life->state->workload_slots.high; w++) {
                const struct workload *workload = &life->state->workloads[w];
                if (!workload->live || workload->members_placed == 0 || workload->plan != plan)
                        continue;
                struct input input = {.kind = INPUT_STOPPED, .workload = workload->id};
                int rc = life_run(life, &input, at_ms);
                if (rc)
                        return rc;
        }
        return 0;
}

static int carry_out(struct life *life, uint64_t *id, const struct explained_unblock *unblock,
                     int64_t now_ms)
{
        struct input input = {0};

        switch (unblock->kind) {
        case UNBLOCK_LET_GO:
                input.kind = INPUT_HOLD_CHANGED;
                input.hold.workload = *id;
                return life_run(life, &input, now_ms);
        case UNBLOCK_TIME:
                input.kind = INPUT_TICKED;
                return life_run(life, &input, unblock->at_ms);
        case UNBLOCK_PLAN:
                return stop_victims(life, *id, unblock->at_ms);
        case UNBLOCK_REQUEST:
                input.kind = INPUT_SUBMITTED;
                input.request = unblock->request;
                *id = input.request.workload = UINT64_C(1) << 60;
                return life_run(life, &input, now_ms);
        case UNBLOCK_QUOTA:
                return raise_limits(life, unblock, now_ms);
        case UNBLOCK_OWN_END:
                input.kind = INPUT_EXITED;
                input.workload = unblock->workload;
                return life_run(life, &input, now_ms);
        case UNBLOCKS_END:
                break;
        }
        return -1;
}

/* A gang whose members come to lie on different models may stand better than on any one of them;
 * and a request that fits on a node held for others, which no offer counts on. */
static bool as_promised(const struct workload *workload, const struct explained_unblock *unblock,
                        const struct explanation *it)
{
        bool better = it->request.form.members > 1 || unblock->kind == UNBLOCK_REQUEST;

        return workload->standing == unblock->standing || unblock->kind == UNBLOCK_PLAN ||
               it->request.need.ask == ASK_MEMORY ||
               (better && workload->standing < unblock->standing);
}

static bool check_nearest(struct judge *judge, const struct explanation *it)
{
        for (uint32_t n = 0; n < it->nearest_count; n++) {
                const struct explained_unblock *unblock = &it->nearest[n];
                struct explain_names names = {.state = judge->life->state};
                char text[EXPLAIN_TEXT_MAX];
                uint64_t id = it->workload;
                struct life life;
                if (!branch(judge, &life))
                        return false;
                int rc = carry_out(&life, &id, unblock, judge->world->now_ms);
                bool good = rc == 0 && (runs(&life, id) || (life.started > 0 && is_late(judge)));
                if (good && !runs(&life, id)) {
                        life_close(&life);
                        continue;
                }
                judge->counts->others[32 + unblock->kind]++;
                uint32_t slot = state_workload(life.state, id);
                if (!good)
                        fail(judge, "workload %" PRIu64 " (%s): when %s, it does not start (%d)%s",
                             it->workload, verdict_name(it->verdict),
                             explain_unblock_text(unblock, &names, text), rc,
                             slot == NONE ? "; refused" : "");
                else if (!as_promised(&life.state->workloads[slot], unblock, it))
                        good = fail(
                                judge, "workload %" PRIu64 ": when %s, it starts as %s, not %s",
                                it->workload, explain_unblock_text(unblock, &names, text),
                                standing_name((enum standing)life.state->workloads[slot].standing),
                                standing_name(unblock->standing));
                life_close(&life);
                if (!good)
                        return false;
        }
        return true;
}

/* ---- sums and order ---- */

static bool check_group(struct judge *judge, const struct explained_group *group)
{
        uint32_t nodes = 0;

        for (unsigned c = 0; c < CODES_END; c++)
                nodes += group->nodes_of[c];
        return nodes == group->nodes ||
               fail(judge, "%u nodes, but %u have a reason", group->nodes, nodes);
}

static bool check_sums(struct judge *judge, const struct explanation *it)
{
        uint32_t nodes = 0;

        for (uint32_t g = 0; g < it->groups_count; g++) {
                if (!check_group(judge, &it->groups[g]))
                        return false;
                nodes += it->groups[g].nodes;
        }
        for (unsigned c = 0; c < CODES_END; c++)
                judge->counts->others[c] += it->all.nodes_of[c];
        if (!check_group(judge, &it->all))
                return false;
        if (nodes != judge->life->state->node_slots.used || nodes != it->all.nodes)
                return fail(judge, "%u nodes are explained of %u", nodes,
                            judge->life->state->node_slots.used);
        if (it->verdict == VERDICT_WAIT_CAPACITY && it->all.members >= it->request.form.members &&
            !it->request.form.near_required && it->request.form.spread == SPREAD_NONE &&
            it->request.form.members == 1)
                return fail(judge, "WAIT_CAPACITY, but a node has room");
        return true;
}

static struct contender contender_of(const struct state *state, uint32_t slot)
{
        struct contender it = {.bucket = state->workloads[slot].bucket,
                               .standing = STANDINGS_END,
                               .waiter = waiter_of(state, slot)};
        struct admission admission;

        accounts_admit(state, it.bucket, &admission);
        for (unsigned s = STANDINGS_END; s-- > 0;)
                if (admission.models[s])
                        it.standing = (enum standing)s;
        return it;
}

static bool may_go(const struct state *state, const struct workload *workload)
{
        uint32_t running =
                workload->array ? map_get(state->array_running, workload->array) : MAP_NONE;

        return !workload->holds && (running == MAP_NONE || workload->array_at_once == 0 ||
                                    running < workload->array_at_once);
}

static bool check_position(struct judge *judge, const struct explanation *it, uint32_t slot)
{
        const struct state *state = judge->life->state;
        struct contender own = contender_of(state, slot);
        uint32_t ahead = 0, in_tenant = 1;

        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (!workload->live || workload->members_placed > 0 || w == slot ||
                    !may_go(state, workload))
                        continue;
                struct contender other = contender_of(state, w);
                if (!order_before(state, &other, &own))
                        continue;
                ahead += other.standing != STANDINGS_END;
                in_tenant +=
                        state->buckets[other.bucket].tenant == state->buckets[own.bucket].tenant;
        }
        if (ahead != it->position.ahead_exact || in_tenant != it->position.in_tenant)
                return fail(judge,
                            "workload %" PRIu64 ": %u before it, not %u; number %u of its "
                            "tenant, not %u",
                            it->workload, ahead, it->position.ahead_exact, in_tenant,
                            it->position.in_tenant);
        return true;
}

/* What the gates take for granted is what admission says. */
static bool check_rights(struct judge *judge, uint32_t slot)
{
        const struct state *state = judge->life->state;
        struct admission admission;
        struct explainer x;
        struct asking asking;
        struct rights rights;
        bool good = true;

        if (explainer_init(&x, judge->life->memo, state, judge->world->now_ms, NULL))
                return fail(judge, "out of memory");
        asking_of_slot(&x, slot, &asking);
        rights_of(state, &asking, NULL, MEASURE_LEAST, &rights);
        accounts_admit(state, state->workloads[slot].bucket, &admission);
        for (unsigned s = 0; s < STANDINGS_END; s++) {
                uint64_t up = 0;
                for (unsigned m = 0; m < MODELS_MAX; m++)
                        up |= state->capacity[m] ? 1ull << m : 0;
                if (asking.need.devices == 0)
                        up = UINT64_MAX;
                if (admission.gate == GATE_FIT && (rights.models[s] & up) != admission.models[s])
                        good = fail(judge,
                                    "workload %" PRIu64 ": rights %" PRIx64
                                    " of standing %u, admission %" PRIx64,
                                    state->workloads[slot].id, rights.models[s], s,
                                    admission.models[s]);
        }
        if (could_ever_fit(&x, &asking) !=
            (gang_feasible(judge->life->memo, state, &asking.need, &asking.form, NULL) == 1))
                good = fail(judge, "workload %" PRIu64 ": could it ever fit?",
                            state->workloads[slot].id);
        explainer_done(&x);
        return good;
}

static bool check_idle(struct judge *judge)
{
        const struct life *life = judge->life;
        struct explained_idle idle;
        uint32_t all = 0;

        if (explain_idle(life->memo, life->state, judge->world->now_ms, &idle, NULL))
                return fail(judge, "out of memory");
        for (uint32_t m = 0; m < idle.models_count; m++) {
                uint32_t sum = 0;
                for (unsigned c = 0; c < IDLES_END; c++)
                        sum += idle.models[m].of[c];
                if (sum != idle.models[m].idle)
                        return fail(judge, "%u idle devices, but %u have a reason",
                                    idle.models[m].idle, sum);
                all += sum;
        }
        return all == idle.idle || fail(judge, "idle devices do not add up");
}

/* ---- what would become of a request ---- */

/* Whether it starts hangs on the model, and the parts, that placing chooses: by memory, and for a
 * gang that may lie on several models at once. */
static bool hangs_on_model(const struct judge *judge, const struct request *request,
                           enum verdict verdict)
{
        const struct tenancy *tenancy = judge->life->policy->tenancy;

        bool many =
                request->form.members > 1 && (request->need.models & (request->need.models - 1));

        return (request->need.ask == ASK_MEMORY || many ||
                amount_is_number(tenancy_limit(tenancy, request->tenant, DIM_MEMORY))) &&
               (verdict == VERDICT_STARTING || verdict == VERDICT_WAIT_QUOTA ||
                verdict == VERDICT_NEVER);
}

/* Work that could have started before, and that the queue had not looked at again. */
static bool others_started(const struct life *life, bool starts, const struct request *request)
{
        return life->started > (starts ? request->form.members : 0);
}

static bool check_request(struct judge *judge, const struct request *request, enum verdict verdict)
{
        struct life life;
        struct input input = {.kind = INPUT_SUBMITTED, .request = *request};

        input.request.workload = UINT64_C(1) << 60;
        input.request.once = false;
        if (!branch(judge, &life))
                return false;
        int rc = life_run(&life, &input, judge->world->now_ms);
        uint32_t slot = state_workload(life.state, input.request.workload);
        bool starts = runs(&life, input.request.workload), good = rc == 0;
        judge->counts->others[48]++;
        if (rc)
                fail(judge, "a request fails with %d", rc);
        else if (starts != (verdict == VERDICT_STARTING) &&
                 !hangs_on_model(judge, request, verdict) &&
                 !others_started(&life, starts, request)) {
                char text[512];
                request_print(text, sizeof text, request, judge->life->state->vocab);
                good = fail(judge,
                            "a request of tenant %u, class %u for %s is explained as %s, and %s",
                            request->tenant, request->class, text, verdict_name(verdict),
                            starts         ? "starts"
                            : slot == NONE ? "is refused"
                                           : "waits");
        } else if (slot == NONE && verdict != VERDICT_REFUSED && verdict != VERDICT_NEVER)
                good = fail(judge, "a request is explained as %s, and is refused at %s",
                            verdict_name(verdict), gate_name(life.refused_at));
        life_close(&life);
        return good;
}

static bool check_requests(struct judge *judge)
{
        struct life *life = judge->life;
        struct request request = draw_work(&judge->rng, &judge->world->pool, &judge->world->words,
                                           life->policy->tenancy, judge->world->now_ms);
        struct err err = {0};

        request.workload = UINT64_C(1) << 60;
        if (explain_request(life->memo, life->state, &request, judge->world->now_ms, &record, &err))
                return fail(judge, "explain_request: %s", err.text);
        return check_sums(judge, &record) && check_request(judge, &request, record.verdict);
}

static bool check_fits(struct judge *judge)
{
        static struct explained_fits fits;
        struct life *life = judge->life;
        const struct tenancy *tenancy = life->policy->tenancy;
        uint16_t tenant = (uint16_t)draw_below(&judge->rng, tenancy->tenants_count);
        uint16_t class = (uint16_t)draw_below(&judge->rng, tenancy->classes_count);

        if (explain_fits(life->memo, life->state, tenant, class, judge->world->now_ms, &fits, NULL))
                return fail(judge, "out of memory");
        for (unsigned tries = 0; tries < 2 && fits.count > 0; tries++) {
                const struct fit_line *line = &fits.lines[draw_below(&judge->rng, fits.count)];
                if (line->standing != STANDINGS_END &&
                    !check_request(judge, &line->request, VERDICT_STARTING))
                        return false;
        }
        return true;
}

/* ---- what a tenant sees ---- */

static bool text_of(struct life *life, uint64_t id, int64_t now_ms, char **ret_text)
{
        struct explain_names names = {.state = life->state};
        struct viewer viewer = {.tenant = life->viewer};
        size_t size;
        FILE *file = open_memstream(ret_text, &size);
        bool good = file && explain(life->memo, life->state, id, now_ms, &record, NULL) == 0 &&
                    explain_view(&record, life->state, viewer, NULL) == 0;

        if (good)
                explain_text(file, &record, &names);
        return file && fclose(file) == 0 && good;
}

static bool same_texts(struct judge *judge, struct life *a, struct life *b)
{
        const struct state *state = a->state;
        bool good = true;

        for (uint32_t w = 0; good && w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                char *texts[2] = {NULL, NULL};
                if (!workload->live ||
                    !tenancy_is_below(a->policy->tenancy, state->buckets[workload->bucket].tenant,
                                      a->viewer))
                        continue;
                good = text_of(a, workload->id, judge->world->now_ms, &texts[0]) &&
                       text_of(b, workload->id, judge->world->now_ms, &texts[1]);
                judge->counts->others[49]++;
                if (!good)
                        fail(judge, "no text for workload %" PRIu64, workload->id);
                else if (strcmp(texts[0], texts[1]) != 0)
                        good = fail(judge, "another text when foreign names change:\n%s\n%s",
                                    texts[0], texts[1]);
                else if (strstr(texts[0], "zzz") || strstr(texts[0], "77700000") ||
                         strstr(texts[0], " n0") || strstr(texts[0], " n1"))
                        good = fail(judge, "a foreign name shows:\n%s", texts[0]);
                free(texts[0]);
                free(texts[1]);
        }
        return good;
}

static bool check_views(struct judge *judge)
{
        struct life lives[2] = {0};
        bool good = life_open(&lives[0], judge->world, judge->life->viewer, "zzz-one",
                              UINT64_C(7770000000)) &&
                    life_open(&lives[1], judge->world, judge->life->viewer, "zzz-somebody-else",
                              UINT64_C(77701111000000)) &&
                    life_again(&lives[0], judge->world) && life_again(&lives[1], judge->world);

        good = good && same_texts(judge, &lives[0], &lives[1]);
        life_close(&lives[0]);
        life_close(&lives[1]);
        return good;
}

/* ---- cases ---- */

/* What could start and still waits, the queue looks at again at the next tick. */
static bool starts_at_tick(struct judge *judge, uint64_t id)
{
        struct input tick = {.kind = INPUT_TICKED};
        struct life life;
        bool starts = branch(judge, &life) && life_run(&life, &tick, judge->world->now_ms) == 0 &&
                      (runs(&life, id) || life.started > 0);

        life_close(&life);
        return starts;
}

static bool check_one(struct judge *judge, uint32_t slot)
{
        struct life *life = judge->life;
        uint64_t id = life->state->workloads[slot].id;
        struct err err = {0};

        if (explain(life->memo, life->state, id, judge->world->now_ms, &record, &err))
                return fail(judge, "explain: %s", err.text);
        judge->counts->others[50 + record.verdict]++;
        if (record.verdict == VERDICT_STARTING && starts_at_tick(judge, id))
                return true;
        if (record.verdict == VERDICT_STARTING || record.verdict == VERDICT_RUNNING)
                return fail(judge, "workload %" PRIu64 " waits, and is said to be %s", id,
                            verdict_name(record.verdict));
        unsigned tried = 0;
        bool good = check_sums(judge, &record) && check_position(judge, &record, slot) &&
                    check_rights(judge, slot) && check_nearest(judge, &record) &&
                    explain_try_holds(&record, life->state, &tried, judge->why, judge->why_size);
        judge->counts->others[TRIED] += tried;
        return good;
}

static bool check_all(struct judge *judge)
{
        const struct state *state = judge->life->state;
        uint64_t hash = state_hash(state);

        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (!workload->live || workload->members_placed > 0 ||
                    draw_below(&judge->rng, 4) != 0)
                        continue;
                if (!check_one(judge, w))
                        return false;
        }
        return (check_idle(judge) && check_requests(judge) && check_fits(judge) &&
                check_views(judge)) &&
               (state_hash(state) == hash || fail(judge, "explaining changed the state"));
}

static bool run_case(uint64_t seed, const struct step_set *keep, struct counts *counts, char *why,
                     size_t why_size)
{
        struct world world;
        struct life life, plain;
        struct judge judge = {
                .world = &world, .life = &life, .counts = counts, .why = why, .why_size = why_size};
        bool good = world_open(&world, models, seed) &&
                    life_open(&life, &world, (uint16_t)(seed >> 3), NULL, 0);

        rng_init_stream(&judge.rng, seed, 7);
        unsigned steps = 40 + draw_below(&judge.rng, 80);
        counts->steps_made = steps;
        for (unsigned i = 0; good && i < steps; i++) {
                counts->step = i;
                if (!step_set_has(keep, i) && i > 0)
                        continue;
                world_step(&world, &life, i);
                if (i % 16 == 15 || i + 1 == steps)
                        good = check_all(&judge);
        }
        if (good && branch(&judge, &plain)) {
                good = state_hash(plain.state) == state_hash(life.state) ||
                       fail(&judge, "asking for explanations changed what was decided");
                life_close(&plain);
        }
        life_close(&life);
        world_close(&world);
        return good;
}

static void print_case(uint64_t seed, const struct step_set *keep, unsigned last)
{
        struct world world;
        struct life life;

        if (!world_open(&world, models, seed) ||
            !life_open(&life, &world, (uint16_t)(seed >> 3), NULL, 0))
                return;
        for (unsigned i = 0; i <= last; i++)
                if (step_set_has(keep, i) || i == 0)
                        world_step(&world, &life, i);
        for (uint32_t i = 0; i < world.lived_count; i++) {
                char text[1024];
                step_print(text, sizeof text, &world.lived[i].input, life.state->vocab, models);
                printf("%" PRId64 " s: %s\n", (world.lived[i].now_ms - DRAW_START_MS) / 1000, text);
        }
        life_close(&life);
        world_close(&world);
}

static void summary(const struct counts *counts)
{
        for (unsigned c = 0; c < CODES_END; c++)
                printf("%s %" PRIu64 "  ", node_code_name(c), counts->others[c]);
        printf("\n");
        for (unsigned k = 0; k < UNBLOCKS_END; k++)
                printf("%s %" PRIu64 "  ", unblock_name(k), counts->others[32 + k]);
        printf("carried out; %" PRIu64 " requests, %" PRIu64 " texts, %" PRIu64
               " lines to copy changed documents\n",
               counts->others[48], counts->others[49], counts->others[TRIED]);
        for (unsigned v = 0; v < VERDICTS_END; v++)
                printf("%s %" PRIu64 "  ", verdict_name(v), counts->others[50 + v]);
        printf("\n");
}

int main(int argc, char **argv)
{
        static const struct shrink shrink = {.name = "explain",
                                             .cases = 500,
                                             .models = &models,
                                             .run = run_case,
                                             .print = print_case,
                                             .summary = summary};

        return shrink_main(&shrink, argc, argv);
}
