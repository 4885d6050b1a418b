#include "engine/move.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/decide_impl.h"
#include "engine/drain.h"
#include "engine/preempt_impl.h"

/* ---- whether it may ---- */

static int check_work(const struct state *state, uint32_t slot, int64_t notice_ms, struct err *err)
{
        const struct workload *workload = &state->workloads[slot];
        uint32_t shape = state->buckets[workload->bucket].shape;

        if (notice_ms < 0 || notice_ms > RUN_MS_MAX)
                return err_set(err, ERR_RANGE, "a notice of %" PRId64 " ms cannot be", notice_ms);
        if (!state->accounts)
                return err_set(err, ERR_INPUT, "nothing can be moved without a policy: restart it");
        if (workload->notice_until_ms)
                return err_set(err, ERR_EXISTS,
                               "workload %" PRIu64 " has been told to stop already", workload->id);
        if (state->shapes[shape].need.devices == 0)
                return err_set(err, ERR_INPUT,
                               "workload %" PRIu64 " has no devices: nothing is kept for it "
                               "elsewhere; restart it",
                               workload->id);
        if (workload_is_frozen(state, workload))
                return err_set(err, ERR_INPUT,
                               "workload %" PRIu64 " is frozen where it runs: nothing is told to "
                               "stop there",
                               workload->id);
        return 0;
}

static bool lies_on(const struct state *state, uint32_t slot, uint32_t node)
{
        for (uint32_t at = state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next)
                if (state->members[at].node == node)
                        return true;
        return false;
}

static int find_target(const struct state *state, uint32_t slot, uint32_t name, uint32_t *ret_node,
                       struct err *err)
{
        uint32_t node = name ? state_node(state, name) : NONE;

        if (name && node == NONE)
                return err_set(err, ERR_NOT_FOUND, "there is no node '%s'",
                               vocab_name_text(state->vocab, name));
        if (name && lies_on(state, slot, node))
                return err_set(err, ERR_INPUT, "workload %" PRIu64 " lies on node '%s' already",
                               state->workloads[slot].id, vocab_name_text(state->vocab, name));
        *ret_node = node;
        return 0;
}

/* ---- where to ---- */

static uint64_t own_models(const struct state *state, uint32_t slot)
{
        uint64_t models = 0;

        for (uint32_t at = state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next)
                models |= UINT64_C(1) << state->nodes[state->members[at].node].desc.model;
        return models;
}

static int no_room(const struct state *state, uint32_t slot, uint32_t target, struct err *err)
{
        uint64_t id = state->workloads[slot].id;

        if (target == NONE)
                return err_set(err, ERR_FULL,
                               "no other node has room for workload %" PRIu64 " now, on devices of "
                               "the model that it has: it stays",
                               id);
        return err_set(err, ERR_FULL,
                       "node '%s' has no room for workload %" PRIu64 " now, or is not for it: it "
                       "stays",
                       vocab_name_text(state->vocab, state->nodes[target].desc.name), id);
}

/* Places for all members in the scratch. */
static int find_places(struct memo *memo, const struct state *state, uint32_t slot,
                       uint32_t target, int64_t now_ms, struct err *err)
{
        const struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];
        struct search search = {
                .memo = memo,
                .state = state,
                .beneficiary = {.slot = slot, .bucket = workload->bucket, .cause = PLAN_MOVE,
                                .now_ms = now_ms},
                .shape = bucket->shape,
                .need = &state->shapes[bucket->shape].need,
                .models = own_models(state, slot),
                .target = target,
                .leaves_ms = leaves_ms(state, slot, now_ms) +
                             class_of(state, workload->bucket)->notice_ms};
        struct asker asker;
        uint64_t cost;

        if (asker_of_slot(state, slot, &asker))
                search.asker = &asker;
        search.scratch = preempt_scratch_of(memo);
        if (!search.scratch)
                return no_memory(err);
        bool found = bucket->form.near_required ? search_near(&search, UINT64_MAX / 2, &cost)
                                                : search_places(&search, UINT64_MAX / 2, &cost);
        if (found)
                return 0;
        if (search.failed && !memo->failed)
                return no_memory(err);
        if (memo->failed)               /* a bounded table was full: nothing found counts */
                memo->synced = false;
        return no_room(state, slot, target, err);
}

/* ---- facts ---- */

static int emit(struct memo *memo, const struct state *state, uint32_t slot, int64_t notice_ms,
                int64_t now_ms, struct err *err)
{
        const struct preempt_scratch *scratch = memo->preempt;
        const struct fact_noticed noticed = {.workload = state->workloads[slot].id,
                                             .plan = plan_next(state),
                                             .cause = NOTICE_MOVE,
                                             .until_ms = now_ms + notice_ms};
        struct fact *fact = fact_add(memo, FACT_PLANNED);

        if (!fact)
                return no_memory(err);
        fact->planned = (struct fact_planned){.beneficiary = noticed.workload,
                                              .plan = noticed.plan,
                                              .cause = PLAN_MOVE,
                                              .victims = 1,
                                              .places = scratch->places_count,
                                              .until_ms = noticed.until_ms,
                                              .loss = stop_loss(state, slot, now_ms)};
        for (uint32_t p = 0; p < scratch->places_count; p++) {
                if (!(fact = fact_add(memo, FACT_PLACE_KEPT)))
                        return no_memory(err);
                fact->kept.plan = noticed.plan;
                fact->kept.place = scratch->places[p];
                fact->kept.place.workload = noticed.workload;
        }
        return notice(memo, &noticed, err);
}

int decide_move(struct memo *memo, const struct state *state, uint32_t slot,
                const struct input *input, int64_t now_ms, struct err *err)
{
        const struct bucket *bucket = &state->buckets[state->workloads[slot].bucket];
        uint32_t target = NONE;
        int rc = check_work(state, slot, input->move.notice_ms, err);

        if (rc == 0)
                rc = find_target(state, slot, input->move.node, &target, err);
        if (rc == 0 && !plan_can_be(state, bucket))
                rc = err_set(err, ERR_FULL, "too many plans are under way: try again later");
        if (rc == 0)
                rc = memo_sync(memo, state, err);
        if (rc == 0)
                rc = find_places(memo, state, slot, target, now_ms, err);
        return rc ? rc : emit(memo, state, slot, input->move.notice_ms, now_ms, err);
}
