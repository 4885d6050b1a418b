/* The queue's turn: in order (order.h); what does not fit lets others pass, as far as capacity holds
 * allow; then room is made for those who may ask for it. */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "engine/decide_impl.h"
#include "engine/drain.h"
#include "engine/gang.h"
#include "engine/hold.h"
#include "engine/idle.h"
#include "engine/preempt.h"

/* Whether a member placed by this very group lies on the device, and had it cut as needed. */
static bool is_taken_in_group(const struct memo *memo, uint32_t node, unsigned device)
{
        for (uint32_t i = 0; i < memo->facts_count; i++) {
                const struct fact *fact = &memo->facts[i];
                if (fact->kind != FACT_ALLOCATED || fact->allocated.node != node)
                        continue;
                for (unsigned k = 0; k < fact->allocated.parts_count; k++)
                        if (fact->allocated.parts[k].device == device)
                                return true;
        }
        return false;
}

static int place_steps(struct memo *memo, const struct state *state, uint32_t node,
                       const struct part *part, struct err *err)
{
        const struct device *device = &node_devices(state, node)[part->device];
        const struct model *model = node_model(state, node);
        bool slice = part->method == METHOD_SLICE;
        struct fact_layout toggle = {.op = slice ? LAYOUT_CUT_ON : LAYOUT_CUT_OFF,
                                     .profile = part->profile};
        struct fact_layout create = {.op = LAYOUT_CREATE,
                                     .profile = part->profile,
                                     .start = part->start};
        /* The mode of a MODEL_MODES device is chosen anew each time it was empty. */
        bool new_mode = slice && model->cut == MODEL_MODES && device->state.holders == 0;
        int rc = 0;

        if ((device->cut != slice || new_mode) && !is_taken_in_group(memo, node, part->device))
                rc = plan_step(memo, state, node, part->device, toggle, err);
        if (rc == 0 && slice)
                rc = plan_step(memo, state, node, part->device, create, err);
        return rc;
}

static int allocate(struct memo *memo, const struct state *state,
                    const struct fact_allocated *place, struct err *err)
{
        for (unsigned i = 0; i < place->parts_count; i++) {
                int rc = place_steps(memo, state, place->node, &place->parts[i], err);
                if (rc)
                        return rc;
        }
        struct fact *fact = fact_add(memo, FACT_ALLOCATED);
        if (!fact)
                return no_memory(err);
        fact->allocated = *place;
        return 0;
}

/* ---- starting ---- */

/* Gives the facts of a start their standing; false: what it would hold is not allowed. */
static bool settle_standing(struct memo *memo, const struct state *state, uint32_t bucket)
{
        const struct need *need = &state->shapes[state->buckets[bucket].shape].need;
        struct holding holding;
        struct promise promise;

        holding_clear(&holding);
        for (uint32_t i = 0; i < memo->facts_count; i++) {
                const struct fact_allocated *place = &memo->facts[i].allocated;
                if (memo->facts[i].kind == FACT_ALLOCATED)
                        holding_add(state, place->node, need, place->parts, place->parts_count,
                                    &holding);
        }
        enum standing standing = accounts_standing(state, bucket, &holding, &promise);
        if (standing == STANDINGS_END)
                return false;
        for (uint32_t i = 0; i < memo->facts_count; i++) {
                if (memo->facts[i].kind != FACT_ALLOCATED)
                        continue;
                memo->facts[i].allocated.standing = (uint8_t)standing;
                memo->facts[i].allocated.promise = promise;
        }
        return true;
}

/* 1: facts were added; 0: it does not fit now. */
static int place_single(struct memo *memo, const struct state *state, uint32_t slot,
                        uint64_t models, int64_t now_ms, struct err *err)
{
        const struct workload *workload = &state->workloads[slot];
        uint32_t shape = state->buckets[workload->bucket].shape;
        struct asker asker;
        struct place_right right = {models, leaves_ms(state, slot, now_ms),
                                    asker_of_slot(state, slot, &asker) ? &asker : NULL};
        struct move move;
        uint32_t node = index_best(memo, shape, right, workload->arrival, &move);

        if (node == NONE && !memo->failed)
                node = held_best(memo, state, slot, right, now_ms, &move);
        if (node == NONE)
                return 0;
        if (!right.asker)
                (void)move_lay(memo, node, 0, &move);
        struct fact_allocated place = {.workload = workload->id,
                                       .node = node,
                                       .parts_count = move.count};
        memcpy(place.parts, move.parts, move.count * sizeof *move.parts);
        int rc = allocate(memo, state, &place, err);
        return rc ? rc : 1;
}

static int place_gang(struct memo *memo, const struct state *state, uint32_t slot,
                      uint64_t models, int64_t now_ms, struct err *err)
{
        const struct bucket *bucket = &state->buckets[state->workloads[slot].bucket];
        struct asker asker;
        struct gang_right right = {models, slot, leaves_ms(state, slot, now_ms),
                                   asker_of_slot(state, slot, &asker) ? &asker : NULL};
        const struct gang_place *places;
        int rc = gang_place(memo, bucket->shape, &bucket->form, right, &places, err);

        for (uint32_t m = 0; rc == 1 && m < bucket->form.members; m++) {
                struct fact_allocated place = {.workload = state->workloads[slot].id,
                                               .node = places[m].node,
                                               .member = (uint16_t)m,
                                               .parts_count = places[m].parts_count};
                memcpy(place.parts, places[m].parts, sizeof place.parts);
                int failed = allocate(memo, state, &place, err);
                if (failed)
                        return failed;
        }
        return rc;
}

static bool tables_hold_places(const struct state *state, const struct bucket *bucket)
{
        uint64_t members = bucket->form.members;
        uint64_t parts = members * state->shapes[bucket->shape].need.devices;

        return members <= state->bounds.members_max - state->member_slots.used &&
               parts <= state->bounds.parts_max - state->part_slots.used;
}

/* What lies in its way of itself goes first: its capacity hold, and a plan it needs no more. */
static int place(struct memo *memo, const struct state *state, uint32_t slot, uint64_t models,
                 int64_t now_ms, struct err *err)
{
        uint32_t number = state->workloads[slot].bucket;
        const struct bucket *bucket = &state->buckets[number];
        int rc;

        if (!tables_hold_places(state, bucket))
                return 0;
        rc = let_go_of_nodes(memo, state, slot, err);
        if (rc == 0)
                rc = withdraw_plan(memo, state, slot, err);
        if (rc)
                return rc;
        rc = form_is_gang(&bucket->form) ? place_gang(memo, state, slot, models, now_ms, err)
                                         : place_single(memo, state, slot, models, now_ms, err);
        if (rc == 1 && state->accounts && !settle_standing(memo, state, number)) {
                memo->refused_late = true;
                return 0;
        }
        return rc;
}

/* A search that ran out of a bounded table is done once more on a fresh memo. */
static int place_surely(struct memo *memo, const struct state *state, uint32_t slot,
                        uint64_t models, int64_t now_ms, struct err *err)
{
        for (unsigned tries = 0; tries < 2; tries++) {
                memo->facts_count = 0;
                int rc = memo_sync(memo, state, err);
                if (rc == 0)
                        rc = place(memo, state, slot, models, now_ms, err);
                if (rc != 1)
                        memo->facts_count = 0;
                if (rc < 0 || !memo->failed)
                        return rc;
        }
        return no_memory(err);
}

/* ---- who is to be tried ---- */

static bool is_open(const struct memo *memo, const struct state *state, uint32_t bucket)
{
        return state->buckets[bucket].count > 0 && memo->blocked[bucket] != state->freed + 1;
}

static void open_sift(const struct state *state, struct contender *open, uint32_t count,
                      uint32_t at)
{
        struct contender contender = open[at];

        for (;;) {
                uint32_t child = 2 * at + 1;
                if (child >= count)
                        break;
                if (child + 1 < count && order_before(state, &open[child + 1], &open[child]))
                        child++;
                if (!order_before(state, &open[child], &contender))
                        break;
                open[at] = open[child];
                at = child;
        }
        open[at] = contender;
}

static void open_pop(struct memo *memo, const struct state *state, uint32_t *count)
{
        memo->open[0] = memo->open[--*count];
        if (*count > 0)
                open_sift(state, memo->open, *count, 0);
}

/* Whether all that waited before this submission is known not to fit. */
static bool only_new(const struct memo *memo, const struct state *state, const struct input *input)
{
        return memo->settled && memo->settled_freed == state->freed &&
               input->kind == INPUT_SUBMITTED &&
               memo->settled_arrivals + 1 == state->arrivals;
}

static enum standing best_standing(const struct admission *admission)
{
        unsigned standing = 0;

        while (standing < STANDINGS_END && admission->models[standing] == 0)
                standing++;
        return (enum standing)standing;
}

/* Whether the bucket's first waiter may be tried. One alone in its turn is compared with nobody. */
static bool contend(struct memo *memo, const struct state *state, uint32_t bucket, bool alone,
                    struct contender *ret_contender)
{
        uint32_t at = 0, slot;

        ret_contender->bucket = bucket;
        ret_contender->standing = STANDING_STANDARD;
        if (state->accounts) {
                accounts_admit(state, bucket, &ret_contender->admission);
                ret_contender->standing = best_standing(&ret_contender->admission);
                if (ret_contender->standing == STANDINGS_END)
                        return false;
        }
        if (!line_next(memo, state, bucket, &at, &slot))
                return false;
        if (alone)
                ret_contender->waiter.slot = slot;
        else
                ret_contender->waiter = line_waiter(memo, state, bucket, at, slot);
        return true;
}

/* The buckets that may fit, as a heap in the queue's order. */
static uint32_t collect_open(struct memo *memo, const struct state *state,
                             const struct input *input)
{
        uint32_t count = 0, new = input->kind == INPUT_SUBMITTED
                                          ? state_workload(state, input->request.workload)
                                          : NONE;

        /* Who has just come may start where those before it were held, or stay too long. */
        if (new != NONE && (state->accounts || state->nodes_closing > 0) &&
            memo->settled_arrivals != state->arrivals)
                memo->blocked[state->workloads[new].bucket] = 0;
        if (only_new(memo, state, input)) {
                if (new == NONE || state->workloads[new].members_placed > 0)
                        return 0;
                uint32_t bucket = state->workloads[new].bucket;
                return is_open(memo, state, bucket) &&
                       contend(memo, state, bucket, true, &memo->open[0]);
        }
        for (uint32_t b = 0; b < state->buckets_count; b++) {
                if (!is_open(memo, state, b))
                        continue;
                if (contend(memo, state, b, false, &memo->open[count]))
                        count++;
                else
                        memo->blocked[b] = state->freed + 1;
        }
        for (uint32_t at = count / 2; at-- > 0;)
                open_sift(state, memo->open, count, at);
        return count;
}

/* ---- trying ---- */

/* Work of a bucket differs in how long it runs: on held nodes the first that is gone in time. */
#define WAITERS_TRIED 64

/* Where the shape fits nowhere, no bucket of it is looked at until something comes free. */
static bool shape_fits(struct memo *memo, const struct state *state, uint32_t shape,
                       int64_t now_ms)
{
        struct place_right any = {UINT64_MAX, now_ms + RUN_TIME_LEAST_MS, NULL};
        struct move move;

        if (memo->tight[shape] == state->freed + 1)
                return false;
        if (index_best(memo, shape, any, 0, &move) != NONE || memo->failed ||
            held_fits(memo, state, shape, any))
                return true;
        memo->tight[shape] = state->freed + 1;
        return false;
}

/* Parts on several models may not be held together (one promise pays for all of a workload), or only
 * not on the model that looked best: each alone may do. */
static int place_on_some(struct memo *memo, const struct state *state, uint32_t slot,
                         uint64_t models, int64_t now_ms, struct err *err)
{
        bool others_late = memo->refused_late;

        memo->refused_late = false;
        int rc = place_surely(memo, state, slot, models, now_ms, err);
        bool late = memo->refused_late;
        uint64_t left = late ? models & state->capacity_models : 0;
        for (bool several = left & (left - 1); rc == 0 && several && left; left &= left - 1)
                rc = place_surely(memo, state, slot, left & -left, now_ms, err);
        memo->refused_late = others_late || (late && rc == 0);
        return rc;
}

static int try_waiter(struct memo *memo, const struct state *state, const struct contender *it,
                      uint32_t slot, int64_t now_ms, struct err *err)
{
        const struct admission *admission = &it->admission;

        if (!state->accounts)
                return place_surely(memo, state, slot, UINT64_MAX, now_ms, err);
        bool gang = form_is_gang(&state->buckets[it->bucket].form);
        uint64_t models = 0;
        for (unsigned s = it->standing; s < STANDINGS_END; s++) {
                if (admission->models[s] == 0)
                        continue;
                /* Members may need models that it may hold in different standings. */
                models = admission->models[s] | (gang ? models : 0);
                int rc = place_on_some(memo, state, slot, models, now_ms, err);
                if (rc != 0)
                        return rc;
        }
        return 0;
}

/* 1: facts of a start were added; 0: nothing of the bucket can start. */
static int try_bucket(struct memo *memo, const struct state *state, const struct contender *it,
                      bool alone, int64_t now_ms, struct err *err)
{
        const struct bucket *bucket = &state->buckets[it->bucket];
        uint32_t slot;
        int64_t failed_ms = INT64_MAX;  /* the least that was too late, or did not fit */
        uint32_t failed_group = 0;      /* that lies everywhere already */
        unsigned tried = 0;

        if (memo_sync(memo, state, err) != 0)
                return no_memory(err);
        /* Work that is alone in its turn is simply tried. */
        if (state->accounts && !alone && !shape_fits(memo, state, bucket->shape, now_ms))
                return 0;
        for (uint32_t at = 0; tried < WAITERS_TRIED; at++) {
                if (!line_next(memo, state, it->bucket, &at, &slot))
                        break;
                uint32_t group = state->workloads[slot].group;
                if (group && group == failed_group)
                        continue;
                tried++;
                int64_t leaves = leaves_ms(state, slot, now_ms);
                if (state->nodes_held == 0 && leaves >= failed_ms)
                        continue;
                int rc = try_waiter(memo, state, it, slot, now_ms, err);
                if (rc != 0)
                        return rc;
                failed_group = bucket->form.spread != SPREAD_NONE ? group : 0;
                if (failed_group)       /* what bars it need not bar others */
                        continue;
                if (state->nodes_held == 0 && state->nodes_closing == 0)
                        break;
                failed_ms = leaves < failed_ms ? leaves : failed_ms;
        }
        return 0;
}

static void settle(struct memo *memo, const struct state *state)
{
        memo->settled = !memo->refused_late;
        memo->settled_freed = state->freed;
        memo->settled_arrivals = state->arrivals;
}

/* Who was only to be placed at once, and was not, is refused. */
static int refuse_once(struct memo *memo, const struct state *state, const struct input *input,
                       struct err *err)
{
        if (input->kind != INPUT_SUBMITTED)
                return 0;
        uint32_t slot = state_workload(state, input->request.workload);
        if (slot == NONE || !state->workloads[slot].once ||
            state->workloads[slot].members_placed > 0)
                return 0;
        return refuse(memo, input->request.workload, GATE_FIT, NULL, err);
}

/* All that stands by bucket grows together, and what stands by shape. */
static bool buckets_room(struct memo *memo, const struct state *state)
{
        uint32_t count = state->buckets_count;
        uint32_t blocked = memo->buckets_room, feasible = blocked, lines = blocked;
        uint32_t alone = memo->tight_room;

        if (state->shapes_count > memo->tight_room &&
            (!memo_room(memo, &memo->feasible_alone, &alone, state->shapes_count - 1,
                        sizeof *memo->feasible_alone) ||
             !memo_room(memo, &memo->tight, &memo->tight_room, state->shapes_count - 1,
                        sizeof *memo->tight)))
                return false;
        if (count <= memo->buckets_room)
                return true;
        if (!memo_room(memo, &memo->blocked, &blocked, count - 1, sizeof *memo->blocked) ||
            !memo_room(memo, &memo->feasible, &feasible, count - 1, sizeof *memo->feasible) ||
            !memo_room(memo, &memo->lines, &lines, count - 1, sizeof *memo->lines) ||
            !memo_room(memo, &memo->open, &memo->open_room, count - 1, sizeof *memo->open))
                return false;
        memo->buckets_room = blocked;
        return true;
}

/* ---- what comes before anybody starts ---- */

/* What standing running work could have now: standard work that of a promise which has room, what
 * idleness made spare its old one, once it is used again. */
static enum standing better_standing(const struct state *state, uint32_t slot,
                                     struct promise *ret_promise)
{
        const struct workload *workload = &state->workloads[slot];
        bool standard = workload->standing == STANDING_STANDARD;
        bool used_again = workload->demoted && workload->idle_done == IDLE_THEN_NOTHING;
        uint16_t tenant = state->buckets[workload->bucket].tenant;
        struct holding holding;

        if (workload->plan || !(standard || used_again))
                return (enum standing)workload->standing;
        holding_of(state, slot, &holding);
        if (!standard)
                return accounts_rise(state, workload->bucket, &holding, ret_promise);
        return accounts_draw(state->accounts, tenant, &holding, ret_promise) ? STANDING_PROTECTED
                                                                             : STANDING_STANDARD;
}

/* Running work that what came free of a promise now covers, in order of admission. */
static int raise_standings(struct memo *memo, const struct state *state, struct err *err)
{
        const struct accounts *accounts = state->accounts;
        struct fact *fact;
        uint32_t root = 0;

        while (!accounts->dirty[root])
                root++;
        for (uint32_t slot = accounts->first[root]; slot != NONE;
             slot = state->workloads[slot].next) {
                const struct workload *workload = &state->workloads[slot];
                struct promise promise = {0};
                enum standing standing = better_standing(state, slot, &promise);
                if (standing == (enum standing)workload->standing)
                        continue;
                fact = fact_add(memo, FACT_STANDING_SET);
                if (!fact)
                        return no_memory(err);
                fact->standing.workload = workload->id;
                fact->standing.standing = standing;
                fact->standing.promise = promise;
                return 0;               /* the promise has less from here on: one at a time */
        }
        fact = fact_add(memo, FACT_PROMISES_SEEN);
        if (!fact)
                return no_memory(err);
        fact->tree = (uint16_t)root;
        return 0;
}

/* A hold, a limit, a budget, or a change of its nodes may have come in between. */
static bool may_take_over(const struct state *state, uint32_t number, int64_t now_ms)
{
        const struct workload *workload = &state->workloads[state->plans[number].beneficiary];
        struct admission admission;

        accounts_admit(state, workload->bucket, &admission);
        return may_start(state, workload) && best_standing(&admission) != STANDINGS_END &&
               tables_hold_places(state, &state->buckets[workload->bucket]) &&
               plan_fits(state, number, now_ms);
}

/* A plan whose victims are all gone: the beneficiary takes the places kept for it. */
static int hand_over(struct memo *memo, const struct state *state, uint32_t number,
                     int64_t now_ms, struct err *err)
{
        const struct plan *plan = &state->plans[number];
        uint32_t slot = plan->beneficiary, bucket = state->workloads[slot].bucket;
        int rc = let_go_of_nodes(memo, state, slot, err);
        struct fact *fact = fact_add(memo, FACT_PLAN_ENDED);

        if (rc || !fact)
                return no_memory(err);
        fact->plan_ended.plan = number;
        fact->plan_ended.end = PLAN_DONE;
        uint32_t ended = memo->facts_count - 1;
        bool may = may_take_over(state, number, now_ms);
        for (uint32_t at = may ? plan->first_place : NONE; at != NONE; at = state->plan_places[at].next) {
                const struct plan_place *kept = &state->plan_places[at];
                struct fact_allocated place = {.workload = state->workloads[slot].id,
                                               .node = kept->node,
                                               .member = kept->member,
                                               .parts_count = kept->parts_count};
                memcpy(place.parts, kept->parts, sizeof place.parts);
                rc = allocate(memo, state, &place, err);
                if (rc)
                        return rc;
        }
        if (may && settle_standing(memo, state, bucket))
                return 0;
        memo->facts_count = ended + 1;
        memo->facts[ended].plan_ended.end = PLAN_WITHDRAWN;
        return 0;
}

static uint32_t complete_plan(const struct state *state)
{
        uint32_t left = state->plan_slots.used;

        for (uint32_t p = 0; left > 0 && p < state->plan_slots.high; p++) {
                if (!state->plans[p].live)
                        continue;
                if (state->plans[p].victims == 0 && !plan_is_frozen(state, p))
                        return p;
                left--;
        }
        return NONE;
}

/* ---- making room ---- */

/* A tick's turn asks in order, each waiter once: after a plan it goes on behind whom that is for.
 * The last one that got a plan at this tick; false: none has. */
static bool asked_last(const struct state *state, struct contender *ret_last)
{
        if (state->asked_slot == NONE || state->asked_ms != state->now_ms ||
            !state->workloads[state->asked_slot].live)
                return false;
        ret_last->bucket = state->workloads[state->asked_slot].bucket;
        ret_last->waiter = waiter_of(state, state->asked_slot);
        accounts_admit(state, ret_last->bucket, &ret_last->admission);
        ret_last->standing = best_standing(&ret_last->admission);
        return true;
}

/* Everybody may ask for room at a tick; in between only who has just come. */
static uint32_t collect_asking(struct memo *memo, const struct state *state,
                               const struct input *input)
{
        uint32_t count = 0;

        if (input->kind == INPUT_SUBMITTED) {
                uint32_t slot = state_workload(state, input->request.workload);
                if (slot == NONE || state->workloads[slot].members_placed > 0 ||
                    state->workloads[slot].plan)
                        return 0;
                uint32_t bucket = state->workloads[slot].bucket;
                bool may = contend(memo, state, bucket, true, &memo->open[0]);
                memo->open[0].waiter.slot = slot;
                return may && may_start(state, &state->workloads[slot]) &&
                       !state->workloads[slot].once;
        }
        if (input->kind != INPUT_TICKED)
                return 0;
        struct contender last;
        bool again = asked_last(state, &last);
        for (uint32_t b = 0; b < state->buckets_count; b++)
                if (state->buckets[b].count > 0 &&
                    contend(memo, state, b, false, &memo->open[count]) &&
                    !(again && order_before(state, &memo->open[count], &last)))
                        count++;
        for (uint32_t at = count / 2; at-- > 0;)
                open_sift(state, memo->open, count, at);
        return count;
}

static int ask_for(struct memo *memo, const struct state *state, const struct contender *it,
                   uint32_t slot, int64_t now_ms, struct err *err)
{
        enum plan_cause causes[PLAN_CAUSES_END];
        struct contender asking = *it;
        struct admission admission;

        asking.waiter.slot = slot;
        accounts_admit(state, it->bucket, &admission);
        unsigned count = plan_causes(state, &asking, now_ms, causes);
        for (unsigned c = 0; c < count; c++) {
                uint64_t models = admission.models[STANDING_PROTECTED];
                if (causes[c] != PLAN_PROTECT)
                        models |= admission.models[STANDING_STANDARD];
                if (causes[c] == PLAN_TIME_SLICE)
                        models |= admission.models[STANDING_SPARE];
                int rc = decide_plan_for(memo, state, slot, models, causes[c], now_ms, err);
                if (rc != 0)
                        return rc;
        }
        return 0;
}

/* The bucket's waiters in order, until one finds no plan: those behind it would not either. */
static int ask_bucket(struct memo *memo, const struct state *state, const struct contender *it,
                      int64_t now_ms, struct err *err)
{
        uint32_t slot;

        for (uint32_t at = 0; line_next(memo, state, it->bucket, &at, &slot); at++) {
                if (state->workloads[slot].plan)
                        continue;
                return ask_for(memo, state, it, slot, now_ms, err);
        }
        return 0;
}

/* 1: facts of one plan; 0: nobody finds one. */
static int make_room(struct memo *memo, const struct state *state, const struct input *input,
                     int64_t now_ms, struct err *err)
{
        if (!buckets_room(memo, state))
                return no_memory(err);
        uint32_t count = collect_asking(memo, state, input);
        if (memo->out_of_memory)
                return no_memory(err);
        bool new = input->kind == INPUT_SUBMITTED;
        while (count > 0) {
                struct contender it = memo->open[0];
                memo->facts_count = 0;
                int rc = memo_sync(memo, state, err);
                if (rc == 0)
                        rc = new ? ask_for(memo, state, &it, it.waiter.slot, now_ms, err)
                                 : ask_bucket(memo, state, &it, now_ms, err);
                if (rc != 0)
                        return rc;
                memo->facts_count = 0;
                if (memo->failed)       /* a bounded table was full: nothing found counts */
                        memo->synced = false;
                open_pop(memo, state, &count);
        }
        return 0;
}

/* ---- the turn ---- */

/* Inputs by which a node may no longer have to be empty, or only later; or by which idle work is
 * used, or may be idle for longer. */
static bool may_put_off(enum input_kind kind)
{
        return kind == INPUT_TICKED || kind == INPUT_NODE_CHANGED ||
               kind == INPUT_MAINTENANCE_SET || kind == INPUT_USE_REPORTED ||
               kind == INPUT_POLICY_SET;
}

static int turn_before(struct memo *memo, const struct state *state, const struct input *input,
                       int64_t now_ms, unsigned step, struct err *err)
{
        uint32_t plan;

        if (step == 1 && may_put_off(input->kind)) {
                int rc = decide_stays(memo, state, now_ms, err);
                if (rc)
                        return rc;
        }
        if (step == 1 && input->kind == INPUT_TICKED) {
                int rc = memo_sync(memo, state, err);
                rc = rc ? rc : decide_overtime(memo, state, now_ms, err);
                rc = rc ? rc : decide_drains(memo, state, now_ms, err);
                rc = rc ? rc : decide_idle(memo, state, now_ms, err);
                rc = rc ? rc : decide_rescues(memo, state, now_ms, err);
                rc = rc ? rc : decide_holds(memo, state, now_ms, err);
                if (rc)
                        return rc;
        }
        if (memo->facts_count > 0)
                return 1;
        if (state->accounts->dirty_count > 0) {
                int rc = raise_standings(memo, state, err);
                return rc ? rc : 1;
        }
        plan = complete_plan(state);
        if (plan == NONE)
                return 0;
        int rc = hand_over(memo, state, plan, now_ms, err);
        return rc ? rc : 1;
}

static int start_one(struct memo *memo, const struct state *state, const struct input *input,
                     int64_t now_ms, bool *ret_last, struct err *err)
{
        uint32_t count = collect_open(memo, state, input);

        if (memo->out_of_memory)
                return no_memory(err);
        while (count > 0) {
                struct contender it = memo->open[0];
                int rc = try_bucket(memo, state, &it, count == 1, now_ms, err);
                if (rc < 0)
                        return rc;
                if (rc == 1) {
                        const struct bucket *bucket = &state->buckets[it.bucket];
                        *ret_last = only_new(memo, state, input) && bucket->count == 1 &&
                                    !(state->accounts &&
                                      accounts_start_opens(state->accounts, bucket->tenant));
                        if (*ret_last)
                                settle(memo, state);
                        return 1;
                }
                if (!memo->refused_late)
                        memo->blocked[it.bucket] = state->freed + 1;
                open_pop(memo, state, &count);
        }
        return 0;
}

int decide_queue(struct memo *memo, const struct state *state, const struct input *input,
                 int64_t now_ms, unsigned step, bool *ret_more, struct err *err)
{
        bool last = false;
        int rc = 0;

        memo->out_of_memory = memo->refused_late = false;
        memo->facts_count = 0;
        if (!buckets_room(memo, state))
                return no_memory(err);
        if (state->accounts)
                rc = turn_before(memo, state, input, now_ms, step, err);
        if (rc == 0 && !state->frozen)
                rc = start_one(memo, state, input, now_ms, &last, err);
        if (rc == 0 && state->accounts && !state->frozen) {
                settle(memo, state);
                rc = make_room(memo, state, input, now_ms, err);
        }
        if (rc < 0)
                return rc;
        *ret_more = rc == 1 && !last;
        if (rc == 1)
                return 0;
        settle(memo, state);
        return refuse_once(memo, state, input, err);
}
