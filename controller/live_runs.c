/* Runs: how the phases of members become what the engine is told. */
#include "controller/live.h"

#include "base/mem.h"
#include "controller/live_impl.h"
#include "controller/nodes.h"
#include "controller/simulated.h"
#include "controller/works.h"
#include "engine/contact.h"
#include "engine/decide.h"
#include "engine/order.h"

#define SERVICE_PAUSE_MS 10000          /* between two starts of a replica */

void live_touch_members(struct live *live, const struct state *state, uint64_t id, uint64_t seq)
{
        uint32_t slot = state_workload(state, id);

        if (slot == NONE)
                return;
        for (uint32_t at = state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next) {
                struct node_entry *node = live_node_of(live, state->members[at].node);
                if (node)
                        live_touch(live, node, seq);
        }
}

void live_touch_work(struct live *live, uint64_t id, uint64_t seq)
{
        live_touch_members(live, core_state(live->core), id, seq);
}

int live_tell(struct live *live, struct act *act, const struct input *input, struct err *err)
{
        int rc = core_input(act, input, NULL, err);
        struct work *work = works_find(core_works(live->core), input->workload);

        if (work)
                work->quarantined = rc == -ERR_QUARANTINED;
        if (rc != -ERR_QUARANTINED)
                return rc;
        live->unsettled = true;
        return 0;
}

int live_cancel(struct live *live, struct act *act, struct work *work, struct err *err)
{
        const struct input input = {.kind = INPUT_CANCELLED, .workload = work->id};
        int rc;

        if (work->epoch == 0)
                return core_input(act, &input, NULL, err);
        if (work->wish == WISH_CANCEL)
                return 0;
        rc = core_wish(act, work, WISH_CANCEL, err);
        if (rc)
                return rc;
        live_touch_work(live, work->id, core_next_seq(live->core) - 1);
        if (live->simulated)
                return simulated_expect(live->simulated, work->id, work->epoch,
                                        core_now_ms(live->core));
        return 0;
}

int live_restart(struct live *live, struct act *act, const struct work *work, bool now,
                 struct err *err)
{
        const struct state *state = core_state(live->core);
        uint32_t slot = state_workload(state, work->id);
        struct input input = {.kind = INPUT_STOP_ASKED, .stop = {.workload = work->id}};

        if (!now && state->accounts && slot != NONE)
                input.stop.notice_ms = class_of(state, state->workloads[slot].bucket)->notice_ms;
        return core_input(act, &input, NULL, err);
}

int live_move(struct live *live, struct act *act, const struct work *work, uint32_t to,
              bool dry_run, const struct fact **ret_facts, uint32_t *ret_count, struct err *err)
{
        const struct state *state = core_state(live->core);
        uint32_t slot = state_workload(state, work->id);
        struct input input = {.kind = INPUT_MOVE_ASKED,
                              .move = {.workload = work->id, .node = to}};
        struct group group;
        int rc;

        if (state->accounts && slot != NONE)
                input.move.notice_ms = class_of(state, state->workloads[slot].bucket)->notice_ms;
        if (!dry_run) {
                rc = core_input(act, &input, NULL, err);
                *ret_facts = core_facts(act, ret_count);
                return rc;
        }
        rc = engine_decide(state, core_memo(live->core), &input, core_now_ms(live->core), 0, &group,
                           err);
        *ret_facts = group.facts;
        *ret_count = rc < 0 ? 0 : group.count;
        return rc < 0 ? rc : 0;
}

struct tally {
        unsigned gone, failed, ready, lost_contact;
};

/* What cannot be heard of any more counts as what it was given up for. */
static struct tally tally_of(const struct live *live, const struct work *work, uint32_t slot)
{
        const struct state *state = core_state(live->core);
        struct tally tally = {0};

        for (uint32_t at = state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next) {
                const struct work_member *member = &work->members[state->members[at].number];
                bool is_lost = !member_may_run(state, &state->members[at]);
                bool gone = is_lost || member->phase == PHASE_EXITED ||
                            member->phase == PHASE_REFUSED;
                bool failed = is_lost || (gone && member->failed);
                tally.gone += gone;
                tally.failed += failed;
                tally.lost_contact += is_lost || (failed && member->lost_contact);
                tally.ready += gone || member->phase == PHASE_READY ||
                               member->phase == PHASE_RUNNING;
        }
        return tally;
}

/* All are gone: what that was. Who was told to stop has not failed, even when it left early; a
 * service never has an end of its own. */
static enum input_kind ending_of(const struct live *live, const struct work *work,
                                 const struct tally *tally)
{
        const struct state *state = core_state(live->core);
        uint32_t slot = state_workload(state, work->id);

        if (work->wish == WISH_CANCEL)
                return INPUT_CANCELLED;
        if (tally->failed == 0 && !state->workloads[slot].service)
                return INPUT_EXITED;
        if (state->workloads[slot].notice_until_ms)
                return INPUT_STOPPED;
        return tally->lost_contact > 0 || work->left_told ||
                               workload_is_torn(state, &state->workloads[slot])
                       ? INPUT_LOST
                       : INPUT_FAILED;
}

/* Members that have saved may leave; the others have until its end, when their agents end them. */
static bool is_in_notice(const struct live *live, const struct work *work)
{
        const struct state *state = core_state(live->core);
        uint32_t slot = state_workload(state, work->id);

        return work->wish != WISH_CANCEL &&
               state->workloads[slot].notice_until_ms > core_now_ms(live->core);
}

/* A replica that is gone comes back, but not at once each time it does not even start well: until
 * then it keeps its place (live_tick() looks again). */
static bool comes_back_later(const struct live *live, const struct work *work)
{
        const struct state *state = core_state(live->core);
        const struct workload *workload = &state->workloads[state_workload(state, work->id)];

        return workload->service && work->wish != WISH_CANCEL && !workload->notice_until_ms &&
               core_now_ms(live->core) < work->started_ms + SERVICE_PAUSE_MS;
}

/* The first member there whose work is not wanted; 0: none. */
static uint64_t unwanted_on(struct live *live, uint32_t node, bool is_silent)
{
        const struct state *state = core_state(live->core);

        for (uint32_t at = state->nodes[node].first_member; at != NONE;
             at = state->members[at].node_next) {
                const struct workload *it = &state->workloads[state->members[at].workload];
                const struct work *work = works_find(core_works(live->core), it->id);
                if (work && work->wish == WISH_CANCEL &&
                    workload_ends_with(state, it, node, is_silent))
                        return it->id;
        }
        return 0;
}

int live_cancel_lost(struct live *live, struct act *act, uint32_t node, bool is_silent,
                     struct err *err)
{
        struct input input = {.kind = INPUT_CANCELLED};
        int rc = 0;

        while (rc == 0 && (input.workload = unwanted_on(live, node, is_silent)))
                rc = core_input(act, &input, NULL, err);
        return core_unless_held(rc);
}

static int settle_late(struct live *live, struct act *act, struct work *work, struct err *err)
{
        const struct input cancelled = {.kind = INPUT_CANCELLED, .workload = work->id};

        if (work->epoch)
                return live_settle(live, act, work, err);
        return work->wish == WISH_CANCEL ? live_tell(live, act, &cancelled, err) : 0;
}

/* Numbers first: settling moves works about. */
int live_settle_all(struct live *live, struct act *act, struct err *err)
{
        struct works *works = core_works(live->core);
        uint32_t cursor = 0, count = 0;
        uint64_t *late;
        struct work *work;
        int rc = 0;

        if (!live->unsettled)
                return 0;
        late = mem_new(works_count(works), sizeof *late);
        if (!late)
                return err_set(err, ERR_NOMEM, "out of memory");
        while ((work = works_next(works, &cursor)))
                if (work->epoch || work->wish)
                        late[count++] = work->id;
        live->unsettled = false;        /* what still waits says so again */
        for (uint32_t i = 0; rc == 0 && i < count; i++)
                if ((work = works_find(works, late[i])))
                        rc = settle_late(live, act, work, err);
        if (rc)
                live->unsettled = true;
        mem_free(late);
        return rc;
}

int live_settle(struct live *live, struct act *act, struct work *work, struct err *err)
{
        uint32_t slot = state_workload(core_state(live->core), work->id);

        if (work->epoch == 0 || slot == NONE)
                return 0;
        struct tally tally = tally_of(live, work, slot);
        if (tally.gone == work->members_count) {
                if (comes_back_later(live, work)) {
                        live->unsettled = true;
                        return 0;
                }
                const struct input input = {.kind = ending_of(live, work, &tally),
                                            .workload = work->id};
                return live_tell(live, act, &input, err);
        }
        if (tally.failed > 0 && is_in_notice(live, work)) {
                work->left_told = true;
                live->unsettled = true; /* the notice may be withdrawn */
        } else if (tally.failed > 0 && !work->ending) {
                work->ending = true;    /* one lost member ends the gang */
                live_touch_work(live, work->id, 0);
        } else if (tally.ready == work->members_count && work->members_count > 1) {
                live_touch_work(live, work->id, 0);
        }
        return 0;
}
